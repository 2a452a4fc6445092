"""What can be done at once to the selected range of the curve. No widgets.

A range is the selection, or everything visible where no more than one point is selected: every click and drag leaves
one, and nobody means a range of one. The edit Δ becomes what gives the range its new totals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relpos_viewer.core import reshape
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.formula import evaluate
from relpos_viewer.core.numbers import short
from relpos_viewer.views.curve_commands import Edit, changed, range_text
from relpos_viewer.views.curve_hand import Hand

# Past this a score is a mask in disguise, and float32 loses its digits.
LARGEST = 1e6


@dataclass(frozen=True)
class RangeTool:
    """A tool that asks for nothing: what it does to the totals of a range, float64 [offset], and its name."""

    name: str
    remake: Callable[[np.ndarray], np.ndarray]


RANGE_TOOLS = {
    "flatten": RangeTool("Flatten", reshape.flattened),
    "straighten": RangeTool("Straighten", reshape.straightened),
    "smooth": RangeTool("Smooth", reshape.smoothed),
    "reverse": RangeTool("Reverse", reshape.reversed_),
    "turn": RangeTool("Turn", reshape.turned),
}


def range_of(hand: Hand) -> np.ndarray:
    """Return the offsets that a tool works on, ascending, int64 [m]."""
    if hand.selection is not None and hand.selection[0] < hand.selection[1]:
        return np.arange(hand.selection[0], hand.selection[1] + 1)
    return np.flatnonzero(hand.curves.visible) - (hand.n - 1)


def range_words(hand: Hand) -> str:
    """Return the range in words: ``δ = −12…−3``."""
    offsets = range_of(hand)
    return range_text(int(offsets[0]), int(offsets[-1])) if len(offsets) else "nothing"


def reshaped(hand: Hand, tool: str) -> Edit | None:
    """Return the edit of one of `RANGE_TOOLS`.

    Raises:
        ViewerError: a value would be too large.
    """
    chosen = RANGE_TOOLS[tool]
    return _remade(
        hand, lambda one, path: chosen.remake(totals(one, path)), f"{chosen.name} {range_words(hand)}"
    )


def scaled(hand: Hand, factor: float) -> Edit | None:
    """Return the edit that stretches the range about its mean; raises as `reshaped` does."""
    name = f"Scale {range_words(hand)} by {short(factor)}"
    return _remade(hand, lambda one, path: reshape.scaled(totals(one, path), factor), name)


def shifted(hand: Hand, amount: float) -> Edit | None:
    """Return the edit that moves the range by `amount` score units; raises as `reshaped` does."""
    name = f"Shift {range_words(hand)} by {short(amount, signed=True)}"
    return _remade(hand, lambda one, path: reshape.shifted(totals(one, path), amount), name)


def mirrored(hand: Hand) -> Edit | None:
    """Return the edit that gives each offset of the range the value that −δ had; raises as `reshaped` does."""
    # With the switch ±δ on, the two sides would overwrite each other.
    alone = replace(hand, brush=replace(hand.brush, mirror=False))
    return _remade(alone, lambda one, path: totals(one, -path), f"Mirror {range_words(hand)}")


def copied(hand: Hand, head: int) -> Edit | None:
    """Return the edit that gives the range the values of another head.

    Raises:
        ViewerError: that head's curve is not known, or a value would be too large.
    """
    other = replace(hand, curves=replace(hand.curves, head=head))
    if not np.isfinite(totals(other, range_of(hand))).any():
        raise ViewerError(
            f"The curve of head {head} depends on content and has not been computed; show it first."
        )
    return _remade(hand, lambda one, path: totals(other, path), f"Copy head {head} to {range_words(hand)}")


def by_formula(hand: Hand, text: str) -> Edit | None:
    """Return the edit that gives the range the values of a formula (`core.formula`).

    Raises:
        ViewerError: the formula cannot be read, or a value would be too large.
    """

    def remake(one: Hand, path: np.ndarray) -> np.ndarray:
        before = totals(one, path)
        known = np.isfinite(before)
        variables = {"n": one.n, "h": one.curves.head, "H": len(one.edit)}
        after = evaluate(text, d=path[known], b=before[known], **variables)
        before[known] = np.broadcast_to(after, known.sum())
        return before

    return _remade(hand, remake, f"Set {range_words(hand)} to {text.strip()[:40]}")


def totals(hand: Hand, path: np.ndarray) -> np.ndarray:
    """Return the shown head's whole curve at the offsets of `path`, float64 [m], NaN where it has no value."""
    columns, head = path + hand.n - 1, hand.curves.head
    return hand.curves.family[head, columns].astype(np.float64) + hand.edit[head, columns]


def _remade(hand: Hand, remake: Callable[[Hand, np.ndarray], np.ndarray], name: str) -> Edit | None:
    """Return the edit that gives the range what `remake` makes of each head that takes part."""
    path, values = range_of(hand), hand.edit
    for one in _heads_alone(hand):
        wanted = np.asarray(remake(one, path), np.float64)
        known = np.isfinite(wanted)
        if known.any() and np.abs(wanted[known]).max() > LARGEST:
            raise ViewerError(
                "That would make the curve larger than 1,000,000 score units; nothing was changed."
            )
        values = one.draw(values, path[known], _by_bucket(hand, path[known], wanted[known]))
    return changed(hand, values, name)


def _heads_alone(hand: Hand) -> list[Hand]:
    """Each head that takes part on its own; where only the shown one has a curve, that one for all."""
    if not hand.curves.exact:
        return [hand]
    return [replace(hand, curves=replace(hand.curves, head=head), all_heads=False) for head in hand.heads]


def _by_bucket(hand: Hand, path: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the mean of each bucket at its offsets: a bucket has one value."""
    if hand.buckets is None:
        return wanted
    bucket = hand.buckets[path + hand.n - 1]  # [m]
    sums, counts = np.bincount(bucket, wanted), np.bincount(bucket)  # [bucket]
    return sums[bucket] / counts[bucket]
