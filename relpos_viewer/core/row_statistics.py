"""Exact sums over each row of exponentials, pooled into pixel columns: all that a picture of weights needs.

Sums are relative to the row's own maximum, bin by bin; every sum is of terms ≥ 0 and is never corrected by
subtraction: what an edit touches is summed again from the scores. So nothing can cancel, and nothing drifts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.bins import reduce_columns
from relpos_viewer.core.crew import CancelLike, Crew
from relpos_viewer.core.exponentials import exp_
from relpos_viewer.core.head_terms import HeadTerms, Span, curve_on
from relpos_viewer.core.ladders import Rungs, has_ladders, ladder, sum_rungs
from relpos_viewer.core.level_sums import HEIGHT, LevelSums, widen
from relpos_viewer.core.visibility import Visibility

# A block of 128 × 2,048 float32 scores is 1 MB and stays in the nearest large cache of a core. With smaller ones the
# threads wait for each other's Python between the operations.
ROWS, COLS = HEIGHT, 2048
# Where a row's own maximum has left its bins by this factor, float32 begins to lose the rest: e^−57.
FAINT = 1e-25
# Sums relative to a maximum that has risen by more than this would leave float32 (e^88).
RISE = 60.0

Writer = Callable[[Span, Span, Tensor], Tensor]
"""Writes the scores of a block, rows turned round, into the tensor that it is given."""


@dataclass(eq=False)
class Band:
    """Neighbouring diagonals that are kept apart from the sums while they are edited.

    Attributes:
        offsets: half-open range of δ.
        scores: [query, offset] content + own term, −inf where masked or outside the matrix.
    """

    offsets: Span
    scores: Tensor


@dataclass(eq=False)
class RowStatistics:
    """Sums of one head, without its bands.

    Attributes:
        shift: [query] what was taken off each score before the exponential; finite.
        sums: [query, bin] Σ exp(score − shift); NaN where a visible score makes the row not a number.
        peaks: [query, bin] largest score, −inf where nothing is visible.
        rest: [query] sum over bins.
        broken: bool [query], rows that a visible NaN or +∞ makes not a number.
        content: smallest and largest finite visible content.
        low, high: [row block, bin] smallest and largest finite visible score of each `ROWS` rows; ±inf where none.
    """

    shift: Tensor
    sums: Tensor
    peaks: Tensor
    rest: Tensor
    broken: Tensor
    content: list[float]
    low: Tensor
    high: Tensor

    @classmethod
    def empty(cls, terms: HeadTerms, bins: int) -> RowStatistics:
        """Return statistics whose tensors have not been written to, but for `broken`, and `content` without any."""

        def new(*shape: int) -> Tensor:
            if terms.device.type != "cpu":
                return torch.empty(shape, dtype=terms.dtype, device=terms.device)
            # numpy asks for huge pages: the first writing of 100 MB takes 20 ms then, else 160.
            return torch.from_numpy(
                np.empty(shape, np.float64 if terms.dtype == torch.float64 else np.float32)
            )

        n = terms.n_query
        blocks = math.ceil(n / ROWS)
        return cls(
            shift=new(n),
            sums=new(n, bins),
            peaks=new(n, bins),
            rest=new(n),
            broken=torch.zeros(n, dtype=torch.bool, device=terms.device),
            content=[math.inf, -math.inf],
            low=new(blocks, bins),
            high=new(blocks, bins),
        )


@dataclass(frozen=True, eq=False)
class Scan:
    """Passes over the scores of one head.

    Attributes:
        terms: where scores come from.
        write: the scores whose exponentials are summed: content + own term, or one of them alone.
        visibility: which cells count.
        edges: int64 [bin + 1] of the pixel columns, from 0 to n_key.
        crew: who does the work.
        extents: whether passes also look for the smallest and largest scores, and the first for those of content.
    """

    terms: HeadTerms
    write: Writer
    visibility: Visibility
    edges: np.ndarray
    crew: Crew
    extents: bool

    @cached_property
    def _levels(self) -> LevelSums | None:
        if self.write != self.terms.base:
            return None
        return LevelSums.of(self.terms, self.visibility, self.edges, self.crew, self.extents)

    def everything(
        self,
        stats: RowStatistics,
        curve: Tensor | None,
        cancel: CancelLike,
        share: tuple[float, float] = (0, 1),
    ) -> None:
        """Fill `stats` from all cells, under the edit `curve` [2·key−1].

        Raises:
            Whatever `cancel` raises; `stats` is then not to be used.
        """
        lock = threading.Lock()
        # The content's ends do not change, and may be known from an earlier pass.
        contents = self.extents and not stats.content[0] <= stats.content[1]
        lean = self._levels
        if lean is not None and not lean.begin(curve, contents):
            lean = None

        def job(rows: Span) -> None:
            content = [math.inf, -math.inf]
            if lean is None or not lean.rows(stats, rows, content):
                self._rows(stats, rows, curve, content if self.extents else None)
            with lock:
                ends = stats.content
                ends[0], ends[1] = min(ends[0], content[0]), max(ends[1], content[1])

        # The blocks of a causal mask grow with the rows: the longest first, so that all workers end together.
        self.crew.run(job, parts(self.terms.n_query, ROWS)[::-1], cancel, share)
        if lean is not None and contents:
            lean.look_for_ends(stats, stats.content, cancel)

    def touched(
        self,
        stats: RowStatistics,
        runs: Sequence[Span],
        curve: Tensor,
        bands: Sequence[Band],
        cancel: CancelLike,
    ) -> None:
        """Sum again the bins through which the diagonals of `runs` (half-open ranges of δ) pass.

        Args:
            stats: corrected in place.
            runs: what has changed, ascending and apart.
            curve: the edit, −inf at offsets that are held in bands.
            bands: new ones, whose scores are filled in here; each lies inside one run.
            cancel: asked between blocks.
        """

        rungs: list[tuple[Rungs, list[Band]]] = []
        singles: dict[Span, list[tuple[Span, list[Band]]]] = {}
        n, bins = self.terms.n_query, len(self.edges) - 1
        # Rows that are not a number are marked one by one.
        laddered = self.extents and not bool(stats.broken.any())
        laddered = laddered and has_ladders(self.terms, self.visibility, self.edges, ROWS)
        for run in runs:
            inside = [band for band in bands if run[0] <= band.offsets[0] < run[1]]
            many, single = [], parts(n, band_rows(self.terms.n_key / bins))
            if laddered:
                many, single = ladder(self.terms, self.edges, run, ROWS)
            rungs += [(each, inside) for each in many]
            for rows in single:
                singles.setdefault(rows, []).append((run, inside))
        failed: list[tuple[Rungs, list[Band]]] = []

        def climb(item: tuple[Rungs, list[Band]]) -> None:
            if not sum_rungs(self.terms, self.visibility, self.crew, stats, item[0], curve, item[1], RISE):
                failed.append(item)

        def job(rows: Span) -> None:
            for run, inside in singles[rows]:
                self._along(stats, rows, run, curve, inside)

        def total(rows: Span) -> None:
            torch.sum(stats.sums[slice(*rows)], 1, out=stats.rest[slice(*rows)])

        def again(rows: Span) -> None:
            self._rows(stats, rows, curve, None)

        self.crew.run(climb, rungs, cancel)
        for each, inside in failed:
            for rows in each.blocks():
                singles.setdefault(rows, []).append((each.run, inside))
        # All runs that cross a row share its shift: one worker at a time.
        self.crew.run(job, sorted(singles), cancel)
        self.crew.run(total, parts(self.terms.n_query, 1024), cancel)
        # Where the row's maximum has gone, what is left is summed again relative to its own.
        faint = (stats.rest < FAINT).nonzero()[:, 0]  # [row]
        if len(faint):
            faint = faint[stats.peaks[faint].amax(1) > -math.inf]
        blocks = torch.unique(faint // ROWS).tolist()
        n = self.terms.n_query
        self.crew.run(again, [(a * ROWS, min((a + 1) * ROWS, n)) for a in blocks], cancel)

    def diagonal_ends(self, cancel: CancelLike) -> tuple[Tensor, Tensor]:
        """Return the smallest and largest finite visible score of each offset, [2·key−1]; ±inf where none.

        Raises:
            Whatever `cancel` raises.
        """
        n = self.terms.n_key
        low = torch.full((2 * n - 1,), math.inf, dtype=self.terms.dtype, device=self.terms.device)
        high = -low
        lock = threading.Lock()

        def job(rows: Span) -> None:
            for part in self._chunks(rows):
                block = self._scores(rows, part, None, None, ())
                if block is None:
                    continue
                odd = ~block.isfinite()  # −inf marks hidden cells
                free = _free_cells(block)
                block.masked_fill_(odd, math.inf)
                free.fill_(math.inf)
                lowest = diagonals(block).amin(0)  # [offset]
                block.masked_fill_(odd, -math.inf)
                free.fill_(-math.inf)
                highest = diagonals(block).amax(0)  # [offset]
                first = int(self.edges[part[0]]) - (rows[1] - 1 + self.terms.start) + n - 1
                a, b = max(first, 0), min(first + len(lowest), 2 * n - 1)
                with lock:
                    torch.minimum(low[a:b], lowest[a - first : b - first], out=low[a:b])
                    torch.maximum(high[a:b], highest[a - first : b - first], out=high[a:b])

        self.crew.run(job, parts(self.terms.n_query, ROWS)[::-1], cancel)
        return low, high

    def largest(self, rows: Span, cols: Span, curve: Tensor) -> Tensor:
        """Return the largest visible score of each row inside cols, [rows]; −inf where there is none."""
        block = self.write(rows, cols, curve.new_empty(rows[1] - rows[0], cols[1] - cols[0]))
        block += curve_on(curve, self.terms.start, rows, cols)  # [rows turned round, cols]
        seen = self.visibility.block(rows, cols, self.terms.device)
        if seen is not None:
            block.masked_fill_(~seen.flip(0), -math.inf)
        return block.amax(1).flip(0)

    def _hidden(self, rows: Span, cols: Span) -> Tensor | None:
        """Return the cells of a block that do not count, bool [rows turned round, cols]; None when all of them do."""
        seen = self.visibility.block(rows, cols, self.terms.device)
        return None if seen is None else ~seen.flip(0)

    def _rows(
        self, stats: RowStatistics, rows: Span, curve: Tensor | None, content: list[float] | None
    ) -> None:
        """Sum whole rows relative to their own maxima, chunk by chunk, and bring the chunks together."""
        a, b = rows
        height, bins = b - a, len(self.edges) - 1
        new = {"dtype": self.terms.dtype, "device": self.terms.device}
        peaks = torch.full((height, bins), -math.inf, **new)  # [rows turned round, bin]
        sums = torch.zeros((height, bins), **new)  # [rows turned round, bin]
        if self.extents:
            for y0, _ in parts(height, ROWS):
                block = (a + y0) // ROWS
                stats.low[block], stats.high[block] = math.inf, -math.inf
        shifts: list[tuple[Span, Tensor]] = []
        for part in self._chunks(rows):
            block = self._scores(rows, part, curve, content, ())
            if block is None:
                continue
            edges = self.edges[part[0] : part[1] + 1] - self.edges[part[0]]
            top = reduce_columns(block, edges, "amax")  # [rows, part]
            self._note_ends(stats, rows, part, block, top)
            shift = _finite_shift(top.amax(1, keepdim=True))  # [rows, 1]
            peaks[:, part[0] : part[1]] = top
            sums[:, part[0] : part[1]] = reduce_columns(exp_(block.sub_(shift)), edges, "sum")
            shifts.append((part, shift))
        top = peaks.amax(1, keepdim=True)  # [rows, 1]
        whole = _finite_shift(top)  # [rows, 1]
        for part, shift in shifts:
            # A chunk without a visible key has shift 0, which may lie above the row's; its sums are 0.
            sums[:, part[0] : part[1]].mul_((shift - whole).clamp_max_(0).exp_())
        broken = ~(top[:, 0] < math.inf)  # [rows turned round], also true for NaN
        self._mark(rows, broken, peaks, sums, (0, bins))
        stats.broken[a:b] |= broken.flip(0)
        stats.peaks[a:b], stats.sums[a:b] = peaks.flip(0), sums.flip(0)
        stats.shift[a:b] = whole[:, 0].flip(0)
        stats.rest[a:b] = stats.sums[a:b].sum(1)

    def _chunks(self, rows: Span) -> list[Span]:
        """Return the runs of bins that a block of rows is computed in; those that it sees whole are kept apart."""
        low, high = self.visibility.span(rows)
        step = max(COLS * (len(self.edges) - 1) // self.terms.n_key, 1)
        if low == high:
            return []
        first = int(np.searchsorted(self.edges, low, side="right")) - 1
        stop = int(np.searchsorted(self.edges, high, side="left"))
        inner = self.visibility.seen_by_all(rows)
        x0 = min(max(int(np.searchsorted(self.edges, inner[0], side="left")), first), stop)
        x1 = min(max(int(np.searchsorted(self.edges, inner[1], side="right")) - 1, x0), stop)
        runs = ((first, x0), (x0, x1), (x1, stop))
        return [(x, min(x + step, b)) for a, b in runs for x in range(a, b, step)]

    def _along(
        self, stats: RowStatistics, rows: Span, run: Span, curve: Tensor, bands: Sequence[Band]
    ) -> None:
        """Sum again the bins that a run of diagonals crosses in a block of rows."""
        a, b = rows
        start, n = self.terms.start, self.terms.n_key
        first, last = a + start + run[0], b - 1 + start + run[1] - 1  # outermost keys of the run
        for band in bands:
            band.scores[a:b] = -math.inf
        if last < 0 or first >= n:
            return
        x0 = int(np.searchsorted(self.edges, max(first, 0), side="right")) - 1
        x1 = int(np.searchsorted(self.edges, min(last, n - 1), side="right"))
        low, high = self.visibility.span(rows)
        if self.edges[x1] <= low or self.edges[x0] >= high:
            return
        block = self._scores(rows, (x0, x1), curve, None, bands)
        if block is None:
            return
        edges = self.edges[x0 : x1 + 1] - self.edges[x0]
        peaks = reduce_columns(block, edges, "amax")  # [rows turned round, x0:x1]
        self._note_ends(stats, rows, (x0, x1), block, peaks)
        top, shift = peaks.amax(1).flip(0), stats.shift[a:b]  # [rows] each
        if bool((top > shift + RISE).any()):
            risen = torch.where(top > shift + RISE, _finite_shift(top), shift)  # [rows]
            stats.sums[a:b] *= (shift - risen).exp()[:, None]
            shift = stats.shift[a:b] = risen
        sums = reduce_columns(exp_(block.sub_(shift.flip(0)[:, None])), edges, "sum")
        self._mark(rows, stats.broken[a:b].flip(0), peaks, sums, (x0, x1))
        stats.peaks[a:b, x0:x1], stats.sums[a:b, x0:x1] = peaks.flip(0), sums.flip(0)

    def _scores(
        self,
        rows: Span,
        part: Span,
        curve: Tensor | None,
        content: list[float] | None,
        bands: Sequence[Band],
    ) -> Tensor | None:
        """Return the scores of a block of whole bins under the edit, masked cells −inf: [rows turned round, cols].

        The smallest and largest content of its visible cells is brought into `content` on the way. None, without any
        arithmetic, where none is visible.
        """
        height, c, d = rows[1] - rows[0], int(self.edges[part[0]]), int(self.edges[part[1]])
        low, high = self.visibility.span(rows)
        low, high = max(low, c), min(high, d)
        hidden = self._hidden(rows, (low, high))  # [rows, low:high]
        if hidden is not None and bool(hidden.all()):
            return None
        pitch = d - c + height  # the free cells after each row make every diagonal a column, see `diagonals`
        memory = self.crew.scratch("scores", height * pitch, self.terms.dtype)
        block = memory.as_strided((height, d - c), (pitch, 1))
        if (low, high) != (c, d):
            block[:, : low - c], block[:, high - c :] = -math.inf, -math.inf
        live = block[:, low - c : high - c]  # [rows, low:high]
        if content is None:
            self.write(rows, (low, high), live)
        else:
            self.terms.content(rows, (low, high), live)
            widen(content, live, hidden)
            self.terms.add_own(rows, (low, high), live)
        if hidden is not None:
            live.masked_fill_(hidden, -math.inf)
        if bands:
            _free_cells(block).fill_(-math.inf)
            lowest = c - (rows[1] - 1 + self.terms.start)  # offset of the block's first diagonal
            for band in bands:
                _keep(band, diagonals(block), lowest, rows)
        if curve is not None:
            live.add_(curve_on(curve, self.terms.start, rows, (low, high)))
        return block

    def _note_ends(self, stats: RowStatistics, rows: Span, part: Span, block: Tensor, peaks: Tensor) -> None:
        """Write down the smallest and largest finite score of a block, bin by bin; peaks are its [rows, bin]."""
        if not self.extents:
            return
        edges = self.edges[part[0] : part[1] + 1] - self.edges[part[0]]
        for a, b in parts(rows[1] - rows[0], ROWS):
            turned = slice(rows[1] - rows[0] - b, rows[1] - rows[0] - a)
            place = ((rows[0] + a) // ROWS, slice(*part))
            cells = block[turned]
            low, high = cells.amin(0, keepdim=True), peaks[turned].amax(0)  # [1, cols], [part]
            if not (float(low.amin()) > -math.inf and float(high.amax()) < math.inf):
                # −inf marks hidden cells, and scores may be infinite or NaN themselves: none of these counts.
                low = cells.nan_to_num(math.inf, math.inf, math.inf).amin(0, keepdim=True)
                if not float(high.amax()) < math.inf:
                    highest = cells.nan_to_num(-math.inf, -math.inf, -math.inf).amax(0, keepdim=True)
                    high = reduce_columns(highest, edges, "amax")[0]
            stats.low[place], stats.high[place] = reduce_columns(low, edges, "amin")[0], high

    def _mark(self, rows: Span, broken: Tensor, peaks: Tensor, sums: Tensor, part: Span) -> None:
        """Make broken rows [rows turned round] not a number where they see a key, and nothing elsewhere."""
        if not bool(broken.any()):
            return
        edges = self.edges[part[0] : part[1] + 1]
        for place in broken.nonzero()[:, 0].tolist():
            query = rows[1] - 1 - place
            seeing = self.visibility.counts(np.array([query, query + 1]), edges)[0] > 0  # [part]
            seeing = torch.from_numpy(seeing).to(sums.device)
            sums[place] = torch.where(seeing, math.nan, 0.0)
            peaks[place] = torch.where(seeing, math.nan, -math.inf)


def diagonals(block: Tensor) -> Tensor:
    """Return a view of a block whose columns are its diagonals, [rows, offset].

    `block` [rows turned round, cols] has as many free cells after each row as it has rows. A view with rows one
    shorter moves every row one place to the right (Huang et al. 2018, arXiv 1809.04281).
    """
    height, pitch = block.shape[0], block.stride(0)
    return block.as_strided((height, pitch - 1), (pitch - 1, 1), block.storage_offset())


def _free_cells(block: Tensor) -> Tensor:
    """Return a view of the free cells after each row of a block, see `diagonals`."""
    height, width = block.shape
    return block.as_strided((height, height), (block.stride(0), 1), block.storage_offset() + width)


def band_rows(bin_width: float) -> int:
    """Return the rows of a block along a band: it is as wide as the band, these rows and two pixels together.

    Half as many rows are a third less arithmetic and yet slower, as the threads wait for each other's Python.
    """
    return 256 if bin_width <= 256 else 512


def parts(count: int, size: int) -> list[Span]:
    """Return runs of `size` that cover 0 … count."""
    return [(a, min(a + size, count)) for a in range(0, count, size)]


def _finite_shift(top: Tensor) -> Tensor:
    """Return row maxima fit to be taken off: 0 for a row without a key, and for one that is not a number."""
    return top.nan_to_num(0.0, 0.0, 0.0)


def _keep(band: Band, columns: Tensor, lowest: int, rows: Span) -> None:
    """Copy the band's part of a block, given its diagonals as columns [rows turned round, offset]."""
    a = max(band.offsets[0], lowest)
    b = min(band.offsets[1], lowest + columns.shape[1])
    if a < b:
        part = columns[:, a - lowest : b - lowest].flip(0)  # [rows, offset]
        band.scores[rows[0] : rows[1], a - band.offsets[0] : b - band.offsets[0]] = part
