"""The plot of the curve editor: axes, zoom and pan, and the pointer in terms of offsets and values.

It knows nothing of editing. Left-button motion, hovering and wheel ticks over the plot are handed on as signals;
wheels on an axis, dragging with the middle or right button and double clicks on an axis change the view here.
"""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)

from relpos_viewer.views import names
from relpos_viewer.views.curve_axis import FactorAxis, OffsetAxis, ValueAxis
from relpos_viewer.views.curve_gesture import DEAD_ZONE, Pointer
from relpos_viewer.views.curve_item import CurveItem
from relpos_viewer.views.curve_keys import is_taken
from relpos_viewer.views.curve_scale import SCALES, PlotMap
from relpos_viewer.views.theme import Theme

WHEEL_TICK = 120  # Qt's units of one notch
ZOOM = 1.18
FINE_ZOOM = 1.018
# A view lower than this shows float32's own steps; scores past the largest are a mask in disguise.
LEAST_VALUES = 1e-4
LARGEST_VALUE = 1e6
LEAST_OFFSETS = 4.0

Range = tuple[float, float]


class CurvePlot(pg.GraphicsView):
    """Axes around one `CurveItem`. Offsets and values are in their own units, positions in this widget's pixels."""

    pressed = Signal(Pointer)
    moved = Signal(Pointer)
    released = Signal(Pointer)
    double_clicked = Signal(Pointer)
    hovered = Signal(object)
    """Pointer while no button is down, None when it left the plot."""
    wheel_turned = Signal(int, bool)
    """Notches over the plot, and whether Shift was held."""
    menu_requested = Signal(object, QPoint)
    axis_dragged = Signal(int, int)
    """First and newest offset while the left button is dragged along the offset axis."""
    reset_requested = Signal()
    """A double click on an axis."""
    zoomed = Signal()
    """The user zoomed or panned; not after `set_offsets` and `set_values`."""
    focus_changed = Signal()

    def __init__(self, parent=None) -> None:
        super().__init__(parent)
        self.setObjectName(names.CURVE_PLOT)
        self.setAccessibleName("Bias curve by offset")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(self.Shape.NoFrame)
        self.setMinimumSize(240, 120)
        self.offset_axis, self.value_axis, self.factor_axis = OffsetAxis(), ValueAxis(), FactorAxis()
        # Without the PlotItem that pyqtgraph puts around these: its menus are windows that outlive it.
        self.box = pg.ViewBox(enableMouse=False, enableMenu=False)
        layout = self.centralLayout
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(0)
        for part, row, column in (
            (self.value_axis, 0, 0),
            (self.box, 0, 1),
            (self.factor_axis, 0, 2),
            (self.offset_axis, 1, 1),
        ):
            layout.addItem(part, row, column)
        for axis in (self.value_axis, self.factor_axis, self.offset_axis):
            axis.linkToView(self.box)
        self.item = CurveItem(self.box)
        self.item.setZValue(10)
        self._scale = SCALES["linear"]
        self._n = 1
        self._places: Range = (-0.5, 0.5)
        self._values: Range = (-2.0, 2.0)
        self._button: Qt.MouseButton | None = None
        self._pan_from: tuple[QPointF, Range, Range] | None = None
        self._axis_from: int | None = None
        self._last = QPointF()
        self._cursor = Qt.CursorShape.CrossCursor
        self.box.sigResized.connect(self._on_box_resized)
        self._show_view()

    # What is where.

    @property
    def scale_name(self) -> str:
        """Name of the offset scale, a key of `SCALES`."""
        return self._scale.name

    def map(self) -> PlotMap:
        """The plot as it stands, in pixels of this widget."""
        rect = self.plot_rect()
        return PlotMap(
            self._scale, rect.left(), rect.top(), rect.width(), rect.height(), self._places, self._values
        )

    def plot_rect(self) -> QRectF:
        """The rectangle inside the axes, in pixels of this widget."""
        return self.box.mapRectToScene(self.box.boundingRect())

    def offset_to_x(self, offset: float) -> float:
        """Pixel column of an offset."""
        return float(self.map().x(offset))

    def value_to_y(self, value: float) -> float:
        """Pixel row of a value."""
        return float(self.map().y(value))

    def x_to_offset(self, x: float) -> int:
        """The whole offset nearest to a pixel column, among those that exist."""
        return max(1 - self._n, min(self._n - 1, round(self.map().offset(x))))

    def y_to_value(self, y: float) -> float:
        """Value at a pixel row."""
        return self.map().value(y)

    @property
    def values(self) -> Range:
        """Ends of the value axis in score units."""
        return self._values

    @property
    def offsets(self) -> Range:
        """Ends of the offset axis in offsets."""
        low, high = self._places
        return float(self._scale.inverse(low)), float(self._scale.inverse(high))

    # The view.

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.setBackground(theme.card)
        font = QFont(self.font())
        font.setPixelSize(11)
        for axis in (self.offset_axis, self.value_axis, self.factor_axis):
            axis.set_theme(theme, font)
        self.item.set_theme(theme)

    def set_cursor(self, shape: Qt.CursorShape) -> None:
        """Show what the left button does inside the axes."""
        self._cursor = shape

    def set_n(self, n: int) -> None:
        """Offsets run from −(n−1) to n−1 from now on."""
        self._n = n

    def set_scale(self, name: str) -> None:
        """Spread the offsets by another of `SCALES`, keeping those in view.

        Raises:
            KeyError: there is no such scale.
        """
        low, high = self.offsets
        self._scale = SCALES[name]
        self._places = (float(self._scale.forward(low)), float(self._scale.forward(high)))
        self.offset_axis.set_scale(self._scale)
        self._show_view()

    def set_offsets(self, low: float, high: float) -> None:
        """Show these offsets."""
        self._places = self._limited_places(float(self._scale.forward(low)), float(self._scale.forward(high)))
        self._show_view()

    def set_values(self, low: float, high: float) -> None:
        """Show these values."""
        self._values = _limited_values(low, high)
        self._show_view()

    def _zoom_values(self, factor: float, around: float) -> None:
        """Show 1/`factor` as many score units; the value `around` stays where it is."""
        low, high = self._values
        if (high - low) / factor >= LEAST_VALUES:
            self.set_values(around + (low - around) / factor, around + (high - around) / factor)
            self.zoomed.emit()

    def _zoom_offsets(self, factor: float, x: float) -> None:
        """Show 1/`factor` as much of the offset axis; the offset at pixel `x` stays where it is."""
        around = self.map().place(x)
        low, high = (around + (end - around) / factor for end in self._places)
        offsets = float(self._scale.inverse(high)) - float(self._scale.inverse(low))
        if factor < 1 or offsets >= LEAST_OFFSETS:
            self._places = self._limited_places(low, high)
            self._show_view()
            self.zoomed.emit()

    def show_offset(self, offset: int) -> None:
        """Move the view no farther than needed to bring an offset into it."""
        place = float(self._scale.forward(offset))
        low, high = self._places
        margin = 0.06 * (high - low)
        shift = min(0.0, place - low - margin) + max(0.0, place - high + margin)
        if shift and not low <= place <= high:
            self._places = self._limited_places(low + shift, high + shift)
            self._show_view()

    def _limited_places(self, low: float, high: float) -> Range:
        """Keep the view within a margin around the offsets that exist."""
        edge = float(self._scale.forward(self._n - 0.5)) * 1.04
        span = min(high - low, 2 * edge)
        low = min(max(low, -edge), edge - span)
        return low, low + span

    def _show_view(self) -> None:
        self.box.setRange(xRange=self._places, yRange=self._values, padding=0, disableAutoRange=True)
        rect = self.box.boundingRect()
        if rect.width() >= 1 and rect.height() >= 1:
            self.item.set_map(
                PlotMap(
                    self._scale,
                    rect.left(),
                    rect.top(),
                    rect.width(),
                    rect.height(),
                    self._places,
                    self._values,
                )
            )

    def _on_box_resized(self, _box: pg.ViewBox) -> None:
        self._show_view()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Lay the axes out at once: a pointer may come before the next paint."""
        super().resizeEvent(event)
        if event is not None:  # pyqtgraph calls this once itself, before there is a layout
            self.centralLayout.activate()

    # The pointer.

    def pointer(self, position: QPointF, modifiers: Qt.KeyboardModifier) -> Pointer:
        """What lies at a pixel of this widget."""
        x, y = position.x(), position.y()
        return Pointer(
            x,
            y,
            self.x_to_offset(x),
            self.y_to_value(y),
            fine=bool(modifiers & Qt.KeyboardModifier.ShiftModifier),
            snap=bool(modifiers & Qt.KeyboardModifier.ControlModifier),
        )

    def _region(self, position: QPointF) -> str:
        rect = self.plot_rect()
        if rect.contains(position):
            return "plot"
        if rect.top() <= position.y() <= rect.bottom():
            return "value axis"
        if position.y() > rect.bottom() and rect.left() <= position.x() <= rect.right():
            return "offset axis"
        return "corner"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a gesture of the left button, or a pan of another."""
        event.accept()
        if self._button is not None:
            return
        position, region = event.position(), self._region(event.position())
        self._button, self._last = event.button(), position
        if event.button() != Qt.MouseButton.LeftButton:
            self._pan_from = (position, self._places, self._values)
        elif region == "plot":
            self.pressed.emit(self.pointer(position, event.modifiers()))
        elif region == "offset axis":
            self._axis_from = self.x_to_offset(position.x())
            self._button = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Continue what a button began, or hover."""
        event.accept()
        position = self._last = event.position()
        pointer = self.pointer(position, event.modifiers())
        if self._axis_from is not None:
            if event.buttons() & Qt.MouseButton.LeftButton:
                self.axis_dragged.emit(self._axis_from, pointer.offset)
        elif self._pan_from is not None:
            self._pan(position)
        elif self._button == Qt.MouseButton.LeftButton:
            # A window that took the release away leaves a move without buttons behind.
            held = event.buttons() & Qt.MouseButton.LeftButton
            (self.moved if held else self.released).emit(pointer)
            self._button = self._button if held else None
        else:
            self._tell_hovered(pointer, position)

    def _tell_hovered(self, pointer: Pointer, position: QPointF) -> None:
        inside = self._region(position) == "plot"
        self.hovered.emit(pointer if inside else None)  # which may choose another cursor
        self.viewport().setCursor(self._cursor if inside else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End what the button began."""
        event.accept()
        position = event.position()
        if event.button() == Qt.MouseButton.LeftButton and self._axis_from is not None:
            self._axis_from = None
        if event.button() != self._button:
            return
        self._button = None
        if event.button() == Qt.MouseButton.LeftButton:
            pointer = self.pointer(position, event.modifiers())
            self.released.emit(pointer)
            self._tell_hovered(pointer, position)  # which may be far from where the button went down
        elif self._pan_from is not None:
            way = position - self._pan_from[0]
            self._pan_from = None
            if event.button() == Qt.MouseButton.RightButton and way.manhattanLength() < DEAD_ZONE:
                pointer = self.pointer(position, event.modifiers())
                inside = self._region(position) == "plot"
                self.menu_requested.emit(pointer if inside else None, event.globalPosition().toPoint())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu for the keyboard; the mouse opens it on release, when it is known that it did not pan."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.menu_requested.emit(None, self.mapToGlobal(self.plot_rect().center().toPoint()))
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A second click in the plot; on an axis, back to the full view."""
        event.accept()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if self._region(event.position()) == "plot":
            self.double_clicked.emit(self.pointer(event.position(), event.modifiers()))
        else:
            self.reset_requested.emit()

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is hovered any more."""
        if self._button is None:
            self.hovered.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Radius over the plot; zoom over an axis, or over the plot with Ctrl."""
        event.accept()
        # Some systems turn a wheel with Shift or Alt into a horizontal one.
        notches = (event.angleDelta().y() or event.angleDelta().x()) / WHEEL_TICK
        if not notches or self._pan_from is not None:
            return
        fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        factor = (FINE_ZOOM if fine else ZOOM) ** notches
        region = self._region(event.position())
        if region == "offset axis" or (
            region == "plot" and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self._zoom_offsets(factor, event.position().x())
        elif region == "plot":
            steps = math.ceil(notches) if notches > 0 else math.floor(notches)
            self.wheel_turned.emit(steps, fine)
        elif region == "value axis" and self._button is None:
            self._zoom_values(factor, self.y_to_value(event.position().y()))

    def _pan(self, position: QPointF) -> None:
        start, places, values = self._pan_from
        m = self.map()
        along = (position.x() - start.x()) * (places[1] - places[0]) / m.width
        up = (position.y() - start.y()) * (values[1] - values[0]) / m.height
        self._places = self._limited_places(places[0] - along, places[1] - along)
        self._values = _limited_values(values[0] + up, values[1] + up)
        self._show_view()
        self.zoomed.emit()

    # The keyboard: modifiers matter during a drag even when the pointer rests.

    def event(self, event: QEvent) -> bool:
        """Keep plain keys from becoming shortcuts of the window while the plot has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride:
            event.setAccepted(is_taken(event, self._button is not None))
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell the editor around the plot, whose frame shows the focus."""
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell the editor around the plot, whose frame shows the focus."""
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Tell a drag of new modifiers; all else is for the editor around the plot."""
        self._tell_modifiers(event, down=True)
        event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Tell a drag of new modifiers."""
        self._tell_modifiers(event, down=False)
        event.ignore()

    def _tell_modifiers(self, event: QKeyEvent, *, down: bool) -> None:
        key = {
            Qt.Key.Key_Shift: Qt.KeyboardModifier.ShiftModifier,
            Qt.Key.Key_Control: Qt.KeyboardModifier.ControlModifier,
        }.get(event.key())
        if key is None or self._button != Qt.MouseButton.LeftButton:
            return
        # Whether an event counts its own key among the modifiers differs between systems.
        modifiers = event.modifiers() | key if down else event.modifiers() & ~key
        self.moved.emit(self.pointer(self._last, modifiers))


def _limited_values(low: float, high: float) -> Range:
    """Return the view moved and shrunk into what a float32 and a tick can show."""
    span = min(max(high - low, LEAST_VALUES), 2 * LARGEST_VALUE)
    low = min(max((low + high - span) / 2, -LARGEST_VALUE), LARGEST_VALUE - span)
    return low, low + span
