"""WholeWeights: pictures of one head's weights while edits move much, where a sequence is short.

Scores without the edit are kept. An edit then is a handful of operations over blocks that stay near a core, whatever
it moves: a bucket that holds half of the offsets, or all. `live_weights` is quicker where an edit moves few.
"""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.bins import Reduction, reduce_columns, reduce_rows
from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.exponentials import exp_
from relpos_viewer.core.head_terms import Span, curve_on
from relpos_viewer.core.level_sums import widen
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.row_statistics import Scan, parts

# While edits move more offsets than this, a matrix of at most so many cells is kept: each then takes half the time of a
# pass that sums everything anew. Where few offsets move, sums take half the time of a matrix.
WIDE, WHOLE_CELLS = 192, 1 << 22
# Rows of a block: with fewer the threads wait for each other's Python between the operations.
HEIGHT = 256
REDUCTIONS: dict[str, Reduction] = {"mean": "sum", "max": "amax"}


class WholeWeights:
    """The weights of one head over its whole matrix, at one size of picture.

    Matrices are turned round: row r is query n_query − 1 − r, see `HeadTerms`. All methods are for one thread at a
    time.

    Attributes:
        scan: where scores come from, and who does the work.
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
        self.ready = False
        self._scores: Tensor | None = None  # [query turned round, key] without the edit, −inf where masked
        self._weights = curve[:0]  # [query turned round, key]
        self._ends = curve[:0], curve[:0]
        self._pictures: dict[str, Tensor] = {}  # [h, w] each
        self._drawn = ""
        pixel_rows = max(HEIGHT * (len(rows) - 1) // int(rows[-1]), 1)
        self._groups = parts(len(rows) - 1, pixel_rows)[
            ::-1
        ]  # of pixel rows; the longest of a causal mask first

    def build(self, cancel: CancelLike | None = None) -> None:
        """Compute everything, unless that has been done.

        Raises:
            Whatever `cancel` raises; the next call then goes on from there.
        """
        if self._scores is None:
            self._scores = self._made(cancel or Silent())
            self._weights = torch.zeros_like(self._scores)  # a masked cell stays what it is
        if not self.ready:
            self._show(cancel or Silent())

    def refresh(self, cancel: CancelLike | None = None) -> None:
        """Compute everything anew.

        Raises:
            Whatever `cancel` raises; nothing has changed then.
        """
        self._scores = self._made(cancel or Silent())
        self._show(Silent())

    def set_curve(self, curve: Tensor, cancel: CancelLike | None = None) -> None:
        """Show the edit `curve` [2·key−1], finite or −∞.

        Raises:
            Whatever `cancel` raises; `build` then has to be called.
        """
        same = torch.equal(curve, self.curve)
        self.curve = curve
        if self.ready and not same:
            self.ready = False
            self._show(cancel or Silent())

    def picture(self, reduce: str) -> Tensor:
        """Return Σ weights ("mean", to be divided by the cells) or the largest weight ("max") of each pixel, [h, w]."""
        self._drawn = reduce
        if reduce not in self._pictures:
            pixels = self._blank()
            self.scan.crew.run(lambda groups: self._draw(groups, reduce, pixels), self._groups)
            self._pictures[reduce] = pixels
        return self._pictures[reduce]

    def largest(self, *, without_first_key: bool = False) -> float:
        """Return the largest weight; of the keys after the first when asked so. 0 when there is none."""
        # The largest exponential of a row is 1.
        weights = self._weights[:, 1:].amax(1) if without_first_key else self.normaliser.inverse  # [query]
        weights = weights[weights.isfinite()]
        return float(weights.amax()) if weights.numel() else 0.0

    def score_ends(self) -> tuple[Tensor, Tensor]:
        """Return small tensors, whose smallest and largest finite numbers are those of all visible scores."""
        return self._ends

    def _made(self, cancel: CancelLike) -> Tensor:
        """Return the scores without the edit, [query turned round, key]; find the content's ends on the way."""
        terms, visibility = self.scan.terms, self.scan.visibility
        scores = torch.empty(terms.n_query, terms.n_key, dtype=terms.dtype, device=terms.device)
        looks = self.scan.extents and not self.content[0] <= self.content[1]
        ends, lock = [math.inf, -math.inf], threading.Lock()

        def job(groups: Span) -> None:
            rows, part = self._rows(groups)
            seen = visibility.block(rows, (0, terms.n_key), terms.device)
            hidden = None if seen is None else ~seen.flip(0)  # [rows turned round, key]
            block = scores[part]  # [rows turned round, key]
            if looks:
                terms.content(rows, (0, terms.n_key), block)
                found = [math.inf, -math.inf]
                widen(found, block, hidden)
                with lock:
                    ends[:] = min(ends[0], found[0]), max(ends[1], found[1])
                terms.add_own(rows, (0, terms.n_key), block)
            else:
                self.scan.write(rows, (0, terms.n_key), block)
            if hidden is not None:
                block.masked_fill_(hidden, -math.inf)

        self.scan.crew.run(job, self._groups, cancel)
        if looks:
            self.content = ends
        return scores

    def _show(self, cancel: CancelLike) -> None:
        """Make weights, normaliser, ends and the last kind of picture for the present edit."""
        n = self.scan.terms.n_query
        reference, inverse = (self.curve.new_zeros(n) for _ in range(2))  # [query]
        ends: list[tuple[float, float]] = []
        pixels = self._blank() if self._drawn else None

        def job(groups: Span) -> None:
            rows, part = self._rows(groups)
            ends.append(self._weigh(rows, part, reference, inverse))
            if pixels is not None:
                self._draw(groups, self._drawn, pixels)

        self.scan.crew.run(job, self._groups, cancel)
        self._ends = tuple(self.curve.new_tensor(each) for each in zip(*ends, strict=True))
        self.normaliser = Normaliser(reference, inverse)
        self._pictures = {} if pixels is None else {self._drawn: pixels}
        self.ready = True

    def _weigh(self, rows: Span, part: slice, reference: Tensor, inverse: Tensor) -> tuple[float, float]:
        """Make the weights of some rows, and their numbers in `reference` and `inverse` [query].

        Returns:
            The smallest and largest finite visible score; ±inf where none.
        """
        assert self._scores is not None
        low, high = self.scan.visibility.span(rows)
        if low == high:
            return math.inf, -math.inf
        added = curve_on(
            self.curve, self.scan.terms.start, rows, (low, high)
        )  # [rows turned round, low:high]
        cells = torch.add(self._scores[part, low:high], added, out=self._weights[part, low:high])
        top = cells.amax(1)  # [rows turned round]
        broken = ~(top < math.inf)  # [rows turned round], also true for NaN
        shift = top.nan_to_num(0.0, 0.0, 0.0)  # [rows turned round]
        most = float(top.amax())
        odd = bool(broken.any())
        if odd:
            seen = cells != -math.inf  # [rows turned round, low:high]
            most = float(cells.nan_to_num(-math.inf, -math.inf, -math.inf).amax())
        least, highest = math.inf, float(shift.amax())
        for a, b in itertools.pairwise(self._cuts(rows, (low, high))):
            piece = cells[:, a - low : b - low]
            lowest = bound = float(piece.amin())
            if not math.isfinite(lowest):
                lowest = float(piece.nan_to_num(math.inf, math.inf, math.inf).amin())
                bound = -math.inf
            least = min(least, lowest)
            exp_(piece.sub_(shift[:, None]), bound - highest)
        total = cells.sum(1)  # [rows turned round]
        share = torch.where(total == 0, 0.0, 1.0 / total)  # [rows turned round]
        cells.mul_(share[:, None])
        if odd:
            share.masked_fill_(broken, math.nan)
            cells[broken] = torch.where(seen[broken], math.nan, 0.0).to(cells)
        reference[slice(*rows)], inverse[slice(*rows)] = shift.flip(0), share.flip(0)
        return least, most

    def _cuts(self, rows: Span, span: Span) -> list[int]:
        """Return where keys that all of some rows see begin and end, between the ends of `span`."""
        inner = self.scan.visibility.seen_by_all(rows)
        a, b = (min(max(edge, span[0]), span[1]) for edge in inner)
        return sorted({span[0], a, b, span[1]})

    def _draw(self, groups: Span, reduce: str, pixels: Tensor) -> None:
        """Pool the weights of some pixel rows into their part of `pixels` [h, w]."""
        rows, part = self._rows(groups)
        edges = rows[1] - self.rows[groups[0] : groups[1] + 1][::-1]  # of the pixel rows, turned round
        how = REDUCTIONS[reduce]
        # What these rows do not see, half of a causal mask, is 0 without a look.
        stop = int(np.searchsorted(self.cols, self.scan.visibility.span(rows)[1], side="left"))
        out = pixels[slice(*groups)]  # [pixel rows, w]
        out[:, stop:] = 0
        if stop:
            seen = self._weights[part, : int(self.cols[stop])]  # [rows turned round, seen]
            lines = reduce_rows(seen, edges, how)  # [pixel rows turned round, seen]
            out[:, :stop] = reduce_columns(lines, self.cols[: stop + 1], how).flip(0)

    def _rows(self, groups: Span) -> tuple[Span, slice]:
        """Return the rows of some pixel rows, and their place in a matrix that is turned round."""
        a, b = int(self.rows[groups[0]]), int(self.rows[groups[1]])
        n = self.scan.terms.n_query
        return (a, b), slice(n - b, n - a)

    def _blank(self) -> Tensor:
        return self.curve.new_empty(len(self.rows) - 1, len(self.cols) - 1)  # [h, w]
