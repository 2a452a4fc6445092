"""LineChart: a small chart of a few lines that is only looked at, with a shaded part and a marked place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from relpos_viewer.views.curve_lines import runs
from relpos_viewer.views.curve_scale import value_text, value_ticks
from relpos_viewer.views.theme import LIGHT, Theme

MARGIN = 10.0
TICK_GAP = 5.0
LEGEND_LINE = 16.0


@dataclass(frozen=True, eq=False)
class Line:
    """One line: x places and y values [point], NaN where it breaks. An empty name stays out of the legend."""

    x: np.ndarray
    y: np.ndarray
    colour: str
    name: str = ""
    width: float = 1.6
    dots: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """What is drawn. Places along x are whatever the caller's axis makes of its numbers.

    Attributes:
        title: stands above.
        lines: the later the nearer to the eye.
        x_range: places of both ends.
        x_ticks: (place, text), ascending.
        x_title: below the axis.
        band: (x, low, high) behind the lines.
        shaded: places from … to that lie past the trained length.
        mark: place of the trained length, None when out of sight.
        note: muted words in the plot, for an empty chart too.
    """

    title: str
    lines: Sequence[Line]
    x_range: tuple[float, float]
    x_ticks: Sequence[tuple[float, str]]
    x_title: str
    band: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    shaded: tuple[float, float] | None = None
    mark: float | None = None
    note: str = ""


class LineChart(QFrame):
    """Paints a `Chart`."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setProperty("card", True)
        self.setMinimumSize(210, 150)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._theme: Theme = LIGHT
        self.chart: Chart | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.update()

    def set_chart(self, chart: Chart) -> None:
        """Show another chart."""
        self.chart = chart
        self.setAccessibleName(chart.title)
        self.update()

    def sizeHint(self) -> QSize:
        """Return a size at which a chart can be read."""
        return QSize(330, 210)

    def value_range(self) -> tuple[float, float]:
        """Return the ends of the value axis: every line and the band, with a little air."""
        assert self.chart is not None
        parts = [line.y for line in self.chart.lines]
        if self.chart.band is not None:
            parts += self.chart.band[1:]
        values = np.concatenate([np.asarray(part, np.float64) for part in parts] or [np.zeros(0)])
        values = values[np.isfinite(values)]
        if not len(values):
            return 0.0, 1.0
        low, high = float(values.min()), float(values.max())
        if high - low < 1e-9:
            low, high = low - 1, high + 1
        air = 0.08 * (high - low)
        return low - air, high + air

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw everything anew: it is a few hundred points."""
        super().paintEvent(event)
        chart = self.chart
        if chart is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(painter.font())
        text_height = metrics.height()
        painter.setPen(QColor(self._theme.text))
        painter.drawText(
            QPointF(MARGIN, MARGIN + metrics.ascent()),
            metrics.elidedText(chart.title, Qt.TextElideMode.ElideRight, self.width() - 2 * MARGIN),
        )
        low, high = self.value_range()
        top = MARGIN + text_height + 6 + self._paint_legend(painter, metrics)
        bottom = self.height() - MARGIN - 2 * text_height - 4
        step, ticks = value_ticks(low, high, max(bottom - top, 1.0))
        ticks = ticks if chart.lines else []
        texts = [value_text(value, step) for value in ticks]
        left = MARGIN + max(map(metrics.horizontalAdvance, texts), default=0.0) + TICK_GAP
        plot = QRectF(left, top, self.width() - MARGIN - 4 - left, bottom - top)
        if plot.width() < 20 or plot.height() < 20:
            painter.end()
            return
        first, last = chart.x_range

        def across(x: np.ndarray | float) -> np.ndarray | float:
            return plot.left() + (x - first) / (last - first) * plot.width()

        def down(y: np.ndarray | float) -> np.ndarray | float:
            return plot.bottom() - (y - low) / (high - low) * plot.height()

        self._paint_shade(painter, plot, across)
        painter.setPen(QPen(QColor(self._theme.grid), 1))
        for value, text in zip(ticks, texts, strict=True):
            y = float(np.floor(down(value))) + 0.5
            painter.setPen(QPen(QColor(self._theme.border if value == 0 else self._theme.grid), 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(QColor(self._theme.muted))
            where = QRectF(0, y - text_height / 2, plot.left() - TICK_GAP, text_height)
            painter.drawText(where, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
        self._paint_x_axis(painter, metrics, plot, across)
        painter.save()
        painter.setClipRect(plot.adjusted(-1, -1, 1, 1))
        if chart.band is not None:
            x, below, above = chart.band
            self._paint_band(painter, across(x), down(below), down(above))
        for line in chart.lines:
            self._paint_line(painter, line, across(line.x), down(line.y))
        painter.restore()
        if chart.note:
            painter.setPen(QColor(self._theme.muted))
            inner = plot.adjusted(8, 4, -8, -4)
            where = Qt.AlignmentFlag.AlignTop if chart.lines else Qt.AlignmentFlag.AlignCenter
            painter.drawText(inner, int(where | Qt.TextFlag.TextWordWrap), chart.note)
        painter.end()

    def _paint_legend(self, painter: QPainter, metrics: QFontMetricsF) -> float:
        """Draw the names of lines below the title; return the height that takes."""
        named = [line for line in self.chart.lines if line.name] if self.chart else []
        if not named:
            return 0.0
        x, y, height = MARGIN, MARGIN + metrics.height() + 6, metrics.height() + 2
        for line in named:
            width = LEGEND_LINE + 5 + metrics.horizontalAdvance(line.name) + 12
            if x + width > self.width() - MARGIN and x > MARGIN:
                x, y = MARGIN, y + height
            middle = y + metrics.height() / 2
            painter.setPen(QPen(QColor(line.colour), max(line.width, 1.6)))
            painter.drawLine(QPointF(x, middle), QPointF(x + LEGEND_LINE, middle))
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QPointF(x + LEGEND_LINE + 5, y + metrics.ascent()), line.name)
            x += width
        return y + height - MARGIN - metrics.height() - 6

    def _paint_shade(self, painter: QPainter, plot: QRectF, across) -> None:
        chart = self.chart
        if chart.shaded is not None:
            left, right = sorted(float(np.clip(across(x), plot.left(), plot.right())) for x in chart.shaded)
            shade = QColor(self._theme.mask)
            painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), shade)
        if chart.mark is not None:
            x = float(np.floor(across(chart.mark))) + 0.5
            pen = QPen(QColor(self._theme.muted), 1)
            pen.setDashPattern([3.0, 3.0])
            painter.setPen(pen)
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))

    def _paint_x_axis(self, painter: QPainter, metrics: QFontMetricsF, plot: QRectF, across) -> None:
        painter.setPen(QColor(self._theme.muted))
        end = -np.inf
        for place, text in self.chart.x_ticks:
            x, width = float(across(place)), metrics.horizontalAdvance(text)
            left = min(max(x - width / 2, plot.left() - 4), plot.right() + 4 - width)
            if left < end + 8 or not plot.left() - 1 <= x <= plot.right() + 1:
                continue
            painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 3))
            painter.drawText(QPointF(left, plot.bottom() + 4 + metrics.ascent()), text)
            end = left + width
        where = QRectF(plot.left(), plot.bottom() + 4 + metrics.height(), plot.width(), metrics.height())
        painter.drawText(where, int(Qt.AlignmentFlag.AlignCenter), self.chart.x_title)

    def _paint_band(self, painter: QPainter, x: np.ndarray, below: np.ndarray, above: np.ndarray) -> None:
        colour = QColor(self._theme.accent)
        colour.setAlphaF(0.16)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for first, last in runs(np.isfinite(below) & np.isfinite(above)):
            corners = [
                QPointF(a, b) for a, b in zip(x[first : last + 1], above[first : last + 1], strict=True)
            ]
            corners += [
                QPointF(a, b)
                for a, b in zip(x[first : last + 1][::-1], below[first : last + 1][::-1], strict=True)
            ]
            painter.drawPolygon(QPolygonF(corners))
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_line(self, painter: QPainter, line: Line, x: np.ndarray, y: np.ndarray) -> None:
        pen = QPen(QColor(line.colour), line.width)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        for first, last in runs(np.isfinite(y)):
            points = [QPointF(a, b) for a, b in zip(x[first : last + 1], y[first : last + 1], strict=True)]
            painter.drawPolyline(QPolygonF(points))
            if line.dots:
                painter.setBrush(QColor(self._theme.card))
                for point in points:
                    painter.drawEllipse(point, 3.0, 3.0)
                painter.setBrush(Qt.BrushStyle.NoBrush)


def thinned(x: np.ndarray, y: np.ndarray, columns: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest y of each of `columns` equal parts of the axis, so that no peak is lost.

    Args:
        x: ascending places [point].
        y: values [point].
        columns: parts.

    Returns:
        As many points as there are, or two for each part that has more.
    """
    if len(x) <= 2 * columns:
        return x, y
    part = np.minimum((x - x[0]) / (x[-1] - x[0]) * columns, columns - 1).astype(np.int64)  # [point]
    starts = np.flatnonzero(np.diff(part, prepend=-1))  # [part]
    low, high = np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)
    both = np.stack((low, high), 1)  # [part, low high]
    ends = np.append(starts[1:], len(x)) - 1
    falling = y[ends] < y[starts]
    both[falling] = both[falling, ::-1]
    return np.repeat((x[starts] + x[ends]) / 2, 2), both.ravel()
