"""TokenAxis: the tokens along one side of a matrix. The wheel zooms this axis alone, a drag moves it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from relpos_viewer.views.axis_ticks import Ticks, ticks
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.theme import LIGHT, Theme

GAP = 5
"""Pixels between a label and the matrix."""

LABEL_PIXELS = 11
LONGEST = 72
"""Longer labels are cut with an ellipsis."""

_LEAST_ROTATED = 34  # pixels of height from which upright labels are worth reading
_LONGEST_LEVEL = 46  # room a label lying along the key axis may ask for


def zoom_factor(event: QWheelEvent) -> float:
    """What one turn of the wheel multiplies the extent by: a notch (120) zooms by a fifth."""
    return 0.9981 ** event.angleDelta().y()


class TokenAxis(QWidget):
    """Labels of the queries (left of the matrix, top to bottom) or the keys (below it).

    Its length along the axis is that of the matrix beside it, so pixel and cell agree. Two equal tokens
    are two labels.
    """

    def __init__(
        self, axis: Literal["query", "key"], range_: MatrixRange, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._axis = axis
        self._range = range_
        self._labels: tuple[str, ...] = ()
        self._longest = 0.0
        self._cell: int | None = None
        self._pinned: int | None = None
        self._theme = LIGHT
        self._dragged_from: QPointF | None = None
        range_.changed.connect(self.update)

    def set_labels(self, labels: tuple[str, ...]) -> None:
        """Take one label a cell."""
        self._labels = labels
        metrics = QFontMetricsF(self._font())
        self._longest = max((metrics.horizontalAdvance(label) for label in set(labels)), default=0.0)
        self.update()

    def set_cell(self, index: int | None) -> None:
        """Bring the label of the cell under the pointer out."""
        if index != self._cell:
            self._cell = index
            self.update()

    def set_pinned(self, index: int | None) -> None:
        """Keep the label of the pinned cell out."""
        if index != self._pinned:
            self._pinned = index
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    @property
    def wanted(self) -> int:
        """Pixels across the axis that show every label whole, or cut at `LONGEST`."""
        metrics = QFontMetricsF(self._font())
        index = metrics.horizontalAdvance(str(len(self._labels))) if self._axis == "query" else 0.0
        return round(min(max(self._longest, index), LONGEST)) + GAP + 6

    @property
    def shown_ticks(self) -> Ticks:
        """The cells that have a label now."""
        return self._ticks()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the labels that fit, then the ones brought out over them."""
        painter = QPainter(self)
        painter.setFont(self._font())
        out = [index for index in (self._pinned, self._cell) if index is not None and self._on_show(index)]
        shown = self._ticks()
        painter.setPen(QColor(self._theme.muted))
        # A label under one that is brought out would show through beside it.
        taken = [self._box(painter, index, self._out_text(painter, index, shown)) for index in out]
        for index in shown.indices:
            text = self._labels[index] if shown.tokens and index < len(self._labels) else str(index)
            if index not in out and not any(
                self._box(painter, index, text).adjusted(-3, -1, 3, 1).intersects(box) for box in taken
            ):
                self._draw(painter, index, text)
        painter.setPen(QColor(self._theme.text))
        bold = self._font()
        bold.setBold(True)
        painter.setFont(bold)
        for index in out:
            self._draw(painter, index, self._out_text(painter, index, shown))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom this axis at the pointer."""
        factor, at = zoom_factor(event), self._place(event.position())
        if self._axis == "query":
            self._range.zoom(factor, 1.0, (at, 0.0))
        else:
            self._range.zoom(1.0, factor, (0.0, at))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start to move along this axis."""
        self._dragged_from = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move along this axis."""
        if self._dragged_from is None:
            return
        cells = self._place(self._dragged_from) - self._place(event.position())
        self._dragged_from = event.position()
        self._range.pan(*((cells, 0.0) if self._axis == "query" else (0.0, cells)))

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        """Stop moving."""
        self._dragged_from = None

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Show this axis whole."""
        n_query, n_key = self._range.counts
        if self._axis == "query":
            self._range.set((0, n_query), self._range.cols)
        else:
            self._range.set(self._range.rows, (0, n_key))

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(LABEL_PIXELS)
        return font

    @property
    def _span(self) -> tuple[float, float]:
        return self._range.rows if self._axis == "query" else self._range.cols

    @property
    def _pixels_per_cell(self) -> float:
        length = self.height() if self._axis == "query" else self.width()
        return max(length, 1) / (self._span[1] - self._span[0])

    @property
    def _rotated(self) -> bool:
        """Whether key labels stand upright: where lying ones would not all fit, and there is the height."""
        lying_fit = self._longest + 8 <= self._pixels_per_cell
        return (
            self._axis == "key" and self.height() >= _LEAST_ROTATED and not lying_fit and self._ticks().tokens
        )

    def _ticks(self) -> Ticks:
        metrics = QFontMetricsF(self._font())
        upright = metrics.height() + 1
        index = metrics.horizontalAdvance(str(self._range.counts[1])) + 14
        if self._axis == "query":
            return ticks(self._span, self._pixels_per_cell, upright, upright * 2)
        lying = min(self._longest, _LONGEST_LEVEL) + 8
        stands = self.height() >= _LEAST_ROTATED and self._longest + 8 > self._pixels_per_cell
        return ticks(self._span, self._pixels_per_cell, min(upright, lying) if stands else lying, index)

    def _on_show(self, index: int) -> bool:
        return self._span[0] - 0.5 <= index <= self._span[1] - 0.5 and index < len(self._labels)

    def _out_text(self, painter: QPainter, index: int, shown: Ticks) -> str:
        """The token; among indices the index as well, or alone where both have no room."""
        if shown.tokens:
            return self._labels[index]
        both = f"{index} {self._labels[index]}"
        room = self.width() - GAP if self._axis == "query" else self.width() / 2
        return both if painter.fontMetrics().horizontalAdvance(both) <= room else str(index)

    def _place(self, point: QPointF) -> float:
        """The position along the axis in cells."""
        pixel = point.y() if self._axis == "query" else point.x()
        return self._span[0] + pixel / self._pixels_per_cell

    def _middle(self, index: int) -> float:
        return (index + 0.5 - self._span[0]) * self._pixels_per_cell

    def _box(self, painter: QPainter, index: int, text: str) -> QRectF:
        """Where a label stands, in widget pixels."""
        metrics = painter.fontMetrics()
        high, middle = metrics.height(), self._middle(index)
        if self._axis == "query":
            top = min(max(middle - high / 2, 0.0), max(self.height() - high, 0.0))
            return QRectF(0, top, self.width() - GAP, high)
        if self._rotated:
            left = min(max(middle - high / 2, 0.0), max(self.width() - high, 0.0))
            return QRectF(left, GAP, high, self.height() - GAP)
        room = (
            self.width() if self._cell == index else max(self._ticks().step * self._pixels_per_cell - 4, 16.0)
        )
        wide = min(metrics.horizontalAdvance(text) + 2.0, room)
        left = min(max(middle - wide / 2, 0.0), max(self.width() - wide, 0.0))
        return QRectF(left, GAP - 2, wide, high)

    def _draw(self, painter: QPainter, index: int, text: str) -> None:
        box = self._box(painter, index, text)
        metrics = painter.fontMetrics()
        if self._rotated:
            painter.save()
            painter.translate(box.center().x(), box.top())
            painter.rotate(-90)
            upright = QRectF(-box.height(), -box.width() / 2, box.height(), box.width())
            cut = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(box.height()))
            painter.drawText(upright, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, cut)
            painter.restore()
            return
        side = Qt.AlignmentFlag.AlignRight if self._axis == "query" else Qt.AlignmentFlag.AlignHCenter
        cut = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, cut)
