"""Which cells of an axis get a label: every one, every second …, or round indices where there are too many."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_SKIPPED = 6
"""With more than this many tokens to a label, a token says little: round indices are written instead."""


@dataclass(frozen=True)
class Ticks:
    """Indices with a label, and whether the label is the token or the index."""

    indices: tuple[int, ...]
    tokens: bool
    step: int


def token_step(label: float, cell: float) -> int:
    """Every how many cells a label of that size fits, both in pixels along the axis."""
    return max(math.ceil(label / max(cell, 1e-9) - 1e-6), 1)


def ticks(span: tuple[float, float], cell: float, label: float, index_label: float) -> Ticks:
    """Ticks within `span` (cells); `cell`, `label`, `index_label`: sizes along the axis in pixels, with their gaps."""
    step = token_step(label, cell)
    tokens = step <= MOST_SKIPPED
    if not tokens:
        step = _round_step(token_step(index_label, cell))
    # A label belongs to the middle of its cell, so only cells whose middle is on show have one.
    first, last = math.ceil(span[0] - 0.5), math.floor(span[1] - 0.5 - 1e-9)
    start = -(-first // step) * step
    return Ticks(tuple(range(start, last + 1, step)), tokens, step)


def _round_step(least: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 … that is at least `least`."""
    power = 10 ** (len(str(least)) - 1)
    return next(power * unit for unit in (1, 2, 5, 10) if power * unit >= least)
