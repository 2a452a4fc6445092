"""The numbers behind a picture as files other programs read: .npz, .csv, .json, and the curve alone.

Every float32 is written with the shortest digits that give the same float32 back: 1.785e-08, 0.1, -inf, nan.

npz   content, positional, scores, weights float32 and visible bool, [head, query, key]; tokens (text) [key];
      offsets int64 and curve, edit float32 [head, 2n−1]; query_start: position of the first query.
csv   one row a cell: head, query, key, offset, query_token, key_token, content, positional, score, weight, visible.
      Heads and positions count from 0; `query` is a position, so offset = key − query; visible is 1 or 0.
json  the same names as npz, as nested lists; a number that is not finite is the text "inf", "-inf" or "nan",
      because JSON has none. `format` and `version` say what it is.
pixels.npz  one head's part of the matrices as it is shown, see `export.pixels`; for any length.
curve.csv  one row an offset of a head: head, offset, curve, edit.    npy  the curve, float32 [head, 2n−1]; for any
      length.

`curve` is what is added at an offset, the edit included; where the encoding's term is no function of the offset it
is the mean of the visible cells along each diagonal, and nan where none is visible. Of a sequence too long for
matrices, the mean of 64 queries of the head that is shown, and nan for the other heads.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.attention import attend
from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.field_cost import gigabytes
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.measures import diagonal_mean
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.export.picture import picture
from relpos_viewer.export.pixels import Part, Pixels, pixels, write_pixels

# Matrices of longer sequences are written only while all heads together have few cells, as one query of a decoder has.
MOST_LONG_CELLS = 2**25
CELL_BYTES = 4 * 4 + 1  # four numbers, and whether it is visible
MOST_TEXT_CELLS = 2**21  # as a table some 130 MB, written in seconds; spreadsheets end at 2**20 rows

COLUMNS = (
    "head",
    "query",
    "key",
    "offset",
    "query_token",
    "key_token",
    "content",
    "positional",
    "score",
    "weight",
    "visible",
)

STAGES = ("content", "positional", "scores", "weights")


@dataclass(frozen=True, eq=False)
class Data:
    """Every number of a document, all heads.

    Attributes:
        content, positional, scores, weights: float32 [head, query, key].
        visible: bool [head, query, key].
        curve, edit: float32 [head, 2n−1] over δ = −(n−1) … n−1; `exact` says whether `curve` is the term itself.
        tokens: one a key; the queries are the last of them.
    """

    content: np.ndarray
    positional: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    visible: np.ndarray
    curve: np.ndarray
    edit: np.ndarray
    exact: bool
    tokens: Tokens

    @property
    def query_start(self) -> int:
        """Position of the first query."""
        return self.content.shape[2] - self.content.shape[1]

    @property
    def offsets(self) -> np.ndarray:
        """δ of every place of the curve, int64 [2n−1]."""
        n = self.content.shape[2]
        return np.arange(-(n - 1), n)


def data(
    inputs: AttentionInputs, encoding: Encoding, *, scale: float | None, mask: Mask, edit: np.ndarray | None
) -> Data:
    """Compute every stage of every head; arguments as in `attend`. Any thread.

    Raises:
        ViewerError: when encoding, mask or edit do not fit the inputs, or the matrices would be too large.
    """
    cells = inputs.heads * inputs.n_query * inputs.n_key
    if inputs.n_key > LARGEST and cells > MOST_LONG_CELLS:
        raise ViewerError(
            f"all cells of {inputs.n_key:,} tokens would be {gigabytes(cells * CELL_BYTES)}; write the pixels of one "
            "head (.pixels.npz), the curve (.curve.csv or .npy), or fewer tokens."
        )
    result = attend(inputs, encoding, scale=scale, mask=mask, edit=edit)
    stages = {name: getattr(result, name).float().cpu().numpy() for name in STAGES}
    added = np.zeros((inputs.heads, 2 * inputs.n_key - 1), np.float32)  # [head, 2n−1]
    if edit is not None:
        added += edit
    own = (
        encoding.with_heads(inputs.heads).curve(inputs.n_key) if inputs.bias is None else None
    )  # [head, 2n−1]
    if own is not None:
        curve = own.float().cpu().numpy() + added
    else:
        heads = zip(result.positional, result.visible, strict=True)
        curve = np.stack([diagonal_mean(term, visible) for term, visible in heads])
    return Data(
        **stages,
        visible=result.visible.cpu().numpy(),
        curve=curve,
        edit=added,
        exact=own is not None,
        tokens=inputs.tokens,
    )


class Curves(Protocol):
    """What a file of curves holds, see `Data`."""

    @property
    def curve(self) -> np.ndarray: ...
    @property
    def edit(self) -> np.ndarray: ...
    @property
    def offsets(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class CurveData:
    """The curves alone, see `Data`."""

    curve: np.ndarray
    edit: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class Wanted:
    """What numbers are asked of: arguments as in `attend`, the part that `pixels` shows, and who may stop it."""

    inputs: AttentionInputs
    encoding: Encoding
    scale: float | None
    mask: Mask
    edit: np.ndarray | None
    part: Part = field(default_factory=Part)
    cancel: CancelLike = field(default_factory=Silent)


def _all_cells(wanted: Wanted) -> Data:
    return data(wanted.inputs, wanted.encoding, scale=wanted.scale, mask=wanted.mask, edit=wanted.edit)


def _pixels(wanted: Wanted) -> Pixels:
    return pixels(
        wanted.inputs,
        wanted.encoding,
        scale=wanted.scale,
        mask=wanted.mask,
        edit=wanted.edit,
        part=wanted.part,
        cancel=wanted.cancel,
    )


def _curves(wanted: Wanted) -> Curves:
    """Return the curves; of a sequence that has matrices, from all their cells."""
    inputs = wanted.inputs
    if inputs.n_key <= LARGEST:
        return _all_cells(wanted)
    drawn = picture(
        inputs,
        wanted.encoding,
        scale=wanted.scale,
        mask=wanted.mask,
        edit=wanted.edit,
        head=wanted.part.head,
        cancel=wanted.cancel,
    ).curves
    n = inputs.n_key
    return CurveData(drawn.family + drawn.edit, drawn.edit, np.arange(-(n - 1), n))


@dataclass(frozen=True)
class Exporter:
    """One kind of data file: `suffix` is how a name asks for it.

    `gather` computes the numbers, `write` fills the file it is given with them.
    """

    name: str
    title: str
    suffix: str
    gather: Callable[[Wanted], Any]
    write: Callable[[Any, Path], None]


def export_numbers(wanted: Wanted, path: str | PathLike[str], exporter: Exporter) -> None:
    """Compute what `exporter` writes and write it into the file `path`; atomic. Any thread.

    Raises:
        ViewerError: when the arguments do not fit, the file would be too large, or it cannot be written. Whatever
            `wanted.cancel` raises; nothing is then written.
    """
    numbers = exporter.gather(wanted)
    wanted.cancel.check()
    save_data(numbers, path, exporter)


def exporter_for(path: str | PathLike[str]) -> Exporter | None:
    """The exporter that a file's name asks for, or None. ``x.curve.csv`` is the curve, ``x.csv`` all cells."""
    name = Path(path).name.lower()
    fitting = [each for each in EXPORTERS if name.endswith(each.suffix)]
    return max(fitting, key=lambda each: len(each.suffix), default=None)


def save_data(numbers: Any, path: str | PathLike[str], exporter: Exporter | None = None) -> None:
    """Write `numbers`, as the exporter gathers them, into the file `path`; atomic. Any thread.

    The suffix chooses the exporter unless one is given.

    Raises:
        ViewerError: for an unknown suffix, a table that would be too long, or a file that cannot be written.
    """
    chosen = exporter_for(path) if exporter is None else exporter
    if chosen is None:
        known = ", ".join(each.suffix for each in EXPORTERS)
        raise ViewerError(f"'{path}' does not say which kind of data it is; end it in one of {known}.")
    with atomic_path(path) as temporary:
        chosen.write(numbers, temporary)


def _write_npz(numbers: Data, path: Path) -> None:
    with path.open("wb") as file:
        np.savez(
            file,
            **{name: getattr(numbers, name) for name in STAGES},
            visible=numbers.visible,
            # Unicode, not objects: nobody needs pickle to read it.
            tokens=np.array(numbers.tokens.texts, dtype=np.str_),
            offsets=numbers.offsets,
            curve=numbers.curve,
            edit=numbers.edit,
            query_start=np.int64(numbers.query_start),
        )


def _write_csv(numbers: Data, path: Path) -> None:
    _check_size(numbers)
    heads, n_query, n_key = numbers.content.shape
    keys = np.arange(n_key)
    tokens = numbers.tokens.texts
    with _open(path) as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for head in range(heads):
            for row in range(n_query):
                query = row + numbers.query_start
                table.writerows(
                    zip(
                        [head] * n_key,
                        [query] * n_key,
                        keys.tolist(),
                        (keys - query).tolist(),
                        [tokens[query]] * n_key,
                        tokens,
                        *(digits(getattr(numbers, name)[head, row]) for name in STAGES),
                        numbers.visible[head, row].astype(int).tolist(),
                        strict=True,
                    )
                )


def _write_json(numbers: Data, path: Path) -> None:
    _check_size(numbers)
    head = {
        "format": "relpos-viewer attention",
        "version": 1,
        "axes": ["head", "query", "key"],
        "not_finite": 'as text: "inf", "-inf" or "nan"',
        "tokens": list(numbers.tokens.texts),
        "query_start": numbers.query_start,
        "offsets": numbers.offsets.tolist(),
        "curve_exact": numbers.exact,
    }
    with _open(path) as file:
        file.write(json.dumps(head, ensure_ascii=False, allow_nan=False)[:-1])
        for name in ("curve", "edit", *STAGES, "visible"):
            file.write(f',\n"{name}": ')
            file.writelines(_nested(getattr(numbers, name)))
        file.write("}\n")


def _nested(values: np.ndarray) -> Iterator[str]:
    """The pieces of an array as nested JSON lists."""
    if values.ndim > 1:
        for index, part in enumerate(values):
            yield "[" if index == 0 else ",\n"
            yield from _nested(part)
        yield "]"
    elif values.dtype == bool:
        yield "[" + ",".join("true" if value else "false" for value in values.tolist()) + "]"
    else:
        texts = digits(values)
        if not np.isfinite(values).all():
            texts = [text if text[-1].isdigit() else f'"{text}"' for text in texts]
        yield "[" + ",".join(texts) + "]"


def _write_curve_csv(numbers: Curves, path: Path) -> None:
    with _open(path) as file:
        table = csv.writer(file)
        table.writerow(("head", "offset", "curve", "edit"))
        for head, (curve, edit) in enumerate(zip(numbers.curve, numbers.edit, strict=True)):
            heads = [head] * len(curve)
            table.writerows(zip(heads, numbers.offsets.tolist(), digits(curve), digits(edit), strict=True))


def _write_curve_npy(numbers: Curves, path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, numbers.curve, allow_pickle=False)


def digits(values: np.ndarray) -> list[str]:
    """The shortest text of each float32 that reads back to the same bits; ±inf and nan by name."""
    return values.astype("U16").tolist()


def _open(path: Path):
    # A token may hold half of a surrogate pair, which UTF-8 cannot; it is written as its escape.
    return path.open("w", encoding="utf-8", errors="backslashreplace", newline="")


def _check_size(numbers: Data) -> None:
    if numbers.content.size > MOST_TEXT_CELLS:
        raise ViewerError(
            f"{numbers.content.size:,} cells are too many for a text file (at most {MOST_TEXT_CELLS:,}); "
            "choose .npz, or fewer tokens or heads."
        )


EXPORTERS: tuple[Exporter, ...] = (
    Exporter("npz", "NumPy arrays", ".npz", _all_cells, _write_npz),
    Exporter("pixels", "Pixels as shown, NumPy arrays", ".pixels.npz", _pixels, write_pixels),
    Exporter("csv", "Table of all cells", ".csv", _all_cells, _write_csv),
    Exporter("json", "JSON", ".json", _all_cells, _write_json),
    Exporter("curve-csv", "Curve as a table", ".curve.csv", _curves, _write_curve_csv),
    Exporter("curve-npy", "Curve as a NumPy array", ".npy", _curves, _write_curve_npy),
)
