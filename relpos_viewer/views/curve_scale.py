"""Where an offset and a value lie on the screen, and which of them get a tick. Plain arithmetic, no widgets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.numbers import MINUS, short

# |δ| up to here is drawn nearly evenly on the symmetric-log axis; T5 and most learned curves vary fastest there.
EVEN_OFFSETS = 4.0

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class LinearScale:
    """Every offset takes the same width."""

    name = "linear"

    def forward(self, offset):
        """Place of an offset on the axis."""
        return np.asarray(offset, np.float64)

    def inverse(self, place):
        """Offset at a place on the axis."""
        return np.asarray(place, np.float64)

    def ticks(self, low: float, high: float, width: float) -> list[int]:
        """Return the offsets between the places `low` and `high` that get a label on `width` pixels."""
        step = max(1, round(nice_step((high - low) / max(width, 1) * 56)))
        return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))


class SymlogScale:
    """Near offsets take much width, far ones little; past and future are alike."""

    name = "symlog"

    def forward(self, offset):
        """Place of an offset on the axis."""
        offset = np.asarray(offset, np.float64)
        return np.sign(offset) * np.log1p(np.abs(offset) / EVEN_OFFSETS)

    def inverse(self, place):
        """Offset at a place on the axis."""
        place = np.asarray(place, np.float64)
        return np.sign(place) * EVEN_OFFSETS * np.expm1(np.abs(place))

    def ticks(self, low: float, high: float, width: float) -> list[int]:
        """Return the offsets between the places `low` and `high` that get a label on `width` pixels."""
        gap = 44 * (high - low) / max(width, 1)
        farthest = float(np.abs(self.inverse([low, high])).max())
        kept, last = [0], 0.0
        for offset in _one_two_five(farthest):
            place = float(self.forward(offset))
            if place - last >= gap:
                kept, last = [-offset, *kept, offset], place
        return [offset for offset in kept if low <= self.forward(offset) <= high]


SCALES = {scale.name: scale for scale in (LinearScale(), SymlogScale())}


@dataclass(frozen=True)
class PlotMap:
    """The plot as it stands: pixels of its rectangle, and what its edges mean.

    Attributes:
        scale: how offsets are spread.
        left, top, width, height: the rectangle in logical pixels, y downwards.
        places: (low, high) ends of the offset axis, in places of `scale`.
        values: (low, high) ends of the value axis, in score units.
    """

    scale: LinearScale | SymlogScale
    left: float
    top: float
    width: float
    height: float
    places: tuple[float, float]
    values: tuple[float, float]

    def x(self, offset):
        """Pixel of an offset, or of many."""
        low, high = self.places
        return self.left + (self.scale.forward(offset) - low) * (self.width / (high - low))

    def y(self, value):
        """Pixel of a value, or of many."""
        low, high = self.values
        return self.top + (high - np.asarray(value, np.float64)) * (self.height / (high - low))

    def place(self, x: float) -> float:
        """Place on the offset axis at a pixel."""
        low, high = self.places
        return low + (x - self.left) * (high - low) / self.width

    def offset(self, x: float) -> float:
        """Offset at a pixel; whole offsets lie at its whole numbers."""
        return float(self.scale.inverse(self.place(x)))

    def value(self, y: float) -> float:
        """Value at a pixel."""
        low, high = self.values
        return high - (y - self.top) * (high - low) / self.height

    @property
    def units_per_pixel(self) -> float:
        """Score units that one pixel of height stands for."""
        low, high = self.values
        return (high - low) / self.height


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    # Dividing keeps 0.1 the float 0.1 where multiplying by 10**-1 may not.
    return factor * power if power >= 1 else factor / round(1 / power)


def value_ticks(low: float, high: float, height: float) -> tuple[float, list[float]]:
    """Return the step and the values that get a label on an axis `height` pixels high."""
    step = nice_step((high - low) / max(height, 1) * 34)
    return step, [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def value_text(value: float, step: float) -> str:
    """Write a tick with the decimals its step needs."""
    if abs(value) >= 1e5:
        return short(value)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{abs(value):.{decimals}f}"
    return MINUS + text if value < 0 else text


def factor_ticks(low: float, high: float, height: float) -> list[tuple[float, str]]:
    """Return (b, "×e^b") for the round factors that have room between the values `low` and `high`.

    A bias of b multiplies the odds of a key by e^b before normalisation.
    """
    pixels = height / (high - low)  # of one score unit
    decades = range(math.floor(low / math.log(10)) - 1, math.ceil(high / math.log(10)) + 2)
    if pixels * math.log(2) >= 24:
        powers = [(m, d) for d in decades for m in (1, 2, 5)]
    else:
        stride = max(1, round(nice_step(max(1.0, 30 / (pixels * math.log(10))))))
        powers = [(1, d) for d in decades if d % stride == 0]
    ticks = [(math.log(m) + d * math.log(10), _factor_text(m, d)) for m, d in powers]
    ticks = [(b, text) for b, text in ticks if low <= b <= high]
    if len(ticks) >= 2:
        return ticks
    step, values = value_ticks(low, high, height)  # zoomed in so far that no two round factors are in view
    return [(b, "×" + _close_factor(b, step)) for b in values]


def _factor_text(mantissa: int, decade: int) -> str:
    if -4 < decade < 5:
        return f"×{mantissa * 10**decade}" if decade >= 0 else f"×{mantissa / 10**-decade:.{-decade}f}"
    return "×" + (_power(decade) if mantissa == 1 else f"{mantissa}·{_power(decade)}")


def _close_factor(b: float, step: float) -> str:
    """e^b with the digits that tell neighbouring ticks apart; e^b itself may be too large for a float."""
    digits = max(2, 2 - math.floor(math.log10(step)))
    decade = math.floor(b / math.log(10))
    if -4 < decade < 5:
        return f"{math.exp(b):.{digits}g}"
    return f"{10 ** (b / math.log(10) - decade):.{digits}g}·{_power(decade)}"


def _power(decade: int) -> str:
    return "10" + str(decade).translate(_SUPERSCRIPTS)


def _one_two_five(limit: float) -> Iterator[int]:
    power = 1
    while power <= limit:
        for factor in (1, 2, 5):
            if factor * power <= limit:
                yield factor * power
        power *= 10
