"""What each key does while the curve has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

if TYPE_CHECKING:
    from relpos_viewer.views.curve_editor import CurveEditor

Command = Callable[["CurveEditor"], object]
"""Acts on an editor; False when there was nothing to do, and the key is for somebody else."""

_Key = Qt.Key

# Shift means finer, or farther: the second value of each pair.
_PLAIN: dict[int, tuple[Command, Command]] = {
    _Key.Key_Left: (lambda e: e.move_selection(-1), lambda e: e.move_selection(-1, extend=True)),
    _Key.Key_Right: (lambda e: e.move_selection(1), lambda e: e.move_selection(1, extend=True)),
    _Key.Key_Up: (lambda e: e.nudge(1), lambda e: e.nudge(1, fine=True)),
    _Key.Key_Down: (lambda e: e.nudge(-1), lambda e: e.nudge(-1, fine=True)),
    _Key.Key_Return: (lambda e: e.open_entry(),) * 2,
    _Key.Key_Enter: (lambda e: e.open_entry(),) * 2,
    _Key.Key_Delete: (lambda e: e.delete(),) * 2,
    _Key.Key_Backspace: (lambda e: e.delete(),) * 2,
    _Key.Key_Home: (lambda e: e.reset_view(),) * 2,
    _Key.Key_Escape: (lambda e: e.escape(),) * 2,
}
# By what they write: on many keyboards brackets need AltGr.
_TEXT: dict[str, Command] = {
    "[": lambda e: e.tools.turn_radius(-1, False),
    "]": lambda e: e.tools.turn_radius(1, False),
    "{": lambda e: e.tools.turn_radius(-1, True),
    "}": lambda e: e.tools.turn_radius(1, True),
    "h": lambda e: e.step_handle(1),
    "H": lambda e: e.step_handle(-1),
}
_CTRL: dict[int, Command] = {
    _Key.Key_A: lambda e: e.select_all(),
    _Key.Key_C: lambda e: e.copy_values(),
    _Key.Key_V: lambda e: e.paste_values(),
}

# Keys that the curve takes even where the window has a shortcut on them. Esc only while there is a gesture.
TAKEN = frozenset(_PLAIN) - {_Key.Key_Escape}
TAKEN_TEXT = frozenset(_TEXT)
TAKEN_CTRL = frozenset(_CTRL)


def command_for(event: QKeyEvent) -> Command | None:
    """Return what a key does to the editor, None when nothing."""
    if event.text() in _TEXT:
        return _TEXT[event.text()]
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        return None if _with_more(event) else _CTRL.get(event.key())
    pair = _PLAIN.get(event.key())
    return None if pair is None else pair[bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)]


def is_taken(event: QKeyEvent, dragging: bool) -> bool:
    """Return whether a key is the curve's before it is a shortcut of the window."""
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        return event.key() in TAKEN_CTRL and not _with_more(event)
    escapes = dragging and event.key() == _Key.Key_Escape
    return escapes or event.key() in TAKEN or event.text() in TAKEN_TEXT


def _with_more(event: QKeyEvent) -> bool:
    """Return whether Ctrl comes with Shift or Alt: Ctrl+Shift+A is another key than Ctrl+A."""
    return bool(event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier))
