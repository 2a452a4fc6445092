"""Hatching over the cells that have no colour of their own, in screen pixels: its lines stay fine at every zoom."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen, QPixmap, QTransform

from relpos_viewer.core.quantise import LAST_VALUE
from relpos_viewer.export.appearance import Mark

_PITCH = 6  # pixels between two lines


def hatch_brush(mark: Mark, ratio: float) -> QBrush:
    """A brush of the mark's lines alone, on a screen of `ratio` device pixels a pixel."""
    side = max(round(_PITCH * ratio), 2)
    tile = QPixmap(side, side)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setPen(QPen(QColor(mark.ink), ratio))
    sloping = mark.hatch in ("/", "\\", "x")
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, sloping)
    middle = side // 2
    for shift in (-side, 0, side):  # lines cut at the tile's corners go on in the next tile
        if mark.hatch in ("/", "x"):
            painter.drawLine(shift, side, shift + side, 0)
        if mark.hatch in ("\\", "x"):
            painter.drawLine(shift, 0, shift + side, side)
    if mark.hatch in ("-", "+"):
        painter.drawLine(0, middle, side, middle)
    if mark.hatch == "+":
        painter.drawLine(middle, 0, middle, side)
    painter.end()
    brush = QBrush(tile)
    brush.setTransform(QTransform.fromScale(1 / ratio, 1 / ratio))
    return brush


class Hatching:
    """Draws over the marked cells of a tile, in the pixels of the widget that paints it."""

    def __init__(self) -> None:
        self._codes = np.zeros((1, 1), np.uint8)
        self._marks: dict[int, Mark] = {}
        self._target = QRectF()
        self._size = QRectF()
        self._picture: QPixmap | None = None

    def set_marks(self, marks: dict[int, Mark]) -> None:
        """Take how each code is drawn."""
        self._marks = marks
        self._picture = None

    def set_codes(self, codes: np.ndarray) -> None:
        """Take a tile's codes, uint8 [h, w]; values do not matter, so a frame with the same mask costs nothing."""
        codes = np.maximum(codes, LAST_VALUE)
        if not np.array_equal(codes, self._codes):
            self._codes = codes
            self._picture = None

    def set_place(self, size: QRectF, target: QRectF) -> None:
        """Take the widget's extent, and where the tile lies in it, both in pixels."""
        if (size, target) != (self._size, self._target):
            self._size, self._target = size, target
            self._picture = None

    def paint(self, painter: QPainter) -> None:
        """Paint the hatching, made anew only when tile, place or theme changed."""
        ratio = painter.device().devicePixelRatioF()
        if self._picture is None or self._picture.devicePixelRatioF() != ratio:
            self._picture = self._render(ratio)
        if not self._picture.isNull():
            painter.drawPixmap(self._size.topLeft(), self._picture)

    def _render(self, ratio: float) -> QPixmap:
        present = [
            code for code, mark in self._marks.items() if mark.hatch and bool((self._codes == code).any())
        ]
        size = (self._size.size() * ratio).toSize()
        if not present or size.isEmpty():
            return QPixmap()
        picture = QPixmap(size)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        for code in present:
            painter.drawImage(0, 0, self._layer(code, picture))
        painter.end()
        return picture

    def _layer(self, code: int, like: QPixmap) -> QImage:
        """The hatching of one code: a surface of lines, of which only the marked cells are kept."""
        ratio = like.devicePixelRatioF()
        layer = QImage(like.size(), QImage.Format.Format_ARGB32_Premultiplied)
        layer.setDevicePixelRatio(ratio)
        layer.fill(Qt.GlobalColor.transparent)
        cells = np.where(self._codes == code, np.uint8(255), np.uint8(0))  # [h, w]
        height, width = cells.shape
        kept = QImage(cells.data, width, height, width, QImage.Format.Format_Alpha8)
        painter = QPainter(layer)
        painter.fillRect(self._target, hatch_brush(self._marks[code], ratio))
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_DestinationIn)
        painter.drawImage(self._target, kept)
        painter.end()
        return layer
