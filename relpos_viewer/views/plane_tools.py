"""The plane editor's header, which is like the curve's."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QWidget,
)

from relpos_viewer.core.brush import SHAPES
from relpos_viewer.views import names
from relpos_viewer.views.curve_tools import SHAPE_TIPS, CurveTools
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.icons import icon
from relpos_viewer.views.number_boxes import IntegerBox
from relpos_viewer.views.theme import LIGHT, Theme
from relpos_viewer.views.tool_row import ToolRow

ICON = 16
ADDED = "b(dy, dx) added to each score"
# Qt gives a styled box without buttons a line of no width; buttons of no width work.
NO_BUTTONS = (
    "QAbstractSpinBox::up-button, QAbstractSpinBox::down-button, QAbstractSpinBox::up-arrow,"
    " QAbstractSpinBox::down-arrow { width: 0; height: 0; border: none; image: none; }"
)


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
        made = self._choice(names.PLANE_RESET, "Reset: back to the table as it was opened.")
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
