"""What a hand does to the edit curve: which offsets it reaches, and how their values move.

An edit Δ is float32 [head, 2n−1] in score units; column c stands for the offset δ = c − (n−1). Every function is
pure: it returns a new array and never changes its arguments, so a drag can be computed again and again from the
values it started with, and cancelling one is giving those values back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHAPES = ("step", "linear", "smooth")


@dataclass(frozen=True)
class Brush:
    """How far and how softly the neighbours of a dragged offset follow.

    Attributes:
        shape: one of `SHAPES`.
        radius: number of neighbours on each side that follow; 0 moves the one offset alone.
        mirror: whether −δ does what δ does.
    """

    shape: str = "smooth"
    radius: int = 0
    mirror: bool = False


@dataclass(frozen=True, eq=False)
class Reach:
    """The offsets that one motion moves, and how much of it each of them takes.

    Attributes:
        columns: int64 [m], ascending, each column once.
        weights: float32 [m] in (0, 1]; 1 follows the hand exactly.
    """

    columns: np.ndarray
    weights: np.ndarray


def profile(distance: np.ndarray, radius: int, shape: str) -> np.ndarray:
    """Return the share of a motion that an offset at `distance` from the hand takes, float32 in [0, 1].

    The share is 1 at distance 0, positive up to `radius` and 0 beyond: a radius of 3 moves three neighbours on
    each side, whatever the shape.

    Raises:
        KeyError: `shape` is none of `SHAPES`.
    """
    distance = np.abs(np.asarray(distance, np.float64))
    part = np.minimum(distance / (radius + 1), 1.0)  # 0 at the hand … 1 at the first offset that stays
    share = {
        "step": (part < 1.0).astype(np.float64),
        "linear": 1.0 - part,
        "smooth": 0.5 + 0.5 * np.cos(np.pi * part),  # flat at the hand and at the rim
    }[shape]
    return share.astype(np.float32)


def reach(n: int, low: int, high: int, brush: Brush, buckets: np.ndarray | None = None) -> Reach:
    """Return what moves with a hand on the offsets `low` … `high`.

    Args:
        n: number of positions; offsets run from −(n−1) to n−1.
        low: first offset under the hand.
        high: last offset under the hand, equal to `low` for a single point.
        brush: how the neighbours follow.
        buckets: int64 [2n−1], groups that share one value and so move as a whole; None when each offset is free.
    """
    middle = n - 1
    first = max(low - brush.radius, -middle)
    last = min(high + brush.radius, middle)
    near = np.arange(first, last + 1)
    distance = np.maximum(np.maximum(low - near, near - high), 0)
    weights = np.zeros(2 * n - 1, np.float32)
    weights[near + middle] = profile(distance, brush.radius, brush.shape)
    return _gather(weights, brush.mirror, buckets)


def reach_between(
    n: int, offset: int, anchors: Sequence[int], *, mirror: bool = False, buckets: np.ndarray | None = None
) -> Reach:
    """Return what moves with the anchor at `offset`: the curve between its two neighbours among `anchors`.

    The share falls linearly from 1 at the anchor to 0 at the neighbours, so a curve that was straight between
    anchors stays so. On a side without a further anchor the curve moves along unchanged, to the end.
    """
    middle = n - 1
    before = max((anchor for anchor in anchors if anchor < offset), default=None)
    after = min((anchor for anchor in anchors if anchor > offset), default=None)
    weights = np.zeros(2 * n - 1, np.float32)
    weights[offset + middle] = 1.0
    if before is None:
        weights[: offset + middle] = 1.0
    else:
        weights[before + middle : offset + middle] = np.linspace(0, 1, offset - before, endpoint=False)
    if after is None:
        weights[offset + middle + 1 :] = 1.0
    else:
        weights[offset + middle + 1 : after + middle + 1] = np.linspace(1, 0, after - offset + 1)[1:]
    return _gather(weights, mirror, buckets)


def _gather(weights: np.ndarray, mirror: bool, buckets: np.ndarray | None) -> Reach:
    """Spread dense weights [2n−1] to their mirror image and over whole buckets, and keep what is not 0."""
    if mirror:
        # The larger share, not the sum: at δ = 0 both hands are the same hand.
        weights = np.maximum(weights, weights[::-1])
    if buckets is not None:
        share = np.zeros(int(buckets.max()) + 1, np.float32)  # [bucket]
        np.maximum.at(share, buckets, weights)
        weights = share[buckets]
    columns = np.flatnonzero(weights)
    return Reach(columns, weights[columns])


def move(start: np.ndarray, reach: Reach, amount: float, heads: Sequence[int]) -> np.ndarray:
    """Return `start` [head, 2n−1] with the reached offsets of `heads` moved by their share of `amount` score units."""
    values = start.copy()
    values[np.ix_(heads, reach.columns)] += np.float32(amount) * reach.weights
    return values


def set_totals(
    start: np.ndarray,
    family: np.ndarray,
    path: Sequence[int] | np.ndarray,
    totals: Sequence[float] | np.ndarray,
    heads: Sequence[int],
    *,
    mirror: bool = False,
    buckets: np.ndarray | None = None,
) -> np.ndarray:
    """Return `start` with an edit that makes the whole curve, family + Δ, equal `totals` along `path`.

    Args:
        start: Δ [head, 2n−1].
        family: the family's own curve [head, 2n−1].
        path: offsets in the order in which the hand passed them; where it passed twice, the later one holds.
        totals: score units, one for each offset of the path.
        heads: which heads to set.
        mirror: whether −δ gets the value of δ.
        buckets: int64 [2n−1]; a bucket gets the value at the last of its offsets that was passed.
    """
    middle = start.shape[1] // 2
    path, totals = np.asarray(path, np.int64), np.asarray(totals, np.float32)
    if mirror:
        # Both hands of one moment side by side, so that the later moment wins on either side.
        path, totals = np.stack([-path, path], axis=1).ravel(), np.repeat(totals, 2)
    if buckets is None:
        wanted = np.full(start.shape[1], np.nan, np.float32)  # [2n−1], NaN where the hand did not pass
        wanted[middle + path] = totals  # of equal places numpy keeps the last
    else:
        by_bucket = np.full(int(buckets.max()) + 1, np.nan, np.float32)  # [bucket]
        by_bucket[buckets[middle + path]] = totals
        wanted = by_bucket[buckets]  # [2n−1]
    columns = np.flatnonzero(~np.isnan(wanted))
    values = start.copy()
    cells = np.ix_(heads, columns)
    # A diagonal without any cell has no mean; an edit there counts from 0.
    values[cells] = wanted[columns] - np.nan_to_num(family[cells])
    return values


def stroke(start: tuple[int, float], end: tuple[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return every whole offset from `start` to `end`, both (offset, value), and the values on the line between.

    A fast hand skips offsets between two pointer positions; the line it drew does not. Offsets come in the
    direction of the motion.
    """
    (first, from_value), (last, to_value) = start, end
    if first == last:
        return np.array([last]), np.array([to_value])
    path = np.arange(first, last + (1 if last > first else -1), 1 if last > first else -1)
    return path, np.interp(np.abs(path - first), [0, abs(last - first)], [from_value, to_value])


def reset(start: np.ndarray, columns: np.ndarray | slice, heads: Sequence[int]) -> np.ndarray:
    """Return `start` without any edit at `columns` of `heads`."""
    values = start.copy()
    values[np.asarray(heads)[:, None], np.arange(start.shape[1])[columns]] = 0.0
    return values
