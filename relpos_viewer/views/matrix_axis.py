"""TokenAxis: the tokens along one side of a matrix. The wheel zooms this axis alone, a drag moves it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from relpos_viewer.views.axis_labels import GAP, AxisLabels, Label
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.theme import LIGHT, Theme

LABEL_PIXELS = 11
LONGEST = 72
"""Longer labels are cut with an ellipsis."""


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
        self._regular: list[Label] | None = None
        range_.changed.connect(self._forget)

    def set_labels(self, labels: tuple[str, ...]) -> None:
        """Take one label a cell."""
        self._labels = labels
        metrics = QFontMetricsF(self._font())
        self._longest = max((metrics.horizontalAdvance(label) for label in set(labels)), default=0.0)
        self._forget()

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
    def labels_on_show(self) -> list[Label]:
        """The labels as they are painted: those brought out first, then the others that have room beside them."""
        out = self._out()
        return out + self._beside(out)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the labels that fit, and the ones brought out in bold."""
        painter = QPainter(self)
        out, rotated = self._out(), self._geometry().rotated
        for labels, bold, ink in (
            (self._beside(out), False, self._theme.muted),
            (out, True, self._theme.text),
        ):
            painter.setFont(self._font(bold=bold))
            painter.setPen(QColor(ink))
            for label in labels:
                self._draw(painter, label, rotated)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the labels anew."""
        super().resizeEvent(event)
        self._forget()

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

    def _font(self, *, bold: bool = False) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(LABEL_PIXELS)
        font.setBold(bold)
        return font

    def _forget(self) -> None:
        self._regular = None
        self.update()

    def _geometry(self) -> AxisLabels:
        span = self._range.rows if self._axis == "query" else self._range.cols
        metrics = QFontMetricsF(self._font())
        return AxisLabels(self._axis, self._labels, self._longest, span, QSizeF(self.size()), metrics)

    def _beside(self, out: list[Label]) -> list[Label]:
        """The regular labels that have room beside those brought out."""
        # Kept while the pointer moves: only the labels brought out change then.
        if self._regular is None:
            self._regular = self._geometry().regular()
        return [label for label in self._regular if not _collides(label, out)]

    def _out(self) -> list[Label]:
        """The labels of the cell under the pointer and of the pinned one, if they do not collide."""
        geometry, bold = self._geometry(), QFontMetricsF(self._font(bold=True))
        labels: list[Label] = []
        for index in dict.fromkeys((self._cell, self._pinned)):
            label = None if index is None else geometry.brought_out(index, bold)
            if label is not None and not _collides(label, labels):
                labels.append(label)
        return labels

    def _place(self, point: QPointF) -> float:
        """The position along the axis in cells."""
        geometry = self._geometry()
        return geometry.span[0] + (point.y() if self._axis == "query" else point.x()) / geometry.cell

    def _draw(self, painter: QPainter, label: Label, rotated: bool) -> None:
        box = label.box
        if rotated:
            painter.save()
            painter.translate(box.center().x(), box.top())
            painter.rotate(-90)
            upright = QRectF(-box.height(), -box.width() / 2, box.height(), box.width())
            painter.drawText(upright, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label.text)
            painter.restore()
            return
        side = Qt.AlignmentFlag.AlignRight if self._axis == "query" else Qt.AlignmentFlag.AlignHCenter
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, label.text)


def _collides(label: Label, others: list[Label]) -> bool:
    """Whether a label would touch one of `others`, or repeat it."""
    box = label.box.adjusted(-3, -1, 3, 1)
    return any(label.index == other.index or box.intersects(other.box) for other in others)
