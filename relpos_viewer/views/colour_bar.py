"""ColourBar: which number has which colour, with round numbers that never collide, and the marks in the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from relpos_viewer.core.levels import Levels
from relpos_viewer.core.numbers import number_texts, short
from relpos_viewer.core.quantise import (
    BELOW,
    BEYOND,
    LAST_VALUE,
    MARKS,
    MASKED,
    NAN,
    NEG_INF,
    NO_KEY,
    POS_INF,
)
from relpos_viewer.export.appearance import Mark
from relpos_viewer.views.hatch import hatch_brush
from relpos_viewer.views.theme import LIGHT, Theme

BAR_PIXELS = 9
"""Thickness of the strip of colour."""

_TEXT_PIXELS = 11
_TICK = 3  # length of a tick
_GAP = 8  # least distance between two labels
_SWATCH_GAP = 8
_WORDLESS = 190  # a lying bar shorter than this has room for its numbers, not for words beside them

_WORDS: dict[int, str] = {
    MASKED: "masked",
    NO_KEY: "no key",
    BEYOND: "beyond",
    NEG_INF: "−∞",
    POS_INF: "+∞",
    NAN: "NaN",
}
_ORDER = (NEG_INF, POS_INF, NAN, BEYOND, NO_KEY, MASKED)


@dataclass(frozen=True)
class Tick:
    """A number on the bar: its place as a fraction from low to high, and its text's extent along the strip in
    pixels."""

    fraction: float
    text: str
    start: float
    stop: float


class ColourBar(QWidget):
    """A strip of colour with ticks at both ends, at zero and in between where there is room, and a legend of marks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._levels = Levels(0.0, 1.0)
        self._strip = QImage()
        self._lut = np.zeros((256, 4), np.uint8)
        self._present: tuple[int, ...] = ()
        self._marks: dict[int, Mark] = {}
        self._theme = LIGHT
        self._orientation: Literal["horizontal", "vertical"] = "horizontal"

    def set_scale(self, levels: Levels, lut: np.ndarray) -> None:
        """Show these limits, and colours uint8 [256, 4]."""
        if levels == self._levels and lut is self._lut:
            return
        self._levels, self._lut = levels, lut
        colours = np.ascontiguousarray(lut[: LAST_VALUE + 1])  # [247, 4]
        self._strip = QImage(
            colours.data, len(colours), 1, 4 * len(colours), QImage.Format.Format_RGBA8888
        ).copy()
        self.update()

    def set_present(self, codes: np.ndarray) -> None:
        """Explain the marks that occur in a tile's codes, uint8 [h, w]."""
        present = tuple(code for code in (BELOW, *_ORDER) if bool((codes == code).any()))
        if present != self._present:
            self._present = present
            self.update()

    def set_look(self, theme: Theme, marks: dict[int, Mark]) -> None:
        """Take the colours of `theme`, and how each mark is hatched."""
        self._theme, self._marks = theme, marks
        self.update()

    def set_orientation(self, orientation: Literal["horizontal", "vertical"]) -> None:
        """Lie below the matrix, or stand at its right."""
        if orientation != self._orientation:
            self._orientation = orientation
            self.update()

    @property
    def across(self) -> int:
        """Pixels it needs across its length."""
        if self._orientation == "horizontal":
            return BAR_PIXELS + _TICK + 15
        return BAR_PIXELS + _TICK + 46

    @property
    def ticks_on_show(self) -> list[Tick]:
        """The ticks as they are painted, from low to high."""
        return self._ticks(self._strip_rect())

    @property
    def legend_texts(self) -> tuple[str, ...]:
        """What the legend says about the marks of the picture."""
        return tuple(self._word(code) for code in self._present)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint strip, ticks and legend."""
        painter = QPainter(self)
        painter.setFont(self._font())
        strip = self._strip_rect()
        if self._orientation == "horizontal":
            painter.drawImage(strip, self._strip)
        else:
            painter.save()
            painter.translate(strip.left(), strip.bottom())
            painter.rotate(-90)
            painter.drawImage(QRectF(0, 0, strip.height(), strip.width()), self._strip)
            painter.restore()
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.drawRect(strip.adjusted(-0.5, -0.5, 0.5, 0.5))
        for tick in self._ticks(strip):
            self._draw_tick(painter, strip, tick)
        for code, rect in self._legend():
            self._draw_mark(painter, code, rect)

    def event(self, event: QEvent) -> bool:
        """Explain the mark under the pointer."""
        if isinstance(event, QHelpEvent):
            for code, rect in self._legend():
                if rect.contains(QPointF(event.pos())):
                    QToolTip.showText(event.globalPos(), self._sentence(code), self)
                    return True
        return super().event(event)

    def _font(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(_TEXT_PIXELS)
        return font

    def _word(self, code: int) -> str:
        return f"< {short(self._levels.low)}" if code == BELOW else _WORDS[code]

    def _sentence(self, code: int) -> str:
        if code == BELOW:
            return (
                f"Below the floor of the colours, {short(self._levels.low)}: too small to show, or exactly 0"
            )
        words = MARKS[code]
        return words[0].upper() + words[1:]

    @property
    def _has_words(self) -> bool:
        return self._orientation == "vertical" or self.width() >= _WORDLESS

    def _legend(self) -> list[tuple[int, QRectF]]:
        """Each mark in the picture with its place (swatch and word together)."""
        metrics = QFontMetricsF(self._font())
        places = []
        if self._orientation == "horizontal":
            right = float(self.width())
            for code in reversed(self._present):
                word = metrics.horizontalAdvance(self._word(code)) if self._has_words else 0.0
                wide = max(word, 2.0 * BAR_PIXELS)
                places.append((code, QRectF(right - wide, 0, wide, self.height())))
                right -= wide + _SWATCH_GAP
            return places
        bottom = float(self.height())
        high = BAR_PIXELS + 4.0 + metrics.height()
        for code in reversed(self._present):
            places.append((code, QRectF(0, bottom - high, self.width(), high)))
            bottom -= high + 4
        return places

    def _strip_rect(self) -> QRectF:
        """Where the strip lies: what the legend leaves."""
        legend = self._legend()
        if self._orientation == "horizontal":
            right = min((rect.left() - _SWATCH_GAP - 4 for _, rect in legend), default=float(self.width()))
            return QRectF(0.5, 0.5, max(right, 20.0) - 1, BAR_PIXELS)
        bottom = min((rect.top() - _SWATCH_GAP for _, rect in legend), default=float(self.height()))
        return QRectF(0.5, 0.5, BAR_PIXELS, max(bottom, 20.0) - 1)

    def _ticks(self, strip: QRectF) -> list[Tick]:
        """Both ends, then zero, then round numbers, as far as they have room."""
        metrics = QFontMetricsF(self._font())
        lying = self._orientation == "horizontal"
        length, gap = (strip.width(), _GAP) if lying else (strip.height(), 0)
        levels = self._levels
        wanted = [levels.low, levels.high]
        texts = number_texts(wanted)
        if levels.scale == "linear" and levels.low < 0 < levels.high:
            wanted.append(0.0)
            texts.append("0")
        between = levels.ticks(max(int(length // (34 if lying else 22)), 2))
        kept: list[Tick] = []
        for value, text in zip((*wanted, *between), (*texts, *number_texts(between)), strict=True):
            fraction = float(levels.fraction(value))
            size = metrics.horizontalAdvance(text) if lying else metrics.height()
            # Labels at the ends of the strip are pushed inwards.
            middle = (fraction if lying else 1 - fraction) * length
            start = min(max(middle - size / 2, 0.0), max(length - size, 0.0))
            tick = Tick(fraction, text, start, start + size)
            if all(tick.start >= other.stop + gap or tick.stop + gap <= other.start for other in kept):
                kept.append(tick)
        return sorted(kept, key=lambda tick: tick.fraction)

    def _draw_tick(self, painter: QPainter, strip: QRectF, tick: Tick) -> None:
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(self._theme.muted))
        if self._orientation == "horizontal":
            x = strip.left() + tick.fraction * strip.width()
            painter.drawLine(QPointF(x, strip.bottom() + 1), QPointF(x, strip.bottom() + 1 + _TICK))
            baseline = strip.bottom() + _TICK + metrics.ascent() + 1
            painter.drawText(QPointF(strip.left() + tick.start, baseline), tick.text)
            return
        y = strip.bottom() - tick.fraction * strip.height()
        painter.drawLine(QPointF(strip.right() + 1, y), QPointF(strip.right() + 1 + _TICK, y))
        baseline = strip.top() + tick.start + metrics.ascent()
        painter.drawText(QPointF(strip.right() + _TICK + 4, baseline), tick.text)

    def _draw_mark(self, painter: QPainter, code: int, place: QRectF) -> None:
        lying = self._orientation == "horizontal"
        wide = place.width() if lying else 2.0 * BAR_PIXELS
        swatch = QRectF(place.left() + 0.5, place.top() + 0.5, wide - 1, BAR_PIXELS)
        red, green, blue, _ = (int(channel) for channel in self._lut[code])
        painter.fillRect(swatch, QColor(red, green, blue))
        if code in self._marks and self._marks[code].hatch:
            painter.fillRect(swatch, hatch_brush(self._marks[code], self.devicePixelRatioF()))
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(QBrush(Qt.BrushStyle.NoBrush))
        painter.drawRect(swatch.adjusted(-0.5, -0.5, 0.5, 0.5))
        if not self._has_words:
            return
        painter.setPen(QColor(self._theme.muted))
        baseline = swatch.bottom() + (_TICK if lying else 1) + QFontMetricsF(painter.font()).ascent() + 1
        painter.drawText(QPointF(place.left(), baseline), self._word(code))
