"""Where the cards of the equation go, and the signs between them.

All four cards are of one size to the pixel, so that one tile shape serves them all: a layout manager
shares out odd pixels.
"""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from relpos_viewer.views.theme import LIGHT, Theme

_PLUS, _SOFTMAX = 26, 58
"""Pixels between two cards for + or =, and for the arrow of the softmax."""

_ROW_GAP = 12

_SMALLEST = {"row": QSize(160, 180), "grid": QSize(230, 150)}
"""Smallest cards with a picture of 60 pixels: tall ones have their colour bar below, wide ones beside it."""


def equation_places(layout: str, size: QSize) -> tuple[list[QRect], list[QRect]]:
    """Rectangles of the four cards, and of +, = and softmax, in a widget of `size`; alone, each card takes it all."""
    width, height = size.width(), size.height()
    if layout == "row":
        card = (width - 2 * _PLUS - _SOFTMAX) // 4
        lefts = [0, card + _PLUS, 2 * (card + _PLUS), width - card]
        cards = [QRect(left, 0, card, height) for left in lefts]
        signs = [
            QRect(here.right() + 1, 0, there.left() - here.right() - 1, height)
            for here, there in pairwise(cards)
        ]
        return cards, signs
    if layout == "grid":
        # The second line of an equation begins with its sign.
        card_width, card_height = (width - _PLUS - _SOFTMAX) // 2, (height - _ROW_GAP) // 2
        left, right, below = _PLUS, width - card_width, height - card_height
        cards = [QRect(x, y, card_width, card_height) for y in (0, below) for x in (left, right)]
        between = right - left - card_width
        signs = [
            QRect(left + card_width, 0, between, card_height),
            QRect(0, below, _PLUS, card_height),
            QRect(left + card_width, below, between, card_height),
        ]
        return cards, signs
    return [QRect(0, 0, width, height)] * 4, [QRect()] * 3


def smallest_size(layout: str) -> QSize:
    """The size below which something would be cut."""
    return equation_size(layout, _SMALLEST.get(layout, _SMALLEST["row"]))


def equation_size(layout: str, card: QSize) -> QSize:
    """The size of the whole for cards of that size."""
    if layout == "row":
        return QSize(4 * card.width() + 2 * _PLUS + _SOFTMAX, card.height())
    if layout == "grid":
        return QSize(2 * card.width() + _PLUS + _SOFTMAX, 2 * card.height() + _ROW_GAP)
    return card


class OperatorSign(QWidget):
    """+ or = as two strokes, or a word over an arrow."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self._theme = LIGHT

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the sign in the middle."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.muted), 1.6))
        middle = QRectF(self.rect()).center()
        x, y = middle.x(), middle.y()
        if self._text == "+":
            painter.drawLine(QPointF(x - 6, y), QPointF(x + 6, y))
            painter.drawLine(QPointF(x, y - 6), QPointF(x, y + 6))
        elif self._text == "=":
            painter.drawLine(QPointF(x - 6, y - 3), QPointF(x + 6, y - 3))
            painter.drawLine(QPointF(x - 6, y + 3), QPointF(x + 6, y + 3))
        else:
            font = QFont(self.font())
            font.setPixelSize(12)
            painter.setFont(font)
            painter.drawText(QRectF(0, y - 22, self.width(), 16), Qt.AlignmentFlag.AlignCenter, self._text)
            painter.drawLine(QPointF(x - 14, y + 4), QPointF(x + 13, y + 4))
            painter.drawPolyline(
                QPolygonF([QPointF(x + 8, y - 1), QPointF(x + 13, y + 4), QPointF(x + 8, y + 9)])
            )
