"""TISA, translation-invariant self-attention. Wennberg & Henter 2021, arXiv 2106.01950."""

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
    head_spread,
)
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import digits
from relpos_viewer.core.offsets import offsets

TABLES = ("amplitude", "sharpness", "centre")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tisa(Encoding):
    """b_h(δ) = Σ_s a_s · exp(−|b_s|·(δ − c_s)²): a few radial kernels for each head."""

    name = "tisa"
    title = "TISA kernels"
    paper = "Wennberg & Henter 2021, arXiv 2106.01950"
    summary = "A sum of bell-shaped kernels over the offset, each with a height, a width and a centre."
    toeplitz = True
    sign = "A function of δ = key − query; the authors' own Toeplitz code evaluates it at −δ − 1."
    parameters = (
        Parameter("amplitude", "table", None, "Heights [kernel, head]; an illustration when empty."),
        Parameter("sharpness", "table", None, "Sharpnesses b [kernel, head], of which the magnitude counts."),
        Parameter("centre", "table", None, "Centres c as offsets δ [kernel, head]."),
    )
    head_axes: ClassVar = {"amplitude": 1, "sharpness": 1, "centre": 1}

    amplitude: Tensor | None = None
    sharpness: Tensor | None = None
    centre: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the three tables hold the same kernels."""
        given = {name: getattr(self, name) for name in TABLES}
        present = [table for table in given.values() if table is not None]
        if present and len(present) < len(TABLES):
            raise ViewerError("tisa needs amplitude, sharpness and centre together, or none of them.")
        for name, table in given.items():
            if table is not None:
                check_table(table, f"tisa {name}", "[kernel, head]", 2)
        if len({tuple(table.shape) for table in present}) > 1:
            raise ViewerError("the three tisa tables must hold the same kernels and heads.")

    def kernels(self) -> dict[str, Tensor]:
        """Return the three tables of all heads, float64 [kernel, head] each."""
        if self.amplitude is None:
            return {name: torch.from_numpy(table) for name, table in illustration(self.heads or 1).items()}
        heads = self.heads or self.amplitude.shape[1]
        return {name: getattr(self, name).double().expand(-1, heads) for name in TABLES}

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the sums of kernels, [head, 2n−1]."""
        return _bells(offsets(n), *self.kernels().values()).to(dtype)

    def fit_at(self, delta: Tensor, head: int) -> Tensor:
        """Return one head's sum of kernels at some offsets, float64 [place]."""
        return _bells(delta, *(table[:, head, None] for table in self.kernels().values()))[0]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return, for each kernel whose centre is in sight, its top and a point on its flank."""
        values = self.knob_values(head).reshape(3, -1)  # [a b c, kernel]
        made = []
        for kernel, (a, b, c) in enumerate(values.T):
            if abs(c) > n - 1:
                continue
            reach = self._half_width(b)
            span = (max(round(c - reach), 1 - n), min(round(c + reach), n - 1))
            text = f"Kernel {kernel}: height {digits(a, 4)}, centre {digits(c, 4)}"
            made.append(Handle(f"kernel {kernel}", float(c), float(a), span, "both", text))
            if c - reach >= 1 - n:
                text = f"Kernel {kernel}: half as high {digits(reach, 4)} away from its centre"
                made.append(Handle(f"width {kernel}", float(c - reach), float(a / 2), span, "offset", text))
        return tuple(sorted(made, key=lambda handle: handle.offset))

    @staticmethod
    def _half_width(sharpness: float) -> float:
        """Return how far from its centre a kernel is half as high."""
        return math.sqrt(math.log(2) / max(abs(sharpness), 1e-12))

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with a kernel moved, or made wider."""
        values = self.knob_values(head).reshape(3, -1)  # [a b c, kernel]
        kind, place = handle.name.split()
        kernel = int(place)
        if kind == "kernel":
            values[0, kernel], values[2, kernel] = value, offset
        else:
            away = max(abs(offset - values[2, kernel]), 1e-3)
            values[1, kernel] = math.log(2) / away**2
        return self.with_knobs(head, values.ravel())

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return heights, sharpnesses and centres of the head's kernels, in this order."""
        kernels = range(self.kernels()["amplitude"].shape[0])
        return (
            *(
                Knob(f"amplitude {s}", -math.inf, math.inf, (-3.0, 3.0), linear=True, tallest=1.0)
                for s in kernels
            ),
            *(Knob(f"sharpness {s}", 1e-12, 10.0, (1e-3, 1.0), log=True) for s in kernels),
            *(Knob(f"centre {s}", -1e6, 1e6, (-12.0, 12.0), is_offset=True) for s in kernels),
        )

    def knob_values(self, head: int) -> np.ndarray:
        """Return the head's numbers, float64 [3 · kernel]; sharpnesses as magnitudes."""
        a, b, c = (table[:, head].numpy() for table in self.kernels().values())
        return np.concatenate((a, np.abs(b), c))

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with the head's numbers replaced."""
        tables = {name: table.clone() for name, table in self.kernels().items()}
        for name, column in zip(TABLES, np.asarray(values, np.float64).reshape(3, -1), strict=True):
            tables[name][:, head] = torch.from_numpy(column.copy())
        return replace(self, **tables)

    def slopes_of_knobs(self, head: int, delta: Tensor) -> np.ndarray:
        """Return each kernel at height 1, float64 [kernel, place]."""
        _, sharp, centre = self.knob_values(head).reshape(3, -1, 1)  # [kernel, 1] each
        return np.exp(-sharp * (delta.numpy() - centre) ** 2)

    def slopes_of_bent_knobs(self, head: int, delta: Tensor) -> np.ndarray:
        """Return what sharpnesses and centres do, float64 [2 · kernel, place]."""
        height, sharp, centre = self.knob_values(head).reshape(3, -1, 1)  # [kernel, 1] each
        away = delta.numpy() - centre  # [kernel, place]
        bells = height * np.exp(-sharp * away**2)  # [kernel, place]
        return np.concatenate((-(away**2) * bells, 2 * sharp * away * bells))

    def suggestions(self, head: int, delta: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
        """Return the kernels that a greedy search finds: the one that explains most, then the next beside it."""
        n = int(np.abs(delta).max()) + 1
        centres = delta[np.linspace(0, len(delta) - 1, min(len(delta), 192)).round().astype(int)]  # [centre]
        sharpnesses = np.geomspace(
            0.5 / max(n, 2) ** 2, 2.0, 24
        )  # from wider than all that is seen to one offset
        away = torch.from_numpy((delta - centres[:, None]).astype(float))  # [centre, offset]
        bells = torch.exp(-torch.from_numpy(sharpnesses)[:, None, None] * away**2)  # [sharp, centre, offset]
        bells = bells.reshape(-1, len(delta))  # [bell, offset]
        shapes = bells - bells.mean(1, keepdim=True)  # [bell, offset], as a constant is free
        norms = torch.linalg.norm(shapes, dim=1).clamp(min=1e-9)  # [bell]
        rest = torch.from_numpy(target)[:, None]  # [offset, 1]
        one = torch.ones(len(delta), dtype=torch.float64)  # [offset]
        kernels = self.kernels()["amplitude"].shape[0]
        chosen: list[int] = []
        for _ in range(kernels):
            columns = torch.stack((*bells[chosen], one), 1)  # [offset, chosen + 1]
            heights = torch.linalg.lstsq(columns, rest, driver="gelsd").solution  # [chosen + 1, 1]
            left = (rest - columns @ heights)[:, 0]  # [offset]
            chosen.append(int(((shapes @ left).abs() / norms).argmax()))
        sharp, centre = np.unravel_index(chosen, (len(sharpnesses), len(centres)))
        # Heights are solved for anyway.
        return [np.concatenate((np.zeros(kernels), sharpnesses[sharp], centres[centre].astype(float)))]

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the kernels of each head."""
        a, b, c = (table.T.tolist() for table in self.kernels().values())
        rows = tuple(
            (str(head), str(kernel), *(f"{number:.5g}" for number in numbers))
            for head in range(len(a))
            for kernel, numbers in enumerate(zip(a[head], b[head], c[head], strict=True))
        )
        return (Convention("Kernels", "", ("head", "kernel", *TABLES), rows),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return what the authors' code computes: the kernels at −δ − 1."""
        tables = self.kernels()
        moved = replace(self, **{**tables, "centre": -tables["centre"] - 1})
        return (Variant("i − j − 1", "The authors' Toeplitz builder: mirrored, and one place off.", moved),)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that far keys get no bias."""
        return "The kernels have died away: the curve is flat at 0 far from them, so far keys only share the content."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the sum of kernels."""
        tables = "\n".join(
            constant(name.upper(), table, "[kernel, head]") for name, table in self.kernels().items()
        )
        return f"""{tables}


def curve(offset):
    away = offset - CENTRE[..., None]  # [kernel, head, count]
    bells = torch.exp(-SHARPNESS[..., None].abs() * away**2)  # [kernel, head, count]
    return (AMPLITUDE[..., None] * bells).sum(0)  # [head, count]
"""


def _bells(delta: Tensor, amplitude: Tensor, sharpness: Tensor, centre: Tensor) -> Tensor:
    """Return sums of kernels at δ int64 [place], float64 [head, place], for tables [kernel, head]."""
    total = torch.zeros(amplitude.shape[1], len(delta), dtype=torch.float64)  # [head, place]
    for height, sharp, middle in zip(amplitude, sharpness, centre, strict=True):  # [head] each
        total += height[:, None] * (-sharp.abs()[:, None] * (delta - middle[:, None]) ** 2).exp()
    return total


def illustration(heads: int) -> dict[str, np.ndarray]:
    """Return five kernels a head, [kernel, head] each: near ones narrow, far ones wide, heads looking elsewhere."""
    spread = head_spread(heads)  # [head]
    one = np.ones_like(spread)
    return {
        "amplitude": np.stack((2.2 * one, 1.4 - 2 * spread, -1.1 * one, 0.9 * one, -1.6 + spread)),
        "sharpness": np.stack(
            (0.9 * one, 0.25 + 0.2 * spread, 0.06 * one, 0.02 + 0.02 * spread, 0.004 * one)
        ),
        "centre": np.stack((-1 - 2 * spread, 2 + spread, -7 - 4 * spread, -16 - 3 * spread, -30 * one)),
    }
