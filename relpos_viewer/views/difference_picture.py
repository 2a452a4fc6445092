"""DifferencePicture: a matrix of changes in red and blue, zero in the middle, with its colour bar."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from relpos_viewer.app.palettes import marks, palette
from relpos_viewer.core.levels import choose_levels
from relpos_viewer.core.quantise import quantise
from relpos_viewer.views.colour_bar import ColourBar
from relpos_viewer.views.theme import LIGHT, Theme

TEXT_PIXELS = 11
MARGIN = 17  # for a word along each axis
BAR_WIDTH = 60


class DifferencePicture(QWidget):
    """Queries go down, keys to the right, as in the window's matrices. Cells without a visible key are grey."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """Show nothing yet.

        Args:
            what: the quantity, for screen readers: "weights".
            parent: owner.
        """
        super().__init__(parent)
        self._what = what
        self._canvas = _Canvas()
        self.bar = ColourBar()
        self.bar.set_orientation("vertical")
        self.bar.setFixedWidth(BAR_WIDTH)
        self.bar.setAccessibleName(f"Colours of the change of the {what}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._canvas, 1)
        row.addWidget(self.bar)
        self._values: np.ndarray | None = None
        self._theme, self._map = LIGHT, "auto"
        self.set_change(None)

    @property
    def codes(self) -> np.ndarray | None:
        """What is painted, uint8 [h, w] of `core.quantise`; None for nothing."""
        return self._canvas.codes

    def set_change(self, values: np.ndarray | None) -> None:
        """Show a change [h, w], NaN where no key is visible; None for nothing."""
        self._values = values
        self._draw()

    def set_look(self, theme: Theme, terms_map: str) -> None:
        """Take the colours of `theme`, and the map of the document's terms."""
        self._theme, self._map = theme, terms_map
        self._draw()

    def _draw(self) -> None:
        self.bar.set_look(self._theme, marks(self._theme.name))
        self.bar.setVisible(self._values is not None)
        lut = palette("positional", self._map, self._theme.name)  # [256, 4]
        if self._values is None:
            self._canvas.show_codes(None, lut, self._theme)
            return
        shown = ~np.isnan(self._values)  # [h, w]
        levels = choose_levels(self._values, shown, symmetric=True)
        codes = quantise(self._values, shown, levels)  # [h, w]
        self.bar.set_scale(levels, lut)
        self.bar.set_present(codes)
        self._canvas.show_codes(codes, lut, self._theme)
        largest = float(np.abs(self._values[shown]).max()) if shown.any() else 0.0
        self.setAccessibleName(f"Change of the {self._what}, at most {largest:.3g}")


class _Canvas(QWidget):
    """The picture itself: the largest square that fits, at the left, with the axes named."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: np.ndarray | None = None
        self._image = QImage()
        self._theme = LIGHT
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_codes(self, codes: np.ndarray | None, lut: np.ndarray, theme: Theme) -> None:
        """Paint codes uint8 [h, w] with the colours lut uint8 [256, 4]; None paints an empty frame."""
        self.codes, self._theme = codes, theme
        if codes is None:
            self._image = QImage()
        else:
            pixels = np.ascontiguousarray(lut[codes])  # [h, w, 4]
            height, width = codes.shape
            self._image = QImage(
                pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888
            ).copy()  # which owns its memory
        self.update()

    def sizeHint(self) -> QSize:
        """A picture of which single cells can be seen."""
        return QSize(200, 200)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the picture, a hairline around it, and the names of the axes."""
        painter = QPainter(self)
        side = max(min(self.width(), self.height()) - MARGIN, 8)
        frame = QRectF(MARGIN, 0.5, side - 1, side - 1)
        if not self._image.isNull():
            painter.drawImage(frame, self._image)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.drawRect(frame)
        font = QFont(self.font())
        font.setPixelSize(TEXT_PIXELS)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted))
        below = QRectF(frame.left(), frame.bottom() + 2, side, MARGIN - 2)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, "key j →")
        painter.translate(QPointF(0, frame.bottom()))
        painter.rotate(-90)
        painter.drawText(QRectF(0, 0, side, MARGIN - 2), Qt.AlignmentFlag.AlignCenter, "← query i")
