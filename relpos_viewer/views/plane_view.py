"""The picture of a bias plane: a heatmap over the offset key − query in rows and columns, with its axes and marks.

GUI thread only. It paints and says which cell the pointer is at; what that means is the editor's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QWidget

from relpos_viewer.app.palettes import marks, palette
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.numbers import MINUS, short
from relpos_viewer.core.plane_brush import Rectangle
from relpos_viewer.core.quantise import quantise
from relpos_viewer.views import names
from relpos_viewer.views.colour_bar import ColourBar
from relpos_viewer.views.contrast import readable_ink
from relpos_viewer.views.theme import LIGHT, Theme

Cell = tuple[int, int]
"""Row and column of the plane, from 0."""

LEAST_CELL = 8.0  # pixels; planes that do not fit like this are scrolled
WIDEST = 3.0  # of a cell, for its height
LABEL_PIXELS, TEXT_PIXELS = 11, 10
TOP, BOTTOM, LEFT, GAP = 6, 34, 50, 14
NUMBER_ROOM = (8.0, 4.0)  # pixels around a number in its cell
BAR = 10  # width of a scroll bar


@dataclass(frozen=True)
class PlaneMarks:
    """What is drawn over the cells.

    Attributes:
        cell: the one at the pointer or in hand.
        label: what is written beside it.
        outside: the one of a matrix cell that is hovered elsewhere.
        selection: the selected cells.
        radius: how far neighbours follow, in cells around `cell`; None draws no ring.
        pressed: whether a hand holds the cell.
    """

    cell: Cell | None = None
    label: str = ""
    outside: Cell | None = None
    selection: Rectangle | None = None
    radius: int | None = None
    pressed: bool = False


@dataclass(frozen=True)
class Grid:
    """Where cells are in pixels: the first one on show, their size, and how many are on show."""

    x: float = 0.0
    y: float = 0.0
    wide: float = LEAST_CELL
    high: float = LEAST_CELL
    top: int = 0
    left: int = 0
    rows: int = 1
    columns: int = 1

    def rect(self, row: int, column: int) -> QRectF:
        """Return the place of a cell."""
        return QRectF(
            self.x + (column - self.left) * self.wide,
            self.y + (row - self.top) * self.high,
            self.wide,
            self.high,
        )

    @property
    def area(self) -> QRectF:
        """All cells on show."""
        return QRectF(self.x, self.y, self.columns * self.wide, self.rows * self.high)

    def cell(self, point: QPointF) -> Cell:
        """Return the cell on show that is nearest to a point."""
        row = min(max(math.floor((point.y() - self.y) / self.high), 0), self.rows - 1)
        column = min(max(math.floor((point.x() - self.x) / self.wide), 0), self.columns - 1)
        return row + self.top, column + self.left


@dataclass(frozen=True, eq=False)
class _Picture:
    values: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))  # [row, column]
    seen: np.ndarray = field(default_factory=lambda: np.ones((1, 1), bool))  # [row, column]
    levels: Levels = field(default_factory=lambda: Levels(-1.0, 1.0))


class PlaneView(QWidget):
    """Signals carry the event with its cell; `None` when the pointer left.

    pressed, moved, released (QMouseEvent), double_clicked(QMouseEvent), hovered(cell or None), wheel_turned(steps,
    fine), menu_requested(cell, global point), focus_changed().
    """

    pressed = Signal(object)
    moved = Signal(object)
    released = Signal(object)
    double_clicked = Signal(object)
    hovered = Signal(object)
    wheel_turned = Signal(int, bool)
    menu_requested = Signal(object, object)
    focus_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.PLANE_VIEW)
        self.setAccessibleName("Bias plane")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.bar = ColourBar(self)
        self.bar.setAccessibleName("Bias plane colours")
        self.bar.set_orientation("vertical")
        self._down = QScrollBar(Qt.Orientation.Vertical, self)
        self._across = QScrollBar(Qt.Orientation.Horizontal, self)
        for scroll in (self._down, self._across):
            scroll.valueChanged.connect(self._on_scrolled)
            scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._picture = _Picture()
        self._marks = PlaneMarks()
        self._grid = Grid()
        self._terms_map = "auto"
        self._image = QImage()
        self._lut = palette("positional", "auto", "light")
        self._turned = 0
        self.set_theme(LIGHT)

    # What is shown.

    def set_values(self, values: np.ndarray, seen: np.ndarray, levels: Levels) -> None:
        """Show a plane [row, column] with its colour limits; `seen` bool are the offsets that can occur."""
        new_shape = values.shape != self._picture.values.shape
        self._picture = _Picture(values, seen, levels)
        if new_shape:
            self._arrange(middle=True)
        self._paint_codes()

    def set_marks(self, marks: PlaneMarks) -> None:
        """Draw these marks."""
        if marks != self._marks:
            self._marks = marks
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.bar.set_look(theme, marks(theme.name))
        self._paint_codes()

    def set_terms_map(self, name: str) -> None:
        """Take another colour map."""
        if name != self._terms_map:
            self._terms_map = name
            self._paint_codes()

    @property
    def marks(self) -> PlaneMarks:
        """What is drawn over the cells."""
        return self._marks

    @property
    def grid(self) -> Grid:
        """Where the cells are."""
        return self._grid

    @property
    def levels(self) -> Levels:
        """The numbers at the ends of the colours."""
        return self._picture.levels

    def show_cell(self, row: int, column: int) -> None:
        """Scroll as far as a cell needs to be on show."""
        grid = self._grid
        self._down.setValue(min(max(grid.top, row - grid.rows + 1), row))
        self._across.setValue(min(max(grid.left, column - grid.columns + 1), column))

    def _paint_codes(self) -> None:
        picture = self._picture
        self._lut = palette("positional", self._terms_map, self._theme.name)  # [256, 4]
        codes = quantise(picture.values, None, picture.levels)  # [row, column]
        colours = np.ascontiguousarray(self._lut[codes])  # [row, column, 4]
        height, width = codes.shape
        image = QImage(colours.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
        self._image = image.copy()
        self.bar.set_scale(picture.levels, self._lut)
        self.update()

    # Where it is.

    def sizeHint(self) -> QSize:
        """Room for readable cells."""
        return QSize(420, 240)

    def minimumSizeHint(self) -> QSize:
        """Room for a few cells."""
        return QSize(230, 120)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the cells to the room."""
        super().resizeEvent(event)
        self._arrange(middle=self._grid.rows <= 1)

    def _arrange(self, *, middle: bool) -> None:
        rows, columns = self._picture.values.shape
        ratio = self.devicePixelRatioF()
        room = QRectF(LEFT, TOP, self.width() - LEFT - GAP - self.bar.across, self.height() - TOP - BOTTOM)
        high = max(room.height() / rows, LEAST_CELL)
        wide = max(min(room.width() / columns, high * WIDEST), LEAST_CELL)
        scrolls_down = rows * LEAST_CELL > room.height()
        scrolls_across = columns * LEAST_CELL > room.width()
        shown_rows = max(int((room.height() - BAR * scrolls_across) // high), 1) if scrolls_down else rows
        shown_columns = (
            max(int((room.width() - BAR * scrolls_down) // wide), 1) if scrolls_across else columns
        )
        if scrolls_across and not scrolls_down:
            high = max((room.height() - BAR) / rows, LEAST_CELL)
        # Edges on whole device pixels: neighbouring cells are equally wide.
        wide, high = (max(math.floor(side * ratio) / ratio, 1.0) for side in (wide, high))
        for scroll, count, shown in (
            (self._down, rows, shown_rows),
            (self._across, columns, shown_columns),
        ):
            scroll.blockSignals(True)
            scroll.setRange(0, count - shown)
            scroll.setPageStep(shown)
            if middle:
                scroll.setValue((count - shown) // 2)
            scroll.blockSignals(False)
        spare = max((room.height() - BAR * scrolls_across - shown_rows * high) / 2, 0.0)
        self._grid = Grid(
            LEFT,
            round(TOP + spare),
            wide,
            high,
            self._down.value(),
            self._across.value(),
            shown_rows,
            shown_columns,
        )
        area = self._grid.area
        self._down.setVisible(scrolls_down)
        self._down.setGeometry(round(area.right()) + 2, round(area.top()), BAR, round(area.height()))
        self._across.setVisible(scrolls_across)
        self._across.setGeometry(round(area.left()), round(area.bottom()) + 2, round(area.width()), BAR)
        x = round(area.right()) + GAP + BAR * scrolls_down
        self.bar.setGeometry(x, round(area.top()), self.bar.across, round(area.height()))
        self.update()

    def _on_scrolled(self) -> None:
        self._arrange(middle=False)

    # Hands.

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A hand takes a cell."""
        if event.button() == Qt.MouseButton.LeftButton and self._over(event.position()):
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.pressed.emit(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The pointer moves, with a cell in hand or without."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.moved.emit(event)
            return
        inside = self._over(event.position())
        self.setCursor(Qt.CursorShape.SizeVerCursor if inside else Qt.CursorShape.ArrowCursor)
        self.hovered.emit(self._grid.cell(event.position()) if inside else None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The hand lets go."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.released.emit(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A cell wants an exact value."""
        if event.button() == Qt.MouseButton.LeftButton and self._over(event.position()):
            self.double_clicked.emit(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Change the radius of the brush; many small turns of a touchpad add up to one."""
        self._turned += event.angleDelta().y() or event.angleDelta().x()
        steps = int(self._turned / 120)
        if steps:
            self._turned -= steps * 120
            self.wheel_turned.emit(steps, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of what can be done here."""
        at = QPointF(event.pos())
        self.menu_requested.emit(self._grid.cell(at) if self._over(at) else None, event.globalPos())

    def leaveEvent(self, _event: QEvent) -> None:
        """The pointer is nowhere any more."""
        self.hovered.emit(None)

    def focusInEvent(self, event: QEvent) -> None:
        """Say so."""
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QEvent) -> None:
        """Say so."""
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def event(self, event: QEvent) -> bool:
        """Take the keys that mean something here before they are shortcuts of the window."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            more = event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier)
            if control and not more and event.key() in (Qt.Key.Key_A, Qt.Key.Key_C, Qt.Key.Key_V):
                event.accept()
                return True
        return super().event(event)

    def _over(self, point: QPointF) -> bool:
        return self._grid.area.contains(point)

    # Painting.

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint cells, axes and marks."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        grid = self._grid
        source = QRectF(grid.left, grid.top, grid.columns, grid.rows)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(grid.area, self._image, source)
        self._paint_unseen(painter)
        self._paint_lines(painter)
        self._paint_numbers(painter)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(grid.area)
        self._paint_axes(painter)
        painter.save()
        painter.setClipRect(grid.area.adjusted(-2, -2, 2, 2))
        self._paint_marks(painter)
        painter.restore()
        self._paint_label(painter)

    def _cells(self) -> list[Cell]:
        grid = self._grid
        return [
            (row, column)
            for row in range(grid.top, grid.top + grid.rows)
            for column in range(grid.left, grid.left + grid.columns)
        ]

    def _paint_unseen(self, painter: QPainter) -> None:
        """A veil over offsets that no visible pair of tokens has."""
        grid, seen = self._grid, self._picture.seen
        veil = QColor(self._theme.card)
        veil.setAlpha(165)
        for row in range(grid.top, grid.top + grid.rows):
            hidden = np.flatnonzero(~seen[row, grid.left : grid.left + grid.columns]) + grid.left
            for column in hidden:
                painter.fillRect(grid.rect(row, int(column)), veil)

    def _paint_lines(self, painter: QPainter) -> None:
        """Thin lines between cells that have room for them."""
        grid = self._grid
        if min(grid.wide, grid.high) < 6:
            return
        ink = QColor(self._theme.card)
        ink.setAlpha(150)
        painter.setPen(QPen(ink, 1))
        area = grid.area
        for row in range(1, grid.rows):
            y = area.top() + row * grid.high
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        for column in range(1, grid.columns):
            x = area.left() + column * grid.wide
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_numbers(self, painter: QPainter) -> None:
        """The values, where every cell has room for its own."""
        painter.setFont(self._font(TEXT_PIXELS))
        metrics = QFontMetricsF(painter.font())
        grid, picture = self._grid, self._picture
        if grid.high < metrics.height() + NUMBER_ROOM[1] or grid.rows * grid.columns > 2500:
            return
        if grid.wide < metrics.horizontalAdvance("−0.00") + NUMBER_ROOM[0]:
            return
        codes = quantise(picture.values, None, picture.levels)  # [row, column]
        for row, column in self._cells():
            red, green, blue, _ = (int(channel) for channel in self._lut[codes[row, column]])
            ink = QColor(self._theme.muted)
            if picture.seen[row, column]:
                ink = readable_ink(QColor(red, green, blue), self._theme)
            painter.setPen(ink)
            text = f"{picture.values[row, column]:.2f}".replace("-", MINUS)
            if metrics.horizontalAdvance(text) > grid.wide - 2:
                text = short(picture.values[row, column])
            painter.drawText(grid.rect(row, column), Qt.AlignmentFlag.AlignCenter, text)

    def _paint_axes(self, painter: QPainter) -> None:
        painter.setFont(self._font(LABEL_PIXELS))
        metrics = QFontMetricsF(painter.font())
        grid, area = self._grid, self._grid.area
        rows, columns = self._picture.values.shape
        at = self._marks.cell or self._marks.outside
        flags = Qt.AlignmentFlag
        step = max(math.ceil((metrics.height() + 2) / grid.high), 1)
        for row in range(grid.top, grid.top + grid.rows):
            if (row - rows // 2) % step == 0:
                rect = QRectF(0, grid.rect(row, 0).top(), LEFT - 6, grid.high)
                rect = rect.adjusted(0, -20, 0, 20)
                painter.setPen(self._tick_ink(at is not None and at[0] == row))
                painter.drawText(rect, flags.AlignRight | flags.AlignVCenter, short(row - rows // 2))
        step = max(math.ceil((metrics.horizontalAdvance(f"−{columns}") + 4) / grid.wide), 1)
        under = area.bottom() + 3 + (BAR if self._across.isVisible() else 0)
        for column in range(grid.left, grid.left + grid.columns):
            if (column - columns // 2) % step == 0:
                rect = grid.rect(0, column)
                rect = QRectF(rect.left() - 20, under, rect.width() + 40, metrics.height())
                painter.setPen(self._tick_ink(at is not None and at[1] == column))
                painter.drawText(rect, flags.AlignHCenter | flags.AlignTop, short(column - columns // 2))
        painter.setPen(QColor(self._theme.muted))
        title = self._fitting(
            metrics, area.width() + 2 * GAP, "key left ←   dx   → key right of the query", "← dx →", "dx"
        )
        rect = QRectF(area.left() - GAP, under + metrics.height(), area.width() + 2 * GAP, metrics.height())
        painter.drawText(rect, flags.AlignCenter, title)
        title = self._fitting(
            metrics, area.height() + TOP, "key below ←   dy   → key above", "below ← dy → above", "dy"
        )
        painter.save()
        painter.translate(metrics.height() / 2 + 2, area.center().y())
        painter.rotate(-90)
        rect = QRectF(
            -area.height() / 2 - TOP, -metrics.height() / 2, area.height() + 2 * TOP, metrics.height()
        )
        painter.drawText(rect, flags.AlignCenter, title)
        painter.restore()

    def _tick_ink(self, at_hand: bool) -> QColor:
        return QColor(self._theme.text if at_hand else self._theme.muted)

    def _fitting(self, metrics: QFontMetricsF, room: float, *texts: str) -> str:
        return next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])

    def _paint_marks(self, painter: QPainter) -> None:
        marks, grid = self._marks, self._grid
        rows, columns = self._picture.values.shape
        self._outline(painter, grid.rect(rows // 2, columns // 2), QColor(self._theme.text), 1.5)
        accent = QColor(self._theme.accent)
        if marks.selection is not None:
            one = grid.rect(marks.selection.top, marks.selection.left)
            last = grid.rect(marks.selection.bottom, marks.selection.right)
            self._outline(painter, one.united(last), accent, 2.0, dashed=True)
        if marks.outside is not None:
            self._outline(painter, grid.rect(*marks.outside), accent, 2.5)
        if marks.cell is not None:
            rect = grid.rect(*marks.cell)
            self._outline(painter, rect, accent, 2.5 if marks.pressed else 1.75)
            if marks.radius:
                ring = QColor(self._theme.text)
                ring.setAlpha(130)
                painter.setPen(QPen(ring, 1.0, Qt.PenStyle.DotLine))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                reach = marks.radius + 0.5
                painter.drawEllipse(rect.center(), reach * grid.wide, reach * grid.high)

    def _outline(
        self, painter: QPainter, rect: QRectF, ink: QColor, width: float, *, dashed: bool = False
    ) -> None:
        """A frame with a halo of the card's colour, so that it can be seen on every colour of the map."""
        halo = QColor(self._theme.card)
        halo.setAlpha(200)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(halo, width + 2))
        painter.drawRect(rect)
        pen = QPen(ink, width)
        if dashed:
            pen.setDashPattern([4.0, 2.0])
        painter.setPen(pen)
        painter.drawRect(rect)

    def _paint_label(self, painter: QPainter) -> None:
        cell = self._marks.cell or self._marks.outside
        if cell is None or not self._marks.label:
            return
        painter.setFont(self._font(12))
        metrics = QFontMetricsF(painter.font())
        size = QSize(
            math.ceil(metrics.horizontalAdvance(self._marks.label)) + 16, math.ceil(metrics.height()) + 6
        )
        place = self._grid.rect(*cell)
        x = place.right() + 10
        if x + size.width() > self.bar.x() - 2:
            x = max(place.left() - 10 - size.width(), 2.0)
        y = min(max(place.top() - size.height() - 6, 2.0), self.height() - size.height() - 2.0)
        rect = QRectF(round(x) + 0.5, round(y) + 0.5, size.width(), size.height())
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(QColor(self._theme.card))
        painter.drawRoundedRect(rect, 5, 5)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, self._marks.label)

    def _font(self, pixels: int) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(pixels)
        return font
