"""Which keys each query sees, asked block by block, so that no mask of [query, key] has to be built."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask, parse_mask

Span = tuple[int, int]
BlockMask = Callable[[Span, Span], Tensor]
"""A mask as a function: half-open rows and cols to bool [rows, cols], True = visible."""

# Rows that are counted at once; a block of it over 512 edges fits the cache.
COUNTED_ROWS = 256


class Visibility:
    """The visible cells of one head.

    Every mask of the table lets a query see one run of keys, so two numbers a row say all. A bool array or a
    function is asked on top of that, inside the runs only.

    Attributes:
        first: int64 [query], the first key that may be visible.
        stop: int64 [query], one past the last; stop ≥ first.
    """

    def __init__(
        self, first: np.ndarray, stop: np.ndarray, n_key: int, cells: BlockMask | None = None
    ) -> None:
        self.first = first
        self.stop = np.maximum(stop, first)
        self.n_query, self.n_key = len(first), n_key
        self._cells = cells

    @classmethod
    def of(
        cls, inputs: AttentionInputs, mask: str | Mask | np.ndarray | Tensor | BlockMask, head: int
    ) -> Visibility:
        """Return what both the mask and the file leave visible to one head.

        Raises:
            ViewerError: when a custom array or document lengths do not fit.
        """
        n_query, n_key = inputs.n_query, inputs.n_key
        place = np.arange(n_query) + inputs.query_start  # [query], position of each query
        first, stop = np.zeros(n_query, np.int64), np.full(n_query, n_key, np.int64)
        asked: list[BlockMask] = []
        if callable(mask):
            asked.append(_checked(mask))
        else:
            mask = parse_mask(mask)
            if mask.kind in ("causal", "window", "prefix", "left-padding", "documents"):
                stop = place + 1
            if mask.kind == "window":
                first = np.maximum(place + 1 - mask.argument, 0)
            elif mask.kind == "prefix":
                stop = np.maximum(stop, min(mask.argument, n_key))
            elif mask.kind == "padding":
                stop = np.full(n_query, max(n_key - mask.argument, 0))
            elif mask.kind == "left-padding":
                first = np.full(n_query, min(mask.argument, n_key))
            elif mask.kind == "documents":
                first, cells = _documents(mask.document_of_each(n_key, inputs.tokens.documents), place)
                asked += cells
            elif mask.array is not None:
                asked.append(_array(mask.visible(n_query, n_key), head))
        if inputs.visible is not None:
            asked.append(_array(inputs.visible, head))
        return cls(first, stop, n_key, _all_of(asked))

    @property
    def by_runs(self) -> bool:
        """Whether `first` and `stop` say all."""
        return self._cells is None

    def span(self, rows: Span) -> Span:
        """Return the run of keys outside of which a block of rows sees nothing; (0, 0) when it sees nothing."""
        first, stop = self.first[rows[0] : rows[1]], self.stop[rows[0] : rows[1]]
        seeing = stop > first
        if not seeing.any():
            return 0, 0
        return int(first[seeing].min()), int(stop[seeing].max())

    def seen_by_all(self, rows: Span) -> Span:
        """Return the run of keys that all queries of a block see, but for what an array hides; may be empty."""
        return int(self.first[rows[0] : rows[1]].max()), int(self.stop[rows[0] : rows[1]].min())

    def block(self, rows: Span, cols: Span, device: torch.device | str = "cpu") -> Tensor | None:
        """Return the visible cells of a block, bool [rows, cols]; None when all of them are."""
        first, stop = self.first[rows[0] : rows[1]], self.stop[rows[0] : rows[1]]  # [rows] each
        inside = None
        if stop.min(initial=self.n_key) < cols[1]:
            keys = torch.arange(*cols, device=device)  # [cols]
            inside = keys < torch.from_numpy(stop).to(device)[:, None]  # [rows, cols]
        if first.max(initial=0) > cols[0]:
            keys = torch.arange(*cols, device=device)  # [cols]
            after = keys >= torch.from_numpy(first).to(device)[:, None]  # [rows, cols]
            inside = after if inside is None else inside & after
        if self._cells is None:
            return inside
        cells = self._cells(rows, cols).to(device)  # [rows, cols]
        if inside is not None:
            cells = cells & inside
        return None if bool(cells.all()) else cells

    def at(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return whether each of some cells is visible, bool [cell]."""
        inside = (keys >= self.first[queries]) & (keys < self.stop[queries])  # [cell]
        if self._cells is not None:
            for cell in np.flatnonzero(inside):
                i, j = int(queries[cell]), int(keys[cell])
                inside[cell] = bool(self._cells((i, i + 1), (j, j + 1)))
        return inside

    def grid(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return the visible cells among chosen rows and columns, bool [rows, cols]."""
        inside = (keys >= self.first[queries, None]) & (keys < self.stop[queries, None])  # [rows, cols]
        if self._cells is not None:
            for place, query in enumerate(queries):
                row = self._cells((int(query), int(query) + 1), (0, self.n_key))[0].cpu().numpy()  # [key]
                inside[place] &= row[keys]
        return inside

    def counts(self, row_edges: np.ndarray, col_edges: np.ndarray) -> np.ndarray:
        """Return how many visible cells each block of a partition holds, int64 [h, w]."""
        if self._cells is None:
            start, stop = (self._before(ends, row_edges, col_edges) for ends in (self.first, self.stop))
            return np.diff(start - stop, axis=1)
        counts = np.zeros((len(row_edges) - 1, len(col_edges) - 1), np.int64)  # [h, w]
        cols = (int(col_edges[0]), int(col_edges[-1]))
        for group, (start, stop) in enumerate(itertools.pairwise(row_edges)):
            for a in range(int(start), int(stop), COUNTED_ROWS):
                rows = (a, min(a + COUNTED_ROWS, int(stop)))
                seen = self.block(rows, cols)
                per_key = (
                    np.full(cols[1] - cols[0], rows[1] - rows[0])
                    if seen is None
                    else seen.sum(0).cpu().numpy()
                )  # [cols]
                counts[group] += np.add.reduceat(per_key, col_edges[:-1] - cols[0])
        return counts

    @staticmethod
    def _before(ends: np.ndarray, row_edges: np.ndarray, col_edges: np.ndarray) -> np.ndarray:
        """Return Σ max(edge − end, 0) over the rows of each group and their `ends` [query], int64 [h, w + 1]."""
        h, w = len(row_edges) - 1, len(col_edges)
        ends = ends[row_edges[0] : row_edges[-1]]  # [rows]
        group = np.repeat(np.arange(h), np.diff(row_edges))  # [rows]
        place = group * (w + 1) + np.searchsorted(col_edges, ends)  # [rows], the first edge from there on
        many = np.bincount(place, minlength=h * (w + 1)).reshape(h, w + 1)[:, :w].cumsum(1)
        # Sums of less than 2^53 are exact in float64.
        total = np.bincount(place, ends, h * (w + 1)).reshape(h, w + 1)[:, :w].cumsum(1)
        return many * col_edges - total.astype(np.int64)

    @cached_property
    def offset_counts(self) -> np.ndarray:
        """How many visible cells each offset has, int64 [2·key−1]; a mask of cells is asked for all of them, once."""
        n, start = self.n_key, self.n_key - self.n_query
        if self._cells is None:
            place = np.arange(self.n_query) + start  # [query]
            ends = np.zeros(2 * n, np.int64)  # a row's visible offsets are one run
            np.add.at(ends, self.first - place + n - 1, 1)
            np.add.at(ends, self.stop - place + n - 1, -1)
            return ends.cumsum()[:-1]
        counts = np.zeros(2 * n - 1, np.int64)
        for a in range(0, self.n_query, COUNTED_ROWS):
            b = min(a + COUNTED_ROWS, self.n_query)
            low, high = self.span((a, b))
            seen = self.block((a, b), (low, high))
            height, width = b - a, high - low
            # With as many free cells after each row as there are rows, every diagonal becomes a column.
            cells = torch.zeros(
                height, width + height, dtype=torch.uint8
            )  # [rows turned round, cols and free]
            cells[:, :width] = 1 if seen is None else seen.flip(0)
            pitch = width + height - 1
            columns = cells.as_strided((height, pitch), (pitch, 1))  # [rows turned round, offset]
            first = low - (b - 1 + start) + n - 1
            counts[first : first + pitch] += columns.sum(0).numpy()
        return counts

    def offsets_alone(self) -> bool:
        """Return whether a cell's offset alone says if it is visible."""
        counts = self.offset_counts
        start = self.n_key - self.n_query
        offsets = np.arange(-(self.n_key - 1), self.n_key)  # [2·key−1]
        first, stop = np.maximum(-offsets - start, 0), np.minimum(self.n_key - offsets - start, self.n_query)
        return bool(((counts == 0) | (counts == np.maximum(stop - first, 0))).all())

    def histograms(
        self, row_edges: np.ndarray, col_edges: np.ndarray, pixels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Count the visible cells of some pixels by offset.

        Args:
            row_edges, col_edges: int64 edges of the pixels, in cells.
            pixels: int64 [pixel, 2], (row, column) of each.

        Returns:
            int64 [pixel], the smallest offset of each, and int64 [pixel, offset] counts from there on; None for a
            mask that has to be asked cell by cell.
        """
        if self._cells is not None:
            return None
        y, x = pixels[:, 0], pixels[:, 1]
        tall, wide = int(np.diff(row_edges).max()), int(np.diff(col_edges).max())
        a, b, c, d = row_edges[y], row_edges[y + 1], col_edges[x], col_edges[x + 1]  # [pixel] each
        lowest = c - (b - 1 + self.n_key - self.n_query)  # [pixel]
        ends = np.zeros((len(pixels), tall + wide + 1), np.int64)  # a row's visible offsets are one run
        place = np.arange(len(pixels))
        for step in range(tall):
            query = np.minimum(a + step, b - 1)
            low, high = np.maximum(self.first[query], c), np.minimum(self.stop[query], d)
            seeing = (high > low) & (a + step < b)
            shift = query + self.n_key - self.n_query + lowest
            ends[place[seeing], (low - shift)[seeing]] += 1
            ends[place[seeing], (high - shift)[seeing]] -= 1
        return lowest, ends.cumsum(1)[:, :-1]

    @cached_property
    def rows_that_see(self) -> np.ndarray:
        """Which queries see a key at all, bool [query]."""
        seeing = self.stop > self.first
        if self._cells is not None:
            for a in range(0, self.n_query, COUNTED_ROWS):
                rows = (a, min(a + COUNTED_ROWS, self.n_query))
                seen = self.block(rows, self.span(rows))
                if seen is not None:
                    seeing[rows[0] : rows[1]] &= seen.any(1).cpu().numpy()
        return seeing


def _documents(document: tuple[int, ...], place: np.ndarray) -> tuple[np.ndarray, list[BlockMask]]:
    """Return each query's first key of its own document, and what else must be asked when documents interleave."""
    of_key = np.asarray(document)  # [key]
    changes = np.flatnonzero(np.diff(of_key)) + 1
    if len(changes) + 1 == len(np.unique(of_key)):  # every document is one run
        starts = np.concatenate(([0], changes))
        return starts[np.searchsorted(starts, place, side="right") - 1], []
    known = torch.from_numpy(of_key)  # [key]
    start = int(place[0])

    def same(rows: Span, cols: Span) -> Tensor:
        return known[start + rows[0] : start + rows[1], None] == known[None, cols[0] : cols[1]]

    return np.zeros(len(place), np.int64), [same]


def _array(array: Tensor, head: int) -> BlockMask:
    cells = array[head if array.shape[0] > 1 else 0] if array.ndim == 3 else array  # [query, key]
    return lambda rows, cols: cells[rows[0] : rows[1], cols[0] : cols[1]]


def _checked(mask: BlockMask) -> BlockMask:
    def cells(rows: Span, cols: Span) -> Tensor:
        given = mask(rows, cols)
        shape = (rows[1] - rows[0], cols[1] - cols[0])
        try:
            block = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError):
            raise ViewerError(
                f"the mask function must return bool [{shape[0]}, {shape[1]}] for those rows and columns, not "
                f"{type(given).__name__}."
            ) from None
        if block.dtype != torch.bool or tuple(block.shape) != shape:
            raise ViewerError(
                f"the mask function must return bool [{shape[0]}, {shape[1]}] for those rows and columns, not "
                f"{block.dtype} {list(block.shape)}."
            )
        return block

    return cells


def _all_of(asked: list[BlockMask]) -> BlockMask | None:
    if len(asked) < 2:
        return asked[0] if asked else None

    def cells(rows: Span, cols: Span) -> Tensor:
        seen = asked[0](rows, cols)
        for more in asked[1:]:
            seen = seen & more(rows, cols).to(seen.device)
        return seen

    return cells
