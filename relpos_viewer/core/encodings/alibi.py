"""ALiBi: attention with linear biases. Press et al. 2021, arXiv 2108.12409."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    Convention,
    Encoding,
    Handle,
    Knob,
    Parameter,
    Variant,
    check_table,
    constant,
)
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import digits
from relpos_viewer.core.offsets import offsets


@dataclass(frozen=True, eq=False, kw_only=True)
class Alibi(Encoding):
    """b_h(δ) = m_h·δ (causal) or −m_h·|δ| (symmetric)."""

    name = "alibi"
    title = "ALiBi linear biases"
    paper = "Press et al. 2021, arXiv 2108.12409"
    summary = "A penalty that grows linearly with distance, with a fixed slope for each head."
    toeplitz = True
    sign = (
        "m·δ with δ = key − query ≤ 0, so that far keys lose; BLOOM adds m·(key position), which differs by a "
        "constant in each row."
    )
    scaling = (
        "BLOOM and MPT scale content alone; Falcon-RW scales the bias by 1/√d too, and rounds it to bfloat16."
    )
    head_axes: ClassVar = {"slopes": 0}
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
        Parameter(
            "slopes", "table", None, "Slope of each head [head], at or above 0; by the rule when empty."
        ),
    )

    rule: str = "interleaved"
    form: str = "causal"
    slopes: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the slopes."""
        if self.slopes is not None:
            check_table(self.slopes, "alibi slopes", "[head]", 1)
            if not bool((self.slopes >= 0).all()) or not bool(self.slopes.isfinite().all()):
                raise ViewerError("alibi slopes must lie at or above 0.")

    def slope_of_each(self) -> Tensor:
        """Return the slope of every head, float64 [head]."""
        if self.slopes is not None:
            return self.slopes.double().expand(self.heads or self.slopes.shape[0])
        return torch.tensor(alibi_slopes(self.heads or 1, self.rule), dtype=torch.float64)

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the lines [head, 2n−1]."""
        delta = offsets(n).double()  # [2n−1]
        distance = delta if self.form == "causal" else -delta.abs()  # [2n−1]
        return (self.slope_of_each()[:, None] * distance).to(dtype)  # [head, 2n−1]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the handle of the slope, half way down the line."""
        far = max(n // 2, 1)
        slope = float(self.slope_of_each()[head])
        return (
            Handle("slope", -far, -slope * far, None, "value", f"Slope {digits(slope, 4)} of head {head}"),
        )

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with the slope of the line through the pointer."""
        return self.with_knobs(head, np.array([max(value / handle.offset, 0.0)]))

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return the slope."""
        return (Knob("slope", 0.0, np.inf, (1e-3, 1.0), linear=True),)

    def knob_values(self, head: int) -> np.ndarray:
        """Return the head's slope, float64 [1]."""
        return self.slope_of_each()[head : head + 1].numpy().copy()

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with the head's slope replaced."""
        slopes = self.slope_of_each().clone()  # [head]
        slopes[head] = float(values[0])
        return replace(self, slopes=slopes)

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the slope of each head."""
        rows = tuple((str(h), f"{slope:.6g}") for h, slope in enumerate(self.slope_of_each().tolist()))
        return (Convention("Slopes", "", ("head", "slope"), rows),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the other form, and the other rule of slopes, which differs when H is no power of two."""
        form = "symmetric" if self.form == "causal" else "causal"
        help = {
            "symmetric": "−m·|δ| for the future too, as encoders have it; the past is the same.",
            "causal": "m·δ for every δ, as decoders have it: the future is rewarded the more the farther it is.",
        }[form]
        found = [Variant(form, help, replace(self, form=form))]
        if self.slopes is None:
            rule = "uniform" if self.rule == "interleaved" else "interleaved"
            help = {
                "uniform": "2^(−8h/H) for every H, where models interleave the slopes of two powers of two.",
                "interleaved": "The slopes of two powers of two interleaved, as models have it where H is none.",
            }[rule]
            found.append(Variant(f"{rule} slopes", help, replace(self, rule=rule)))
        return tuple(found)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return how far the line goes on."""
        ratio = (n - 1) / max(n_trained - 1, 1)
        return f"The line goes on: the farthest key pays {ratio:.3g} times the largest penalty of training."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the lines."""
        distance = "offset" if self.form == "causal" else "-offset.abs()"
        return f"""{constant("SLOPES", self.slope_of_each(), "[head]")}


def curve(offset):
    return SLOPES[:, None] * {distance}  # [head, count]
"""


def alibi_slopes(heads: int, rule: str) -> list[float]:
    """Return the slope of each head.

    interleaved: for a power of two 2^(−8h/H), h = 1 … H; otherwise those of the next lower power p, followed by
    every other slope of 2p. uniform: 2^(−8h/H) for every H.
    """
    power = 2 ** math.floor(math.log2(heads)) if rule == "interleaved" else heads
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    finer = [2.0 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return slopes + finer[: heads - power]
