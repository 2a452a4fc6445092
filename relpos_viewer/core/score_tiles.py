"""Pixels of any viewport, reduced block by block, and the cheap ways where the arithmetic allows them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.bins import reduce_columns, reduce_rows
from relpos_viewer.core.crew import CancelLike, Crew
from relpos_viewer.core.head_terms import HeadTerms, Span, curve_on
from relpos_viewer.core.row_statistics import COLS, ROWS, Writer
from relpos_viewer.core.visibility import Visibility

# Most numbers in the counts by offset of pixels that are visible in part.
LARGEST_HISTOGRAM = 1 << 23
# Runs of keys that are summed at once for pixels that are visible in part.
RUNS = 4096


def pooled(
    write: Writer,
    visibility: Visibility,
    rows: np.ndarray,
    cols: np.ndarray,
    reduce: str,
    crew: Crew,
    like: Tensor,
    cancel: CancelLike,
    wanted: np.ndarray | None = None,
) -> Tensor:
    """Reduce every cell of a viewport: the sum of each pixel's visible cells, or that of largest magnitude.

    Args:
        write: writes the values of a block, rows turned round.
        visibility: which cells count.
        rows, cols: int64 edges of the pixels, in cells.
        reduce: "mean" (the sum is returned) or "max".
        crew: who does the work.
        like: a tensor of the dtype and device to work in.
        cancel: asked between blocks.
        wanted: bool [h, w], pixels that are needed; others may be left out.

    Returns:
        [h, w] float64 sums, or values of largest magnitude.
    """
    h, w = len(rows) - 1, len(cols) - 1
    # Masked cells are 0: that changes neither a sum nor the value of largest magnitude.
    total = torch.zeros(h, w, dtype=torch.float64, device=like.device)  # [h, w], sums or largest values
    lowest = torch.zeros_like(total)  # [h, w]
    step = max(COLS * w // int(cols[-1] - cols[0]), 1)  # pixels a chunk
    group = max(ROWS * h // int(rows[-1] - rows[0]), 1)  # pixel rows a block

    def job(groups: Span) -> None:
        y0, y1 = groups
        for x0 in range(0, w, step):
            x1 = min(x0 + step, w)
            pixels = x0, x1
            if wanted is not None:
                hits = np.flatnonzero(wanted[y0:y1, x0:x1].any(0)) + x0
                if not len(hits):
                    continue
                pixels = int(hits[0]), int(hits[-1]) + 1
            for a in range(int(rows[y0]), int(rows[y1]), ROWS):
                # A tall pixel row is taken in pieces; short ones fit a block together.
                b = min(a + ROWS, int(rows[y1])) if y1 - y0 == 1 else int(rows[y1])
                _block((a, b), (y0, y1), pixels)
                if b == int(rows[y1]):
                    break

    def _block(span: Span, groups: Span, pixels: Span) -> None:
        c, d = int(cols[pixels[0]]), int(cols[pixels[1]])
        low, high = visibility.span(span)
        low, high = max(low, c), min(high, d)
        if low >= high:
            return
        block = crew.scratch("tile", (span[1] - span[0]) * (d - c), like.dtype).view(span[1] - span[0], d - c)
        if (low, high) != (c, d):
            block[:, : low - c], block[:, high - c :] = 0, 0
        live = block[:, low - c : high - c]  # [rows turned round, low:high]
        write(span, (low, high), live)
        seen = visibility.block(span, (low, high), like.device)
        if seen is not None:
            live.masked_fill_(~seen.flip(0), 0)
        edges = cols[pixels[0] : pixels[1] + 1] - c
        heights = rows[groups[0] : groups[1] + 1] - span[0]
        if len(heights) == 2:
            heights = np.array([0, span[1] - span[0]])
        into = total[groups[0] : groups[1], pixels[0] : pixels[1]]
        if reduce == "mean":
            into += reduce_rows(reduce_columns(block, edges, "sum").flip(0), heights, "sum")
            return
        under = lowest[groups[0] : groups[1], pixels[0] : pixels[1]]
        high_ = reduce_rows(reduce_columns(block, edges, "amax").flip(0), heights, "amax")
        low_ = reduce_rows(reduce_columns(block, edges, "amin").flip(0), heights, "amin")
        into.copy_(torch.maximum(into, high_))
        under.copy_(torch.minimum(under, low_))

    crew.run(job, [(y, min(y + group, h)) for y in range(0, h, group)], cancel)
    return total if reduce == "mean" else torch.where(-lowest > total, lowest, total)


class CurveSums:
    """Sums of a curve laid over each pixel of one viewport.

    A sum over rows and columns of f(j − i) is four values of the second running sum of f.
    """

    def __init__(self, n_key: int, query_start: int, rows: np.ndarray, cols: np.ndarray) -> None:
        """Take the int64 edges of the pixels, in cells."""
        a, b = int(rows[0]) + query_start, int(rows[-1]) + query_start  # positions of the queries
        c, d = int(cols[0]), int(cols[-1])
        first = c - b + 1  # smallest offset of the viewport
        self._part = slice(first + n_key - 1, d - 1 - a + n_key)
        # Σ_{j<c} f(j − i) is once[c − i − first]; Σ_i of it over [a, b) is twice at c − a + 1 less at c − b + 1.
        self._corners = cols[None, :] - (rows[:, None] + query_start) - first + 1  # [h + 1, w + 1]

    def of(self, curve: Tensor) -> np.ndarray:
        """Return the sums of a finite curve [2·key−1], float64 [h, w]."""
        part = curve[self._part].double().cpu().numpy()  # [offset]
        once = np.concatenate(([0.0], part.cumsum()))
        twice = np.concatenate(([0.0], once.cumsum()))  # twice[x] = Σ_{y<x} once[y]
        corners = twice.take(self._corners)  # [h + 1, w + 1]
        strips = corners[:-1] - corners[1:]  # [h, w + 1]
        return strips[:, 1:] - strips[:, :-1]


class EditSums:
    """Sums of a curve over the visible cells of each pixel of one viewport, as often as the curve changes."""

    def __init__(
        self,
        terms: HeadTerms,
        visibility: Visibility,
        rows: np.ndarray,
        cols: np.ndarray,
        counts: np.ndarray,
        crew: Crew,
    ) -> None:
        self._terms, self._visibility, self._crew = terms, visibility, crew
        self._rows, self._cols = rows, cols
        self._offsets = visibility.offset_counts > 0 if visibility.offsets_alone() else None  # [2·key−1]
        self._whole = counts == np.outer(np.diff(rows), np.diff(cols))  # [h, w]
        self._some = ~self._whole & (counts > 0)  # [h, w]
        self._curve_sums = CurveSums(terms.n_key, terms.start, rows, cols)
        self._last: tuple[Tensor, np.ndarray] | None = None
        self._histograms = None
        pixels = np.argwhere(self._some)
        width = int(np.diff(rows).max() + np.diff(cols).max())
        if self._offsets is None and len(pixels) * width <= LARGEST_HISTOGRAM:
            self._histograms = visibility.histograms(rows, cols, pixels)

    def of(self, curve: Tensor, cancel: CancelLike) -> np.ndarray:
        """Return Σ curve[δ] over the visible cells of each pixel, float64 [h, w]; curve is [2·key−1].

        The answer for the last curve is kept: a tensor that is given here must not be written to afterwards.
        """
        if self._last is None or self._last[0] is not curve:
            self._last = curve, self._sums(curve, cancel)
        return self._last[1]

    def _sums(self, curve: Tensor, cancel: CancelLike) -> np.ndarray:
        rows, cols, start = self._rows, self._cols, self._terms.start
        if self._offsets is not None:
            curve = torch.where(torch.from_numpy(self._offsets).to(curve.device), curve, 0.0)

        def write(span: Span, part: Span, out: Tensor) -> Tensor:
            return out.copy_(curve_on(curve, start, span, part))

        if not bool(curve.isfinite().all()):  # an infinity belongs to its own pixels only
            cells = pooled(write, self._visibility, rows, cols, "mean", self._crew, curve, cancel)
            return cells.cpu().numpy()
        sums = self._curve_sums.of(curve)  # [h, w]
        if self._offsets is not None or not self._some.any():
            return np.where(self._whole | self._some, sums, 0)
        sums[~self._whole] = 0
        if self._histograms is not None:
            lowest, counts = self._histograms
            place = lowest[:, None] + np.arange(counts.shape[1]) + self._terms.n_key - 1  # [pixel, offset]
            values = curve.double().cpu().numpy()[np.clip(place, 0, len(curve) - 1)]
            sums[self._some] = (values * counts).sum(1)
            return sums
        cells = pooled(write, self._visibility, rows, cols, "mean", self._crew, curve, cancel, self._some)
        return np.where(self._some, cells.cpu().numpy(), sums)


def product_sums(q_turned: Tensor, k: Tensor, rows: np.ndarray, cols: np.ndarray) -> Tensor:
    """Return Σ q·k over each pixel, float64 [h, w]: the product of sums, as the product is linear in both.

    Args:
        q_turned: [query, d], last query first.
        k: [key, d].
        rows, cols: int64 edges of the pixels.
    """
    n = q_turned.shape[0]
    a, b = n - int(rows[-1]), n - int(rows[0])
    turned = (n - rows[::-1]) - a  # edges from the other end
    q = reduce_rows(q_turned[a:b], turned, "sum").flip(0).double()  # [h, d]
    keys = reduce_rows(k[int(cols[0]) : int(cols[-1])], cols - cols[0], "sum").double()  # [w, d]
    return q @ keys.t()


def term_sums(
    terms: HeadTerms,
    stage: str,
    visibility: Visibility,
    rows: np.ndarray,
    cols: np.ndarray,
    counts: np.ndarray,
    crew: Crew,
    cancel: CancelLike,
    like: Tensor,
) -> Tensor:
    """Return Σ over the visible cells of each pixel of "content" or "own", float64 [h, w].

    Pixels seen whole come from sums of their factors, the others from their cells.
    """
    write = terms.content if stage == "content" else terms.own
    areas = np.outer(np.diff(rows), np.diff(cols))  # [h, w]
    whole = counts == areas
    if stage == "own" and terms.own_is_toeplitz:
        assert terms.curve is not None
        sums = EditSums(terms, visibility, rows, cols, counts, crew).of(terms.curve, cancel)
        return torch.from_numpy(sums).to(terms.device)
    total = _whole_sums(terms, stage, rows, cols)
    if total is None:
        return pooled(write, visibility, rows, cols, "mean", crew, like, cancel)
    some = ~whole & (counts > 0)
    parts = total.masked_fill_(torch.from_numpy(~whole).to(total.device), 0.0)
    if some.any():
        cells = (
            _seen_sums(terms, stage, visibility, rows, cols, some, crew, cancel)
            if visibility.by_runs
            else pooled(write, visibility, rows, cols, "mean", crew, like, cancel, some)
        )
        parts = torch.where(torch.from_numpy(some).to(cells.device), cells, parts)
    return parts


def _whole_sums(terms: HeadTerms, stage: str, rows: np.ndarray, cols: np.ndarray) -> Tensor | None:
    """Return the sums over whole pixels, [h, w]; None where only the cells say it."""
    if stage == "content":
        return None if terms.q is None else _finite(product_sums(terms.q, terms.k, rows, cols))  # type: ignore[arg-type]
    if terms.inputs.bias is not None:
        return None
    if terms.turned is not None:
        assert terms.q is not None and terms.k is not None
        both = product_sums(*terms.turned, rows, cols)
        return _finite(both - product_sums(terms.q, terms.k, rows, cols))
    return None


def _seen_sums(
    terms: HeadTerms,
    stage: str,
    visibility: Visibility,
    rows: np.ndarray,
    cols: np.ndarray,
    some: np.ndarray,
    crew: Crew,
    cancel: CancelLike,
) -> Tensor:
    """Return the sums over the visible cells of the pixels `some`, where each query sees one run; see `_whole_sums`."""
    assert terms.q is not None and terms.k is not None
    content = run_sums(terms.q, terms.k, visibility, rows, cols, some, crew, cancel)
    if stage == "content":
        return content
    assert terms.turned is not None
    return run_sums(*terms.turned, visibility, rows, cols, some, crew, cancel) - content


def run_sums(
    q_turned: Tensor,
    k: Tensor,
    visibility: Visibility,
    rows: np.ndarray,
    cols: np.ndarray,
    some: np.ndarray,
    crew: Crew,
    cancel: CancelLike,
) -> Tensor:
    """Return Σ q·k over the visible cells of some pixels: each query times the sum of the keys of a pixel that it sees.

    Args:
        q_turned: [query, d], last query first.
        k: [key, d].
        visibility: by runs.
        rows, cols: int64 edges of the pixels.
        some: bool [h, w], which pixels.
        crew: who does the work.
        cancel: asked between pieces.

    Returns:
        float64 [h, w], 0 at other pixels.
    """
    h, w = some.shape
    total = torch.zeros(h, w, dtype=torch.float64)  # [h, w]
    heights = np.diff(rows)
    step = max(COLS * w // int(cols[-1] - cols[0]), 1)  # pixels a chunk

    def job(x0: int) -> None:
        part = slice(x0, min(x0 + step, w))
        c, d = int(cols[part.start]), int(cols[part.stop])
        sums = torch.zeros(d - c + 1, k.shape[1], dtype=torch.float64, device=k.device)
        torch.cumsum(k[c:d], 0, dtype=torch.float64, out=sums[1:])  # [keys + 1, d], sums from c on
        y, x = np.nonzero(some[:, part])  # [pixel]
        most = max(RUNS // int(heights.max()), 1)
        for a in range(0, len(y), most):
            y_, x_ = y[a : a + most], x[a : a + most] + x0  # [pixel]
            tall = heights[y_]
            begins = np.cumsum(tall) - tall  # [pixel], its first run
            queries = np.arange(tall.sum()) + np.repeat(rows[y_] - begins, tall)  # [run]
            left, right = np.repeat(cols[x_], tall), np.repeat(cols[x_ + 1], tall)  # [run]
            low, high = (
                torch.from_numpy(np.clip(ends[queries], left, right) - c).to(k.device)
                for ends in (visibility.first, visibility.stop)
            )
            keys = sums.index_select(0, high).sub_(sums.index_select(0, low))  # [run, d]
            place = torch.from_numpy(len(q_turned) - 1 - queries).to(k.device)
            values = keys.mul_(q_turned.index_select(0, place)).sum(1).cpu().numpy()  # [run]
            total[torch.from_numpy(y_), torch.from_numpy(x_)] = torch.from_numpy(
                np.add.reduceat(values, begins)
            )

    crew.run(job, [x for x in range(0, w, step) if some[:, x : x + step].any()], cancel)
    return total.to(k.device)


def _finite(sums: Tensor) -> Tensor | None:
    """Return the sums, or None where NaN or an infinity has spread over pixels that may not hold it."""
    return sums if bool(sums.isfinite().all()) else None
