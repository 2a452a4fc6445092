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
from relpos_viewer.core.head_terms import Span
from relpos_viewer.core.pooling import block_edges
from relpos_viewer.core.row_statistics import Band, RowStatistics, Scan, band_rows, parts

# Most diagonals held at once, and most bytes for them; there is always room for a brush of 64.
HELD, HELD_BYTES, BRUSH = 256, 64 << 20, 64
# Offsets this close are held as one band: a block computes the diagonals between them anyway.
GAP = 8
# What starting a block costs, in cells that could be computed meanwhile (100 µs at 2.5 ns).
BLOCK_START = 40_000


@dataclass(frozen=True, eq=False)
class Normaliser:
    """What turns a row's scores into weights: weight = exp(score − reference) · inverse.

    Attributes:
        reference: [query] finite.
        inverse: [query] 1 / Σ exp(score − reference); 0 for a row without a finite visible score, NaN for a
            row that holds NaN or +∞.
    """

    reference: Tensor
    inverse: Tensor

    @property
    def log(self) -> Tensor:
        """log Σ exp over the visible cells of each row, [query]; −∞ for a row without any."""
        log = self.reference - self.inverse.log()  # [query]
        return log.masked_fill(self.inverse == 0, -math.inf)


@dataclass(eq=False)
class _Held:
    """A band with what the present edit makes of it, and the runs of its cells that share a pixel.

    Attributes:
        band: its scores without the edit.
        exponentials: [offset, query] exp(score + edit − reference).
        weights: memory of the same shape.
        starts: int64 [run], first cell of each run in the flattened band.
        order: int64 [run], the runs sorted by pixel.
        firsts: int64 [pixel run], where each pixel begins in that order.
        pixels: int64 [pixel run], row-major number of the pixel.
    """

    band: Band
    exponentials: Tensor
    weights: Tensor
    starts: np.ndarray
    order: np.ndarray
    firsts: np.ndarray
    pixels: np.ndarray


class LiveWeights:
    """The weights of one head over its whole matrix, at one size of picture.

    All methods are for one thread at a time.

    Attributes:
        scan: passes over the scores.
        rows, cols: int64 edges of the pixels.
        curve: the edit that the pictures show, [2·key−1].
        normaliser: exact, of the present edit.
    """

    def __init__(self, scan: Scan, rows: np.ndarray, offset_counts: np.ndarray, curve: Tensor) -> None:
        self.scan, self.rows, self.cols = scan, rows, scan.edges
        self.curve = curve
        self.normaliser = Normaliser(curve[:0], curve[:0])
        self.stats: RowStatistics | None = None
        self._counts = offset_counts  # [2·key−1]
        self._held: list[_Held] = []
        self._top: Tensor | None = None
        self._ends: tuple[Tensor, Tensor] | None = None

    @property
    def ready(self) -> bool:
        """Whether the pictures are exact; after a pass that was stopped they are not."""
        return self.stats is not None

    def build(self, cancel: CancelLike | None = None) -> None:
        """Sum everything, unless that has been done.

        Raises:
            Whatever `cancel` raises; nothing has changed then.
        """
        if self.ready:
            return
        stats = RowStatistics.empty(self.scan.terms, len(self.cols) - 1)
        curve = self.curve if bool(self.curve.any()) else None
        self.scan.everything(stats, curve, cancel or Silent())
        self.stats, self._held, self._top, self._ends = stats, [], None, None
        self._normalise()

    def forget(self) -> None:
        """Let the next `build` sum everything anew."""
        self.stats, self._held, self._top, self._ends = None, [], None, None

    def set_curve(self, curve: Tensor, cancel: CancelLike | None = None) -> None:
        """Show the edit `curve` [2·key−1], finite or −∞.

        Raises:
            Whatever `cancel` raises; the next `build` then sums everything.
        """
        n = self.scan.terms.n_key
        changed = ((curve != self.curve) & torch.from_numpy(self._counts > 0).to(curve.device)).nonzero()[
            :, 0
        ]
        self.curve = curve
        if not self.ready or not len(changed):
            return
        offsets = changed.cpu().numpy() - (n - 1)  # [changed]
        fresh = offsets[~_held(offsets, self._held)]
        if len(fresh):
            self._hold(offsets, fresh, cancel or Silent())
        if self.ready:
            self._normalise()
        else:
            self.build(cancel)

    def picture(self, reduce: str) -> Tensor:
        """Return Σ weights ("mean", to be divided by the cells) or the largest weight ("max") of each pixel, [h, w]."""
        assert self.stats is not None
        pixels = self._rest_sums() if reduce == "mean" else self._rest_peaks()
        if not self._held:
            return pixels
        flat = pixels.cpu().numpy().reshape(-1)
        for held in self._held:
            self._add_held(held, flat, reduce)
        return torch.from_numpy(flat).view(pixels.shape)

    def largest(self, *, without_first_key: bool = False) -> float:
        """Return the largest weight; of the keys after the first when asked so. 0 when there is none."""
        assert self.stats is not None
        stats, norm = self.stats, self.normaliser
        if self._top is None:
            self._top = stats.peaks.amax(1)  # [query]
        top = self._top
        if without_first_key:
            top = self._first_bin_without_first_key()
            if stats.peaks.shape[1] > 1:
                top = torch.maximum(top, stats.peaks[:, 1:].amax(1))
        best = (top - norm.reference).exp()  # [query]
        for held in self._held:
            cells = held.exponentials
            if without_first_key:
                cells = cells.clone()
                for place, offset in enumerate(range(*held.band.offsets)):
                    query = -offset - self.scan.terms.start
                    if 0 <= query < cells.shape[1]:
                        cells[place, query] = 0
            best = torch.maximum(best, cells.amax(0))
        weights = best * norm.inverse  # [query]
        weights = weights[weights.isfinite()]
        return float(weights.amax()) if weights.numel() else 0.0

    def score_ends(self) -> tuple[Tensor, Tensor]:
        """Return small tensors, whose smallest and largest finite numbers are those of all visible scores."""
        assert self.stats is not None
        if self._ends is None:
            self._ends = self.stats.low.amin().view(1), self.stats.high.amax().view(1)
        lows, highs = [self._ends[0]], [self._ends[1]]
        for held in self._held:
            a, b = (offset + self.scan.terms.n_key - 1 for offset in held.band.offsets)
            low, high = held.band.ends()
            lows.append(low + self.curve[a:b])
            highs.append(high + self.curve[a:b])
        return torch.cat(lows), torch.cat(highs)

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

    def _hold(self, offsets: np.ndarray, fresh: np.ndarray, cancel: CancelLike) -> None:
        """Take the diagonals `fresh` out of the sums; or sum everything anew where that is quicker.

        When there is no room left, what was held goes back into the sums, though not `offsets`.
        """
        terms = self.scan.terms
        runs = self._runs(fresh, self._held)
        room = max(BRUSH, min(HELD, HELD_BYTES // (terms.n_query * self.curve.element_size())))
        width = sum(b - a for a, b in runs)
        released: list[Span] = []
        kept = list(self._held)
        # The longest held go first; what is edited now stays held even where it was before.
        while kept and width + sum(b - a for a, b in (each.band.offsets for each in kept)) > room:
            released.append(kept.pop(0).band.offsets)
            runs = self._runs(offsets[~_held(offsets, kept)], kept)
            width = sum(b - a for a, b in runs)
        touched = _union([*runs, *released])
        bin_width = terms.n_key / (len(self.cols) - 1)
        height = band_rows(bin_width)
        blocks = math.ceil(terms.n_query / height)
        price = sum(blocks * (height * (height + b - a + bin_width) + BLOCK_START) for a, b in touched)
        if price > self._counts.sum():
            self.forget()
            return
        stats = self.stats
        assert stats is not None
        self.stats = None  # until all of it fits together again
        bands = []
        if width <= room:
            for a, b in runs:
                shape = (b - a, terms.n_query)
                bands.append(Band((a, b), torch.empty(shape, dtype=terms.dtype, device=terms.device)))
        self._held = [*kept, *(self._with_pixels(band) for band in bands)]
        self.scan.touched(stats, touched, self._scanned_curve(), bands, cancel)
        self.stats, self._top, self._ends = stats, None, None

    @staticmethod
    def _runs(offsets: np.ndarray, kept: list[_Held]) -> list[Span]:
        """Return half-open runs that cover the ascending `offsets`, none of them across a band of `kept`."""
        runs: list[list[int]] = []
        for offset in offsets.tolist():
            if runs and offset - runs[-1][1] <= GAP and not _held(np.arange(runs[-1][1], offset), kept).any():
                runs[-1][1] = offset + 1
            else:
                runs.append([offset, offset + 1])
        return [(a, b) for a, b in runs]

    def _scanned_curve(self) -> Tensor:
        """Return the edit with the bands cut out of it, [2·key−1]."""
        curve = self.curve.clone()
        for held in self._held:
            a, b = (offset + self.scan.terms.n_key - 1 for offset in held.band.offsets)
            curve[a:b] = -math.inf
        return curve

    def _with_pixels(self, band: Band) -> _Held:
        """Find the runs of a band's cells that share a pixel."""
        terms = self.scan.terms
        n_query, n_key, start = terms.n_query, terms.n_key, terms.start
        offsets = np.arange(*band.offsets)[:, None]  # [offset, 1]
        into = np.clip(self.cols[None, :] - start - offsets, 0, n_query)  # queries at which a bin begins
        begins = np.concatenate(
            (np.broadcast_to(self.rows[:-1], (len(offsets), len(self.rows) - 1)), into), 1
        )
        begins.sort(axis=1)  # [offset, run]
        real = np.ones(begins.shape, bool)
        real[:, 1:] = begins[:, 1:] > begins[:, :-1]
        real &= begins < n_query
        starts = (begins + np.arange(len(offsets))[:, None] * n_query)[real]  # [run]
        keys = np.clip(
            (begins + start + offsets)[real], 0, n_key - 1
        )  # outside the matrix the band holds −inf
        rows = np.searchsorted(self.rows, begins[real], side="right") - 1
        pixels = rows * (len(self.cols) - 1) + np.searchsorted(self.cols, keys, side="right") - 1
        order = np.argsort(pixels, kind="stable")
        ordered = pixels[order]
        firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        return _Held(
            band, *(torch.empty_like(band.scores) for _ in range(2)), starts, order, firsts, ordered[firsts]
        )

    def _normalise(self) -> None:
        """Make the normaliser and the exponentials of the bands for the present edit."""
        stats, terms = self.stats, self.scan.terms
        assert stats is not None
        reference, inverse = torch.empty_like(stats.shift), torch.empty_like(stats.shift)  # [query] each

        def job(rows: Span) -> None:
            part = slice(*rows)
            top = torch.where(stats.rest[part] == 0, -math.inf, stats.shift[part])  # [rows]
            for held in self._held:
                a, b = (offset + terms.n_key - 1 for offset in held.band.offsets)
                cells = held.exponentials[:, part]  # [offset, rows]
                torch.add(held.band.scores[:, part], self.curve[a:b, None], out=cells)
                top = torch.maximum(top, cells.amax(0))
            top = torch.where(top.isfinite(), top, 0.0)
            total = stats.rest[part] * (stats.shift[part] - top).exp()  # [rows]
            total.masked_fill_(stats.rest[part] == 0, 0.0)
            for held in self._held:
                total += held.exponentials[:, part].sub_(top).exp_().sum(0)
            reference[part] = top
            inverse[part] = torch.where(total == 0, 0.0, 1.0 / total)

        size = max(math.ceil(terms.n_query / self.scan.crew.size), 1)
        # A slice of 4,096 rows of a brush is 1 MB.
        self.scan.crew.run(job, parts(terms.n_query, min(size, 4096)))
        inverse.masked_fill_(stats.broken, math.nan)
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

        def job(groups: Span) -> None:
            edges = self.rows[groups[0] : groups[1] + 1]
            a, b = int(edges[0]), int(edges[-1])
            part = stats.peaks[a:b] - norm.reference[a:b, None]  # [rows, w]
            part += less[a:b, None]
            pixels[groups[0] : groups[1]] = reduce_rows(part, edges - a, "amax").exp()

        self.scan.crew.run(job, self._groups())
        return pixels

    def _groups(self) -> list[Span]:
        """Return runs of pixel rows, each about 1 MB of sums."""
        h = len(self.rows) - 1
        rows = max((1 << 18) // (len(self.cols) - 1), 1)
        return parts(h, max(rows * h // int(self.rows[-1]), 1))

    def _add_held(self, held: _Held, flat: np.ndarray, reduce: str) -> None:
        """Bring the weights of a band into the pixels `flat` [h · w]."""
        stats = self.stats
        assert stats is not None
        weights = torch.mul(held.exponentials, self.normaliser.inverse, out=held.weights)  # [offset, query]
        if bool(stats.broken.any()):
            weights.masked_fill_(stats.broken & (held.band.scores == -math.inf), 0.0)
        ufunc = np.add if reduce == "mean" else np.maximum
        runs = ufunc.reduceat(weights.cpu().numpy().reshape(-1), held.starts)  # [run]
        values = ufunc.reduceat(runs[held.order], held.firsts)  # [pixel run]
        flat[held.pixels] = ufunc(flat[held.pixels], values)


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
