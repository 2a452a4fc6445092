"""The figures that sum up a head, from one pass over its scores: no matrix of [query, key] is kept.

The same numbers as `measures` gives for whole matrices. Spreads are sums of squares about a value of each row's own,
so that a term far from 0 loses no digits.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.crew import CancelLike, Crew, Silent
from relpos_viewer.core.head_terms import HeadTerms, Span, curve_on
from relpos_viewer.core.measures import CONSTANT, HeadMeasures
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.row_statistics import COLS, ROWS, diagonals, parts
from relpos_viewer.core.visibility import Visibility

# Scores of a block of whole rows: work that is no longer wanted ends after some 20 ms.
BLOCK_CELLS = 1 << 21
# An exponential of this is 0, and 0 times it is 0 too, which 0 times −∞ is not.
NOTHING = -1e4


@dataclass(eq=False)
class _Spread:
    """What is known of a term's finite visible cells, row by row; [query] each.

    Attributes:
        count: how many there are.
        pivot: a value among them, the mean of the first block.
        first, second: Σ (x − pivot) and Σ (x − pivot)², float64.
    """

    count: Tensor
    pivot: Tensor
    first: Tensor
    second: Tensor

    @classmethod
    def empty(cls, n_query: int, like: Tensor) -> _Spread:
        count, first, second = torch.zeros(
            3, n_query, dtype=torch.float64, device=like.device
        )  # [query] each
        return cls(count, like.new_zeros(n_query), first, second)

    def take(self, rows: Span, block: Tensor, hidden: Tensor | None) -> Tensor | None:
        """Add the cells of a block [rows turned round, cols], which is overwritten; return those that do not count."""
        if hidden is not None:
            block.masked_fill_(hidden, 0.0)
        sums = block.sum(1)  # [rows turned round]
        if not bool(sums.isfinite().all()):
            odd = ~block.isfinite()
            hidden = odd if hidden is None else hidden | odd
            sums = block.masked_fill_(odd, 0.0).sum(1)
        width = block.shape[1]
        count = torch.full_like(sums, width) if hidden is None else width - hidden.sum(1).to(sums)
        part = slice(*rows)
        fresh = (self.count[part] == 0).flip(0)  # [rows turned round]
        pivot = torch.where(fresh, sums / count.clamp_min(1), self.pivot[part].flip(0))
        block.sub_(pivot[:, None])
        if hidden is not None:
            block.masked_fill_(hidden, 0.0)
        self.pivot[part] = pivot.flip(0)
        self.first[part] += block.sum(1).flip(0)
        self.second[part] += block.square_().sum(1).flip(0)
        self.count[part] += count.flip(0)
        return hidden

    @property
    def within(self) -> Tensor:
        """Σ (x − mean of the row)² of each row, float64 [query]."""
        return (self.second - self.first**2 / self.count.clamp_min(1)).clamp_min(0)

    def overall(self) -> tuple[float, float]:
        """Return mean and variance of all cells together; NaN when there are none."""
        total = float(self.count.sum())
        if not total:
            return math.nan, math.nan
        means = self.pivot.double() + self.first / self.count.clamp_min(1)  # [query]
        mean = float((self.count * means).sum()) / total
        between = (self.count * (means - mean) ** 2).sum()
        return mean, float(self.within.sum() + between) / total


class _Pass:
    """One pass: what it reads, and what it has summed so far."""

    def __init__(
        self,
        terms: HeadTerms,
        visibility: Visibility,
        curve: Tensor,
        normaliser: Normaliser,
        row_sums: Tensor | None,
        documents: tuple[int, ...] | None,
        crew: Crew,
    ) -> None:
        self.terms, self.visibility, self.curve, self.crew = terms, visibility, curve, crew
        self.normaliser = normaliser
        n, device = terms.n_key, terms.device
        self.distance = torch.arange(-(n - 1), n, dtype=terms.dtype, device=device).abs_()  # [2·key−1]
        self.documents = None if documents is None else torch.tensor(documents, device=device)  # [key]
        scale = torch.ones_like(normaliser.inverse) if row_sums is None else row_sums
        self.factor = normaliser.inverse * scale  # [query]; weight = exp(score − reference) · factor
        # Σ weight, Σ weight · (score − reference), Σ weight · |δ|, Σ weight in other documents, of each row.
        sums = torch.zeros(4, terms.n_query, dtype=torch.float64, device=device)  # [4, query]
        self.mass, self.exponent, self.reach, self.leak = sums
        self.content = _Spread.empty(terms.n_query, curve)
        self.positional = _Spread.empty(terms.n_query, curve)
        # Σ (own term and edit − level) and the number of cells of each offset; a term of offsets alone needs none.
        self.by_offset = None if terms.own_is_toeplitz else torch.zeros(2, 2 * n - 1, dtype=torch.float64)
        self.level = 0.0 if self.by_offset is None else self._own_level()
        self.lock = threading.Lock()

    def _own_level(self) -> float:
        """Return the mean of the own term over the last query: sums along diagonals are of what differs from it."""
        rows = self.terms.n_query - 1, self.terms.n_query
        out = self.curve.new_empty(1, self.terms.n_key)
        values = self.terms.own(rows, (0, self.terms.n_key), out)  # [1, key]
        values = values[values.isfinite()]  # [key]
        return float(values.mean()) if values.numel() else 0.0

    def rows(self, rows: Span) -> None:
        """Add a block of rows."""
        low, high = self.visibility.span(rows)
        inner = self.visibility.seen_by_all(rows)
        x0 = min(max(inner[0], low), high)
        x1 = min(max(inner[1], x0), high)
        for a, b in ((low, x0), (x0, x1), (x1, high)):
            for c, d in parts(b - a, COLS):
                self._block(rows, (a + c, a + d))

    def _block(self, rows: Span, cols: Span) -> None:
        seen = self.visibility.block(rows, cols, self.terms.device)
        hidden = None if seen is None else ~seen.flip(0)  # [rows turned round, cols]
        content, own, score = (self._memory(name, rows, cols) for name in ("content", "own", "score"))
        self._write(rows, cols, content, own, score)
        self.content.take(rows, content, hidden)
        self._diagonals(rows, cols, own, hidden)
        self._weights(rows, cols, content, score, hidden)

    def _memory(self, name: str, rows: Span, cols: Span) -> Tensor:
        """Return a block [rows, cols] with free cells after each row, see `diagonals`."""
        height, width = rows[1] - rows[0], cols[1] - cols[0]
        memory = self.crew.scratch(name, height * (width + height), self.terms.dtype)
        return memory.as_strided((height, width), (width + height, 1))

    def _write(self, rows: Span, cols: Span, content: Tensor, own: Tensor, score: Tensor) -> None:
        """Write a block of every stage, the edit in position and score."""
        terms = self.terms
        terms.content(rows, cols, content)
        if terms.turned is None:
            terms.own(rows, cols, own)
            torch.add(content, own, out=score)
        else:  # the product of the turned factors is the score itself
            terms.add_own(rows, cols, score.copy_(content))
            torch.sub(score, content, out=own)
        edit = curve_on(self.curve, terms.start, rows, cols)  # [rows turned round, cols]
        own.add_(edit)
        score.add_(edit)

    def _diagonals(self, rows: Span, cols: Span, own: Tensor, hidden: Tensor | None) -> None:
        if self.by_offset is None:
            self.positional.take(rows, own, hidden)
            return
        kept = torch.sub(own, self.level, out=self._memory("kept", rows, cols))
        hidden = self.positional.take(rows, own, hidden)
        counted = own.fill_(1.0)
        if hidden is not None:
            kept.masked_fill_(hidden, 0.0)
            counted.masked_fill_(hidden, 0.0)
        first = cols[0] - (rows[1] - 1 + self.terms.start) + self.terms.n_key - 1
        height, width = own.shape
        for place, block in enumerate((kept, counted)):
            free = block.as_strided((height, height), (width + height, 1), block.storage_offset() + width)
            free.zero_()
            sums = diagonals(block).sum(0)[: width + height - 1].double().cpu()  # [offset]
            with self.lock:
                self.by_offset[place, first : first + len(sums)] += sums

    def _weights(self, rows: Span, cols: Span, spare: Tensor, score: Tensor, hidden: Tensor | None) -> None:
        part = slice(*rows)
        score.sub_(self.normaliser.reference[part].flip(0)[:, None]).clamp_(min=NOTHING)
        if hidden is not None:
            score.masked_fill_(hidden, NOTHING)
        weight = torch.exp(score, out=spare).mul_(self.factor[part].flip(0)[:, None])
        self.mass[part] += weight.sum(1).flip(0)
        self.exponent[part] += score.mul_(weight).sum(1).flip(0)
        distance = curve_on(self.distance, self.terms.start, rows, cols)  # [rows turned round, cols]
        self.reach[part] += torch.mul(weight, distance, out=score).sum(1).flip(0)
        if self.documents is not None:
            start = self.terms.start
            mine = self.documents[start + rows[0] : start + rows[1]].flip(0)  # [rows turned round]
            weight.masked_fill_(mine[:, None] == self.documents[None, slice(*cols)], 0.0)
            self.leak[part] += weight.sum(1).flip(0)


def head_measures(
    terms: HeadTerms,
    visibility: Visibility,
    curve: Tensor,
    normaliser: Normaliser,
    row_sums: Tensor | None,
    documents: tuple[int, ...] | None,
    crew: Crew,
    cancel: CancelLike | None = None,
) -> HeadMeasures:
    """Return the figures of a head under the edit `curve` [2·key−1].

    Args:
        terms: the head.
        visibility: its visible cells.
        curve: the edit.
        normaliser: of all rows under that edit.
        row_sums: [query] for given weights, else None.
        documents: the document of each key; None when all belong together.
        crew: who does the work.
        cancel: asked between blocks, told of progress.

    Raises:
        Whatever `cancel` raises.
    """
    one = _Pass(terms, visibility, curve, normaliser, row_sums, documents, crew)
    # The blocks of a causal mask grow with the rows: the longest first, so that all workers end together.
    height = min(max(BLOCK_CELLS // terms.n_key, 16), ROWS)
    crew.run(one.rows, parts(terms.n_query, height)[::-1], cancel or Silent())
    own, other = float(one.positional.within.sum()), float(one.content.within.sum())
    seen = one.mass > 0  # [query], False for a row that is not a number
    some = bool(seen.any())
    # −Σ w ln w with ln w = exponent + ln factor
    entropy = -(one.exponent + one.mass * one.factor.double().log())[seen]  # [row]
    return HeadMeasures(
        toeplitz_share=_toeplitz_share(one),
        position_share=own / (own + other) if own + other > 0 else math.nan,
        mean_distance=float((one.reach / one.mass)[seen].mean()) if some else math.nan,
        entropy_bits=float(entropy.mean()) / math.log(2) if some else math.nan,
        document_leak=None if documents is None else float(one.leak.max()),
    )


def _toeplitz_share(one: _Pass) -> float:
    mean, variance = one.positional.overall()
    if not variance > CONSTANT * max(1.0, mean**2 + variance):
        return math.nan
    if one.by_offset is None:
        return 1.0
    sums, counts = one.by_offset.numpy()  # [2·key−1] each
    means = one.level + sums / np.maximum(counts, 1)
    return float((counts * (means - mean) ** 2).sum() / counts.sum() / variance)
