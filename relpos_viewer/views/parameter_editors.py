"""One widget for each kind of parameter in the registry, all with the same three members.

`edited(name, value)` reports a new value, `complained(sentence)` a text that is none, `set_value` shows one without
reporting it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QHBoxLayout, QLabel, QToolButton, QWidget

from relpos_viewer.core.encodings import Parameter
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import shape_text
from relpos_viewer.sources.table_file import TABLE_SUFFIXES, read_table_file
from relpos_viewer.views import names
from relpos_viewer.views.number_boxes import DecimalBox, IntegerBox

WIDEST_INTEGER = 2**31 - 1  # what a QSpinBox holds
WIDEST_DECIMAL = 1e300


class IntegerEditor(IntegerBox):
    """A whole number within the parameter's range."""

    edited = Signal(str, object)
    complained = Signal(str)

    def __init__(self, parameter: Parameter) -> None:
        low = -WIDEST_INTEGER if parameter.minimum is None else int(parameter.minimum)
        high = WIDEST_INTEGER if parameter.maximum is None else int(parameter.maximum)
        super().__init__(low, high)
        self._parameter = parameter
        self.valueChanged.connect(self._report)
        self.refused.connect(self._complain)

    def set_value(self, value: int) -> None:
        """Show `value`."""
        with QSignalBlocker(self):
            self.setValue(value)

    def _report(self, value: int) -> None:
        self.edited.emit(self._parameter.name, value)

    def _complain(self, text: str) -> None:
        self.complained.emit(complaint(self._parameter, text))


class DecimalEditor(DecimalBox):
    """A decimal number within the parameter's range."""

    edited = Signal(str, object)
    complained = Signal(str)

    def __init__(self, parameter: Parameter) -> None:
        low = -WIDEST_DECIMAL if parameter.minimum is None else parameter.minimum
        high = WIDEST_DECIMAL if parameter.maximum is None else parameter.maximum
        super().__init__(low, high)
        self._parameter = parameter
        self.valueChanged.connect(self._report)
        self.refused.connect(self._complain)

    def set_value(self, value: float) -> None:
        """Show `value`."""
        with QSignalBlocker(self):
            self.setValue(value)

    def _report(self, value: float) -> None:
        self.edited.emit(self._parameter.name, value)

    def _complain(self, text: str) -> None:
        self.complained.emit(complaint(self._parameter, text))


class SwitchEditor(QCheckBox):
    """Yes or no."""

    edited = Signal(str, object)
    complained = Signal(str)

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter
        self.toggled.connect(self._report)

    def set_value(self, value: bool) -> None:
        """Show `value`."""
        with QSignalBlocker(self):
            self.setChecked(value)

    def _report(self, value: bool) -> None:
        self.edited.emit(self._parameter.name, value)


class ChoiceEditor(QComboBox):
    """One of a few words."""

    edited = Signal(str, object)
    complained = Signal(str)

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.addItems(parameter.choices)
        self.currentTextChanged.connect(self._report)

    def set_value(self, value: str) -> None:
        """Show `value`."""
        with QSignalBlocker(self):
            self.setCurrentText(value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the panel, not a box that nobody chose."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _report(self, value: str) -> None:
        self.edited.emit(self._parameter.name, value)


class TableEditor(QWidget):
    """A learned table: its shape, a button that loads one from a file, and one that forgets it."""

    edited = Signal(str, object)  # float32 array, or None: the family's own illustration again
    complained = Signal(str)
    file_read = Signal()  # after one of the two above

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter
        self._shape = QLabel()
        self._load = QToolButton()
        self._load.setObjectName(names.LOAD_PREFIX + parameter.name)
        self._load.setText("Load table…")
        self._load.setAccessibleName(f"Load {parameter.name} from a file")
        self._load.clicked.connect(self._on_load)
        self._forget = QToolButton()
        self._forget.setObjectName(names.FORGET_PREFIX + parameter.name)
        self._forget.setText("Forget")
        self._forget.setAccessibleName(f"Forget the loaded {parameter.name}")
        self._forget.clicked.connect(self._on_forget)
        self.setFocusProxy(self._load)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._shape, 1)
        row.addWidget(self._load)
        row.addWidget(self._forget)
        self.set_value(None)

    def set_value(self, value: np.ndarray | None) -> None:
        """Show which table is in force."""
        self._shape.setText("built in" if value is None else shape_text(value))
        self._shape.setToolTip("The family's own illustration" if value is None else "Loaded from a file")
        self._forget.setVisible(value is not None)

    def load(self, path: str | Path) -> None:
        """Report the table of a file, or complain why it has none."""
        try:
            table = read_table_file(path)
        except ViewerError as error:
            self.complained.emit(str(error))
            return
        self.edited.emit(self._parameter.name, table)

    def _on_load(self) -> None:
        kinds = " ".join(f"*{suffix}" for suffix in TABLE_SUFFIXES)
        path, _ = QFileDialog.getOpenFileName(self, "Load a table", "", f"Tables ({kinds});;All files (*)")
        if path:
            self.load(path)
            self.file_read.emit()

    def _on_forget(self) -> None:
        self.edited.emit(self._parameter.name, None)


EDITORS: dict[str, type] = {
    "int": IntegerEditor,
    "float": DecimalEditor,
    "bool": SwitchEditor,
    "choice": ChoiceEditor,
    "table": TableEditor,
}


def complaint(parameter: Parameter, text: Any) -> str:
    """Return the sentence in which the registry refuses `text`."""
    try:
        parameter.read(str(text).strip())
    except ViewerError as error:
        return str(error)
    return f"“{text}” is not a value of {parameter.name}; type it as in {parameter.default}."
