"""Boxes for one whole or decimal number that say what they refuse instead of silently changing it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QSpinBox, QWidget

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import MINUS, digits, parse_number

DECIMALS = 15  # more than a float32 holds; the text shows only the digits that are there
LEFT = 4  # pixels
_State = QValidator.State


class IntegerBox(QSpinBox):
    """A whole number. Typed text that is none, or lies outside the range, is reported when it is entered."""

    refused = Signal(str)  # the text as typed; the box goes back to its last value

    def __init__(self, minimum: int, maximum: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(minimum, maximum)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(LEFT, 0, 0, 0)  # a style sheet's padding does not reach the text

    def validate(self, text: str, position: int) -> tuple[_State, str, int]:
        """Let anything be typed; whether it is a number is asked when it is entered."""
        try:
            value = parse_number(text)
        except ViewerError:
            return _State.Intermediate, text, position
        fits = value == int(value) and self.minimum() <= value <= self.maximum()
        return (_State.Acceptable if fits else _State.Intermediate), text, position

    def valueFromText(self, text: str) -> int:
        """Read a validated text."""
        return int(parse_number(text))

    def textFromValue(self, value: int) -> str:
        """Write with a typographic minus and no grouping."""
        return str(value).replace("-", MINUS)

    def fixup(self, text: str) -> str:
        """Report what was typed; Qt then restores the last value."""
        self.refused.emit(text)
        return text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the panel, not a box that nobody chose."""
        _wheel(self, event, super().wheelEvent)


class DecimalBox(QDoubleSpinBox):
    """A decimal number, comma or point. Typed text that cannot be used is reported when it is entered."""

    refused = Signal(str)  # the text as typed; the box goes back to its last value

    def __init__(self, minimum: float, maximum: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setDecimals(DECIMALS)
        self.setRange(minimum, maximum)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(LEFT, 0, 0, 0)  # a style sheet's padding does not reach the text

    def validate(self, text: str, position: int) -> tuple[_State, str, int]:
        """Let anything be typed; whether it is a number is asked when it is entered."""
        try:
            value = parse_number(text.removesuffix(self.suffix()))
        except ViewerError:
            return _State.Intermediate, text, position
        fits = self.minimum() <= value <= self.maximum()
        return (_State.Acceptable if fits else _State.Intermediate), text, position

    def valueFromText(self, text: str) -> float:
        """Read a validated text."""
        return parse_number(text.removesuffix(self.suffix()))

    def textFromValue(self, value: float) -> str:
        """Write the digits that tell the number from its neighbours, and no more."""
        return digits(value, 10)

    def fixup(self, text: str) -> str:
        """Report what was typed; Qt then restores the last value."""
        self.refused.emit(text)
        return text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the panel, not a box that nobody chose."""
        _wheel(self, event, super().wheelEvent)


def _wheel(box: QAbstractSpinBox, event: QWheelEvent, turn) -> None:
    if box.hasFocus():
        turn(event)
    else:
        event.ignore()
