"""MatrixOverlay: everything drawn over a matrix for the pointer, so that a hover never makes a picture anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.theme import LIGHT, Theme

_WIDE_CELL = 9.0
"""Pixels from which the crosshair runs along the edges of a cell; below, through its middle."""

_OUTLINED_CELL = 14.0
"""Pixels from which the cells of a diagonal are outlined one by one; below, a dashed line goes through them."""

_LEAST_MARK = 7.0  # pixels of the square around a cell too small to be seen

Cell = tuple[int, int | None]
"""(query, key); with key None the whole row."""


class MatrixOverlay:
    """Crosshair, the cell under the pointer, its diagonal and the pinned cell, in the pixels of the widget."""

    def __init__(self, range_: MatrixRange, changed: Callable[[], None]) -> None:
        """Draw over the part `range_`, and tell `changed` when there is something else to draw."""
        self._range = range_
        self._changed = changed
        self._size = QRectF()
        self._cell: tuple[int, int] | None = None
        self._pinned: Cell | None = None
        self._offset: int | None = None
        self._queries: np.ndarray | None = None
        self._theme = LIGHT

    def set_size(self, size: QRectF) -> None:
        """Take the widget's extent in pixels."""
        self._size = size

    def set_cell(self, cell: tuple[int, int] | None) -> None:
        """Put the crosshair on (query, key)."""
        if cell != self._cell:
            self._cell = cell
            self._changed()

    def set_pinned(self, pinned: Cell | None) -> None:
        """Keep the outline of a cell, or of a row."""
        if pinned != self._pinned:
            self._pinned = pinned
            self._changed()

    def set_offset(self, offset: int | None, queries: np.ndarray | None = None) -> None:
        """Light the diagonal key − query = offset, or only its cells at some queries, bool [query]."""
        if offset != self._offset or queries is not self._queries:
            self._offset, self._queries = offset, queries
            self._changed()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self._changed()

    def paint(self, painter: QPainter) -> None:
        """Paint the marks, those of the pointer last."""
        painter.setClipRect(self._size)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._offset is not None:
            self._paint_diagonal(painter, self._offset)
        if self._pinned is not None:
            self._paint_pinned(painter, self._pinned)
        if self._cell is not None:
            self._paint_crosshair(painter, self._cell)

    def _scale(self) -> tuple[float, float]:
        """Pixels a row and a column."""
        rows, cols = self._range.rows, self._range.cols
        return self._size.height() / (rows[1] - rows[0]), self._size.width() / (cols[1] - cols[0])

    def _rect(self, row: float, col: float) -> QRectF:
        """A cell in pixels."""
        high, wide = self._scale()
        return QRectF((col - self._range.cols[0]) * wide, (row - self._range.rows[0]) * high, wide, high)

    def _paint_diagonal(self, painter: QPainter, offset: int) -> None:
        first, last = int(self._range.rows[0]) - 1, int(self._range.rows[1]) + 1
        shift = self._range.query_start + offset  # key = query + shift
        if min(self._scale()) >= _OUTLINED_CELL:
            rects = [
                self._rect(row, row + shift).adjusted(0.75, 0.75, -0.75, -0.75)
                for row in range(max(first, 0), min(last, self._range.counts[0]))
                if self._queries is None or self._queries[row]
            ]
            rects = [rect for rect in rects if rect.intersects(self._size)]
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(self._halo(2.5))
            painter.drawRects(rects)
            painter.setPen(QPen(QColor(self._theme.accent), 1.25))
            painter.drawRects(rects)
            return
        if self._queries is None:
            runs = [(first, last)]
        else:
            edges = np.flatnonzero(np.diff(np.concatenate([[0], self._queries, [0]])))  # [2 · run]
            runs = [(int(start), int(stop) - 1) for start, stop in edges.reshape(-1, 2)]
            runs = [(start, stop) for start, stop in runs if stop >= first and start <= last]
        lines = []
        for start, stop in runs:
            (begin, end) = (self._rect(row, row + shift).center() for row in (start, stop))
            # Half a cell on either side, or a run of one cell would be no line.
            half = QPointF(self._rect(0, 0).width(), self._rect(0, 0).height()) / 2
            lines.append(QLineF(begin - half, end + half))
        painter.setPen(self._halo(3.0))
        painter.drawLines(lines)
        painter.setPen(QPen(QColor(self._theme.accent), 1.4, Qt.PenStyle.CustomDashLine))
        pen = painter.pen()
        pen.setDashPattern([3.0, 2.0])
        painter.setPen(pen)
        painter.drawLines(lines)

    def _paint_pinned(self, painter: QPainter, pinned: Cell) -> None:
        row, col = pinned
        band = self._rect(row, 0)
        ink = QColor(self._theme.text)
        ink.setAlpha(150)
        painter.setPen(QPen(ink, 1.0))
        for y in (band.top(), band.bottom()) if band.height() >= _WIDE_CELL else (band.center().y(),):
            painter.drawLine(QPointF(0, y), QPointF(self._size.width(), y))
        if col is not None:
            self._paint_cell(painter, self._rect(row, col), 2.0)

    def _paint_crosshair(self, painter: QPainter, cell: tuple[int, int]) -> None:
        rect = self._rect(*cell)
        ink = QColor(self._theme.text)
        ink.setAlpha(110)
        painter.setPen(QPen(ink, 1.0))
        wide, high = rect.width() >= _WIDE_CELL, rect.height() >= _WIDE_CELL
        for x in (rect.left(), rect.right()) if wide else (rect.center().x(),):
            painter.drawLine(QPointF(x, 0), QPointF(x, self._size.height()))
        for y in (rect.top(), rect.bottom()) if high else (rect.center().y(),):
            painter.drawLine(QPointF(0, y), QPointF(self._size.width(), y))
        self._paint_cell(painter, rect, 1.5)

    def _paint_cell(self, painter: QPainter, rect: QRectF, width: float) -> None:
        less_x, less_y = max(_LEAST_MARK - rect.width(), 0) / 2, max(_LEAST_MARK - rect.height(), 0) / 2
        rect = rect.adjusted(-less_x, -less_y, less_x, less_y)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._theme.card), width + 2))
        painter.drawRect(rect)
        painter.setPen(QPen(QColor(self._theme.text), width))
        painter.drawRect(rect)

    def _halo(self, width: float) -> QPen:
        """A pen of the card's colour: what is drawn on it can be seen on every colour of the map."""
        colour = QColor(self._theme.card)
        colour.setAlpha(150)
        return QPen(colour, width)
