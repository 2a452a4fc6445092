"""ToolRow: a header of title, words and controls that drops words, the least needed first, where room is short."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget


class ToolRow(QWidget):
    """A row that drops no control: only words and lines between groups give way to them.

    Attributes of the class:
        levels: how many steps of dropping there are.
    """

    levels = 0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrowest = 0

    def drop(self, level: int) -> None:
        """Show the row without what goes at `level` or before: 0 is all of it, `levels` the least."""
        raise NotImplementedError

    def fit(self) -> None:
        """Drop as little as the width asks for; a layout is needed by then."""
        self.drop(self.levels)
        narrowest = self.layout().minimumSize().width()
        if narrowest != self._narrowest:
            self._narrowest = narrowest
            self.updateGeometry()
        for level in range(self.levels + 1):
            self.drop(level)
            if self.layout().minimumSize().width() <= self.width():
                return

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the words to the room."""
        super().resizeEvent(event)
        self.fit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the words to a new font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and self.layout() is not None:
            self.fit()

    def minimumSizeHint(self) -> QSize:
        """The controls without their words."""
        return QSize(self._narrowest, super().minimumSizeHint().height())
