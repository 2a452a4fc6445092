"""Shrink a part of a matrix to the pixels that show it, losing nothing without saying so.

A panel has some 500 × 500 pixels, a matrix may have 2,048 × 2,048 cells. Every pixel stands for a block of whole cells,
and every cell belongs to exactly one pixel: the block edges are an integer partition of the cells. Pyqtgraph's own
down-sampling takes every k-th cell and loses single hot cells (GR.jl#209), so it is never used.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from relpos_viewer.core.errors import ViewerError

REDUCTIONS = ("mean", "max", "sample")

Span = tuple[float, float]


def whole_cells(span: Span, count: int) -> tuple[int, int]:
    """The smallest run of whole cells [start, stop) covering `span`, inside 0…count and never empty (count ≥ 1)."""
    start = min(max(math.floor(span[0]), 0), count - 1)
    stop = max(min(math.ceil(span[1]), count), start + 1)
    return start, stop


def pixel_shape(rows: Span, cols: Span, counts: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
    """The shape [h, w] that `pool` returns: `shape`, but never more pixels than there are cells to show."""
    (a, b), (c, d) = whole_cells(rows, counts[0]), whole_cells(cols, counts[1])
    return min(max(int(shape[0]), 1), b - a), min(max(int(shape[1]), 1), d - c)


def block_edges(count: int, blocks: int) -> np.ndarray:
    """Edges int64 [blocks + 1] that part `count` cells into `blocks` runs whose lengths differ by one at most."""
    return np.arange(blocks + 1, dtype=np.int64) * count // blocks


def pool(
    values: np.ndarray | torch.Tensor,
    visible: np.ndarray | torch.Tensor | None,
    rows: Span,
    cols: Span,
    shape: tuple[int, int],
    reduce: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the cells under a viewport to at most `shape` pixels.

    values: [row, column]; visible: bool [row, column] or None (all visible); rows, cols: the viewport in cells, taken
    outwards to whole cells by `whole_cells`. Returns pooled float32 [h, w] and bool [h, w] "has a visible cell"; h × w
    is `pixel_shape(...)`: fewer cells than pixels are returned as they are, enlarging is the painter's work.

    Only visible cells count; a block without any is 0 and False. `mean` is the mean of the block, `max` its value of
    largest magnitude with its sign (so a deep trough survives as well as a peak; for weights it is the maximum),
    `sample` the cell in its middle. With mean and max a NaN in a block gives NaN and an infinity an infinity:
    what is wrong with the data stays visible however far one zooms out. Any thread.
    """
    if reduce not in REDUCTIONS:
        raise ViewerError(f"Unknown way to reduce cells {reduce!r}: use one of {', '.join(REDUCTIONS)}.")
    n, m = values.shape
    (a, b), (c, d) = whole_cells(rows, n), whole_cells(cols, m)
    h, w = pixel_shape(rows, cols, (n, m), shape)
    block = _array(values[a:b, c:d]).astype(np.float32, copy=False)  # [b−a, d−c]
    seen = None if visible is None else _array(visible[a:b, c:d])  # [b−a, d−c]
    row_edges, col_edges = block_edges(b - a, h), block_edges(d - c, w)

    if reduce == "sample" or (h, w) == block.shape:
        middle_rows = (row_edges[:-1] + row_edges[1:]) // 2
        middle_cols = (col_edges[:-1] + col_edges[1:]) // 2
        taken = np.ix_(middle_rows, middle_cols)
        shown = np.ones((h, w), dtype=bool) if seen is None else seen[taken]
        return np.where(shown, block[taken], np.float32(0)), shown

    # A masked cell as 0 changes neither a sum nor the value of largest magnitude, so one filled copy serves both;
    # multiplying by the mask would let a masked NaN through.
    filled = block if seen is None else np.where(seen, block, np.float32(0))
    cells = np.outer(np.diff(row_edges), np.diff(col_edges))  # [h, w]
    with np.errstate(invalid="ignore", over="ignore"):  # inf − inf is NaN, and meant to be
        if reduce == "max":
            high = _blocks(np.maximum, filled, row_edges, col_edges)
            low = _blocks(np.minimum, filled, row_edges, col_edges)
            pooled = np.where(-low > high, low, high)
            shown = np.ones((h, w), bool) if seen is None else _blocks(np.logical_or, seen, row_edges, col_edges)
            return pooled, shown
        counts = cells if seen is None else _counts(seen, row_edges, col_edges)
        sums = _blocks(np.add, filled, row_edges, col_edges)
        return (sums / np.maximum(counts, 1)).astype(np.float32), counts > 0


def _array(values: np.ndarray | torch.Tensor) -> np.ndarray:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def _blocks(operation: np.ufunc, values: np.ndarray, row_edges: np.ndarray, col_edges: np.ndarray) -> np.ndarray:
    """Reduce [row, column] to [h, w]; rows first, because that pass runs along memory and leaves little for the second."""
    if len(row_edges) - 1 < values.shape[0]:
        values = operation.reduceat(values, row_edges[:-1], axis=0)
    if len(col_edges) - 1 < values.shape[1]:
        values = operation.reduceat(values, col_edges[:-1], axis=1)
    return values


def _counts(seen: np.ndarray, row_edges: np.ndarray, col_edges: np.ndarray) -> np.ndarray:
    """How many visible cells each block has, int64 [h, w]; at most 65,535 rows a block in the first pass."""
    narrow = np.uint8 if np.diff(row_edges).max() < 256 else np.uint32
    by_rows = np.add.reduceat(seen.view(np.uint8).astype(narrow, copy=False), row_edges[:-1], axis=0, dtype=narrow)
    return np.add.reduceat(by_rows, col_edges[:-1], axis=1, dtype=np.int64)
