"""Pictures of differences: of many cells under one pixel, the one that changed most is shown, with its sign."""

from __future__ import annotations

import math

import numpy as np

from relpos_viewer.core.pooling import block_edges


def block_extremes(values: np.ndarray, blocks: int) -> np.ndarray:
    """Return the value of largest magnitude of each block along the last axis, NaN where all are NaN.

    Args:
        values: [line, cell]; NaN where there is nothing to show.
        blocks: how many there shall be; no more than there are cells.

    Returns:
        [line, block].
    """
    cells = values.shape[1]
    starts = block_edges(cells, min(cells, blocks))[:-1]  # [block]
    nothing = np.isnan(values)  # [line, cell]
    high = np.maximum.reduceat(np.where(nothing, -math.inf, values), starts, axis=1)  # [line, block]
    low = np.minimum.reduceat(np.where(nothing, math.inf, values), starts, axis=1)  # [line, block]
    # Without a value the one is −∞ and the other +∞.
    return np.where(high < low, math.nan, np.where(high >= -low, high, low))
