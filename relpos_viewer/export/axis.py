"""Which ticks get a label, and what it says: thinned by measured width so that no two ever touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from relpos_viewer.core.levels import Levels
from relpos_viewer.core.numbers import MINUS, number_texts
from relpos_viewer.export.canvas import Ruler

LONGEST = 7.0  # em; a longer token is cut with …
MOST_SKIPPED = 5  # past every fifth token words say nothing; positions do
LINE = 1.16  # height of a line of text, in em
GAP = 0.7  # em between neighbouring labels
OVERHANG = 0.9  # em that a label may stand over the end of its axis

EVEN_OFFSETS = 4.0
"""|δ| up to here is drawn nearly evenly on the symmetric-log axis; the curve editor's own figure."""


@dataclass(frozen=True)
class Labels:
    """Tick labels of one axis.

    Attributes:
        places: data coordinates.
        texts: one each.
        rotation: degrees.
        extent: pixels they take across the axis.
    """

    places: tuple[float, ...]
    texts: tuple[str, ...]
    rotation: float
    extent: float


NO_LABELS = Labels((), (), 0.0, 0.0)


def token_labels(
    words: Sequence[str], first: int, length: float, ruler: Ruler, em: float, *, upright: bool
) -> Labels:
    """Label the cells of a matrix axis `length` pixels long: words where they fit, else positions.

    `first` is the position of the first word. `upright` for the axis of queries, whose labels stand beside it;
    labels of keys lie under their cells, turned when they are wider than these.
    """
    count, cell = len(words), length / len(words)
    step = max(1, math.ceil(LINE * em / cell - 1e-6))
    if not upright and cell >= em:  # a cell narrower than an em holds no word
        texts = tuple(ruler.fit(word, em, LONGEST * em) for word in words)
        widths = [ruler.width(text, em) for text in texts]
        if all((a + b) / 2 + GAP * em <= cell for a, b in pairwise(widths)):
            return Labels(tuple(range(count)), texts, 0.0, LINE * em)
    if step <= MOST_SKIPPED:
        places = tuple(range(0, count, step))
        texts = tuple(ruler.fit(words[place], em, LONGEST * em) for place in places)
        widest = max(ruler.width(text, em) for text in texts)
        return Labels(places, texts, 0.0 if upright else 90.0, widest)
    room = LINE * em * 1.4 if upright else ruler.width(str(first + count - 1), em) + 1.2 * em
    step = nice_step(room / cell)
    positions = range(math.ceil(first / step) * step, first + count, step)
    texts = tuple(str(position) for position in positions)
    extent = max((ruler.width(text, em) for text in texts), default=0.0) if upright else LINE * em
    return Labels(tuple(position - first for position in positions), texts, 0.0, extent)


def nice_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20 … that is at least `least`."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def value_labels(levels: Levels, length: float, ruler: Ruler, em: float, *, upright: bool) -> Labels:
    """Label an axis of numbers: places are fractions 0 … 1 of it."""
    gap = (0.25 if upright else GAP) * em
    for most in range(8, 0, -1):
        ticks = levels.ticks(most)
        texts = number_texts(ticks)
        places = [float(levels.fraction(tick)) for tick in ticks]
        if not upright:  # a label that hangs far over the end would run into the next panel's
            kept = [
                index
                for index, place in enumerate(places)
                if ruler.width(texts[index], em) / 2 - min(place, 1 - place) * length <= OVERHANG * em
            ]
            texts, places = [texts[index] for index in kept], [places[index] for index in kept]
        sizes = [LINE * em if upright else ruler.width(text, em) for text in texts]
        if len(places) >= 2 and not overlapping([place * length for place in places], sizes, gap):
            break
    else:
        texts, places = number_texts((levels.low, levels.high)), [0.0, 1.0]
    return Labels(tuple(places), tuple(texts), 0.0, max(ruler.width(text, em) for text in texts))


def factor_labels(low: float, high: float, length: float, ruler: Ruler, em: float) -> Labels:
    """Label biases from `low` to `high` with the round factors e^b they mean; places are fractions of the axis."""
    pixels = length / (high - low)  # of one score unit
    room = 1.5 * LINE * em
    first, last = math.floor(low / math.log(10)), math.ceil(high / math.log(10))
    if pixels * math.log(2) >= room:
        factors = [(mantissa, decade) for decade in range(first, last + 1) for mantissa in (1, 2, 5)]
    else:
        stride = nice_step(room / (pixels * math.log(10)))
        factors = [(1, decade) for decade in range(first, last + 1) if decade % stride == 0]
    biases = [(math.log(mantissa) + decade * math.log(10), mantissa, decade) for mantissa, decade in factors]
    biases = [each for each in biases if low <= each[0] <= high]
    if len(biases) < 2:  # so flat that no two round factors are in sight
        span = Levels(low, high).ticks(3)
        texts = number_texts([math.exp(bias) if bias < 700 else math.inf for bias in span])
        chosen = list(zip(span, (f"×{text}" for text in texts), strict=True))
    else:
        chosen = [(bias, factor_text(mantissa, decade)) for bias, mantissa, decade in biases]
    places = tuple((bias - low) / (high - low) for bias, _ in chosen)
    extent = max((ruler.width(text, em) for _, text in chosen), default=0.0)
    return Labels(places, tuple(text for _, text in chosen), 0.0, extent)


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def factor_text(mantissa: int, decade: int) -> str:
    """×0.02, ×500, ×10⁻⁷."""
    if -4 < decade < 5:
        return f"×{mantissa * 10**decade}" if decade >= 0 else f"×{mantissa / 10**-decade:.{-decade}f}"
    power = "10" + str(decade).translate(_RAISED)
    return f"×{power}" if mantissa == 1 else f"×{mantissa}·{power}"


def offset_place(offset: np.ndarray | float, axis: str) -> np.ndarray:
    """Where an offset lies on the curve's axis, "linear" or "symlog" (near offsets wide, far ones narrow)."""
    offset = np.asarray(offset, np.float64)
    return offset if axis == "linear" else np.sign(offset) * np.log1p(np.abs(offset) / EVEN_OFFSETS)


def offset_labels(low: float, high: float, axis: str, length: float, ruler: Ruler, em: float) -> Labels:
    """Label the offsets between `low` and `high`; places are offsets."""
    left, right = float(offset_place(low, axis)), float(offset_place(high, axis))

    def pixel(offset: int) -> float:
        return (float(offset_place(offset, axis)) - left) / (right - left) * length

    def text(offset: int) -> str:
        return f"{MINUS if offset < 0 else ''}{abs(offset)}"

    widest = max(ruler.width(text(round(end)), em) for end in (low, high)) + GAP * em
    if axis == "linear":
        step = nice_step(widest / length * (high - low))
        kept = list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))
    else:
        kept = [0]
        power = 1
        while power <= max(abs(low), abs(high)):
            for size in (power, 2 * power, 5 * power):
                if abs(pixel(size) - pixel(max(kept))) >= widest:
                    kept += [size, -size]
            power *= 10
        kept = sorted(offset for offset in kept if low <= offset <= high)
    return Labels(tuple(kept), tuple(map(text, kept)), 0.0, LINE * em)


def overlapping(centres: Sequence[float], sizes: Sequence[float], gap: float) -> bool:
    """Whether labels centred there, ascending, come closer than `gap`."""
    return any(
        after - before < (sizes[index] + sizes[index + 1]) / 2 + gap
        for index, (before, after) in enumerate(pairwise(centres))
    )
