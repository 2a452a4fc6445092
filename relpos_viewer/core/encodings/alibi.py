"""ALiBi: attention with linear biases. Press et al. 2021, arXiv 2108.12409."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding, Parameter
from relpos_viewer.core.offsets import offsets


@dataclass(frozen=True, eq=False, kw_only=True)
class Alibi(Encoding):
    """b_h(δ) = m_h·δ (causal) or −m_h·|δ| (symmetric)."""

    name = "alibi"
    title = "ALiBi linear biases"
    paper = "Press et al. 2021, arXiv 2108.12409"
    summary = "A penalty that grows linearly with distance, with a fixed slope for each head."
    toeplitz = True
    parameters = (
        Parameter(
            "rule",
            "choice",
            "interleaved",
            "Slopes when the head count is no power of two: interleaved (the paper's code, BLOOM, MPT) or uniform.",
            choices=("interleaved", "uniform"),
        ),
        Parameter(
            "form",
            "choice",
            "causal",
            "causal: m·δ, for decoders; symmetric: −m·|δ|, for encoders.",
            choices=("causal", "symmetric"),
        ),
    )

    rule: str = "interleaved"
    form: str = "causal"

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the lines [head, 2n−1]."""
        delta = offsets(n).double()  # [2n−1]
        distance = delta if self.form == "causal" else -delta.abs()  # [2n−1]
        slopes = torch.tensor(alibi_slopes(self.heads or 1, self.rule), dtype=torch.float64)  # [head]
        return (slopes[:, None] * distance).to(dtype)  # [head, 2n−1]


def alibi_slopes(heads: int, rule: str) -> list[float]:
    """Return the slope of each head.

    interleaved: for a power of two 2^(−8h/H), h = 1 … H; otherwise those of the next lower power p, followed by
    every other slope of 2p. uniform: 2^(−8h/H) for every H.
    """
    power = 2 ** math.floor(math.log2(heads)) if rule == "interleaved" else heads
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    finer = [2.0 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return slopes + finer[: heads - power]
