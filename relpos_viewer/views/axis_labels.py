"""Where the labels of an axis stand: geometry alone, so that it can be tested and kept between two paintings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF

from relpos_viewer.views.axis_ticks import Ticks, ticks

GAP = 5
"""Pixels between a label and the matrix."""

_LEAST_ROTATED = 34  # pixels of height from which upright labels are worth reading
_LONGEST_LYING = 46  # room a label lying along the key axis may ask for before labels are left out

Axis = Literal["query", "key"]


@dataclass(frozen=True)
class Label:
    """A label and its box in widget pixels; `text` is cut to what fits."""

    index: int
    text: str
    box: QRectF


@dataclass(frozen=True)
class AxisLabels:
    """One axis at one range and size.

    span: the cells on show, along `size` (its height for queries, its width for keys); longest: advance of the longest
    of `texts`.
    """

    axis: Axis
    texts: tuple[str, ...]
    longest: float
    span: tuple[float, float]
    size: QSizeF
    metrics: QFontMetricsF

    @property
    def cell(self) -> float:
        """Pixels a cell takes along the axis."""
        length = self.size.height() if self.axis == "query" else self.size.width()
        return max(length, 1.0) / (self.span[1] - self.span[0])

    @property
    def rotated(self) -> bool:
        """Whether key labels stand upright: where lying ones would not all fit, and there is the height."""
        return self._may_stand and self.ticks.tokens

    @property
    def ticks(self) -> Ticks:
        """The cells with a label."""
        upright = self.metrics.height() + 1
        if self.axis == "query":
            return ticks(self.span, self.cell, upright, upright * 2)
        lying = min(self.longest, _LONGEST_LYING) + 8
        index = self.metrics.horizontalAdvance(str(len(self.texts))) + 14
        return ticks(self.span, self.cell, min(upright, lying) if self._may_stand else lying, index)

    def regular(self) -> list[Label]:
        """The labels of the ticks. One that was pushed inwards at an end may leave no room for its neighbour."""
        shown, rotated = self.ticks, self.rotated
        room = max(shown.step * self.cell - 4, 16.0)
        labels: list[Label] = []
        for index in shown.indices:
            text = self.texts[index] if shown.tokens and index < len(self.texts) else str(index)
            label = self._label(index, text, room, rotated, self.metrics)
            if not labels or not labels[-1].box.intersects(label.box):
                labels.append(label)
        return labels

    def brought_out(self, index: int, bold: QFontMetricsF) -> Label | None:
        """The label of one cell in bold: its token, among indices with its index; None when it is not on show."""
        if not (self.span[0] - 0.5 <= index <= self.span[1] - 0.5 and index < len(self.texts)):
            return None
        text = self.texts[index]
        room = self.size.width() - GAP if self.axis == "query" else self.size.width() / 2
        if not self.ticks.tokens and text != str(index):
            both = f"{index} {text}"
            text = both if bold.horizontalAdvance(both) <= room else str(index)
        return self._label(index, text, room, self.rotated, bold)

    @property
    def _may_stand(self) -> bool:
        return self.axis == "key" and self.size.height() >= _LEAST_ROTATED and self.longest + 8 > self.cell

    def _label(self, index: int, text: str, room: float, rotated: bool, metrics: QFontMetricsF) -> Label:
        """The label in its box: `room` is what it may take along the key axis when lying."""
        high, middle = metrics.height(), (index + 0.5 - self.span[0]) * self.cell
        width, height = self.size.width(), self.size.height()
        if self.axis == "query":
            top = _inside(middle - high / 2, high, height)
            box, room = QRectF(0, top, width - GAP, high), width - GAP
        elif rotated:
            left = _inside(middle - high / 2, high, width)
            box, room = QRectF(left, GAP, high, height - GAP), height - GAP
        else:
            wide = min(metrics.horizontalAdvance(text) + 2.0, room)
            box = QRectF(_inside(middle - wide / 2, wide, width), GAP - 2, wide, high)
        return Label(index, metrics.elidedText(text, Qt.TextElideMode.ElideRight, room), box)


def _inside(start: float, extent: float, length: float) -> float:
    """`start` moved so that `extent` from there stays within 0…length."""
    return min(max(start, 0.0), max(length - extent, 0.0))
