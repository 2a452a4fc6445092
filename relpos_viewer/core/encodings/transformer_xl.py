"""Transformer-XL. Dai et al. 2019, arXiv 1901.02860."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Encoding,
    Handle,
    Knob,
    Parameter,
    Span,
    Variant,
    check_table,
    check_width,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.reach import ends, reached
from relpos_viewer.core.encodings.relative import drawn, query_products, waves
from relpos_viewer.core.encodings.rope import Rope
from relpos_viewer.core.inputs import AttentionInputs

SEED = 17


@dataclass(frozen=True, eq=False, kw_only=True)
class TransformerXL(Encoding):
    """score = s·[(q_i + u)·k_j + (q_i + v)·W_r R_D], D = i − j, R_D = [sin(D ω), cos(D ω)].

    v·W_r R_D alone is a function of the offset: the curve that a fit can shape.
    """

    name = "transformer-xl"
    title = "Transformer-XL"
    paper = "Dai et al. 2019, arXiv 1901.02860"
    summary = "Four terms: content, a bias on keys, the query meeting sinusoids of distance, and a bias on distance."
    toeplitz = False
    sign = (
        "R is a function of D = query − key = −δ; an implementation for causal models need not define D < 0."
    )
    scaling = "All four terms are scaled by 1/√d."
    parameters = (
        Parameter(
            "width",
            "int",
            64,
            "Width D of the sinusoids, the model's; the tables say it when given.",
            2,
            65536,
        ),
        Parameter("base", "float", 10000.0, "Base of the wavelengths.", 1.000001, 1e12),
        Parameter(
            "clamp", "int", 0, "Distance from which on all are the same (clamp_len); 0 for none.", 0, 2**30
        ),
        Parameter("u", "table", None, "Bias u on keys (r_w_bias) [head, d]; seeded when empty."),
        Parameter("v", "table", None, "Bias v on distance (r_r_bias) [head, d]; seeded when empty."),
        Parameter("w_r", "table", None, "Projection W_r of the sinusoids [head, D, d]; seeded when empty."),
    )
    head_axes: ClassVar = {"u": 0, "v": 0, "w_r": 0}

    width: int = 64
    base: float = 10000.0
    clamp: int = 0
    u: Tensor | None = None
    v: Tensor | None = None
    w_r: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the tables' axes."""
        for name, axes, ndim in (("u", "[head, d]", 2), ("v", "[head, d]", 2), ("w_r", "[head, D, d]", 3)):
            table = getattr(self, name)
            if table is not None:
                check_table(table, f"{self.name} {name}", axes, ndim)
        if self.w_r is not None:
            object.__setattr__(self, "width", self.w_r.shape[1])

    def _table(self, name: str, head_dim: int, seed: int, *shape: int) -> Tensor:
        """Return a table for all heads, a seeded one where none is given, [head, *shape].

        Raises:
            ViewerError: when it is of another width.
        """
        heads = self.heads or 1
        table = getattr(self, name)
        if table is None:
            return drawn(seed, heads, self.first_head, *shape) / math.sqrt(shape[0] if len(shape) > 1 else 1)
        return check_width(table, f"{self.name} {name}", head_dim).expand(heads, *table.shape[1:])

    def biases(self, head_dim: int) -> tuple[Tensor, Tensor]:
        """Return u and v, [head, d] each."""
        return self._table("u", head_dim, SEED, head_dim), self._table("v", head_dim, SEED + 1, head_dim)

    def vectors(self, offset: Tensor, head_dim: int) -> Tensor:
        """Return W_r R at offsets δ [count]: [head, count, d]."""
        distance = -offset
        if self.clamp:
            distance = distance.clamp(-self.clamp, self.clamp)
        projection = self._table("w_r", head_dim, SEED + 2, self.width, head_dim)  # [head, D, d]
        return waves(distance, self.width, self.base).to(projection) @ projection  # [head, count, d]

    def terms(self, inputs: AttentionInputs, scale: float) -> dict[str, Tensor]:
        """Return the terms, each [head, query, key]."""
        q, k = needs_queries(self.title, inputs)
        everything = (0, inputs.n_query), (0, inputs.n_key)
        return {
            "content": q @ k.mT * scale,
            **self.with_heads(inputs.heads)._terms(inputs, scale, *everything),
        }

    def positional_terms(self) -> tuple[str, ...]:
        """Return the names of all terms but content."""
        return ("key bias", "content-position", "position bias")

    def _terms(self, inputs: AttentionInputs, scale: float, rows: Span, cols: Span) -> dict[str, Tensor]:
        q, k = needs_queries(self.title, inputs)
        u, v = (bias.to(q)[:, None] for bias in self.biases(q.shape[2]))  # [head, 1, d] each

        def at(offset: Tensor) -> Tensor:
            return self.vectors(offset, q.shape[2])  # [head, count, d]

        start, height = inputs.query_start, rows[1] - rows[0]
        # One query is v itself, whichever row asks.
        lone = v.expand(-1, inputs.n_query, -1)  # [head, query, d]
        return {
            "key bias": (u @ k[:, slice(*cols)].mT * scale).expand(-1, height, -1),
            "content-position": query_products(q, at, start, rows, cols) * scale,
            "position bias": query_products(lone, at, start, rows, cols) * scale,
        }  # [head, rows, cols] each

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return every term but content, summed: [head, rows, cols]."""
        family = self.with_heads(inputs.heads)
        terms = family._terms(inputs, scale, rows or (0, inputs.n_query), cols or (0, inputs.n_key))
        return sum(terms.values(), start=torch.zeros(()))

    def fit_at(self, delta: Tensor, head: int) -> Tensor | None:
        """Return v·W_r R_D / √d at δ, float64 [place]; None where no table says the width of a head."""
        slopes = self.slopes_of_knobs(head, delta)  # [d, place]
        return None if slopes is None else torch.from_numpy(self.knob_values(head)) @ torch.from_numpy(slopes)

    def slopes_of_knobs(self, head: int, delta: Tensor) -> np.ndarray | None:
        """Return W_r R_D / √d, float64 [d, place]; None where no table says the width of a head."""
        head_dim = self._head_dim()
        if head_dim is None:
            return None
        vectors = self.for_one_head(head).vectors(delta, head_dim)[0].double()  # [place, d]
        return vectors.T.numpy() / math.sqrt(head_dim)

    def _head_dim(self) -> int | None:
        return next((table.shape[-1] for table in (self.v, self.w_r, self.u) if table is not None), None)

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return the numbers of v."""
        width = self._head_dim() or 0
        return tuple(Knob(f"v {place}", -np.inf, np.inf, (-2.0, 2.0), linear=True) for place in range(width))

    def knob_values(self, head: int) -> np.ndarray:
        """Return the head's v, float64 [d]."""
        head_dim = self._head_dim()
        return np.empty(0) if head_dim is None else self.biases(head_dim)[1][head].double().numpy().copy()

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with the head's v replaced."""
        head_dim = self._head_dim()
        if head_dim is None:
            return self
        v = self.biases(head_dim)[1].double().clone()  # [head, d]
        v[head] = torch.from_numpy(np.array(values, np.float64))
        return replace(self, v=v)

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the clamp on both sides, and for each sinusoid whose half lies within the sequence that distance."""
        help = f"Clamp {self.clamp}: all farther offsets share a vector" if self.clamp else "No clamp"
        return tuple(
            sorted(
                (*ends("clamp", self.clamp or None, n, help), *self._pairs(n)),
                key=lambda handle: handle.offset,
            )
        )

    def _pairs(self, n: int) -> tuple[Handle, ...]:
        """Return RoPE's handles of a base: its pairs turn as fast as these sinusoids, where all have a partner."""
        return () if self.width % 2 else Rope(base=self.base).handles(0, n, self.width)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with another clamp, none at the ends of the axis; or with another base."""
        if handle.name.startswith("pair "):
            moved = Rope(base=self.base).dragged(handle, head, offset, value, n, self.width)
            return replace(self, base=moved.base)
        clamp = reached(handle, offset, 1, n - 1)
        return replace(self, clamp=0 if clamp == n - 1 else clamp)

    def trained_length(self) -> int | None:
        """Return the distance from which on all are the same."""
        return self.clamp or None

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return R at key − query, and sines and cosines interleaved as in absolute positions."""
        q, _ = needs_queries(self.title, inputs)
        head_dim = q.shape[2]
        w_r = self._table("w_r", head_dim, SEED + 2, self.width, head_dim)  # [head, D, d]
        sines = math.ceil(self.width / 2)
        # sin(−x) = −sin x: turning the rows that sines meet is the same as turning the distance.
        turned = torch.cat((-w_r[:, :sines], w_r[:, sines:]), 1)  # [head, D, d]
        help = "R at key − query: past and future swapped, as when the positions are not counted down."
        return (Variant("key − query", help, replace(self, w_r=turned)), _interleaved(replace(self, w_r=w_r)))

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return what the sinusoids do."""
        if self.clamp:
            return f"Distances from {self.clamp:,} on are clamped: all farther keys share one vector."
        return "The sinusoids go on to any distance; their projection has only learned those up to the trained length."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the terms, with the vectors of n_key positions written down."""
        head_dim = self.written_width(head_dim)
        u, v = self.biases(head_dim)
        w_r = self._table("w_r", head_dim, SEED + 2, self.width, head_dim)
        clamped = f".clamp({-self.clamp}, {self.clamp})" if self.clamp else ""
        return f"""{constant("U", u, "[head, d]")}
{constant("V", v, "[head, d]")}
{constant("W_R", w_r, "[head, D, d]")}


def waves(n_key):
    t = torch.arange(0, {self.width}, 2, dtype=torch.float64)
    rates = {self.base!r} ** (-t / {self.width})  # [D / 2]
    distance = torch.arange(1 - n_key, n_key){clamped}  # query − key
    angles = distance[:, None] * rates  # [distance, D / 2]
    return torch.cat((angles.sin(), angles.cos()), -1)[:, :{self.width}]  # [distance, D]


{BIAS_OF_VECTORS}
    u, v = U.to(q)[:, None], V.to(q)[:, None]  # [head, 1, d] each
    distance = n_key - 1 - offsets(n_query, n_key, q.device)  # [query, key]
    vectors = (waves(n_key) @ W_R).to(q)[:, distance]  # [head, query, key, d]
    of_queries = torch.einsum("hid,hijd->hij", q + v, vectors)  # [head, query, key]
    return scale * (u @ k.mT + of_queries)
"""


def _interleaved(family: TransformerXL) -> Variant:
    assert family.w_r is not None
    # Reading [sin, cos, sin, cos, …] with a projection made for [sin …, cos …] is the same as permuting its rows.
    half = math.ceil(family.width / 2)
    order = torch.arange(family.width)
    places = torch.where(order % 2 == 0, order // 2, half + order // 2)  # [D]
    swapped = torch.empty_like(family.w_r)
    swapped[:, places] = family.w_r
    help = "Sines and cosines interleaved, where this projection expects one half of each."
    return Variant("interleaved waves", help, replace(family, w_r=swapped))
