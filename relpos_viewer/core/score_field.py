"""ScoreField: exact, live pictures of attention at any length, without any matrix of [query, key].

The module's parts: `visibility` says which cells count, `head_terms` writes scores block by block,
`row_statistics` sums their exponentials, `level_sums` does so for most in few operations, `live_weights` follows a
hand on the curve, `whole_weights` one that moves much of a short sequence, `score_tiles` pools any viewport,
`score_cells` reads single cells, `field_cost` says what it takes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.attention import edit_curve
from relpos_viewer.core.crew import CancelLike, Crew, Silent, alone
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings import encoding as build_encoding
from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.field import CellValues, LineValues, Stage
from relpos_viewer.core.field_cost import FieldCost, check_memory, estimate
from relpos_viewer.core.field_measures import head_measures
from relpos_viewer.core.head_terms import HeadTerms, curve_on
from relpos_viewer.core.head_terms import Span as CellSpan
from relpos_viewer.core.inputs import AttentionInputs, as_tensor, inputs_from_arrays
from relpos_viewer.core.live_weights import LiveWeights, whole_edges
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.measures import HeadMeasures
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.pooling import REDUCTIONS, Span, block_edges, pixel_shape, whole_cells
from relpos_viewer.core.row_statistics import COLS, RowStatistics, Scan, Writer
from relpos_viewer.core.score_cells import ScoreCells
from relpos_viewer.core.score_samples import chosen, chosen_normaliser, curve_at
from relpos_viewer.core.score_tiles import EditSums, pooled, term_sums
from relpos_viewer.core.visibility import BlockMask, Visibility
from relpos_viewer.core.whole_weights import WHOLE_CELLS, WIDE, WholeWeights

FieldStage = Literal["content", "positional", "scores", "weights", "content weights", "positional weights"]
FIELD_STAGES: tuple[FieldStage, ...] = (
    "content",
    "positional",
    "scores",
    "weights",
    "content weights",  # softmax of the content alone
    "positional weights",  # softmax of the positional term and the edit alone
)

# Viewports whose sums of terms are kept: the whole matrix, and where one was last.
KEPT_VIEWPORTS = 4
# Scores that a preview computes at most: some 20 ms on one core.
PREVIEW_CELLS = 1 << 22


class _Viewport:
    """What a viewport's pictures share.

    Attributes:
        rows, cols: int64 edges, in cells.
        counts: int64 [h, w], visible cells of each pixel.
        shown: bool [h, w], which pixels hold any.
        share: float64 [h, w], 1 / counts, 0 where none is visible.
        sums: float64 [h, w] of "content" and "own".
        means: float64 [h, w] of the stages of terms, without the edit.
        edit: sums of the edit; edit_means: float64 [h, w] with the curve that they are of.
    """

    def __init__(self, rows: np.ndarray, cols: np.ndarray, counts: np.ndarray) -> None:
        self.rows, self.cols, self.counts = rows, cols, counts
        self.shown = counts > 0
        self.share = self.shown / np.maximum(counts, 1)
        self.sums: dict[str, Tensor] = {}
        self.means: dict[str, np.ndarray] = {}
        self.edit: EditSums | None = None
        self.edit_means: tuple[Tensor, np.ndarray] | None = None

    def mean(self, sums: np.ndarray) -> np.ndarray:
        """Return float64 [h, w] means, 0 where nothing is visible."""
        return sums * self.share


@dataclass(eq=False)
class _Head:
    """What is kept of one head."""

    terms: HeadTerms
    visibility: Visibility
    curve: Tensor
    row_sums: Tensor | None
    live: dict[str, LiveWeights | WholeWeights] = field(default_factory=dict)
    before: Normaliser | None = None
    own_ends: tuple[Tensor, Tensor] | None = None
    viewports: OrderedDict[tuple[object, ...], _Viewport] = field(default_factory=OrderedDict)


class ScoreField:
    """Attention of one layer, asked for pictures, rows and cells.

    One thread at a time may use a field; `cells` hands out what any thread may read. Long methods take `cancel`,
    an object with `check()`, which raises to stop, and `progress(fraction)`.
    """

    def __init__(
        self,
        q: object,
        k: object,
        v: object = None,
        *,
        encoding: str | Encoding,
        scale: float | None = None,
        mask: str | Mask | np.ndarray | Tensor | BlockMask,
        edit: object = None,
        device: str | torch.device = "auto",
        display: tuple[int, int] = (512, 512),
    ) -> None:
        """Check that everything fits; nothing of the size of a matrix is computed yet.

        Args:
            q: queries [head, query, d] or [query, d]; the last of the key positions.
            k: keys [key_head, key, d] or [key, d]; fewer heads mean grouped queries.
            v: values [key_head, key, d_v], optional; checked only.
            encoding: a name of the registry or an `Encoding`.
            scale: content scale; 1/√d when None.
            mask: as for `attention`, or a function of half-open rows and cols that gives bool [rows, cols].
            edit: additive curve [head or 1, 2·key−1] over δ = key − query, score units.
            device: "auto" takes a GPU when torch finds one, else the CPU.
            display: [h, w] of the picture of the whole matrix that edits keep live.

        Raises:
            ViewerError: when shapes, names or values do not fit, or the memory does not suffice.
        """
        family = build_encoding(encoding) if isinstance(encoding, str) else encoding
        inputs = inputs_from_arrays(q, k, v).to(_device(device))
        self._set(inputs, family, scale, mask, edit, 0, display)

    @classmethod
    def of(
        cls,
        inputs: AttentionInputs,
        encoding: Encoding,
        *,
        scale: float | None = None,
        mask: str | Mask | np.ndarray | Tensor | BlockMask,
        edit: object = None,
        head: int = 0,
        display: tuple[int, int] = (512, 512),
    ) -> ScoreField:
        """Return the field of `inputs`, on the device where they lie; questions are about `head` unless they say."""
        made = cls.__new__(cls)
        made._set(inputs, encoding, scale, mask, edit, head, display)
        return made

    def _set(
        self,
        inputs: AttentionInputs,
        encoding: Encoding,
        scale: float | None,
        mask: str | Mask | np.ndarray | Tensor | BlockMask,
        edit: object,
        head: int,
        display: tuple[int, int],
    ) -> None:
        self.inputs, self.encoding, self.head, self.display = inputs, encoding, head, display
        self._scale, self._mask = scale, mask
        self.cost: FieldCost = estimate(
            inputs.n_query, inputs.n_key, inputs.head_dim or 1, display, inputs.content_dtype.itemsize
        )
        check_memory(self.cost, inputs.device)
        self._crew = Crew(inputs.device)
        self._heads: dict[int, _Head] = {}
        shape = (inputs.heads, 2 * inputs.n_key - 1)
        curves = torch.zeros(shape, dtype=inputs.content_dtype, device=inputs.device)  # [head, 2·key−1]
        if edit is not None:
            curves = _checked_edit(edit_curve(edit, inputs).to(curves)).clone()
        self._curves = curves
        self._of(head)

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.inputs.n_query

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.inputs.n_key

    def close(self) -> None:
        """Let the field's workers go, when nobody will ask it any more."""
        self._crew.close()

    @property
    def ready(self) -> bool:
        """Whether the selected head's picture of weights is there without a pass over all cells."""
        live = self._of(self.head).live.get("weights")
        return live is not None and live.ready

    @alone()
    def prepare(self, head: int | None = None, cancel: CancelLike | None = None) -> None:
        """Make the first pass over all cells: exact sums of every row.

        Raises:
            Whatever `cancel` raises.
        """
        self._live(self._of(head), "weights").build(cancel)

    @alone()
    def tile(
        self,
        stage: FieldStage,
        rows: Span,
        cols: Span,
        shape: tuple[int, int],
        reduce: str = "mean",
        head: int | None = None,
        cancel: CancelLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the visible cells of a viewport reduced to pixels, and which pixels hold a visible cell.

        Args:
            stage: one of `FIELD_STAGES`.
            rows, cols: half-open, in cells, taken outwards to whole ones.
            shape: most pixels, [h, w].
            reduce: "mean", "max" (of largest magnitude, with its sign) or "sample" (the middle cell); see `pool`.
            head: the selected one when None.
            cancel: asked between blocks.

        Returns:
            float32 [h, w] and bool [h, w], of the shape `pixel_shape` gives.

        Raises:
            ViewerError: for an unknown stage or reduction, or a viewport that is none. Whatever `cancel` raises.
        """
        _known(stage, FIELD_STAGES, "stage")
        _known(reduce, REDUCTIONS, "way to reduce cells")
        _check_viewport(rows, cols, shape)
        one, cancel = self._of(head), cancel or Silent()
        if reduce == "sample":
            return self._sample(one, stage, *self._edges(rows, cols, shape), cancel)
        view = self._viewport(one, rows, cols, shape)
        if not stage.endswith("weights"):
            if reduce == "mean":
                return self._term_means(one, stage, view, cancel).astype(np.float32), view.shown.copy()
            values = self._pooled(one, self._writer(one, stage, cancel), view, reduce, cancel)
        else:
            values = self._weight_pixels(one, stage, view, reduce, cancel)
            if reduce == "mean":
                values = values * view.share
        return np.where(view.shown, values, 0).astype(np.float32, copy=False), view.shown.copy()

    @alone()
    def preview(
        self, stage: FieldStage, rows: Span, cols: Span, shape: tuple[int, int], head: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return exact cells of sampled rows and columns, at once: what is shown until `tile` is ready.

        Neighbouring pixels repeat one row where the sequence is too long for a row each. Arguments and returns as
        for `tile`.
        """
        _known(stage, FIELD_STAGES, "stage")
        _check_viewport(rows, cols, shape)
        one = self._of(head)
        row_edges, col_edges = self._edges(rows, cols, shape)
        queries, keys = _middles(row_edges), _middles(col_edges)
        count = min(len(queries), max(PREVIEW_CELLS // self.n_key, 1))
        place = np.arange(len(queries)) * count // len(queries)  # [h], the sampled row of each pixel
        sampled = queries[_middles(block_edges(len(queries), count))]  # [count]
        norm = None
        if stage.endswith("weights"):
            live = one.live.get(stage)
            if live is not None and live.ready:
                part = torch.from_numpy(sampled).to(live.curve.device)
                norm = Normaliser(live.normaliser.reference[part], live.normaliser.inverse[part])
            elif stage == "weights":
                norm = chosen_normaliser(one.terms, one.visibility, one.curve, sampled, self._crew)
        values, shown = self._cells_of(one, stage, sampled, keys, norm)
        return values[place], shown[place]

    @alone()
    def edit(self, head: int, offsets: object, values: object, cancel: CancelLike | None = None) -> None:
        """Set the edit curve Δ(δ) of a head at some offsets.

        Args:
            head: index.
            offsets: δ = key − query, whole numbers in −(n_key−1) … n_key−1; [count] or one.
            values: score units, finite or −∞; [count] or one for all.
            cancel: asked between blocks.

        Raises:
            ViewerError: for an offset outside the matrix or a value that is NaN or +∞.
        """
        where = np.atleast_1d(np.asarray(offsets))
        if not where.size:
            return
        if where.dtype.kind not in "iu" or np.abs(where).max() >= self.n_key:
            raise ViewerError(
                f"offsets must be whole numbers between −{self.n_key - 1} and {self.n_key - 1}."
            )
        curve = self._of(head).curve.clone()  # [2·key−1]
        set_to = _checked_edit(torch.atleast_1d(as_tensor(values, "edit")).to(curve))
        if where.ndim != 1 or tuple(set_to.shape) not in ((1,), where.shape):
            raise ViewerError(
                f"{where.size} offsets need as many values, or one for all; values have shape {list(set_to.shape)}."
            )
        curve[torch.from_numpy(where + self.n_key - 1).to(curve.device)] = set_to
        self.set_curve(curve, head, cancel)

    @alone()
    def set_curve(self, curve: object, head: int | None = None, cancel: CancelLike | None = None) -> None:
        """Show the edit `curve` [2·key−1] of a head; what differs from the present one is corrected.

        Raises:
            ViewerError: when its shape or a value does not fit. Whatever `cancel` raises.
        """
        one = self._of(head)
        new = _checked_edit(as_tensor(curve, "edit").to(one.curve))
        if new.shape != one.curve.shape:
            raise ViewerError(
                f"edit has shape {list(new.shape)}; give [{2 * self.n_key - 1}], one value an offset."
            )
        seen = torch.from_numpy(one.visibility.offset_counts > 0).to(new.device)  # [2·key−1]
        wide = int(((new != one.curve) & seen).sum()) > WIDE and self.n_query * self.n_key <= WHOLE_CELLS
        one.curve = new.clone()
        for kind, live in list(one.live.items()):
            if kind == "content weights":
                continue
            if live.ready and wide != isinstance(live, WholeWeights):
                other = self._made(one, kind, whole=wide)
                other.content = live.content
                one.live[kind] = other
            else:
                live.set_curve(one.curve, cancel)

    def curve(self, head: int | None = None) -> np.ndarray:
        """Return the edit of a head, [2·key−1]."""
        return self._of(head).curve.cpu().numpy().copy()

    @alone()
    def refresh(self, head: int | None = None, cancel: CancelLike | None = None) -> float:
        """Sum everything anew, and return the drift: the largest change of a row's log-normaliser.

        Raises:
            Whatever `cancel` raises; pictures are as right as before then.
        """
        one = self._of(head)
        live = self._live(one, "weights")
        live.build(cancel)
        one.live = {"weights": live}  # the others are summed anew when somebody asks for them
        old = live.normaliser.log  # [query]
        live.refresh(cancel)
        change = (live.normaliser.log - old).abs()  # [query]
        change = change[change.isfinite()]  # −∞ − −∞: a row without a key
        return float(change.max()) if change.numel() else 0.0

    def log_normalisers(self, head: int | None = None, cancel: CancelLike | None = None) -> np.ndarray:
        """Return log Σ exp(score) over each row's visible keys, [query]; −∞ for a row without any."""
        return self._normaliser(self._of(head), cancel).log.cpu().numpy()

    def cells(self, head: int | None = None) -> ScoreCells:
        """Return a reader of single cells under the present edit, for any thread."""
        one = self._of(head)
        live = one.live.get("weights")
        now = live.normaliser if live is not None and live.ready else None
        return ScoreCells(
            terms=one.terms,
            visibility=one.visibility,
            curve=one.curve,
            row_sums=one.row_sums,
            normaliser=lambda: now or self._normaliser(one),
            before=lambda: self._before(one),
        )

    def values(self, query: int, key: int, head: int | None = None) -> CellValues:
        """Return the exact numbers of one cell.

        Raises:
            ViewerError: when there is no such cell; so do `row`, `column` and `diagonal`.
        """
        return self.cells(head).values(
            _index(query, self.n_query, "query", "queries"), _index(key, self.n_key, "key", "keys")
        )

    def row(self, query: int, head: int | None = None) -> LineValues:
        """Return one query's numbers over all keys."""
        return self.cells(head).row(_index(query, self.n_query, "query", "queries"))

    def column(self, key: int, head: int | None = None) -> LineValues:
        """Return one key's numbers over all queries."""
        return self.cells(head).column(_index(key, self.n_key, "key", "keys"))

    def diagonal(self, offset: int, head: int | None = None) -> LineValues:
        """Return the numbers of all cells with key − query = offset."""
        if not _is_whole(offset) or abs(offset) >= self.n_key:
            raise ViewerError(f"there is no offset {offset}; they are −{self.n_key - 1} to {self.n_key - 1}.")
        return self.cells(head).diagonal(int(offset))

    def strongest(
        self, stage: Stage, rows: tuple[int, int], cols: tuple[int, int], head: int | None = None
    ) -> tuple[int, int] | None:
        """Return (query, key) of the visible cell of largest magnitude in a block; see `ScoreCells.strongest`."""
        return self.cells(head).strongest(stage, rows, cols)

    @alone()
    def extent(
        self,
        stage: FieldStage,
        head: int | None = None,
        *,
        without_first_key: bool = False,
        cancel: CancelLike | None = None,
    ) -> tuple[float, float]:
        """Return the smallest and largest visible finite value of a stage, for colours; (0, 0) when there is none.

        For weights the lower end is 0. Exact under any edit.
        """
        _known(stage, FIELD_STAGES, "stage")
        one = self._of(head)
        if stage.endswith("weights"):
            live = self._live(one, stage)
            live.build(cancel)
            return 0.0, live.largest(without_first_key=without_first_key)
        if stage in ("content", "scores"):
            live = self._live(one, "weights")
            live.build(cancel)
            if stage == "scores":
                return _ends(*live.score_ends())
            return _ends(*(torch.tensor([end]) for end in live.content))
        visible = torch.from_numpy(one.visibility.offset_counts > 0).to(one.curve.device)  # [2·key−1]
        if one.terms.own_is_toeplitz:
            assert one.terms.curve is not None
            low = high = one.terms.curve
        else:
            if one.own_ends is None:
                one.own_ends = self._rough_scan(one, one.terms.own).diagonal_ends(cancel or Silent())
            low, high = one.own_ends
        return _ends((low + one.curve)[visible], (high + one.curve)[visible])

    def visible_offsets(self, head: int | None = None) -> np.ndarray:
        """Return which offsets have a visible cell, bool [2·key−1]."""
        return self._of(head).visibility.offset_counts > 0

    def rows_that_see(self, head: int | None = None) -> np.ndarray:
        """Return which queries see a key, bool [query]."""
        return self._of(head).visibility.rows_that_see.copy()

    def measures(self, head: int | None = None, cancel: CancelLike | None = None) -> HeadMeasures:
        """Return the figures that sum up a head under its present edit, from one pass over all cells.

        Raises:
            Whatever `cancel` raises.
        """
        one = self._of(head)
        documents = self.inputs.tokens.documents
        if documents is not None and len(set(documents)) < 2:
            documents = None
        normaliser = self._normaliser(one, cancel)
        return head_measures(
            one.terms, one.visibility, one.curve, normaliser, one.row_sums, documents, self._crew, cancel
        )

    def _of(self, head: int | None) -> _Head:
        index = _index(self.head if head is None else head, self.inputs.heads, "head", "heads")
        if index not in self._heads:
            visibility = Visibility.of(self.inputs, self._mask, index)
            sums = self.inputs.row_sums
            self._heads[index] = _Head(
                terms=HeadTerms.of(self.inputs, self.encoding, self._scale, index),
                visibility=visibility,
                curve=self._curves[index].clone(),
                row_sums=None if sums is None else sums[index if sums.shape[0] > 1 else 0, :, 0],
            )
        return self._heads[index]

    def _live(self, one: _Head, kind: str) -> LiveWeights | WholeWeights:
        if kind not in one.live:
            for other in set(one.live) - {"weights"} if kind != "weights" else ():
                del one.live[other]  # the sums of each take as much memory as those of the weights
            one.live[kind] = self._made(one, kind, whole=False)
        return one.live[kind]

    def _made(self, one: _Head, kind: str, *, whole: bool) -> LiveWeights | WholeWeights:
        """Return weights of a kind under the present edit, of which nothing is computed yet."""
        write = {
            "weights": one.terms.base,
            "content weights": one.terms.content,
            "positional weights": one.terms.own,
        }[kind]
        rows, cols = (
            whole_edges(n, pixels) for n, pixels in zip((self.n_query, self.n_key), self.display, strict=True)
        )
        scan = Scan(one.terms, write, one.visibility, cols, self._crew, extents=kind == "weights")
        curve = torch.zeros_like(one.curve) if kind == "content weights" else one.curve
        if whole:
            return WholeWeights(scan, rows, curve)
        return LiveWeights(scan, rows, curve)

    def _normaliser(self, one: _Head, cancel: CancelLike | None = None, kind: str = "weights") -> Normaliser:
        live = self._live(one, kind)
        live.build(cancel)
        return live.normaliser

    def _before(self, one: _Head) -> Normaliser:
        """Return the normaliser without the edit."""
        if one.before is None:
            scan = self._rough_scan(one, one.terms.base)
            stats = RowStatistics.empty(one.terms, len(scan.edges) - 1)
            scan.everything(stats, None, Silent())
            inverse = torch.where(stats.rest == 0, 0.0, 1.0 / stats.rest)
            one.before = Normaliser(stats.shift, inverse)
        return one.before

    def _rough_scan(self, one: _Head, write: Writer) -> Scan:
        """Return a scan for what needs no picture."""
        edges = whole_edges(self.n_key, math.ceil(self.n_key / COLS))
        return Scan(one.terms, write, one.visibility, edges, self._crew, extents=False)

    def _edges(self, rows: Span, cols: Span, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        counts = (self.n_query, self.n_key)
        (a, b), (c, d) = whole_cells(rows, counts[0]), whole_cells(cols, counts[1])
        h, w = pixel_shape(rows, cols, counts, shape)
        return block_edges(b - a, h) + a, block_edges(d - c, w) + c

    def _viewport(self, one: _Head, rows: Span, cols: Span, shape: tuple[int, int]) -> _Viewport:
        row_edges, col_edges = self._edges(rows, cols, shape)
        key = (*row_edges[[0, -1]], *col_edges[[0, -1]], len(row_edges), len(col_edges))
        view = one.viewports.pop(key, None)
        if view is None:
            view = _Viewport(row_edges, col_edges, one.visibility.counts(row_edges, col_edges))
        one.viewports[key] = view
        while len(one.viewports) > KEPT_VIEWPORTS:
            one.viewports.popitem(last=False)
        return view

    def _term_means(self, one: _Head, stage: str, view: _Viewport, cancel: CancelLike) -> np.ndarray:
        """Return the mean of a stage of terms over each pixel's visible cells, float64 [h, w]; not to be changed."""
        if stage not in view.means:
            total = torch.zeros(view.counts.shape, dtype=torch.float64, device=one.curve.device)  # [h, w]
            names = {"content": ("content",), "positional": ("own",), "scores": ("content", "own")}
            for part in names[stage]:
                if part not in view.sums:
                    view.sums[part] = term_sums(
                        one.terms,
                        part,
                        one.visibility,
                        view.rows,
                        view.cols,
                        view.counts,
                        self._crew,
                        cancel,
                        one.curve,
                    )
                total = total + view.sums[part]
            view.means[stage] = view.mean(total.cpu().numpy())
        if stage == "content" or not bool(one.curve.any()):
            return view.means[stage]
        if view.edit is None:
            view.edit = EditSums(one.terms, one.visibility, view.rows, view.cols, view.counts, self._crew)
        if view.edit_means is None or view.edit_means[0] is not one.curve:
            view.edit_means = one.curve, view.mean(view.edit.of(one.curve, cancel))
        return view.means[stage] + view.edit_means[1]

    def _weight_pixels(
        self, one: _Head, stage: str, view: _Viewport, reduce: str, cancel: CancelLike
    ) -> np.ndarray:
        live = self._live(one, stage)
        live.build(cancel)
        if (
            np.array_equal(view.rows, live.rows)
            and np.array_equal(view.cols, live.cols)
            and one.row_sums is None
        ):
            return live.picture(reduce).cpu().numpy()
        return self._pooled(one, self._writer(one, stage, cancel), view, reduce, cancel)

    def _pooled(
        self, one: _Head, write: Writer, view: _Viewport, reduce: str, cancel: CancelLike
    ) -> np.ndarray:
        return (
            pooled(write, one.visibility, view.rows, view.cols, reduce, self._crew, one.curve, cancel)
            .cpu()
            .numpy()
        )

    def _writer(self, one: _Head, stage: str, cancel: CancelLike) -> Writer:
        """Return what writes blocks of a stage, rows turned round."""
        terms, curve = one.terms, one.curve
        base = {
            "content": terms.content,
            "content weights": terms.content,
            "positional": terms.own,
            "positional weights": terms.own,
        }.get(stage, terms.base)
        edited = not stage.startswith("content") and bool(curve.any())
        norm = self._normaliser(one, cancel, stage) if stage.endswith("weights") else None

        def write(rows: CellSpan, cols: CellSpan, out: Tensor) -> Tensor:
            base(rows, cols, out)
            if edited:
                out.add_(curve_on(curve, terms.start, rows, cols))
            if norm is None:
                return out
            part = slice(*rows)
            out.sub_(norm.reference[part].flip(0)[:, None]).exp_().mul_(norm.inverse[part].flip(0)[:, None])
            if one.row_sums is not None:
                out.mul_(one.row_sums[part].flip(0)[:, None])
            return out

        return write

    def _sample(
        self, one: _Head, stage: str, rows: np.ndarray, cols: np.ndarray, cancel: CancelLike
    ) -> tuple[np.ndarray, np.ndarray]:
        queries, keys = _middles(rows), _middles(cols)
        norm = None
        if stage.endswith("weights"):
            whole = self._normaliser(one, cancel, stage)
            part = torch.from_numpy(queries).to(whole.inverse.device)
            norm = Normaliser(whole.reference[part], whole.inverse[part])
        return self._cells_of(one, stage, queries, keys, norm)

    def _cells_of(
        self, one: _Head, stage: str, queries: np.ndarray, keys: np.ndarray, norm: Normaliser | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a stage at every chosen query with every chosen key, float32, and which cells are visible."""
        kind = stage.removesuffix("weights").strip()
        if kind == "content":
            values = chosen(one.terms, "content", queries, keys)
        else:
            values = chosen(one.terms, "base", queries, keys)  # [rows, cols]
            if kind == "positional":
                values = values - chosen(one.terms, "content", queries, keys)
            if bool(one.curve.any()):
                values = values + curve_at(one.curve, one.terms, queries, keys)
        shown = one.visibility.grid(queries, keys)
        hidden = torch.from_numpy(~shown).to(values.device)
        if norm is not None:
            values = (values - norm.reference[:, None]).exp() * norm.inverse[:, None]
            if one.row_sums is not None:
                values = values * one.row_sums[torch.from_numpy(queries).to(values.device), None]
        elif stage.endswith("weights"):
            values = values.masked_fill(hidden, -math.inf).softmax(1).nan_to_num(0.0)
        return values.masked_fill(hidden, 0).float().cpu().numpy(), shown


def _device(device: str | torch.device) -> torch.device:
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _known(name: str, names: tuple[str, ...], what: str) -> None:
    if name not in names:
        raise ViewerError(f"unknown {what} “{name}”{nearest(name, names)}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _index(value: int, count: int, one: str, many: str) -> int:
    """Return an index that exists.

    Raises:
        ViewerError: when it does not.
    """
    if not _is_whole(value) or not 0 <= value < count:
        shown = str(value).replace("-", "−")
        raise ViewerError(f"there is no {one} {shown}; the {many} are 0 to {count - 1}.")
    return int(value)


def _check_viewport(rows: Span, cols: Span, shape: tuple[int, int]) -> None:
    """Raise ViewerError for what is no part of a matrix, or has no pixel."""
    for name, pair in (("rows", rows), ("cols", cols), ("shape", shape)):
        numbers = np.asarray(pair)
        if numbers.shape != (2,) or numbers.dtype.kind not in "iuf":
            raise ViewerError(f"{name} must be a pair of numbers, not {pair!r}.")
        if name == "shape" and not (numbers.dtype.kind in "iu" and numbers.min() >= 1):
            raise ViewerError(f"shape must be two whole numbers of at least 1, not {pair!r}.")
        if name != "shape" and not numbers[0] < numbers[1]:
            raise ViewerError(f"{name} must run from a first cell to a later one, not {pair!r}.")


def _checked_edit(curve: Tensor) -> Tensor:
    if bool((curve.isnan() | (curve == math.inf)).any()):
        raise ViewerError("an edit holds NaN or +∞; give finite numbers, or −∞ to hide an offset.")
    return curve


def _middles(edges: np.ndarray) -> np.ndarray:
    """Return the middle cell of each pixel, as `pool` samples it."""
    within = edges - edges[0]
    return edges[0] + (within[:-1] + within[1:]) // 2


def _ends(low: Tensor, high: Tensor) -> tuple[float, float]:
    """Return the smallest finite of `low` and the largest finite of `high`; (0, 0) when there is none."""
    low, high = low[low.isfinite()], high[high.isfinite()]
    if not low.numel() or not high.numel():
        return 0.0, 0.0
    return float(low.min()), float(high.max())
