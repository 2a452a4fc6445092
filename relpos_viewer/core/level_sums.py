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
# Patterns of hidden cells that are kept, of some 16 kB each: blocks at a causal mask's diagonal often share a few.
PATTERNS = 64
# Runs of pixel columns whose views a worker keeps.
PARTS = 256


class _Keys:
    """The keys, as many for each pixel column as the widest has: what a column lacks repeats its last key.

    All columns are then reduced in one operation, whatever n is.

    Attributes:
        edges: int64 [bin + 1].
        width: keys of each bin, with the repeated ones.
        place: int64 [bin · width], the key at each place.
        repeated: bool [bin · width], or None where none is.
        step: bins of a chunk.
    """

    def __init__(self, edges: np.ndarray, step: int) -> None:
        widths = np.diff(edges)
        self.edges, self.step, self.width = edges, step, int(widths.max())
        place = edges[:-1, None] + np.arange(self.width)
        repeated = place >= edges[1:, None]  # [bin, place]
        self.place = np.minimum(place, edges[1:, None] - 1).reshape(-1)
        self.repeated = repeated.reshape(-1) if repeated.any() else None

    def of(self, rows: Tensor) -> Tensor:
        """Return the rows of [key, d] in their places, [bin · width, d]."""
        if self.repeated is None:
            return rows
        return rows.index_select(0, torch.from_numpy(self.place).to(rows.device))


@dataclass(frozen=True, eq=False)
class _Part:
    """Views of one worker's memory for the pixel columns of a part of a chunk.

    Attributes:
        groups: the lines that are laid on it, half-open.
        places: of the keys, half-open; keys: [place, d].
        block: [place, rows turned round].
        parted: the same as [bin, place, rows turned round]; flat: as [bin, cells].
        laid: the line less its level laid on it, of the shape of `under`, which is one of these.
        repeated: int64 [some], places of repeated keys, or None where there is none.
        peaks, sums: [bin, rows turned round]; low: [bin].
    """

    groups: Span
    places: Span
    keys: Tensor
    block: Tensor
    parted: Tensor
    flat: Tensor
    laid: Tensor
    under: Tensor
    repeated: Tensor | None
    peaks: Tensor
    sums: Tensor
    low: Tensor


class _Desk:
    """One worker's memory for blocks of so many rows.

    The line of offsets is kept once a chunk where all places follow each other, else once a bin: its groups.
    """

    def __init__(self, crew: Crew, at: _Keys, keys: Tensor, height: int) -> None:
        """Take the memory; `keys` are [place, d]."""
        bins, dtype = len(at.edges) - 1, keys.dtype
        self._at, self._keys, self._height = at, keys, height
        self._group = at.step if at.repeated is None else 1  # bins
        self._firsts = at.edges[: bins : self._group]  # [group], first key
        self._memory = crew.scratch("scores", min(at.step, bins) * at.width * height, dtype)
        self.peaks, self.sums = (
            crew.scratch(name, bins * height, dtype).view(bins, height) for name in ("peaks", "sums")
        )
        self.low = torch.empty(bins, dtype=dtype, device=crew.device)
        length = min(self._group, bins) * at.width + height - 1
        self._lines = torch.empty(len(self._firsts), length, dtype=dtype, device=crew.device)
        self._parts: dict[Span, _Part] = {}

    def lay(self, line: Tensor, base: int, bins: Span, of_bin: np.ndarray) -> None:
        """Write the lines that are laid on the whole groups of some bins, less the level `of_bin` [bin] of each.

        `line` holds the offset of the block's first row and key 0 at `base`; after its end, numbers of any kind.
        """
        a, b = bins[0] // self._group, (bins[1] - 1) // self._group + 1
        begins = np.maximum(np.arange(a, b) * self._group, bins[0]) - bins[0]
        level = torch.from_numpy(of_bin[begins]).to(line)[:, None]  # [group, 1]
        length = self._lines.shape[1]
        if self._at.repeated is None:
            start = line.storage_offset() + base + int(self._firsts[a])
            each = line.as_strided(
                (b - a, length), (self._group * self._at.width, 1), start
            )  # [group, offset]
        else:
            places = torch.from_numpy(self._firsts[a:b] + base).to(line.device)
            each = line.unfold(0, length, 1).index_select(0, places)  # [group, offset]
        torch.sub(each, level, out=self._lines[a:b])

    def part(self, first: int, stop: int) -> _Part:
        """Return the views for the bins `first` … `stop` of one chunk."""
        found = self._parts.get((first, stop))
        if found is None:
            if len(self._parts) >= PARTS:
                self._parts = {}
            found = self._parts[first, stop] = self._made(first, stop)
        return found

    def _made(self, first: int, stop: int) -> _Part:
        at, height, width = self._at, self._height, self._at.width
        places = (first * width, stop * width)
        block = self._memory[: (stop - first) * width * height].view(-1, height)
        parted = block.view(stop - first, width, height)
        groups = (first // self._group, (stop - 1) // self._group + 1)
        lines, repeated = self._lines[slice(*groups)], None
        if at.repeated is None:
            begin = lines.storage_offset() + (first % self._group) * width
            laid = lines.as_strided((len(block), height), (1, 1), begin)
        else:
            laid = lines.as_strided(parted.shape, (lines.stride(0), 1, 1), lines.storage_offset())
            found = np.flatnonzero(at.repeated[slice(*places)])
            repeated = torch.from_numpy(found).to(block.device) if len(found) else None
        return _Part(
            groups=groups,
            places=places,
            keys=self._keys[slice(*places)],
            block=block,
            parted=parted,
            flat=block.view(stop - first, width * height),
            laid=laid,
            under=block if laid.ndim == 2 else parted,
            repeated=repeated,
            peaks=self.peaks[first:stop],
            sums=self.sums[first:stop],
            low=self.low[first:stop],
        )


class LevelSums:
    """Passes over the rows of a head whose scores are a product and a curve, one pass at a time.

    What does not change with the curve is kept from one pass to the next.
    """

    def __init__(
        self, terms: HeadTerms, visibility: Visibility, edges: np.ndarray, crew: Crew, extents: bool
    ) -> None:
        """Prepare what all passes share; see `of`."""
        assert terms.products is not None
        self._terms, self._visibility, self._edges, self._crew = terms, visibility, edges, crew
        self._q, k, self._line_alone = terms.products
        self._extents, self._turned = extents, terms.turned is not None
        bins = len(edges) - 1
        self._step = max(KEYS * bins // terms.n_key, 1)
        self._at = _Keys(edges, self._step)
        self._keys = self._at.of(k)  # [place, d]
        # A little more than the lengths, as products are rounded: no content or score exceeds what they make.
        lengths = (torch.linalg.vector_norm(each, dim=1).double().cpu().numpy() for each in (self._q, k))
        of_queries, of_keys = (length * (1 + 1e-5) for length in lengths)
        self._query_bound = of_queries[::-1]  # [query]
        self._chunk_bound = np.maximum.reduceat(of_keys, edges[np.arange(0, bins, self._step)])  # [chunk]
        self._bound = float(of_queries.max() * of_keys.max())
        self._misses = 0 if self._bound <= LOOSE else MISSES
        self._own = threading.local()
        self._chunks_of: dict[Span, list[tuple[int, int, bool]]] = {}
        self._patterns: dict[bytes, Tensor] = {}
        # Where the ends of the content are to be found from those of the scores, [row block, bin].
        self._open = np.zeros((math.ceil(terms.n_query / HEIGHT), bins), bool)

    @classmethod
    def of(
        cls, terms: HeadTerms, visibility: Visibility, edges: np.ndarray, crew: Crew, extents: bool
    ) -> LevelSums | None:
        """Return passes over content + own term + edit; None where these are not a product and a curve.

        Args:
            terms: where scores come from.
            visibility: which cells count.
            edges: int64 [bin + 1] of the pixel columns, from 0 to n_key.
            crew: has the memory.
            extents: whether the smallest and largest scores are looked for.
        """
        if terms.products is None or not visibility.by_runs:
            return None
        made = cls(terms, visibility, edges, crew, extents)
        return made if math.isfinite(made._bound) else None

    def begin(self, curve: Tensor | None, contents: bool) -> bool:
        """Start a pass.

        Args:
            curve: the edit [2·key−1], or None.
            contents: whether the smallest and largest content are looked for; not without extents.

        Returns:
            False where the line is such that rows are not to be summed here.
        """
        terms, own = self._terms, self._line_alone
        line = self._q.new_zeros(2 * terms.n_key - 1) if own is None else own  # [offset]
        line = line if curve is None else line + curve
        height = min(HEIGHT, terms.n_query)
        window = height + self._at.width - 1  # most offsets of a bin
        known = np.pad(line.double().cpu().numpy(), (0, window), mode="edge")
        if not (known < math.inf).all():
            return False
        self._most, self._least = (_sliding(known, window, way) for way in (np.maximum, np.minimum))
        self._line = torch.cat((line, line.new_zeros(terms.n_key + self._at.width + height)))
        self._contents = contents
        if contents and self._turned:
            assert terms.k is not None
            self._content_keys = self._at.of(terms.k)  # [place, d]
        return True

    def rows(self, stats: RowStatistics, rows: Span, content: list[float]) -> bool:
        """Sum a block of at most `HEIGHT` rows; the content that was looked at is brought into `content`.

        Returns:
            False, with `stats` as it was, where rows lie so far below their levels that this is not exact.
        """
        chunks = self._chunks_of.get(rows)
        if chunks is None:
            chunks = self._chunks_of[rows] = self._chunks(rows)
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
            looks = self._contents & (
                loose | self._turned | ~(np.maximum.reduceat(most - least, begins) <= STEEP * self._bound)
            )  # [chunk], whether the content's ends are looked for
        of_bin = np.repeat(levels, np.diff(np.append(begins, x1 - x0)))  # [bin]
        desk.lay(self._line, base, (x0, x1), of_bin)
        q = self._turned_round(self._q, rows)  # [d, rows turned round]
        common = -math.inf if loose else float(levels.max())
        for begin, stop, edge in reversed(chunks):
            part, place = desk.part(begin, stop), begin // self._step - first
            block, level = part.block, float(levels[place])
            hidden = self._pattern(rows, part) if edge else None  # [place, rows turned round]
            if looks[place] and self._turned:
                assert terms.q is not None
                torch.mm(
                    self._content_keys[slice(*part.places)], self._turned_round(terms.q, rows), out=block
                )
                widen(content, block, hidden)
            torch.mm(part.keys, q, out=block)
            if looks[place] and not self._turned:
                widen(content, block, hidden)
            if loose:
                level = float(torch.round(block.amax()) + round(highest[place]))
                of_bin[begin - x0 : stop - x0] = level
                desk.lay(self._line, base, (begin, stop), of_bin[begin - x0 : stop - x0])
                common = max(common, level)
            part.under.add_(part.laid)
            odd = hidden is not None or lowest[place] == -math.inf
            if hidden is not None:
                block.masked_fill_(hidden, -math.inf)
            if part.repeated is not None:  # as the keys, so their scores
                block.index_copy_(0, part.repeated, block.index_select(0, part.repeated - 1))
            torch.amax(part.parted, 1, out=part.peaks)
            if self._extents:
                torch.amin(
                    part.flat.masked_fill(part.flat == -math.inf, math.inf) if odd else part.flat,
                    1,
                    out=part.low,
                )
            if level < common - NOTHING:
                part.sums.zero_()
                continue
            quick = not odd and (shallow[place] or (self._extents and float(part.low.amin()) > LEAST))
            exp_(block, 0.0 if quick else -math.inf)
            if part.repeated is not None:
                block.index_fill_(0, part.repeated, 0.0)
            torch.sum(part.parted, 1, out=part.sums)
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
        if self._extents:
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
        size = float(np.abs(self._line.cpu().numpy()).max(initial=0)) + self._bound
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
            desks[height] = _Desk(self._crew, self._at, self._keys, height)
        return desks[height]

    def _turned_round(self, queries: Tensor, rows: Span) -> Tensor:
        """Return some rows of [query, d], which is stored last query first, [d, rows turned round]."""
        return queries[self._terms.n_query - rows[1] : self._terms.n_query - rows[0]].t()

    def _pattern(self, rows: Span, part: _Part) -> Tensor:
        """Return the hidden cells of a block, bool [place, rows turned round]."""
        place = self._at.place[slice(*part.places)]  # [place]
        c = place[0]
        ends = np.stack(
            [each[rows[0] : rows[1]][::-1] for each in (self._visibility.first, self._visibility.stop)]
        )
        ends = np.clip(ends - c, 0, place[-1] + 1 - c)  # [2, rows turned round]
        name = ends.tobytes() + (place - c).tobytes()
        found = self._patterns.get(name)
        if found is None:
            keys = (place - c)[:, None]  # [place, 1]
            hidden = (keys < ends[0]) | (keys >= ends[1])  # [place, rows turned round]
            found = torch.from_numpy(hidden).to(self._terms.device)
            if len(self._patterns) >= PATTERNS:
                self._patterns = {}
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
