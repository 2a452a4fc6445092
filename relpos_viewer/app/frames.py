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
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, PlainField, Stage
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels, choose_levels, shared_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.pooling import Span, block_edges, block_of, pixel_shape, whole_cells
from relpos_viewer.core.quantise import quantise
from relpos_viewer.document.document import Document, View
from relpos_viewer.sources.build import inputs_for

logger = logging.getLogger(__name__)

# The plain path keeps some ten [query, key] matrices; at 2,048 they take 160 MB and a frame a few dozen ms.
LARGEST = 2048
# Below this many cells the spread of the other heads' terms is computed too, so that they can be drawn faintly.
OTHER_HEADS_CELLS = 1_000_000

TERMS: tuple[Stage, ...] = ("content", "positional", "scores")


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
class CurveSet:
    """What the curve editor shows; offsets δ = −(n−1) … n−1 along the last axis.

    Attributes:
        family: float32 [head, 2n−1], the encoding's own term; the mean along each diagonal when not `exact`
            (NaN where nothing is visible, or for heads that were not computed).
        low, high: float32 [2n−1], mean ∓ one standard deviation for the selected head, when not `exact`.
        edit: float32 [head, 2n−1].
        exact: whether `family` is the term itself.
        buckets: int64 [2n−1], offsets that share a bias; None when each is its own.
        beyond: bool [2n−1], offsets past what was drawn or trained; None without such a limit.
        visible: bool [2n−1], offsets with a visible cell.
        head: the selected head.
    """

    family: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    edit: np.ndarray
    exact: bool
    buckets: np.ndarray | None
    beyond: np.ndarray | None
    visible: np.ndarray
    head: int

    @property
    def n(self) -> int:
        """Number of keys."""
        return (self.family.shape[1] + 1) // 2


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
    """One finished picture, with the field that answers questions about its cells."""

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
    """The last value of one step, and the objects it was made from; compared by identity."""

    key: tuple[Any, ...] = ()
    value: Any = None

    def get(self, key: tuple[Any, ...], make: Any) -> Any:
        if len(key) != len(self.key) or any(
            a is not b and a != b for a, b in zip(key, self.key, strict=True)
        ):
            self.value = None  # let go of the old matrices before the new ones are made
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
        inputs: AttentionInputs = self._inputs.get(
            (document.source, device), lambda: _inputs(document, device)
        )
        cancel.check()
        encoding = document.encoding.build()
        head = document.head
        plain: PlainField = self._field.get(
            (inputs, document.encoding, _mask_key(document.mask), document.scale, head),
            lambda: PlainField.of(
                inputs, encoding, scale=document.scale, mask=parse_mask(document.mask), edit=None, head=head
            ),
        )
        curves: CurveSet = self._curves.get(
            (plain,), lambda: _curves(inputs, encoding, document, plain, head)
        )
        edit = document.edit.at(inputs.heads, inputs.n_key)  # [head, 2·key−1]
        edited: PlainField = self._edited.get(
            (plain, document.edit), lambda: plain.with_edit(torch.from_numpy(edit[head]).to(plain.content))
        )
        cancel.check()
        levels = _levels(edited, document.view, request.stages)
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
            curves=_with_edit(curves, edit),
            figures=_figures(edited, inputs) if request.detail else {},
            notes=(*inputs.notes, *notes),
            seconds=time.perf_counter() - began,
            device=device,
        )


def _inputs(document: Document, device: str) -> AttentionInputs:
    inputs = inputs_for(document.source)
    if inputs.n_key > LARGEST:
        raise ViewerError(
            f"this sequence has {inputs.n_key:,} tokens; pictures of more than {LARGEST:,} are not built yet, "
            "so shorten it."
        )
    return inputs.to(device)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _mask_key(mask: str | np.ndarray) -> object:
    """Return what tells two masks apart without comparing arrays cell by cell."""
    return mask if isinstance(mask, str) else id(mask)


def _curves(
    inputs: AttentionInputs, encoding: Encoding, document: Document, plain: PlainField, head: int
) -> CurveSet:
    n = inputs.n_key
    exact = encoding.toeplitz and inputs.bias is None
    low = high = None
    if exact:
        curve = encoding.with_heads(inputs.heads).curve(n)  # [head, 2n−1]
        assert curve is not None
        family = curve.numpy()
    else:
        family = np.full((inputs.heads, 2 * n - 1), np.nan, np.float32)  # [head, 2n−1]
        if inputs.heads * n * n <= OTHER_HEADS_CELLS:
            for other in range(inputs.heads):
                field_ = PlainField.of(
                    inputs,
                    encoding,
                    scale=document.scale,
                    mask=parse_mask(document.mask),
                    edit=None,
                    head=other,
                )
                family[other] = measures.diagonal_summary(field_.own, field_.visible)[0]
        family[head], low, high = measures.diagonal_summary(plain.own, plain.visible)
    buckets, beyond = encoding.buckets(n), encoding.beyond(n)
    return CurveSet(
        family=family,
        low=low,
        high=high,
        edit=np.zeros_like(family),
        exact=exact,
        buckets=None if buckets is None else buckets.numpy(),
        beyond=None if beyond is None else beyond.numpy(),
        visible=measures.visible_offsets(plain.visible),
        head=head,
    )


def _with_edit(curves: CurveSet, edit: np.ndarray) -> CurveSet:
    return CurveSet(**{**curves.__dict__, "edit": edit})


def _levels(plain: PlainField, view: View, stages: tuple[Stage, ...]) -> dict[Stage, Levels]:
    """Return each stage's limits by the rules of `View`."""
    levels: dict[Stage, Levels] = {}
    mode = "percentile" if view.levels == "percentile" else "full"
    shared = view.levels == "shared"
    for stage in TERMS if shared else [stage for stage in TERMS if stage in stages]:
        levels[stage] = choose_levels(plain.stage(stage), plain.visible, mode=mode, symmetric=True)
    if shared:
        common = shared_levels([levels[stage] for stage in TERMS])
        levels = dict.fromkeys(TERMS, common)
    if "weights" in stages:
        weights, visible = plain.weights, plain.visible
        if view.hide_first_key and plain.n_key > 1:
            weights, visible = weights[:, 1:], visible[:, 1:]
        levels["weights"] = choose_levels(weights, visible, mode=mode, scale=view.weights_scale)
    for stage in stages:
        limits = view.locked_limits(stage)
        if limits is None and view.levels == "typed":
            limits = view.typed_limits(stage)
        if limits is not None:
            scale = view.weights_scale if stage == "weights" else "linear"
            # A logarithm has no colour for 0: the floor of the automatic limits takes its place.
            low = levels[stage].low if scale == "log" and limits[0] <= 0 else limits[0]
            levels[stage] = Levels(low, limits[1], scale)
    return levels


def _tile(
    plain: PlainField,
    stage: Stage,
    viewport: Viewport,
    levels: Levels,
    view: View,
    beyond: np.ndarray | None,
) -> Tile:
    reduce = view.reduce
    if reduce == "auto":
        # A single strong weight must not fade when one zooms out; terms are judged by their average.
        reduce = "max" if stage == "weights" else "mean"
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
