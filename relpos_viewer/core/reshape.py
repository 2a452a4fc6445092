"""What can be done at once to the selected range of a curve: each takes the totals of the range and gives new ones.

Totals are float64 [offset], ascending in δ; they may hold NaN where a curve has no value, which stays.
"""

from __future__ import annotations

import numpy as np

# A smoothing kernel 1 2 1: one press rounds a corner, several flatten a hill.
KERNEL = np.array([0.25, 0.5, 0.25])


def scaled(totals: np.ndarray, factor: float) -> np.ndarray:
    """Return the range stretched about its mean by `factor`."""
    middle = _mean(totals)
    return middle + factor * (totals - middle)


def shifted(totals: np.ndarray, amount: float) -> np.ndarray:
    """Return the range moved up by `amount` score units."""
    return totals + amount


def flattened(totals: np.ndarray) -> np.ndarray:
    """Return the range's mean everywhere."""
    return np.where(np.isfinite(totals), _mean(totals), totals)


def straightened(totals: np.ndarray) -> np.ndarray:
    """Return the straight line between the range's ends."""
    known = np.flatnonzero(np.isfinite(totals))
    if len(known) < 2:
        return totals.copy()
    first, last = known[[0, -1]]
    line = np.interp(np.arange(len(totals)), [first, last], totals[[first, last]])
    return np.where(np.isfinite(totals), line, totals)


def smoothed(totals: np.ndarray) -> np.ndarray:
    """Return each value as the mean of itself (twice) and its neighbours; the ends hold."""
    known = np.isfinite(totals)
    filled = np.where(known, totals, 0.0)
    weights = np.convolve(known.astype(float), KERNEL, "same")
    sums = np.convolve(filled, KERNEL, "same")
    rounded = np.where(known, sums / np.maximum(weights, 1e-9), totals)
    ends = np.flatnonzero(known)[[0, -1]] if known.any() else []
    rounded[ends] = totals[ends]
    return rounded


def reversed_(totals: np.ndarray) -> np.ndarray:
    """Return the range read from its other end."""
    return totals[::-1].copy()


def turned(totals: np.ndarray) -> np.ndarray:
    """Return the range upside down, about its mean."""
    return scaled(totals, -1.0)


def _mean(totals: np.ndarray) -> float:
    known = totals[np.isfinite(totals)]
    return float(known.mean()) if len(known) else 0.0
