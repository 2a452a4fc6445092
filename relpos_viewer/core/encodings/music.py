"""Music Transformer's relative attention. Huang et al. 2018, arXiv 1809.04281."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Encoding,
    Handle,
    Parameter,
    Span,
    Variant,
    check_table,
    check_width,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.reach import far_end, reached
from relpos_viewer.core.encodings.relative import drawn, query_products, waves
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs

SEED = 13


@dataclass(frozen=True, eq=False, kw_only=True)
class Music(Encoding):
    """score = s·(q_i·k_j + q_i·E_h[δ + L − 1]) for δ ≤ 0; the future has no vectors and adds nothing.

    Nor have distances from `length` on, where it is given: tensor2tensor fills them with zeros.
    """

    name = "music"
    title = "Music Transformer"
    paper = "Huang et al. 2018, arXiv 1809.04281"
    summary = "A learned vector for each distance into the past and each head meets the query."
    toeplitz = False
    sign = "Row L − 1 of the table is δ = 0, row 0 the farthest past; what the skewing trick leaves above is garbage."
    scaling = "The positional part is scaled with the content, by 1/√d."
    parameters = (
        Parameter(
            "length",
            "int",
            0,
            "Number of distances with a vector (max_relative_position), farther ones add nothing; 0 for all.",
            0,
            2**20,
        ),
        Parameter(
            "table", "table", None, "Vectors E [head, L, d], the last row for δ = 0; seeded ones when empty."
        ),
    )
    head_axes: ClassVar = {"table": 0}

    length: int = 0
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the table's axes, and that it is long enough."""
        if self.table is not None:
            rows = check_table(self.table, "music", "[head, L, d]", 3).shape[1]
            if self.length > rows:
                raise ViewerError(f"the music table holds {rows} distances, length says {self.length}.")

    def vectors(self, offset: Tensor, head_dim: int) -> Tensor:
        """Return E at offsets δ [count], zeros for the future: [head, count, d].

        Raises:
            ViewerError: when the table is too short or of another width.
        """
        met = offset <= 0
        if self.length:
            met = met & (offset > -self.length)
        past = met[:, None]  # [count, 1]
        if self.table is None:
            mixing = drawn(SEED, self.heads or 1, self.first_head, 64, head_dim) / 4  # [head, 64, d]
            return torch.where(past, waves(offset, 64) @ mixing, 0.0)
        table = check_width(self.table, "music table", head_dim)  # [head, L, d]
        length = table.shape[1]
        return torch.where(past, table[:, (offset + length - 1).clamp(0, length - 1)], 0.0)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return s · q_i·E, [head, rows, cols]."""
        q, _ = needs_queries(self.title, inputs)
        needed = min(inputs.n_key, self.length or inputs.n_key)
        if self.table is not None and needed > self.table.shape[1]:
            raise ViewerError(
                f"the music table ends at {self.table.shape[1]} positions and the sequence has {inputs.n_key}; "
                "shorten it."
            )
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        family = self.with_heads(inputs.heads)
        return scale * query_products(
            q, lambda offset: family.vectors(offset, q.shape[2]), inputs.query_start, rows, cols
        )

    def beyond(self, n: int) -> Tensor | None:
        """Return the offsets of the past that have no vector any more, bool [2n−1]."""
        return torch.arange(1 - n, n) <= -self.length if 0 < self.length < n else None

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the farthest offset that has a vector."""
        help = f"{self.length} distances have a vector" if self.length else "Every distance has a vector"
        return far_end("length", self.length - 1 if self.length else None, n, help)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with another number of distances; all of them at the far end of the axis."""
        distance = reached(handle, offset, 0, n - 1)
        return replace(self, length=0 if distance == n - 1 else distance + 1)

    def trained_length(self) -> int | None:
        """Return the number of distances that have a vector."""
        return self.length or (None if self.table is None else self.table.shape[1])

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the table read from its other end."""
        q, _ = needs_queries(self.title, inputs)
        length = self.length if self.length < inputs.n_key else 0
        if self.table is None:
            table = self.vectors(torch.arange(1 - (length or inputs.n_key), 1), q.shape[2])  # [head, L, d]
        else:
            table = self.table[:, -length:]  # [head, L, d]
        help = "Row 0 taken for δ = 0: near and far change places."
        return (Variant("first row first", help, replace(self, length=length, table=table.flip(1))),)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return where the table ends."""
        if self.length:
            return (
                f"{self.length:,} distances have a vector: for farther keys nothing is added to the content."
            )
        if self.table is None:
            return "The stand-in for a table goes on; a learned table has no vector for farther offsets."
        length = self.table.shape[1]
        return f"The table ends at {length:,} positions: a longer sequence has no vectors, and is refused."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the products with the vectors of n_key distances."""
        head_dim = self.written_width(head_dim)
        vectors = self.vectors(torch.arange(1 - n_key, 1), head_dim)  # [head, offset, d]
        return f"""{constant("TABLE", vectors, f"[head, offset, d], δ = {1 - n_key} … 0")}


{BIAS_OF_VECTORS}
    offset = offsets(n_query, n_key, q.device)  # [query, key]
    vectors = TABLE.to(q)[:, offset.clamp_max(0) + {n_key - 1}]  # [head, query, key, d]
    return scale * torch.einsum("hid,hijd->hij", q, vectors) * (offset <= 0)  # [head, query, key]
"""
