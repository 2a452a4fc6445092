"""A family's native handles in the hand: which are there, and what a drag of one does to the family. No widgets.

A handle moves parameters of the encoding; the edit Δ stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import Handle
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.numbers import short
from relpos_viewer.views.curve_gesture import DEAD_ZONE, FINE, Pointer, rounded
from relpos_viewer.views.curve_scale import PlotMap

# A handle is a target of this many pixels around its centre.
TARGET = 14.0
# What an arrow key moves: score units, and offsets.
NUDGE_VALUE, NUDGE_OFFSET = 0.1, 1.0

WAYS = {
    "value": "drag up or down, or ↑ ↓",
    "offset": "drag sideways, or ← →",
    "both": "drag anywhere, or arrows",
}
ONLY = {"value": "goes up and down alone: ↑ and ↓ move it", "offset": "goes sideways alone: ← and → move it"}


@dataclass(frozen=True, eq=False)
class Native:
    """An encoding whose handles are shown.

    Attributes:
        encoding: with its number of heads.
        n: number of keys.
        head_dim: width of a query, None where it is not known.
    """

    encoding: Encoding
    n: int
    head_dim: int | None = None
    _found: dict[int, tuple[Handle, ...]] = field(default_factory=dict, init=False, repr=False)

    def handles(self, head: int) -> tuple[Handle, ...]:
        """Return the handles of a head by ascending offset; asked again, they cost nothing."""
        if head not in self._found:
            self._found[head] = self.encoding.handles(head, self.n, self.head_dim)
        return self._found[head]

    def handle(self, head: int, name: str | None) -> Handle | None:
        """Return a head's handle by name, None when there is none."""
        return next((handle for handle in self.handles(head) if handle.name == name), None)

    def moved(self, handle: Handle, heads: Sequence[int], head: int, offset: float, value: float) -> Native:
        """Return the encoding with `handle` of `head` at (offset, value), as near as its domain allows.

        Where more `heads` take part, the same handle of each moves by as many score units and by the same factor
        of its offset.
        """
        up = value - handle.value
        factor = offset / handle.offset if handle.offset else 1.0
        encoding = self.encoding
        # The head in hand comes last: what all heads share follows the hand.
        for other in [*(h for h in heads if h != head), head]:
            own = handle if other == head else self.handle(other, handle.name)
            if own is not None:
                to = offset if other == head or not own.offset else own.offset * factor
                encoding = encoding.dragged(own, other, to, own.value + up, self.n, self.head_dim)
        return Native(encoding, self.n, self.head_dim)


def why_none(encoding: Encoding | None) -> str:
    """Return why there are no handles to drag, in one sentence for people."""
    if encoding is None:
        return "Handles come with the first picture."
    if encoding.name == "none":
        return "No encoding is chosen, so there are no parameters to drag."
    if encoding.name == "curve":
        return "This curve is drawn freely with the other tools; it has no parameters to drag."
    if isinstance(encoding, PlaneEncoding):
        return f"{encoding.title} is edited cell by cell on its plane; no point of a curve is one of its parameters."
    if encoding.toeplitz:
        return f"{encoding.title} has no handles for these heads."
    return f"What {encoding.title} adds depends on queries and keys, so no point of its curve is a parameter."


def nearest(handles: Sequence[Handle], plot: PlotMap, x: float, y: float) -> Handle | None:
    """Return the handle under a pixel, None when there is none within reach."""
    near, best = TARGET, None
    for handle in handles:
        at_x, at_y = place(handle, plot)
        far = math.hypot(at_x - x, at_y - y)
        if far <= near:
            near, best = far, handle
    return best


def place(handle: Handle, plot: PlotMap) -> tuple[float, float]:
    """Return the pixel of a handle: one above or below the plot stands at its edge, where it can be taken."""
    y = min(max(float(plot.y(handle.value)), plot.top), plot.top + plot.height)
    return float(plot.x(handle.offset)), y


def in_sight(handle: Handle, visible: np.ndarray) -> Handle:
    """Return the handle where its own offsets can be seen: in the middle of those, when only some of them are.

    Args:
        handle: one that goes up and down alone is moved so; its offset is no parameter.
        visible: bool [2n−1], offsets with a visible cell.
    """
    if handle.moves != "value" or handle.span is None:
        return handle
    middle = len(visible) // 2
    seen = np.flatnonzero(visible[handle.span[0] + middle : handle.span[1] + middle + 1])
    if not len(seen) or len(seen) > handle.span[1] - handle.span[0]:
        return handle
    return replace(handle, offset=handle.span[0] + float(seen[0] + seen[-1]) / 2)


class HandleDrag:
    """Moves one handle by the way of the pointer since the press, from the encoding it began with.

    Args:
        start: what the drag began with.
        handle: what is in hand.
        head: whose handle it is.
        heads: which heads move.
        press: where the button went down.
        plot: the plot as it then stood.
        step: round values lie this far apart when snapping; offsets snap to whole numbers.
    """

    def __init__(
        self,
        start: Native,
        handle: Handle,
        head: int,
        heads: Sequence[int],
        press: Pointer,
        plot: PlotMap,
        step: float,
    ) -> None:
        self.start = start
        self.handle = handle
        self.started = False
        self._head, self._heads = head, list(heads)
        self._plot, self._step = plot, step
        # Ways are counted from the last change of Shift, so that pressing or releasing it moves nothing.
        self._from = press
        self._way = (0.0, 0.0)
        self._last = press
        self._made: dict[tuple[float, float], Native] = {}

    @property
    def fine(self) -> bool:
        """Whether the drag is a fine one at this moment."""
        return self._last.fine

    @property
    def snaps(self) -> bool:
        """Whether it moves to round values."""
        return self._last.snap

    def move(self, pointer: Pointer) -> bool:
        """Take the pointer's new position or modifiers; return whether there is something to show."""
        if pointer.fine != self._last.fine:
            self._way, self._from = self._ways(), self._last
        self._last = pointer
        self.started = self.started or math.hypot(*self._ways()) >= DEAD_ZONE
        return self.started

    def _ways(self) -> tuple[float, float]:
        """Pixels to the right and down, each 0 where the handle cannot go."""
        factor = FINE if self._last.fine else 1.0
        across = self._way[0] + factor * (self._last.x - self._from.x)
        down = self._way[1] + factor * (self._last.y - self._from.y)
        moves = self.handle.moves
        return (across if moves != "value" else 0.0), (down if moves != "offset" else 0.0)

    @property
    def moved(self) -> bool:
        """Whether the handle is anywhere else than where it began."""
        return self._target() != (self.handle.offset, self.handle.value)

    def _target(self) -> tuple[float, float]:
        across, down = self._ways()
        offset, value = self.handle.offset, self.handle.value
        if across:
            offset = self._plot.offset(float(self._plot.x(offset)) + across)
            offset = float(round(offset)) if self.snaps else offset
        if down:
            value -= down * self._plot.units_per_pixel
            step = self._step * (FINE if self.fine else 1.0)
            value = rounded(value, step) if self.snaps else value
        return offset, value

    def native(self) -> Native:
        """Return the encoding as the drag stands; asked again in the same place, it is the same one."""
        target = self._target()
        if target not in self._made:
            self._made = {target: self.start.moved(self.handle, self._heads, self._head, *target)}
        return self._made[target]

    @property
    def hint(self) -> str:
        """What the keys do at this moment."""
        held = ["Shift: fine ×0.1"] if self.fine else []
        held += [
            ("Ctrl: whole offsets" if self.handle.moves == "offset" else "Ctrl: round values")
        ] * self.snaps
        return " · ".join([*(held or ["Shift: finer · Ctrl: round values"]), "Esc: cancel"])


def step_name(before: Native, after: Native, handle: Handle, heads: Sequence[int]) -> str:
    """Return what moving a handle of `heads` from `before` to `after` is called in the menu."""
    others = [head for head in range(before.encoding.heads or 1) if head not in heads]
    # A parameter that all heads share moves the handles of heads that nobody dragged.
    shared = any(before.handle(head, handle.name) != after.handle(head, handle.name) for head in others[:1])
    if len(heads) > 1:
        return f"Move {handle.name} of all heads"
    return f"Move {handle.name}" if shared or not others else f"Move {handle.name} of head {heads[0]}"


def handle_label(handle: Handle) -> tuple[tuple[str, str], ...]:
    """Return the parts of ``bucket 5  b = −1.2`` or ``pair 3  δ = −40`` and what the family calls it."""
    parts = [(handle.name, "strong")]
    if handle.moves != "value":
        parts.append((f"   δ = {short(handle.offset)}", "plain"))
    if handle.moves != "offset":
        parts.append((f"   b = {short(handle.value, signed=True)}", "plain"))
    return (*parts, (f"   {handle.help}", "muted"))


def handle_hint(handle: Handle) -> str:
    """Return what a hovered handle does, for the status line."""
    return f"{handle.help} · {WAYS[handle.moves]} · Enter: exact value · H: next handle"


def other_way(handle: Handle) -> str:
    """Return what to tell a hand whose arrow key points where the handle cannot go."""
    return f"{handle.name} {ONLY[handle.moves]}"
