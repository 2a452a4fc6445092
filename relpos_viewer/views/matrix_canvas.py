"""MatrixCanvas: the picture of one matrix and the gestures on it.

A widget of its own and no scene of pyqtgraph's: a scene takes two rounds of the event loop and half a millisecond of
Python to say that its picture is another one, four times a frame. So all matrices of a frame are painted at once.
"""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from relpos_viewer.export.appearance import Mark
from relpos_viewer.views.hatch import Hatching
from relpos_viewer.views.matrix_axis import zoom_factor
from relpos_viewer.views.matrix_image import MatrixImage
from relpos_viewer.views.matrix_overlay import Cell, MatrixOverlay
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.theme import LIGHT, Theme

DEAD_ZONE = 4
"""Pixels a hand may tremble during a click before it is a drag."""

_SCALE_PIXELS = 120.0  # a right-drag of so many pixels changes the extent by a factor e


class MatrixCanvas(QWidget):
    """The matrix, without its axes. Wheel zooms at the pointer, left or middle drag pans, right drag scales."""

    cell_entered = Signal(int, int)
    left = Signal()
    clicked = Signal(int, int)
    pressed = Signal()
    double_clicked = Signal()

    def __init__(self, range_: MatrixRange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._range = range_
        self._cell: tuple[int, int] | None = None
        self._pressed_at: QPointF | None = None
        self._last = QPointF()
        self._dragging = False
        self._tile = QRectF(0, 0, 1, 1)  # the cells that the image covers

        self._ground = QColor(LIGHT.card)
        self._image = MatrixImage()
        self._hatching = Hatching()
        self._overlay = MatrixOverlay(range_, self.update)
        # Whatever lies under the card need not be painted with each frame.
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        range_.changed.connect(self._place)

    @property
    def pixel_shape(self) -> tuple[int, int]:
        """(rows, columns) of device pixels that the matrix is painted on."""
        ratio = self.devicePixelRatioF()
        return max(round(self.height() * ratio), 1), max(round(self.width() * ratio), 1)

    def set_tile(
        self, codes: np.ndarray, lut: np.ndarray, rows: tuple[float, float], cols: tuple[float, float]
    ) -> None:
        """Show codes uint8 [h, w] with the colours lut uint8 [256, 4] over these cells."""
        self._image.set_codes(codes, lut)
        self._tile = QRectF(cols[0], rows[0], cols[1] - cols[0], rows[1] - rows[0])
        self._hatching.set_codes(codes)
        self._place()

    def set_cell(self, cell: tuple[int, int] | None) -> None:
        """Put the crosshair on (query, key)."""
        self._overlay.set_cell(cell)

    def set_pinned(self, pinned: Cell | None) -> None:
        """Keep the outline of a cell or row."""
        self._overlay.set_pinned(pinned)

    def set_offset(self, offset: int | None, queries: np.ndarray | None = None) -> None:
        """Light the diagonal key − query = offset, or only its cells at some queries, bool [query]."""
        self._overlay.set_offset(offset, queries)

    def set_look(self, theme: Theme, marks: dict[int, Mark]) -> None:
        """Take the colours of `theme`, and how each mark is hatched."""
        self._ground = QColor(theme.card)
        self._overlay.set_theme(theme)
        self._hatching.set_marks(marks)
        self.update()

    def cell_at(self, point: QPointF) -> tuple[int, int]:
        """The cell (query, key) under a point of this widget; the nearest one outside the matrix."""
        row, col = self._cells(point)
        n_query, n_key = self._range.counts
        return min(max(math.floor(row), 0), n_query - 1), min(max(math.floor(col), 0), n_key - 1)

    def point_of(self, i: int, j: int) -> QPointF:
        """The middle of cell (i, j) in this widget."""
        high, wide = self._scale()
        return QPointF((j + 0.5 - self._range.cols[0]) * wide, (i + 0.5 - self._range.rows[0]) * high)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the range over the whole widget."""
        super().resizeEvent(event)
        self._place()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the tile, the hatching of what has no colour, and the pointer's marks over both."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._ground)
        self._image.paint(painter)
        self._hatching.paint(painter)
        self._overlay.paint(painter)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer."""
        factor = zoom_factor(event)
        self._range.zoom(factor, factor, self._cells(event.position()))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click or a drag."""
        self._pressed_at = self._last = event.position()
        self._dragging = False
        self.pressed.emit()
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which cell the pointer entered, or carry on with a drag."""
        point = event.position()
        if self._pressed_at is None or not event.buttons():
            self._enter(self.cell_at(point))
            return
        if not self._dragging and (point - self._pressed_at).manhattanLength() < DEAD_ZONE:
            return
        self._dragging = True
        moved = point - self._last
        self._last = point
        if event.buttons() & Qt.MouseButton.RightButton:
            self._range.zoom(
                math.exp(moved.y() / _SCALE_PIXELS),
                math.exp(-moved.x() / _SCALE_PIXELS),
                self._cells(self._pressed_at),
            )
            return
        self.setCursor(Qt.CursorShape.ClosedHandCursor)
        high, wide = self._scale()
        self._range.pan(-moved.y() / high, -moved.x() / wide)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag, or click."""
        clicked = self._pressed_at is not None and not self._dragging
        self._pressed_at = None
        self._dragging = False
        self.setCursor(Qt.CursorShape.CrossCursor)
        if clicked and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(*self.cell_at(event.position()))
        self._enter(self.cell_at(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole matrix."""
        self._pressed_at = None
        self._range.reset()
        self.double_clicked.emit()
        event.accept()

    def leaveEvent(self, _event: QEvent) -> None:
        """Say that no cell is under the pointer any more."""
        self._cell = None
        self.left.emit()

    def _enter(self, cell: tuple[int, int]) -> None:
        if cell != self._cell:
            self._cell = cell
            self.cell_entered.emit(*cell)

    def _place(self) -> None:
        """Lay the picture where its cells are, hatching and overlay over it, in this widget's pixels."""
        size = QRectF(self.rect())
        high, wide = self._scale()
        target = QRectF(
            (self._tile.left() - self._range.cols[0]) * wide,
            (self._tile.top() - self._range.rows[0]) * high,
            self._tile.width() * wide,
            self._tile.height() * high,
        )
        self._overlay.set_size(size)
        self._image.set_place(target)
        self._hatching.set_place(size, target)
        self.update()

    def _scale(self) -> tuple[float, float]:
        """Pixels a row and a column."""
        rows, cols = self._range.rows, self._range.cols
        return self.height() / (rows[1] - rows[0]), self.width() / (cols[1] - cols[0])

    def _cells(self, point: QPointF) -> tuple[float, float]:
        """A point of this widget as (row, column) in cells."""
        high, wide = self._scale()
        return self._range.rows[0] + point.y() / high, self._range.cols[0] + point.x() / wide
