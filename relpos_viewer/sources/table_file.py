"""Reads one learned table, such as a T5 bias [bucket, head], from a file of arrays or of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.contents import Choices, Contents, Question, in_memory
from relpos_viewer.sources.numpyfile import read_npy, read_npz
from relpos_viewer.sources.safetensorsfile import read_safetensors
from relpos_viewer.sources.tables import read_table

TABLE_SUFFIXES = (".npy", ".npz", ".safetensors", ".csv", ".tsv")
TABLE_NAMES = ("table", "curve", "bias", "array")  # taken before others when a file holds several arrays
MAX_TABLE_BYTES = 256 * 2**20


def read_table_file(path: str | Path) -> np.ndarray:
    """Return the table of a file as float32 of any shape.

    A file with several arrays must call it *table*, *curve* or *bias*, unless only one has two axes.

    Raises:
        ViewerError: a file that cannot be read, holds no such array, or one that is too large.
    """
    path = Path(path)
    try:
        contents = _contents(path)
    except OSError as error:
        raise ViewerError(f"{path.name} cannot be read: {error.strerror or error}.") from None
    numbers = {
        name: stored for name, stored in contents.arrays.items() if stored.dtype not in ("text", "bool")
    }
    if not numbers:
        raise ViewerError(f"{path.name} holds no table of numbers; give rows and columns of them.")
    name = next((name for name in TABLE_NAMES if name in numbers), None)
    if name is None:
        flat = [name for name, stored in numbers.items() if len(stored.shape) == 2]
        if len(flat) != 1:
            raise ViewerError(
                f"{path.name} holds several arrays ({_few(numbers)}); call the one to use “table”."
            )
        name = flat[0]
    if numbers[name].nbytes > MAX_TABLE_BYTES:
        raise ViewerError(
            f"{path.name}: “{name}” is larger than a learned table can be; keep the part to be drawn."
        )
    return np.asarray(numbers[name].read(), np.float32)


def _contents(path: Path) -> Contents:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return read_npy(path)
    if suffix == ".npz":
        return read_npz(path)
    if suffix == ".safetensors":
        return read_safetensors(path)
    if suffix in (".csv", ".tsv"):
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise ViewerError(
                f"{path.name} is larger than a learned table can be; keep the part to be drawn."
            )
        return _rows_of_numbers(path)
    raise ViewerError(f"{path.name} is no file of tables; give one of {', '.join(TABLE_SUFFIXES)}.")


def _rows_of_numbers(path: Path) -> Contents:
    try:
        contents = read_table(path.read_bytes(), path.name, Choices())
    except Question:  # which column holds the tokens: none of them has to
        return Contents()
    if contents.tokens is None:
        return contents
    try:
        column = np.array([[float(text)] for text in contents.tokens.texts])  # [row, 1]
    except ValueError:
        return Contents()
    return Contents(arrays={"array": in_memory(column)})


def _few(names: dict[str, object]) -> str:
    shown = list(names)[:6]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")
