"""What an edit would move: the curves, the tool and the selection taken together. No widgets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relpos_viewer.core import brush
from relpos_viewer.core.curves import CurveSet


@dataclass(frozen=True, eq=False)
class Hand:
    """The state in which an edit begins.

    Attributes:
        curves: what is shown.
        edit: Δ float32 [head, 2n−1] before the edit.
        tool: "brush", "freehand" or "anchors".
        brush: how neighbours follow the brush; its `mirror` holds for every tool.
        snap: whether buckets, where there are any, move as a whole.
        all_heads: whether every head takes part.
        selection: first and last selected offset.
        anchors: offsets that bound a bend, ascending.
    """

    curves: CurveSet
    edit: np.ndarray
    tool: str
    brush: brush.Brush
    snap: bool
    all_heads: bool
    selection: tuple[int, int] | None
    anchors: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of positions."""
        return self.curves.n

    @property
    def heads(self) -> list[int]:
        """Heads that take part."""
        return list(range(len(self.edit))) if self.all_heads else [self.curves.head]

    @property
    def buckets(self) -> np.ndarray | None:
        """Groups that move as a whole, int64 [2n−1]."""
        return self.curves.buckets if self.snap else None

    def total(self, offset: int) -> float:
        """Value of the shown head's whole curve; an offset without any cell counts from 0."""
        column, head = offset + self.n - 1, self.curves.head
        return float(np.nan_to_num(self.curves.family[head, column]) + self.edit[head, column])

    def is_anchor(self) -> bool:
        """Whether exactly one anchor is selected."""
        if self.tool != "anchors" or self.selection is None:
            return False
        low, high = self.selection
        return low == high and low in self.anchors

    def reach_at(self, offset: int) -> brush.Reach:
        """What a drag that begins at `offset` moves: the whole selection when it begins inside."""
        if self.tool == "anchors":
            return self._bend(offset)
        if self.tool != "brush":
            return self._alone(offset, offset)
        low, high = self.selection or (offset, offset)
        if not low <= offset <= high:
            low = high = offset
        return brush.reach(self.n, low, high, self.brush, self.buckets)

    def selected_reach(self) -> brush.Reach | None:
        """What the keyboard moves: the selection without neighbours; an anchor bends."""
        if self.selection is None:
            return None
        return self._bend(self.selection[0]) if self.is_anchor() else self._alone(*self.selection)

    def draw(self, values: np.ndarray, path: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Return `values` with the whole curve equal to `totals` along the offsets of `path`."""
        curves = self.curves
        # Where terms depend on content only the shown head has a mean: then every head gets the same edit.
        family = (
            curves.family
            if curves.exact
            else np.broadcast_to(curves.family[curves.head], curves.family.shape)
        )
        return brush.set_totals(
            values, family, path, totals, self.heads, mirror=self.brush.mirror, buckets=self.buckets
        )

    def _bend(self, offset: int) -> brush.Reach:
        anchors = (*self.anchors, offset)
        return brush.reach_between(self.n, offset, anchors, mirror=self.brush.mirror, buckets=self.buckets)

    def _alone(self, low: int, high: int) -> brush.Reach:
        return brush.reach(self.n, low, high, brush.Brush(mirror=self.brush.mirror), self.buckets)
