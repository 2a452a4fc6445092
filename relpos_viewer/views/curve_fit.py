"""What a fresh view of the curve shows. Plain arithmetic, no widgets."""

from __future__ import annotations

import numpy as np

# At least this many score units: e^±2 is a factor of 7 either way, room enough to begin with.
LEAST_SPAN = 4.0
# Free room above and below the curves, as a share of their height.
ROOM = 0.10
# How much of the masked side beside the visible offsets is shown: enough to say that it is masked.
MASKED_ROOM = 0.16

Range = tuple[float, float]


def fitted_offsets(visible: np.ndarray) -> Range:
    """Return the ends of an offset axis that shows every visible offset, and a strip of what is masked.

    Args:
        visible: bool [2n−1], offsets with a visible cell.
    """
    middle = len(visible) // 2
    shown = np.flatnonzero(visible) - middle
    low, high = (int(shown[0]), int(shown[-1])) if len(shown) else (-middle, middle)
    strip = max(MASKED_ROOM * (high - low), 2.0)
    return (
        max(low - strip, -middle) - 0.5,
        min(high + strip, middle) + 0.5,
    )


def fitted_values(curves: np.ndarray, visible: np.ndarray) -> Range:
    """Return the ends of a value axis that shows `curves` [any, 2n−1] at every visible offset, with free room."""
    shown = curves[:, visible]
    shown = shown[np.isfinite(shown)]
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)
    span = max((high - low) * (1 + 2 * ROOM), LEAST_SPAN)
    middle = (low + high) / 2
    return middle - span / 2, middle + span / 2


def grown_values(view: Range, curve: np.ndarray, visible: np.ndarray) -> Range:
    """Return `view` when it shows `curve` [2n−1] at every visible offset, otherwise the same view grown to do so."""
    shown = curve[visible & np.isfinite(curve)]
    low, high = view
    if not shown.size or (low <= shown.min() and shown.max() <= high):
        return view
    low, high = min(low, float(shown.min())), max(high, float(shown.max()))
    room = ROOM * (high - low)
    return (low - room if low < view[0] else low), (high + room if high > view[1] else high)
