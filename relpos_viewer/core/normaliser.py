"""Normaliser: the two numbers of each row that turn its scores into weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Normaliser:
    """What turns a row's scores into weights: weight = exp(score − reference) · inverse.

    Attributes:
        reference: [query] finite.
        inverse: [query] 1 / Σ exp(score − reference); 0 for a row without a finite visible score, NaN for a
            row that holds NaN or +∞.
    """

    reference: Tensor
    inverse: Tensor

    @property
    def log(self) -> Tensor:
        """log Σ exp over the visible cells of each row, [query]; −∞ for a row without any."""
        log = self.reference - self.inverse.log()  # [query]
        return log.masked_fill(self.inverse == 0, -math.inf)
