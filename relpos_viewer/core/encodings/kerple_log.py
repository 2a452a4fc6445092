"""KERPLE, logarithmic kernel. Chi et al. 2022, arXiv 2205.09921."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from torch import Tensor

from relpos_viewer.core.encodings.base import Handle, Knob, Parameter, constant, head_spread
from relpos_viewer.core.encodings.numbered import NumberedEncoding
from relpos_viewer.core.numbers import digits


@dataclass(frozen=True, eq=False, kw_only=True)
class KerpleLog(NumberedEncoding):
    """b_h(δ) = −p_h · ln(1 + a_h·|δ|), both numbers learned and clamped at 0.01 from below."""

    name = "kerple-log"
    title = "KERPLE logarithmic"
    paper = "Chi et al. 2022, arXiv 2205.09921"
    summary = "A penalty that grows with the logarithm of distance; two learned numbers for each head."
    sign = "A function of |δ| alone, so a mistaken sign does not show."
    parameters = (
        Parameter(
            "p",
            "table",
            None,
            "Strength p of each head [head], at or above 0.01; an illustration when empty.",
        ),
        Parameter(
            "a",
            "table",
            None,
            "Steepness a of each head [head], at or above 0.01; an illustration when empty.",
        ),
    )
    numbers = (
        Knob("p", 0.01, math.inf, (0.01, 2.0), linear=True),  # the paper draws it from 0 … 2
        Knob("a", 0.01, math.inf, (0.01, 10.0), log=True),
    )
    head_axes: ClassVar = {"p": 0, "a": 0}

    p: Tensor | None = None
    a: Tensor | None = None

    def stand_in(self, heads: int) -> dict[str, np.ndarray]:
        """Return strengths within 0 … 2, where the paper's initialisation lies, and steepnesses within 0 … 1."""
        spread = head_spread(heads)
        return {"p": 2.0 - 1.6 * spread, "a": 0.1 + 0.8 * spread}

    def formula(self, delta: Tensor, *, p: Tensor, a: Tensor) -> Tensor:  # type: ignore[override]
        """Return −p · ln(1 + a·|δ|), [head, offset]."""
        return -p * (a * delta.abs()).log1p()

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return a far handle for p and a near one for a."""
        p, a = self.knob_values(head)
        far, near = max(n * 2 // 3, 1), max(n // 10, 1)
        made = [Handle("p", -far, -p * math.log1p(a * far), None, "value", f"Strength p = {digits(p, 4)}")]
        if near < far:
            made.append(
                Handle("a", -near, -p * math.log1p(a * near), None, "value", f"Steepness a = {digits(a, 4)}")
            )
        return tuple(made)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding whose curve meets the pointer, by p or by a alone."""
        p, a = self.knob_values(head)
        distance = abs(handle.offset)
        if handle.name == "p":
            p = -value / math.log1p(a * distance)
        else:
            a = math.expm1(min(max(-value, 0.0) / p, 300.0)) / distance
        return self.with_knobs(head, np.array([p, a]))

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that the curve keeps falling."""
        return "The curve keeps falling like the logarithm of distance: farther keys pay more, but hardly."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the formula."""
        numbers = self.number_of_each()
        p, a = (constant(name.upper(), table, "[head]") for name, table in numbers.items())
        return f"""{p}
{a}


def curve(offset):
    return -P[:, None] * torch.log1p(A[:, None] * offset.abs())  # [head, count]
"""
