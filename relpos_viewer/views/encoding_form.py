"""EncodingPicker and EncodingForm: a position encoding and its parameters, made from the registry's tables."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.core.encodings import FAMILIES, GROUPS
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import EncodingSpec
from relpos_viewer.views import names
from relpos_viewer.views.icons import icon
from relpos_viewer.views.parameter_editors import EDITORS
from relpos_viewer.views.sentences import as_sentence
from relpos_viewer.views.theme import LIGHT, Theme

NARROWEST = 190
FORM_WIDTH = 312


class EncodingForm(QWidget):
    """One row a parameter. A value that the family refuses is explained, and the last good one stays in force."""

    spec_changed = Signal(object)  # EncodingSpec
    file_read = Signal()  # a file was chosen for a table; what came of it is shown

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.ENCODING_FORM)
        self.setAccessibleName("Parameters of the position encoding")
        self._spec = EncodingSpec("none")
        # With what was typed but refused: two values that only fit together can be typed one after the other.
        self._wanted: dict[str, Any] = {}
        self._editors: dict[str, QWidget] = {}
        self._title = QLabel()
        self._title.setProperty("title", True)
        self._summary = QLabel()
        self._summary.setWordWrap(True)
        self._paper = QLabel()
        self._paper.setProperty("muted", True)
        self._paper.setWordWrap(True)
        self._rows = QWidget()
        self._error = QLabel()
        self._error.setWordWrap(True)
        self._error.setVisible(False)
        self._defaults = QToolButton()
        self._defaults.setObjectName(names.ENCODING_DEFAULTS)
        self._defaults.setText("Defaults")
        self._defaults.setAccessibleName("Set all parameters back to their defaults")
        self._defaults.clicked.connect(self._on_defaults)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)
        for widget in (self._title, self._summary, self._paper, self._rows, self._error):
            self._column.addWidget(widget)
        self._column.addWidget(self._defaults, 0, Qt.AlignmentFlag.AlignRight)
        self._build()

    def set_spec(self, spec: EncodingSpec) -> None:
        """Show `spec`; nothing is reported."""
        if spec == self._spec:
            return  # a value that was just refused stays, with the reason
        other_family = spec.name != self._spec.name
        self._spec, self._wanted = spec, dict(spec.parameters)
        self._say("")
        if other_family:
            self._build()
        self._fill()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._error.setStyleSheet(f"color: {theme.danger}")

    def focus_first(self) -> None:
        """Put the keyboard on the first parameter."""
        first = next(iter(self._editors.values()), self._defaults)
        first.setFocus(Qt.FocusReason.PopupFocusReason)

    def error(self) -> str:
        """Return the sentence that is shown about a refused value, or nothing."""
        return self._error.text()

    # Rows

    def _build(self) -> None:
        family = FAMILIES[self._spec.name]
        self._title.setText(family.title)
        self._summary.setText(family.summary)
        self._paper.setText(family.paper)
        rows = QWidget()
        form = QFormLayout(rows)
        form.setContentsMargins(0, 4, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setVerticalSpacing(6)
        self._editors = {}
        for parameter in family.parameters:
            editor = EDITORS[parameter.kind](parameter)
            editor.edited.connect(self._set)
            editor.complained.connect(self._say)
            if parameter.kind == "table":
                editor.file_read.connect(self.file_read)
            editor.setObjectName(names.PARAMETER_PREFIX + parameter.name)
            editor.setAccessibleName(words(parameter.name))
            editor.setAccessibleDescription(parameter.help)
            editor.setToolTip(parameter.help)
            label = QLabel(words(parameter.name))
            label.setToolTip(parameter.help)
            label.setBuddy(editor)
            form.addRow(label, editor)
            self._editors[parameter.name] = editor
        self._form = form
        # The old rows may be the sender of the signal that led here.
        self._column.replaceWidget(self._rows, rows)
        self._rows.setParent(None)
        self._rows.deleteLater()
        self._rows = rows
        self._defaults.setVisible(bool(family.parameters))

    def _fill(self) -> None:
        """Show every value, and only the parameters that matter beside the others."""
        parameters = FAMILIES[self._spec.name].parameters
        values = {each.name: self._spec.parameters.get(each.name, each.default) for each in parameters}
        for parameter in parameters:
            editor = self._editors[parameter.name]
            editor.set_value(values[parameter.name])
            self._form.setRowVisible(editor, parameter.matters(values))
        self._fit_width()

    def event(self, event: QEvent) -> bool:
        """Follow rows that came to need another width: with a style, a font, a table."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit_width()
        return handled

    def _fit_width(self) -> None:
        """Be as wide as the widest row, whose labels and buttons could not be read otherwise."""
        self.setFixedWidth(max(FORM_WIDTH, self._form.minimumSize().width()))

    # Hands

    def _set(self, name: str, value: Any) -> None:
        parameter = next(each for each in FAMILIES[self._spec.name].parameters if each.name == name)
        if value is None or (parameter.kind != "table" and value == parameter.default):
            self._wanted.pop(name, None)  # a document holds only what differs from the defaults
        else:
            self._wanted[name] = value
        drawn_on = self._spec.loaded is not None and name not in self._spec.loaded
        self._take(EncodingSpec(self._spec.name, self._wanted, self._spec.loaded if drawn_on else None))

    def _take(self, spec: EncodingSpec) -> None:
        try:
            spec.build()
        except ViewerError as error:
            self._say(str(error))
            return
        self._say("")
        changed = spec != self._spec
        self._spec, self._wanted = spec, dict(spec.parameters)
        self._fill()
        if changed:
            self.spec_changed.emit(spec)

    def _say(self, sentence: str) -> None:
        begins_with_a_name = sentence.split(" ", 1)[0] in self._editors
        self._error.setText(sentence if begins_with_a_name else as_sentence(sentence))
        self._error.setVisible(bool(sentence))

    def _on_defaults(self) -> None:
        self._take(EncodingSpec(self._spec.name))


class EncodingPicker(QWidget):
    """The family in a box, and a button that opens its parameters below it."""

    spec_changed = Signal(object)  # EncodingSpec

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spec = EncodingSpec("none")
        self._known: dict[str, EncodingSpec] = {}  # the parameters each family had when it was last shown
        self.family = QComboBox()
        self.family.setObjectName(names.ENCODING_BOX)
        self.family.setMinimumWidth(NARROWEST)  # the longest title needs twice as much, and few are so long
        self.family.setAccessibleName("Position encoding")
        self.family.setMaxVisibleItems(len(FAMILIES) + len(GROUPS))
        for title, family_names in GROUPS.items():
            self._add_group(title, family_names)
        self._make_searchable()
        self.family.activated.connect(self._on_family)
        self.button = QToolButton()
        self.button.setObjectName(names.PARAMETERS_BUTTON)
        self.button.setAccessibleName("Parameters of the position encoding")
        self.button.setToolTip("Parameters of the position encoding")
        self.button.clicked.connect(self.open_parameters)
        self.setFocusProxy(self.family)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.family)
        row.addWidget(self.button)

        self.popup = QFrame(self, Qt.WindowType.Popup)
        self.popup.setObjectName(names.ENCODING_POPUP)
        self.popup.setAccessibleName("Parameters of the position encoding")
        self.popup.setProperty("card", True)
        self.form = EncodingForm()
        self.form.spec_changed.connect(self._on_form)
        self.form.file_read.connect(self._on_file_read)
        inside = QVBoxLayout(self.popup)
        inside.setContentsMargins(14, 12, 14, 12)
        inside.setSizeConstraint(
            QVBoxLayout.SizeConstraint.SetFixedSize
        )  # grows with the sentence of an error
        inside.addWidget(self.form)
        self.set_theme(LIGHT)
        self.set_spec(self._spec)

    def set_spec(self, spec: EncodingSpec) -> None:
        """Show `spec`; nothing is reported."""
        self._spec = self._known[spec.name] = spec
        self._show_family()
        family = FAMILIES[spec.name]
        self.family.setToolTip(f"{family.summary}\n{family.paper}")
        self.family.setAccessibleDescription(family.summary)
        self.button.setEnabled(bool(family.parameters))
        self.form.set_spec(spec)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self.button.setIcon(icon("parameters", theme))
        self.form.set_theme(theme)

    def _add_group(self, title: str, family_names: tuple[str, ...]) -> None:
        """Add families below a heading, which cannot be chosen."""
        self.family.addItem(title)
        model = self.family.model()
        assert isinstance(model, QStandardItemModel)
        heading = model.item(self.family.count() - 1)
        heading.setFlags(Qt.ItemFlag.NoItemFlags)
        letters = heading.font()
        letters.setBold(True)
        heading.setFont(letters)
        for name in family_names:
            family = FAMILIES[name]
            self.family.addItem(family.title, name)
            tip = f"{family.summary}\n{family.paper}"
            self.family.setItemData(self.family.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)

    def _make_searchable(self) -> None:
        """Let a part of a family's title be typed; what is no title gives way to the family in force."""
        self.family.setEditable(True)
        self.family.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        completer = self.family.completer()
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setMaxVisibleItems(10)
        line = self.family.lineEdit()
        line.setObjectName(names.ENCODING_SEARCH)
        line.setAccessibleName("Position encoding; type to search")
        line.returnPressed.connect(self._on_return)
        line.editingFinished.connect(self._show_family)

    def _on_return(self) -> None:
        """Take the first family whose title holds what was typed."""
        typed = self.family.lineEdit().text().strip().lower()
        for row in range(self.family.count()):
            name = self.family.itemData(row)
            if typed and name is not None and (typed in self.family.itemText(row).lower() or typed == name):
                self._on_family(row)
                return

    def _show_family(self) -> None:
        with QSignalBlocker(self.family):
            self.family.setCurrentIndex(self.family.findData(self._spec.name))
            self.family.setEditText(FAMILIES[self._spec.name].title)

    def open_parameters(self) -> None:
        """Open the parameters below the button, inside the screen; Escape or a click beside them closes."""
        self.popup.adjustSize()
        corner = self.button.mapToGlobal(QPoint(0, self.button.height() + 4))
        screen = self.screen().availableGeometry()
        corner.setX(max(screen.left(), min(corner.x(), screen.right() - self.popup.width())))
        corner.setY(max(screen.top(), min(corner.y(), screen.bottom() - self.popup.height())))
        self.popup.move(corner)
        self.popup.show()
        self.form.focus_first()

    def _on_family(self, row: int) -> None:
        name = self.family.itemData(row)
        if name is not None and name != self._spec.name:
            self._take(self._known.get(name, EncodingSpec(name)))

    def _on_form(self, spec: EncodingSpec) -> None:
        self._take(spec)

    def _on_file_read(self) -> None:
        if self.form.error():
            self.open_parameters()  # the dialog that asked for the file has closed it, and the reason stands there

    def _take(self, spec: EncodingSpec) -> None:
        self.set_spec(spec)
        self.spec_changed.emit(spec)


def words(name: str) -> str:
    """Return a parameter's name as a label: ``num_buckets`` reads "Num buckets"."""
    return name.replace("_", " ").capitalize()
