"""What a screen reader is told of widgets that paint their own contents."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QWidget


def describe(widget: QWidget, text: str) -> None:
    """Make `text` the widget's description, and say so when it is another than before."""
    if text != widget.accessibleDescription():
        widget.setAccessibleDescription(text)
        QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))
