"""FormulaDialog: the selected range as a formula of the offset, shown on the curve while it is typed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.formula import FUNCTIONS, VARIABLES
from relpos_viewer.views import names
from relpos_viewer.views.curve_editor import CurveEditor
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import Theme

# As many formulas are offered again.
KEPT = 12
FIRST = "-0.5*abs(d)**0.7"


class FormulaDialog(PlacedDialog):
    """One line. The curve follows every key; OK keeps it as one step, Esc gives everything back."""

    kept = Signal(str)
    """A formula that became a step."""

    def __init__(self, curve: CurveEditor, last: Sequence[str], theme: Theme, parent: QWidget) -> None:
        """Ask for the range of `curve`; it must not be in a hand.

        Args:
            curve: shows what is typed.
            last: formulas used before, the newest first.
            theme: its colours.
            parent: the window.
        """
        super().__init__(parent)
        self.setObjectName(names.FORMULA_DIALOG)
        self.setAccessibleName("Formula for the range")
        self.setWindowTitle("Formula")
        # The window waits, but stays in sight: another edit in between would be lost with this one.
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._curve = curve
        self.line = QLineEdit(last[0] if last else FIRST)
        self.line.setObjectName(names.FORMULA_LINE)
        self.line.setAccessibleName("Formula of the offset d")
        self.line.setMinimumWidth(300)
        self.last = QComboBox()
        self.last.setObjectName(names.FORMULA_LAST)
        self.last.setAccessibleName("Formulas used before")
        self.last.setToolTip("Formulas used before")
        self.last.addItem("Last used")
        self.last.addItems(list(last))
        self.last.setVisible(bool(last))
        self.last.setMaximumWidth(130)
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.setStyleSheet(f"color: {theme.danger};")
        # Its room is there from the start: a window that grows under the hand is hard to type in.
        self._error.setMinimumHeight(2 * self._error.fontMetrics().lineSpacing())
        self._error.setAlignment(Qt.AlignmentFlag.AlignTop)
        words = QLabel(_help(theme))
        words.setWordWrap(True)
        words.setProperty("muted", True)
        words.setTextFormat(Qt.TextFormat.RichText)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(QLabel("b(d) ="))
        row.addWidget(self.line, 1)
        row.addWidget(self.last)
        column = QVBoxLayout(self)
        column.addWidget(QLabel(f"The curve at {curve.range_words} becomes"))
        column.addLayout(row)
        column.addWidget(self._error)
        column.addWidget(words)
        column.addWidget(self.buttons)
        self.line.textChanged.connect(self._try)
        self.last.activated.connect(self._take)
        self.line.selectAll()
        self._try()

    @property
    def message(self) -> str:
        """What is wrong with the formula, empty when nothing."""
        return self._error.text()

    @Slot()
    def _try(self, _text: str = "") -> None:
        try:
            self._curve.try_formula(self.line.text())
        except ViewerError as error:
            self._error.setText(told(error))
        else:
            self._error.clear()
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not self.message)

    @Slot(int)
    def _take(self, index: int) -> None:
        if index:
            self.line.setText(self.last.itemText(index))
            self.line.setFocus()
        self.last.setCurrentIndex(0)

    def accept(self) -> None:
        """Keep the formula, when it can be read."""
        if not self.message:
            self._curve.keep_formula(self.line.text())
            self.kept.emit(self.line.text().strip())
            super().accept()

    def reject(self) -> None:
        """Give the curve back as it was."""
        self._curve.drop_formula()
        super().reject()


def remembered(last: Sequence[str], newest: str) -> list[str]:
    """Return the formulas to be offered again, the newest first, each once."""
    return [newest, *(text for text in last if text != newest)][:KEPT]


def _help(theme: Theme) -> str:
    def strong(name: str) -> str:
        return f'<span style="color:{theme.text};font-family:monospace">{name}</span>'

    variables = " · ".join(f"{strong(name)} {meaning}" for name, meaning in VARIABLES.items())
    functions = "  ".join(
        strong(f"{name}({', '.join('xyz'[:count])})") for name, (count, _function) in FUNCTIONS.items()
    )
    return (
        f"<p>{variables}</p><p>{functions}</p>"
        f"<p>Also {strong('+ - * / % ** &lt; &lt;= &gt; &gt;= == !=')}; a comparison is 1 or 0.</p>"
    )
