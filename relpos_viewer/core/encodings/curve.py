"""A free curve: one number for each offset and head, drawn or loaded. The general form of every additive bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding, Parameter, check_table, constant
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.offsets import offsets


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Encoding):
    """b_h(δ) = table[h, δ + m − 1] for |δ| < m; beyond the table the rule `beyond_rule` holds."""

    name = "curve"
    title = "Free curve"
    paper = "general additive bias b(j − i)"
    summary = "A table with one bias per offset and head; start flat and draw."
    toeplitz = True
    own_constant = True
    head_axes: ClassVar = {"table": 0}
    parameters = (
        Parameter("table", "table", None, "Bias [head, 2n − 1] for δ = −(n − 1) … n − 1; flat when empty."),
        Parameter(
            "rule",
            "choice",
            "hold",
            "What holds past the ends of the table: hold its last value, extend its last slope, or zero.",
            choices=("hold", "extend", "zero"),
        ),
    )

    table: Tensor | None = None
    rule: str = "hold"

    def __post_init__(self) -> None:
        """Check the table's shape: one curve [2n−1] becomes one for every head."""
        if self.table is None:
            return
        table = check_table(torch.atleast_2d(self.table), "curve", "[head, 2n − 1]", 2)
        if table.shape[1] % 2 == 0:
            raise ViewerError(
                f"the curve table has {table.shape[1]} offsets; give an odd number, 2n − 1, with δ = 0 in the middle."
            )
        object.__setattr__(self, "table", table)

    @property
    def reach(self) -> int:
        """The n the table was drawn for: it covers |δ| < reach; 0 without a table."""
        return 0 if self.table is None else (self.table.shape[1] + 1) // 2

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the table cut or continued to [head, 2n−1]."""
        if self.table is None:
            return torch.zeros(self.heads or 1, 2 * n - 1, dtype=dtype)
        table = self.table.to(dtype).expand(self.heads or self.table.shape[0], -1)  # [head, 2·reach−1]
        delta = offsets(n)  # [2n−1]
        past = self.reach - 1
        curve = table[:, delta.clamp(-past, past) + past]  # [head, 2n−1]
        if self.rule == "zero":
            return torch.where(delta.abs() <= past, curve, 0)
        if self.rule == "extend" and past > 0:
            low, high = table[:, 1] - table[:, 0], table[:, -1] - table[:, -2]  # [head] slopes at both ends
            curve = curve + (delta + past).clamp_max(0) * low[:, None]  # [head, 2n−1]
            curve = curve + (delta - past).clamp_min(0) * high[:, None]  # [head, 2n−1]
        return curve

    def beyond(self, n: int) -> Tensor | None:
        """Return the offsets past the ends of the table, bool [2n−1]."""
        return None if self.table is None or n <= self.reach else offsets(n).abs() >= self.reach

    def fitted(self, head: int, target: np.ndarray) -> Self:
        """Return the curve that is the target itself; where nothing is wanted it stays as it is."""
        n = (len(target) + 1) // 2
        table = self.curve(n, torch.float64).expand(self.heads or 1, -1).clone()  # [head, 2n−1]
        wanted = np.isfinite(target)
        table[head, torch.from_numpy(wanted)] = torch.from_numpy(target[wanted])
        return replace(self, table=table)

    def trained_length(self) -> int | None:
        """Return the n that the table was drawn for."""
        return self.reach or None

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return the rule past the ends of the table."""
        if self.table is None:
            return "The curve is flat at 0 for every offset, however far."
        rules = {
            "hold": "holds its last value",
            "extend": "goes on with its last slope",
            "zero": "is 0",
        }
        return f"The curve was drawn to |δ| = {self.reach - 1}; beyond that it {rules[self.rule]}."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return a look-up in the curve over n_key positions; past its ends the first and the last value hold."""
        return f"""{constant("TABLE", self.curve(n_key), f"[head, offset], δ = {1 - n_key} … {n_key - 1}")}


def curve(offset):
    return TABLE[:, offset.clamp({1 - n_key}, {n_key - 1}) + {n_key - 1}]  # [head, count]
"""
