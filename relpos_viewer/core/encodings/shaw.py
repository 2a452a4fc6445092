"""Clipped relative keys. Shaw et al. 2018, arXiv 1803.02155; with queries too: Huang et al. 2020, arXiv 2009.13658."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
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
from relpos_viewer.core.encodings.reach import ends, reached
from relpos_viewer.core.encodings.relative import key_products, query_products
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.offsets import offset_matrix

SEED = 11
MOST = 2**20  # the largest clip


@dataclass(frozen=True, eq=False, kw_only=True)
class Shaw(Encoding):
    """score = s·q_i·(k_j + w_c) with c = clip(δ, −K, K); "keys and queries" adds s·k_j·w_c."""

    name = "shaw"
    title = "Shaw clipped relative keys"
    paper = "Shaw et al. 2018, arXiv 1803.02155"
    summary = "A learned vector for each offset up to a distance is added to the key, so the bias depends on the query."
    toeplitz = False
    sign = "Indexed by δ = key − query, as tensor2tensor has it; BERT's relative_key tables are indexed by query − key."
    scaling = "The positional part is scaled with the content, by 1/√d."
    parameters = (
        Parameter(
            "clip", "int", 16, "Largest distance K with a vector of its own; farther ones share it.", 1, MOST
        ),
        Parameter(
            "side",
            "choice",
            "queries",
            "What meets the vectors: queries (Shaw; BERT's relative_key), or queries and keys (relative_key_query).",
            choices=("queries", "both"),
        ),
        Parameter(
            "table", "table", None, "Vectors w [2K + 1, d] for δ = −K … K; seeded random ones when empty."
        ),
        Parameter(
            "value_table", "table", None, "Vectors [2K + 1, d_v] added to the values; none when empty."
        ),
    )

    clip: int = 16
    side: str = "queries"
    table: Tensor | None = None
    value_table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the tables hold a vector for each offset."""
        for name in ("table", "value_table"):
            table = getattr(self, name)
            if table is not None:
                check_table(table, f"shaw {name}", "[2K + 1, d]", 2)
                if table.shape[0] != 2 * self.clip + 1:
                    raise ViewerError(
                        f"the shaw {name} holds {table.shape[0]} vectors; clip {self.clip} needs {2 * self.clip + 1}."
                    )

    def vectors(self, head_dim: int) -> Tensor:
        """Return w [2K + 1, d].

        Raises:
            ViewerError: when the table is of another width.
        """
        if self.table is None:
            # Drawn from δ = 0 outwards, so that another clip leaves the vectors of nearer offsets alone.
            numbers = np.random.default_rng(SEED).standard_normal((2 * self.clip + 1, head_dim))
            offset = torch.arange(-self.clip, self.clip + 1)  # [2K + 1]
            return torch.from_numpy(numbers)[2 * offset.abs() - (offset < 0).long()]
        return check_width(self.table, "shaw table", head_dim)

    def _place(self, offset: Tensor) -> Tensor:
        return offset.clamp(-self.clip, self.clip) + self.clip

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return s · q_i·w, and s · k_j·w where it is asked for, [head, rows, cols]."""
        q, k = needs_queries(self.title, inputs)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        table = self.vectors(q.shape[2])  # [2K + 1, d]

        def at(offset: Tensor) -> Tensor:
            return table[self._place(offset)][None]  # [1, count, d]

        term = query_products(q, at, inputs.query_start, rows, cols)  # [head, rows, cols]
        if self.side == "both":
            term = term + key_products(k, at, inputs.query_start, rows, cols)
        return term * scale

    def output(self, inputs: AttentionInputs, weights: Tensor) -> Tensor | None:
        """Return Σ_j weight · w^V of its offset, [head, query, d_v]; None without a table of values."""
        if self.value_table is None:
            return None
        place = self._place(offset_matrix(inputs.n_query, inputs.n_key))  # [query, key]
        summed = weights.new_zeros(*weights.shape[:2], self.value_table.shape[0])  # [head, query, 2K + 1]
        summed.scatter_add_(2, place.to(weights.device).expand_as(weights), weights)
        return summed @ self.value_table.to(weights)  # [head, query, d_v]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the clip on both sides of δ = 0."""
        loaded = self.table is not None or self.value_table is not None
        cut = "; a table that was given can only be cut" if loaded else ""
        return ends("clip", self.clip, n, f"Clip {self.clip}: all farther offsets share a vector{cut}")

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with another clip; tables that were given lose their outer vectors."""
        loaded = self.table is not None or self.value_table is not None
        clip = reached(handle, offset, 1, self.clip if loaded else MOST)

        def cut(table: Tensor | None) -> Tensor | None:
            return (
                None if table is None else table[self.clip - clip : self.clip + clip + 1]
            )  # [2·clip + 1, d]

        return replace(self, clip=clip, table=cut(self.table), value_table=cut(self.value_table))

    def beyond(self, n: int) -> Tensor | None:
        """Return the offsets that share the last vector, bool [2n−1]."""
        return None if n - 1 <= self.clip else torch.arange(1 - n, n).abs() > self.clip

    def trained_length(self) -> int | None:
        """Return the length up to which every offset has a vector of its own."""
        return self.clip + 1

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the table read as query − key."""
        q, _ = needs_queries(self.title, inputs)
        table = self.vectors(q.shape[2])  # [2K + 1, d]
        help = "A table of query − key read as key − query: past and future change places."
        return (Variant("query − key", help, replace(self, table=table.flip(0))),)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that far keys share a vector."""
        return f"Offsets are clipped at ±{self.clip}: all farther keys share that vector."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the products with the table."""
        head_dim = self.written_width(head_dim)
        lines = ['term = torch.einsum("hid,ijd->hij", q, vectors)  # [head, query, key]']
        if self.side == "both":
            lines.append('term = term + torch.einsum("hjd,ijd->hij", k, vectors)')
        terms = "\n    ".join(lines)
        return f"""{constant("TABLE", self.vectors(head_dim), f"[offset, d], δ = {-self.clip} … {self.clip}")}


{BIAS_OF_VECTORS}
    place = offsets(n_query, n_key, q.device).clamp({-self.clip}, {self.clip}) + {self.clip}  # [query, key]
    vectors = TABLE.to(q)[place]  # [query, key, d]
    {terms}
    return scale * term
"""
