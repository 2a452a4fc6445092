"""The README says what the program does: its tables are the program's own, and its pictures exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest


def test_the_tables_of_the_readme_are_those_of_the_program(repository: Path) -> None:
    spec = importlib.util.spec_from_file_location("readme", repository / "scripts" / "readme.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert script.written(text) == text, "run scripts/readme.py"


def test_every_picture_of_the_readme_is_there(repository: Path) -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (repository / "README.md").read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        assert (repository / picture).is_file(), picture


def commands(repository: Path) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^relpos-viewer (render .*|encodings)$", text, re.MULTILINE)


@pytest.mark.parametrize("place", range(4))
def test_the_commands_of_the_readme_work(
    repository: Path, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    import numpy as np

    from relpos_viewer.cli import main

    monkeypatch.chdir(tmp_path)
    np.savez("arrays.npz", q=np.ones((2, 5, 8)), k=np.ones((2, 5, 8)))
    line = commands(repository)[place]
    assert main(shlex.split(line)) == 0
    if "-o" in line:
        assert Path(line.rsplit(" ", 1)[1]).stat().st_size > 1000
