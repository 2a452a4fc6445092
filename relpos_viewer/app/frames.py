"""Frames: what one picture of the window is asked for, and what comes back.

The window makes a `FrameRequest` on the GUI thread; a `FrameMaker` answers it with a `Frame` on the worker thread.
Both are frozen, so nothing is shared between the threads but finished values.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relpos_viewer.app.head_pictures import HeadPictures, Reader, head_pictures
from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.app.terms import TermPicture, chosen_term, term_picture
from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import view_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.planes import PlaneSet, plane_set
from relpos_viewer.core.pooling import Span, block_edges, block_of, chosen_reduce, whole_cells
from relpos_viewer.core.quantise import quantise
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import Document
from relpos_viewer.sources.build import inputs_for

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Viewport:
    """A part of the matrix, half-open in cells, and the pixels it is shown with."""

    rows: Span
    cols: Span
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Tile:
    """One panel's picture.

    Attributes:
        codes: uint8 [h, w], see `core.quantise`.
        viewport: the whole cells it covers, and its pixels.
        levels: the numbers at the ends of the colours.
        reduce: how several cells became one pixel.
        cells_per_pixel: (rows, cols), 1.0 when every cell has a pixel of its own.
    """

    codes: np.ndarray
    viewport: Viewport
    levels: Levels
    reduce: str
    cells_per_pixel: tuple[float, float]

    def block(self, query: int, key: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the rows and cols, half-open, of the cells that share a pixel with a cell."""
        height, width = self.codes.shape
        rows, cols = self.viewport.rows, self.viewport.cols  # whole cells
        return block_of(query, rows, height), block_of(key, cols, width)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FrameRequest:
    """Everything a frame needs.

    `detail` asks for figures too, which a picture under a moving hand can do without. `quick` takes sampled pixels
    where exact ones would take their time. `refresh` sums everything anew first, which measures what many edits left.
    """

    document: Document
    viewport: Viewport
    stages: tuple[Stage, ...] = STAGES
    device: str = "cpu"
    detail: bool = True
    quick: bool = False
    refresh: bool = False


@dataclass(frozen=True, eq=False)
class Frame:
    """One finished picture, with the field that answers questions about its cells.

    `exact` is False for sampled pixels, which exact ones follow. `problem` says why the document's source cannot
    be shown; inputs are then those of the last one that could. `drift` is what a refresh found, None without one.
    `plane` is that of a two-dimensional family. `term` is the one that the positional panel shows, "" for all.
    """

    document: Document
    inputs: AttentionInputs
    encoding: Encoding
    field: Reader
    tiles: dict[Stage, Tile]
    curves: CurveSet
    figures: dict[str, float]
    notes: tuple[str, ...]
    seconds: float
    device: str
    problem: str = ""
    exact: bool = True
    drift: float | None = None
    plane: PlaneSet | None = None
    term: str = ""

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.field.n_query

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.field.n_key


@dataclass
class _Memo:
    """The last value of one step, and what it was made from; `let_go` is told of a value that is not kept any more."""

    let_go: Callable[[Any], None] = field(default=lambda _value: None)
    key: tuple[Any, ...] = ()
    value: Any = None

    def get(self, key: tuple[Any, ...], make: Any) -> Any:
        if not same(key, self.key):
            # Let go of the old matrices before the new ones are made, and of their key: making may fail.
            self.forget()
            self.value = make()
            self.key = key
        return self.value

    def forget(self) -> None:
        """Keep nothing."""
        if self.value is not None:
            self.let_go(self.value)
        self.key, self.value = (), None


@dataclass
class FrameMaker:
    """Makes frames, keeping what the last one can lend to the next. Used by one worker thread only."""

    _inputs: _Memo = field(default_factory=_Memo)
    _pictures: _Memo = field(default_factory=lambda: _Memo(let_go=_close))
    _content: _Memo = field(default_factory=_Memo)
    _plane: _Memo = field(default_factory=_Memo)
    _term: _Memo = field(default_factory=_Memo)

    def __call__(self, request: FrameRequest, cancel: Cancel) -> Frame:
        """Return the frame.

        Raises:
            ViewerError: when the document cannot be shown, in one sentence.
            Cancelled: when a newer request made this one pointless.
        """
        if request.device == "cpu":
            return self._make(request, cancel, "cpu", ())
        try:
            return self._make(request, cancel, request.device, ())
        except (ViewerError, Cancelled):
            raise
        except Exception as error:
            # A device that fails or runs out of memory does not stop the work: the CPU does it, and it is said.
            logger.warning("The device %s failed.", request.device, exc_info=error)
            self.close()
            note = f"The device {request.device} failed ({_first_line(error)}); the CPU computes instead."
            return self._make(request, cancel, "cpu", (note,))

    def _make(self, request: FrameRequest, cancel: Cancel, device: str, notes: tuple[str, ...]) -> Frame:
        began = time.perf_counter()
        document = request.document
        inputs, problem = self._read(document, device)
        cancel.check()
        encoding = document.encoding.build()
        head = document.head

        pictures: HeadPictures = self._pictures.get(
            (inputs, document.encoding, document.mask, document.scale, head, request.viewport.shape),
            lambda: head_pictures(
                inputs,
                encoding,
                scale=document.scale,
                mask=parse_mask(document.mask),
                head=head,
                display=request.viewport.shape,
            ),
        )
        edit = document.edit.at(inputs.heads, inputs.n_key)  # [head, 2·key−1]
        pictures.set_edit(edit[head], cancel)
        drift = pictures.refresh(cancel) if request.refresh else None
        rows = whole_cells(request.viewport.rows, inputs.n_query)
        cols = whole_cells(request.viewport.cols, inputs.n_key)
        exact = not request.quick or pictures.comes_at_once(rows, cols)
        if exact:
            pictures.prepare(cancel)
        curves = pictures.curves.with_edit(edit, document.edit.beyond(head, inputs.n_key))
        term = chosen_term(document, inputs, encoding)
        alone: TermPicture | None = None
        if term:
            alone = self._term.get(
                (inputs, document.encoding, document.mask, document.scale, head, term),
                lambda: term_picture(document, inputs, encoding, term),
            )
        automatic = pictures.limits(document.view)

        def limits(stage: Stage) -> Levels:
            lone = alone is not None and stage == "positional"
            return alone.limits(document.view) if lone else automatic(stage)

        levels = view_levels(limits, document.view, request.stages)
        sees = pictures.rows_that_see()
        shape = request.viewport.shape

        def tile(stage: Stage) -> Tile:
            cancel.check()
            reduce = chosen_reduce(stage, document.view.reduce) if exact else "sample"
            if alone is not None and stage == "positional":
                pixels = alone.tile(rows, cols, shape, reduce)
            elif exact:
                pixels = pictures.tile(stage, rows, cols, shape, reduce, cancel)
            else:
                pixels = pictures.preview(stage, rows, cols, shape)
            past = curves.beyond if stage == "positional" else None
            return _tile(pixels, rows, cols, levels[stage], reduce, sees, past)

        tiles = {stage: tile(stage) for stage in request.stages if stage != "content"}
        if "content" in request.stages:  # the same object again while only the edit changes
            key = (*self._pictures.key, rows, cols, exact, document.view.reduce, levels["content"])
            tiles = {"content": self._content.get(key, lambda: tile("content")), **tiles}
        return Frame(
            document=document,
            inputs=inputs,
            encoding=encoding,
            field=pictures.reader(),
            tiles=tiles,
            curves=curves,
            figures=pictures.figures(cancel) if request.detail else {},
            notes=(*inputs.notes, *notes),
            seconds=time.perf_counter() - began,
            device=device,
            problem=problem,
            exact=exact,
            drift=drift,
            plane=self._plane.get((inputs, document.encoding), lambda: plane_set(inputs, encoding)),
            term=term,
        )

    def close(self) -> None:
        """Let the last head's threads and matrices go; in the worker thread, or after it has ended."""
        self._inputs.forget()
        self._pictures.forget()
        self._content.forget()
        self._plane.forget()
        self._term.forget()

    def _read(self, document: Document, device: str) -> tuple[AttentionInputs, str]:
        """The inputs of the document's source, or else the last ones and why: so everything else stays live."""
        last: tuple[AttentionInputs, str] | None = self._inputs.value

        def read() -> tuple[AttentionInputs, str]:
            try:
                return _inputs(document, device), ""
            except ViewerError as error:
                if last is None:
                    raise
                return last[0].to(device), str(error)

        return self._inputs.get((document.source, device), read)


def _inputs(document: Document, device: str) -> AttentionInputs:
    return inputs_for(document.source).to(device)


def _close(pictures: HeadPictures) -> None:
    pictures.close()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _tile(
    pixels: tuple[np.ndarray, np.ndarray],
    rows: tuple[int, int],
    cols: tuple[int, int],
    levels: Levels,
    reduce: str,
    sees: np.ndarray,
    beyond: np.ndarray | None,
) -> Tile:
    """Turn pooled values and "has a visible cell", both [h, w], into codes.

    sees: bool [query]; beyond: bool [2·key−1], offsets to be marked.
    """
    values, shown = pixels
    h, w = values.shape
    row_edges = block_edges(rows[1] - rows[0], h) + rows[0]  # [h + 1]
    col_edges = block_edges(cols[1] - cols[0], w) + cols[0]  # [w + 1]
    seen = np.add.reduceat(sees.astype(np.int64), row_edges[:-1])  # [h], rows that see a key
    past = None
    if beyond is not None:
        # The middle cell of a pixel's block says which offset it stands for.
        middle_rows = (row_edges[:-1] + row_edges[1:]) // 2  # [h]
        middle_cols = (col_edges[:-1] + col_edges[1:]) // 2  # [w]
        # δ + n_key − 1 = j − i + n_query − 1, as the queries are the last positions.
        past = beyond[middle_cols[None, :] - middle_rows[:, None] + len(sees) - 1]  # [h, w]
    return Tile(
        codes=quantise(values, shown, levels, no_key=seen == 0, beyond=past),
        viewport=Viewport(rows, cols, (h, w)),
        levels=levels,
        reduce=reduce,
        cells_per_pixel=((rows[1] - rows[0]) / h, (cols[1] - cols[0]) / w),
    )
