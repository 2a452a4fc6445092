"""What a hand on the curve means, apart from any widget: motions and modifiers in, values out.

One gesture lives from press to release. It keeps the values it started with and computes every preview from them,
so a long way there and back changes nothing, and cancelling needs no arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core import brush

# A hand that presses a button trembles; motion below this many pixels is a click.
DEAD_ZONE = 4.0
# What Shift does to drags, wheels and arrow keys alike.
FINE = 0.1


@dataclass(frozen=True)
class Pointer:
    """The pointer at one moment.

    Attributes:
        x, y: pixels, y downwards.
        offset: the whole offset under the pointer.
        value: score units under the pointer.
        fine: whether Shift is held.
        snap: whether Ctrl is held.
    """

    x: float
    y: float
    offset: int
    value: float
    fine: bool = False
    snap: bool = False


class VerticalDrag:
    """Moves the reached offsets by the way of the pointer since the press, never to the pointer itself.

    Args:
        start: Δ [head, 2n−1] before the drag.
        grabbed: value of the whole curve at the offset in hand, so that snapping lands on round values of it.
        reach: what follows the hand; may be replaced during the drag.
        heads: which heads move.
        press: where the button went down.
        units_per_pixel: score units of one pixel of height.
        step: round values lie this far apart when snapping; a fine drag snaps to a tenth of it.
    """

    def __init__(
        self,
        start: np.ndarray,
        grabbed: float,
        reach: brush.Reach,
        heads: Sequence[int],
        press: Pointer,
        units_per_pixel: float,
        step: float,
    ) -> None:
        self.start = start
        self.reach = reach
        self.offset = press.offset
        self.started = False
        self._grabbed = grabbed
        self._heads = heads
        self._press_y = press.y
        self._units_per_pixel = units_per_pixel
        self._step = step
        # The amount is counted from the last change of Shift, so that pressing or releasing it moves nothing.
        self._anchor_y = press.y
        self._anchor_amount = 0.0
        self._last = press

    @property
    def fine(self) -> bool:
        """Whether the drag is a fine one at this moment."""
        return self._last.fine

    @property
    def snap_step(self) -> float | None:
        """Distance of the values it snaps to, None when it does not."""
        if not self._last.snap:
            return None
        return self._step * FINE if self._last.fine else self._step

    @property
    def amount(self) -> float:
        """Score units that the grabbed offset has moved."""
        amount = self._raw_amount()
        if self.snap_step is None:
            return amount
        return rounded(self._grabbed + amount, self.snap_step) - self._grabbed

    def _raw_amount(self) -> float:
        way = self._anchor_y - self._last.y
        return self._anchor_amount + way * self._units_per_pixel * (FINE if self._last.fine else 1.0)

    def move(self, pointer: Pointer) -> bool:
        """Take the pointer's new position or modifiers; return whether there is something to show."""
        if pointer.fine != self._last.fine:
            self._anchor_amount, self._anchor_y = self._raw_amount(), self._last.y
        self._last = pointer
        # Only height changes anything, so only height ends the dead zone: a sideways slip stays a click.
        self.started = self.started or abs(pointer.y - self._press_y) >= DEAD_ZONE
        return self.started

    def values(self) -> np.ndarray:
        """Δ [head, 2n−1] as the drag stands, a new array."""
        return brush.move(self.start, self.reach, self.amount, self._heads)


class Stroke:
    """Draws the curve along the pointer's way: freehand.

    Args:
        start: Δ [head, 2n−1] before the stroke.
        press: where the button went down; the stroke begins there once the pointer has moved.
        draw: (Δ, offsets, values) → Δ; sets the whole curve along a piece of the way.
        step: round values lie this far apart when snapping.
    """

    fine = False  # a stroke goes where the pointer is; there is nothing to slow down

    def __init__(
        self,
        start: np.ndarray,
        press: Pointer,
        draw: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        step: float,
    ) -> None:
        self.start = start
        self.offset = press.offset
        self.low = self.high = press.offset
        self.started = False
        self._draw = draw
        self._step = step
        self._press = press
        self._last = press
        self._values = start

    @property
    def snap_step(self) -> float | None:
        """Distance of the values it snaps to, None when it does not."""
        return self._step if self._last.snap else None

    def move(self, pointer: Pointer) -> bool:
        """Take the pointer's new position; return whether there is something to show."""
        if not self.started:
            way = max(abs(pointer.x - self._press.x), abs(pointer.y - self._press.y))
            self.started = way >= DEAD_ZONE
            if not self.started:
                return False
        ends = [
            (at.offset, rounded(at.value, self._step) if pointer.snap else at.value)
            for at in (self._last, pointer)
        ]
        self._values = self._draw(self._values, *brush.stroke(*ends))
        self._last = pointer
        self.offset = pointer.offset
        self.low, self.high = min(self.low, pointer.offset), max(self.high, pointer.offset)
        return True

    def values(self) -> np.ndarray:
        """Δ [head, 2n−1] as the stroke stands."""
        return self._values


def rounded(value: float, step: float) -> float:
    """Return the multiple of `step` nearest to `value`."""
    # Dividing by a whole number gives 0.3 where 3 · 0.1 gives 0.30000000000000004.
    return round(value / step) / round(1 / step) if step < 1 else round(value / step) * step
