"""The menu bar and what each action of the table does to the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from relpos_viewer.app.actions import ACTIONS, DYNAMIC_MENUS, MENUS
from relpos_viewer.views.icons import icon
from relpos_viewer.views.theme import Theme


def fill_menu_bar(bar: QMenuBar, actions: Mapping[str, QAction]) -> dict[str, QMenu]:
    """Put every action of the table, and the menus that fill themselves, where the table says.

    Returns:
        The menus by their path ("View/Layout").
    """
    menus: dict[str, QMenu] = {}
    for name, title in MENUS:
        menus[name] = bar.addMenu(title)
        menus[name].setObjectName(f"menu_{name}")
        menus[name].setToolTipsVisible(True)
    dynamic = {entry.after: entry for entry in DYNAMIC_MENUS if entry.after}
    for spec in ACTIONS:
        menu = _menu(menus, spec.menu)
        if spec.starts_section:
            menu.addSeparator()
        menu.addAction(actions[spec.id])
        if spec.id in dynamic:
            _menu(menus, dynamic[spec.id].menu)
    return menus


def _menu(menus: dict[str, QMenu], path: str) -> QMenu:
    if path not in menus:
        parent, _, title = path.rpartition("/")
        menus[path] = _menu(menus, parent).addMenu(title)
        menus[path].setObjectName(f"menu_{path}")
        menus[path].setToolTipsVisible(True)
    return menus[path]


def connect_actions(
    actions: Mapping[str, QAction],
    commands: Mapping[str, Callable[[], object]],
    choices: Mapping[str, Callable[[str], object]],
) -> None:
    """Connect plain actions to `commands` by id, and actions "group:value" to the group's `choices`.

    Raises:
        KeyError: when an action of the table has nobody to do it.
    """
    for spec in ACTIONS:
        if spec.group:
            actions[spec.id].triggered.connect(_Choose(choices[spec.group], spec.value))
        else:
            actions[spec.id].triggered.connect(_Do(commands[spec.id]))


class _Do:
    """Calls a command without the "checked" that Qt passes; holds no reference to a widget but the command's own."""

    def __init__(self, command: Callable[[], object]) -> None:
        self._command = command

    def __call__(self, _checked: bool = False) -> None:
        self._command()


class _Choose:
    def __init__(self, choice: Callable[[str], object], value: str) -> None:
        self._choice, self._value = choice, value

    def __call__(self, _checked: bool = False) -> None:
        self._choice(self._value)


def draw_icons(actions: Mapping[str, QAction], theme: Theme) -> None:
    """Give the actions their icons in the ink of `theme`."""
    for spec in ACTIONS:
        if spec.icon:
            actions[spec.id].setIcon(icon(spec.icon, theme))
