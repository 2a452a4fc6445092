"""Finds the files that ship with the program: icons, themes, samples, help."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

# A wheel carries the folder inside the package; in the repository, and so in an editable installation, it
# lies at the top. The package comes first: beside an installed package `resources` may be anybody's.
_FOLDERS = (_PACKAGE / "_resources", _PACKAGE.parent / "resources")


def resource(*parts: str) -> Path:
    """Path of a shipped file or folder, such as ``resource("icons", "undo.svg")``.

    Raises FileNotFoundError when nothing of that name ships: a fault in the program, never the user's.
    """
    for folder in _FOLDERS:
        path = folder.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"relpos-viewer ships no resource {'/'.join(parts)!r}")
