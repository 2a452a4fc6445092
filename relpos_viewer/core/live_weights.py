"""LiveWeights: pictures of one head's weights that follow a hand on the curve.

The diagonals under the hand are held apart from the sums of each row: their scores are kept, and their
exponentials are made anew with every edit, O(query · offsets). The sums themselves do not change while the hand
stays on diagonals that are held, and are made again exactly, bin by bin, when it moves on to others. So neither
a dominant diagonal that is lowered nor one that is raised beyond everything else costs accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.bins import reduce_rows
from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.exponentials import exp_
from relpos_viewer.core.head_terms import Span
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.pooling import block_edges
from relpos_viewer.core.row_statistics import RISE, ROWS, Band, RowStatistics, Scan, band_rows, parts

# Most diagonals held at once, and most bytes for them; there is always room for a brush of 64.
HELD, HELD_BYTES, BRUSH = 192, 64 << 20, 64
# Offsets this close are held as one band: a block computes the diagonals between them anyway.
GAP = 8
# A brush that travels takes hold of so many offsets ahead of it, in pieces that are made anew one by one.
AHEAD, PIECE = 64, 32
# What starting a block costs, in cells that could be computed meanwhile (100 µs at 2.5 ns).
BLOCK_START = 40_000
# Holding may cost so many passes over all cells: a drag moves the same offsets tens of times, and then pays nothing.
WORTH = 4
# What is too much to be held is summed again for this part of a pass at most, as it goes at a fourth of its pace; at
# once up to so many cells, a fourth of a second.
PARTLY, SOON = 1 / 4, 1 << 27
UFUNCS = {"mean": np.add, "max": np.maximum}


class _Held:
    """A band with what an edit makes of it, and the runs of its cells in one row that share a pixel.

    Sums are relative to the band's own maximum in each row, so they stay as they are while other bands are edited.

    Attributes:
        band: its scores without the edit.
        exponentials: [query, offset] exp(score + edit − top).
        top: [query] largest score + edit, −inf where nothing is visible.
        total: [query] Σ of the exponentials.
        starts: int64 [run], first cell of each run in the flattened band.
        runs: [run] sums ("mean") and largest ("max") of the exponentials of each run, as far as they were asked for.
        queries: int64 [run], also on the device.
        device_pixels: int64 [run], row-major number of the pixel.
    """

    def __init__(self, band: Band, rows: np.ndarray, cols: np.ndarray, start: int) -> None:
        """Find the runs; rows and cols are the edges of the pixels, start is the position of the first query."""
        self.band = band
        self.exponentials = torch.empty_like(band.scores)
        self.top, self.total = (torch.empty_like(band.scores[:, 0]) for _ in range(2))
        self.ends: tuple[Tensor, Tensor] | None = None  # see `LiveWeights._band_ends`
        self._shown: Tensor | None = None
        self.runs: dict[str, Tensor] = {}
        n_query, width, bins = len(self.top), band.scores.shape[1], len(cols) - 1
        queries = np.arange(n_query)
        first = queries + start + band.offsets[0]  # [query], key of the first offset
        # What lies outside the matrix holds −inf: it may go with the nearest pixel.
        pixel = np.clip(np.searchsorted(cols, first, side="right") - 1, 0, bins - 1)  # [query]
        later = pixel[:, None] + np.arange(1, width // int(np.diff(cols).min()) + 2)  # [query, run]
        begins = np.minimum(cols[np.minimum(later, bins)] - first[:, None], width)  # [query, run]
        begins[later >= bins] = width
        begins = np.concatenate((np.zeros((n_query, 1), np.int64), begins), 1)
        real = begins < width
        every = np.concatenate((pixel[:, None], later), 1)
        self.starts = (begins + queries[:, None] * width)[real]
        self.queries = np.broadcast_to(queries[:, None], real.shape)[real]
        line = np.searchsorted(rows, queries, side="right") - 1  # [query], its row of pixels
        pixels = (every + line[:, None] * bins)[real]
        device = band.scores.device
        self.device_queries = torch.from_numpy(self.queries).to(device)
        self.device_pixels = torch.from_numpy(pixels).to(device)

    def slices(self, cells: int) -> list[Span]:
        """Return runs of rows that have so many cells."""
        return parts(len(self.top), max(cells // self.band.scores.shape[1], 1))

    def is_shown(self, edit: Tensor) -> bool:
        """Return whether the exponentials are those of `edit` [offset]."""
        return self._shown is not None and torch.equal(edit, self._shown)

    def show(self, edit: Tensor, rows: Span) -> None:
        """Make the exponentials of some rows under `edit` [offset]; `shown` is to be called after all rows."""
        part = slice(*rows)
        cells = torch.add(self.band.scores[part], edit, out=self.exponentials[part])  # [rows, offset]
        top = self.top[part] = cells.amax(1)
        exp_(cells.sub_(top.nan_to_num(0.0, 0.0, 0.0)[:, None]))
        torch.sum(cells, 1, out=self.total[part])

    def shown(self, edit: Tensor) -> None:
        """Take down that the exponentials of all rows are those of `edit`."""
        self._shown, self.runs = edit.clone(), {}

    @property
    def edit(self) -> Tensor:
        """The edit that is shown, [offset]."""
        assert self._shown is not None
        return self._shown

    def seeing(self) -> Tensor:
        """Return which runs hold a visible cell, bool [run]."""
        cells = (self.band.scores != -math.inf).cpu().numpy()
        seen = np.logical_or.reduceat(cells.reshape(-1), self.starts)
        return torch.from_numpy(seen).to(self.top.device)

    def reduced(self, ufunc: np.ufunc, cells: np.ndarray, rows: Span, out: np.ndarray) -> None:
        """Reduce the cells [query, offset] of some rows run by run, into their part of `out` [run]."""
        a, b = np.searchsorted(self.queries, rows)
        starts = self.starts[a:b] - rows[0] * cells.shape[1]
        out[a:b] = ufunc.reduceat(cells[rows[0] : rows[1]].reshape(-1), starts)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What leads from one edit to another.

    Attributes:
        runs: half-open runs of offsets to be taken out of the sums, or summed again; none where all are held.
        kept, released: bands that stay, and that go back into the sums.
        holds: whether the runs are held from then on.
        price: cells to be computed.
    """

    runs: list[Span]
    kept: list[_Held]
    released: list[_Held]
    holds: bool
    price: float


class LiveWeights:
    """The weights of one head over its whole matrix, at one size of picture.

    All methods are for one thread at a time.

    Attributes:
        scan: passes over the scores.
        rows, cols: int64 edges of the pixels.
        curve: the edit that the pictures show, [2·key−1].
        normaliser: exact, of the present edit.
        content: smallest and largest finite visible content, once they are known.
    """

    def __init__(self, scan: Scan, rows: np.ndarray, curve: Tensor) -> None:
        self.scan, self.rows, self.cols = scan, rows, scan.edges
        self.curve = curve
        self.normaliser = Normaliser(curve[:0], curve[:0])
        self.content = [math.inf, -math.inf]
        self.stats: RowStatistics | None = None
        self._held: list[_Held] = []
        self._drawn = ""
        self._top: Tensor | None = None
        self._ends: tuple[Tensor, Tensor] | None = None
        self._summed = curve  # the edit that the sums are of

    @property
    def ready(self) -> bool:
        """Whether the pictures are those of the present edit; after a pass that was stopped they are not."""
        return self.stats is not None and self._summed is self.curve

    def build(self, cancel: CancelLike | None = None) -> None:
        """Sum what has to be summed for the present edit, if anything has.

        Raises:
            Whatever `cancel` raises; the next `build` then sums everything.
        """
        if self.stats is None:
            self._sum_all(cancel or Silent())
        elif not self.ready:
            plan = self._plan()
            if plan is None:
                self.stats, self._held = None, []  # their memory is free for what comes
                self._sum_all(cancel or Silent())
            else:
                self._follow(plan, cancel or Silent())

    def refresh(self, cancel: CancelLike | None = None) -> None:
        """Sum everything but the bands anew, block by block in its place; bands hold scores, and are exact.

        Raises:
            Whatever `cancel` raises; some blocks are new then, and all are right.
        """
        stats, curve = self.stats, self._scanned_curve()
        assert stats is not None
        try:
            self.scan.everything(stats, curve if bool(curve.any()) else None, cancel or Silent())
        finally:
            self._top = self._ends = None
            self._normalise()

    def _sum_all(self, cancel: CancelLike) -> None:
        """Sum everything, with no band apart."""
        stats = RowStatistics.empty(self.scan.terms, len(self.cols) - 1)
        stats.content = self.content.copy()
        curve = self.curve if bool(self.curve.any()) else None
        self.scan.everything(stats, curve, cancel)
        self.stats, self._held, self._top, self._ends = stats, [], None, None
        self.content, self._summed = stats.content, self.curve
        self._normalise()

    def set_curve(self, curve: Tensor, cancel: CancelLike | None = None) -> None:
        """Show the edit `curve` [2·key−1], finite or −∞; what takes its time is left to `build`.

        The tensor must not be written to afterwards.

        Raises:
            Whatever `cancel` raises; the next `build` then sums everything.
        """
        if torch.equal(curve, self.curve):
            return
        self.curve = curve
        if self.stats is None:
            return
        plan = self._plan()
        if plan is None:
            self.stats, self._held = None, []  # their memory is free for what comes
        elif plan.holds or plan.price <= SOON:
            self._follow(plan, cancel or Silent())

    def picture(self, reduce: str) -> Tensor:
        """Return Σ weights ("mean", to be divided by the cells) or the largest weight ("max") of each pixel, [h, w]."""
        assert self.stats is not None
        pixels = self._rest_sums() if reduce == "mean" else self._rest_peaks()
        self._reduce_held(reduce)
        for held in self._held:
            self._add_held(held, pixels.view(-1), reduce)
        return pixels

    def largest(self, *, without_first_key: bool = False) -> float:
        """Return the largest weight; of the keys after the first when asked so. 0 when there is none."""
        assert self.stats is not None
        stats, norm = self.stats, self.normaliser
        if self._top is None:
            self._top = self._rest_tops(stats)
        top = self._top
        if without_first_key:
            top = self._first_bin_without_first_key()
            if stats.peaks.shape[1] > 1:
                top = torch.maximum(top, stats.peaks[:, 1:].amax(1))
        best = (top - norm.reference).exp()  # [query]
        for held in self._held:
            most = (held.top - norm.reference).exp()  # [query]
            if without_first_key:
                queries = -torch.arange(*held.band.offsets, device=most.device) - self.scan.terms.start
                place = ((queries >= 0) & (queries < len(most))).nonzero()[:, 0]
                queries = queries[place]
                cells = held.exponentials[queries]  # [some, offset]
                cells[torch.arange(len(place), device=most.device), place] = 0
                most[queries] *= cells.amax(1)
            best = torch.maximum(best, most)
        weights = best * norm.inverse  # [query]
        weights = weights[weights.isfinite()]
        return float(weights.amax()) if weights.numel() else 0.0

    def _rest_tops(self, stats: RowStatistics) -> Tensor:
        """Return the largest score of each row outside the bands, [query]."""
        tops = torch.empty_like(stats.shift)

        def job(rows: Span) -> None:
            torch.amax(stats.peaks[slice(*rows)], 1, out=tops[slice(*rows)])

        self.scan.crew.run(job, parts(len(tops), 1024))
        return tops

    def score_ends(self) -> tuple[Tensor, Tensor]:
        """Return small tensors, whose smallest and largest finite numbers are those of all visible scores."""
        assert self.stats is not None
        if self._ends is None:
            self._ends = self.stats.low.amin().view(1), self.stats.high.amax().view(1)
        lows, highs = [self._ends[0]], [self._ends[1]]
        for held in self._held:
            (low, high), edit = self._band_ends(held), self._edit_of(held)
            lows.append(low + edit)
            highs.append(high + edit)
        return torch.cat(lows), torch.cat(highs)

    def _band_ends(self, held: _Held) -> tuple[Tensor, Tensor]:
        """Return the smallest and largest finite score of each diagonal of a band, [offset]; ±inf where none."""
        if held.ends is None:
            scores = held.band.scores
            rows = held.slices(1 << 18)
            low = scores.new_empty(len(rows), scores.shape[1])  # [slice, offset]
            high = torch.empty_like(low)

            def job(place: int) -> None:
                part = scores[slice(*rows[place])]  # [rows, offset]
                torch.amin(part.nan_to_num(math.inf, math.inf, math.inf), 0, out=low[place])
                torch.amax(part, 0, out=high[place])
                if not bool((high[place] < math.inf).all()):
                    torch.amax(part.nan_to_num(-math.inf, -math.inf, -math.inf), 0, out=high[place])

            self.scan.crew.run(job, range(len(rows)))
            held.ends = low.amin(0), high.amax(0)
        return held.ends

    def _first_bin_without_first_key(self) -> Tensor:
        """Return the largest score of each row's first pixel, the first key apart and bands left out, [query]."""
        terms, stop = self.scan.terms, int(self.cols[1])
        top = torch.full_like(self.normaliser.reference, -math.inf)  # [query]
        curve = self._scanned_curve()

        def job(rows: Span) -> None:
            top[rows[0] : rows[1]] = self.scan.largest(rows, (1, stop), curve)

        if stop > 1:
            self.scan.crew.run(job, parts(terms.n_query, 1024))
        return top

    def _plan(self) -> _Plan | None:
        """Return what leads from the summed edit to the present one; None where all is to be summed anew.

        When there is no room left, what was held goes back into the sums, though not what is edited now.
        """
        terms, counts = self.scan.terms, self.scan.visibility.offset_counts
        seen = torch.from_numpy(counts > 0).to(self.curve.device)  # [2·key−1]
        changed = ((self.curve != self._summed) & seen).nonzero()[:, 0]
        offsets = changed.cpu().numpy() - (terms.n_key - 1)  # [changed]
        fresh = offsets[~_held(offsets, self._held)]
        kept = list(self._held)
        if not len(fresh):
            return _Plan([], kept, [], holds=True, price=0.0)
        runs = self._runs(fresh, kept)
        room = max(BRUSH, min(HELD, HELD_BYTES // (terms.n_query * self.curve.element_size())))
        width = sum(b - a for a, b in runs)
        released: list[_Held] = []
        # The longest held go first; what is edited now stays held even where it was before.
        while kept and width + sum(b - a for a, b in (each.band.offsets for each in kept)) > room:
            released.append(kept.pop(0))
            runs = self._runs(offsets[~_held(offsets, kept)], kept)
            width = sum(b - a for a, b in runs)
        spare = room - width - sum(b - a for a, b in (each.band.offsets for each in kept))
        runs = [self._with_ahead(run, kept, min(AHEAD, spare // len(runs))) for run in runs]
        bin_width = terms.n_key / (len(self.cols) - 1)
        height = band_rows(bin_width)
        blocks = math.ceil(terms.n_query / height)
        price = sum(blocks * (height * (height + b - a + bin_width) + BLOCK_START) for a, b in _union(runs))
        holds = width <= room
        if price > (WORTH if holds else PARTLY) * counts.sum():
            return None
        return _Plan(runs, kept, released, holds, price)

    def _follow(self, plan: _Plan, cancel: CancelLike) -> None:
        """Take diagonals out of the sums, or sum again what they touch where they are too many to be held."""
        if plan.runs:
            self._take_hold(plan, cancel)
        self._summed = self.curve
        self._normalise()

    def _take_hold(self, plan: _Plan, cancel: CancelLike) -> None:
        terms, stats, released = self.scan.terms, self.stats, plan.released
        assert stats is not None
        touched = _union(plan.runs)
        self.stats = None  # until all of it fits together again
        if bool(stats.broken.any()):  # rows that are not a number are marked one by one
            touched = _union([*plan.runs, *(each.band.offsets for each in released)])
            released.clear()
        while released:  # one by one, so that the memory of each is free for the next
            self._give_back(stats, released.pop())
        self._held = plan.kept  # the memory of the others is free for the new ones
        bands = []
        for run in plan.runs if plan.holds else ():
            step = BRUSH if run[1] - run[0] <= BRUSH else PIECE
            for a, b in ((a, min(a + step, run[1])) for a in range(*run, step)):
                shape = (terms.n_query, b - a)
                bands.append(Band((a, b), torch.empty(shape, dtype=terms.dtype, device=terms.device)))
        self._held = [*plan.kept, *(_Held(band, self.rows, self.cols, terms.start) for band in bands)]
        self.scan.touched(stats, touched, self._scanned_curve(), bands, cancel)
        self.stats, self._top, self._ends = stats, None, None

    def _give_back(self, stats: RowStatistics, held: _Held) -> None:
        """Add a band, under the edit that it shows, to the sums: terms ≥ 0, so nothing cancels."""
        bins, device = len(self.cols) - 1, held.top.device
        risen = (held.top > stats.shift + RISE).nonzero()[:, 0]  # [row]
        if len(risen):
            stats.sums[risen] *= exp_(stats.shift[risen] - held.top[risen])[:, None]
            stats.shift[risen] = held.top[risen]
        factor = exp_(held.top - stats.shift)  # [query]
        column = held.device_pixels % bins  # [run]

        def job(rows: Span) -> None:
            a, b = np.searchsorted(held.queries, rows)
            part, queries, column_ = slice(*rows), held.device_queries[a:b], column[a:b]
            starts = held.starts[a:b] - rows[0] * held.band.scores.shape[1]
            total = np.add.reduceat(held.exponentials[part].cpu().numpy().reshape(-1), starts)  # [run]
            cells = (held.band.scores[part] + held.edit).cpu().numpy().reshape(-1)
            high = np.maximum.reduceat(cells, starts)  # [run]
            cells[cells == -math.inf] = math.inf  # no score
            low = np.minimum.reduceat(cells, starts)  # [run]
            total, high, low = (torch.from_numpy(each).to(device) for each in (total, high, low))
            place = queries * bins + column_  # [run], each pixel of a row once
            stats.sums.view(-1)[place] += total * factor[queries]
            stats.peaks.view(-1)[place] = torch.maximum(stats.peaks.view(-1)[place], high)
            beside = (queries // ROWS) * bins + column_  # [run]
            stats.low.view(-1).scatter_reduce_(0, beside, low, "amin")
            stats.high.view(-1).scatter_reduce_(0, beside, high, "amax")

        # Whole blocks of rows, which have their ends together.
        height = ROWS * max((1 << 18) // (ROWS * held.band.scores.shape[1]), 1)
        self.scan.crew.run(job, parts(self.scan.terms.n_query, height))

    @staticmethod
    def _runs(offsets: np.ndarray, kept: list[_Held]) -> list[Span]:
        """Return half-open runs that cover the ascending `offsets`, none of them across a band of `kept`."""
        before, after = offsets[:-1] + 1, offsets[1:]  # [offset − 1], ends of what lies between neighbours
        apart = after - before > GAP
        for each in kept:
            a, b = each.band.offsets
            apart |= np.maximum(before, a) < np.minimum(after, b)
        firsts = np.concatenate((offsets[:1], offsets[1:][apart]))  # [run]
        lasts = np.concatenate((offsets[:-1][apart], offsets[-1:]))  # [run]
        return list(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))

    def _with_ahead(self, run: Span, kept: list[_Held], most: int) -> Span:
        """Return a run with up to `most` more offsets on the side away from the band that it continues."""
        n = self.scan.terms.n_key
        ends = [each.band.offsets for each in kept]
        side = 1 if any(0 <= run[0] - b <= GAP for _, b in ends) else 0
        side -= 1 if any(0 <= a - run[1] <= GAP for a, _ in ends) else 0
        a, b = run
        for _ in range(most if side else 0):
            offset = b if side > 0 else a - 1
            if (
                abs(offset) >= n
                or not self.scan.visibility.offset_counts[offset + n - 1]
                or any(c <= offset < d for c, d in ends)
            ):
                break
            a, b = (a, b + 1) if side > 0 else (a - 1, b)
        return a, b

    def _scanned_curve(self) -> Tensor:
        """Return the edit with the bands cut out of it, [2·key−1]."""
        curve = self.curve.clone()
        for held in self._held:
            a, b = (offset + self.scan.terms.n_key - 1 for offset in held.band.offsets)
            curve[a:b] = -math.inf
        return curve

    def _normalise(self) -> None:
        """Make the normaliser and the exponentials of the bands for the present edit."""
        stats = self.stats
        assert stats is not None
        empty = stats.rest == 0  # [query]
        reference = stats.shift.masked_fill(empty, -math.inf)  # [query]
        edits = [self._edit_of(held) for held in self._held]
        changed = [
            (held, edit, held.exponentials.new_empty(len(held.starts), device="cpu"))
            for held, edit in zip(self._held, edits, strict=True)
            if not held.is_shown(edit)
        ]
        # What was drawn last is reduced while it lies in the cache; a device would have to copy it first.
        drawn = self._drawn if self.curve.device.type == "cpu" else ""

        def job(item: tuple[_Held, Tensor, Tensor, Span]) -> None:
            held, edit, out, rows = item
            held.show(edit, rows)
            if drawn:
                held.reduced(UFUNCS[drawn], held.exponentials.numpy(), rows, out.numpy())

        # Slices of 1 MB: with smaller ones the threads wait for each other's Python.
        self.scan.crew.run(job, [(*each, rows) for each in changed for rows in each[0].slices(1 << 18)])
        for held, edit, out in changed:
            held.shown(edit)
            if drawn:
                held.runs[drawn] = out
        for held in self._held:
            reference = torch.maximum(reference, held.top)
        reference = reference.nan_to_num(0.0, 0.0, 0.0)
        total = (stats.rest * (stats.shift - reference).exp()).masked_fill_(empty, 0.0)  # [query]
        for held in self._held:
            total += held.total * (held.top - reference).exp()
        inverse = torch.where(total == 0, 0.0, 1.0 / total).masked_fill_(stats.broken, math.nan)
        self.normaliser = Normaliser(reference, inverse)

    def _rest_sums(self) -> Tensor:
        """Return Σ of the weights outside the bands over each pixel, [h, w]."""
        stats, norm = self.stats, self.normaliser
        assert stats is not None
        factor = (stats.shift - norm.reference).exp() * norm.inverse  # [query]
        # The sums of a broken row say themselves where it is not a number; without a rest there is nothing.
        factor = torch.where(stats.rest == 0, 0.0, factor).masked_fill(stats.broken, 1.0)
        pixels = stats.sums.new_empty(len(self.rows) - 1, stats.sums.shape[1])  # [h, w]

        def job(groups: Span) -> None:
            edges = self.rows[groups[0] : groups[1] + 1]
            a, b = int(edges[0]), int(edges[-1])
            count, (height, rest) = len(edges) - 1, divmod(b - a, len(edges) - 1)
            if rest == 0:
                left = factor[a:b].view(count, 1, height)
                # Under a causal mask half of the sums are known to be 0, and are not read.
                stop = int(np.searchsorted(self.cols, self.scan.visibility.span((a, b))[1], side="left"))
                right = stats.sums[a:b].view(count, height, -1)[:, :, :stop]
                pixels[groups[0] : groups[1], :stop] = torch.bmm(left, right)[:, 0]
                pixels[groups[0] : groups[1], stop:] = 0
            else:
                part = stats.sums[a:b] * factor[a:b, None]
                pixels[groups[0] : groups[1]] = reduce_rows(part, edges - a, "sum")

        self.scan.crew.run(job, self._groups())
        return pixels

    def _rest_peaks(self) -> Tensor:
        """Return the largest weight outside the bands of each pixel, [h, w]."""
        stats, norm = self.stats, self.normaliser
        assert stats is not None
        less = norm.inverse.log().masked_fill(stats.broken, 0.0)  # [query]
        pixels = stats.peaks.new_empty(len(self.rows) - 1, stats.peaks.shape[1])  # [h, w]

        step = max(
            (1 << 18) * len(pixels) // (len(less) * pixels.shape[1]), 1
        )  # rows of pixels in 1 MB of peaks

        def job(groups: Span) -> None:
            for y in range(*groups, step):
                edges = self.rows[y : min(y + step, groups[1]) + 1]
                a, b = int(edges[0]), int(edges[-1])
                stop = int(np.searchsorted(self.cols, self.scan.visibility.span((a, b))[1], side="left"))
                memory = self.scan.crew.scratch("peaks", (b - a) * stop, pixels.dtype)
                part = torch.sub(
                    stats.peaks[a:b, :stop], norm.reference[a:b, None], out=memory.view(b - a, stop)
                )
                part += less[a:b, None]  # [rows, stop]
                pixels[y : y + len(edges) - 1, :stop] = reduce_rows(part, edges - a, "amax")
                pixels[y : y + len(edges) - 1, stop:] = -math.inf

        self.scan.crew.run(job, self._groups())
        return exp_(pixels)

    def _groups(self) -> list[Span]:
        """Return runs of pixel rows, each about 4 MB of sums."""
        h = len(self.rows) - 1
        rows = max((1 << 20) // (len(self.cols) - 1), 1)
        return parts(h, max(rows * h // int(self.rows[-1]), 1))

    def _edit_of(self, held: _Held) -> Tensor:
        """Return the edit at the offsets of a band, [offset]."""
        a, b = (offset + self.scan.terms.n_key - 1 for offset in held.band.offsets)
        return self.curve[a:b]

    def _reduce_held(self, reduce: str) -> None:
        """Reduce the bands that have changed run by run."""
        self._drawn = reduce
        work = []
        for held in self._held:
            if reduce not in held.runs:
                cells = held.exponentials.cpu().numpy()
                out = np.empty(len(held.starts), cells.dtype)
                work.append((held, cells, out))

        def job(item: tuple[_Held, np.ndarray, Span, np.ndarray]) -> None:
            held, cells, rows, out = item
            held.reduced(UFUNCS[reduce], cells, rows, out)

        items = [(held, cells, rows, out) for held, cells, out in work for rows in held.slices(1 << 18)]
        self.scan.crew.run(job, items)
        for held, _, out in work:
            held.runs[reduce] = torch.from_numpy(out).to(held.top.device)

    def _add_held(self, held: _Held, flat: Tensor, reduce: str) -> None:
        """Bring the weights of a band into the pixels `flat` [h · w]."""
        stats, norm = self.stats, self.normaliser
        assert stats is not None
        factor = (held.top - norm.reference).exp() * norm.inverse  # [query]
        values = held.runs[reduce] * factor[held.device_queries]  # [run]
        if bool(stats.broken.any()):
            odd = torch.where(held.seeing(), math.nan, 0.0).to(values)
            values = torch.where(stats.broken[held.device_queries], odd, values)
        if reduce == "mean":
            flat.index_add_(0, held.device_pixels, values)
        else:
            flat.scatter_reduce_(0, held.device_pixels, values, "amax")


def _held(offsets: np.ndarray, bands: list[_Held]) -> np.ndarray:
    """Return which offsets lie in one of some bands, bool [offset]."""
    inside = np.zeros(len(offsets), bool)
    for each in bands:
        inside |= (offsets >= each.band.offsets[0]) & (offsets < each.band.offsets[1])
    return inside


def whole_edges(count: int, pixels: int) -> np.ndarray:
    """Return the edges of at most `pixels` runs of `count` cells, int64."""
    return block_edges(count, min(count, max(pixels, 1)))


def _union(runs: list[Span]) -> list[Span]:
    """Return the same offsets as runs that are ascending and apart."""
    joined: list[Span] = []
    for a, b in sorted(runs):
        if joined and a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined
