"""XLNet: Transformer-XL's terms in both directions, and a term for segments. Yang et al. 2019, arXiv 1906.08237."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Parameter, Span, check_table, constant, needs_queries
from relpos_viewer.core.encodings.relative import drawn
from relpos_viewer.core.encodings.transformer_xl import SEED, TransformerXL
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class XLNet(TransformerXL):
    """Adds s·(q_i + r_s)·seg[0 where query and key lie in the same segment, 1 where not].

    The documents of the tokens are the segments; without them all is one.
    """

    name = "xlnet"
    title = "XLNet"
    paper = "Yang et al. 2019, arXiv 1906.08237"
    summary = "Transformer-XL's terms for both directions, and one for whether query and key share a segment."
    sign = "R is a function of D = query − key = −δ, for past and future alike."
    scaling = "All terms are scaled by 1/√d."
    parameters = (
        *TransformerXL.parameters,
        Parameter("r_s", "table", None, "Bias on segments (r_s_bias) [head, d]; seeded when empty."),
        Parameter("segments", "table", None, "Vectors for same and other segment (seg_embed) [2, head, d]."),
    )
    head_axes: ClassVar = {**TransformerXL.head_axes, "r_s": 0, "segments": 1}

    r_s: Tensor | None = None
    segments: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the tables' axes."""
        super().__post_init__()
        if self.r_s is not None:
            check_table(self.r_s, "xlnet r_s", "[head, d]", 2)
        if (
            self.segments is not None
            and check_table(self.segments, "xlnet segments", "[2, head, d]", 3).shape[0] != 2
        ):
            raise ViewerError("the xlnet segments hold two vectors a head, for the same segment and another.")

    def _segment_tables(self, head_dim: int) -> tuple[Tensor, Tensor]:
        """Return r_s [head, d] and the two vectors [2, head, d]."""
        heads = self.heads or 1
        r_s = self._table("r_s", head_dim, SEED + 3, head_dim)
        if self.segments is None:
            return r_s, drawn(SEED + 4, heads, self.first_head, 2, head_dim).transpose(0, 1) / 2
        return r_s, self.segments.expand(2, heads, -1)

    def positional_terms(self) -> tuple[str, ...]:
        """Return Transformer-XL's, and the segments'."""
        return (*super().positional_terms(), "segment")

    def _terms(self, inputs: AttentionInputs, scale: float, rows: Span, cols: Span) -> dict[str, Tensor]:
        terms = super()._terms(inputs, scale, rows, cols)
        q, _ = needs_queries(self.title, inputs)
        r_s, vectors = (table.to(q) for table in self._segment_tables(q.shape[2]))
        both = (q[:, slice(*rows)] + r_s[:, None]) @ vectors.permute(1, 2, 0)  # [head, rows, 2]
        documents, start = inputs.tokens.documents, inputs.query_start
        other = torch.zeros(rows[1] - rows[0], cols[1] - cols[0], dtype=torch.bool)  # [rows, cols]
        if documents is not None:
            of_rows = torch.tensor(documents[start + rows[0] : start + rows[1]])  # [rows]
            other = of_rows[:, None] != torch.tensor(documents[slice(*cols)])
        other = other.to(q.device)
        terms["segment"] = torch.where(other, both[..., 1:], both[..., :1]) * scale  # [head, rows, cols]
        return terms

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the terms; `segment` [key] may be given, else all is one segment."""
        return self._code(n_key, head_dim, None)

    def python_for(self, inputs: AttentionInputs) -> str:
        """Return the terms, with the documents of these inputs for segments where none are given."""
        documents = inputs.tokens.documents
        return self.with_heads(inputs.heads)._code(inputs.n_key, inputs.head_dim, documents)

    def _code(self, n_key: int, head_dim: int | None, documents: tuple[int, ...] | None) -> str:
        base = super().python(n_key, head_dim)
        r_s, vectors = self._segment_tables(self.written_width(head_dim))
        whole = base.replace("def bias(", "def relative_terms(")
        segments = np.zeros(n_key) if documents is None else np.array(documents)
        return f"""{constant("R_S", r_s, "[head, d]")}
{constant("SEGMENTS", vectors, "[2, head, d], the same segment and another")}
{constant("SEGMENT_OF_KEY", segments, "[key]")}
{whole}

def bias(n_query, n_key, q, k, scale=None, segment=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    segment = (SEGMENT_OF_KEY if segment is None else segment).to(q.device)
    both = (q + R_S.to(q)[:, None]) @ SEGMENTS.to(q).permute(1, 2, 0)  # [head, query, 2]
    other = segment[n_key - n_query : n_key, None] != segment[None, :n_key]  # [query, key]
    of_segments = torch.where(other, both[..., 1:], both[..., :1])  # [head, query, key]
    return relative_terms(n_query, n_key, q, k, scale) + scale * of_segments
"""
