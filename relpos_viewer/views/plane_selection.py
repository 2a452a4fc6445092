"""The column beside the plane: what is done to the selection at once."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLabel, QLineEdit, QToolButton, QWidget

from relpos_viewer.core.plane_brush import OPERATIONS
from relpos_viewer.views import names
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.number_boxes import DecimalBox
from relpos_viewer.views.plane_tools import NO_BUTTONS

WIDEST = 1e6
COLUMN = 240  # pixels of one column
GAP, COLUMN_GAP = 4, 12
# A number of the height of a line, and the room of one with all the digits that a box shows.
NUMBER_ROW, WIDE_NUMBER, NUMBER_FRAME = 28, "−0.8888888888", 20

OPERATION_TIPS = {
    "Flatten": "Give the selection its mean everywhere.",
    "Smooth": "Round the selection: each value becomes the mean of itself and its neighbours.",
    "Turn": "Turn the selection upside down, about its mean.",
    "Mirror left–right": "Let left and right of the selection change places.",
    "Mirror up–down": "Let above and below of the selection change places.",
    "Reverse": "Turn the selection by half a circle: about the middle, query and key change places.",
}
SHORT_NAMES = {"Mirror left–right": "Mirror ↔", "Mirror up–down": "Mirror ↕"}


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
        self._where = ElidedLabel("selection: all cells")
        self._where.setObjectName(names.PLANE_WHERE)
        self._where.setProperty("muted", True)
        self._operations = self._operations_block()
        self._amounts = self._amounts_block()
        self._numbers, self._numbers_grid = _block()
        self._number_labels: list[QLabel] = []
        self._number_boxes: list[DecimalBox] = []
        self._columns = 0
        self._blocks = QGridLayout(self)
        self._blocks.setContentsMargins(10, 0, 6, 0)
        self._blocks.setSpacing(GAP)
        self._blocks.setHorizontalSpacing(COLUMN_GAP)
        self._place(1)

    def fold(self, height: int, width: int) -> None:
        """Stand in one column, or side by side where one is higher than `height` and two are no wider than `width`."""
        needed = sum(
            block.sizeHint().height() + GAP for block in (self._where, self._operations, self._amounts)
        )
        needed += len(self._number_boxes) * (NUMBER_ROW + GAP)
        margins = self._blocks.contentsMargins().left() + self._blocks.contentsMargins().right()
        one = max(COLUMN, self._operations.minimumSizeHint().width() + margins)
        columns = 2 if needed > height and 2 * one <= width else 1
        self._place(columns)
        self.setFixedWidth(columns * one)

    def _place(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        blocks, last = self._blocks, columns - 1
        for block in (self._where, self._operations, self._amounts, self._numbers):
            blocks.removeWidget(block)
        for row in range(blocks.rowCount()):
            blocks.setRowStretch(row, 0)
        top = Qt.AlignmentFlag.AlignTop
        blocks.addWidget(self._where, 0, 0, 1, columns)
        blocks.addWidget(self._operations, 1, 0, top)
        blocks.addWidget(self._amounts, 2 - last, last, top)
        blocks.addWidget(self._numbers, 3 - last, 0, 1, columns, top)
        blocks.setRowStretch(4, 1)
        self._place_numbers()

    def _place_numbers(self) -> None:
        """Put each number below its title where there is width for all of them in a row, or beside it."""
        grid, one = self._numbers_grid, self._columns == 1
        for widget in (*self._number_labels, *self._number_boxes):
            grid.removeWidget(widget)
        for column in range(max(2, len(self._number_boxes))):
            grid.setColumnStretch(column, int(not one or column == 1))
        for place, (label, box) in enumerate(zip(self._number_labels, self._number_boxes, strict=True)):
            if one:
                grid.addWidget(label, place, 0)
                grid.addWidget(box, place, 1)
            else:
                grid.addWidget(label, 0, place)
                grid.addWidget(box, 1, place)

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
            for widget in (*self._number_labels, *self._number_boxes):
                widget.setParent(None)
                widget.deleteLater()
            made = [self._number(place, title) for place, title in enumerate(titles)]
            self._number_labels = [label for label, _box in made]
            self._number_boxes = [box for _label, box in made]
            self._place_numbers()
        self._numbers.setVisible(bool(titles))
        for box, value in zip(self._number_boxes, values, strict=True):
            with QSignalBlocker(box):
                box.setValue(value)

    # Making of.

    def _number(self, place: int, title: str) -> tuple[QLabel, DecimalBox]:
        label = QLabel(title)
        label.setProperty("muted", True)
        box = DecimalBox(-WIDEST, WIDEST)
        box.setObjectName(f"{names.PLANE_NUMBER_PREFIX}{place}")
        box.setAccessibleName(f"Bias {title}")
        box.setStyleSheet(NO_BUTTONS)
        box.setMinimumWidth(box.fontMetrics().horizontalAdvance(WIDE_NUMBER) + NUMBER_FRAME)
        box.valueChanged.connect(self._on_number)
        box.refused.connect(self._on_refused)
        label.setBuddy(box)
        return label, box

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(names.PLANE_DO_PREFIX + name)
        made.setText(text)
        made.setToolTip(tip)
        made.setAccessibleName(f"{name} selection")
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return made

    def _operations_block(self) -> QWidget:
        block, grid = _block()
        for place, name in enumerate(OPERATIONS):
            button = self._button(name, SHORT_NAMES.get(name, name), OPERATION_TIPS[name])
            button.setProperty("operation", name)
            button.clicked.connect(self._on_operation)
            grid.addWidget(button, place // 3, place % 3)
        for place, (name, tip, signal) in enumerate(
            (
                ("Copy", "Copy the selected numbers as a table (Ctrl+C).", self.copy_requested),
                ("Paste", "Put the numbers of the clipboard here (Ctrl+V).", self.paste_requested),
                (
                    "Reset",
                    "Give the selection the values that it was opened with (Del).",
                    self.reset_requested,
                ),
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
        return block

    def _amounts_block(self) -> QWidget:
        block, grid = _block()
        grid.setColumnStretch(0, 1)
        self._shift = self._amount(names.PLANE_SHIFT, "Score units to add", 0.5)
        self._scale = self._amount(names.PLANE_SCALE, "Factor about the mean", 2.0)
        self._heads = QComboBox()
        self._heads.setObjectName(names.PLANE_HEAD)
        self._heads.setAccessibleName("Head to copy from")
        self._formula = QLineEdit()
        self._formula.setObjectName(names.PLANE_FORMULA)
        self._formula.setAccessibleName("Formula in dy and dx")
        self._formula.setPlaceholderText("-abs(dy) - abs(dx)")
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
        self._shift.lineEdit().returnPressed.connect(self._on_shift)
        self._scale.lineEdit().returnPressed.connect(self._on_scale)
        for row, (entry, button) in enumerate(
            ((self._shift, shift), (self._scale, scale), (self._heads, self._copy), (self._formula, formula))
        ):
            grid.addWidget(entry, row, 0)
            grid.addWidget(button, row, 1)
            policy = button.sizePolicy()
            policy.setHorizontalPolicy(policy.Policy.Expanding)
            button.setSizePolicy(policy)
        return block

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
        self._shift.interpretText()  # a click on the button leaves what was typed in the box
        self.shift_requested.emit(self._shift.value())

    def _on_scale(self) -> None:
        self._scale.interpretText()
        self.scale_requested.emit(self._scale.value())

    def _on_copy(self) -> None:
        self.copy_head_requested.emit(int(self._heads.currentText()))

    def _on_formula(self) -> None:
        self.formula_requested.emit(self._formula.text())

    def _on_number(self, value: float) -> None:
        self.number_changed.emit(self._number_boxes.index(self.sender()), value)

    def _on_refused(self, text: str) -> None:
        self.refused.emit(f"“{text}” is not a number; type one like −1.25.")


def _block() -> tuple[QWidget, QGridLayout]:
    block = QWidget()
    grid = QGridLayout(block)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setSpacing(GAP)
    return block, grid
