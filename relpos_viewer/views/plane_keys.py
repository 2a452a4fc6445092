"""What each key does while the plane has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

if TYPE_CHECKING:
    from relpos_viewer.views.plane_editor import PlaneEditor

Command = Callable[["PlaneEditor"], object]
"""Acts on an editor; False when there was nothing to do, and the key is for somebody else."""

_Key = Qt.Key

# Shift stretches the selection, or means finer: the second value of each pair.
_ARROWS: dict[int, tuple[Command, Command]] = {
    _Key.Key_Left: (lambda e: e.move_selection(0, -1), lambda e: e.move_selection(0, -1, extend=True)),
    _Key.Key_Right: (lambda e: e.move_selection(0, 1), lambda e: e.move_selection(0, 1, extend=True)),
    _Key.Key_Up: (lambda e: e.move_selection(-1, 0), lambda e: e.move_selection(-1, 0, extend=True)),
    _Key.Key_Down: (lambda e: e.move_selection(1, 0), lambda e: e.move_selection(1, 0, extend=True)),
}
_PLAIN: dict[int, tuple[Command, Command]] = _ARROWS | {
    _Key.Key_Plus: (lambda e: e.nudge(1),) * 2,
    _Key.Key_Minus: (lambda e: e.nudge(-1),) * 2,
    _Key.Key_Return: (lambda e: e.open_entry(),) * 2,
    _Key.Key_Enter: (lambda e: e.open_entry(),) * 2,
    _Key.Key_Delete: (lambda e: e.reset_selection(),) * 2,
    _Key.Key_Backspace: (lambda e: e.reset_selection(),) * 2,
    _Key.Key_Home: (lambda e: e.select_middle(),) * 2,
    _Key.Key_BracketLeft: (lambda e: e.tools.turn_radius(-1, False),) * 2,
    _Key.Key_BracketRight: (lambda e: e.tools.turn_radius(1, False),) * 2,
    _Key.Key_Escape: (lambda e: e.escape(),) * 2,
}
_CTRL: dict[int, tuple[Command, Command]] = {
    _Key.Key_Up: (lambda e: e.nudge(1), lambda e: e.nudge(1, fine=True)),
    _Key.Key_Down: (lambda e: e.nudge(-1), lambda e: e.nudge(-1, fine=True)),
    _Key.Key_A: (lambda e: e.select_all(),) * 2,
    _Key.Key_C: (lambda e: e.copy_values(),) * 2,
    _Key.Key_V: (lambda e: e.paste_values(),) * 2,
}


def command_for(event: QKeyEvent) -> Command | None:
    """Return what a key does to the editor, None when nothing."""
    held = event.modifiers()
    pair = (_CTRL if held & Qt.KeyboardModifier.ControlModifier else _PLAIN).get(event.key())
    return None if pair is None else pair[bool(held & Qt.KeyboardModifier.ShiftModifier)]
