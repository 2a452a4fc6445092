"""Offsets δ = key − query, and what is indexed by them: curves, diagonals and buckets."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def offsets(n: int, device: torch.device | str = "cpu") -> Tensor:
    """Return every offset of `n` positions, −(n−1) … n−1, as int64 [2n−1]."""
    return torch.arange(-(n - 1), n, device=device)  # [2n−1]


def offset_matrix(n_query: int, n_key: int, device: torch.device | str = "cpu") -> Tensor:
    """Return δ[i, j] = j − (i + n_key − n_query), int64 [query, key]: the queries are the last positions."""
    positions = torch.arange(n_key, device=device)  # [key]
    return positions[None, :] - positions[n_key - n_query :, None]  # [query, key]


def toeplitz(curve: Tensor, n_query: int, n_key: int) -> Tensor:
    """Lay a curve over the diagonals of a matrix.

    Args:
        curve: [..., 2·n_key−1], value at offset δ in place δ + n_key − 1.
        n_query: number of queries, the last of the n_key positions.
        n_key: number of keys.

    Returns:
        [..., query, key] with M[i, j] = curve[j − (i + n_key − n_query) + n_key − 1].
    """
    return toeplitz_block(curve, n_key - n_query, (0, n_query), (0, n_key))


def toeplitz_block(curve: Tensor, query_start: int, rows: tuple[int, int], cols: tuple[int, int]) -> Tensor:
    """Lay a curve over the block rows × cols of a matrix, [..., rows, cols].

    Args:
        curve: [..., 2n−1], value at offset δ in place δ + n − 1.
        query_start: position of the first query.
        rows: half-open range of queries.
        cols: half-open range of keys.
    """
    middle = curve.shape[-1] // 2  # place of δ = 0
    first = cols[0] - (rows[1] - 1 + query_start) + middle  # place of the smallest offset of the block
    height, width = rows[1] - rows[0], cols[1] - cols[0]
    # Row i is a slice of the curve that starts one place earlier than row i−1's: windows, read backwards.
    windows = curve[..., first : first + height + width - 1].unfold(-1, width, 1)  # [..., rows, cols], a view
    return windows.flip(-2)  # [..., rows, cols]


def t5_bucket(offset: Tensor, num_buckets: int, max_distance: int, *, bidirectional: bool) -> Tensor:
    """Return the T5 bucket of each offset, int64 of the same shape.

    Raffel et al. 2019 (arXiv 1910.10683). Half of the (one-sided) buckets hold one offset each, the rest grow
    logarithmically up to `max_distance`. The order of operations matters: ln(n/e) / ln(max/e) · (N − e) with
    the division first; multiplied beforehand, |δ| = 64 falls into bucket 13 instead of 14 at 32/128.
    """
    if bidirectional:
        side = num_buckets // 2
        base = (offset > 0).long() * side
        distance = offset.abs()
    else:
        side = num_buckets
        base = torch.zeros_like(offset)
        distance = (-offset).clamp_min(0)
    exact = side // 2
    # float32 as in the reference implementation; it agrees with exact rational arithmetic.
    growth = (
        torch.log(distance.clamp_min(1).float() / exact) / math.log(max_distance / exact) * (side - exact)
    )
    far = (exact + growth.long()).clamp_max(side - 1)
    return base + torch.where(distance < exact, distance, far)
