"""MatrixImage: the bytes of a tile as a picture, laid where the tile lies."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter


class MatrixImage:
    """One tile, in the pixels of the widget that paints it: one with a pixel for each of the screen's is copied."""

    def __init__(self) -> None:
        self._target = QRectF()
        self._picture = QImage()
        self._lut: np.ndarray | None = None
        self._colours: list[int] = []  # [256] 0xFFRRGGBB

    def set_codes(self, codes: np.ndarray, lut: np.ndarray) -> None:
        """Show codes uint8 [h, w] with the colours lut uint8 [256, 4], which are opaque."""
        if lut is not self._lut:
            red, green, blue, _alpha = lut.astype(np.uint32).T  # [256] each
            self._lut, self._colours = lut, ((0xFF << 24) | (red << 16) | (green << 8) | blue).tolist()
        height, width = codes.shape
        codes = np.ascontiguousarray(codes)
        # Qt looks colours up four times as fast as numpy; then there is nothing left to look up in each paint.
        indexed = QImage(codes.data, width, height, width, QImage.Format.Format_Indexed8)
        indexed.setColorTable(self._colours)
        self._picture = indexed.convertToFormat(QImage.Format.Format_RGB32)

    def set_place(self, target: QRectF) -> None:
        """Take where the tile lies, in pixels."""
        self._target = target

    def paint(self, painter: QPainter) -> None:
        """Paint the tile, each of its pixels with hard edges."""
        if not self._picture.isNull():
            painter.drawImage(self._target, self._picture)
