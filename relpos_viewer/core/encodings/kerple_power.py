"""KERPLE, power kernel. Chi et al. 2022, arXiv 2205.09921."""

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
class KerplePower(NumberedEncoding):
    """b_h(δ) = −a_h · |δ|^p_h with 0 < p ≤ 2; p = 1 is ALiBi with slope a."""

    name = "kerple-power"
    title = "KERPLE power"
    paper = "Chi et al. 2022, arXiv 2205.09921"
    summary = "A penalty that grows with a power of distance; two learned numbers for each head."
    sign = "A function of |δ| alone, so a mistaken sign does not show."
    parameters = (
        Parameter(
            "a",
            "table",
            None,
            "Strength a of each head [head], at or above 0.01; an illustration when empty.",
        ),
        Parameter("p", "table", None, "Power p of each head [head], 0.01 to 2; an illustration when empty."),
    )
    numbers = (
        Knob("a", 0.01, math.inf, (0.01, 2.0), linear=True),
        Knob("p", 0.01, 2.0, (0.1, 1.9)),
    )
    head_axes: ClassVar = {"a": 0, "p": 0}

    a: Tensor | None = None
    p: Tensor | None = None

    def stand_in(self, heads: int) -> dict[str, np.ndarray]:
        """Return strengths that fall while powers rise."""
        spread = head_spread(heads)
        return {"a": 0.9 * (1 - spread) + 0.05, "p": 0.3 + 0.9 * spread}

    def formula(self, delta: Tensor, *, a: Tensor, p: Tensor) -> Tensor:  # type: ignore[override]
        """Return −a · |δ|^p, [head, offset]."""
        return -a * delta.abs() ** p

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return a far handle for p and, at δ = −1 where p does not matter, one for a."""
        a, p = self.knob_values(head)
        far = max(n * 2 // 3, 1)
        made = [Handle("p", -far, -a * far**p, None, "value", f"Power p = {digits(p, 4)}")] if far > 1 else []
        return (*made, Handle("a", -1, -a, None, "value", f"Strength a = {digits(a, 4)}"))

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding whose curve meets the pointer, by p or by a alone."""
        a, p = self.knob_values(head)
        if handle.name == "a":
            a = -value
        else:
            p = math.log(max(-value, 1e-12) / a) / math.log(abs(handle.offset))
        return self.with_knobs(head, np.array([a, p]))

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that the curve keeps falling."""
        return "The curve keeps falling like a power of distance: farther keys pay more than any that training saw."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the formula."""
        numbers = self.number_of_each()
        a, p = (constant(name.upper(), table, "[head]") for name, table in numbers.items())
        return f"""{a}
{p}


def curve(offset):
    return -A[:, None] * offset.abs().double() ** P[:, None]  # [head, count]
"""
