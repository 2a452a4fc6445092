"""The plane editor's controls: a header like the curve's, and a column of what is done to the selection at once."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.core.brush import SHAPES
from relpos_viewer.core.plane_brush import OPERATIONS
from relpos_viewer.views import names
from relpos_viewer.views.curve_tools import SHAPE_TIPS, CurveTools
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.icons import icon
from relpos_viewer.views.number_boxes import DecimalBox, IntegerBox
from relpos_viewer.views.theme import LIGHT, Theme
from relpos_viewer.views.tool_row import ToolRow

ICON = 16
WIDEST = 1e6
ADDED = "b(dy, dx) added to each score"
# Qt gives a styled box without buttons a line of no width; buttons of no width work.
NO_BUTTONS = (
    "QAbstractSpinBox::up-button, QAbstractSpinBox::down-button, QAbstractSpinBox::up-arrow,"
    " QAbstractSpinBox::down-arrow { width: 0; height: 0; border: none; image: none; }"
)
COLUMN = 240  # pixels of the column

OPERATION_TIPS = {
    "Flatten": "Give the selection its mean everywhere.",
    "Smooth": "Round the selection: each value becomes the mean of itself and its neighbours.",
    "Turn": "Turn the selection upside down, about its mean.",
    "Mirror left–right": "Let left and right of the selection change places.",
    "Mirror up–down": "Let above and below of the selection change places.",
    "Reverse": "Turn the selection by half a circle: about the middle, query and key change places.",
}
SHORT_NAMES = {"Mirror left–right": "Mirror ↔", "Mirror up–down": "Mirror ↕"}


@dataclass(frozen=True)
class _Tool:
    icon: str
    tip: str


TOOLS = {
    "brush": _Tool(
        "brush",
        "Brush: drag a cell up or down, its neighbours follow.\nShift: finer · Ctrl: round values · Esc: cancel",
    ),
    "select": _Tool("select", "Select: drag a rectangle of cells.\nWith the brush: hold Shift and drag."),
}


class PlaneTools(ToolRow):
    """The header. Shape, radius and "all heads" are the curve editor's own settings: both editors share a brush."""

    levels = 6

    changed = Signal()
    reset_selection_requested = Signal()
    reset_head_requested = Signal()
    reset_all_requested = Signal()

    def __init__(self, brush: CurveTools, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._brush = brush
        self._title = QLabel("Bias plane")
        self._title.setProperty("title", True)
        self._words = ("", "")
        self._drags = QLabel()
        self._drags.setObjectName(names.PLANE_DRAGS)
        self._note = ElidedLabel(ADDED)
        self._note.setProperty("muted", True)
        self._tools = {
            name: self._choice(names.PLANE_TOOL_PREFIX + name, tool.tip) for name, tool in TOOLS.items()
        }
        self._shapes = {
            shape: self._choice(
                names.PLANE_SHAPE_PREFIX + shape, SHAPE_TIPS[shape].replace("offsets", "cells")
            )
            for shape in SHAPES
        }
        for buttons in (self._tools, self._shapes):
            group = QButtonGroup(self)
            for button in buttons.values():
                group.addButton(button)
            group.buttonClicked.connect(self._on_clicked)
        self.radius_box = IntegerBox(0, 1)
        self.radius_box.setObjectName(names.PLANE_RADIUS)
        self.radius_box.setAccessibleName("Brush radius in cells")
        self.radius_box.setToolTip("Radius: cells around that follow.\nWheel over the plane, or [ and ]")
        self.radius_box.setStyleSheet(NO_BUTTONS)
        self.radius_box.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.radius_box.setFixedWidth(52)
        self.radius_box.valueChanged.connect(self._on_radius)
        self._radius_label = QLabel("radius")
        self._radius_label.setProperty("muted", True)
        self._all_heads = self._choice(names.PLANE_ALL_HEADS, "All heads: edits go to every head.")
        self._all_heads.setText("all heads")
        self._all_heads.toggled.connect(self._on_all_heads)
        self._reset = self._reset_button()
        self._lay_out()
        self._tools["brush"].setChecked(True)
        brush.changed.connect(self.follow)
        self.follow()
        self.set_theme(LIGHT)

    @property
    def tool(self) -> str:
        """Name of the tool, a key of `TOOLS`."""
        return next(name for name, button in self._tools.items() if button.isChecked())

    @tool.setter
    def tool(self, name: str) -> None:
        self._tools[name].setChecked(True)
        self.changed.emit()

    @property
    def shape(self) -> str:
        """One of `core.brush.SHAPES`."""
        return self._brush.shape

    @property
    def radius(self) -> int:
        """How far neighbours follow, in cells."""
        return self.radius_box.value()

    @property
    def all_heads(self) -> bool:
        """Whether edits go to every head."""
        return self._brush.all_heads

    def turn_radius(self, steps: int, _fine: bool) -> None:
        """Grow or shrink the radius by whole cells."""
        self.radius_box.setValue(max(self.radius + steps, 0))

    def set_words(self, drags: str, tip: str, note: str) -> None:
        """Say what a drag changes, and what else there is to know."""
        self._words = (drags, "table")
        self._drags.setToolTip(tip)
        self._drags.setAccessibleName(drags.replace("drag:", "A drag changes the"))
        self._note.setText(note or ADDED)
        self.fit()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        for name, button in self._tools.items():
            button.setIcon(icon(TOOLS[name].icon, theme))
        for shape, button in self._shapes.items():
            button.setIcon(icon(f"shape-{shape}", theme))
        self._all_heads.setIcon(icon("all-heads", theme))
        self._reset.setIcon(icon("reset", theme))
        for divider in self._dividers:
            divider.setStyleSheet(f"background: {theme.border};")
        self._drags.setStyleSheet(
            f"color: {theme.native}; background: {theme.native_soft}; border-radius: 5px; padding: 1px 6px;"
        )

    # Making of.

    def _choice(self, name: str, tip: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        made.setToolTip(tip)
        made.setAccessibleName(tip.split(":")[0])
        made.setIconSize(QSize(ICON, ICON))
        made.setCheckable(True)
        made.setProperty("flat", True)
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return made

    def _reset_button(self) -> QToolButton:
        made = self._choice(names.PLANE_RESET, "Reset: back to the family's own table.")
        made.setText("Reset")
        made.setCheckable(False)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        for text, signal in (
            ("Reset &selection", self.reset_selection_requested),
            ("Reset this &head", self.reset_head_requested),
            ("Reset &all heads", self.reset_all_requested),
        ):
            action = QAction(text, menu)
            action.triggered.connect(signal)
            menu.addAction(action)
        made.setMenu(menu)
        return made

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._title)
        row.addWidget(self._drags)
        row.addWidget(self._note, 1)
        row.addStretch(0)
        self._dividers: list[QFrame] = []
        for widgets in (
            list(self._tools.values()),
            list(self._shapes.values()),
            [self._radius_label, self.radius_box],
            [self._all_heads, self._reset],
        ):
            row.addSpacing(6)
            if widgets[0] is not self._tools["brush"]:
                self._dividers.append(QFrame())
                self._dividers[-1].setFixedSize(1, 16)
                row.addWidget(self._dividers[-1])
            for widget in widgets:
                row.addWidget(widget)

    def drop(self, level: int) -> None:
        """The words of the badge go before the title, which says where one is."""
        beside, alone = Qt.ToolButtonStyle.ToolButtonTextBesideIcon, Qt.ToolButtonStyle.ToolButtonIconOnly
        for button in (self._all_heads, self._reset):
            button.setToolButtonStyle(beside if level < 2 else alone)
        self._drags.setText(self._words[level >= 3])
        self._radius_label.setVisible(level < 4)
        for divider in self._dividers:
            divider.setVisible(level < 5)
        self._title.setVisible(level < 6)
        self._note.setVisible(level < 1 and self._has_room_for_note())

    def _has_room_for_note(self) -> bool:
        """Whether the note can be read whole; half of it would say nothing."""
        self._note.setVisible(True)
        wanted = self._note.fontMetrics().horizontalAdvance(self._note.text()) + 4
        return self.layout().minimumSize().width() + wanted <= self.width()

    # Hands.

    def _on_clicked(self) -> None:
        self._brush.shape = next(shape for shape, button in self._shapes.items() if button.isChecked())
        self.changed.emit()

    def _on_radius(self, radius: int) -> None:
        self._brush.radius = radius
        self.changed.emit()

    def _on_all_heads(self, on: bool) -> None:
        self._brush.all_heads = on

    def follow(self) -> None:
        """Show the settings of the brush, which the curve's tools keep."""
        self._shapes[self._brush.shape].setChecked(True)
        with QSignalBlocker(self.radius_box):
            self.radius_box.setMaximum(self._brush.radius_box.maximum())
            self.radius_box.setValue(self._brush.radius)
        with QSignalBlocker(self._all_heads):
            self._all_heads.setChecked(self._brush.all_heads)
        self.changed.emit()


class SelectionTools(QFrame):
    """The column beside the plane: what is selected, what can be done to it at once, and the numbers beside the plane.

    Signals:
        operation_requested(name of core.plane_brush.OPERATIONS); shift_requested(amount), scale_requested(factor);
        copy_head_requested(head); formula_requested(text); copy_requested(), paste_requested(), reset_requested();
        number_changed(index, value): one of the numbers that are not in the plane.
        refused(sentence).
    """

    operation_requested = Signal(str)
    shift_requested = Signal(float)
    scale_requested = Signal(float)
    copy_head_requested = Signal(int)
    formula_requested = Signal(str)
    copy_requested = Signal()
    paste_requested = Signal()
    reset_requested = Signal()
    number_changed = Signal(int, float)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(COLUMN)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 0, 6, 0)
        column.setSpacing(4)
        self._where = ElidedLabel("selection: all cells")
        self._where.setObjectName(names.PLANE_WHERE)
        self._where.setProperty("muted", True)
        column.addWidget(self._where)
        column.addLayout(self._operations())
        column.addLayout(self._amounts())
        self._numbers_box = QWidget()
        self._numbers = QGridLayout(self._numbers_box)
        self._numbers.setContentsMargins(0, 4, 0, 0)
        self._numbers.setHorizontalSpacing(4)
        self._numbers.setVerticalSpacing(1)
        self._number_boxes: list[DecimalBox] = []
        column.addWidget(self._numbers_box)
        column.addStretch(1)

    def set_where(self, text: str) -> None:
        """Say what is selected."""
        self._where.setText(text)

    def set_heads(self, heads: int, head: int) -> None:
        """Offer the other heads to copy from."""
        others = [str(other) for other in range(heads) if other != head]
        known = [self._heads.itemText(place) for place in range(self._heads.count())]
        if others != known:
            self._heads.clear()
            self._heads.addItems(others)
        for widget in (self._heads, self._copy):
            widget.setEnabled(bool(others))

    def ask(self, entry: str) -> None:
        """Bring the cursor to the "shift", "scale" or "formula" entry."""
        widget = {"shift": self._shift, "scale": self._scale, "formula": self._formula}[entry]
        widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
        widget.selectAll()

    def set_numbers(self, titles: tuple[str, ...], values: tuple[float, ...]) -> None:
        """Show the numbers of the head that are not in the plane."""
        if len(titles) != len(self._number_boxes):
            while self._numbers.count():
                self._numbers.takeAt(0).widget().deleteLater()
            self._number_boxes = []
            for place, title in enumerate(titles):
                label = QLabel(title)
                label.setProperty("muted", True)
                label.setStyleSheet("font-size: 10px;")
                box = DecimalBox(-WIDEST, WIDEST)
                box.setObjectName(f"{names.PLANE_NUMBER_PREFIX}{place}")
                box.setAccessibleName(f"Bias {title}")
                box.setStyleSheet(NO_BUTTONS)
                box.setMinimumWidth(40)
                box.valueChanged.connect(self._on_number)
                box.refused.connect(self._on_refused)
                self._numbers.addWidget(label, 0, place)
                self._numbers.addWidget(box, 1, place)
                self._number_boxes.append(box)
        self._numbers_box.setVisible(bool(titles))
        for box, value in zip(self._number_boxes, values, strict=True):
            with QSignalBlocker(box):
                box.setValue(value)

    # Making of.

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(names.PLANE_DO_PREFIX + name)
        made.setText(text)
        made.setToolTip(tip)
        made.setAccessibleName(f"{name} selection")
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        made.setMinimumWidth(66)
        return made

    def _operations(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(4)
        for place, name in enumerate(OPERATIONS):
            button = self._button(name, SHORT_NAMES.get(name, name), OPERATION_TIPS[name])
            button.setProperty("operation", name)
            button.clicked.connect(self._on_operation)
            grid.addWidget(button, place // 3, place % 3)
        for place, (name, tip, signal) in enumerate(
            (
                ("Copy", "Copy the selected numbers as a table (Ctrl+C).", self.copy_requested),
                ("Paste", "Put the numbers of the clipboard here (Ctrl+V).", self.paste_requested),
                ("Reset", "Give the selection the family's own values (Del).", self.reset_requested),
            )
        ):
            button = self._button(name, name, tip)
            button.clicked.connect(signal)
            grid.addWidget(button, len(OPERATIONS) // 3, place)
        for place in range(grid.count()):
            button = grid.itemAt(place).widget()
            policy = button.sizePolicy()
            policy.setHorizontalPolicy(policy.Policy.Expanding)
            button.setSizePolicy(policy)
        return grid

    def _amounts(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(4)
        grid.setColumnStretch(0, 1)
        self._shift = self._amount(names.PLANE_SHIFT, "Score units to add", 0.5)
        self._scale = self._amount(names.PLANE_SCALE, "Factor about the mean", 2.0)
        self._heads = QComboBox()
        self._heads.setObjectName(names.PLANE_HEAD)
        self._heads.setAccessibleName("Head to copy from")
        self._formula = QLineEdit()
        self._formula.setObjectName(names.PLANE_FORMULA)
        self._formula.setAccessibleName("Formula in dy and dx")
        self._formula.setPlaceholderText("-0.3*abs(dy) - 0.2*abs(dx)")
        self._formula.setToolTip(
            "dy, dx: key − query in rows and columns · b: the value as it is · h, H: head, heads\n"
            "+ − * / ** abs sign sqrt exp log log2 sin cos tanh floor ceil min max where < <= > >= == !="
        )
        self._formula.returnPressed.connect(self._on_formula)
        shift = self._button("Shift", "Shift", "Add this to every selected value.")
        shift.clicked.connect(self._on_shift)
        scale = self._button("Scale", "Scale", "Stretch the selection about its mean by this factor.")
        scale.clicked.connect(self._on_scale)
        self._copy = self._button("From head", "From head", "Take these cells from the head on the left.")
        self._copy.clicked.connect(self._on_copy)
        formula = self._button("Formula", "Formula", "Set every selected cell to this formula.")
        formula.clicked.connect(self._on_formula)
        for row, (entry, button) in enumerate(
            ((self._shift, shift), (self._scale, scale), (self._heads, self._copy), (self._formula, formula))
        ):
            grid.addWidget(entry, row, 0)
            grid.addWidget(button, row, 1)
            policy = button.sizePolicy()
            policy.setHorizontalPolicy(policy.Policy.Expanding)
            button.setSizePolicy(policy)
        return grid

    def _amount(self, name: str, accessible: str, value: float) -> DecimalBox:
        box = DecimalBox(-WIDEST, WIDEST)
        box.setObjectName(name)
        box.setAccessibleName(accessible)
        box.setValue(value)
        box.refused.connect(self._on_refused)
        return box

    # Hands.

    def _on_operation(self) -> None:
        self.operation_requested.emit(self.sender().property("operation"))

    def _on_shift(self) -> None:
        self.shift_requested.emit(self._shift.value())

    def _on_scale(self) -> None:
        self.scale_requested.emit(self._scale.value())

    def _on_copy(self) -> None:
        self.copy_head_requested.emit(int(self._heads.currentText()))

    def _on_formula(self) -> None:
        self.formula_requested.emit(self._formula.text())

    def _on_number(self, value: float) -> None:
        self.number_changed.emit(self._number_boxes.index(self.sender()), value)

    def _on_refused(self, text: str) -> None:
        self.refused.emit(f"“{text}” is not a number; type one like −1.25.")
