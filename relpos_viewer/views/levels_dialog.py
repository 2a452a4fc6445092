"""LevelsDialog: the numbers at the ends of the colours, typed."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QDialogButtonBox, QFormLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import Stage
from relpos_viewer.core.levels import Levels, typed_levels
from relpos_viewer.core.numbers import number_texts
from relpos_viewer.document.document import View
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.sentences import told

FIELDS = (
    (names.LEVELS_LOW, "Terms from"),
    (names.LEVELS_HIGH, "Terms to"),
    (names.LEVELS_WEIGHTS_LOW, "Weights from"),
    (names.LEVELS_WEIGHTS_HIGH, "Weights to"),
)


class LevelsDialog(PlacedDialog):
    """Starts from the limits on show; refuses in one sentence, and keeps what was typed."""

    def __init__(self, view: View, shown: Mapping[Stage, Levels], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.LEVELS_DIALOG)
        self.setWindowTitle("Colour limits")
        self._scale = view.weights_scale
        terms, weights = shown.get("scores"), shown.get("weights")
        if view.levels == "typed" or terms is None:
            start = [view.low, view.high]
        else:
            start = [terms.low, terms.high]
        if view.levels == "typed" or weights is None:
            start += [view.weights_low, view.weights_high]
        else:
            start += [weights.low, weights.high]
        form = QFormLayout()
        self._edits: list[QLineEdit] = []
        self._texts = [*number_texts(start[:2]), *number_texts(start[2:])]
        for (name, title), text in zip(FIELDS, self._texts, strict=True):
            edit = QLineEdit(text)
            edit.setObjectName(name)
            edit.setAccessibleName(title)
            form.addRow(title, edit)
            self._edits.append(edit)
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.setVisible(False)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addLayout(form)
        column.addWidget(self._error)
        column.addWidget(buttons)
        self._limits: tuple[float, float, float, float] = tuple(start)  # type: ignore[assignment]

    def limits(self) -> tuple[float, float, float, float]:
        """Return low and high of the terms, then of the weights."""
        return self._limits

    def accept(self) -> None:
        """Close when the limits can be used; say why not otherwise."""
        # A box that nobody touched stands for the number behind its rounded text.
        low, high, weights_low, weights_high = (
            repr(value) if edit.text() == text else edit.text()
            for edit, text, value in zip(self._edits, self._texts, self._limits, strict=True)
        )
        try:
            terms, weights = typed_levels(low, high), typed_levels(weights_low, weights_high)
        except ViewerError as error:
            self._error.setText(told(error))
            self._error.setVisible(True)
            return
        self._limits = (terms.low, terms.high, weights.low, weights.high)
        super().accept()
