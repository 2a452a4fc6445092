"""Everything a user can do by name: menus, shortcuts and the help's table come from this one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from relpos_viewer.app.palettes import TERMS_MAPS, WEIGHTS_MAPS
from relpos_viewer.sources.text import TOKENIZERS

Scope = Literal["window", "curve"]


@dataclass(frozen=True)
class ActionSpec:
    """One action.

    Attributes:
        id: stable name. Of one choice among several it is "group:value".
        text: as in the menu; "…" at its end when a dialog follows.
        menu: where it stands, from the menu bar down: "View/Layout".
        tip: one sentence that says what it does.
        shortcut: portable key sequences with "; " between them, or "".
        icon: a drawing of resources/icons, or "".
        checkable: it shows a state.
        group: name of the choices that exclude one another, or "".
        starts_section: a line is drawn above it.
        scope: "curve" keys work while the curve editor has the focus, and are free for text elsewhere.
    """

    id: str
    text: str
    menu: str
    tip: str
    shortcut: str = ""
    icon: str = ""
    checkable: bool = False
    group: str = ""
    starts_section: bool = False
    scope: Scope = "window"

    @property
    def value(self) -> str:
        """Of a choice "group:value", the value."""
        return self.id.partition(":")[2]

    @property
    def label(self) -> str:
        """The text without the mark of a dialog: for lists, buttons and screen readers."""
        return self.text.removesuffix("…")

    @property
    def shortcuts(self) -> list[QKeySequence]:
        """The key sequences; the first one stands in the menu."""
        return QKeySequence.listFromString(self.shortcut) if self.shortcut else []


@dataclass(frozen=True)
class DynamicMenu:
    """A menu that is filled when it opens (recent files, devices); `after` is the action above it."""

    menu: str
    tip: str
    after: str = ""
    icon: str = ""


@dataclass(frozen=True)
class Gesture:
    """Something done with the pointer or a plain key inside one view: part of the help, not an action."""

    where: str
    keys: str
    text: str


MENUS: tuple[tuple[str, str], ...] = (
    ("File", "&File"),
    ("Edit", "&Edit"),
    ("View", "&View"),
    ("Sequence", "&Sequence"),
    ("Head", "&Head"),
    ("Tools", "&Tools"),
    ("Device", "&Device"),
    ("Help", "He&lp"),
)
"""The menu bar: (name in `ActionSpec.menu`, title with its mnemonic)."""

DYNAMIC_MENUS: tuple[DynamicMenu, ...] = (
    DynamicMenu("File/Open recent", "Open a file that was used lately.", after="open", icon="recent"),
    DynamicMenu(
        "Edit/Range/Copy from head",
        "Give the range the values of another head.",
        after="range_turn",
        icon="head",
    ),
    DynamicMenu("Device", "Choose where the numbers are computed.", icon="device"),
)


def _choices(group: str, menu: str, *rows: tuple[str, ...]) -> tuple[ActionSpec, ...]:
    """Actions that exclude one another; each row holds value, text, tip and, if any, shortcut and icon."""
    return tuple(
        ActionSpec(f"{group}:{value}", text, menu, tip, *look, checkable=True, group=group)
        for value, text, tip, *look in rows
    )


_FILE = (
    ActionSpec("new", "New", "File", "Begin again with the first example.", "Ctrl+N", "new"),
    ActionSpec("open", "Open…", "File", "Open a text, arrays, or a saved session.", "Ctrl+O", "open"),
    ActionSpec("save", "Save", "File", "Save the session.", "Ctrl+S", "save", starts_section=True),
    ActionSpec("save_as", "Save as…", "File", "Save the session under another name.", "Ctrl+Shift+S"),
    ActionSpec(
        "export_figure",
        "Export figure…",
        "File",
        "Write the panels as a picture: PNG, SVG, PDF or TIFF.",
        "Ctrl+E",
        "figure",
        starts_section=True,
    ),
    ActionSpec(
        "export_data",
        "Export data…",
        "File",
        "Write every number of the panels: NPZ, CSV or JSON.",
        "Ctrl+Shift+E",
        "data",
    ),
    ActionSpec("export_curve", "Export curve…", "File", "Write the curve alone: CSV or NPY.", icon="curve"),
    ActionSpec(
        "export_encoding",
        "Export encoding…",
        "File",
        "Take the encoding with you: a PyTorch function, a FlexAttention score_mod, or JSON.",
        icon="parameters",
    ),
    ActionSpec(
        "copy_picture", "Copy picture", "File", "Copy the panels as a picture.", "Ctrl+Shift+P", "copy"
    ),
    ActionSpec("quit", "Quit", "File", "Close the program.", "Ctrl+Q", "quit", starts_section=True),
)

_EDIT = (
    ActionSpec("undo", "Undo", "Edit", "Take back the last change.", "Ctrl+Z", "undo"),
    ActionSpec("redo", "Redo", "Edit", "Do again what was taken back.", "Ctrl+Shift+Z; Ctrl+Y", "redo"),
    ActionSpec(
        "copy_curve",
        "Copy curve",
        "Edit",
        "Copy the curve of this head as a table of offset and value.",
        "Ctrl+Shift+C",
        "copy",
        starts_section=True,
    ),
    ActionSpec(
        "paste_curve",
        "Paste curve",
        "Edit",
        "Set the curve of this head from a copied table of offset and value.",
        "Ctrl+Shift+V",
    ),
    ActionSpec(
        "copy_code",
        "Copy as code",
        "Edit",
        "Copy the encoding with your edit as a PyTorch function.",
        "Ctrl+Alt+C",
    ),
    ActionSpec(
        "exact_value",
        "Exact value…",
        "Edit",
        "Type the value of the selected point.",
        "Return; Enter",
        "keyboard",
        starts_section=True,
        scope="curve",
    ),
    ActionSpec(
        "reset_point",
        "Reset point",
        "Edit",
        "Take your edit away from the selected point.",
        "Del; Backspace",
        "reset-point",
        scope="curve",
    ),
    ActionSpec(
        "reset_curve", "Reset curve", "Edit", "Take your edit away from this head.", "Ctrl+R", "reset"
    ),
    ActionSpec(
        "reset_all", "Reset all heads", "Edit", "Take your edit away from every head.", "Ctrl+Shift+R"
    ),
    ActionSpec(
        "range_scale",
        "Scale…",
        "Edit/Range",
        "Stretch the selected range, or all that is visible, about its mean.",
        "Ctrl+Alt+M",
    ),
    ActionSpec(
        "range_shift", "Shift…", "Edit/Range", "Move the range up or down by score units.", "Ctrl+Alt+U"
    ),
    ActionSpec(
        "range_flatten", "Flatten", "Edit/Range", "Give the range its mean everywhere.", starts_section=True
    ),
    ActionSpec(
        "range_straighten", "Straighten", "Edit/Range", "Draw a straight line between the range's ends."
    ),
    ActionSpec(
        "range_smooth",
        "Smooth",
        "Edit/Range",
        "Round the corners of the range; again for more.",
        "Ctrl+Alt+S",
    ),
    ActionSpec(
        "range_mirror",
        "Mirror past and future",
        "Edit/Range",
        "Give each offset of the range the value of its opposite.",
        icon="mirror",
        starts_section=True,
    ),
    ActionSpec("range_reverse", "Reverse", "Edit/Range", "Read the range from its other end."),
    ActionSpec("range_turn", "Turn upside down", "Edit/Range", "Flip the range about its mean."),
    ActionSpec(
        "range_formula",
        "Formula…",
        "Edit/Range",
        "Set the range by a formula of the offset, shown while it is typed.",
        "Ctrl+Alt+F",
        starts_section=True,
    ),
    ActionSpec(
        "mirror",
        "Mirror",
        "Edit",
        "Edit past and future alike: what happens at δ happens at −δ.",
        "Ctrl+Shift+M",
        "mirror",
        checkable=True,
        starts_section=True,
    ),
    ActionSpec(
        "snap",
        "Snap to buckets",
        "Edit",
        "Edit all offsets of a bucket together, as the model would learn them.",
        "Ctrl+B",
        "snap",
        checkable=True,
    ),
    ActionSpec(
        "all_heads",
        "All heads",
        "Edit",
        "Edit every head alike.",
        "Ctrl+Shift+A",
        "all-heads",
        checkable=True,
    ),
)

_VIEW = (
    *_choices(
        "layout",
        "View/Layout",
        ("row", "Row", "Show the four panels side by side.", "Ctrl+1", "layout-row"),
        ("grid", "Grid", "Show the four panels two by two.", "Ctrl+2", "layout-grid"),
        ("content", "Content alone", "Show the content term alone, large.", "Ctrl+3", "layout-single"),
        ("positional", "Position alone", "Show the position term alone, large.", "Ctrl+4", "layout-single"),
        ("scores", "Score alone", "Show the scores alone, large.", "Ctrl+5", "layout-single"),
        ("weights", "Weights alone", "Show the weights alone, large.", "Ctrl+6", "layout-single"),
    ),
    ActionSpec("full_view", "Full view", "View", "Show the whole matrices.", "Ctrl+0", "zoom-reset"),
    ActionSpec("zoom_in", "Zoom in", "View", "Show fewer cells, larger.", "Ctrl++; Ctrl+=", "zoom-in"),
    ActionSpec("zoom_out", "Zoom out", "View", "Show more cells, smaller.", "Ctrl+-", "zoom-out"),
    ActionSpec(
        "inspector",
        "Inspector",
        "View",
        "Show the numbers of the cell under the pointer.",
        "Ctrl+I",
        "inspector",
        checkable=True,
        starts_section=True,
    ),
    ActionSpec(
        "head_strip",
        "Pictures of all heads",
        "View",
        "Show every head in small beside the curve, where there are several.",
        checkable=True,
    ),
    ActionSpec(
        "labels", "Token labels", "View", "Write the tokens beside the matrices.", "Ctrl+L", checkable=True
    ),
    *_choices(
        "levels",
        "View/Colour limits",
        (
            "shared",
            "Same scale for all terms",
            "Give content, position and score the same colours for the same numbers.",
            "Ctrl+J",
            "levels",
        ),
        (
            "auto",
            "Own scale for each panel",
            "Fit the colours of each panel to its own numbers.",
            "Ctrl+Shift+J",
        ),
        (
            "percentile",
            "Own scale without extremes",
            "Fit the colours of each panel to all but its most extreme numbers.",
        ),
        ("typed", "Typed limits…", "Type the numbers at the ends of the colours."),
    ),
    ActionSpec(
        "lock_levels",
        "Lock limits",
        "View/Colour limits",
        "Keep the limits of the colours as they are while the numbers change.",
        "Ctrl+Shift+L",
        "lock",
        checkable=True,
        starts_section=True,
    ),
    ActionSpec(
        "weights_log",
        "Logarithmic weights",
        "View",
        "Colour the weights by their logarithm, so that small ones can be told apart.",
        "Ctrl+G",
        "weights",
        checkable=True,
    ),
    ActionSpec(
        "hide_first_key",
        "Ignore first key",
        "View",
        "Leave the first key, often an attention sink, out of the colour limits of the weights.",
        "Ctrl+Shift+H",
        checkable=True,
    ),
    *_choices(
        "reduce",
        "View/Cells in one pixel",
        ("auto", "Automatic", "Show the largest of the weights, and the mean of the terms."),
        ("mean", "Mean", "Show the mean of the cells that share a pixel."),
        ("max", "Most extreme", "Show the cell farthest from zero of those that share a pixel."),
        ("sample", "One of them", "Show one of the cells that share a pixel."),
    ),
    *_choices(
        "terms_map",
        "View/Colours of terms",
        *((name, title, f"Colours of content, position and score: {title}.") for name, title in TERMS_MAPS),
    ),
    *_choices(
        "weights_map",
        "View/Colours of weights",
        *((name, title, f"Colours of the weights: {title}.") for name, title in WEIGHTS_MAPS),
    ),
    *_choices(
        "curve_axis",
        "View/Offsets",
        ("linear", "Evenly spaced", "Give every offset of the curve the same width."),
        ("symlog", "Wide near 0", "Give near offsets of the curve more width than far ones."),
    ),
    *_choices(
        "theme",
        "View/Theme",
        ("system", "As the system", "Be light or dark as the system is.", "", "theme-system"),
        ("light", "Light", "Dark text on a light ground.", "", "theme-light"),
        ("dark", "Dark", "Light text on a dark ground.", "", "theme-dark"),
    ),
)

_SEQUENCE = (
    ActionSpec("edit_text", "Edit text", "Sequence", "Go to the text.", "Ctrl+T", "text"),
    *(
        ActionSpec(
            f"tokenizer:{tokenizer.name}",
            tokenizer.title,
            "Sequence/Split into",
            tokenizer.help,
            checkable=True,
            group="tokenizer",
        )
        for tokenizer in TOKENIZERS.values()
    ),
    ActionSpec(
        "tokens_from",
        "Tokens from file…",
        "Sequence",
        "Put the tokens of a text, a table or a FASTA file beside the arrays.",
        starts_section=True,
    ),
    ActionSpec(
        "axes",
        "Order of axes…",
        "Sequence",
        "Read the arrays of this file again, with their axes in another order.",
    ),
    ActionSpec(
        "source_size",
        "Heads of typed text…",
        "Sequence",
        "Choose how many heads a typed text has, how wide they are, and their seed.",
    ),
)

_HEAD = (
    ActionSpec("next_head", "Next head", "Head", "Show the next head.", "Ctrl+PgDown", "next"),
    ActionSpec("previous_head", "Previous head", "Head", "Show the head before.", "Ctrl+PgUp", "previous"),
)

_TOOLS = (
    ActionSpec("edit_curve", "Edit curve", "Tools", "Go to the curve.", "Ctrl+D", "curve"),
    ActionSpec(
        "tool:brush",
        "Brush",
        "Tools",
        "Drag a point, and its neighbours follow.",
        "Ctrl+Shift+B",
        "brush",
        checkable=True,
        group="tool",
        starts_section=True,
    ),
    ActionSpec(
        "tool:freehand",
        "Freehand",
        "Tools",
        "Draw the curve across the offsets.",
        "Ctrl+Shift+F",
        "freehand",
        checkable=True,
        group="tool",
    ),
    ActionSpec(
        "tool:anchors",
        "Anchors",
        "Tools",
        "Bend the curve between fixed points.",
        "Ctrl+Shift+K",
        "anchors",
        checkable=True,
        group="tool",
    ),
    ActionSpec(
        "tool:handles",
        "Handles",
        "Tools",
        "Move the family's own parameters; your edit stays.",
        "Ctrl+Shift+D",
        "handles",
        checkable=True,
        group="tool",
    ),
    ActionSpec(
        "radius_up",
        "Wider brush",
        "Tools",
        "More neighbours follow.",
        "]",
        "radius",
        starts_section=True,
    ),
    ActionSpec("radius_down", "Narrower brush", "Tools", "Fewer neighbours follow.", "["),
    *_choices(
        "shape",
        "Tools/Brush shape",
        ("step", "Step", "Neighbours follow a dragged point in full.", "Alt+1", "shape-step"),
        ("linear", "Linear", "Neighbours follow less the farther they are.", "Alt+2", "shape-linear"),
        ("smooth", "Smooth", "Neighbours follow in a round hill.", "Alt+3", "shape-smooth"),
    ),
)

_EXPLAIN = (
    ActionSpec(
        "conventions",
        "Conventions",
        "Tools",
        "List what implementations of this encoding do differently, and see what goes wrong when they are mixed up.",
        "Ctrl+Shift+I",
        "conventions",
        starts_section=True,
    ),
    ActionSpec(
        "shift_test",
        "Shift test",
        "Tools",
        "Move all tokens some positions later, and see whether any score changes.",
        "Ctrl+Shift+T",
        "shift",
    ),
    ActionSpec(
        "extrapolation",
        "Extrapolation…",
        "Tools",
        "Show what the encoding does to sequences longer than those of its training.",
        "Ctrl+Shift+X",
        "extrapolation",
    ),
)

_FIT = (
    ActionSpec(
        "fit",
        "Fit a family…",
        "Tools",
        "Find out which family explains the shown curve best, and with which numbers.",
        "Ctrl+F",
        "curve",
    ),
)

_HELP = (
    ActionSpec("getting_started", "Getting started", "Help", "Read the first five minutes.", "F1", "help"),
    ActionSpec("shortcuts", "Shortcuts", "Help", "List every key and gesture.", "Ctrl+F1", "keyboard"),
    ActionSpec("about", "About", "Help", "Version and licence.", icon="about", starts_section=True),
)

ACTIONS: tuple[ActionSpec, ...] = (
    *_FILE,
    *_EDIT,
    *_VIEW,
    *_SEQUENCE,
    *_HEAD,
    *_TOOLS,
    *_EXPLAIN,
    *_FIT,
    *_HELP,
)
"""Every action, in the order of the menus."""

GESTURES: tuple[Gesture, ...] = (
    Gesture("Curve", "Drag a point", "Change its value; neighbours within the radius follow"),
    Gesture("Curve", "Shift while dragging", "Ten times finer"),
    Gesture("Curve", "Ctrl while dragging", "Snap the value"),
    Gesture("Curve", "Esc while dragging", "Put the curve back"),
    Gesture("Curve", "Wheel", "Change the radius of the brush"),
    Gesture(
        "Curve",
        "Ctrl+click with Anchors",
        "Add an anchor; the curve bends between anchors and keeps its shape until then",
    ),
    Gesture(
        "Curve", "Shift+click, or drag along the offset axis", "Select a range, which then moves together"
    ),
    Gesture("Curve", "Drag a diamond with Handles", "Move a parameter of the family; your edit stays"),
    Gesture("Curve", "H, or Shift+H, with Handles", "Go to the next handle, or the one before"),
    Gesture("Curve", "Arrow keys with Handles", "Move that handle; with Shift ten times finer"),
    Gesture("Curve", "Wheel over an axis", "Zoom that axis; double-click shows everything again"),
    Gesture("Curve", "Double-click a point", "Take your edit away from it"),
    Gesture("Curve", "Left, Right", "Select the next point"),
    Gesture("Curve", "Up, Down", "Change the selected point; with Shift ten times finer"),
    Gesture("Matrices", "Wheel", "Zoom at the pointer; over an axis, zoom that axis alone"),
    Gesture("Matrices", "Drag", "Move the view; with the right button, stretch it"),
    Gesture("Matrices", "Click a cell", "Keep it in the inspector"),
    Gesture("Matrices", "Arrow keys", "Move to the next cell"),
    Gesture("Matrices", "Home or double-click", "Show the whole matrices"),
    Gesture("Matrices", "Double-click a title", "Show that panel alone, and back"),
    Gesture("Plane", "Drag a cell", "Change its value; neighbours within the radius follow"),
    Gesture("Plane", "Shift-drag", "Select a rectangle"),
    Gesture("Plane", "Arrow keys", "Move the selection; with Shift stretch it"),
    Gesture("Plane", "Ctrl+Up, Ctrl+Down, + or −", "Change the selected values"),
    Gesture("Plane", "Enter or double-click", "Type the exact value"),
    Gesture("Tokens", "Click a token", "Select its row"),
    Gesture("Tokens", "Left, Right, Home, End", "Move to another token; Enter selects its row"),
)


def make_actions(parent: QObject) -> dict[str, QAction]:
    """One QAction for each row, by id, owned by `parent`. GUI thread only.

    Choices of one group exclude one another. Nothing is connected, and icons depend on the theme:
    both are the window's. Actions of the scope "curve" must be added to the curve editor, or their
    keys do nothing.
    """
    actions: dict[str, QAction] = {}
    groups: dict[str, QActionGroup] = {}
    for spec in ACTIONS:
        action = QAction(spec.text, parent)
        action.setObjectName(f"action_{spec.id}")
        action.setIconText(spec.label)
        action.setShortcuts(spec.shortcuts)
        if spec.scope == "curve":
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys = keys_text(spec)
        action.setToolTip(f"{spec.tip} ({keys})" if keys else spec.tip)
        action.setStatusTip(spec.tip)
        action.setCheckable(spec.checkable)
        action.setIconVisibleInMenu(not spec.checkable)  # an icon would stand where the check mark belongs
        if spec.id in ROLES:
            action.setMenuRole(ROLES[spec.id])
        if spec.group:
            if spec.group not in groups:
                groups[spec.group] = QActionGroup(parent)
            groups[spec.group].addAction(action)
        actions[spec.id] = action
    return actions


def keys_text(spec: ActionSpec) -> str:
    """The keys of an action as this system writes them, with "or" between them."""
    native = QKeySequence.SequenceFormat.NativeText
    return " or ".join(dict.fromkeys(sequence.toString(native) for sequence in spec.shortcuts))


def shortcuts_table() -> list[tuple[str, str, str]]:
    """Rows (where, what, keys) for the README and the help: first the actions with keys, then gestures."""
    keyed = [
        (spec.menu.replace("/", " ▸ "), spec.label, keys_text(spec)) for spec in ACTIONS if spec.shortcut
    ]
    return keyed + [(gesture.where, gesture.text, gesture.keys) for gesture in GESTURES]


# macOS moves these into the program's own menu; it must not guess others from their texts.
ROLES = {"quit": QAction.MenuRole.QuitRole, "about": QAction.MenuRole.AboutRole}
