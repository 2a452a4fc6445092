"""RowBars: one query's row over its keys, as bars of what each key's score is made of and of its weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QLineF, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetrics,
    QHelpEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from relpos_viewer.core.field import LineValues
from relpos_viewer.core.levels import Levels, choose_levels, shared_levels
from relpos_viewer.core.numbers import short
from relpos_viewer.core.pooling import block_edges, pool
from relpos_viewer.views import names
from relpos_viewer.views.curve_lines import runs
from relpos_viewer.views.theme import LIGHT, Theme

LEGEND, LABELS, GAP, TICK = 17, 16, 10, 4  # pixels
TOUCHING = 1e-6  # pixels between two bars that are drawn as one shape
SIDE_BY_SIDE = 5.0  # pixels a key: below this, position is a line over the content's bars


@dataclass(frozen=True)
class _Column:
    """The row as it is drawn: one entry for each column of pixels, at most one column a pixel."""

    edges: np.ndarray  # int64 [column + 1], the keys each column stands for
    content: np.ndarray  # float32 [column]
    position: np.ndarray  # float32 [column], the edit included
    weight: np.ndarray  # float32 [column]
    own: np.ndarray | None  # float32 [column], position without the edit; None where nothing is edited
    before: np.ndarray | None  # float32 [column], weight without the edit
    visible: np.ndarray  # bool [column]


class RowBars(QWidget):
    """Two plots over the keys of one row: content and position above, weights below.

    More keys than pixels are pooled, each pixel showing its value of largest magnitude. Masked keys are hatched.
    """

    key_hovered = Signal(int)  # −1: the pointer left
    key_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.ROW_BARS)
        self.setAccessibleName("Row over keys")
        self.setMouseTracking(True)
        self.setMinimumHeight(130)
        self._theme = LIGHT
        self._row: LineValues | None = None
        self._labels: tuple[str, ...] = ()
        self._key: int | None = None
        self._hovered: int | None = None
        self._scale = "linear"
        self._columns: _Column | None = None
        self._terms = self._weights = Levels(0.0, 1.0)

    # What is shown

    def set_row(self, row: LineValues | None, labels: tuple[str, ...] = ()) -> None:
        """Show `row` with one label a key, or nothing."""
        self._row, self._labels = row, labels
        if self._key is not None and self._key >= len(labels):
            self._key = None
        if row is not None:
            terms = (row.content, row.positional, row.positional + row.edit)
            self._terms = _with_zero(shared_levels([choose_levels(values, row.visible) for values in terms]))
            weights = (row.weight, row.before_weight)
            levels = shared_levels(
                [choose_levels(values, row.visible, scale=self._scale) for values in weights]
            )
            self._weights = _with_zero(levels) if levels.scale == "linear" else levels
        self._pool()

    def set_key(self, key: int | None) -> None:
        """Mark the key under the cursor."""
        if key != self._key:
            self._key = key
            self.update()

    def set_weights_scale(self, scale: str) -> None:
        """Draw weights on a "linear" or a "log" axis."""
        if scale != self._scale:
            self._scale = scale
            self.set_row(self._row, self._labels)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def key_at(self, x: float) -> int:
        """Return the key drawn at `x` (its column's heaviest, where several share a pixel), or −1 beside the plot."""
        area = self._area()
        columns = self._columns
        if columns is None or self._row is None or not area.left() <= x < area.right():
            return -1
        column = int((x - area.left()) / area.width() * len(columns.visible))
        first, last = columns.edges[column], columns.edges[column + 1]
        weights = np.nan_to_num(np.where(self._row.visible, self._row.weight, -1.0)[first:last], nan=2.0)
        return int(first + weights.argmax())

    def ticks(self) -> tuple[list[str], list[str]]:
        """Return the numbers on the axes of the terms and of the weights."""
        return _ticks(self._terms), _ticks(self._weights)

    def sizeHint(self) -> QSize:
        """Return the size the sketch of the window gives it."""
        return QSize(306, 230)

    # Geometry

    def _area(self) -> QRectF:
        """The common span of both plots, from the first key's left edge to the last one's right edge."""
        metrics = QFontMetrics(self._small())
        widest = max(
            (
                metrics.horizontalAdvance(text)
                for levels in (self._terms, self._weights)
                for text in _ticks(levels)
            ),
            default=20,
        )
        left = widest + TICK + 3
        return QRectF(left, 0, max(self.width() - left - 2, 1), self.height())

    def _plots(self) -> tuple[QRectF, QRectF]:
        area = self._area()
        free = self.height() - 2 * LEGEND - GAP - LABELS
        upper = round(free * 0.56)
        terms = QRectF(area.left(), LEGEND, area.width(), upper)
        weights = QRectF(area.left(), LEGEND + upper + GAP + LEGEND, area.width(), free - upper)
        return terms, weights

    def _small(self):
        font = self.font()
        font.setPixelSize(11)
        return font

    def _pool(self) -> None:
        row = self._row
        if row is None:
            self._columns = None
            self.update()
            return
        keys = len(row.visible)
        count = max(1, min(keys, int(self._area().width())))
        edited = bool(row.edit.any())
        rows = [row.content, row.positional + row.edit, row.weight]
        rows += [row.positional, row.before_weight] if edited else []
        lines = np.stack([np.asarray(values, np.float32) for values in rows])  # [line, key]
        visible = np.broadcast_to(np.asarray(row.visible, bool), lines.shape).copy()  # [line, key]
        whole = (0, len(lines)), (0, keys)
        pooled, shown = pool(lines, visible, *whole, (len(lines), count), "max")  # [line, column]
        content, position, weight = pooled[:3]
        own, before = pooled[3:] if edited else (None, None)
        self._columns = _Column(block_edges(keys, count), content, position, weight, own, before, shown[0])
        self.update()

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint both plots."""
        if self._columns is None:
            return
        painter = QPainter(self)
        painter.setFont(self._small())
        theme, columns = self._theme, self._columns
        terms, weights = self._plots()
        grey = QColor(theme.muted)
        grey.setAlphaF(0.62)
        self._legend(painter, 0, "score units", ((grey, "content"), (QColor(theme.accent), "position")))
        ghosts = ((None, "before"),) if columns.before is not None else ()
        self._legend(painter, int(weights.top()) - LEGEND, "weight", ((QColor(theme.text), "now"), *ghosts))
        for plot, levels in ((terms, self._terms), (weights, self._weights)):
            self._axis(painter, plot, levels)
            self._hatch(painter, plot)
        self._mark_key(painter, terms, weights)
        self._draw_terms(painter, terms, grey)
        self._draw_weights(painter, weights)
        for plot, levels, values in (
            (terms, self._terms, (columns.content, columns.position)),
            (weights, self._weights, (columns.weight,)),
        ):
            self._draw_odd(painter, plot, levels, values)
            self._baseline(painter, plot, levels)
        self._label_keys(painter, weights)
        if not columns.visible.any():
            painter.setPen(QColor(theme.muted))
            painter.drawText(terms, Qt.AlignmentFlag.AlignCenter, "no visible key")

    def _legend(self, painter: QPainter, top: int, unit: str, entries: tuple) -> None:
        metrics = painter.fontMetrics()
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRect(0, top, self.width(), LEGEND), Qt.AlignmentFlag.AlignLeft, unit)
        x = self.width() - 2
        for colour, name in reversed(entries):
            x -= metrics.horizontalAdvance(name)
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QRect(x, top, 200, LEGEND), Qt.AlignmentFlag.AlignLeft, name)
            x -= 13
            box = QRectF(x + 0.5, top + 2.5, 8, 8)
            if colour is None:
                painter.setPen(QPen(QColor(self._theme.muted), 1, Qt.PenStyle.DotLine))
                painter.drawRect(box)
            else:
                painter.fillRect(box, colour)
            x -= 10

    def _axis(self, painter: QPainter, plot: QRectF, levels: Levels) -> None:
        # A tick needs the height of its text, so a low plot gets few.
        for value, text in zip(_tick_values(levels), _ticks(levels), strict=True):
            y = _y(plot, levels, value)
            painter.setPen(QColor(self._theme.grid))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(QColor(self._theme.muted))
            box = QRectF(0, y - 8, plot.left() - TICK, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)

    def _baseline(self, painter: QPainter, plot: QRectF, levels: Levels) -> None:
        y = _y(plot, levels, 0.0)
        painter.setPen(QColor(self._theme.faint))
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))

    def _span(self, plot: QRectF, first: int, last: int) -> QRectF:
        """The columns first … last − 1 of a plot, over its whole height."""
        width = plot.width() / len(self._columns.visible)
        return QRectF(plot.left() + first * width, plot.top(), (last - first) * width, plot.height())

    def _hatch(self, painter: QPainter, plot: QRectF) -> None:
        hidden = np.concatenate([[False], ~self._columns.visible, [False]])
        turns = np.flatnonzero(hidden[1:] != hidden[:-1]).tolist()
        for first, last in zip(turns[::2], turns[1::2], strict=True):
            area = self._span(plot, first, last)
            painter.fillRect(area, QColor(self._theme.mask))
            painter.fillRect(area, QBrush(QColor(self._theme.border), Qt.BrushStyle.BDiagPattern))

    def _mark_key(self, painter: QPainter, *plots: QRectF) -> None:
        key = self._key if self._hovered is None else self._hovered
        if key is None:
            return
        column = int(np.searchsorted(self._columns.edges, key, side="right")) - 1
        for plot in plots:
            band = self._span(plot, column, column + 1)
            if band.width() < 3:
                band = band.adjusted(-1, 0, 1, 0)
            ink = QColor(self._theme.text)
            ink.setAlphaF(0.13)
            painter.fillRect(band, ink)

    def _draw_terms(self, painter: QPainter, plot: QRectF, grey: QColor) -> None:
        columns = self._columns
        each = plot.width() / len(columns.visible)
        accent = QColor(self._theme.accent)
        if each >= SIDE_BY_SIDE:
            bar = min((each - 1.5) / 2, 12.0)
            middles = plot.left() + (np.arange(len(columns.visible)) + 0.5) * each
            self._bars(painter, plot, self._terms, columns.content, middles - bar, bar, grey)
            self._bars(painter, plot, self._terms, columns.position, middles, bar, accent)
            if columns.own is not None:
                self._tops(painter, plot, self._terms, columns.own, middles, bar, accent)
            return
        lefts = plot.left() + np.arange(len(columns.visible)) * each
        self._bars(painter, plot, self._terms, columns.content, lefts, each, grey)
        drawn = columns.visible & np.isfinite(columns.position)
        heights = _heights(plot, self._terms, columns.position)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(accent, 1.5))
        for first, last in runs(drawn):
            part = slice(first, last + 1)
            painter.drawPolyline(_steps(lefts[part], heights[part], each))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _draw_weights(self, painter: QPainter, plot: QRectF) -> None:
        columns = self._columns
        each = plot.width() / len(columns.visible)
        bar = min(each - 1, 16.0) if each >= 3 else each
        lefts = plot.left() + (np.arange(len(columns.visible)) + 0.5) * each - bar / 2
        self._bars(painter, plot, self._weights, columns.weight, lefts, bar, QColor(self._theme.text))
        if columns.before is None:
            return
        ink = QColor(self._theme.muted)
        if bar < 3:
            self._tops(painter, plot, self._weights, columns.before, lefts, bar, ink)
            return
        painter.setPen(QPen(ink, 1, Qt.PenStyle.DotLine))
        base = _y(plot, self._weights, 0.0)
        heights = _heights(plot, self._weights, columns.before)
        drawn = columns.visible & np.isfinite(columns.before) & (base - heights > 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawRects(
            [
                QRectF(left, y, bar, base - y)
                for left, y in zip(lefts[drawn].tolist(), heights[drawn].tolist(), strict=True)
            ]
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _tops(
        self,
        painter: QPainter,
        plot: QRectF,
        levels: Levels,
        values: np.ndarray,
        lefts: np.ndarray,
        width: float,
        colour: QColor,
    ) -> None:
        """Draw the tops alone of bars that stood there before the edit."""
        painter.setPen(QPen(colour, 1))
        drawn = self._columns.visible & np.isfinite(values)
        heights = _heights(plot, levels, values)
        painter.drawLines(
            [
                QLineF(left, y, left + width, y)
                for left, y in zip(lefts[drawn].tolist(), heights[drawn].tolist(), strict=True)
            ]
        )

    def _bars(
        self,
        painter: QPainter,
        plot: QRectF,
        levels: Levels,
        values: np.ndarray,
        lefts: np.ndarray,
        width: float,
        colour: QColor,
    ) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        base = _y(plot, levels, 0.0)
        drawn = self._columns.visible & np.isfinite(values) & (values != 0)
        heights = _heights(plot, levels, values)
        if len(lefts) > 1 and lefts[1] - lefts[0] - width < TOUCHING:
            painter.drawImage(plot.topLeft(), self._solid(plot, np.where(drawn, heights, base), base, colour))
        else:
            painter.drawRects(
                [
                    QRectF(left, min(y, base), width, abs(y - base))
                    for left, y in zip(lefts[drawn].tolist(), heights[drawn].tolist(), strict=True)
                ]
            )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _solid(self, plot: QRectF, heights: np.ndarray, base: float, colour: QColor) -> QImage:
        """Return bars that touch as a picture of the plot: Qt takes 1.2 ms for their outline, and more one by one.

        heights: [column] y of each column's end; base: y of their common foot.
        """
        ratio = self.devicePixelRatioF()
        wide, high = max(round(plot.width() * ratio), 1), max(round(plot.height() * ratio), 1)
        column = (np.arange(wide) + 0.5) * (len(heights) / wide)  # [x]
        ends = ((heights - plot.top()) * ratio).astype(np.float32)[column.astype(np.int64)]  # [x]
        foot = np.float32((base - plot.top()) * ratio)
        top, bottom = np.minimum(ends, foot), np.maximum(ends, foot)  # [x]
        y = np.arange(high, dtype=np.float32)[:, None]  # [y, 1]
        # The share of each pixel that a bar covers, as smooth edges have it.
        cover = np.clip(np.minimum(bottom, y + 1) - np.maximum(top, y), 0, 1)  # [y, x]
        alpha = np.arange(256) / 255 * colour.alphaF()  # [256]
        channels = (alpha * 255, alpha * colour.red(), alpha * colour.green(), alpha * colour.blue())
        shades = np.zeros(256, np.uint32)
        for channel in channels:
            shades = (shades << 8) | np.rint(channel).astype(np.uint32)
        pixels = shades[(cover * 255 + 0.5).astype(np.uint8)]  # [y, x]
        image = QImage(
            pixels.data, wide, high, 4 * wide, QImage.Format.Format_ARGB32_Premultiplied
        ).copy()  # as the array goes with this call
        image.setDevicePixelRatio(ratio)
        return image

    def _draw_odd(
        self, painter: QPainter, plot: QRectF, levels: Levels, rows: tuple[np.ndarray, ...]
    ) -> None:
        """Mark what has no height: a cross for NaN, a triangle at the edge for an infinity."""
        columns = self._columns
        each = plot.width() / len(columns.visible)
        half = min(max(each / 2, 2.5), 4.0)
        base = _y(plot, levels, 0.0)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        danger = QColor(self._theme.danger)
        for values in rows:
            last = -np.inf
            for column in np.flatnonzero(columns.visible & ~np.isfinite(values)).tolist():
                x = plot.left() + (column + 0.5) * each
                if x - last < 2 * half + 2:  # a whole row of them stays legible
                    continue
                last = x
                painter.setPen(QPen(danger, 1.5))
                if np.isnan(values[column]):
                    painter.drawLine(QPointF(x - half, base - half), QPointF(x + half, base + half))
                    painter.drawLine(QPointF(x - half, base + half), QPointF(x + half, base - half))
                    continue
                up = values[column] > 0
                tip, foot = (plot.top(), plot.top() + 6) if up else (plot.bottom(), plot.bottom() - 6)
                painter.setBrush(danger)
                painter.drawPolygon(
                    QPolygonF([QPointF(x, tip), QPointF(x - half, foot), QPointF(x + half, foot)])
                )
                painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _label_keys(self, painter: QPainter, plot: QRectF) -> None:
        """Write as many key labels as fit without touching, the marked key's first."""
        metrics = painter.fontMetrics()
        count = len(self._labels)
        each = plot.width() / max(count, 1)
        marked = self._key if self._hovered is None else self._hovered
        taken: list[tuple[float, float]] = []
        step = max(1, int(np.ceil(14 / each)))
        order = ([] if marked is None else [marked]) + [0, *range(step, count, step)]
        for key in order:
            if key >= count:
                continue
            text = metrics.elidedText(self._labels[key], Qt.TextElideMode.ElideRight, 84)
            width = metrics.horizontalAdvance(text)
            middle = plot.left() + (key + 0.5) * each
            left = min(max(middle - width / 2, 0.0), self.width() - width)
            if any(left < stop + 6 and left + width > start - 6 for start, stop in taken):
                continue
            taken.append((left, left + width))
            painter.setPen(QColor(self._theme.text if key == marked else self._theme.muted))
            box = QRectF(left - 1, plot.bottom() + 2, width + 2, LABELS)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, text)

    # Hands

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Pool anew to the pixels there are."""
        self._pool()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Report the key under the pointer."""
        key = self.key_at(event.position().x())
        self._hover(None if key < 0 else key)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Report a click on a key."""
        key = self.key_at(event.position().x())
        if key >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.key_clicked.emit(key)

    def leaveEvent(self, _event: QEvent) -> None:
        """Report that the pointer left."""
        self._hover(None)

    def event(self, event: QEvent) -> bool:
        """Show the numbers of the key under the pointer as a tooltip."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            key = self.key_at(event.pos().x())
            QToolTip.showText(event.globalPos(), self.describe(key) if key >= 0 else "", self)
            return True
        return super().event(event)

    def describe(self, key: int) -> str:
        """Return the numbers of one key in words."""
        row = self._row
        name = f"key {key} “{self._labels[key]}”"
        if not row.visible[key]:
            return f"{name}: masked"
        content = short(float(row.content[key]), signed=True)
        position = short(float(row.positional[key] + row.edit[key]), signed=True)
        return f"{name}: content {content}, position {position}, weight {short(float(row.weight[key]))}"

    def _hover(self, key: int | None) -> None:
        if key != self._hovered:
            self._hovered = key
            self.key_hovered.emit(-1 if key is None else key)
            self.update()


def _with_zero(levels: Levels) -> Levels:
    """Bars stand on zero, so the axis always holds it, and a little air at the far ends."""
    low, high = min(levels.low, 0.0), max(levels.high, 0.0)
    air = (high - low) * 0.04
    return Levels(low - air if low < 0 else 0.0, high + air if high > 0 else 0.0)


def _tick_values(levels: Levels) -> tuple[float, ...]:
    return levels.ticks(3)


def _ticks(levels: Levels) -> list[str]:
    return [short(value) for value in _tick_values(levels)]


def _heights(plot: QRectF, levels: Levels, values: np.ndarray) -> np.ndarray:
    """Return the y of each value; on a logarithmic axis everything below the floor stands on it."""
    with np.errstate(invalid="ignore"):
        return plot.bottom() - np.clip(levels.fraction(values), 0.0, 1.0) * plot.height()


def _steps(lefts: np.ndarray, heights: np.ndarray, width: float) -> QPolygonF:
    """Return the line along the tops of columns that touch: [column] left edges and y."""
    x = np.stack([lefts, lefts + width], axis=1).ravel()  # [2 · column]
    return pg.functions.arrayToQPolygonF(x, np.repeat(heights, 2))


def _y(plot: QRectF, levels: Levels, value: float) -> float:
    return float(_heights(plot, levels, np.float64(value)))
