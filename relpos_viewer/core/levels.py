"""Which number gets which end of the colour map: limits come from the data, never from the painter's guess.

`autoLevels` of a plotting library samples, chokes on −inf and collapses on flat data (pyqtgraph#1608,
#769); here the limits are chosen from every visible finite cell, and are a small value that can be
shared, locked and typed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import parse_number, short

Scale = Literal["linear", "log"]

WEIGHT_FLOOR = 1e-6
"""Lowest weight with a colour of its own on a logarithmic scale: an even share of a million keys."""

PERCENTILES = (1.0, 99.0)
"""Limits of the percentile mode: one huge sink column no longer hides the rest (bertviz#131)."""

_SAMPLE = 262_144  # cells that percentiles are read from; all of them up to n = 512

Cells = np.ndarray | torch.Tensor


@dataclass(frozen=True)
class Levels:
    """The values at the two ends of a colour map, low < high, both finite; low > 0 on a logarithmic scale."""

    low: float
    high: float
    scale: Scale = "linear"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ViewerError("Colour limits must be finite numbers.")
        if self.low >= self.high:
            raise ViewerError(
                f"The lower colour limit {short(self.low)} must be below the upper one {short(self.high)}."
            )
        if self.scale == "log" and self.low <= 0:
            raise ViewerError("The lower limit of a logarithmic colour scale must be above 0.")

    def fraction(self, values: np.ndarray | float) -> np.ndarray:
        """Place float64 of `values` along the colour map: 0 is low, 1 is high; not clipped."""
        values = np.asarray(values, dtype=np.float64)
        if self.scale == "linear":
            return (values - self.low) / (self.high - self.low)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log10(np.maximum(values, 0))
        low = math.log10(self.low)
        return (logs - low) / (math.log10(self.high) - low)

    def value(self, fraction: float) -> float:
        """The number whose colour lies at `fraction` of the map."""
        if self.scale == "linear":
            return self.low + fraction * (self.high - self.low)
        low, high = math.log10(self.low), math.log10(self.high)
        return 10.0 ** (low + fraction * (high - low))

    def ticks(self, most: int) -> tuple[float, ...]:
        """At most `most` round numbers within the limits, ascending: steps of 1, 2, 5, or whole decades."""
        most = max(most, 1)
        if self.scale == "log":
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(math.ceil((last - first + 1) / most), 1)
            return tuple(10.0**power for power in range(first, last + 1, step))
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / (most + 1)))
        for step in (power, 2 * power, 5 * power, 10 * power, 20 * power, 50 * power):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if last - first < most:
                break
        # Rounded to twelve digits: 3 · 0.1 is not to read 0.30000000000000004.
        return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def choose_levels(
    values: Cells,
    visible: Cells | None = None,
    *,
    mode: Literal["full", "percentile"] = "full",
    symmetric: bool = False,
    scale: Scale = "linear",
) -> Levels:
    """Limits for `values` from its visible finite cells; NaN and infinities have marks of their own.

    values, visible: the same shape, any; visible None takes every cell. `full` is the smallest and the
    largest value, `percentile` the 1st and 99th percentile, read from 262,144 evenly spaced cells of a
    larger matrix. `symmetric` centres zero (for terms, so that the middle colour means "no
    contribution"); otherwise non-negative data, such as weights, start at 0. On a log scale the lower
    limit is `WEIGHT_FLOOR`. Equal limits are widened. Any thread.
    """
    low, high = _extent(values, visible) if mode == "full" else _percentiles(values, visible)
    if scale == "log":
        return Levels(WEIGHT_FLOOR, max(high, WEIGHT_FLOOR * 10), "log")
    if symmetric:
        bound = max(abs(low), abs(high))
        return Levels(-bound, bound) if bound > 0 else Levels(-1.0, 1.0)
    if low >= 0:
        return Levels(0.0, high) if high > 0 else Levels(0.0, 1.0)
    if low == high:
        return Levels(low - abs(low) / 2, high + abs(high) / 2)
    return Levels(low, high)


def shared_levels(levels: Sequence[Levels]) -> Levels:
    """The smallest limits that hold all of `levels` (of one scale), so that panels can be compared."""
    return Levels(min(each.low for each in levels), max(each.high for each in levels), levels[0].scale)


def typed_levels(low: str, high: str, scale: Scale = "linear") -> Levels:
    """Limits as a user typed them.

    Raises:
        ViewerError: one is no number, or they are in the wrong order, or do not suit the scale.
    """
    return Levels(parse_number(low), parse_number(high), scale)


def _extent(values: Cells, visible: Cells | None) -> tuple[float, float]:
    """Smallest and largest visible finite value; (0, 0) when there is none."""
    cells = _tensor(values)
    seen = None if visible is None else _tensor(visible).to(cells.device)
    if cells.numel() == 0:
        return 0.0, 0.0
    # Masked cells stand aside as ±inf; only when a true infinity or NaN comes out is the slower finite
    # test needed.
    low, high = _ends(cells, seen)
    if not (math.isfinite(low) and math.isfinite(high)):
        finite = cells.isfinite()
        low, high = _ends(cells, finite if seen is None else finite & seen)
    return (low, high) if low <= high else (0.0, 0.0)


def _ends(cells: torch.Tensor, seen: torch.Tensor | None) -> tuple[float, float]:
    low = cells if seen is None else torch.where(seen, cells, math.inf)
    high = cells if seen is None else torch.where(seen, cells, -math.inf)
    return float(low.min()), float(high.max())


def _percentiles(values: Cells, visible: Cells | None) -> tuple[float, float]:
    cells = _tensor(values).reshape(-1)
    seen = cells.isfinite()
    if visible is not None:
        seen = seen & _tensor(visible).to(cells.device).expand(values.shape).reshape(-1)
    finite = cells[seen].float()
    if finite.numel() == 0:
        return 0.0, 0.0
    # A real-valued stride (unlike every k-th cell) meets all columns, however many there are.
    taken = np.linspace(0, finite.numel() - 1, min(finite.numel(), _SAMPLE)).astype(np.int64)
    sample = finite[torch.from_numpy(taken).to(finite.device)].cpu().numpy()
    low, high = np.percentile(sample, PERCENTILES)
    return float(low), float(high)


def _tensor(values: Cells) -> torch.Tensor:
    return values.detach() if isinstance(values, torch.Tensor) else torch.from_numpy(np.asarray(values))
