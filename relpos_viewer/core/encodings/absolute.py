"""Absolute positions added to the input. Vaswani et al. 2017, arXiv 1706.03762; learned: BERT, GPT-2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

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
from relpos_viewer.core.encodings.rope import Rope
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs

# Seed and length of the learned table that stands in when none is given; 512 is BERT's.
SEED, POSITIONS = 7, 512


@dataclass(frozen=True, eq=False, kw_only=True)
class Absolute(Encoding):
    """x = c + p gives four terms: content-content, content-position, position-content, position-position.

    Where the projections of the layer are known, p passes through them (p W_Q, p W_K); otherwise p is added to
    q and k themselves. positional is the sum of the three terms with a position in them. The split is exact in
    the first layer only.
    """

    name = "absolute"
    title = "Absolute positions"
    paper = "Vaswani et al. 2017, arXiv 1706.03762"
    summary = "A vector for each position is added to the input: the score falls into four terms."
    toeplitz = False
    sign = "Positions count from 0; only their projections meet, so the term is no function of δ."
    scaling = "All four terms share 1/√d; the split is exact in the first layer only."
    parameters = (
        Parameter(
            "kind",
            "choice",
            "sinusoidal",
            "sinusoidal: fixed sines and cosines; learned: a table with a last position.",
            choices=("sinusoidal", "learned"),
        ),
        Parameter(
            "base",
            "float",
            10000.0,
            "Base of the sinusoid's frequencies.",
            1.000001,
            1e12,
            when=("kind", ("sinusoidal",)),
        ),
        Parameter("strength", "float", 1.0, "Factor on the position vectors.", 0.0, 1e6),
        Parameter("table", "table", None, "Learned vectors [position, D]; seeded random ones when empty."),
    )

    kind: str = "sinusoidal"
    base: float = 10000.0
    strength: float = 1.0
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the table's axes; a table means learned positions."""
        if self.table is not None:
            check_table(self.table, "absolute", "[position, D]", 2)
            object.__setattr__(self, "kind", "learned")

    def vectors(self, n: int, width: int) -> Tensor:
        """Return p for the first n positions, float64 [n, width].

        Raises:
            ViewerError: when a learned table is too short or of another width.
        """
        if self.kind == "sinusoidal":
            return self.strength * sinusoids(n, width, self.base)
        table = self.table
        if table is None:
            generator = torch.Generator().manual_seed(SEED)
            # A sinusoid's entries have a mean square of one half; the stand-in has the same.
            table = torch.randn(POSITIONS, width, generator=generator, dtype=torch.float64) * 0.5**0.5
        check_width(table, "absolute table", width, "the model")
        if n > table.shape[0]:
            raise ViewerError(
                f"the learned table ends at {table.shape[0]} positions and the sequence has {n}; shorten it or "
                "choose sinusoidal."
            )
        return self.strength * table[:n].double()  # [n, width]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return a handle for each wavelength whose half lies within the sequence; all move the base."""
        if self.kind != "sinusoidal" or head_dim is None:
            return ()
        return Rope(base=self.base).handles(head, n, head_dim - head_dim % 2)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with the base for which half the wavelength is −offset."""
        assert head_dim is not None, "without a width there are no handles"
        return replace(
            self,
            base=Rope(base=self.base).dragged(handle, head, offset, value, n, head_dim - head_dim % 2).base,
        )

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the sinusoid with its halves side by side, and positions that do not count from 0."""
        if self.kind != "sinusoidal":
            return ()
        q, _ = needs_queries(self.title, inputs)
        n, width = inputs.n_key, q.shape[2] if inputs.w_q is None else inputs.w_q.shape[1]
        p = sinusoids(n, width, self.base)  # [key, D]
        halves = torch.cat((p[:, 0::2], p[:, 1::2]), 1)  # [key, D]
        return (
            Variant(
                "sines, then cosines",
                "One half sines, one half cosines, as in tensor2tensor and XLNet, where the paper interleaves them.",
                replace(self, kind="learned", table=halves),
            ),
            Variant(
                "positions from 2",
                "Counted from padding_idx + 1 = 2, as fairseq and RoBERTa count.",
                replace(self, kind="learned", table=sinusoids(n + 2, width, self.base)[2:]),
            ),
        )

    def trained_length(self) -> int | None:
        """Return the number of learned positions."""
        if self.kind == "sinusoidal":
            return None
        return POSITIONS if self.table is None else self.table.shape[0]

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return whether there are positions so far."""
        known = self.trained_length()
        if known is not None:
            return f"The learned table ends at {known:,} positions: a longer sequence has no vectors, and is refused."
        return "The sinusoids go on to any position; what reads them has only learned those up to the trained length."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the three terms, for positions that are added to queries and keys themselves."""
        head_dim = self.written_width(head_dim)
        return f"""# Positions are added to queries and keys themselves; in a model they pass through its projections
# first: then take P @ w_q and P @ w_k for the two.
{constant("P", self.vectors(n_key, head_dim), "[key, d]")}


{BIAS_OF_VECTORS}
    p = P.to(q)[:n_key]  # [key, d]
    p_q, p_k = p[n_key - n_query :], p
    return scale * (q @ p_k.T + p_q @ k.mT + p_q @ p_k.T)  # [head, query, key]
"""

    def python_for(self, inputs: AttentionInputs) -> str:
        """Return the three terms, with positions that have passed the projections of the layer, where known."""
        if inputs.q is None or inputs.w_q is None or inputs.w_k is None:
            return super().python_for(inputs)
        everything = (0, inputs.n_key)
        p_q, p_k = self._positions(inputs, everything, everything)  # [head, key, d] each
        shape = "[head, key, d]"
        return f"""# Positions that have passed the projections of the layer, W_Q and W_K.
{constant("P_Q", p_q, shape)}
{constant("P_K", p_k, shape)}


{BIAS_OF_VECTORS}
    p_q, p_k = P_Q.to(q)[:, n_key - n_query : n_key], P_K.to(q)[:, :n_key]  # [head, query or key, d]
    return scale * (q @ p_k.mT + p_q @ k.mT + p_q @ p_k.mT)  # [head, query, key]
"""

    def terms(self, inputs: AttentionInputs, scale: float) -> dict[str, Tensor]:
        """Return the four terms, each [head, query, key]."""
        return self._terms(inputs, scale, (0, inputs.n_query), (0, inputs.n_key))

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Return c + p for queries and keys, p through the projections where they are known."""
        q, k = needs_queries(self.title, inputs)
        p_q, p_k = self._positions(inputs, (inputs.query_start, inputs.n_key), (0, inputs.n_key))
        return q + p_q, k + p_k

    def _positions(self, inputs: AttentionInputs, queries: Span, keys: Span) -> tuple[Tensor, Tensor]:
        """Return p of the positions of queries and keys, [count, d] each, or [head, count, d] through projections."""
        q, _ = needs_queries(self.title, inputs)
        p = self.vectors(inputs.n_key, inputs.w_q.shape[1] if inputs.w_q is not None else q.shape[2])
        p = p.to(q)  # [key, D]
        p_q, p_k = p[slice(*queries)], p[slice(*keys)]  # [count, D] each
        if inputs.w_q is not None and inputs.w_k is not None:
            return p_q @ inputs.w_q, p_k @ inputs.w_k  # [head, count, d] each
        return p_q, p_k

    def positional_terms(self) -> tuple[str, ...]:
        """Return the three names with a position in them."""
        return ("content-position", "position-content", "position-position")

    def _terms(self, inputs: AttentionInputs, scale: float, rows: Span, cols: Span) -> dict[str, Tensor]:
        q, k = needs_queries(self.title, inputs)
        start = inputs.query_start
        p_q, p_k = self._positions(inputs, (start + rows[0], start + rows[1]), cols)  # as rows and cols
        c_q, c_k = q[:, slice(*rows)], k[:, slice(*cols)]  # [head, rows, d], [head, cols, d]
        return {
            "content-content": c_q @ c_k.mT * scale,
            "content-position": c_q @ p_k.mT * scale,
            "position-content": p_q @ c_k.mT * scale,
            "position-position": (p_q @ p_k.mT * scale).expand(inputs.heads, -1, -1),
        }  # [head, rows, cols] each

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the three terms with a position in them, summed: [head, rows, cols]."""
        terms = self._terms(inputs, scale, rows or (0, inputs.n_query), cols or (0, inputs.n_key))
        return terms["content-position"] + terms["position-content"] + terms["position-position"]


def sinusoids(n: int, width: int, base: float) -> Tensor:
    """Return P[p, 2t] = sin(p / base^(2t/width)), P[p, 2t+1] = cos of the same, float64 [n, width]."""
    t = torch.arange(0, width, 2, dtype=torch.float64)  # [⌈width/2⌉]
    angles = torch.arange(n, dtype=torch.float64)[:, None] * base ** (-t / width)  # [n, ⌈width/2⌉]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width]  # [n, width]
