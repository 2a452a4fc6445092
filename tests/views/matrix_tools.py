"""What the tests of matrix views share: tiles made by hand, and a mouse that works as one on a screen does."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from relpos_viewer.app.frames import Tile, Viewport
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.pooling import pool
from relpos_viewer.core.quantise import quantise

LEFT, RIGHT, NONE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.NoButton


def tile(
    values, levels, *, visible=None, no_key=None, shape=(1000, 1000), reduce="max", rows=None, cols=None
) -> Tile:
    """A tile of a whole matrix, or of the part rows × cols, as the worker would make it."""
    values = np.asarray(values, np.float32)
    rows, cols = rows or (0, values.shape[0]), cols or (0, values.shape[1])
    pooled, shown = pool(values, visible, rows, cols, shape, reduce)
    h, w = pooled.shape
    return Tile(
        codes=quantise(pooled, shown, levels, no_key=no_key),
        viewport=Viewport(rows, cols, (h, w)),
        levels=levels,
        reduce=reduce,
        cells_per_pixel=((rows[1] - rows[0]) / h, (cols[1] - cols[0]) / w),
    )


def coded(codes) -> Tile:
    """A tile of given codes."""
    codes = np.asarray(codes, np.uint8)
    h, w = codes.shape
    return Tile(codes, Viewport((0, h), (0, w), (h, w)), Levels(0.0, 1.0), "mean", (1.0, 1.0))


def picture(widget: QWidget) -> np.ndarray:
    """What a widget looks like, uint8 [row, column, RGB]."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour by name as three bytes."""
    return QColor(colour).getRgb()[:3]


def _target(widget: QWidget) -> QWidget:
    # Qt sends the mouse of a scrolling view to the widget inside it.
    return widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget


def mouse(widget: QWidget, kind: QEvent.Type, at, button=NONE, buttons=NONE) -> None:
    """Send one mouse event at (x, y)."""
    point, target = QPointF(*at), _target(widget)
    event = QMouseEvent(
        kind,
        point,
        QPointF(target.mapToGlobal(point.toPoint())),
        button,
        buttons,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(target, event)


def move(widget: QWidget, at) -> None:
    """Move the pointer, no button down."""
    mouse(widget, QEvent.Type.MouseMove, at)


def drag(widget: QWidget, start, stop, button=LEFT, steps: int = 5) -> None:
    """Press, move in steps, release."""
    mouse(widget, QEvent.Type.MouseButtonPress, start, button, button)
    for step in range(1, steps + 1):
        part = step / steps
        at = (start[0] + (stop[0] - start[0]) * part, start[1] + (stop[1] - start[1]) * part)
        mouse(widget, QEvent.Type.MouseMove, at, NONE, button)
    mouse(widget, QEvent.Type.MouseButtonRelease, stop, button, NONE)


def click(widget: QWidget, at) -> None:
    """Press and release in place."""
    drag(widget, at, at, steps=0)


def double_click(widget: QWidget, at) -> None:
    """The four events of a double click."""
    click(widget, at)
    mouse(widget, QEvent.Type.MouseButtonDblClick, at, LEFT, LEFT)
    mouse(widget, QEvent.Type.MouseButtonRelease, at, LEFT, NONE)


def wheel(widget: QWidget, at, notches: float) -> None:
    """Turn the wheel; positive is away from the hand: zoom in."""
    point, target = QPointF(*at), _target(widget)
    event = QWheelEvent(
        point,
        QPointF(target.mapToGlobal(point.toPoint())),
        QPoint(),
        QPoint(0, round(120 * notches)),
        NONE,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(target, event)
