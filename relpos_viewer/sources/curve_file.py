"""Reads one curve of offset and value: from a file, or from copied text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import parse_number, short
from relpos_viewer.sources.decoding import decode
from relpos_viewer.sources.table_file import MAX_TABLE_BYTES, TABLE_SUFFIXES, read_table_file

CURVE_SUFFIXES = (*TABLE_SUFFIXES, ".txt")
# What a column of values may be called, the earlier the better.
VALUE_COLUMNS = ("curve", "value", "bias", "b", "total")


def read_curve_file(path: str | Path, n: int, head: int = 0) -> np.ndarray:
    """Return the curve of a file over δ = −(n−1) … n−1, float64 [2n−1]; NaN where it says nothing.

    A table of text holds offsets and values, as `curve_of_text` reads them. An array is [2m−1] or [head, 2m−1] with
    δ = 0 in the middle, of which the head is taken, or pairs [place, 2].

    Raises:
        ViewerError: a file that cannot be read, or holds no curve.
    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return _of_array(read_table_file(path), path.name, n, head)
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise ViewerError(f"{path.name} is larger than a curve can be; keep the part to be fitted.")
        data = path.read_bytes()
    except OSError as error:
        raise ViewerError(f"{path.name} cannot be read: {error.strerror or error}.") from None
    return curve_of_text(decode(data, path.name), n, head, path.name)


def curve_of_text(text: str, n: int, head: int = 0, name: str = "The clipboard") -> np.ndarray:
    """Return the curve of a table over δ = −(n−1) … n−1, float64 [2n−1]; NaN where it says nothing.

    Two columns are offset and value. More of them need a first row of names: *offset*, one of `VALUE_COLUMNS`, and
    where there are several heads *head*; so an exported curve can be read again. Offsets that these n positions do
    not have are left out.

    Raises:
        ViewerError: no such table, or none of its offsets is there.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ViewerError(f"{name} holds no offsets and values; give lines like “−3  1.25”.")
    mark = _mark(lines[-1])
    rows = [[cell.strip().strip('"') for cell in line.strip().split(mark)] for line in lines]
    titles = [cell.lower() for cell in rows[0]]
    if "offset" in titles or "δ" in titles:
        at = titles.index("offset" if "offset" in titles else "δ")
        value = next((titles.index(title) for title in VALUE_COLUMNS if title in titles), None)
        if value is None:
            raise ViewerError(f"{name} has no column of values; call it “curve”.")
        body = rows[1:]
        if "head" in titles:
            place = titles.index("head")
            body = [row for row in body if len(row) > place and row[place] == str(head)]
            if not body:
                raise ViewerError(f"{name} holds no curve of head {head}.")
    elif len(rows[0]) == 2:
        at, value, body = 0, 1, rows
    else:
        raise ViewerError(f"{name} holds no offsets and values; give lines like “−3  1.25”.")
    pairs = [_pair(row, at, value, name) for row in body if rows[0] is not row or _is_pair(row)]
    return _placed(np.array(pairs, np.float64).reshape(-1, 2), name, n)


def _mark(line: str) -> str | None:
    """Return what parts the cells of a line; None for spaces. A comma may stand inside a number."""
    for mark in ("\t", ";"):
        if mark in line:
            return mark
    words = line.split()
    return None if len(words) == 2 and not words[0].endswith(",") else ","


def _is_pair(row: list[str]) -> bool:
    """Whether a first row is numbers, not names."""
    try:
        parse_number(row[0])
    except ViewerError:
        return False
    return True


def _pair(row: list[str], at: int, value: int, name: str) -> tuple[float, float]:
    where = f"{name}, “{'  '.join(row)[:40]}”,"
    try:
        offset, number = parse_number(row[at]), parse_number(row[value])
    except (ViewerError, IndexError):
        raise ViewerError(f"{where} is not an offset and a value; give lines like “−3  1.25”.") from None
    return offset, number


def _of_array(array: np.ndarray, name: str, n: int, head: int) -> np.ndarray:
    if array.ndim == 2 and array.shape[1] == 2:
        return _placed(array.astype(np.float64), name, n)
    if array.ndim == 2 and len(array) > 1 and head >= len(array):
        raise ViewerError(f"{name} holds {len(array)} heads, so none for head {head}.")
    if array.ndim == 2:
        array = array[head if len(array) > 1 else 0]
    if array.ndim != 1 or len(array) % 2 == 0:
        raise ViewerError(
            f"{name} holds an array {list(array.shape)}; a curve is [2n − 1] or [head, 2n − 1], δ = 0 in the middle."
        )
    delta = np.arange(len(array)) - len(array) // 2  # [place]
    return _placed(np.stack((delta, array), 1).astype(np.float64), name, n)


def _placed(pairs: np.ndarray, name: str, n: int) -> np.ndarray:
    """Return values [2n−1] from offsets and values [place, 2]."""
    offset = pairs[:, 0]
    if not (offset == offset.round()).all():
        raise ViewerError(f"{name} has an offset that is no whole number.")
    pairs = pairs[np.abs(offset) < n]
    if not np.isfinite(pairs[:, 1]).any():
        raise ViewerError(f"{name} has no value at an offset from {short(1 - n)} to {short(n - 1)}.")
    curve = np.full(2 * n - 1, np.nan)
    curve[pairs[:, 0].astype(int) + n - 1] = pairs[:, 1]
    return curve
