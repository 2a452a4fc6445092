"""Sandwich. Chi et al. 2022, arXiv 2212.10356; head scaling as in NeMo's implementation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Convention, Encoding, Handle, Knob, Parameter, Variant, constant
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import digits
from relpos_viewer.core.offsets import offsets


@dataclass(frozen=True, eq=False, kw_only=True)
class Sandwich(Encoding):
    """b_h(δ) = (Σ_t cos(δ / base^(2t/width)) − width/2) / (8h/H): the inner product of two sinusoids.

    t runs over 1 … width/2 as in NeMo, or 0 … width/2 − 1; h over 1 … H.
    """

    name = "sandwich"
    title = "Sandwich"
    paper = "Chi et al. 2022, arXiv 2212.10356"
    summary = (
        "The inner product of sinusoidal positions, content apart: falls off like a logarithm, with ripples."
    )
    toeplitz = True
    sign = "A function of |δ| alone, so a mistaken sign does not show."
    scaling = "Content is scaled, the bias is not; head h of H divides it by 8h/H."
    parameters = (
        Parameter(
            "width", "int", 128, "Width d̄ of the sinusoids, an even number; NeMo takes the head's.", 2, 65536
        ),
        Parameter("base", "float", 10000.0, "Base of the wavelengths.", 1.000001, 1e12),
        Parameter(
            "first",
            "choice",
            "1",
            "Where t starts: 1 as in NeMo, or 0 as in the usual sinusoid.",
            choices=("0", "1"),
        ),
    )

    width: int = 128
    base: float = 10000.0
    first: str = "1"

    def _rates(self) -> Tensor:
        """Return base^(−2t/width), float64 [t]."""
        t = torch.arange(self.width // 2, dtype=torch.float64) + int(self.first)  # [t]
        return self.base ** (-2 * t / self.width)

    def _divisors(self) -> Tensor:
        """Return 8h/H, float64 [head]."""
        heads = self.heads or 1
        return 8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the sums of cosines, [head, 2n−1]."""
        total = self._waves(offsets(n)[n - 1 :])  # [n], by distance
        both = torch.cat((total.flip(0), total[1:]))  # [2n−1]
        return (both / self._divisors()[:, None]).to(dtype)  # [head, 2n−1]

    def fit_at(self, delta: Tensor, head: int) -> Tensor:
        """Return the head's sums of cosines at some offsets, float64 [place]."""
        return self._waves(delta) / self._divisors()[head]

    def _waves(self, delta: Tensor) -> Tensor:
        """Return Σ_t cos(δ · rate_t) − width/2, float64 [place]."""
        rates = self._rates()  # [t]
        total = torch.zeros(delta.shape, dtype=torch.float64)  # [place]
        for rate in rates.tolist():  # all at once would take as many times the memory
            total += (delta.double() * rate).cos()
        return total - len(rates)

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the handle of the base, in the middle of the past."""
        far = max(n // 2, 1)
        return (Handle("base", -far, self._value(far, head), None, "value", f"Base {digits(self.base, 6)}"),)

    def _value(self, distance: int, head: int) -> float:
        rates = self._rates()  # [t]
        return float(((distance * rates).cos().sum() - len(rates)) / self._divisors()[head])

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with the base for which the curve comes nearest to the pointer."""
        distance = round(abs(handle.offset))
        bases = np.geomspace(1.01, 1e12, 400)
        # The value ripples with the base, so the nearest of many is taken rather than a root.
        off = [abs(replace(self, base=float(base))._value(distance, head) - value) for base in bases]
        return replace(self, base=float(bases[int(np.argmin(off))]))

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return the base, which all heads share."""
        return (Knob("base", 1.000001, 1e12, (10.0, 1e6), log=True, shared=True),)

    def knob_values(self, head: int) -> np.ndarray:
        """Return the base, float64 [1]."""
        return np.array([self.base])

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with another base."""
        return replace(self, base=min(max(float(values[0]), 1.000001), 1e12))

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the wavelengths and the divisor of each head."""
        waves = tuple((str(t), f"{2 * math.pi / rate:.6g}") for t, rate in enumerate(self._rates().tolist()))
        heads = tuple((str(h), f"{divisor:.6g}") for h, divisor in enumerate(self._divisors().tolist()))
        return (
            Convention("Wavelengths", "", ("cosine", "positions"), waves),
            Convention("Divisors", "8h/H, h from 1.", ("head", "divisor"), heads),
        )

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the sum that starts at the other t."""
        other = "0" if self.first == "1" else "1"
        return (
            Variant(
                f"t from {other}",
                "The usual sinusoid starts at t = 0, NeMo's code at 1.",
                replace(self, first=other),
            ),
        )

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that the curve keeps falling."""
        longest = 2 * math.pi / float(self._rates()[-1])
        return (
            "The curve keeps falling roughly like a logarithm, with ripples, up to half the longest wavelength, "
            f"{longest / 2:,.0f} positions."
        )

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the sum of cosines."""
        first, last = int(self.first), self.width // 2 + int(self.first)
        return f"""{constant("DIVISORS", self._divisors(), "[head]")}


def curve(offset):
    t = torch.arange({first}, {last}, dtype=torch.float64)
    rates = {self.base!r} ** (-2 * t / {self.width})  # [t]
    total = (offset[:, None] * rates).cos().sum(-1) - {self.width // 2}  # [count]
    return total / DIVISORS[:, None]  # [head, count]
"""
