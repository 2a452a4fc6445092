"""PointDialog: the exact bias at one offset, typed."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import parse_number, short
from relpos_viewer.views import names
from relpos_viewer.views.theme import Theme

HIGHEST_EXPONENT = 700.0  # e^709 is the largest double


class PointDialog(QDialog):
    """Asks for b(δ). Enter takes it over, Escape does not; text that is no number is explained in place."""

    def __init__(self, offset: int, value: float, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.POINT_DIALOG)
        self.setWindowTitle("Exact value")
        self._value = value
        self._field = QLineEdit(f"{value:.6g}".replace("-", "\N{MINUS SIGN}"))
        self._field.setObjectName(names.POINT_VALUE)
        self._field.setAccessibleName(f"Bias at offset {short(offset)}, in score units")
        self._field.selectAll()
        self._field.textChanged.connect(self._on_text)
        label = QLabel(f"Bias at δ = {short(offset)}, in score units")
        label.setBuddy(self._field)
        self._factor = QLabel()
        self._factor.setProperty("muted", True)
        self._factor.setMinimumWidth(260)
        self._factor.setWordWrap(True)
        self._danger = theme.danger
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self._ok = buttons.button(QDialogButtonBox.StandardButton.Ok)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 14, 18, 12)
        for widget in (label, self._field, self._factor, buttons):
            layout.addWidget(widget)
        self._on_text(self._field.text())

    def value(self) -> float:
        """Return the number that was typed last and could be read."""
        return self._value

    def _on_text(self, text: str) -> None:
        try:
            self._value = parse_number(text)
        except ViewerError as error:
            self._factor.setText(str(error))
            self._factor.setStyleSheet(f"color: {self._danger}")
            self._ok.setEnabled(False)
            return
        high = self._value > HIGHEST_EXPONENT
        factor = "beyond 1e304" if high else short(math.exp(self._value))
        self._factor.setText(f"multiplies the odds of these cells by {factor}")
        self._factor.setStyleSheet("")
        self._ok.setEnabled(True)
