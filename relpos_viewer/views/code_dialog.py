"""CodeDialog: the position encoding of the document as code, to be read, copied or saved."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.runner import Cancel, LatestRunner
from relpos_viewer.export.code import CODE_KINDS, CodeKind, Wanted, code_kind_for
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import Theme

Make = Callable[[], Wanted]
"""Says what is to be written; called in the worker thread."""

SIZE = (760, 620)


class CodeDialog(PlacedDialog):
    """Non-modal: it stays open beside the window, and `set_wanted` lets it follow what is drawn there.

    The code is made in a worker thread of its own; call `close_worker` before dropping the dialog.

    Signals:
        save_requested(object, str): a `CodeKind`, and the file to write. The window has the numbers and writes.
        kind_chosen(str): name of the kind that is shown now.
    """

    save_requested = Signal(object, str)
    kind_chosen = Signal(str)

    def __init__(self, kind: str, folder: str, theme: Theme, parent: QWidget | None = None) -> None:
        """Show nothing yet.

        Args:
            kind: name of the kind that was chosen last time.
            folder: where files are saved.
            theme: colours of the dialog.
            parent: the window.
        """
        super().__init__(parent)
        self.setObjectName(names.CODE_DIALOG)
        self.setWindowTitle("Export encoding")
        self.resize(*SIZE)
        self._theme, self._folder = theme, folder
        self._make: Make | None = None
        self._runner = LatestRunner(_text, self)
        self._runner.delivered.connect(self._on_text)
        self._runner.failed.connect(self._on_failed)
        self._kind = QComboBox()
        self._kind.setObjectName(names.CODE_KIND)
        self._kind.setAccessibleName("Kind of code")
        for each in CODE_KINDS:
            self._kind.addItem(f"{each.title} (*{each.suffix})", each.name)
        self._kind.setCurrentIndex(max(self._kind.findData(kind), 0))
        self._kind.currentIndexChanged.connect(self._on_kind)
        self._code = QPlainTextEdit()
        self._code.setObjectName(names.CODE_TEXT)
        self._code.setAccessibleName("The code")
        self._code.setReadOnly(True)
        self._code.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._code.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._said = QLabel()
        self._said.setWordWrap(True)
        self._copy = _button("Copy", names.CODE_COPY, "Put the code on the clipboard")
        self._copy.clicked.connect(self._on_copy)
        self._save = _button("Save…", names.CODE_SAVE, "Write the code to a file")
        self._save.clicked.connect(self._on_save)
        self._save.setDefault(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self._copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self._save, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(QLabel("Kind"))
        row.addWidget(self._kind, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(12)
        column.addLayout(row)
        column.addWidget(self._code, 1)
        column.addWidget(self._said)
        column.addWidget(buttons)
        self._set_usable(False)

    def set_wanted(self, make: Make) -> None:
        """Show the code of what `make` returns, as soon as it is there."""
        self._make = make
        self._runner.submit((make, self.kind()))

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme

    def kind(self) -> CodeKind:
        """Return the kind that is chosen."""
        return CODE_KINDS[self._kind.currentIndex()]

    def code(self) -> str:
        """Return the code on show."""
        return self._code.toPlainText()

    def say(self, sentence: str) -> None:
        """Show what was done."""
        self._say(sentence, self._theme.muted)

    def say_error(self, sentence: str) -> None:
        """Show what could not be done, and why."""
        self._say(sentence, self._theme.danger)

    def close_worker(self) -> None:
        """Wait for the worker thread to end."""
        self._runner.close()

    def save_to(self, path: str) -> None:
        """Ask the window to write `path`; its suffix chooses the kind, else it gets the chosen kind's."""
        kind = code_kind_for(path)
        self.save_requested.emit(kind or self.kind(), path)

    def _say(self, sentence: str, colour: str) -> None:
        self._said.setStyleSheet(f"color: {colour}")
        self._said.setText(sentence)

    def _set_usable(self, usable: bool) -> None:
        self._copy.setEnabled(usable)
        self._save.setEnabled(usable)

    @Slot(object)
    def _on_text(self, text: str) -> None:
        bar = self._code.verticalScrollBar()
        place = bar.value()
        self._code.setPlainText(text)
        bar.setValue(place)  # it follows an edit without jumping to the top
        self._set_usable(True)
        self.say(
            f"{text.count(chr(10)):,} lines; it needs torch alone." if self.kind().name != "json" else ""
        )

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        self._code.clear()
        self._set_usable(False)
        self.say_error(told(error))

    def _on_kind(self) -> None:
        self._code.verticalScrollBar().setValue(0)
        self.kind_chosen.emit(self.kind().name)
        if self._make is not None:
            self.set_wanted(self._make)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.code())
        self.say("The code is on the clipboard.")

    def _on_save(self) -> None:
        kinds = {f"{each.title} (*{each.suffix})": each for each in CODE_KINDS}
        ordered = sorted(kinds, key=lambda title: kinds[title] is not self.kind())
        start = f"{self._folder}/encoding{self.kind().suffix}"
        path, chosen = QFileDialog.getSaveFileName(self, "Export encoding", start, ";;".join(ordered))
        if path and code_kind_for(path) is None:
            self.save_requested.emit(kinds.get(chosen, self.kind()), path)
        elif path:
            self.save_to(path)


def _text(request: tuple[Make, CodeKind], cancel: Cancel) -> str:
    make, kind = request
    wanted = make()
    cancel.check()
    return kind.write(wanted)


def _button(text: str, name: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.setToolTip(tip)
    button.setAutoDefault(False)
    return button
