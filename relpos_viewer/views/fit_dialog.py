"""FitDialog: which family explains a curve best, and with which numbers."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.fitting import FitAnswer, details, ends_text, numbers_text, table_text
from relpos_viewer.core.fit import Explanation
from relpos_viewer.core.numbers import short
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog

COLUMNS = ("Family", "RMS", "Worst residual", "Numbers")
FEW_NUMBERS = 4
FITTING = "Fitting…"
STEPS = 1000  # of the bar


class FitDialog(PlacedDialog):
    """A table of families, the best first, beside the curve; it computes nothing.

    Signals:
        asked(): another target, or every head.
        clipboard_asked(), file_asked(), curve_asked(): where the target shall come from.
        stop_asked(), again_asked(): the button beside the bar.
        chosen(object): the Explanation whose curve is to be shown, or None.
        kept(object): the Explanation that shall be the document's family.
        hidden(): the dialog was closed.
    """

    asked = Signal()
    clipboard_asked = Signal()
    file_asked = Signal()
    curve_asked = Signal()
    stop_asked = Signal()
    again_asked = Signal()
    chosen = Signal(object)
    kept = Signal(object)
    hidden = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.FIT_DIALOG)
        self.setWindowTitle("Fit a family")
        self.resize(720, 600)
        self._answer: FitAnswer | None = None
        self._busy = False
        self._may_keep = ""
        self._kept, self._kept_sentence = "", ""
        self._keep_had_focus = False

        self._target = QLabel()
        self._target.setObjectName(names.FIT_TARGET)
        self._target.setWordWrap(True)
        self._target.setProperty("title", True)
        self._curve = self._button("Shown curve", names.FIT_CURVE, "Fit the curve in the window again.")
        clipboard = self._button(
            "From clipboard", names.FIT_CLIPBOARD, "Fit a copied table of offsets and values."
        )
        file = self._button("From file…", names.FIT_FILE, "Fit a table of a file: CSV, TSV, NPY, NPZ.")
        self._curve.clicked.connect(self.curve_asked)
        clipboard.clicked.connect(self.clipboard_asked)
        file.clicked.connect(self.file_asked)
        self.every = QCheckBox("Every head")
        self.every.setObjectName(names.FIT_EVERY)
        self.every.setToolTip("Fit the curve of every head, and rank the families by all of them.")
        self.every.toggled.connect(lambda _on: self.asked.emit())

        self._table = QTreeWidget()
        self._table.setObjectName(names.FIT_TABLE)
        self._table.setAccessibleName("Which family explains this curve best")
        self._table.setHeaderLabels(COLUMNS)
        self._table.setRootIsDecorated(False)
        self._table.setAlternatingRowColors(False)
        self._table.setUniformRowHeights(True)
        header = self._table.header()
        for column in range(3):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._table.currentItemChanged.connect(lambda *_: self._on_row())

        self._bar = QProgressBar()
        self._bar.setObjectName(names.FIT_PROGRESS)
        self._bar.setAccessibleName("Progress of the fit")
        self._bar.setRange(0, STEPS)
        self._bar.setTextVisible(False)
        self._bar.setMaximumHeight(6)
        self._stop = self._button("Stop", names.FIT_STOP, "Stop fitting, or fit again.")
        self._stop.clicked.connect(self._on_stop)
        self._state = QLabel()
        self._state.setObjectName(names.FIT_STATE)
        self._state.setProperty("muted", True)

        self._details = QPlainTextEdit()
        self._details.setObjectName(names.FIT_DETAILS)
        self._details.setAccessibleName("The chosen fit in full")
        self._details.setReadOnly(True)
        self._details.setTabChangesFocus(True)
        self._details.setMinimumHeight(90)

        self.rest = QCheckBox("Keep the rest as edit")
        self.rest.setObjectName(names.FIT_REST)
        self.rest.setToolTip(
            "What the family does not explain becomes your edit, so the curve stays as it was."
        )
        self._keep = QPushButton("Keep")
        self._keep.setObjectName(names.FIT_KEEP)
        self._keep.setDefault(True)
        self._keep.clicked.connect(self._on_keep)
        self._copy = self._button("Copy table", names.FIT_COPY, "Copy every row, for a spreadsheet.")
        self._copy.clicked.connect(self._on_copy)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self._copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self._keep, QDialogButtonBox.ButtonRole.ApplyRole)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)

        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.addWidget(self._target)
        column.addLayout(_row(self._curve, clipboard, file, None, self.every))
        column.addWidget(self._table, 3)
        column.addLayout(_row(self._state, None, self._bar, self._stop))
        column.addWidget(self._details, 1)
        column.addLayout(_row(self.rest, None, buttons))
        self.show_target("", of_curve=True)
        self._show_buttons()
        self._table.setFocus()

    def _button(self, text: str, name: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)  # Return keeps the chosen family, wherever the focus is
        return button

    # What is shown

    def show_target(self, text: str, *, of_curve: bool) -> None:
        """Say what is fitted: the curve in the window, or a table of elsewhere."""
        self._target.setText(text)
        self._curve.setEnabled(not of_curve)
        self.every.setEnabled(of_curve)

    def show_answer(self, answer: FitAnswer) -> None:
        """Fill the table; the family that was chosen stays chosen, at first it is the best."""
        before = self.selected
        self._answer = answer
        self._table.blockSignals(True)
        self._table.clear()
        for each in answer.explanations:
            self._table.addTopLevelItem(_line(each))
        self._table.blockSignals(False)
        self._mark_kept()
        wanted = 0 if before is None else self._place_of(before.encoding.name)
        self._table.setCurrentItem(self._table.topLevelItem(wanted))
        self._on_row()
        self.show_problem(self._kept_sentence)

    def show_nothing(self, reason: str) -> None:
        """Empty the table, and say in one sentence why there is nothing to tell."""
        self._answer = None
        self._table.clear()
        self._on_row()
        self.show_problem(reason)

    def show_kept(self, name: str, sentence: str) -> None:
        """Mark the row of the family `name` as the one that was kept, and say so; "" when none is any more."""
        if (name, sentence) == (self._kept, self._kept_sentence):
            return
        said = self._state.text() in (self._kept_sentence, "")
        self._kept, self._kept_sentence = name, sentence
        self._mark_kept()
        if said:
            self.show_problem(sentence)

    def _mark_kept(self) -> None:
        for row, each in enumerate(self._answer.explanations if self._answer else ()):
            kept = each.encoding.name == self._kept
            self._table.topLevelItem(row).setText(0, each.encoding.title + (" — kept" if kept else ""))

    def show_problem(self, text: str) -> None:
        """Say in one sentence why there is no newer table, or nothing."""
        self._state.setText(text)
        self._state.setToolTip(text)

    def show_progress(self, fraction: float) -> None:
        """Show how much is done, 0…1."""
        self._bar.setValue(round(STEPS * fraction))

    def show_busy(self, busy: bool) -> None:
        """Show whether a fit is under way."""
        self._busy = busy
        self._bar.setVisible(busy)
        self._stop.setText("Stop" if busy else "Fit again")
        if busy:
            self.show_progress(0.0)
            self.show_problem(FITTING)
        elif self._state.text() == FITTING:
            self.show_problem(self._kept_sentence)
        self._show_buttons()

    def forbid_keeping(self, reason: str) -> None:
        """Grey "Keep" out and say why; "" allows it."""
        self._may_keep = reason
        self._show_buttons()

    # What is chosen

    @property
    def answer(self) -> FitAnswer | None:
        """The newest table."""
        return self._answer

    @property
    def selected(self) -> Explanation | None:
        """The chosen row, None without one."""
        item = self._table.currentItem()
        if item is None or self._answer is None:
            return None
        return self._answer.explanations[self._table.indexOfTopLevelItem(item)]

    def select(self, name: str) -> None:
        """Choose the row of the family `name`."""
        self._table.setCurrentItem(self._table.topLevelItem(self._place_of(name)))

    def lines(self) -> list[tuple[str, ...]]:
        """Return the table as it reads."""
        items = [self._table.topLevelItem(row) for row in range(self._table.topLevelItemCount())]
        return [tuple(item.text(column) for column in range(len(COLUMNS))) for item in items]

    def _place_of(self, name: str) -> int:
        found = [each.encoding.name for each in self._answer.explanations] if self._answer else []
        return found.index(name) if name in found else 0

    def _on_row(self) -> None:
        selected = self.selected
        self._details.setPlainText("" if selected is None else details(selected))
        self._show_buttons()
        self.chosen.emit(selected)

    def _show_buttons(self) -> None:
        selected = self.selected
        may = selected is not None and bool(selected.fits) and not self._may_keep and not self._busy
        # A button that is greyed out would hand its focus to the next one, where the same key does something else.
        if not may and self.focusWidget() is self._keep:
            self._keep_had_focus = True
            self._table.setFocus()
        self._keep.setEnabled(may)
        if may and self._keep_had_focus:
            self._keep_had_focus = False
            if self.focusWidget() is self._table:
                self._keep.setFocus()
        self._keep.setToolTip(self._may_keep or "Make the chosen family the one of this document.")
        self._copy.setEnabled(self._answer is not None)

    def _on_keep(self) -> None:
        self.kept.emit(self.selected)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(table_text(self._answer.explanations))

    def _on_stop(self) -> None:
        (self.stop_asked if self._busy else self.again_asked).emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Tell that nobody looks any more."""
        super().hideEvent(event)
        self.hidden.emit()


def _line(each: Explanation) -> QTreeWidgetItem:
    """Return a family's row; one that cannot be fitted is grey, and says why."""
    if not each.fits:
        item = QTreeWidgetItem([each.encoding.title, "", "", each.reason])
        item.setDisabled(True)
        item.setToolTip(3, each.reason)
        return item
    head = each.worst_head
    fit = each.fits[head]
    where = f" of head {head}" if len(each.fits) > 1 else ""
    worst = f"{short(fit.worst)} at δ = {short(fit.worst_offset)}{where}" if fit.worst else "0"
    first = next(iter(each.fits))
    numbers = numbers_text(each, first, FEW_NUMBERS)
    if len(each.fits) > 1 and numbers:
        numbers = f"head {first}: {numbers}"
    ends = ends_text(each)
    if ends:
        count = sum(len(one.ends) for one in each.fits.values())
        only = next(one.ends[0][0] for one in each.fits.values() if one.ends)
        mark = f"{only} at the end of its domain" if count == 1 else f"{count} at the end of their domains"
        numbers = f"{mark}: {numbers}"  # in front, as a narrow column cuts the numbers off
    item = QTreeWidgetItem([each.encoding.title, short(each.rms), worst, numbers])
    item.setToolTip(3, "\n".join(filter(None, (numbers, ends))))
    return item


def _row(*parts: QWidget | None) -> QHBoxLayout:
    """Return the parts side by side; None takes the room that is left."""
    row = QHBoxLayout()
    for part in parts:
        if part is None:
            row.addStretch(1)
        else:
            row.addWidget(part)
    return row
