"""The tool "handles" of one curve editor: which handle the hand is at, and what dragging or keys do to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import Handle
from relpos_viewer.views.curve_gesture import FINE, Pointer
from relpos_viewer.views.curve_handles import (
    NUDGE_OFFSET,
    NUDGE_VALUE,
    HandleDrag,
    Native,
    handle_hint,
    handle_label,
    in_sight,
    nearest,
    other_way,
    place,
    step_name,
    why_none,
)
from relpos_viewer.views.curve_scale import nice_step

if TYPE_CHECKING:
    from relpos_viewer.views.curve_editor import CurveEditor

CURSORS = {
    "value": Qt.CursorShape.SizeVerCursor,
    "offset": Qt.CursorShape.SizeHorCursor,
    "both": Qt.CursorShape.SizeAllCursor,
}
# Round values under Ctrl lie at least this many pixels apart, so that a hand can choose one.
SNAP_PIXELS = 12.0


class HandleTool:
    """Moves the family's parameters, never the edit. GUI thread only; it belongs to its editor."""

    def __init__(self, editor: CurveEditor) -> None:
        self._editor = editor
        self._native: Native | None = None
        self._hovered: str | None = None
        self._chosen: str | None = None
        self.drag: HandleDrag | None = None

    # What there is.

    def set_encoding(self, encoding: Encoding | None, n: int, head_dim: int | None) -> None:
        """Take the document's encoding, with its number of heads; None when it fits no heads."""
        self._native = None if encoding is None else Native(encoding, n, head_dim)
        self.offer()

    def offer(self) -> None:
        """Tell the header whether the shown head has handles, and whose they are."""
        encoding = None if self._native is None else self._native.encoding
        reason = "" if encoding is not None and self._native.handles(self._head) else why_none(encoding)
        self._editor.tools.offer_handles("" if encoding is None else encoding.title, reason)

    @property
    def active(self) -> bool:
        """Whether drags move handles."""
        return self._editor.tools.tool == "handles"

    @property
    def native(self) -> Native | None:
        """The encoding as it stands under the hand."""
        return self.drag.native() if self.drag is not None and self.drag.started else self._native

    @property
    def shown(self) -> tuple[Handle, ...]:
        """The handles to be drawn."""
        native = self.native
        curves = self._editor.curves
        if not self.active or native is None or curves is None or native.n != curves.n:
            return ()
        return tuple(in_sight(handle, curves.visible) for handle in native.handles(self._head))

    def at_hand(self, *, pointed: bool) -> Handle | None:
        """Return the handle in hand or hovered; where nothing is `pointed` at, the one that keys chose."""
        name = self.drag.handle.name if self.drag is not None else self._hovered
        name = self._chosen if name is None and not pointed else name
        return next((handle for handle in self.shown if handle.name == name), None)

    @property
    def _head(self) -> int:
        curves = self._editor.curves
        return 0 if curves is None else curves.head

    @property
    def _heads(self) -> list[int]:
        count = self._native.encoding.heads or 1
        return list(range(count)) if self._editor.all_heads else [self._head]

    # The pointer.

    def press(self, pointer: Pointer) -> None:
        """Take the handle under the pointer in hand; elsewhere nothing."""
        plot = self._editor.plot.map()
        handle = nearest(self.shown, plot, pointer.x, pointer.y)
        if handle is not None:
            step = nice_step(plot.units_per_pixel * SNAP_PIXELS)
            self.drag = HandleDrag(self._native, handle, self._head, self._heads, pointer, plot, step)
            self._chosen = self._hovered = handle.name

    def move(self, pointer: Pointer) -> None:
        """Drag on."""
        began = not self.drag.started
        if self.drag.move(pointer):
            if began:
                self._editor.edit_started.emit()
            self._editor.show_hint(self.drag.hint)
            self._editor.encoding_previewed.emit(self.drag.native().encoding)
            self._editor.refresh_marks()

    def release(self) -> None:
        """Make the drag a step; one that came back to where it began is none."""
        drag = self.drag
        if not drag.started or not drag.moved:
            self.cancel()
            self._describe()
            return
        after, self.drag = drag.native(), None
        self._commit(drag.start, after, drag.handle, "")

    def cancel(self) -> None:
        """Give back what the drag in hand found."""
        drag, self.drag = self.drag, None
        if drag is not None:
            self._editor.show_hint("")
            if drag.started:
                self._editor.edit_cancelled.emit()
            self._editor.refresh_marks()

    def hover(self, pointer: Pointer | None) -> None:
        """Mark the handle under the pointer, and show in which ways it goes."""
        plot = self._editor.plot.map()
        handle = None if pointer is None else nearest(self.shown, plot, pointer.x, pointer.y)
        self._editor.plot.set_cursor(CURSORS[handle.moves] if handle else Qt.CursorShape.ArrowCursor)
        name = None if handle is None else handle.name
        if name != self._hovered:
            self._hovered = name
            self._editor.show_hint("" if handle is None else handle_hint(handle))
            self._editor.refresh_marks()

    def leave(self) -> None:
        """Another tool is chosen."""
        self._hovered = None
        self._editor.show_hint("")

    # Keys.

    def step(self, step: int) -> None:
        """Choose the next handle, or the one before; the middle one to begin with."""
        handles = self.shown
        if not handles:
            return
        now = self.at_hand(pointed=False)
        index = len(handles) // 2 if now is None else handles.index(now) + step
        self._chosen, self._hovered = handles[index % len(handles)].name, None
        self._editor.plot.show_offset(round(handles[index % len(handles)].offset))
        self._describe()

    def give_up(self) -> bool:
        """Choose no handle; False when there was none."""
        had, self._chosen = self._chosen is not None, None
        if had:
            self._editor.show_hint("")
            self._editor.refresh_marks()
        return had

    def _describe(self) -> None:
        """Say which handle is at hand: to the eye, in the status line, and to a screen reader."""
        handle = self.at_hand(pointed=False)
        if handle is not None:
            self._editor.plot.setAccessibleDescription("".join(text for text, _ in handle_label(handle)))
            self._editor.show_hint(handle_hint(handle))
        self._editor.refresh_marks()

    def nudge(self, across: int, up: int, *, fine: bool) -> None:
        """Move the chosen handle by steps of one offset or 0.1 score units, a tenth of it when `fine`."""
        handle = self.at_hand(pointed=False)
        if handle is None:
            self.step(0)
        elif (handle.moves == "value" and across) or (handle.moves == "offset" and up):
            self.step(across or up)
            if len(self.shown) == 1:
                self._editor.show_hint(other_way(handle))
        else:
            size = FINE if fine else 1.0
            offset = round(handle.offset + across * NUDGE_OFFSET * size, 6) if across else handle.offset
            value = round(handle.value + up * NUDGE_VALUE * size, 6) if up else handle.value
            self.put(handle, offset, value, f"handle {handle.name} {self._heads}")

    def put(self, handle: Handle, offset: float, value: float, merge_key: str = "") -> None:
        """Move a handle to (offset, value) as one step, or as part of one with the same key a moment ago."""
        after = self._native.moved(handle, self._heads, self._head, offset, value)
        self._commit(self._native, after, handle, merge_key)

    def _commit(self, before: Native, after: Native, handle: Handle, merge_key: str) -> None:
        self._native, self._chosen = after, handle.name
        name = step_name(before, after, handle, self._heads)
        self._editor.encoding_committed.emit(after.encoding, name, merge_key or None)
        self._editor.grow_values()
        self._describe()

    def open_entry(self) -> None:
        """Open the box for the exact value of the chosen handle, or its offset where it only goes sideways."""
        if self.at_hand(pointed=False) is None:
            self.step(0)
        handle = self.at_hand(pointed=False)
        if handle is None:
            return
        self._chosen, self._hovered = handle.name, None
        sideways = handle.moves == "offset"
        words = f"{handle.name}   δ =" if sideways else f"{handle.name}   b ="
        keep = partial(self._put_at, handle) if sideways else partial(self.put, handle, handle.offset)
        at = QPointF(*place(handle, self._editor.plot.map()))
        self._editor.ask(words, handle.offset if sideways else handle.value, at, keep, self._ask_next)

    def _put_at(self, handle: Handle, offset: float) -> None:
        self.put(handle, offset, handle.value)

    def _ask_next(self, step: int) -> None:
        self.step(step)
        self.open_entry()
