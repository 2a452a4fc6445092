"""Products of queries or keys with one vector for each offset, block by block, and vectors for illustrations."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Span

Vectors = Callable[[Tensor], Tensor]
"""Gives, for offsets δ int64 [count], one vector each: [head or 1, count, d]."""


def query_products(q: Tensor, vectors: Vectors, start: int, rows: Span, cols: Span) -> Tensor:
    """Return q_i · vectors(δ) for every cell of a block, [head, rows, cols].

    The trick of Huang et al. 2018 (arXiv 1809.04281): one product with every offset of the block, read with rows one
    shorter, so that no cell gathers a vector of its own.

    Args:
        q: queries [head, query, d].
        vectors: of the offsets.
        start: position of the first query.
        rows, cols: half-open.
    """
    height, width = rows[1] - rows[0], cols[1] - cols[0]
    products = (
        q[:, slice(*rows)] @ _of_block(vectors, start, rows, cols).to(q).mT
    )  # [head, rows, rows + cols − 1]
    heads, span = products.shape[0], products.shape[2]
    # Cell (r, c) has the offset in place c − r + height − 1.
    return products.contiguous().as_strided((heads, height, width), (height * span, span - 1, 1), height - 1)


def key_products(k: Tensor, vectors: Vectors, start: int, rows: Span, cols: Span) -> Tensor:
    """Return k_j · vectors(δ) for every cell of a block, [head, rows, cols]; k [head, key, d], else as above."""
    height, width = rows[1] - rows[0], cols[1] - cols[0]
    table = _of_block(vectors, start, rows, cols).to(k).flip(-2)  # [head or 1, rows + cols − 1, d]
    products = k[:, slice(*cols)] @ table.mT  # [head, cols, rows + cols − 1]
    heads, span = products.shape[0], products.shape[2]
    # Turned round, cell (r, c) has the offset in place r − c + width − 1.
    return products.contiguous().as_strided((heads, height, width), (width * span, 1, span - 1), width - 1)


def _of_block(vectors: Vectors, start: int, rows: Span, cols: Span) -> Tensor:
    """Return the vectors of every offset of a block, ascending, [head or 1, rows + cols − 1, d]."""
    first = cols[0] - (rows[1] - 1 + start)
    return vectors(torch.arange(first, cols[1] - rows[0] - start))


def drawn(seed: int, heads: int, first_head: int, *shape: int) -> Tensor:
    """Return seeded normal numbers that differ by head and do not depend on how many there are, [head, *shape]."""
    return torch.stack(
        [
            torch.randn(
                shape, generator=torch.Generator().manual_seed(1000 * seed + head), dtype=torch.float64
            )
            for head in range(first_head, first_head + heads)
        ]
    )


def waves(offset: Tensor, width: int, base: float = 10000.0) -> Tensor:
    """Return sin(δ ω_t), then cos(δ ω_t), with ω_t = base^(−2t/width): float64 [count, width].

    Transformer-XL's R; any offset has its vector, whatever the length of the sequence.
    """
    rates = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)  # [⌈width/2⌉]
    angles = offset.double()[:, None] * rates  # [count, ⌈width/2⌉]
    return torch.cat((angles.sin(), angles.cos()), dim=-1)[:, :width]
