"""Sums of whole rows where scores are a product and a curve: few operations a block, and few of its cells.

A chunk of keys has one level, which bounds its scores from above: lengths of queries and keys bound their product, and
the curve its own part. So no pass over the block has to find a maximum before the exponentials; what the level was
worth is seen afterwards, from the row maxima. The smallest and largest content follow in the same way from those of
the scores: only pixels that could hold them are computed again.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.bins import reduce_rows
from relpos_viewer.core.crew import CancelLike, Crew
from relpos_viewer.core.exponentials import LEAST, exp_
from relpos_viewer.core.head_terms import HeadTerms, Span
from relpos_viewer.core.visibility import Visibility

if TYPE_CHECKING:
    from relpos_viewer.core.row_statistics import RowStatistics

# A block of 128 × 1,024 float32 scores is half a MB: it stays near its core, with the keys it is made of.
HEIGHT, KEYS = 128, 1024
# How far below the highest level of its chunks a row's maximum may lie: what float32 loses there, e^(50 − 87) of the
# row's sum a cell, is nothing.
DEPTH = 50.0
# A chunk whose level lies this far below the highest adds nothing that float32 could hold: e^(50 − 150) a cell.
NOTHING = 150.0
# A bound of the content above this would cost scores their digits: levels are then measured, at one more operation.
LOOSE = 40.0
# Where the curve varies inside a pixel by more than this part of the bound of the content, scores say too little about
# the content, and its ends are looked for in the block itself.
STEEP = 0.1
# So many blocks may turn out to lie too deep below their levels before levels are measured; and as many again before
# the pass is given up.
MISSES = 2
# Patterns of hidden cells that are kept: under a causal mask, all blocks at the diagonal share a few.
PATTERNS = 8


@dataclass(frozen=True, eq=False)
class _Part:
    """Views of one worker's memory for the pixel columns of a part of a chunk.

    Attributes:
        chunk: which it is part of.
        keys: [keys, d], which are those of `span`, half-open.
        edges: int64 [bin + 1], from 0.
        block: [keys, rows turned round].
        parted: [bin, keys of each, rows turned round], flat: [bin, cells of each]; None where bins differ.
        laid: [keys, rows turned round], the line of the chunk, less its level, laid on the block.
        peaks, sums: [bin, rows turned round]; low: [bin].
    """

    chunk: int
    keys: Tensor
    span: Span
    edges: np.ndarray
    block: Tensor
    parted: Tensor | None
    flat: Tensor | None
    laid: Tensor
    peaks: Tensor
    sums: Tensor
    low: Tensor

    def reduce(self, how: str, out: Tensor) -> None:
        """Reduce the block bin by bin to `out` [bin, rows turned round]."""
        if self.parted is None:
            out.copy_(reduce_rows(self.block, self.edges, how))  # type: ignore[arg-type]
        else:
            getattr(torch, how)(self.parted, 1, out=out)

    def reduce_low(self) -> None:
        """Find the smallest number of each bin."""
        if self.flat is None:
            torch.amin(reduce_rows(self.block, self.edges, "amin"), 1, out=self.low)
        else:
            torch.amin(self.flat, 1, out=self.low)


class _Desk:
    """One worker's memory for blocks of so many rows."""

    def __init__(self, crew: Crew, keys: Tensor, edges: np.ndarray, step: int, height: int) -> None:
        """Take the memory; `keys` are [key, d], and `step` is the number of bins of a chunk."""
        bins, dtype = len(edges) - 1, keys.dtype
        self._keys = keys
        self._edges, self._step, self._height = edges, step, height
        self._firsts = edges[np.arange(0, bins, step)]  # [chunk], first key
        self._reach = int((np.append(self._firsts[1:], edges[-1]) - self._firsts).max())  # keys
        widths = np.diff(edges)
        self._width = int(widths[0]) if widths.min() == widths.max() else None
        self._memory = crew.scratch("scores", self._reach * height, dtype)
        self.peaks, self.sums = (
            crew.scratch(name, bins * height, dtype).view(bins, height) for name in ("peaks", "sums")
        )
        self.low = torch.empty(bins, dtype=dtype, device=crew.device)
        length = self._reach + height - 1
        self._lines = torch.empty(len(self._firsts), length, dtype=dtype, device=crew.device)
        self._parts: dict[Span, _Part] = {}

    def lay(self, line: Tensor, base: int, chunk: int, levels: np.ndarray) -> None:
        """Write the line of each chunk from `chunk` on, less its level [chunk].

        `line` holds the offset of the block's first row and key at `base`, and is as long as a whole block needs.
        """
        count, length = len(levels), self._lines.shape[1]
        if self._width is not None:
            pitch = self._step * self._width
            start = line.storage_offset() + base + int(self._firsts[chunk])
            each = line.as_strided((count, length), (pitch, 1), start)  # [chunk, offset]
            level = torch.from_numpy(levels).to(line)[:, None]
            torch.sub(each, level, out=self._lines[chunk : chunk + count])
            return
        for place, level in enumerate(levels.tolist(), chunk):
            self.lay_one(line, base, place, level)

    def lay_one(self, line: Tensor, base: int, chunk: int, level: float) -> None:
        """Write the line of one chunk less its level."""
        start = base + int(self._firsts[chunk])
        torch.sub(line[start : start + self._lines.shape[1]], level, out=self._lines[chunk])

    def part(self, first: int, stop: int) -> _Part:
        """Return the views for the bins `first` … `stop` of one chunk."""
        found = self._parts.get((first, stop))
        if found is None:
            found = self._parts[first, stop] = self._made(first, stop)
        return found

    def _made(self, first: int, stop: int) -> _Part:
        chunk, height, width = first // self._step, self._height, self._width
        c, d = int(self._edges[first]), int(self._edges[stop])
        block = self._memory[: (d - c) * height].view(d - c, height)
        row = self._lines[chunk]
        laid = row.as_strided((d - c, height), (1, 1), row.storage_offset() + c - int(self._firsts[chunk]))
        return _Part(
            chunk=chunk,
            keys=self._keys[c:d],
            span=(c, d),
            edges=self._edges[first : stop + 1] - c,
            block=block,
            parted=None if width is None else block.view(stop - first, width, height),
            flat=None if width is None else block.view(stop - first, width * height),
            laid=laid,
            peaks=self.peaks[first:stop],
            sums=self.sums[first:stop],
            low=self.low[first:stop],
        )


class LevelSums:
    """One pass over the rows of a head whose scores are a product and a curve; any thread may ask for rows."""

    def __init__(
        self,
        terms: HeadTerms,
        visibility: Visibility,
        edges: np.ndarray,
        crew: Crew,
        line: Tensor,
        bounds: tuple[np.ndarray, np.ndarray],
        ends: bool,
    ) -> None:
        """Prepare what all rows share; see `of`. `bounds` are [query] and [key]: no content exceeds their product."""
        assert terms.products is not None
        self._terms, self._visibility, self._edges, self._crew = terms, visibility, edges, crew
        self._q, self._k, _ = terms.products
        self._ends, self._turned = ends, terms.turned is not None
        bins, widths = len(edges) - 1, np.diff(edges)
        self._step = max(KEYS * bins // terms.n_key, 1)
        height = min(HEIGHT, terms.n_query)
        window = height + int(widths.max()) - 1  # most offsets of a bin
        known = np.pad(line.double().cpu().numpy(), (0, window), mode="edge")
        self._most, self._least = (_sliding(known, window, way) for way in (np.maximum, np.minimum))
        self._line = torch.cat((line, line.new_zeros(edges[-1] + height)))
        self._query_bound = bounds[0]
        self._chunk_bound = np.maximum.reduceat(bounds[1], edges[np.arange(0, bins, self._step)])  # [chunk]
        most = float(bounds[0].max() * bounds[1].max())
        self._steep, self._misses = STEEP * most, 0 if most <= LOOSE else MISSES
        self._own = threading.local()
        self._patterns: dict[bytes, Tensor] = {}
        # Where the ends of the content are to be found from those of the scores, [row block, bin].
        self._open = np.zeros((math.ceil(terms.n_query / HEIGHT), bins), bool)

    @classmethod
    def of(
        cls,
        terms: HeadTerms,
        visibility: Visibility,
        edges: np.ndarray,
        crew: Crew,
        curve: Tensor | None,
        ends: bool,
    ) -> LevelSums | None:
        """Return a pass over content + own term + `curve` [2·key−1]; None where these are not a product and a curve.

        Args:
            terms: where scores come from.
            visibility: which cells count.
            edges: int64 [bin + 1] of the pixel columns, from 0 to n_key.
            crew: has the memory.
            curve: the edit, or None.
            ends: whether the smallest and largest content are looked for.
        """
        if terms.products is None or not visibility.by_runs:
            return None
        q, k, own = terms.products
        line = q.new_zeros(2 * terms.n_key - 1) if own is None else own  # [offset]
        line = line if curve is None else line + curve
        # Last query first; a little more than the lengths, as products are rounded.
        lengths = (torch.linalg.vector_norm(each, dim=1).double().cpu().numpy() for each in (q, k))
        of_queries, of_keys = (length * (1 + 1e-5) for length in lengths)
        bounds = of_queries[::-1], of_keys
        if not np.isfinite(bounds[0].max() * bounds[1].max()) or not bool((line < math.inf).all()):
            return None
        return cls(terms, visibility, edges, crew, line, bounds, ends)

    def rows(self, stats: RowStatistics, rows: Span, content: list[float]) -> bool:
        """Sum a block of at most `HEIGHT` rows; the content that was looked at is brought into `content`.

        Returns:
            False, with `stats` as it was, where rows lie so far below their levels that this is not exact.
        """
        chunks = self._chunks(rows)
        if not chunks or self._misses > 2 * MISSES:
            return False
        done = self._summed(stats, rows, chunks, content)
        self._misses += not done  # a lost update costs time, nothing else
        return done

    def _summed(
        self, stats: RowStatistics, rows: Span, chunks: list[tuple[int, int, bool]], content: list[float]
    ) -> bool:
        (a, b), terms, loose = rows, self._terms, self._misses >= MISSES
        desk = self._desk(b - a)
        x0, x1 = chunks[0][0], chunks[-1][1]
        base = terms.n_key - 1 - (b - 1 + terms.start)  # place in the line of the block's first row and key 0
        most, least = (ends[self._edges[x0:x1] + base] for ends in (self._most, self._least))  # [bin]
        first = x0 // self._step
        begins = np.maximum(np.arange(first, (x1 - 1) // self._step + 1) * self._step, x0) - x0  # [chunk]
        highest, lowest = np.maximum.reduceat(most, begins), np.minimum.reduceat(least, begins)  # [chunk]
        if highest.min() == -math.inf:  # an edit hides all of a chunk
            return False
        bound = self._query_bound[a:b].max() * self._chunk_bound[first : first + len(begins)]  # [chunk]
        levels = np.round(bound + highest)
        shallow = lowest - bound - levels > LEAST  # no exponential leaves the numbers that are quick
        with np.errstate(invalid="ignore"):
            looks = self._ends & (
                loose | self._turned | ~(np.maximum.reduceat(most - least, begins) <= self._steep)
            )  # [chunk], whether the content's ends are looked for
        desk.lay(self._line, base, first, levels)
        q = self._turned_round(self._q, rows)  # [d, rows turned round]
        of_bin = np.empty(x1 - x0)  # [bin], level of each
        common = -math.inf if loose else float(levels.max())
        for begin, stop, edge in reversed(chunks):
            part, place = desk.part(begin, stop), begin // self._step - first
            block, level = part.block, float(levels[place])
            hidden = self._pattern(rows, part) if edge else None  # [keys, rows turned round]
            if looks[place] and self._turned:
                assert terms.q is not None and terms.k is not None
                torch.mm(terms.k[slice(*part.span)], self._turned_round(terms.q, rows), out=block)
                widen(content, block, hidden)
            torch.mm(part.keys, q, out=block)
            if looks[place] and not self._turned:
                widen(content, block, hidden)
            if loose:
                level = float(torch.round(block.amax()) + round(highest[place]))
                desk.lay_one(self._line, base, part.chunk, level)
                common = max(common, level)
            of_bin[begin - x0 : stop - x0] = level
            block.add_(part.laid)
            odd = hidden is not None or lowest[place] == -math.inf
            if hidden is not None:
                block.masked_fill_(hidden, -math.inf)
            part.reduce("amax", part.peaks)
            if self._ends and odd:
                part.low.copy_(
                    reduce_rows(block.masked_fill(block == -math.inf, math.inf), part.edges, "amin").amin(1)
                )
            elif self._ends:
                part.reduce_low()
            if level < common - NOTHING:
                part.sums.zero_()
                continue
            quick = not odd and (shallow[place] or (self._ends and float(part.low.amin()) > LEAST))
            exp_(block, 0.0 if quick else -math.inf)
            part.reduce("sum", part.sums)
        if not self._written(stats, rows, (x0, x1), desk, of_bin):
            return False
        self._open[a // HEIGHT, x0:x1] = np.repeat(~looks, np.diff(np.append(begins, x1 - x0)))
        return True

    def _written(self, stats: RowStatistics, rows: Span, bins: Span, desk: _Desk, of_bin: np.ndarray) -> bool:
        """Write the sums of a block, which are relative to a level `of_bin` [bin], into the rows of `stats`."""
        (a, b), (x0, x1) = rows, bins
        peaks, sums, low = (each[x0:x1] for each in (desk.peaks, desk.sums, desk.low))
        level = torch.from_numpy(of_bin).to(peaks)[:, None]  # [bin, 1]
        peaks += level  # [bin, rows turned round]
        top = peaks.amax(0)  # [rows turned round]
        if not float(top.amin()) > float(of_bin.max()) - DEPTH:
            return False
        sums *= exp_(level - top)
        for turned, out, nothing in ((peaks, stats.peaks[a:b], -math.inf), (sums, stats.sums[a:b], 0.0)):
            out[:, x0:x1].copy_(turned.flip(1).t())
            for rest in (out[:, :x0], out[:, x1:]):
                if rest.shape[1]:
                    rest.fill_(nothing)
        stats.shift[a:b] = top.flip(0)
        stats.rest[a:b] = sums.sum(0).flip(0)
        if self._ends:
            ends = ((stats.low, low + level[:, 0], math.inf), (stats.high, peaks.amax(1), -math.inf))
            for out, values, nothing in ends:
                out[a // HEIGHT] = nothing
                out[a // HEIGHT, x0:x1] = values
        return True

    def look_for_ends(self, stats: RowStatistics, content: list[float], cancel: CancelLike) -> None:
        """Bring into `content` the ends of what `rows` has not looked at, after all rows.

        Scores less the line bound the content pixel by pixel; what could exceed the best so far is computed.
        """
        height, edges, terms = HEIGHT, self._edges, self._terms
        stop = np.minimum(np.arange(1, len(self._open) + 1) * height, terms.n_query)  # [row block]
        base = terms.n_key - 1 - (stop - 1 + terms.start)
        place = base[:, None] + edges[:-1]  # [row block, bin]
        # What rounding may have done to scores and lines.
        size = float(np.abs(self._line.cpu().numpy()).max(initial=0)) + self._steep / STEEP
        slack = 16 * torch.finfo(terms.dtype).eps * size
        with np.errstate(invalid="ignore"):
            high = stats.high.cpu().numpy() - self._least[place] + slack
            low = self._most[place] - stats.low.cpu().numpy() + slack
        lock = threading.Lock()

        def job(item: tuple[int, int, float, float]) -> None:
            y, x, below, above = item
            if below <= -content[0] and above <= content[1]:
                return
            rows, cols = (y * height, int(stop[y])), (int(edges[x]), int(edges[x + 1]))
            memory = self._crew.scratch("scores", (rows[1] - rows[0]) * (cols[1] - cols[0]), terms.dtype)
            block = terms.content(rows, cols, memory.view(rows[1] - rows[0], -1))
            seen = self._visibility.block(rows, cols, terms.device)
            found = [math.inf, -math.inf]
            widen(found, block, None if seen is None else ~seen.flip(0))
            with lock:
                content[0], content[1] = min(content[0], found[0]), max(content[1], found[1])

        for bounds in (high, low):
            candidates = np.flatnonzero(self._open & (bounds > -math.inf))
            values = bounds.reshape(-1)[candidates]
            # The most promising first: then few of the others are left.
            for few in (8, len(candidates)):
                best = content[1] if bounds is high else -content[0]
                candidates, values = candidates[values > best], values[values > best]
                order = (
                    np.argsort(-values) if few > 8 else np.argpartition(-values, min(few, len(values) - 1))
                )
                some = candidates[order[:few]]
                y, x = np.unravel_index(some, bounds.shape)
                items = zip(y.tolist(), x.tolist(), low[y, x].tolist(), high[y, x].tolist(), strict=True)
                self._crew.run(job, list(items), cancel, (1, 1))

    def _chunks(self, rows: Span) -> list[tuple[int, int, bool]]:
        """Return the runs of bins of one chunk that a block of rows sees, and whether some cells of each are hidden."""
        low, high = self._visibility.span(rows)
        if low == high:
            return []
        first = int(np.searchsorted(self._edges, low, side="right")) - 1
        stop = int(np.searchsorted(self._edges, high, side="left"))
        inner = self._visibility.seen_by_all(rows)
        x0 = min(max(int(np.searchsorted(self._edges, inner[0], side="left")), first), stop)
        x1 = min(max(int(np.searchsorted(self._edges, inner[1], side="right")) - 1, x0), stop)
        runs = ((first, x0, True), (x0, x1, False), (x1, stop, True))
        return [
            (max(x, a), min(x + self._step, b), edge)
            for a, b, edge in runs
            if a < b
            for x in range(a - a % self._step, b, self._step)
        ]

    def _desk(self, height: int) -> _Desk:
        desks: dict[int, _Desk] = self._own.__dict__.setdefault("desks", {})
        if height not in desks:
            desks[height] = _Desk(self._crew, self._k, self._edges, self._step, height)
        return desks[height]

    def _turned_round(self, queries: Tensor, rows: Span) -> Tensor:
        """Return some rows of [query, d], which is stored last query first, [d, rows turned round]."""
        return queries[self._terms.n_query - rows[1] : self._terms.n_query - rows[0]].t()

    def _pattern(self, rows: Span, part: _Part) -> Tensor:
        """Return the hidden cells of a block, bool [keys, rows turned round]."""
        c, d = part.span
        ends = np.stack(
            [each[rows[0] : rows[1]][::-1] for each in (self._visibility.first, self._visibility.stop)]
        )
        ends = np.clip(ends - c, 0, d - c)  # [2, rows turned round]
        name = ends.tobytes() + bytes([d - c & 255, d - c >> 8])
        found = self._patterns.get(name)
        if found is None:
            place = np.arange(d - c)[:, None]  # [keys, 1]
            hidden = (place < ends[0]) | (place >= ends[1])  # [keys, rows turned round]
            found = torch.from_numpy(hidden).to(self._terms.device)
            if len(self._patterns) < PATTERNS:
                self._patterns[name] = found
        return found


def widen(ends: list[float], live: Tensor, hidden: Tensor | None) -> float:
    """Let [smallest, largest] take in the finite cells of a block that are not hidden, and return their largest."""
    low, high = (math.nan, math.nan) if hidden is not None else (float(live.amin()), float(live.amax()))
    if not (math.isfinite(low) and math.isfinite(high)):
        odd = ~live.isfinite() if hidden is None else ~live.isfinite() | hidden
        low = float(live.masked_fill(odd, math.inf).amin())
        high = float(live.masked_fill(odd, -math.inf).amax())
    ends[0], ends[1] = min(ends[0], low), max(ends[1], high)
    return high


def _sliding(line: np.ndarray, window: int, way: np.ufunc) -> np.ndarray:
    """Return the largest (or smallest) of every `window` neighbours, [len − window + 1]."""
    size = 1
    while 2 * size <= window:
        line, size = way(line[:-size], line[size:]), 2 * size
    rest = window - size
    return way(line[: len(line) - rest], line[rest:])
