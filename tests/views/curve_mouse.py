"""What the tests of the curve share: curves made by hand, and a mouse and keys that know of modifiers."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from relpos_viewer.core.curves import CurveSet

LEFT, RIGHT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton
NO_BUTTON = Qt.MouseButton.NoButton
PLAIN = Qt.KeyboardModifier.NoModifier
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def curve_set(family=None, *, n=9, heads=2, head=0, causal=True, **changes) -> CurveSet:
    """A frame's curves: `family` [head, 2n−1], or zeros."""
    family = np.zeros((heads, 2 * n - 1), np.float32) if family is None else np.asarray(family, np.float32)
    offsets = np.arange(family.shape[1]) - family.shape[1] // 2
    known = {
        "family": family,
        "low": None,
        "high": None,
        "edit": np.zeros_like(family),
        "exact": True,
        "buckets": None,
        "beyond": None,
        "visible": offsets <= 0 if causal else np.ones(len(offsets), bool),
        "head": head,
    }
    return CurveSet(**{**known, **changes})


def mouse(plot, kind, at, button=NO_BUTTON, buttons=NO_BUTTON, modifiers=PLAIN) -> None:
    """Send one mouse event at (x, y) of the plot."""
    point, target = QPointF(*at), plot.viewport()
    event = QMouseEvent(kind, point, QPointF(target.mapToGlobal(point.toPoint())), button, buttons, modifiers)
    QApplication.sendEvent(target, event)


def press(plot, at, modifiers=PLAIN, button=LEFT) -> None:
    """Press a button."""
    mouse(plot, QEvent.Type.MouseButtonPress, at, button, button, modifiers)


def move(plot, at, modifiers=PLAIN, button=LEFT) -> None:
    """Move with a button down."""
    mouse(plot, QEvent.Type.MouseMove, at, NO_BUTTON, button, modifiers)


def release(plot, at, modifiers=PLAIN, button=LEFT) -> None:
    """Release a button."""
    mouse(plot, QEvent.Type.MouseButtonRelease, at, button, NO_BUTTON, modifiers)


def hover(plot, at) -> None:
    """Move with no button down."""
    mouse(plot, QEvent.Type.MouseMove, at)


def click(plot, at, modifiers=PLAIN) -> None:
    """Press and release in place."""
    press(plot, at, modifiers)
    release(plot, at, modifiers)


def double_click(plot, at) -> None:
    """The events of a double click."""
    click(plot, at)
    mouse(plot, QEvent.Type.MouseButtonDblClick, at, LEFT, LEFT)
    release(plot, at)


def drag(plot, start, stop, modifiers=PLAIN, button=LEFT, steps=10) -> None:
    """Press, move in steps, release."""
    press(plot, start, modifiers, button)
    for step in range(1, steps + 1):
        part = step / steps
        at = (start[0] + (stop[0] - start[0]) * part, start[1] + (stop[1] - start[1]) * part)
        move(plot, at, modifiers, button)
    release(plot, stop, modifiers, button)


def wheel(plot, at, notches, modifiers=PLAIN) -> None:
    """Turn the wheel; positive is away from the hand."""
    point, target = QPointF(*at), plot.viewport()
    where = QPointF(target.mapToGlobal(point.toPoint()))
    event = QWheelEvent(
        point,
        where,
        QPoint(),
        QPoint(0, round(120 * notches)),
        NO_BUTTON,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(target, event)


def key(widget: QWidget, code, modifiers=PLAIN, text="") -> None:
    """Press and release a key."""
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(widget, QKeyEvent(kind, code, modifiers, text))
