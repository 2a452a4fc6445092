"""ExportFigureDialog: which panels, how large, and in which format a figure is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.export.figures import (
    DEFAULT_DPI,
    FORMATS,
    PANELS,
    PER_INCH,
    FigureOptions,
    Format,
    figure_format,
)
from relpos_viewer.views import names
from relpos_viewer.views.number_boxes import DecimalBox, IntegerBox
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.theme import Theme

UNITS = (("px", "pixels"), ("mm", "millimetres"), ("in", "inches"))
WIDTHS = {"px": 1600.0, "mm": 180.0, "in": 7.0}  # a screen; the text width of a journal's page
THEMES = (("light", "White"), ("dark", "Dark"))
LONGEST = {"px": 60_000.0, "mm": 5000.0, "in": 200.0}

State = Mapping[str, str | float | bool | list[str]]


class ExportFigureDialog(PlacedDialog):
    """Collects `FigureOptions`. It writes nothing itself: the window has the numbers and does the work.

    Signals:
        save_requested(object, str): options and the file to write.
        copy_requested(object): options of a picture for the clipboard; the dialog stays open.
    """

    save_requested = Signal(object, str)
    copy_requested = Signal(object)

    def __init__(self, caption: str, state: State, theme: Theme, parent: QWidget | None = None) -> None:
        """Show the choices of last time.

        Args:
            caption: the title a figure gets when nobody types one.
            state: what `state` returned last time; empty at first.
            theme: colours of the dialog.
            parent: the window.
        """
        super().__init__(parent)
        self.setObjectName(names.EXPORT_DIALOG)
        self.setWindowTitle("Export figure")
        self.setMinimumWidth(460)
        self._theme = theme
        self._folder = str(state.get("folder", ""))
        self._unit = "px"

        self._panels: dict[str, QCheckBox] = {}
        for panel, title in PANELS.items():
            box = QCheckBox(title.capitalize())
            box.setObjectName(names.EXPORT_PANEL_PREFIX + panel)
            box.toggled.connect(self._describe)
            self._panels[panel] = box
        self._format = _box(names.EXPORT_FORMAT, "Format", [(each.name, each.title) for each in FORMATS])
        self._width = DecimalBox(0.1, LONGEST["px"])
        self._height = DecimalBox(0.0, LONGEST["px"])
        self._height.setSpecialValueText("automatic")
        self._units = _box(names.EXPORT_UNIT, "Unit", UNITS)
        self._dpi = IntegerBox(10, 5000)
        self._title = QLineEdit()
        self._title.setPlaceholderText(caption)
        self._titled = QCheckBox("Title")
        self._labels = QCheckBox("Token labels along the axes")
        self._labels.setObjectName(names.EXPORT_LABELS)
        self._look = _box(names.EXPORT_THEME, "Background", THEMES)
        for widget, name, accessible in (
            (self._width, names.EXPORT_WIDTH, "Width"),
            (self._height, names.EXPORT_HEIGHT, "Height; 0 for automatic"),
            (self._dpi, names.EXPORT_DPI, "Dots per inch"),
            (self._title, names.EXPORT_TITLE, "Title; empty for an automatic one"),
            (self._titled, names.EXPORT_TITLED, "With a title"),
        ):
            widget.setObjectName(name)
            widget.setAccessibleName(accessible)
        self._height.setToolTip("0: the height that suits the width")
        self._size = QLabel()
        self._size.setWordWrap(True)
        self._lay_out()
        self._restore(state)
        for signal in (self._width.valueChanged, self._height.valueChanged, self._dpi.valueChanged):
            signal.connect(self._describe)
        self._format.currentIndexChanged.connect(self._describe)
        self._units.activated.connect(self._on_unit)
        self._titled.toggled.connect(self._title.setEnabled)
        self._title.setEnabled(self._titled.isChecked())
        for box in (self._width, self._height, self._dpi):
            box.refused.connect(self._on_refused)
        self._describe()

    # What was chosen

    def options(self) -> FigureOptions:
        """Return the choices; colour maps, limits and the curve's axis are the window's to add."""
        height = self._height.value()
        return FigureOptions(
            panels=tuple(panel for panel, box in self._panels.items() if box.isChecked()),
            width=self._width.value(),
            height=height if height > 0 else None,
            unit=self._units.currentData(),
            dpi=float(self._dpi.value()),
            title=(self._title.text().strip() or None) if self._titled.isChecked() else "",
            labels=self._labels.isChecked(),
            theme=self._look.currentData(),
        )

    def format(self) -> Format:
        """Return the chosen kind of file."""
        return FORMATS[self._format.currentIndex()]

    def state(self) -> dict[str, str | float | bool | list[str]]:
        """Return the choices as plain data, for the settings."""
        return {
            "panels": [panel for panel, box in self._panels.items() if box.isChecked()],
            "format": self.format().name,
            "unit": self._units.currentData(),
            "width": self._width.value(),
            "height": self._height.value(),
            "dpi": self._dpi.value(),
            "titled": self._titled.isChecked(),
            "title": self._title.text(),
            "labels": self._labels.isChecked(),
            "theme": self._look.currentData(),
            "folder": self._folder,
        }

    def say(self, sentence: str) -> None:
        """Show why a figure could not be written; the choices stay as they are."""
        self._size.setText(sentence)
        self._size.setStyleSheet(f"color: {self._theme.danger}")

    def say_done(self, sentence: str) -> None:
        """Show that a figure was copied or written."""
        self._size.setText(sentence)
        self._size.setStyleSheet(f"color: {self._theme.text}")

    # Parts

    def _lay_out(self) -> None:
        panels = QGridLayout()
        panels.setVerticalSpacing(7)
        for place, box in enumerate(self._panels.values()):
            panels.addWidget(box, place // 3, place % 3)
        size = QHBoxLayout()
        size.setSpacing(8)
        size.addWidget(self._width, 1)
        size.addWidget(QLabel("×"))
        size.addWidget(self._height, 1)
        size.addWidget(self._units)
        form = QFormLayout()
        form.setVerticalSpacing(9)
        form.setHorizontalSpacing(14)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Panels", panels)
        form.addRow("Format", self._format)
        form.addRow("Size", size)
        form.addRow("Dots per inch", self._dpi)
        form.addRow(self._titled, self._title)
        form.addRow("", self._labels)
        form.addRow("Background", self._look)
        self._save = QPushButton("Save…")
        self._save.setObjectName(names.EXPORT_SAVE)
        self._save.setDefault(True)
        self._save.clicked.connect(self._on_save)
        self._copy = QPushButton("Copy")
        self._copy.setObjectName(names.EXPORT_COPY)
        self._copy.setToolTip("Put the figure on the clipboard as an image")
        self._copy.clicked.connect(self._on_copy)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self._copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self._save, QDialogButtonBox.ButtonRole.AcceptRole)
        for button in (self._copy, buttons.button(QDialogButtonBox.StandardButton.Cancel)):
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        self._size.setMinimumHeight(2 * self.fontMetrics().height() + 4)
        self._size.setAlignment(Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(12)
        column.addLayout(form)
        column.addWidget(self._size)
        column.addWidget(buttons)

    def _restore(self, state: State) -> None:
        chosen = state.get("panels") or list(PANELS)
        for panel, box in self._panels.items():
            box.setChecked(panel in chosen)
        self._unit = str(state.get("unit", "px"))
        self._unit = self._unit if self._unit in WIDTHS else "px"
        _choose(self._format, state.get("format", FORMATS[0].name))
        _choose(self._units, self._unit)
        _choose(self._look, state.get("theme", "light"))
        self._set_range()
        self._width.setValue(float(state.get("width", WIDTHS[self._unit])))
        self._height.setValue(float(state.get("height", 0.0)))
        self._dpi.setValue(int(state.get("dpi", DEFAULT_DPI[self._unit])))
        self._titled.setChecked(bool(state.get("titled", True)))
        self._title.setText(str(state.get("title", "")))
        self._labels.setChecked(bool(state.get("labels", True)))

    def _set_range(self) -> None:
        self._width.setRange(0.1, LONGEST[self._unit])
        self._height.setRange(0.0, LONGEST[self._unit])

    def _on_unit(self) -> None:
        """Keep the size on paper between inches and millimetres; to and from pixels start afresh."""
        before, self._unit = self._unit, self._units.currentData()
        if before == self._unit:
            return
        width, height = self._width.value(), self._height.value()
        self._set_range()
        if "px" in (before, self._unit):
            self._width.setValue(WIDTHS[self._unit])
            self._height.setValue(0.0)
            self._dpi.setValue(int(DEFAULT_DPI[self._unit]))
        else:
            factor = PER_INCH[self._unit] / PER_INCH[before]
            self._width.setValue(round(width * factor, 3))
            self._height.setValue(round(height * factor, 3))
        self._describe()

    def _describe(self) -> None:
        """Say what the size comes to."""
        options = self.options()
        self._save.setEnabled(bool(options.panels))
        self._copy.setEnabled(bool(options.panels))
        self._size.setStyleSheet(f"color: {self._theme.muted}")
        if not options.panels:
            self._size.setText("Choose at least one panel.")
            return
        width = options.pixels(options.width)
        height = (
            "automatic height"
            if options.height is None
            else f"{options.pixels(options.height):,} pixels high"
        )
        words = f"{width:,} pixels wide, {height}"
        if self.format().vector:
            inches = width / options.resolution
            words = f"{inches:.2f} in ({inches * 25.4:.0f} mm) wide, {height}; lines and letters stay sharp"
        elif options.unit != "px":
            words = f"{words}, at {options.resolution:.0f} dpi"
        self._size.setText(words + ".")

    # Hands

    def _on_refused(self, text: str) -> None:
        box = self.sender()
        low, high = box.minimum(), box.maximum()
        self.say(f"“{text}” is not a number from {low:g} to {high:g}; the size stays as it was.")

    def _on_copy(self) -> None:
        self.copy_requested.emit(self.options())

    def _on_save(self) -> None:
        kind = self.format()
        patterns = " ".join(f"*{suffix}" for suffix in kind.suffixes)
        start = str(Path(self._folder) / f"attention{kind.suffixes[0]}")
        path, _ = QFileDialog.getSaveFileName(self, "Export figure", start, f"{kind.title} ({patterns})")
        if path:
            self.save_to(path)

    def save_to(self, path: str) -> None:
        """Ask the window to write `path`; a name without a known suffix gets the chosen format's."""
        if figure_format(path) is None:
            path += self.format().suffixes[0]
        self._folder = str(Path(path).parent)
        self.save_requested.emit(self.options(), path)


def _box(
    name: str, accessible: str, entries: list[tuple[str, str]] | tuple[tuple[str, str], ...]
) -> QComboBox:
    box = QComboBox()
    box.setObjectName(name)
    box.setAccessibleName(accessible)
    for value, title in entries:
        box.addItem(title, value)
    return box


def _choose(box: QComboBox, value: object) -> None:
    box.setCurrentIndex(max(box.findData(value), 0))
