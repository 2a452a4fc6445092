"""What import-linter cannot say: which parts of Qt a layer may use."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "relpos_viewer"


def _imports(file: Path) -> set[str]:
    """Full names of all that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("file", sorted((PACKAGE / "app").glob("*.py")), ids=lambda file: file.name)
def test_the_app_layer_has_no_widgets(file: Path) -> None:
    forbidden = ("PySide6.QtWidgets", "qtpy", "superqt", "pyqtgraph")
    assert not {name for name in _imports(file) if name.startswith(forbidden)}


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_nothing_unpickles_evaluates_or_calls_the_network(file: Path) -> None:
    forbidden = {"pickle", "marshal", "shelve", "socket", "urllib.request", "http.client", "requests"}
    assert not _imports(file) & forbidden
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"eval", "exec"}
