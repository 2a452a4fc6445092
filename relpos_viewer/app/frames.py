"""Frames: what one picture of the window is asked for, and what comes back.

The window makes a `FrameRequest` on the GUI thread; a `FrameMaker` answers it with a `Frame` on the worker thread.
Both are frozen, so nothing is shared between the threads but finished values.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.core import measures
from relpos_viewer.core.curves import CurveSet, curve_set
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, PlainField, Stage, check_length
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import stage_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.pooling import Span, block_edges, block_of, chosen_reduce, pixel_shape, whole_cells
from relpos_viewer.core.quantise import quantise
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import Document, View
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
    """Everything a frame needs. `detail` asks for figures too, which a picture under a moving hand can do without."""

    document: Document
    viewport: Viewport
    stages: tuple[Stage, ...] = STAGES
    device: str = "cpu"
    detail: bool = True


@dataclass(frozen=True, eq=False)
class Frame:
    """One finished picture, with the field that answers questions about its cells.

    `problem` says why the document's source cannot be shown; inputs are then those of the last one that could.
    """

    document: Document
    inputs: AttentionInputs
    encoding: Encoding
    field: PlainField
    tiles: dict[Stage, Tile]
    curves: CurveSet
    figures: dict[str, float]
    notes: tuple[str, ...]
    seconds: float
    device: str
    problem: str = ""

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
    """The last value of one step, and what it was made from."""

    key: tuple[Any, ...] = ()
    value: Any = None

    def get(self, key: tuple[Any, ...], make: Any) -> Any:
        if not same(key, self.key):
            # Let go of the old matrices before the new ones are made, and of their key: making may fail.
            self.key, self.value = (), None
            self.value = make()
            self.key = key
        return self.value


@dataclass
class FrameMaker:
    """Makes frames, keeping what the last one can lend to the next. Used by one worker thread only."""

    _inputs: _Memo = field(default_factory=_Memo)
    _field: _Memo = field(default_factory=_Memo)
    _edited: _Memo = field(default_factory=_Memo)
    _curves: _Memo = field(default_factory=_Memo)

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
            self._inputs, self._field, self._edited, self._curves = _Memo(), _Memo(), _Memo(), _Memo()
            note = f"The device {request.device} failed ({_first_line(error)}); the CPU computes instead."
            return self._make(request, cancel, "cpu", (note,))

    def _make(self, request: FrameRequest, cancel: Cancel, device: str, notes: tuple[str, ...]) -> Frame:
        began = time.perf_counter()
        document = request.document
        inputs, problem = self._read(document, device)
        cancel.check()
        encoding = document.encoding.build()
        head = document.head

        def of_head(index: int) -> PlainField:
            mask = parse_mask(document.mask)
            return PlainField.of(inputs, encoding, scale=document.scale, mask=mask, edit=None, head=index)

        plain: PlainField = self._field.get(
            (inputs, document.encoding, document.mask, document.scale, head), lambda: of_head(head)
        )
        curves: CurveSet = self._curves.get(
            (plain,), lambda: curve_set(inputs, encoding, plain, head, of_head)
        )
        edit = document.edit.at(inputs.heads, inputs.n_key)  # [head, 2·key−1]
        edited: PlainField = self._edited.get(
            (plain, document.edit), lambda: plain.with_edit(torch.from_numpy(edit[head]).to(plain.content))
        )
        cancel.check()
        curves = curves.with_edit(edit, document.edit.beyond(head, inputs.n_key))
        levels = stage_levels(edited, document.view, request.stages)
        tiles = {
            stage: _tile(edited, stage, request.viewport, levels[stage], document.view, curves.beyond)
            for stage in request.stages
        }
        return Frame(
            document=document,
            inputs=inputs,
            encoding=encoding,
            field=edited,
            tiles=tiles,
            curves=curves,
            figures=_figures(edited, inputs) if request.detail else {},
            notes=(*inputs.notes, *notes),
            seconds=time.perf_counter() - began,
            device=device,
            problem=problem,
        )

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
    inputs = inputs_for(document.source)
    check_length(inputs.n_key)
    return inputs.to(device)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _tile(
    plain: PlainField,
    stage: Stage,
    viewport: Viewport,
    levels: Levels,
    view: View,
    beyond: np.ndarray | None,
) -> Tile:
    reduce = chosen_reduce(stage, view.reduce)
    counts = (plain.n_query, plain.n_key)
    rows, cols = whole_cells(viewport.rows, counts[0]), whole_cells(viewport.cols, counts[1])
    values, shown = plain.tile(stage, rows, cols, viewport.shape, reduce)  # [h, w] each
    h, w = values.shape
    row_edges, col_edges = (
        block_edges(rows[1] - rows[0], h) + rows[0],
        block_edges(cols[1] - cols[0], w) + cols[0],
    )
    sees = np.add.reduceat(_rows_that_see(plain), row_edges[:-1]) if h else np.zeros(0)
    past = None
    if beyond is not None and stage == "positional":
        # The middle cell of a pixel's block says which offset it stands for.
        middle_rows, middle_cols = (
            (row_edges[:-1] + row_edges[1:]) // 2,
            (col_edges[:-1] + col_edges[1:]) // 2,
        )
        place = middle_cols[None, :] - middle_rows[:, None] + plain.n_query - 1  # δ + n_key − 1, [h, w]
        past = beyond[place]
    return Tile(
        codes=quantise(values, shown, levels, no_key=sees == 0, beyond=past),
        viewport=Viewport(rows, cols, pixel_shape(rows, cols, counts, viewport.shape)),
        levels=levels,
        reduce=reduce,
        cells_per_pixel=((rows[1] - rows[0]) / h, (cols[1] - cols[0]) / w),
    )


def _rows_that_see(plain: PlainField) -> np.ndarray:
    return plain.visible.any(dim=1).cpu().numpy().astype(np.int64)  # [query]


def _figures(plain: PlainField, inputs: AttentionInputs) -> dict[str, float]:
    """Return the head's figures by the name the status bar gives them."""
    figures = {
        "Toeplitz share": measures.toeplitz_share(plain.positional, plain.visible),
        "position share": measures.position_share(plain.content, plain.positional, plain.visible),
        "mean distance": measures.mean_distance(plain.weights),
        "entropy (bits)": measures.entropy_bits(plain.weights),
    }
    documents = inputs.tokens.documents
    if documents is not None and len(set(documents)) > 1:
        figures["leak to other documents"] = float(measures.document_leak(plain.weights, documents).max())
    return figures
