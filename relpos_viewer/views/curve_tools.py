"""The curve editor's header: what the hand does, how far it reaches, and how the curve is shown."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from relpos_viewer.core.brush import SHAPES, Brush
from relpos_viewer.views import names
from relpos_viewer.views.icons import icon
from relpos_viewer.views.number_boxes import IntegerBox
from relpos_viewer.views.theme import LIGHT, Theme
from relpos_viewer.views.tool_row import ToolRow

ICON = 16
GAP = 4
GROUP_GAP = 10


@dataclass(frozen=True)
class _Button:
    name: str
    icon: str
    text: str
    tip: str


TOOLS = {
    "brush": _Button(
        "brush",
        "brush",
        "Brush",
        "Brush: drag a point up or down, its neighbours follow.\nShift: finer · Ctrl: round values · Esc: cancel",
    ),
    "freehand": _Button(
        "freehand",
        "freehand",
        "Freehand",
        "Freehand: draw the curve across offsets.\nCtrl: round values · Esc: cancel",
    ),
    "anchors": _Button(
        "anchors",
        "anchors",
        "Anchors",
        "Anchors: drag one, and the curve bends between its neighbours.\n"
        "Ctrl+click adds one without changing the curve, Delete removes it.",
    ),
    "handles": _Button(
        "handles",
        "handles",
        "Handles",
        "Handles: drag a diamond to move the family's own parameters; your edit stays.\n"
        "H: next handle · arrows: move it · Enter: exact value",
    ),
}
SHAPE_TIPS = {
    "step": "Step: all offsets in the radius move alike.",
    "linear": "Linear: neighbours follow less and less.",
    "smooth": "Smooth: neighbours follow like a bell.",
}
TOGGLES = {
    "mirror": _Button(names.CURVE_MIRROR, "mirror", "±δ", "Mirror: −δ does what δ does."),
    "snap": _Button(
        names.CURVE_SNAP, "snap", "buckets", "Buckets: offsets that share one bucket move as a whole."
    ),
    "all_heads": _Button(
        names.CURVE_ALL_HEADS, "all-heads", "all heads", "All heads: edits go to every head."
    ),
    "symlog": _Button(
        names.CURVE_AXIS, "axis", "log δ", "Symmetric-log axis: near offsets take more width than far ones."
    ),
}


class CurveTools(ToolRow):
    """A row of controls that narrows to icons where room is short. It holds the tool's settings.

    `changed` follows every change of a setting, by hand or by program.
    """

    levels = 6

    changed = Signal()
    reset_point_requested = Signal()
    reset_head_requested = Signal()
    reset_all_requested = Signal()
    reset_view_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._wanted = "brush"
        self._family = ""
        self._words = ("", "")
        self._title = QLabel("Bias curve")
        self._title.setProperty("title", True)
        self._subtitle = QLabel("b(δ) added to each score")
        self._subtitle.setProperty("muted", True)
        self.drags = QLabel()
        self.drags.setObjectName(names.CURVE_DRAGS)
        self._tools = {
            name: self._exclusive(names.CURVE_TOOL_PREFIX, button) for name, button in TOOLS.items()
        }
        self._shapes = {
            shape: self._exclusive(
                names.CURVE_SHAPE_PREFIX,
                _Button(shape, f"shape-{shape}", f"Brush shape {shape}", SHAPE_TIPS[shape]),
            )
            for shape in SHAPES
        }
        self._groups = [self._group(self._tools), self._group(self._shapes)]
        self._toggles = {name: self._toggle(button) for name, button in TOGGLES.items()}
        self.radius_box = IntegerBox(0, 1)
        self.radius_box.setObjectName(names.CURVE_RADIUS)
        self.radius_box.setAccessibleName("Brush radius in offsets")
        self.radius_box.setToolTip(
            "Radius: offsets on each side that follow.\nWheel over the curve, or [ and ]"
        )
        # Qt gives a styled box without buttons a line of no width; buttons of no width work.
        self.radius_box.setStyleSheet(
            "QSpinBox::up-button, QSpinBox::down-button, QSpinBox::up-arrow, QSpinBox::down-arrow"
            " { width: 0; height: 0; border: none; image: none; }"
        )
        self.radius_box.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.radius_box.setFixedWidth(52)
        self.radius_box.valueChanged.connect(self._on_radius)
        self._radius_label = QLabel("radius")
        self._radius_label.setProperty("muted", True)
        self._reset = self._reset_button()
        self._lay_out()
        self._radius_chosen: int | None = None
        self.tool, self.shape, self.snap = "brush", "smooth", True
        self.set_theme(LIGHT)
        self.offer_snap(False)

    # Settings.

    @property
    def tool(self) -> str:
        """Name of the chosen tool, a key of `TOOLS`."""
        return next(name for name, button in self._tools.items() if button.isChecked())

    @tool.setter
    def tool(self, name: str) -> None:
        self._wanted = name
        possible = self._tools[name].isEnabled()
        self._tools[name if possible else "brush"].setChecked(True)
        self._on_tool()

    @property
    def wanted_tool(self) -> str:
        """The tool that was asked for; another one holds while the family has no handles."""
        return self._wanted

    @property
    def has_handles(self) -> bool:
        """Whether the family has handles to drag."""
        return self._tools["handles"].isEnabled()

    def offer_handles(self, family: str, reason: str) -> None:
        """Enable the tool for native handles of `family`, or say by `reason` why there are none."""
        button = self._tools["handles"]
        told = (family, TOOLS["handles"].tip if not reason else f"Handles: {reason}")
        if told == (self._family, button.toolTip()) and button.isEnabled() == (not reason):
            return
        self._family = family
        button.setEnabled(not reason)
        button.setToolTip(told[1])
        before = self.tool
        self._tools["brush" if reason and self._wanted == "handles" else self._wanted].setChecked(True)
        if self.tool != before:
            self._on_tool()
        else:
            self._say_what_drags_do()

    def _say_what_drags_do(self) -> None:
        native = self.tool == "handles"
        if native:
            self._words = (f"drag: {self._family} parameters", "parameters")
        else:
            self._words = ("drag: edit Δ on top", "edit Δ")
        self.drags.setProperty("native", native)
        self.drags.setAccessibleName(self._words[0].replace("drag:", "A drag changes"))
        self.drags.setToolTip(
            f"A drag moves the parameters of {self._family}; your edit Δ stays as it is."
            if native
            else "A drag changes your edit Δ, which is added to the family's own curve."
        )
        self._colour_words()
        self.fit()

    def _colour_words(self) -> None:
        native, t = self.tool == "handles", self._theme
        ink, ground = (t.native, t.native_soft) if native else (t.accent, t.accent_soft)
        self.drags.setStyleSheet(f"color: {ink}; background: {ground}; border-radius: 5px; padding: 1px 6px;")

    @property
    def shape(self) -> str:
        """Name of the brush shape, one of `core.brush.SHAPES`."""
        return next(name for name, button in self._shapes.items() if button.isChecked())

    @shape.setter
    def shape(self, name: str) -> None:
        self._shapes[name].setChecked(True)
        self.changed.emit()

    @property
    def radius(self) -> int:
        """How many offsets on each side follow."""
        return self.radius_box.value()

    @radius.setter
    def radius(self, offsets: int) -> None:
        self.radius_box.setValue(offsets)

    @property
    def mirror(self) -> bool:
        """Whether −δ does what δ does."""
        return self._toggles["mirror"].isChecked()

    @mirror.setter
    def mirror(self, on: bool) -> None:
        self._toggles["mirror"].setChecked(on)

    @property
    def snap(self) -> bool:
        """Whether buckets, where there are any, move as a whole."""
        return self._toggles["snap"].isChecked()

    @snap.setter
    def snap(self, on: bool) -> None:
        self._toggles["snap"].setChecked(on)

    @property
    def all_heads(self) -> bool:
        """Whether edits go to every head."""
        return self._toggles["all_heads"].isChecked()

    @all_heads.setter
    def all_heads(self, on: bool) -> None:
        self._toggles["all_heads"].setChecked(on)

    @property
    def axis(self) -> str:
        """Name of the offset scale: "linear" or "symlog"."""
        return "symlog" if self._toggles["symlog"].isChecked() else "linear"

    @axis.setter
    def axis(self, name: str) -> None:
        self._toggles["symlog"].setChecked(name == "symlog")

    @property
    def brush(self) -> Brush:
        """The brush these settings describe."""
        return Brush(self.shape, self.radius, self.mirror)

    def offer_snap(self, possible: bool) -> None:
        """Enable the bucket switch where the family has buckets."""
        self._toggles["snap"].setEnabled(possible)

    def set_longest(self, n: int) -> None:
        """Fit the radius to n positions; one that was chosen comes back with the room for it."""
        with QSignalBlocker(self.radius_box):
            self.radius_box.setMaximum(max(n - 1, 0))
            self.radius_box.setValue(max(2, n // 12) if self._radius_chosen is None else self._radius_chosen)

    def turn_radius(self, steps: int, fine: bool) -> None:
        """Grow or shrink the radius by wheel notches or key presses: a tenth each, by 1 when `fine`."""
        radius = self.radius
        for _ in range(abs(steps)):
            change = 1 if fine else max(1, round(radius * 0.1))
            radius += change if steps > 0 else -change
        self.radius = max(radius, 0)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self._colour_words()
        for table, buttons in ((TOOLS, self._tools), (TOGGLES, self._toggles)):
            for name, button in buttons.items():
                button.setIcon(icon(table[name].icon, theme))
        for shape, button in self._shapes.items():
            button.setIcon(icon(f"shape-{shape}", theme))
        for divider in self._dividers:
            divider.setStyleSheet(f"background: {theme.border};")
        self._reset.setIcon(icon("reset", theme))

    # Making of.

    def _button(self, name: str, button: _Button) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        made.setText(button.text)
        made.setAccessibleName(button.tip.split(":")[0].split(".")[0])
        made.setToolTip(button.tip)
        made.setIconSize(QSize(ICON, ICON))
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return made

    def _exclusive(self, prefix: str, button: _Button) -> QToolButton:
        made = self._button(prefix + button.name, button)
        made.setCheckable(True)
        made.setProperty("flat", True)
        return made

    def _group(self, buttons: dict[str, QToolButton]) -> QButtonGroup:
        group = QButtonGroup(self)
        for button in buttons.values():
            group.addButton(button)
        group.buttonClicked.connect(self._on_chosen)
        return group

    def _toggle(self, button: _Button) -> QToolButton:
        made = self._button(button.name, button)
        made.setCheckable(True)
        made.setProperty("flat", True)
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        made.toggled.connect(self._on_tool)
        return made

    def _reset_button(self) -> QToolButton:
        made = self._button(
            names.CURVE_RESET,
            _Button(names.CURVE_RESET, "reset", "Reset", "Reset: take edits back."),
        )
        made.setProperty("flat", True)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        for text, signal in (
            ("Reset &point or range", self.reset_point_requested),
            ("Reset this &head", self.reset_head_requested),
            ("Reset &all heads", self.reset_all_requested),
            ("Reset &view", self.reset_view_requested),
        ):
            action = QAction(text, menu)
            action.triggered.connect(signal)
            menu.addAction(action)
        made.setMenu(menu)
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        return made

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        row.addWidget(self._title)
        row.addWidget(self._subtitle)
        row.addWidget(self.drags)
        row.addStretch(1)
        self._dividers: list[QFrame] = []
        for widgets in (
            list(self._tools.values()),
            list(self._shapes.values()),
            [self._radius_label, self.radius_box],
            [self._toggles[name] for name in ("mirror", "snap", "all_heads")],
            [self._toggles["symlog"], self._reset],
        ):
            row.addSpacing(GROUP_GAP - GAP)
            if widgets[0] is not next(iter(self._tools.values())):
                self._dividers.append(QFrame())
                self._dividers[-1].setFixedSize(1, 16)
                row.addWidget(self._dividers[-1])
            for widget in widgets:
                row.addWidget(widget)

    def drop(self, level: int) -> None:
        """The words of the badge go before the title, which says where one is."""
        beside, alone = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon,
            Qt.ToolButtonStyle.ToolButtonIconOnly,
        )
        self._subtitle.setVisible(level < 1)
        for button in (*self._toggles.values(), self._reset):
            button.setToolButtonStyle(beside if level < 2 else alone)
        self.drags.setText(self._words[level >= 3])
        self._radius_label.setVisible(level < 4)
        for divider in self._dividers:
            divider.setVisible(level < 5)
        self._title.setVisible(level < 6)

    def _on_chosen(self, button: QToolButton) -> None:
        self._wanted = next((name for name, own in self._tools.items() if own is button), self._wanted)
        self._on_tool()

    def _on_tool(self, *_: object) -> None:
        self._say_what_drags_do()
        for widget in (*self._shapes.values(), self.radius_box):
            widget.setEnabled(self.tool == "brush")
        self.changed.emit()

    def _on_radius(self) -> None:
        self._radius_chosen = self.radius
        self.changed.emit()
