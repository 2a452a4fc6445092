"""LengthSlider: lengths of sequences on a logarithmic scale, with a mark where training ended."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider, QWidget

from relpos_viewer.core.extrapolation import LONGEST, SHORTEST
from relpos_viewer.views.theme import LIGHT, Theme

STEPS = 64  # in each doubling


def length_of(step: int) -> int:
    """Return the length at a step of the slider: whole powers of two, and rounder numbers the longer they are."""
    n = 2 ** (math.log2(SHORTEST) + step / STEPS)
    grain = max(1, 2 ** (math.floor(math.log2(n)) - 8))
    return min(max(round(n / grain) * grain, SHORTEST), LONGEST)


def step_of(n: float) -> int:
    """Return the step nearest to a length."""
    return round((math.log2(max(n, 1)) - math.log2(SHORTEST)) * STEPS)


class LengthSlider(QSlider):
    """Its value is a step; `length_of` says which length that is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setRange(0, step_of(LONGEST))
        self.setSingleStep(STEPS // 8)
        self.setPageStep(STEPS)
        self.setMinimumHeight(34)
        self.trained = SHORTEST
        self._theme = LIGHT

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.update()

    def set_trained(self, n: int) -> None:
        """Mark another trained length."""
        self.trained = n
        self.update()

    def mark_x(self) -> float:
        """Return the pixel column of the mark."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        handle = self.style().subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, self
        )
        step = min(max(step_of(self.trained), 0), self.maximum())
        free = self.width() - handle.width()
        return handle.width() / 2 + QStyle.sliderPositionFromValue(0, self.maximum(), step, free)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the slider, and the mark under it."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x, bottom = self.mark_x(), self.height() - 1.0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.muted))
        painter.drawPolygon(
            QPolygonF([QPointF(x, bottom - 7), QPointF(x - 4.5, bottom), QPointF(x + 4.5, bottom)])
        )
        painter.end()
