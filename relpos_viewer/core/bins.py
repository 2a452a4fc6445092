"""Reduce a block of scores to the pixel columns it covers, in the order that memory is read."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.pooling import _runs

Reduction = Literal["sum", "amax", "amin"]

# Below this many cells a segment, numpy's reduceat spends its time on starting segments.
SHORT = 16
# Below this many rows a group, taking one row of each group after the other costs least.
LOW = 8
OPERATIONS = {"sum": torch.add, "amax": torch.maximum, "amin": torch.minimum}
# A call for each group costs less than copying so many cells.
WORTH_A_CALL = 1 << 14


def reduce_columns(block: Tensor, edges: np.ndarray, how: Reduction) -> Tensor:
    """Reduce runs of columns.

    Args:
        block: [rows, cols], rows may be apart in memory.
        edges: int64 [bins + 1] ascending, from 0 to cols, lengths differing by one at most.
        how: "sum", "amax" or "amin".

    Returns:
        [rows, bins].
    """
    bins = len(edges) - 1
    width, rest = divmod(block.shape[1], bins)
    if rest == 0:
        parted = block.unflatten(1, (bins, width))  # [rows, bins, width], a view
        return getattr(parted, how)(-1)
    if block.device.type == "cpu" and width >= SHORT:
        ufunc = {"sum": np.add, "amax": np.maximum, "amin": np.minimum}[how]
        return torch.from_numpy(ufunc.reduceat(block.numpy(), edges[:-1], axis=1))
    return _runs(OPERATIONS[how], block, edges, 1)


def reduce_rows(block: Tensor, edges: np.ndarray, how: Reduction) -> Tensor:
    """Reduce runs of rows, [rows, cols] → [groups, cols]; arguments as for `reduce_columns`."""
    groups = len(edges) - 1
    height, rest = divmod(block.shape[0], groups)
    if height == 1 and rest == 0:
        return block
    if rest == 0:
        return (
            getattr(block.view(groups, height, -1), how)(1)
            if block.is_contiguous()
            else getattr(block.unflatten(0, (groups, height)), how)(1)
        )
    if height < LOW:
        return _runs(OPERATIONS[how], block, edges, 0)
    reduction = {"sum": torch.sum, "amax": torch.amax, "amin": torch.amin}[how]
    if height * block.shape[1] >= WORTH_A_CALL:
        out = block.new_empty(groups, block.shape[1])
        for group, (a, b) in enumerate(itertools.pairwise(edges.tolist())):
            reduction(block[a:b], 0, out=out[group])
        return out
    # As many rows as all groups have, brought together; then the one more that some of them have.
    first = torch.from_numpy(edges[:-1]).to(block.device)  # [group]
    place = (first[:, None] + torch.arange(height, device=block.device)).view(-1)  # [group · height]
    out = reduction(block.index_select(0, place).unflatten(0, (groups, height)), 1)  # [group, cols]
    longer = torch.from_numpy(np.flatnonzero(np.diff(edges) > height)).to(block.device)
    return out.index_copy_(0, longer, OPERATIONS[how](out[longer], block[first[longer] + height]))
