"""The plane editor: the bias table of a two-dimensional family as a heatmap, made to be dragged.

GUI thread only. It stands where the curve editor stands for families along the line. Its values are those of the
newest frame and the gesture in hand; every change leaves it as a signal and becomes the family's own table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QScrollArea, QVBoxLayout, QWidget

from relpos_viewer.core import brush, reshape
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.numbers import short
from relpos_viewer.core.plane_brush import (
    OPERATIONS,
    Rectangle,
    by_formula,
    changed,
    mirrored,
    pasted,
    reach,
    read_block,
    write_block,
)
from relpos_viewer.core.planes import PlaneSet
from relpos_viewer.views import names
from relpos_viewer.views.curve_commands import Nudger
from relpos_viewer.views.curve_entry import CurveEntry
from relpos_viewer.views.curve_gesture import Pointer, VerticalDrag
from relpos_viewer.views.curve_scale import nice_step
from relpos_viewer.views.curve_tools import CurveTools
from relpos_viewer.views.plane_keys import command_for
from relpos_viewer.views.plane_selection import SelectionTools
from relpos_viewer.views.plane_tools import PlaneTools
from relpos_viewer.views.plane_view import BAR, Cell, PlaneMarks, PlaneView
from relpos_viewer.views.plane_words import area_text, offset_text
from relpos_viewer.views.theme import LIGHT, Theme

# A hand that goes so many pixels up takes zero to the end of the colours.
FULL_SCALE = 150.0
SNAP_PIXELS = 12.0
# Colours tell nothing apart on a scale that is narrower.
LEAST_SCALE = 0.5
HINT = "Shift: finer · Ctrl: round values · wheel: radius · Esc: cancel"
# Narrower than this the column beside the plane gives way; its commands are in the menu too.
COLUMN_ROOM = 560
# Two columns leave so much to the plane.
LEAST_PLANE = 340


class PlaneEditor(QFrame):
    """Shows and edits b(dy, dx). Planes in signals are float64 [head, 2h−1, 2w−1] in score units, read-only.

    Signals:
        planes_previewed(planes): the planes under the moving hand.
        planes_committed(planes, name, merge_key): one step of undo, named; merge_key as in `CurveEditor`.
        edit_cancelled(): the planes are again what they were before the gesture.
        number_committed(index, value, heads): a number that is not in the plane has another value.
        reset_requested(rectangle or None for whole planes, heads): back to the table as it was opened.
        offset_hovered((dy, dx) or None): what the pointer or the arrow keys are at.
        hint_changed(text): what the keys do at this moment; empty when nothing special.
        refused(text): one sentence about what was typed or pasted and could not be used.
    """

    planes_previewed = Signal(object)
    planes_committed = Signal(object, str, object)
    edit_cancelled = Signal()
    number_committed = Signal(int, float, object)
    reset_requested = Signal(object, object)
    offset_hovered = Signal(object)
    hint_changed = Signal(str)
    refused = Signal(str)

    def __init__(self, brush_tools: CurveTools, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.PLANE_EDITOR)
        self.setAccessibleName("Bias plane editor")
        self.setProperty("card", True)
        self.tools = PlaneTools(brush_tools)
        self.view = PlaneView()
        self.column = SelectionTools()
        # In a low window the column is scrolled, and takes no room from the matrices.
        self._beside = QScrollArea()
        self._beside.setFrameShape(QFrame.Shape.NoFrame)
        self._beside.setWidgetResizable(True)
        self._beside.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._beside.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._beside.setStyleSheet(
            "QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }"
        )
        self._beside.setWidget(self.column)
        self._beside.setFixedWidth(self.column.width() + BAR)
        self.entry = CurveEntry(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 6, 4)
        layout.setSpacing(4)
        layout.addWidget(self.tools)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.view, 1)
        row.addWidget(self._beside)
        layout.addLayout(row, 1)

        self._set: PlaneSet | None = None
        self._planes = np.zeros((1, 1, 1))
        self._head = 0
        self._seen = np.ones((1, 1), bool)
        self._levels = Levels(-1.0, 1.0)
        self._gesture: VerticalDrag | None = None
        self._moving: Rectangle | None = None
        self._band: Cell | None = None
        self._band_moved = False
        self._hovered: Cell | None = None
        self._outside: Cell | None = None
        self._selected: tuple[Cell, Cell] | None = None
        self._told: tuple[int, int] | None = None
        self._nudger = Nudger()
        self._connect()
        self.set_theme(LIGHT)

    def _connect(self) -> None:
        self.tools.changed.connect(self._on_tools_changed)
        self.tools.reset_selection_requested.connect(self.reset_selection)
        self.tools.reset_head_requested.connect(self.reset_head)
        self.tools.reset_all_requested.connect(self.reset_all)
        self.view.pressed.connect(self._on_pressed)
        self.view.moved.connect(self._on_moved)
        self.view.released.connect(self._on_released)
        self.view.double_clicked.connect(self._on_double_clicked)
        self.view.hovered.connect(self._on_hovered)
        self.view.wheel_turned.connect(self.tools.turn_radius)
        self.view.menu_requested.connect(self._open_menu)
        self.view.focus_changed.connect(self._show_focus)
        self.column.operation_requested.connect(self.do)
        self.column.shift_requested.connect(self.shift)
        self.column.scale_requested.connect(self.scale)
        self.column.copy_head_requested.connect(self.copy_from)
        self.column.formula_requested.connect(self.set_by_formula)
        self.column.copy_requested.connect(self.copy_values)
        self.column.paste_requested.connect(self.paste_values)
        self.column.reset_requested.connect(self.reset_selection)
        self.column.number_changed.connect(self._on_number)
        self.column.refused.connect(self.refused)
        self.entry.accepted.connect(self.set_value)
        self.entry.next_requested.connect(self._open_next)
        self.entry.closed.connect(self._on_entry_closed)

    # What is shown.

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        for part in (self.tools, self.view, self.entry):
            part.set_theme(theme)

    def set_planes(self, planes: PlaneSet, head: int, seen: np.ndarray, note: str) -> None:
        """Show the planes of a frame; those of a hand that is dragging stay as they are.

        Args:
            planes: what the frame found.
            head: the one on show.
            seen: bool [2h−1, 2w−1], offsets that a visible pair of tokens has.
            note: what else there is to say in the header.
        """
        before = self._set
        same_place = before is not None and before.shape == planes.shape and self._head == head
        same_place = same_place and len(self._planes) == len(planes.values)
        if not same_place:
            self._drop_gesture()
            self.entry.hide()
        if before is None or before.shape != planes.shape:
            self._selected = self._hovered = self._outside = self._band = None
            self._tell(None)
        self._set, self._head, self._seen = planes, head, seen
        if self._gesture is None:
            self._planes = planes.values
            self._levels = _levels(planes.values[head])
        family = planes.encoding
        limits = family.plane_range
        within = "" if limits is None else f", kept within {round(limits[0])} … {round(limits[1])}"
        self.tools.follow()
        self.tools.set_words(
            f"drag: table of {family.title}{within or ' (exact)'}",
            f"A drag changes the family's own table; nothing is added on top{within}.",
            note,
        )
        self.column.set_heads(len(planes.values), head)
        self.column.set_numbers(family.beside, tuple(map(float, planes.beside[head])))
        self._fold_column()
        self._refresh()

    def set_offset(self, offset: tuple[int, int] | None) -> None:
        """Mark the cell of (dy, dx) that is hovered elsewhere, such as a matrix cell's; None for no mark."""
        self._outside = None if offset is None or self._set is None else self._cell_of(*offset)
        self._refresh_marks()

    @property
    def planes(self) -> np.ndarray:
        """The planes as they are drawn now, float64 [head, 2h−1, 2w−1]."""
        return self._planes

    @property
    def selection(self) -> Rectangle | None:
        """The selected cells."""
        return None if self._selected is None else Rectangle.between(*self._selected)

    @property
    def is_dragging(self) -> bool:
        """Whether a gesture is under way that left its dead zone."""
        return self._gesture is not None and self._gesture.started

    @property
    def _shape(self) -> tuple[int, int]:
        return self._planes.shape[1], self._planes.shape[2]

    @property
    def _heads(self) -> tuple[int, ...]:
        return tuple(range(len(self._planes))) if self.tools.all_heads else (self._head,)

    @property
    def _area(self) -> Rectangle:
        """What commands act on: the selection, or everything."""
        rows, columns = self._shape
        return self.selection or Rectangle(0, 0, rows - 1, columns - 1)

    def _offset_of(self, cell: Cell) -> tuple[int, int]:
        return cell[0] - self._shape[0] // 2, cell[1] - self._shape[1] // 2

    def _cell_of(self, dy: int, dx: int) -> Cell | None:
        row, column = dy + self._shape[0] // 2, dx + self._shape[1] // 2
        return (row, column) if 0 <= row < self._shape[0] and 0 <= column < self._shape[1] else None

    # Gestures.

    def _on_pressed(self, event: QMouseEvent) -> None:
        if self._set is None or self._gesture is not None:
            return
        cell = self.view.grid.cell(event.position())
        if self.tools.tool == "select" or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._band, self._band_moved = cell, False
            return
        selection = self.selection
        self._moving = selection if selection is not None and selection.holds(*cell) else _alone(cell)
        span = max(self._levels.high, LEAST_SCALE)
        units = span / FULL_SCALE
        self._gesture = VerticalDrag(
            self._planes.reshape(len(self._planes), -1),
            float(self._planes[self._head][cell]),
            self._reach(self._moving),
            self._heads,
            self._pointer(event, cell),
            units,
            nice_step(units * SNAP_PIXELS),
        )
        self._hovered = cell
        self._refresh_marks()

    def _pointer(self, event: QMouseEvent, cell: Cell) -> Pointer:
        held = event.modifiers()
        return Pointer(
            event.position().x(),
            event.position().y(),
            cell[0] * self._shape[1] + cell[1],
            0.0,
            bool(held & Qt.KeyboardModifier.ShiftModifier),
            bool(held & Qt.KeyboardModifier.ControlModifier),
        )

    def _reach(self, rectangle: Rectangle) -> brush.Reach:
        return reach(self._shape, rectangle, self.tools.radius, self.tools.shape)

    def _on_moved(self, event: QMouseEvent) -> None:
        cell = self.view.grid.cell(event.position())
        if self._band is not None:
            if cell != self._band or self._band_moved:
                self._band_moved = True
                self._selected = (self._band, cell)
                self._hovered = cell
                self._tell(cell)
                self._show_selection()
            return
        if self._gesture is not None and self._gesture.move(self._pointer(event, cell)):
            self._preview()

    def _preview(self) -> None:
        gesture = self._gesture
        values = gesture.values().reshape(self._planes.shape)
        start = gesture.start.reshape(self._planes.shape)
        self._planes = _read_only(self._within(values, start))
        # While a hand moves, colours only ever get room for more.
        least = _levels(self._planes[self._head])
        if least.high > self._levels.high:
            self._levels = least
        self._refresh()
        self.hint_changed.emit(HINT)
        self.planes_previewed.emit(self._planes)

    def _within(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Keep what was changed within the family's limits."""
        limits = self._set.encoding.plane_range
        if limits is None:
            return values
        return np.where(values == start, values, values.clip(*limits))

    def _on_released(self, event: QMouseEvent) -> None:
        if self._band is not None:
            self._end_band(self.view.grid.cell(event.position()))
            return
        gesture = self._gesture
        if gesture is None:
            return
        cell = divmod(gesture.offset, self._shape[1])
        if not gesture.started:
            self._drop_gesture()
            self.select(cell, cell)
        elif np.array_equal(self._planes.reshape(gesture.start.shape), gesture.start):
            self._drop_gesture()  # there and back again is no step
        else:
            self._gesture = None
            self.hint_changed.emit("")
            if self.selection is None or not self.selection.holds(*cell):
                self._selected = (cell, cell)
            self._commit(self._planes, f"Drag {offset_text(*self._offset_of(cell))}")

    def _end_band(self, cell: Cell) -> None:
        start, self._band = self._band, None
        if self._band_moved:
            self._show_selection()
        elif self._selected is not None and self.tools.tool != "select":
            self.select(self._selected[0], cell)  # Shift and a click stretch the selection
        else:
            self.select(start, cell)

    def cancel_gesture(self) -> None:
        """Give back every value the gesture in hand found; nothing when there is none."""
        self._band = None
        self._drop_gesture()

    def _drop_gesture(self) -> None:
        gesture, self._gesture = self._gesture, None
        if gesture is None:
            return
        self._planes = _read_only(gesture.start.reshape(self._planes.shape))
        self._levels = _levels(self._planes[min(self._head, len(self._planes) - 1)])
        self.hint_changed.emit("")
        self._refresh()
        if gesture.started:
            self.edit_cancelled.emit()

    def _on_double_clicked(self, event: QMouseEvent) -> None:
        if self._set is not None:
            cell = self.view.grid.cell(event.position())
            self.select(cell, cell)
            self.open_entry()

    def _on_hovered(self, cell: Cell | None) -> None:
        if cell != self._hovered and self._set is not None:
            self._hovered = cell
            self._tell(cell)
            self._refresh_marks()

    def _tell(self, cell: Cell | None) -> None:
        offset = None if cell is None else self._offset_of(cell)
        if offset != self._told:
            self._told = offset
            self.offset_hovered.emit(offset)

    def _on_tools_changed(self) -> None:
        if self._gesture is not None:
            # A radius or shape chosen during a drag counts from its start, like everything in it.
            self._gesture.reach = self._reach(self._moving)
            if self._gesture.started:
                self._preview()
        self._refresh_marks()

    # Edits at once.

    def _may_edit(self) -> bool:
        return self._set is not None and self._gesture is None

    def _commit(self, planes: np.ndarray, name: str, merge_key: str | None = None) -> None:
        """Make these planes a step, if they are new."""
        kept = self._within(planes, self._set.values)
        self._planes = _read_only(kept)
        self._levels = _levels(kept[self._head])
        self._refresh()
        self.planes_committed.emit(self._planes, name, merge_key)

    def _apply(self, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
        if not self._may_edit():
            return
        planes = changed(self._planes, self._area, self._heads, change)
        if not np.array_equal(planes, self._planes):
            self._commit(planes, f"{name} {self._area_text()}")

    def _area_text(self) -> str:
        return "plane" if self.selection is None else area_text(self.selection, self._shape)

    def do(self, name: str) -> None:
        """Do one of `core.plane_brush.OPERATIONS` to the selection, or to the whole plane."""
        self._apply(name, OPERATIONS[name])

    def shift(self, amount: float) -> None:
        """Add `amount` score units to the selection."""
        self._apply("Shift", lambda values: reshape.shifted(values, amount))

    def scale(self, factor: float) -> None:
        """Stretch the selection about its mean."""
        self._apply("Scale", lambda values: reshape.scaled(values, factor))

    def reshape(self, tool: str) -> None:
        """Do what the curve's range tool of that name does, as far as a plane knows it."""
        self.do(tool.capitalize())

    def mirror_range(self) -> None:
        """Give each offset of the selection the value of its opposite, (−dy, −dx)."""
        if not self._may_edit():
            return
        planes = mirrored(self._planes, self._area, self._heads)
        if not np.array_equal(planes, self._planes):
            self._commit(planes, f"Mirror {self._area_text()}")

    def ask_scale(self) -> None:
        """Ask for a factor."""
        self._ask("scale")

    def ask_shift(self) -> None:
        """Ask for an amount."""
        self._ask("shift")

    def ask_formula(self) -> None:
        """Ask for a formula."""
        self._ask("formula")

    def _ask(self, entry: str) -> None:
        self._beside.setVisible(True)
        self.column.ask(entry)

    def copy_from(self, head: int) -> None:
        """Take the selected cells from another head."""
        source = self._planes[head][self._area.cells]
        self._apply(f"Copy head {head} to", lambda _values: source)

    def set_by_formula(self, text: str) -> None:
        """Set the selection to a formula of dy and dx; `refused` says why when it cannot."""
        if not self._may_edit():
            return
        try:
            planes = by_formula(text, self._planes, self._area, self._heads)
        except ViewerError as error:
            self.refused.emit(str(error))
            return
        if not np.array_equal(planes, self._planes):
            self._commit(planes, f"Formula in {self._area_text()}")

    def set_value(self, value: float) -> None:
        """Make every selected cell equal `value` score units."""
        if self._selected is not None:
            self._apply(f"Set {short(value)} in", lambda values: np.full_like(values, value))

    def nudge(self, steps: int, fine: bool = False) -> None:
        """Move the selection by `steps` of 0.1 score units, or of 0.01 when `fine`; neighbours stay."""
        if not self._may_edit() or self._selected is None:
            return
        key = f"nudge plane {self.selection} {self._heads}"
        start, amount = self._nudger.count(key, self._planes, steps, fine=fine)
        planes = changed(start, self.selection, self._heads, lambda values: values + amount)
        self._commit(planes if amount else start, f"Nudge {self._area_text()}", key)
        self._nudger.reached(self._planes)

    def reset_selection(self) -> None:
        """Ask for the values as they were opened, in the selection or in the whole plane."""
        if self._may_edit():
            self.reset_requested.emit(self._area, self._heads)

    def reset_head(self) -> None:
        """Ask for the plane as it was opened, in the head on show."""
        if self._may_edit():
            self.reset_requested.emit(None, (self._head,))

    def reset_all(self) -> None:
        """Ask for the planes as they were opened, in every head."""
        if self._may_edit():
            self.reset_requested.emit(None, tuple(range(len(self._planes))))

    def copy_values(self) -> None:
        """Put the selection on the clipboard, or the whole plane when not more than a cell is selected."""
        if self._set is None:
            return
        area = self._area
        plane = self._planes[self._head]
        values = plane if area.shape == (1, 1) else plane[area.cells]
        QGuiApplication.clipboard().setText(write_block(values))

    def paste_values(self) -> None:
        """Put the clipboard's numbers where the selection begins; `refused` says why when they cannot be."""
        if not self._may_edit():
            return
        try:
            block = read_block(QGuiApplication.clipboard().text())
            planes, place = pasted(self._planes, self._area, self._heads, block)
        except ViewerError as error:
            self.refused.emit(str(error))
            return
        if not np.array_equal(planes, self._planes):
            self._commit(planes, f"Paste {block.shape[0]} × {block.shape[1]} values")
        self.select((place.top, place.left), (place.bottom, place.right))

    def _on_number(self, index: int, value: float) -> None:
        if self._may_edit():
            self.number_committed.emit(index, value, self._heads)

    # Selection and keys.

    def select(self, start: Cell, end: Cell) -> None:
        """Select the rectangle between two cells; Shift with an arrow moves the end."""
        self._selected = (start, end)
        self.view.setAccessibleDescription(self._label(end))
        self._show_selection()

    def select_all(self) -> None:
        """Select every cell."""
        rows, columns = self._shape
        self.select((0, 0), (rows - 1, columns - 1))

    def move_selection(self, down: int, across: int, extend: bool = False) -> None:
        """Select the cell beside, or stretch the selection to it; the hovered one, or the middle, to begin."""
        if not self._may_edit():
            return
        start, end = self._selected or (self._start_cell(),) * 2
        if self._selected is not None:
            end = (
                min(max(end[0] + down, 0), self._shape[0] - 1),
                min(max(end[1] + across, 0), self._shape[1] - 1),
            )
        self._hovered = None
        self.select(start if extend else end, end)
        self.view.show_cell(*end)
        self._tell(end)

    def _start_cell(self) -> Cell:
        return self._hovered or (self._shape[0] // 2, self._shape[1] // 2)

    def _show_selection(self) -> None:
        area, plane = self._area, self._planes[self._head]
        values = plane[area.cells]
        cells = "1 cell" if values.size == 1 else f"{values.size} cells"
        where = "all" if self.selection is None else area_text(area, self._shape)
        self.column.set_where(f"{where} · {cells} · mean {short(float(values.mean()))}")
        self._refresh_marks()

    def escape(self) -> bool:
        """Cancel the gesture in hand, or else give up the selection; False when there was neither."""
        if self._gesture is not None or self._band is not None:
            self.cancel_gesture()
        elif self._selected is not None:
            self._selected = None
            self._tell(self._hovered)
            self._show_selection()
        else:
            return False
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Hand the focus to the plane."""
        self.view.setFocus(event.reason())

    def _show_focus(self) -> None:
        self.setProperty("focused", self.view.hasFocus())
        self.style().unpolish(self)
        self.style().polish(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that the plane left: it has the focus, the editor knows what they mean."""
        command = command_for(event) if self._set is not None and self.view.hasFocus() else None
        if command is None or command(self) is False:
            super().keyPressEvent(event)
        else:
            event.accept()

    def select_middle(self) -> None:
        """Select the cell of no offset."""
        middle = self._cell_of(0, 0)
        self.select(middle, middle)
        self.view.show_cell(*middle)

    # The box for an exact value, and the menu.

    def open_entry(self) -> None:
        """Open the box for the value of the selected cells."""
        if not self._may_edit():
            return
        if self._selected is None:
            self.select(self._start_cell(), self._start_cell())
        end = self._selected[1]
        self.view.show_cell(*end)
        cells = self.selection.shape
        text = offset_text(*self._offset_of(end)) if cells == (1, 1) else f"{cells[0]} × {cells[1]} cells"
        place = self.view.grid.rect(*end)
        point = QPointF(self.view.mapTo(self, QPoint(round(place.center().x()), round(place.top()))))
        self._hovered = None
        value = float(self._planes[self._head][end])
        within = QRectF(self.view.geometry())
        # Several cells of different values may all be wanted at the one that is shown.
        ask = self.entry.open if cells == (1, 1) else self.entry.suggest
        ask(f"{text}   b =", value, point, within)
        self._tell(end)
        self._refresh_marks()

    def _open_next(self, step: int) -> None:
        self.move_selection(0, step)
        self.open_entry()

    def _on_entry_closed(self) -> None:
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self._refresh_marks()

    def _open_menu(self, cell: Cell | None, at: QPoint) -> None:
        if not self._may_edit():
            return
        if cell is not None and (self.selection is None or not self.selection.holds(*cell)):
            self.select(cell, cell)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Set &value…\tEnter", self.open_entry)
        menu.addAction("&Reset selection\tDel", self.reset_selection)
        menu.addSeparator()
        for name in OPERATIONS:
            menu.addAction(name, lambda name=name: self.do(name))
        menu.addSeparator()
        menu.addAction("&Copy values\tCtrl+C", self.copy_values)
        menu.addAction("&Paste values\tCtrl+V", self.paste_values)
        menu.popup(at)

    # Painting.

    def resizeEvent(self, event) -> None:
        """Give the plane the room of the column where there is not enough for both."""
        super().resizeEvent(event)
        self._beside.setVisible(self.width() >= COLUMN_ROOM)
        self._fold_column()

    def minimumSizeHint(self) -> QSize:
        """Room for the header and the plane; the column folds and hides as there is less."""
        margins = self.layout().contentsMargins()
        words = max(self.tools.minimumSizeHint().width(), self.view.minimumSizeHint().width())
        return QSize(words + margins.left() + margins.right(), super().minimumSizeHint().height())

    def _fold_column(self) -> None:
        margins = self.layout().contentsMargins()
        used = margins.top() + margins.bottom() + self.tools.sizeHint().height() + self.layout().spacing()
        self.column.fold(self.height() - used, self.width() - LEAST_PLANE)
        self._beside.setFixedWidth(self.column.width() + BAR)

    def _refresh(self) -> None:
        if self._set is not None:
            self.view.set_values(self._planes[self._head], self._seen, self._levels)
            self._show_selection()

    def _refresh_marks(self) -> None:
        if self._set is None:
            return
        cell, label_of = self._hovered, self._hovered or self._outside
        if cell is None and label_of is None and self._selected is not None and self.view.hasFocus():
            label_of = cell = self._selected[1]
        label = "" if label_of is None or self.entry.isVisible() else self._label(label_of)
        brushes = self.tools.tool == "brush" and self._band is None
        self.view.set_marks(
            PlaneMarks(
                cell=cell,
                label=label,
                outside=self._outside if cell is None else None,
                selection=self.selection,
                radius=self.tools.radius if brushes and cell is not None and cell == self._hovered else None,
                pressed=self._gesture is not None,
            )
        )

    def _label(self, cell: Cell) -> str:
        value = float(self._planes[self._head][cell])
        words = f"{offset_text(*self._offset_of(cell))}: b = {short(value)}"
        if not self._seen[cell]:
            words += " · no visible pair"
        if self._gesture is not None and self._gesture.snap_step is not None:
            words += f" · round to {short(self._gesture.snap_step)}"
        if self._gesture is not None and self._gesture.fine:
            words += " · fine ×0.1"
        return words


def _alone(cell: Cell) -> Rectangle:
    return Rectangle.between(cell, cell)


def _levels(plane: np.ndarray) -> Levels:
    largest = float(np.abs(plane).max())
    return Levels(-largest, largest) if largest > 0 else Levels(-1.0, 1.0)


def _read_only(values: np.ndarray) -> np.ndarray:
    values = values.view()
    values.flags.writeable = False
    return values
