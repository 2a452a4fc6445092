"""What the program remembers between runs. A damaged value counts as one that was never set."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings

THEMES = ("system", "light", "dark")
CURVE_TOOLS = ("brush", "freehand", "anchors", "handles")
RECENT_LIMIT = 10
# Answers are kept for more files than the menu shows; the oldest go first.
ANSWERS_LIMIT = 100
# No arrangement of screens is so wide.
FARTHEST_PIXEL = 100_000

_NAME = "relpos-viewer"


class Settings:
    """Typed access to a QSettings store. GUI thread only.

    Nothing here is part of a document: a file looks the same on any machine.
    """

    def __init__(self, store: QSettings) -> None:
        self._store = store

    @classmethod
    def of_user(cls) -> Settings:
        """The settings of the user, in an INI file on every system (readable, and no registry)."""
        return cls(QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, _NAME, _NAME))

    @property
    def geometry(self) -> QByteArray:
        """Place and size of the window as QWidget.saveGeometry gave them; empty at first."""
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def state(self) -> QByteArray:
        """Splitters and docks as the window saved them; empty at first."""
        return self._bytes("window/state")

    @state.setter
    def state(self, value: QByteArray) -> None:
        self._store.setValue("window/state", value)

    @property
    def theme(self) -> str:
        """One of `THEMES`; "system" follows the system while the program runs."""
        value = self._text("theme")
        return value if value in THEMES else "system"

    @theme.setter
    def theme(self, value: str) -> None:
        if value not in THEMES:
            raise ValueError(f"unknown theme {value!r}")
        self._store.setValue("theme", value)

    @property
    def device(self) -> str:
        """The device chosen last, an id of `app.devices`. It may be gone."""
        return self._text("device") or "cpu"

    @device.setter
    def device(self, value: str) -> None:
        self._store.setValue("device", value)

    @property
    def head_strip(self) -> bool:
        """Whether small pictures of all heads stand beside the curve, where there are several."""
        return self._text("window/heads") != "hidden"

    @head_strip.setter
    def head_strip(self, value: bool) -> None:
        self._store.setValue("window/heads", "shown" if value else "hidden")

    @property
    def curve_tool(self) -> str:
        """What a drag on the curve does, one of `CURVE_TOOLS`."""
        value = self._text("curve/tool")
        return value if value in CURVE_TOOLS else CURVE_TOOLS[0]

    @curve_tool.setter
    def curve_tool(self, value: str) -> None:
        self._store.setValue("curve/tool", value)

    @property
    def formulas(self) -> list[str]:
        """Formulas used for the curve, the newest first."""
        return [text for text in self._list("curve/formulas") if isinstance(text, str)]

    @formulas.setter
    def formulas(self, value: list[str]) -> None:
        self._set_list("curve/formulas", value)

    @property
    def folder(self) -> str:
        """Where a file dialog begins: the folder used last, or the user's home when it is gone."""
        value = self._text("folder")
        return value if value and _is_folder(value) else str(Path.home())

    @folder.setter
    def folder(self, value: str | os.PathLike[str]) -> None:
        self._store.setValue("folder", os.fspath(value))

    @property
    def figure(self) -> dict[str, Any]:
        """What the dialog of figures was left with; empty at first."""
        value = self._json("figure")
        return value if isinstance(value, dict) else {}

    @figure.setter
    def figure(self, value: Mapping[str, Any]) -> None:
        self._store.setValue("figure", json.dumps(dict(value)))

    def dialog_place(self, name: str) -> tuple[int, int, int, int] | None:
        """Where the dialog of that object name stood: x, y from its window's corner, width, height; None at first."""
        value = self._json(f"dialogs/{name}")
        whole = isinstance(value, list) and len(value) == 4 and all(type(each) is int for each in value)
        if not whole or max(map(abs, value)) > FARTHEST_PIXEL or min(value[2:]) < 1:
            return None
        x, y, width, height = value
        return x, y, width, height

    def set_dialog_place(self, name: str, place: tuple[int, int, int, int]) -> None:
        """Keep what `dialog_place` returns."""
        self._set_list(f"dialogs/{name}", list(place))

    @property
    def code_kind(self) -> str:
        """The kind of code that was exported last; empty at first."""
        return str(self._store.value("code_kind", ""))

    @code_kind.setter
    def code_kind(self, kind: str) -> None:
        self._store.setValue("code_kind", kind)

    # --- recent files -----------------------------------------------------------------------------

    @property
    def recent_files(self) -> list[str]:
        """Files opened or saved lately, the newest first, at most ten. Those that are gone are not shown.

        They stay remembered: a drive may be connected again.
        """
        return [path for path in self._remembered() if _is_file(path)]

    def add_recent(self, path: str | os.PathLike[str]) -> None:
        """Put `path` first; a path that was there before moves."""
        full = _full(path)
        others = [other for other in self._remembered() if other != full]
        self._set_list("recent", [full, *others])

    def clear_recent(self) -> None:
        """Forget all recent files."""
        self._store.remove("recent")

    def _remembered(self) -> list[str]:
        paths = self._list("recent")
        return [path for path in paths if isinstance(path, str) and path][:RECENT_LIMIT]

    # --- answers to questions about a file ---------------------------------------------------------

    def answers(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """What was answered when `path` could be read in several ways: {option of `load`: value}."""
        for entry in self._list("answers"):
            if isinstance(entry, dict) and entry.get("path") == _full(path):
                options = entry.get("options")
                if isinstance(options, dict):
                    return {key: value for key, value in options.items() if isinstance(value, str)}
        return {}

    def remember_answers(self, path: str | os.PathLike[str], options: dict[str, str]) -> None:
        """Keep the answers for `path`, so that it opens without questions; none of them forgets it."""
        full = _full(path)
        others = [
            entry for entry in self._list("answers") if isinstance(entry, dict) and entry.get("path") != full
        ]
        entries = [{"path": full, "options": options}, *others] if options else others
        self._set_list("answers", entries[:ANSWERS_LIMIT])

    # --- reading what may be damaged ----------------------------------------------------------------

    def sync(self) -> None:
        """Write everything out now."""
        self._store.sync()

    def _text(self, key: str) -> str:
        value = self._store.value(key, "")
        return value if isinstance(value, str) else ""

    def _bytes(self, key: str) -> QByteArray:
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    # Lists are JSON: QSettings gives a list of one back as a string, and an empty one as None.
    def _list(self, key: str) -> list[Any]:
        value = self._json(key)
        return value if isinstance(value, list) else []

    def _json(self, key: str) -> Any:
        try:
            return json.loads(self._text(key))
        except (ValueError, RecursionError):
            return None

    def _set_list(self, key: str, value: list[Any]) -> None:
        self._store.setValue(key, json.dumps(value))


def _full(path: str | os.PathLike[str]) -> str:
    # Not Path.resolve: a link is remembered by the name that the user knows.
    return os.path.abspath(path)  # noqa: PTH100


# os.path instead of Path: these never raise, whatever stands in a damaged path or on the way to it.
def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112
