"""WeightsPicture: a whole matrix of weights with its colour bar, and a line where training ended."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from relpos_viewer.app.palettes import marks, palette
from relpos_viewer.core.levels import Levels
from relpos_viewer.views import names
from relpos_viewer.views.colour_bar import ColourBar
from relpos_viewer.views.theme import LIGHT, Theme

MARGIN, BAR_WIDTH = 10, 64


class WeightsPicture(QFrame):
    """Queries go down, keys to the right. GUI thread only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._canvas = _Canvas()
        self.bar = ColourBar()
        self.bar.set_orientation("vertical")
        self.bar.setFixedWidth(BAR_WIDTH)
        self.bar.setAccessibleName("Colours of the weights")
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, MARGIN - 2, MARGIN, MARGIN)
        row.addWidget(self._canvas, 1)
        row.addWidget(self.bar)
        self._theme, self._map = LIGHT, "auto"
        self._levels: Levels | None = None
        self.set_refusal("")

    @property
    def codes(self) -> np.ndarray | None:
        """What is painted, uint8 [h, w] of `core.quantise`; None for nothing."""
        return self._canvas.codes

    @property
    def words(self) -> str:
        """What stands in place of a picture."""
        return self._canvas.words

    @property
    def accessible_title(self) -> str:
        """What a screen reader says of the picture."""
        return self._canvas.accessibleName()

    def set_look(self, theme: Theme, weights_map: str) -> None:
        """Take the colours of `theme`, and the map of the document's weights."""
        self._theme, self._map = theme, weights_map
        self._canvas.theme = theme
        self.bar.set_look(theme, marks(theme.name))
        self._draw()

    def set_weights(self, codes: np.ndarray, levels: Levels, title: str, trained: float) -> None:
        """Show codes uint8 [h, w]; `trained` is the share of the sequence, 0 … 1, at which training ended."""
        self._canvas.codes, self._canvas.words = codes, ""
        self._canvas.title, self._canvas.trained = title, trained
        self._canvas.setAccessibleName(title)
        self._levels = levels
        self._draw()

    def set_refusal(self, sentence: str) -> None:
        """Say why there is no picture."""
        self._canvas.codes, self._canvas.words, self._canvas.title = None, sentence, "Weights"
        self._canvas.setAccessibleName(sentence)
        self._levels = None
        self._draw()

    def _draw(self) -> None:
        lut = palette("weights", self._map, self._theme.name)
        self._canvas.lut = lut
        self.bar.setVisible(self._levels is not None)
        if self._levels is not None and self._canvas.codes is not None:
            self.bar.set_scale(self._levels, lut)
            self.bar.set_present(self._canvas.codes)
        self._canvas.update()


class _Canvas(QWidget):
    """The picture, as large a square as there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName(names.EXTRAPOLATION_PICTURE)
        self.setMinimumSize(200, 200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.codes: np.ndarray | None = None
        self.lut: np.ndarray | None = None
        self.words, self.title, self.trained = "", "", 1.0
        self.theme = LIGHT

    def sizeHint(self) -> QSize:
        """Return the size of a picture with a pixel of its own for each of its pixels."""
        return QSize(380, 380)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw title and picture, or the words in its place."""
        painter = QPainter(self)
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(self.theme.text))
        title = metrics.elidedText(self.title, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QPointF(0, metrics.ascent() + 2), title)
        room = QRectF(self.rect()).adjusted(0, metrics.height() + 8, 0, 0)
        if self.codes is None or self.lut is None:
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(
                room.adjusted(12, 0, -12, 0),
                int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap),
                self.words,
            )
            painter.end()
            return
        side = min(room.width(), room.height())
        square = QRectF(room.left() + (room.width() - side) / 2, room.top(), side, side)
        colours = np.ascontiguousarray(self.lut[self.codes])  # [h, w, 4]
        height, width = self.codes.shape
        image = QImage(colours.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
        painter.drawImage(square, image)
        painter.setPen(QPen(QColor(self.theme.border), 1))
        painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5))
        if self.trained < 1:
            pen = QPen(QColor(self.theme.muted), 1.2)
            pen.setDashPattern([4.0, 3.0])
            painter.setPen(pen)
            y = square.top() + self.trained * side
            painter.drawLine(QPointF(square.left(), y), QPointF(square.right(), y))
            words, height = "queries past training", metrics.height()
            # Above the line where there is room; the masked corner is free in both cases.
            baseline = y - 5 if y - square.top() > height + 8 else y + 4 + metrics.ascent()
            painter.setPen(QColor(self.theme.muted))
            x = square.right() - metrics.horizontalAdvance(words) - 6
            painter.drawText(QPointF(x, baseline), words)
        painter.end()
