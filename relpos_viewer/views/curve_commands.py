"""Edits that happen at once, without a gesture: nudge, exact value, reset, paste. No widgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relpos_viewer.core import brush
from relpos_viewer.core.numbers import short
from relpos_viewer.views.curve_gesture import FINE
from relpos_viewer.views.curve_hand import Hand
from relpos_viewer.views.curve_label import read_table

NUDGE = 0.1
# Nudges that follow each other within a second are one step; `app.undo` merges by the same rule.
BURST_S = 1.0


@dataclass(frozen=True, eq=False)
class Edit:
    """One step of undo.

    Attributes:
        values: Δ float32 [head, 2n−1] after it.
        name: what it did, for the menu.
        merge_key: steps with the same key in quick succession are one; None never merges.
    """

    values: np.ndarray
    name: str
    merge_key: str | None = None


@dataclass(frozen=True, eq=False)
class _Burst:
    key: str
    start: np.ndarray
    amount: float
    result: np.ndarray
    time: float


class Nudger:
    """Counts small steps that follow each other from where they began: as many back restore every bit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._burst: _Burst | None = None

    def count(self, key: str, values: np.ndarray, steps: int, *, fine: bool) -> tuple[np.ndarray, float]:
        """Return the values where the burst began, and by how much in all they are to be moved now.

        Args:
            key: what is moved; another begins a new burst.
            values: as they are now. An edit that came between, such as an undo, begins a new burst too.
            steps: of 0.1 score units, 0.01 when `fine`.
        """
        now, burst = self._clock(), self._burst
        if (
            burst is None
            or burst.key != key
            or now - burst.time > BURST_S
            or not np.array_equal(burst.result, values)
        ):
            burst = _Burst(key, values, 0.0, values, now)
        amount = round(burst.amount + steps * NUDGE * (FINE if fine else 1.0), 6)
        self._burst = _Burst(key, burst.start, amount, values, now)
        return burst.start, amount

    def reached(self, values: np.ndarray) -> None:
        """Take down what the step that was counted last has led to."""
        assert self._burst is not None
        self._burst = replace(self._burst, result=values)

    def nudge(self, hand: Hand, steps: int, *, fine: bool) -> Edit | None:
        """Return the edit that moves the selection by `steps` of 0.1 score units, 0.01 when `fine`."""
        reach = hand.selected_reach()
        if reach is None:
            return None
        key = f"nudge {range_text(*hand.selection)} {hand.heads} {hand.brush.mirror} {hand.snap} {hand.tool}"
        start, amount = self.count(key, hand.edit, steps, fine=fine)
        values = brush.move(start, reach, amount, hand.heads) if amount else start
        self.reached(values)
        return Edit(values, f"Nudge {range_text(*hand.selection)}", key)


def set_value(hand: Hand, offset: int, value: float) -> Edit | None:
    """Return the edit that makes the whole curve equal `value` score units at `offset`."""
    values = hand.draw(hand.edit, np.array([offset]), np.array([value]))
    return changed(hand, values, f"Set δ = {short(offset)} to {short(value)}")


def reset_selection(hand: Hand) -> Edit | None:
    """Return the edit that takes the selected points back to the family's curve."""
    reach = hand.selected_reach()
    if reach is None:
        return None
    if hand.is_anchor():
        # Back by bending, not by a notch: what the anchor carried along comes back with it.
        column = hand.selection[0] + hand.n - 1
        values = brush.move(hand.edit, reach, -float(hand.edit[hand.curves.head, column]), hand.heads)
    else:
        values = brush.reset(hand.edit, reach.columns, hand.heads)
    return changed(hand, values, f"Reset {range_text(*hand.selection)}")


def reset_head(hand: Hand) -> Edit | None:
    """Return the edit that takes the shown head back to the family's curve."""
    return changed(hand, brush.reset(hand.edit, slice(None), [hand.curves.head]), "Reset curve of this head")


def reset_all(hand: Hand) -> Edit | None:
    """Return the edit that takes every head back to the family's curve."""
    return changed(hand, np.zeros_like(hand.edit), "Reset all curves")


def paste(hand: Hand, text: str) -> Edit | None:
    """Return the edit that sets the curve at the offsets of a table.

    Raises:
        ViewerError: the text is no table of offsets and values.
    """
    path, totals = read_table(text, hand.n)
    name = "Paste one value" if len(path) == 1 else f"Paste {len(path)} values"
    return changed(hand, hand.draw(hand.edit, path, totals), name)


def range_text(low: int, high: int) -> str:
    """Write one offset, or the first and last of a range."""
    return f"δ = {short(low)}" if low == high else f"δ = {short(low)}…{short(high)}"


def changed(hand: Hand, values: np.ndarray, name: str) -> Edit | None:
    """Return the edit that makes Δ `values`; None, and so no step of undo, where that changes nothing."""
    return None if np.array_equal(values, hand.edit) else Edit(values, name)
