"""The curve editor: the bias curve of a head, made to be dragged.

GUI thread only. The editor shows the curves of the newest frame and keeps nothing of its own but the gesture in
hand, which it previews at once; every change leaves it as a signal, and the document answers with `set_edit`.

The pointer moves a brush: neighbours follow. The keyboard moves the one selected point, or range, alone. With the tool
"handles" both move the family's own parameters instead (`curve_handle_tool`), and the edit stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QFrame, QMenu, QVBoxLayout, QWidget

from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import short
from relpos_viewer.document.arrays import same
from relpos_viewer.views import curve_commands as commands
from relpos_viewer.views import curve_ranges as ranges
from relpos_viewer.views import names
from relpos_viewer.views.curve_commands import Edit, Nudger, range_text
from relpos_viewer.views.curve_entry import CurveEntry
from relpos_viewer.views.curve_fit import fitted_offsets, fitted_values, grown_values
from relpos_viewer.views.curve_gesture import Pointer, Stroke, VerticalDrag
from relpos_viewer.views.curve_hand import Hand
from relpos_viewer.views.curve_handle_tool import SNAP_PIXELS, HandleTool
from relpos_viewer.views.curve_handles import handle_label
from relpos_viewer.views.curve_item import Marks, QueryLine, Shown
from relpos_viewer.views.curve_keys import command_for
from relpos_viewer.views.curve_label import point_label, write_table
from relpos_viewer.views.curve_plot import CurvePlot
from relpos_viewer.views.curve_scale import nice_step
from relpos_viewer.views.curve_tools import CurveTools
from relpos_viewer.views.theme import LIGHT, Theme

# An anchor is a target this many pixels wide to either side.
ANCHOR_TARGET = 8.0

CURSORS = {
    "brush": Qt.CursorShape.SizeVerCursor,
    "freehand": Qt.CursorShape.CrossCursor,
    "anchors": Qt.CursorShape.SizeVerCursor,
    "handles": Qt.CursorShape.ArrowCursor,
}
DRAG_HINTS = {
    "brush": "Shift: finer · Ctrl: round values · wheel: radius · Esc: cancel",
    "freehand": "Ctrl: round values · Esc: cancel",
    "anchors": "Shift: finer · Ctrl: round values · Esc: cancel",
}


class CurveEditor(QFrame):
    """Shows and edits b(δ). Arrays in signals are the edit Δ, float32 [head, 2n−1] in score units, read-only.

    Signals:
        edit_started(): a drag left its dead zone.
        edit_previewed(values): the edit under the moving hand.
        edit_committed(values, name, merge_key): one step of undo, named. Steps that follow within a second and
            have the same merge_key, a str, are one step; None never merges.
        edit_cancelled(): the edit, and the encoding, are again what they were at `edit_started`.
        encoding_previewed(encoding): the encoding under the moving hand.
        encoding_committed(encoding, name, merge_key): one step of undo, as with `edit_committed`.
        offset_hovered(offset or None): what the pointer or the arrow keys are at; again when its value changed.
        tool_changed(): a setting of the header changed.
        hint_changed(text): what the keys do at this moment, for the status line; empty when nothing special.
        refused(text): one sentence about a clipboard that could not be used.
    """

    edit_started = Signal()
    edit_previewed = Signal(object)
    edit_committed = Signal(object, str, object)
    edit_cancelled = Signal()
    encoding_previewed = Signal(object)
    encoding_committed = Signal(object, str, object)
    offset_hovered = Signal(object)
    tool_changed = Signal()
    hint_changed = Signal(str)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.CURVE_EDITOR)
        self.setAccessibleName("Bias curve editor")
        self.setProperty("card", True)
        self.tools = CurveTools()
        self.plot = CurvePlot()
        self.entry = CurveEntry(self.plot)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 6, 4)
        layout.setSpacing(2)
        layout.addWidget(self.tools)
        layout.addWidget(self.plot, 1)

        self._curves: CurveSet | None = None
        self._future_masked = False
        self._beyond_rule = ""
        self._document_edit: np.ndarray | None = None
        self._edit = np.zeros((1, 1), np.float32)
        self._gesture: VerticalDrag | Stroke | None = None
        self._inserting = False  # the Ctrl that added an anchor is still down
        self._hovered: int | None = None
        self._outside: int | None = None
        self._selected: tuple[int, int] | None = None  # where the selection began, and where it ends
        self._anchors: tuple[int, ...] = ()
        self._anchors_before: tuple[int, ...] = ()
        self._nudger = Nudger()
        self._handles = HandleTool(self)
        self._range_menu: QMenu | None = None
        self._asked: Callable[[float], object] | None = None
        self._asked_next: Callable[[int], object] | None = None
        self._before_trial: np.ndarray | None = None
        self._values_before_trial = self.plot.values
        self._tool_before = self.tools.tool
        self._view_chosen = False
        self._told: int | None = None
        self._hint = ""
        self._connect()
        self.set_theme(LIGHT)

    def _connect(self) -> None:
        self.tools.changed.connect(self._on_tools_changed)
        self.tools.reset_point_requested.connect(self.reset_selection)
        self.tools.reset_head_requested.connect(self.reset_head)
        self.tools.reset_all_requested.connect(self.reset_all)
        self.tools.reset_view_requested.connect(self.reset_view)
        self.plot.pressed.connect(self._on_pressed)
        self.plot.moved.connect(self._on_moved)
        self.plot.released.connect(self._on_released)
        self.plot.double_clicked.connect(self._on_double_clicked)
        self.plot.hovered.connect(self._on_hovered)
        self.plot.wheel_turned.connect(self.tools.turn_radius)
        self.plot.menu_requested.connect(self._open_menu)
        self.plot.axis_dragged.connect(self.select)
        self.plot.reset_requested.connect(self.reset_view)
        self.plot.zoomed.connect(self._on_zoomed)
        self.plot.focus_changed.connect(self._show_focus)
        self.entry.accepted.connect(self._on_entry)
        self.entry.next_requested.connect(self._on_entry_next)
        self.entry.closed.connect(self._on_entry_closed)

    # What is shown.

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        for part in (self.tools, self.plot, self.entry):
            part.set_theme(theme)

    def set_frame_curves(self, curves: CurveSet, causal_future_masked: bool, beyond_rule: str = "") -> None:
        """Show the curves of a frame; the edit too, unless `set_edit` or the hand knows a newer one.

        A gesture goes on while frames of the same head and shape arrive, and is cancelled by any other.

        Args:
            curves: what the frame found.
            causal_future_masked: whether what is masked on the right is masked because it is the future.
            beyond_rule: how the curve goes on where `curves.beyond`, a word such as "hold".
        """
        before = self._curves
        drawn = (self._edit, self._future_masked, self._beyond_rule)
        same_shape = before is not None and before.edit.shape == curves.edit.shape
        same_visible = same_shape and np.array_equal(before.visible, curves.visible)
        if not same_shape or before.head != curves.head:
            self._drop_gesture()
            self.drop_formula()
            self.entry.hide()
        self._curves, self._future_masked, self._beyond_rule = curves, causal_future_masked, beyond_rule
        if self._gesture is None:
            known = self._document_edit is not None and self._document_edit.shape == curves.edit.shape
            self._edit = self._document_edit if known else curves.edit
        if not same_shape:
            self._selected = self._hovered = self._outside = None
            self._tell(None)
            self.plot.set_n(curves.n)
            self.tools.set_longest(curves.n)
            self._view_chosen = False
        if not same_visible:
            self._anchors = self._end_anchors()
        self._handles.offer()  # which may bring its tool back, and looks at everything above
        self.tools.offer_snap(curves.buckets is not None)
        if same_visible and self._handles.active:
            self.grow_values()  # the plot must not jump away from under a hand that moves parameters
        elif not same_visible or before.family is not curves.family:
            self._fit_view()
        # Most frames of a drag bring the edit that is drawn already: painting it once is enough.
        same_marks = same_visible and before.head == curves.head and same(before.beyond, curves.beyond)
        shown = (self._edit, self._future_masked, self._beyond_rule)
        if not same_marks or before.family is not curves.family or not same(drawn, shown):
            self._refresh()

    def set_edit(self, values: np.ndarray) -> None:
        """Show the document's edit, float32 [head, 2n−1], as it now is: after undo, opening, or a commit of ours.

        Frames that still carry an older edit do not bring it back.
        """
        self._document_edit = values
        if self._gesture is None and self._curves is not None and values.shape == self._curves.edit.shape:
            self._edit = values
            self.grow_values()
            self._refresh()

    def set_encoding(self, encoding: Encoding | None, n: int, head_dim: int | None) -> None:
        """Show the handles of the document's encoding as it now is.

        Args:
            encoding: with its number of heads; None when it fits no heads.
            n: number of keys.
            head_dim: width of a query, None where it is not known.
        """
        self._handles.set_encoding(encoding, n, head_dim)
        self.refresh_marks()

    def set_range_menu(self, menu: QMenu) -> None:
        """Offer the window's menu of range tools in the menu of the curve, too."""
        self._range_menu = menu

    def set_offset(self, offset: int | None) -> None:
        """Mark an offset that is hovered elsewhere, such as that of a matrix cell; None for no mark."""
        self._outside = offset
        self.refresh_marks()

    def set_query(self, line: QueryLine | None) -> None:
        """Show one query's own term beside the mean of all, where they differ; None for no query."""
        if line is not self.plot.item.query:
            self.plot.item.set_query(line)
            self._fit_view()

    def set_overlay(self, values: np.ndarray | None, name: str = "") -> None:
        """Lay another curve over the shown one, float [2n−1], dashed and with its name; None for none."""
        self.plot.item.set_overlay(values, name)

    @property
    def curves(self) -> CurveSet | None:
        """The curves of the newest frame, None before the first."""
        return self._curves

    @property
    def edit(self) -> np.ndarray:
        """The edit as it is drawn now, float32 [head, 2n−1]."""
        return self._edit

    @property
    def selection(self) -> tuple[int, int] | None:
        """First and last selected offset."""
        return None if self._selected is None else (min(self._selected), max(self._selected))

    @property
    def anchors(self) -> tuple[int, ...]:
        """Offsets that bound a bend, ascending."""
        return self._anchors

    @property
    def is_dragging(self) -> bool:
        """Whether a gesture is under way that left its dead zone."""
        gesture = self._gesture or self._handles.drag
        return gesture is not None and gesture.started

    @property
    def _hand(self) -> Hand:
        t = self.tools
        return Hand(
            self._curves, self._edit, t.tool, t.brush, t.snap, t.all_heads, self.selection, self._anchors
        )

    # The header's settings.

    tool = property(lambda self: self.tools.tool, lambda self, name: setattr(self.tools, "tool", name))
    shape = property(lambda self: self.tools.shape, lambda self, name: setattr(self.tools, "shape", name))
    radius = property(lambda self: self.tools.radius, lambda self, n: setattr(self.tools, "radius", n))
    mirror = property(lambda self: self.tools.mirror, lambda self, on: setattr(self.tools, "mirror", on))
    snap = property(lambda self: self.tools.snap, lambda self, on: setattr(self.tools, "snap", on))
    all_heads = property(
        lambda self: self.tools.all_heads, lambda self, on: setattr(self.tools, "all_heads", on)
    )
    axis = property(lambda self: self.tools.axis, lambda self, name: setattr(self.tools, "axis", name))

    def _on_tools_changed(self) -> None:
        if self.plot.scale_name != self.tools.axis:
            self.plot.set_scale(self.tools.axis)
            self._fit_view()
        self.plot.set_cursor(CURSORS[self.tools.tool])
        if self.tools.tool != self._tool_before:
            self._tool_before = self.tools.tool
            self._handles.leave()
            if self._curves is not None:
                self.grow_values()  # handles may stand higher than the curve
        if isinstance(self._gesture, VerticalDrag) and self.tools.tool == "brush":
            # A radius or shape chosen during a drag counts from its start, like everything in it.
            self._gesture.reach = self._hand.reach_at(self._gesture.offset)
            if self._gesture.started:
                self._preview()
        self.refresh_marks()
        self.tool_changed.emit()

    # Gestures.

    def _on_pressed(self, pointer: Pointer) -> None:
        if self._curves is None or self._gesture is not None or self._handles.drag is not None:
            return
        if self._handles.active:
            self._handles.press(pointer)
            self.refresh_marks()
            return
        self._anchors_before = self._anchors
        anchor = self._anchor_near(pointer.x)
        if anchor is not None:
            pointer = replace(pointer, offset=anchor)
        elif self.tools.tool == "anchors" and pointer.snap:
            self._add_anchor(pointer.offset)
            self._inserting = True
        hand, step = self._hand, nice_step(self.plot.map().units_per_pixel * SNAP_PIXELS)
        if hand.tool == "freehand":
            self._gesture = Stroke(self._edit, pointer, hand.draw, step)
        else:
            self._gesture = VerticalDrag(
                self._edit,
                hand.total(pointer.offset),
                hand.reach_at(pointer.offset),
                hand.heads,
                pointer,
                self.plot.map().units_per_pixel,
                step,
            )
        self._tell(pointer.offset)
        self.refresh_marks()

    def _on_moved(self, pointer: Pointer) -> None:
        if self._handles.drag is not None:
            self._handles.move(pointer)
            return
        if self._gesture is None:
            return
        if self._inserting:
            # The Ctrl that added the anchor means round values only once pressed anew.
            self._inserting = pointer.snap
            pointer = replace(pointer, snap=False)
        began = not self._gesture.started
        if not self._gesture.move(pointer):
            return
        if began:
            if self.tools.tool == "anchors":
                self._add_anchor(self._gesture.offset)
            self.edit_started.emit()
        self._tell(self._gesture.offset)
        self._preview()

    def _preview(self) -> None:
        self._edit = _read_only(self._gesture.values())
        self._refresh()
        self.show_hint(_drag_hint(self._gesture, self.tools.tool))
        self.edit_previewed.emit(self._edit)

    def _on_released(self, pointer: Pointer) -> None:
        gesture = self._gesture
        if self._handles.drag is not None:
            self._handles.release()
            return
        if gesture is None:
            return
        if not gesture.started:
            self._drop_gesture()
            extends = pointer.fine and self._selected is not None
            self.select(self._selected[0] if extends else gesture.offset, gesture.offset)
        elif np.array_equal(self._edit, gesture.start):
            self._drop_gesture()  # there and back again is no step
        else:
            self._gesture = None
            self.show_hint("")
            low, high = self.selection or (gesture.offset, gesture.offset)
            if not low <= gesture.offset <= high:
                low = high = gesture.offset
            self._selected = (low, high)
            self._commit(Edit(self._edit, _gesture_name(gesture)))

    def cancel_gesture(self) -> None:
        """Give back every value the gesture in hand found; nothing when there is none."""
        self._handles.cancel()
        if self._gesture is not None:
            self._anchors = self._anchors_before
            self._drop_gesture()

    def _drop_gesture(self) -> None:
        self._handles.cancel()
        gesture, self._gesture, self._inserting = self._gesture, None, False
        if gesture is None:
            return
        self._edit = gesture.start
        self.show_hint("")
        self._refresh()
        if gesture.started:
            self.edit_cancelled.emit()

    def _on_double_clicked(self, pointer: Pointer) -> None:
        if self._curves is None or self._handles.active:
            return
        anchor = self._anchor_near(pointer.x)
        offset = pointer.offset if anchor is None else anchor
        self.select(offset, offset)
        if self.tools.tool == "anchors" and anchor is None:
            self._add_anchor(offset)
        else:
            self.reset_selection()

    def _on_hovered(self, pointer: Pointer | None) -> None:
        offset = None
        if pointer is not None and self._curves is not None:
            anchor = self._anchor_near(pointer.x)
            offset = pointer.offset if anchor is None else anchor
        if offset != self._hovered:
            self._hovered = offset
            self._tell(offset)
            self.refresh_marks()
        if self._handles.active:
            self._handles.hover(pointer if self._curves is not None else None)

    def _tell(self, offset: int | None) -> None:
        if offset != self._told:
            self._told = offset
            self.offset_hovered.emit(offset)

    def show_hint(self, text: str) -> None:
        """Say what the keys do at this moment; nothing special when empty."""
        if text != self._hint:
            self._hint = text
            self.hint_changed.emit(text)

    # Anchors.

    def _anchor_near(self, x: float) -> int | None:
        if self.tools.tool != "anchors" or not self._anchors:
            return None
        nearest = min(self._anchors, key=lambda anchor: abs(self.plot.offset_to_x(anchor) - x))
        return nearest if abs(self.plot.offset_to_x(nearest) - x) <= ANCHOR_TARGET else None

    def _add_anchor(self, offset: int) -> None:
        self._anchors = tuple(sorted({*self._anchors, offset}))
        self.refresh_marks()

    def _end_anchors(self) -> tuple[int, ...]:
        """Anchors to begin with: the ends of what is visible."""
        visible = self._visible_offsets()
        return tuple(sorted({int(visible[0]), int(visible[-1])})) if len(visible) else ()

    def _visible_offsets(self) -> np.ndarray:
        return np.flatnonzero(self._curves.visible) - (self._curves.n - 1)

    # Edits at once.

    def _commit(self, edit: Edit | None) -> None:
        if edit is None:
            return
        self._edit = _read_only(edit.values)
        self.edit_committed.emit(self._edit, edit.name, edit.merge_key)
        self.grow_values()
        self._refresh()

    def _may_edit(self) -> bool:
        gesture = self._gesture or self._handles.drag
        return self._curves is not None and gesture is None and self._before_trial is None

    def nudge(self, steps: int, fine: bool = False) -> None:
        """Move the selected point or range, or the handle, by `steps` of 0.1 score units, or of 0.01 when `fine`."""
        if self._may_edit() and self._handles.active:
            self._handles.nudge(0, steps, fine=fine)
        elif self._may_edit():
            self._commit(self._nudger.nudge(self._hand, steps, fine=fine))

    def set_value(self, offset: int, value: float) -> None:
        """Make the whole curve equal `value` score units at an offset (its bucket, its mirror image, all heads)."""
        if self._may_edit():
            self._commit(commands.set_value(self._hand, offset, value))

    def reset_selection(self) -> None:
        """Take the edit back at the selected point or range."""
        if self._may_edit():
            self._commit(commands.reset_selection(self._hand))

    def reset_head(self) -> None:
        """Take all edits of the shown head back."""
        if self._may_edit():
            self._commit(commands.reset_head(self._hand))

    def reset_all(self) -> None:
        """Take all edits of all heads back."""
        if self._may_edit():
            self._commit(commands.reset_all(self._hand))

    def delete(self) -> None:
        """Remove the selected anchor, which changes nothing; without one, reset the selection. Handles stay."""
        if self._handles.active:
            return
        if self._may_edit() and self._hand.is_anchor():
            self._anchors = tuple(anchor for anchor in self._anchors if anchor != self._selected[0])
            self.refresh_marks()
        else:
            self.reset_selection()

    def copy_values(self) -> None:
        """Put the selected range of the shown head's curve on the clipboard, all of it when there is no range."""
        if self._curves is None:
            return
        middle = self._curves.n - 1
        low, high = self.selection or (-middle, middle)
        if low == high:  # every drag and click leaves a point selected, and nobody means a table of one line
            low, high = -middle, middle
        total = (self._curves.family + self._edit)[self._curves.head, low + middle : high + middle + 1]
        known = np.isfinite(total)
        QGuiApplication.clipboard().setText(write_table(np.arange(low, high + 1)[known], total[known]))

    def paste_values(self) -> None:
        """Set the curve at the offsets on the clipboard, as one step; `refused` says why when it cannot."""
        if self._may_edit():
            try:
                self._commit(commands.paste(self._hand, QGuiApplication.clipboard().text()))
            except ViewerError as error:
                self.refused.emit(str(error))

    # Selection and keys.

    def select(self, start: int, end: int) -> None:
        """Select the offsets between `start` and `end`; Shift with an arrow moves the end."""
        self._selected = (start, end)
        label = point_label(self._curves, self._edit, end)
        self.plot.setAccessibleDescription("".join(text for text, _ in label))
        self.refresh_marks()

    def select_all(self) -> None:
        """Select every visible offset."""
        visible = self._visible_offsets()
        if len(visible):
            self.select(int(visible[0]), int(visible[-1]))

    def move_selection(self, step: int, extend: bool = False) -> None:
        """Select the offset `step` farther, or stretch the selection to it; the hovered one, or δ = 0, to begin.

        With the tool "handles" the chosen handle moves sideways, by less to `extend`; one that cannot gives way to the
        next.
        """
        if self._may_edit() and self._handles.active:
            self._handles.nudge(step, 0, fine=extend)
        elif self._may_edit():
            start, end = self._selected or (self._start_offset(),) * 2
            if self._selected is not None:
                middle = self._curves.n - 1
                end = max(-middle, min(middle, end + step))
            self._hovered = None
            self.select(start if extend else end, end)
            self.plot.show_offset(end)
            self._tell(end)

    def _start_offset(self) -> int:
        if self._hovered is not None:
            return self._hovered
        visible = self._visible_offsets()
        return int(visible[np.argmin(np.abs(visible))]) if len(visible) else 0

    def escape(self) -> bool:
        """Cancel the gesture in hand, or else give up the handle or the selection; False when there was none."""
        if self._gesture is not None or self._handles.drag is not None:
            self.cancel_gesture()
        elif self._handles.active and self._handles.give_up():
            pass
        elif self._selected is not None:
            self._selected = None
            self._tell(self._hovered)
            self.refresh_marks()
        else:
            return False
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Hand the focus to the plot. As a focus proxy it would take the header's controls out of the Tab order."""
        self.plot.setFocus(event.reason())

    def _show_focus(self) -> None:
        self.setProperty("focused", self.plot.hasFocus())
        self.style().unpolish(self)
        self.style().polish(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that the plot left: it has the focus, the editor knows what they mean."""
        command = command_for(event) if self._curves is not None else None
        if command is None or command(self) is False:
            super().keyPressEvent(event)
        else:
            event.accept()

    # Handles by key.

    def step_handle(self, step: int) -> bool:
        """Choose the next handle of the family, or the one before; False when another tool is chosen."""
        if self._handles.active:
            self._handles.step(step)
        return self._handles.active

    # The range.

    def reshape(self, tool: str) -> None:
        """Use one of `curve_ranges.RANGE_TOOLS` on the selected range, or on all that is visible."""
        self._edit_range(partial(ranges.reshaped, tool=tool))

    def mirror_range(self) -> None:
        """Give each offset of the range the value of −δ."""
        self._edit_range(ranges.mirrored)

    def copy_from(self, head: int) -> None:
        """Give the range the values of another head."""
        self._edit_range(partial(ranges.copied, head=head))

    def scale_range(self, factor: float) -> None:
        """Stretch the range about its mean."""
        self._edit_range(partial(ranges.scaled, factor=factor))

    def shift_range(self, amount: float) -> None:
        """Move the range by score units."""
        self._edit_range(partial(ranges.shifted, amount=amount))

    def ask_scale(self) -> None:
        """Ask by what factor to stretch the range."""
        self._suggest("scale {} by ×", 1.5, self.scale_range)

    def ask_shift(self) -> None:
        """Ask by how many score units to move the range."""
        self._suggest("shift {} by", 0.5, self.shift_range)

    def _edit_range(self, make: Callable[[Hand], Edit | None]) -> None:
        if self._may_edit():
            try:
                self._commit(make(self._hand))
            except ViewerError as error:
                self.refused.emit(str(error))

    # A formula that is being typed: shown at once, a step only when it is kept.

    @property
    def range_words(self) -> str:
        """The range that the tools for ranges would work on, in words."""
        return "" if self._curves is None else ranges.range_words(self._hand)

    def begin_trial(self) -> bool:
        """Remember the edit that `try_formula` begins from; False while a hand is on the curve."""
        if not self._may_edit():
            return False
        self._before_trial, self._values_before_trial = self._edit, self.plot.values
        return True

    def try_formula(self, text: str) -> None:
        """Show the range as the formula has it, from the edit at `begin_trial`.

        Raises:
            ViewerError: the formula cannot be used; the curve is then as it was before.
        """
        if self._before_trial is None:
            return
        try:
            edit = ranges.by_formula(replace(self._hand, edit=self._before_trial), text)
        except ViewerError:
            self._show_trial(self._before_trial)
            raise
        self._show_trial(self._before_trial if edit is None else edit.values)

    def _show_trial(self, values: np.ndarray) -> None:
        self._give_back_values()
        self._edit = _read_only(values)
        self._refresh()
        self.edit_previewed.emit(self._edit)

    def keep_formula(self, text: str) -> None:
        """Make the range what the formula says, as one step; raises as `try_formula` does."""
        self.try_formula(text)
        before = self._before_trial
        self.drop_formula()
        if before is not None:
            self._commit(ranges.by_formula(replace(self._hand, edit=before), text))

    def _give_back_values(self) -> None:
        """Give back the value axis at `begin_trial`: a number half typed, 1e3 of 1e3-7, may have stretched it."""
        if not self._view_chosen and self.plot.values != self._values_before_trial:
            self.plot.set_values(*self._values_before_trial)

    def drop_formula(self) -> None:
        """Give back the edit at `begin_trial`."""
        before, self._before_trial = self._before_trial, None
        if before is not None:
            self._give_back_values()
            self._edit = before
            self.edit_cancelled.emit()
            self._refresh()

    # The box for an exact value, and the menu.

    def ask(
        self,
        label: str,
        value: float,
        at: QPointF,
        keep: Callable[[float], object],
        go_on: Callable[[int], object],
    ) -> None:
        """Open the box beside a pixel of the plot; `keep` gets another number, `go_on` ±1 after Tab."""
        self._asked, self._asked_next = keep, go_on
        self.entry.open(label, value, at, self.plot.plot_rect())
        self.refresh_marks()

    def _suggest(self, words: str, value: float, keep: Callable[[float], object]) -> None:
        """Open the box for a number about the range, in its middle."""
        if self._may_edit() and len(ranges.range_of(self._hand)):
            offsets, rect = ranges.range_of(self._hand), self.plot.plot_rect()
            x = min(max(self.plot.offset_to_x(float(offsets.mean())), rect.left()), rect.right())
            self._asked, self._asked_next = keep, None
            self.entry.suggest(words.format(self.range_words), value, QPointF(x, rect.center().y()), rect)
            self.refresh_marks()

    def _on_entry(self, value: float) -> None:
        if self._asked is not None:
            self._asked(value)

    def _on_entry_next(self, step: int) -> None:
        if self._asked_next is not None:
            self._asked_next(step)

    def open_entry(self) -> None:
        """Open the box for the value at the selected point, or at the hovered one; of the handle, with that tool."""
        if not self._may_edit():
            return
        if self._handles.active:
            self._handles.open_entry()
            return
        if self._selected is None:
            self._selected = (self._start_offset(),) * 2
        offset = self._selected[1]
        self.select(offset, offset)
        self.plot.show_offset(offset)
        value, rect = self._hand.total(offset), self.plot.plot_rect()
        y = min(max(self.plot.value_to_y(value), rect.top()), rect.bottom())
        self._hovered = None
        at, keep = QPointF(self.plot.offset_to_x(offset), y), partial(self.set_value, offset)
        self.ask(f"δ = {short(offset)}   b =", value, at, keep, self._open_next)
        self._tell(offset)

    def _open_next(self, step: int) -> None:
        self.move_selection(step)
        self.open_entry()

    def _on_entry_closed(self) -> None:
        self.plot.setFocus(Qt.FocusReason.OtherFocusReason)
        self.refresh_marks()

    def _open_menu(self, pointer: Pointer | None, at: QPoint) -> None:
        if not self._may_edit():
            return
        low, high = self.selection or (None, None)
        if pointer is not None and (low is None or not low <= pointer.offset <= high):
            self.select(pointer.offset, pointer.offset)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, command in (
            ("Set &value…\tEnter", self.open_entry),
            ("&Reset point\tDel", self.reset_selection),
            ("&Copy values\tCtrl+C", self.copy_values),
            ("&Paste values\tCtrl+V", self.paste_values),
            ("Reset vie&w\tHome", self.reset_view),
        ):
            menu.addAction(text, command)
        if self._range_menu is not None:
            menu.addSeparator()
            menu.addMenu(self._range_menu)
        menu.popup(at)

    # The view.

    def reset_view(self) -> None:
        """Show every visible offset and all heads' curves; the same view however often it is asked for."""
        self._view_chosen = False
        self._fit_view()

    def _fit_view(self) -> None:
        curves = self._curves
        if curves is None or self._view_chosen or self._gesture is not None or self._handles.drag is not None:
            return
        self.plot.set_offsets(*fitted_offsets(curves.visible))
        added = self._edit[curves.head]
        rows = [curves.family + self._edit, curves.family[curves.head : curves.head + 1]]
        rows += [line[None] + added for line in (curves.low, curves.high) if line is not None]
        query = self.plot.item.query
        if query is not None and query.fits(curves):
            rows.append(query.own[None] + added)
        self.plot.set_values(*fitted_values(np.concatenate(rows), curves.visible))
        self.grow_values()

    def grow_values(self) -> None:
        """Bring what was dragged out of the plot back into view; not under a hand, and a view somebody chose stays."""
        if not self._view_chosen and not self.is_dragging:
            curves, low, high = self._curves, *self.plot.offsets
            total = curves.family[curves.head] + self._edit[curves.head]  # [2n−1]
            handles = [handle.value for handle in self._handles.shown if low <= handle.offset <= high]
            shown = np.concatenate([total[curves.visible], handles])
            view = grown_values(self.plot.values, shown, np.ones(len(shown), bool))
            if view != self.plot.values:
                self.plot.set_values(*view)

    def _on_zoomed(self) -> None:
        self._view_chosen = True
        self.entry.hide()

    # Painting.

    def _refresh(self) -> None:
        if self._curves is not None:
            self.plot.item.set_shown(Shown(self._curves, self._edit, self._future_masked, self._beyond_rule))
            self.refresh_marks()
            if self._told is not None and self._outside is None and not self.is_dragging:
                self.offset_hovered.emit(self._told)  # its value is another now

    def refresh_marks(self) -> None:
        """Show where the hand is."""
        if self._curves is None:
            return
        gesture, hand = self._gesture, self._hand
        focus = reach = None
        pointed = self._hovered is not None or self._outside is not None
        at_hand = self._handles.at_hand(pointed=pointed)
        if self._handles.active:
            if at_hand is None:
                focus = self._outside if self._hovered is None else self._hovered
                focus = None if focus is None or abs(focus) >= hand.n else focus
        elif gesture is not None:
            focus = gesture.offset
            reach = gesture.reach if isinstance(gesture, VerticalDrag) else hand.reach_at(focus)
        elif self._hovered is not None:
            focus, reach = self._hovered, hand.reach_at(self._hovered)
        elif self._outside is not None and abs(self._outside) < hand.n:
            focus = self._outside
        elif self._selected is not None:
            focus, reach = self._selected[1], hand.selected_reach()
        label = ()
        if focus is not None and not self.entry.isVisible():
            dragged = gesture is not None and gesture.started
            fine, step = (gesture.fine, gesture.snap_step) if dragged else (False, None)
            label = point_label(self._curves, self._edit, focus, fine=fine, snap_step=step)
        if at_hand is not None and not self.entry.isVisible():
            label = handle_label(at_hand)
        anchors = self._anchors if hand.tool == "anchors" else ()
        self.plot.item.set_marks(
            Marks(
                focus,
                label,
                reach,
                self.selection,
                anchors,
                gesture is not None,
                hand.all_heads,
                self._handles.active,
                self._handles.shown,
                at_hand,
            )
        )


def _read_only(values: np.ndarray) -> np.ndarray:
    """Return the values as nobody may change them: documents and the worker keep them."""
    values = values.view()
    values.flags.writeable = False
    return values


def _gesture_name(gesture: VerticalDrag | Stroke) -> str:
    if isinstance(gesture, Stroke):
        return f"Draw {range_text(gesture.low, gesture.high)}"
    return f"Drag δ = {short(gesture.offset)}"


def _drag_hint(gesture: VerticalDrag | Stroke, tool: str) -> str:
    held = []
    if gesture.fine:
        held.append("Shift: fine ×0.1")
    if gesture.snap_step is not None:
        held.append(f"Ctrl: round to {short(gesture.snap_step)}")
    return " · ".join([*held, "Esc: cancel"]) if held else DRAG_HINTS[tool]
