"""The row of controls above the picture: encoding, head, mask, scale, colours."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QMenu, QSpinBox, QToolButton, QWidget

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.masks import MASKS, parse_mask
from relpos_viewer.core.numbers import parse_number, short
from relpos_viewer.document.document import Document
from relpos_viewer.views import names
from relpos_viewer.views.encoding_form import EncodingPicker
from relpos_viewer.views.theme import Theme

CUSTOM = "custom"
AUTOMATIC_SCALE = "1/√d"


class TopBar(QWidget):
    """Shows the document's encoding, head, mask and scale, and reports what a hand changes.

    Signals:
        encoding_changed(object): an `EncodingSpec`.
        head_chosen(int): index of a head.
        mask_changed(str): a spec for `core.masks.parse_mask`.
        scale_changed(object): float, or None for 1/√d.
        refused(str): a sentence about something typed that cannot be used.
    """

    encoding_changed = Signal(object)
    head_chosen = Signal(int)
    mask_changed = Signal(str)
    scale_changed = Signal(object)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.TOP_BAR)
        self._document: Document | None = None
        self.encoding = EncodingPicker(self)
        self.encoding.spec_changed.connect(self.encoding_changed)

        self.head = _named(QComboBox(), names.HEAD_BOX, "Attention head", "The head that is shown")
        self.head.setMinimumWidth(78)
        self.head.activated.connect(self.head_chosen)

        self.mask = _named(QComboBox(), names.MASK_BOX, "Mask", "Which keys a query may see")
        for kind in MASKS:
            self.mask.addItem(kind.title, kind.name)
            self.mask.setItemData(self.mask.count() - 1, kind.help, _TOOLTIP)
        self.mask.activated.connect(self._on_mask)
        self.mask_argument = _named(QSpinBox(), names.MASK_ARGUMENT, "Mask number", "Width of the window")
        self.mask_argument.lineEdit().setTextMargins(
            4, 0, 0, 0
        )  # a style sheet does not pad a spin box's text
        self.mask_argument.setRange(1, 1_000_000)
        self.mask_argument.setKeyboardTracking(False)
        self.mask_argument.valueChanged.connect(self._on_mask)

        self.scale = _named(
            QComboBox(),
            names.SCALE_BOX,
            "Content scale",
            "Factor on q·k: 1/√d, 1 as in T5, or any number typed here",
        )
        self.scale.setEditable(True)
        self.scale.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.scale.addItems([AUTOMATIC_SCALE, "1"])
        self.scale.setFixedWidth(82)
        self.scale.lineEdit().setObjectName(names.SCALE_EDIT)
        self.scale.lineEdit().setAccessibleName("Content scale")
        self.scale.activated.connect(self._on_scale)
        self.scale.lineEdit().editingFinished.connect(self._on_scale)

        self.levels = _named(QToolButton(), names.LEVELS_BOX, "Colours", "Colour maps and limits")
        self.levels.setText("Colours ▾")
        self.levels.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export = _named(
            QToolButton(), names.EXPORT_BUTTON, "Export", "Write the picture or its numbers to a file"
        )
        self.export.setText("Export ▾")
        self.export.setProperty("primary", True)
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for text, widgets in (
            ("Encoding", [self.encoding]),
            ("Head", [self.head]),
            ("Mask", [self.mask, self.mask_argument]),
            ("Scale", [self.scale]),
        ):
            label = QLabel(text)
            label.setProperty("muted", True)
            label.setBuddy(widgets[0])
            layout.addWidget(label)
            for widget in widgets:
                layout.addWidget(widget)
            layout.addSpacing(6)
        layout.addStretch(1)
        layout.addWidget(self.levels)
        layout.addWidget(self.export)

    def set_document(self, document: Document, heads: int) -> None:
        """Show `document`; nothing is reported. `heads` is how many heads its inputs have."""
        self._document = document
        self.encoding.set_spec(document.encoding)
        with QSignalBlocker(self.head):
            if self.head.count() != heads:
                self.head.clear()
                self.head.addItems([str(index) for index in range(heads)])
                self.head.setToolTip(
                    f"The head that is shown, of {heads}, counted from 0 (Ctrl+PgUp, Ctrl+PgDown)"
                )
            self.head.setCurrentIndex(min(document.view.head, heads - 1))
        self._show_mask(document.mask if isinstance(document.mask, str) else CUSTOM)
        if not self.scale.lineEdit().hasFocus():
            with QSignalBlocker(self.scale):
                self.scale.setEditText(AUTOMATIC_SCALE if document.scale is None else short(document.scale))

    def fill_menus(self, menus: Mapping[str, QMenu], actions: Mapping[str, QAction]) -> None:
        """Offer the colour and export actions of the menu bar behind the two buttons."""
        colours = QMenu(self)
        for name in (
            "View/Colour limits",
            "View/Colours of terms",
            "View/Colours of weights",
            "View/Cells in one pixel",
        ):
            colours.addMenu(menus[name])
        colours.addSeparator()
        for name in ("weights_log", "hide_first_key"):
            colours.addAction(actions[name])
        self.levels.setMenu(colours)
        export = QMenu(self)
        for name in ("export_figure", "copy_picture", "export_data", "export_curve", "export_encoding"):
            export.addAction(actions[name])
        self.export.setMenu(export)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self.encoding.set_theme(theme)

    def _show_mask(self, spec: str) -> None:
        with QSignalBlocker(self.mask), QSignalBlocker(self.mask_argument):
            place = self.mask.findData(CUSTOM)
            if spec == CUSTOM and place < 0:
                self.mask.addItem("from a file", CUSTOM)
            elif spec != CUSTOM and place >= 0:
                self.mask.removeItem(place)
            mask = None if spec == CUSTOM else parse_mask(spec)
            self.mask.setCurrentIndex(self.mask.findData(CUSTOM if mask is None else mask.kind))
            kind = next((kind for kind in MASKS if mask is not None and kind.name == mask.kind), None)
            self.mask_argument.setVisible(kind is not None and bool(kind.argument))
            if mask is not None and kind is not None and kind.argument:
                self.mask_argument.setValue(mask.argument)
                self.mask_argument.setToolTip(f"{kind.argument.capitalize()}: {kind.help}")

    @Slot()
    def _on_mask(self) -> None:
        name = self.mask.currentData()
        if name == CUSTOM:
            return
        shown = self._document.mask if self._document is not None else ""
        kind = next(kind for kind in MASKS if kind.name == name)
        if kind.argument:
            # A kind that was just chosen starts with its own default, not with the other kind's number.
            same = isinstance(shown, str) and shown.startswith(name)
            name = f"{name}:{self.mask_argument.value() if same else kind.default}"
        if name != shown:
            self.mask_changed.emit(name)

    @Slot()
    def _on_scale(self) -> None:
        if self._document is None:
            return
        text = self.scale.currentText().strip()
        try:
            scale = None if text in (AUTOMATIC_SCALE, "") else parse_number(text)
        except ViewerError as error:
            self.refused.emit(f"The scale {error}")
            self.scale.setEditText(
                AUTOMATIC_SCALE if self._document.scale is None else short(self._document.scale)
            )
            return
        shown = self._document.scale
        # What is shown is rounded: leaving the field untouched must not change the number behind it.
        if scale != shown and not (shown is not None and text == short(shown)):
            self.scale_changed.emit(scale)


_TOOLTIP = 3  # Qt.ItemDataRole.ToolTipRole, as the int that setItemData takes


def _named(widget, name: str, accessible: str, tip: str):
    widget.setObjectName(name)
    widget.setAccessibleName(accessible)
    widget.setToolTip(tip)
    return widget
