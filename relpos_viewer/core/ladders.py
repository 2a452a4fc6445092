"""Sums along neighbouring diagonals, many blocks of rows at once.

A run of diagonals crosses the same pixel columns, seen from each block's first key, in every block of rows: the
blocks are the rungs of a ladder. All that is done to one is done to many in one operation, so that blocks can be
small, which is less arithmetic, without a call for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.exponentials import exp_
from relpos_viewer.core.head_terms import HeadTerms, Span, laid_on, line_on
from relpos_viewer.core.visibility import Visibility

if TYPE_CHECKING:
    from relpos_viewer.core.crew import Crew
    from relpos_viewer.core.row_statistics import Band, RowStatistics

# Scores at once: 1 MB of float32.
CELLS = 1 << 18


@dataclass(frozen=True)
class Rungs:
    """Blocks of rows along one run of diagonals.

    Attributes:
        first: first query of the first block.
        step: queries from one block to the next, whole pixel columns.
        count: number of blocks.
        height: rows of each.
        run: half-open range of δ.
        left: pixel column where the first block begins.
        bins: pixel columns of each block.
        width: keys of a pixel column.
    """

    first: int
    step: int
    count: int
    height: int
    run: Span
    left: int
    bins: int
    width: int

    def blocks(self) -> list[Span]:
        """Return the rows of each block."""
        return [(a, a + self.height) for a in (self.first + b * self.step for b in range(self.count))]

    def over(self, picture: Tensor) -> Tensor:
        """Return a view of rows of pixel columns [query, bin]: the part of each block, [block, rows, bins]."""
        along = picture.shape[1]
        strides = (self.step * along + self.step // self.width, along, 1)
        start = picture.storage_offset() + self.first * along + self.left
        return picture.as_strided((self.count, self.height, self.bins), strides, start)

    def beside(self, ends: Tensor) -> Tensor:
        """Return a view of [row block, bin]: the part of each block, [block, bins]."""
        along = ends.shape[1]
        strides = (self.step // self.height * along + self.step // self.width, 1)
        start = ends.storage_offset() + self.first // self.height * along + self.left
        return ends.as_strided((self.count, self.bins), strides, start)

    def rows_of(self, matrix: Tensor) -> Tensor:
        """Return a view of [query, any] as [block, rows, any]."""
        wide = matrix.stride(0)
        start = matrix.storage_offset() + self.first * wide
        return matrix.as_strided(
            (self.count, self.height, matrix.shape[1]), (self.step * wide, wide, 1), start
        )


def has_ladders(terms: HeadTerms, visibility: Visibility, edges: np.ndarray, height: int) -> bool:
    """Return whether blocks of `height` rows repeat along a diagonal; edges are those of the pixel columns."""
    width, rest = divmod(terms.n_key, len(edges) - 1)
    repeats = rest == 0 and (width % height == 0 or height % width == 0)
    return terms.products is not None and visibility.by_runs and repeats


def ladder(terms: HeadTerms, edges: np.ndarray, run: Span, height: int) -> tuple[list[Rungs], list[Span]]:
    """Part the blocks of `height` rows that a run of diagonals may touch into ladders and blocks to be taken singly.

    Args:
        terms: where scores come from.
        edges: int64 [bin + 1] of the pixel columns.
        run: half-open range of δ.
        height: rows of a block, such that `has_ladders`.
    """
    n, start = terms.n_key, terms.start
    width = n // (len(edges) - 1)
    step = max(width, height)
    blocks = [(a, min(a + height, terms.n_query)) for a in range(0, terms.n_query, height)]
    whole = [  # blocks that hold all cells of their rows on the run
        b - a == height and a + start + run[0] >= 0 and b - 1 + start + run[1] - 1 < n for a, b in blocks
    ]
    rungs: list[Rungs] = []
    for phase in range(step // height):
        places = [p for p in range(phase, len(blocks), step // height) if whole[p]]
        if not places:
            continue
        first = places[0] * height
        left = (first + start + run[0]) // width
        wide = (first + height - 1 + start + run[1] - 1) // width - left + 1
        most = max(CELLS // (height * wide * width), 1)
        for x in range(0, len(places), most):
            part = places[x : x + most]
            a = part[0] * height
            rungs.append(Rungs(a, step, len(part), height, run, left + (a - first) // width, wide, width))
    return rungs, [block for block, inside in zip(blocks, whole, strict=True) if not inside]


def sum_rungs(
    terms: HeadTerms,
    visibility: Visibility,
    crew: Crew,
    stats: RowStatistics,
    rungs: Rungs,
    curve: Tensor,
    bands: Sequence[Band],
    rise: float,
) -> bool:
    """Sum again the bins that a run of diagonals crosses, and fill the rows of the bands that lie in it.

    Args:
        terms: with products.
        visibility: which cells count.
        crew: has the memory.
        stats: corrected in place.
        rungs: the blocks.
        curve: the edit [2·key−1], −inf at offsets that are held in bands.
        bands: filled in place.
        rise: how far above a row's shift a score may lie.

    Returns:
        False, with `stats` as they were, where a score lies higher than that or is not a number.
    """
    assert terms.products is not None
    q, k, own = terms.products
    a, height, wide, d = rungs.first, rungs.height, rungs.bins * rungs.width, q.shape[1]
    c = rungs.left * rungs.width
    last = a + (rungs.count - 1) * rungs.step
    # Queries are stored last first: so are the blocks of this view, and the rows in each, as blocks have them.
    turned = q.as_strided(
        (rungs.count, height, d),
        (rungs.step * d, d, 1),
        q.storage_offset() + (terms.n_query - last - height) * d,
    )
    keys = k.as_strided((rungs.count, wide, d), (rungs.step * d, d, 1), k.storage_offset() + c * d)
    memory = crew.scratch("scores", rungs.count * height * wide, q.dtype).view(rungs.count, height, wide)
    block = torch.bmm(turned.flip(0), keys.transpose(1, 2), out=memory)  # [block, rows turned round, keys]
    hidden = _hidden(visibility, rungs, c, wide)
    if hidden is not None:
        block.masked_fill_(hidden.to(block.device), -math.inf)
    rows, cols = (a, a + height), (c, c + wide)
    lowest = c - (a + height - 1 + terms.start)  # offset of a block's first diagonal
    for band in bands:
        x, y = band.offsets
        # Rows one shorter move every row one place to the right, and diagonals become columns; see `diagonals`.
        cells = block.as_strided(
            (rungs.count, height, y - x), (height * wide, wide - 1, 1), block.storage_offset() + x - lowest
        )
        scores = rungs.rows_of(band.scores)  # [block, rows, offset]
        scores.copy_(cells.flip(1))
        if own is not None:
            scores += own[x + terms.n_key - 1 : y + terms.n_key - 1]
    line = line_on(curve, terms.start, rows, cols)  # [offset]
    if own is not None:
        line = line + line_on(own, terms.start, rows, cols)
    block += laid_on(line, rows, cols)
    parted = block.view(rungs.count, height, rungs.bins, rungs.width)
    peaks = parted.amax(3)  # [block, rows turned round, bin]
    shift = rungs.rows_of(stats.shift[:, None]).flip(1)  # [block, rows turned round, 1]
    if not bool((peaks.amax(2, keepdim=True) <= shift + rise).all()):
        return False
    finite = torch.nan_to_num(
        block,
        math.inf,
        math.inf,
        math.inf,
        out=crew.scratch("finite", block.numel(), q.dtype).view(block.shape),
    )
    low = finite.amin(1).view(rungs.count, rungs.bins, rungs.width).amin(2)  # [block, bin]
    rungs.beside(stats.low).copy_(low)
    rungs.beside(stats.high).copy_(peaks.amax(1))
    exp_(block.sub_(shift))
    rungs.over(stats.peaks).copy_(peaks.flip(1))
    rungs.over(stats.sums).copy_(parted.sum(3).flip(1))
    return True


def _hidden(visibility: Visibility, rungs: Rungs, c: int, wide: int) -> Tensor | None:
    """Return the cells of the blocks that do not count, bool [block, rows turned round, keys]; None when all do."""
    begin = np.arange(rungs.count)[:, None] * rungs.step  # [block, 1]
    queries = rungs.first + begin + np.arange(rungs.height)[::-1]  # [block, rows turned round]
    first, stop = (ends[queries] - begin - c for ends in (visibility.first, visibility.stop))
    if first.max() <= 0 and stop.min() >= wide:
        return None
    place = torch.arange(wide)  # [keys]
    first, stop = (
        torch.from_numpy(ends)[:, :, None] for ends in (first, stop)
    )  # [block, rows turned round, 1]
    return (place < first) | (place >= stop)
