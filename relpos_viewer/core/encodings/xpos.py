"""xPos: rotary positions with a decay. Sun et al. 2022, arXiv 2212.10554."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Convention,
    Encoding,
    Handle,
    Parameter,
    Span,
    Variant,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.rope import Rope
from relpos_viewer.core.inputs import AttentionInputs

# Counted from the middle, the powers of the decay stay within float32 up to here: (0.4 / 1.4)^32 = 4e−18.
WHOLE = 32_768


@dataclass(frozen=True, eq=False, kw_only=True)
class XPos(Encoding):
    """Pair m of a rotated q·k is multiplied by ζ_m^((i − j) / scale_base), ζ_m = (2m + 0.4d) / 1.4d.

    Made for causal models: with keys after the query the factor grows.
    """

    name = "xpos"
    title = "xPos"
    paper = "Sun et al. 2022, arXiv 2212.10554"
    summary = "RoPE whose pairs decay with distance, the fast ones sooner."
    toeplitz = False
    sign = "Queries are scaled by ζ^(i / scale_base), keys by ζ^(−j / scale_base): the past decays."
    scaling = "Content and rotation share 1/√d; the decay multiplies the rotated product."
    parameters = (
        Rope.parameters[0],
        replace(Rope.parameters[1], default="interleaved"),
        Parameter("scale_base", "float", 512.0, "Distance over which pair m decays by ζ_m.", 1e-3, 1e9),
    )

    base: float = 10000.0
    layout: str = "interleaved"
    scale_base: float = 512.0

    @property
    def rope(self) -> Rope:
        """The rotation without decay."""
        return Rope(base=self.base, layout=self.layout, heads=self.heads)

    def decays(self, head_dim: int) -> Tensor:
        """Return ζ_m, float64 [d / 2].

        Raises:
            ViewerError: for an odd width.
        """
        pairs = self.rope.rotary_dim(head_dim) // 2
        return (2 * torch.arange(pairs, dtype=torch.float64) + 0.4 * head_dim) / (1.4 * head_dim)

    def _turned(self, x: Tensor, positions: Tensor, middle: float, sign: int, n: int) -> Tensor:
        """Return x [head, count, d] turned and scaled by ζ^(sign · (position − middle) / scale_base)."""
        power = sign * (positions.double() - middle) / self.scale_base  # [count]
        decay = self.decays(x.shape[-1]).to(x.device) ** power[:, None]  # [count, d / 2]
        spread = torch.cat((decay, decay), -1) if self.layout == "half" else decay.repeat_interleave(2, -1)
        return self.rope.rotate(x, positions, n) * spread.to(x.dtype)  # [head, count, d]

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor] | None:
        """Return the scaled R q and R k, where their powers fit the numbers."""
        if inputs.n_key > WHOLE:
            return None
        q, k = needs_queries(self.title, inputs)
        keys, n = torch.arange(inputs.n_key, device=k.device), inputs.n_key  # [key]
        middle = n / 2
        return self._turned(q, keys[inputs.query_start :], middle, 1, n), self._turned(k, keys, middle, -1, n)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return scale · (decayed R q · R k − q · k), [head, rows, cols]."""
        q, k = needs_queries(self.title, inputs)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        q, k = q[:, slice(*rows)], k[:, slice(*cols)]  # [head, rows, d], [head, cols, d]
        queries = torch.arange(*rows, device=q.device) + inputs.query_start  # [rows]
        keys, n = torch.arange(*cols, device=k.device), inputs.n_key  # [cols]
        middle = (float(queries[0]) + float(keys[-1])) / 2  # between the two, so that neither power runs away
        turned = self._turned(q, queries, middle, 1, n) @ self._turned(k, keys, middle, -1, n).mT
        positional = scale * (turned - q @ k.mT)  # [head, rows, cols]
        positional.diagonal(int(queries[0]) - cols[0], dim1=-2, dim2=-1).zero_()  # but for rounding
        return positional

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return RoPE's handles of the base."""
        return self.rope.handles(head, n, head_dim)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with RoPE's base moved."""
        return replace(self, base=self.rope.dragged(handle, head, offset, value, n, head_dim).base)

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the frequencies, and the decay of each pair."""
        if head_dim is None:
            return ()
        decays = self.decays(head_dim)  # [pair]
        rows = tuple(
            (str(pair), f"{decay:.6g}", f"{decay ** (1 / self.scale_base):.8g}")
            for pair, decay in enumerate(decays.tolist())
        )
        decay = Convention("Decays", "", ("pair", "ζ", "factor a position"), rows)
        return (*self.rope.tables(n, head_dim), decay)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the other pairing of dimensions, another base of the decay, its powers swapped, and none of it."""
        other = "interleaved" if self.layout == "half" else "half"
        help = f"Weights of a model with {self.layout} pairs read as {other}: other dimensions turn together."
        base = 2 * self.scale_base
        return (
            Variant(f"{other} pairs", help, replace(self, layout=other)),
            Variant(
                f"scale base {base:g}",
                "Another distance over which pairs decay: it is a setting of code, in no checkpoint.",
                replace(self, scale_base=base),
            ),
            Variant(
                "powers swapped",
                "Queries scaled by ζ^(−i), keys by ζ^j: the past grows where it should decay.",
                replace(self, scale_base=-self.scale_base),
            ),
            Variant("without decay", "The decay forgotten: read as plain RoPE.", self.rope),
        )

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return what the rotation does, and that pairs decay."""
        if head_dim is None:
            return "The rotation goes on, and every pair decays further with distance."
        slowest = float(self.decays(head_dim)[-1]) ** ((n - 1) / self.scale_base)
        rotation = self.rope.beyond_words(n_trained, n, head_dim).rstrip(".")
        return f"{rotation}; even the slowest has decayed to {slowest:.2g} of itself at the farthest key."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the rotation and its decay."""
        head_dim = self.written_width(head_dim)
        spread = (
            "torch.cat((decay, decay), -1)" if self.layout == "half" else "decay.repeat_interleave(2, -1)"
        )
        whole = self.rope.python(n_key, head_dim)
        rotation = whole[: whole.index("def bias(")]
        return f"""{constant("ZETA", self.decays(head_dim), "[pair]")}
{rotation}def turned(x, positions, sign):
    decay = ZETA ** (sign * positions[:, None] / {self.scale_base!r})  # [count, pair]
    return rotate(x, positions) * {spread}.to(x)


{BIAS_OF_VECTORS}
    keys = torch.arange(n_key) - n_key / 2  # from the middle, as the powers grow with position
    rotated = turned(q, keys[n_key - n_query :], 1) @ turned(k, keys, -1).mT
    return scale * (rotated - q @ k.mT)  # [head, query, key]
"""
