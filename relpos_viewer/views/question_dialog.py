"""QuestionDialog: what a file means, where guessing would show something wrong."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialogButtonBox,
    QFrame,
    QLabel,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.sources.contents import Question
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog

MANY = 8  # options beyond this many are scrolled


class QuestionDialog(PlacedDialog):
    """The question of a reader, its options as radio buttons, the first one chosen."""

    def __init__(self, question: Question, file_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.QUESTION_DIALOG)
        self.setWindowTitle(f"Open {file_name}")
        self.setMinimumWidth(420)
        text = QLabel(str(question))
        text.setWordWrap(True)
        text.setTextFormat(Qt.TextFormat.PlainText)
        self._values = [value for value, _ in question.options]
        self._group = QButtonGroup(self)
        choices = QWidget()
        column = QVBoxLayout(choices)
        column.setContentsMargins(0, 0, 0, 0)
        for row, (value, title) in enumerate(question.options):
            button = QRadioButton(title.replace("&", "&&"))
            button.setObjectName(names.QUESTION_OPTION_PREFIX + value)
            button.setAccessibleName(title)
            button.setChecked(row == 0)
            self._group.addButton(button, row)
            column.addWidget(button)
        column.addStretch(1)
        self._remember = QCheckBox("Remember this answer for this file")
        self._remember.setObjectName(names.QUESTION_REMEMBER)
        self._remember.setAccessibleName("Remember this answer for this file")
        self._remember.setChecked(True)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(12)
        layout.addWidget(text)
        if len(self._values) > MANY:
            area = QScrollArea()
            area.setFrameShape(QFrame.Shape.NoFrame)
            area.setWidgetResizable(True)
            area.setWidget(choices)
            area.setMinimumHeight(220)
            layout.addWidget(area, 1)
        else:
            layout.addWidget(choices)
        layout.addWidget(self._remember)
        layout.addWidget(buttons)
        if self._values:
            self._group.button(0).setFocus()

    def answer(self) -> str:
        """Return the chosen option's value."""
        return self._values[self._group.checkedId()]

    def remember(self) -> bool:
        """Return whether the answer holds the next time this file is opened."""
        return self._remember.isChecked()
