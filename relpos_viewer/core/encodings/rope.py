"""RoPE, rotary position embedding. Su et al. 2021, arXiv 2104.09864."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding, Parameter, Span, needs_queries
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class Rope(Encoding):
    """q and k are turned by angles p·θ_m; the score depends on their difference δ·θ_m, and on q and k.

    positional = score with rotation − score without, so it is zero at δ = 0.
    """

    name = "rope"
    title = "RoPE rotary"
    paper = "Su et al. 2021, arXiv 2104.09864"
    summary = "Pairs of query and key dimensions are rotated by position; what remains depends on j − i."
    toeplitz = False
    parameters = (
        Parameter("base", "float", 10000.0, "Base of the frequencies θ_m = base^(−2m/d).", 1.000001, 1e12),
        Parameter(
            "layout",
            "choice",
            "half",
            "Which dimensions pair up: half (m, m + d/2: Llama, NeoX) or interleaved (2m, 2m + 1: GPT-J).",
            choices=("half", "interleaved"),
        ),
        Parameter(
            "fraction", "float", 1.0, "Share of the head's dimensions that rotate, from the first.", 0.0, 1.0
        ),
    )

    base: float = 10000.0
    layout: str = "half"
    fraction: float = 1.0

    def rotary_dim(self, head_dim: int) -> int:
        """Return the number of dimensions that rotate: an even number, as they turn in pairs.

        Raises:
            ViewerError: when the fraction asks for an odd number.
        """
        dim = int(head_dim * self.fraction)
        if dim % 2:
            raise ViewerError(
                f"rope rotates pairs, but {dim} of {head_dim} dimensions is an odd number; change fraction or dim."
            )
        return dim

    def frequencies(self, head_dim: int) -> Tensor:
        """Return θ_m in radians per position, float64 [rotary_dim / 2]."""
        dim = self.rotary_dim(head_dim)
        return self.base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / max(dim, 1))  # [pair]

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Turn x [head, n, d] by its positions [n]."""
        angles = positions.double()[:, None] * self.frequencies(x.shape[-1]).to(x.device)  # [n, pair]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # [n, pair]
        dim = 2 * angles.shape[1]
        turning, passing = x[..., :dim], x[..., dim:]  # [head, n, dim], [head, n, d−dim]
        if self.layout == "half":
            first, second = turning.chunk(2, dim=-1)  # [head, n, pair] each
        else:
            first, second = turning[..., 0::2], turning[..., 1::2]  # [head, n, pair] each
        turned = (first * cos - second * sin, first * sin + second * cos)  # [head, n, pair] each
        joined = torch.cat(turned, -1) if self.layout == "half" else torch.stack(turned, -1).flatten(-2)
        return torch.cat((joined, passing), dim=-1)  # [head, n, d]

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Return R q and R k."""
        q, k = needs_queries(self.title, inputs)
        keys = torch.arange(inputs.n_key, device=k.device)  # [key]
        return self.rotate(q, keys[inputs.query_start :]), self.rotate(k, keys)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return scale · (R q · R k − q · k), [head, rows, cols]."""
        q, k = needs_queries(self.title, inputs)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        q, k = q[:, slice(*rows)], k[:, slice(*cols)]  # [head, rows, d], [head, cols, d]
        start = inputs.query_start
        turned_q = self.rotate(q, torch.arange(*rows, device=q.device) + start)  # [head, rows, d]
        turned_k = self.rotate(k, torch.arange(*cols, device=k.device))  # [head, cols, d]
        positional = turned_q @ turned_k.mT * scale - q @ k.mT * scale  # [head, rows, cols]
        # At δ = 0 nothing turns; the two products differ there by rounding alone.
        positional.diagonal(start + rows[0] - cols[0], dim1=-2, dim2=-1).zero_()
        return positional
