"""Long curves as few pixels: thinning to what a screen can show, and strokes that stay fast when they zigzag."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from relpos_viewer.views.curve_scale import PlotMap

# A true wide pen has round joins, but Qt strokes 1,800 noisy points in 200 ms with it; this many stay under 1 ms.
WIDE_PEN_POINTS = 120
WIDE_PEN_WIDTH = 1.5
# A line that climbs this many plot heights in all is a texture: smooth edges would take 10 ms and show nothing.
ROUGH = 12


@dataclass(frozen=True, eq=False)
class Thinning:
    """How the offsets in view share the pixel columns of a plot.

    Attributes:
        first, last: columns of the curve that are drawn, one beyond each edge so that lines leave the plot.
        starts: first member of each pixel column, counted from `first`; None when points are sparser than pixels.
        x: pixels of what `line` returns.
    """

    first: int
    last: int
    starts: np.ndarray | None
    x: np.ndarray

    @classmethod
    def of(cls, plot: PlotMap, n: int) -> Thinning:
        """Share the offsets −(n−1) … n−1 in view of `plot`."""
        middle = n - 1
        low, high = plot.offset(plot.left), plot.offset(plot.left + plot.width)
        first = int(np.clip(math.floor(low) - 1 + middle, 0, 2 * middle))
        last = int(np.clip(math.ceil(high) + 1 + middle, 0, 2 * middle))
        x = plot.x(np.arange(first, last + 1) - middle)  # [shown]
        column = np.floor(x)
        starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
        if len(x) < 1.5 * len(starts):
            return cls(first, last, None, x)
        ends = np.append(starts[1:], len(x)) - 1
        return cls(first, last, starts, np.repeat((x[starts] + x[ends]) / 2, 2))

    @property
    def dense(self) -> bool:
        """Whether several offsets share a pixel column."""
        return self.starts is not None

    def line(self, values: np.ndarray) -> np.ndarray:
        """Return the values [2n−1] as one polyline over `x`: the lowest and highest of each pixel column, in the
        order that keeps the line short, so that no peak is lost."""
        shown = values[self.first : self.last + 1]
        if self.starts is None:
            return shown
        ends = np.append(self.starts[1:], len(shown)) - 1
        low = np.fmin.reduceat(shown, self.starts)
        high = np.fmax.reduceat(shown, self.starts)
        falling = shown[ends] < shown[self.starts]
        return np.stack([np.where(falling, high, low), np.where(falling, low, high)], axis=1).ravel()

    def any(self, flags: np.ndarray) -> np.ndarray:
        """Return where a flag [2n−1] holds for a vertex of `line`, bool of the length of `x`."""
        shown = flags[self.first : self.last + 1]
        if self.starts is None:
            return shown
        return np.repeat(np.logical_or.reduceat(shown, self.starts), 2)


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last place of each run of True."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def span(plot: PlotMap, low: int, high: int) -> QRectF:
    """Return the full-height rectangle of the offsets `low` … `high`, half an offset wider on each side."""
    left = float(np.clip(plot.x(low - 0.5), plot.left, plot.left + plot.width))
    right = float(np.clip(plot.x(high + 0.5), plot.left, plot.left + plot.width))
    return QRectF(left, plot.top, right - left, plot.height)


def stroke(painter: QPainter, plot: PlotMap, x: np.ndarray, values: np.ndarray, pen: QPen) -> None:
    """Draw the polyline of `values` over the pixels `x`; it breaks where a value is NaN."""
    y = np.clip(plot.y(values), plot.top - 2 * plot.height, plot.top + 3 * plot.height)
    pieces = [(0, len(y) - 1)] if not np.isnan(y).any() else runs(~np.isnan(y))
    for first, last in pieces:
        _stroke_piece(painter, x[first : last + 1], y[first : last + 1], pen, plot.height)


def _stroke_piece(painter: QPainter, x: np.ndarray, y: np.ndarray, pen: QPen, height: float) -> None:
    if len(x) == 1:
        x, y = np.repeat(x, 2) + [-0.5, 0.5], np.repeat(y, 2)
    if len(x) <= WIDE_PEN_POINTS and pen.widthF() > WIDE_PEN_WIDTH:
        painter.setPen(pen)
        painter.drawPolyline(pg.functions.arrayToQPolygonF(x, y))
        return
    # Hairlines beside each other: Qt's thin lines are a hundred times faster than its wide ones.
    hair = QPen(pen)
    hair.setWidth(1)
    hair.setCosmetic(True)
    painter.setPen(hair)
    if len(x) > WIDE_PEN_POINTS and np.abs(np.diff(y)).sum() > ROUGH * height:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.drawPolyline(pg.functions.arrayToQPolygonF(x, y))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        return
    ratio = painter.device().devicePixelRatioF()
    reach = max(pen.widthF() * ratio - 1, 0) / 2
    shifts = np.linspace(-reach, reach, math.ceil(2 * reach / 0.9) + 1) if reach > 0.25 else np.zeros(1)
    for shift in shifts / ratio:
        painter.drawPolyline(pg.functions.arrayToQPolygonF(x, y + shift))
        if shift:
            painter.drawPolyline(pg.functions.arrayToQPolygonF(x + shift, y))


def band(
    painter: QPainter, plot: PlotMap, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: QColor
) -> None:
    """Fill between two polylines over the same pixels."""
    known = ~(np.isnan(low) | np.isnan(high))
    limits = (plot.top - plot.height, plot.top + 2 * plot.height)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    for first, last in runs(known):
        part = slice(first, last + 1)
        upper, lower = np.clip(plot.y(high[part]), *limits), np.clip(plot.y(low[part]), *limits)
        painter.drawPolygon(
            pg.functions.arrayToQPolygonF(
                np.concatenate([x[part], x[part][::-1]]), np.concatenate([upper, lower[::-1]])
            )
        )
    painter.setBrush(Qt.BrushStyle.NoBrush)
