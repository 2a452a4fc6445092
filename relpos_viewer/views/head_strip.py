"""HeadStrip: a column of small pictures, one a head: its weights, and below them its curve."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QToolTip, QWidget

from relpos_viewer.app.head_thumbnails import SIDE, Thumbnail
from relpos_viewer.views import names
from relpos_viewer.views.curve_lines import runs
from relpos_viewer.views.spoken import describe
from relpos_viewer.views.theme import LIGHT, Theme

CURVE, NUMBER = 20, 17  # pixels: the height of a curve, and the width of the number beside it
PAD, GAP, MARGIN = 5, 5, 6  # inside a card, between cards, around them
CARD = (SIDE + 2 * PAD, SIDE + CURVE + 3 * PAD)
FRAME = 1  # of the style sheet's cards
FADED = 0.3  # of a thumbnail that is not that of the document any more
SCROLL_WIDTH = 10  # of the style sheet's scroll bar


class HeadStrip(QAbstractScrollArea):
    """Cards of the heads, one below the other; more than fit are scrolled.

    A card without a thumbnail yet is empty and can be chosen all the same.
    """

    head_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.HEAD_STRIP)
        self.setAccessibleName("Heads")
        self.setProperty("card", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self._theme = LIGHT
        self._heads = 0
        self._selected = 0
        self._pointed = -1
        self._thumbnails: dict[int, Thumbnail] = {}
        self._lut = np.zeros((256, 4), np.uint8)
        self._pictures: dict[int, QImage] = {}
        self._faded: frozenset[int] = frozenset()
        self.verticalScrollBar().valueChanged.connect(self.viewport().update)
        self._lay_out()

    # What is shown

    def set_heads(self, heads: int, selected: int) -> None:
        """Show so many heads, `selected` framed."""
        if heads != self._heads:
            self._heads = heads
            for head in [head for head in self._thumbnails if head >= heads]:
                self._forget(head)
            self._lay_out()
        elif selected == self._selected:
            return
        self._selected = selected
        self.ensure_visible(selected)
        self._describe()
        self.viewport().update()

    def set_thumbnail(self, thumbnail: Thumbnail) -> None:
        """Show a head's thumbnail in place of its last one."""
        self._forget(thumbnail.head)
        self._thumbnails[thumbnail.head] = thumbnail
        self._faded -= {thumbnail.head}
        self.viewport().update(self.card_rect(thumbnail.head))

    def fade(self, heads: Iterable[int]) -> None:
        """Show the thumbnails of these heads, and of no others, as ones that wait for newer ones."""
        heads = frozenset(heads)
        if heads != self._faded:
            self._faded = heads
            self.viewport().update()

    def set_palette(self, lut: np.ndarray) -> None:
        """Use the colours of the weights matrix, lut uint8 [256, 4]."""
        if lut is not self._lut:
            self._lut = lut
            self._pictures.clear()
            self.viewport().update()

    def clear(self) -> None:
        """Show no thumbnails: another sequence is coming."""
        self._thumbnails.clear()
        self._pictures.clear()
        self.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.viewport().update()

    @property
    def thumbnails(self) -> dict[int, Thumbnail]:
        """The thumbnails on show, by head."""
        return dict(self._thumbnails)

    @property
    def faded(self) -> frozenset[int]:
        """The heads whose thumbnails wait for newer ones."""
        return self._faded

    # Where it is shown

    def card_rect(self, head: int) -> QRect:
        """Return where a head's card lies, in viewport coordinates; it may be scrolled out of sight."""
        wide, high = CARD
        return QRect(MARGIN, MARGIN + head * (high + GAP) - self.verticalScrollBar().value(), wide, high)

    def head_at(self, position: QPoint) -> int:
        """Return the head whose card holds `position` (viewport coordinates), or −1."""
        return next((head for head in range(self._heads) if self.card_rect(head).contains(position)), -1)

    def ensure_visible(self, head: int) -> None:
        """Scroll until the card of `head` can be seen."""
        if not 0 <= head < self._heads:
            return
        bar, rect = self.verticalScrollBar(), self.card_rect(head)
        if rect.top() < MARGIN:
            bar.setValue(bar.value() + rect.top() - MARGIN)
        elif rect.bottom() > self.viewport().height() - MARGIN:
            bar.setValue(bar.value() + rect.bottom() - self.viewport().height() + MARGIN)

    def sizeHint(self) -> QSize:
        """Return the width of a card, and room for three."""
        return QSize(self.width(), 2 * MARGIN + 3 * (CARD[1] + GAP))

    def minimumSizeHint(self) -> QSize:
        """Return the width of a card, and room for one."""
        return QSize(self.width(), 2 * MARGIN + CARD[1])

    def _lay_out(self) -> None:
        whole = 2 * MARGIN + self._heads * (CARD[1] + GAP) - GAP
        scrolls = whole > self.height()
        shown = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if shown != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(shown)
        wide = CARD[0] + 2 * MARGIN + 2 * FRAME + (SCROLL_WIDTH if scrolls else 0)
        if wide != self.minimumWidth() or wide != self.maximumWidth():
            self.setFixedWidth(wide)
        self.verticalScrollBar().setRange(0, max(whole - self.height(), 0))
        self.verticalScrollBar().setPageStep(self.height())
        self.verticalScrollBar().setSingleStep((CARD[1] + GAP) // 2)
        self.viewport().update()

    def _forget(self, head: int) -> None:
        self._thumbnails.pop(head, None)
        self._pictures.pop(head, None)

    def _describe(self) -> None:
        describe(self, f"head {self._selected} of {self._heads}" if self._heads else "")

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the cards that can be seen."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(11)
        painter.setFont(font)
        for head in range(self._heads):
            rect = self.card_rect(head)
            if rect.intersects(event.rect()):
                self._paint_card(painter, head, rect)

    def _paint_card(self, painter: QPainter, head: int, rect: QRect) -> None:
        theme, chosen = self._theme, head == self._selected
        if chosen or head == self._pointed:
            painter.setPen(QPen(QColor(theme.accent), 1.5) if chosen else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent_soft if chosen else theme.grid))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.75, 0.75, -0.75, -0.75), 5, 5)
        picture = QRect(rect.left() + PAD, rect.top() + PAD, SIDE, SIDE)
        painter.setOpacity(FADED if head in self._faded else 1)
        self._paint_picture(painter, head, picture)
        below = QRect(picture.left(), picture.bottom() + 1 + PAD, SIDE, CURVE)
        self._paint_curve(painter, head, QRectF(below).adjusted(NUMBER, 2, 0, -2))
        painter.setOpacity(1)
        painter.setPen(QColor(theme.text if chosen else theme.muted))
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, str(head))

    def _paint_picture(self, painter: QPainter, head: int, rect: QRect) -> None:
        if head in self._thumbnails:
            if head not in self._pictures:
                self._pictures[head] = _picture(self._thumbnails[head].codes, self._lut)
            painter.drawImage(rect, self._pictures[head])
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(rect).adjusted(-0.5, -0.5, 0.5, 0.5))

    def _paint_curve(self, painter: QPainter, head: int, rect: QRectF) -> None:
        curve = self._thumbnails[head].curve if head in self._thumbnails else np.zeros(0, np.float32)
        known = np.isfinite(curve)
        if not known.any():
            return
        low, high = min(float(curve[known].min()), 0.0), max(float(curve[known].max()), 0.0)
        x = np.linspace(rect.left(), rect.right(), max(len(curve), 2))[: len(curve)]  # [point]
        share = (curve.astype(np.float64) - low) / ((high - low) or 1.0)  # [point]
        y = rect.bottom() - share * rect.height()
        painter.setPen(QPen(QColor(self._theme.accent), 1.2))
        for first, last in runs(known):
            part = slice(first, last + 1)
            painter.drawPolyline(pg.functions.arrayToQPolygonF(x[part], y[part]))

    # Hands

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Scroll what does not fit any more."""
        self._lay_out()
        self.ensure_visible(self._selected)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose a head."""
        head = self.head_at(event.position().toPoint())
        if head >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.head_chosen.emit(head)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Light the card under the pointer."""
        self._point_at(self.head_at(event.position().toPoint()))

    def viewportEvent(self, event: QEvent) -> bool:
        """Take the light from a card that the pointer left; name a head in its tooltip."""
        if event.type() == QEvent.Type.Leave:
            self._point_at(-1)
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            head = self.head_at(event.pos())
            QToolTip.showText(event.globalPos(), self.describe(head) if head >= 0 else "", self)
            return True
        return super().viewportEvent(event)

    def describe(self, head: int) -> str:
        """Return what a card shows, in words."""
        words = f"Head {head}: its weights and its bias by offset"
        return (
            words
            if head in self._thumbnails
            else f"Head {head}: its picture comes when nothing else is computed"
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose the next head or the one before, the first or the last."""
        places = {
            Qt.Key.Key_Up: self._selected - 1,
            Qt.Key.Key_Down: self._selected + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: self._heads - 1,
        }
        key = Qt.Key(event.key())
        if key not in places:
            super().keyPressEvent(event)
            return
        head = min(max(places[key], 0), self._heads - 1)
        if head != self._selected:
            self.head_chosen.emit(head)

    def _point_at(self, head: int) -> None:
        if head != self._pointed:
            self._pointed = head
            self.viewport().update()


def _picture(codes: np.ndarray, lut: np.ndarray) -> QImage:
    """Return codes uint8 [h, w] as a picture with the colours lut uint8 [256, 4]."""
    pixels = np.ascontiguousarray(lut[codes])  # [h, w, RGBA]
    height, width = codes.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()
