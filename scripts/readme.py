"""Writes the tables of the README that come from the program: shortcuts, encodings, masks, file kinds."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from relpos_viewer.app.actions import ACTIONS, GESTURES, keys_text
from relpos_viewer.core.encodings import encodings
from relpos_viewer.core.masks import MASKS
from relpos_viewer.sources.files import FILE_KINDS


def table(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def shortcuts() -> str:
    """Return what every key and gesture does, from the table of actions."""
    rows = [(f"`{keys_text(spec)}`", spec.tip) for spec in ACTIONS if spec.shortcut]
    rows += [(f"{gesture.where}: {gesture.keys}", f"{gesture.text}.") for gesture in GESTURES]
    return table(("keys", "what they do"), rows)


def families() -> str:
    """Return the registry of encodings."""
    rows = [
        (
            f"`{family['name']}`",
            f"{family['title']} ({family['paper']})",
            ", ".join(f"`{parameter['name']}`" for parameter in family["parameters"]) or "–",
        )
        for family in encodings()
    ]
    return table(("name", "encoding", "parameters"), rows)


def masks() -> str:
    """Return the kinds of mask."""
    rows = [(f"`{kind.name}:N`" if kind.argument else f"`{kind.name}`", kind.help) for kind in MASKS]
    return table(("mask", "meaning"), rows)


def files() -> str:
    """Return the kinds of file that can be opened."""
    return table(
        ("kind", "suffixes"), [(kind.title, " ".join(f"`{s}`" for s in kind.suffixes)) for kind in FILE_KINDS]
    )


TABLES: dict[str, Callable[[], str]] = {
    "shortcuts": shortcuts,
    "encodings": families,
    "masks": masks,
    "files": files,
}


def written(text: str) -> str:
    """Return the README with every table between its two marks made anew."""
    for name, make in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"README.md has no marks for {name}")
        text = pattern.sub(lambda match, make=make: f"{match[1]}\n{make()}\n\n{match[2]}", text)
    return text


def main() -> None:
    """Rewrite README.md in place."""
    path = REPOSITORY / "README.md"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
