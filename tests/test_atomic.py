from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.errors import ViewerError


def test_the_new_file_takes_the_place_of_the_old_one_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a.png"
    target.write_bytes(b"old")
    with atomic_path(target) as temporary:
        assert temporary.parent == tmp_path and temporary.suffix == ".png"
        temporary.write_bytes(b"new")
        written = temporary.stat().st_ino
        assert target.read_bytes() == b"old"
    assert target.stat().st_ino == written  # renamed in one step, not copied
    assert target.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_path(target) as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert target.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_a_disk_error_while_writing_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(ViewerError, match=r"Cannot write '.*a\.csv': No space left"),
        atomic_path(tmp_path / "a.csv"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_kill_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.relpos"
    target.write_text("old")
    code = (
        "import os, sys\nfrom relpos_viewer.atomic import atomic_path\n"
        "with atomic_path(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(target)], check=False).returncode == -9
    assert target.read_text() == "old"


def test_a_symbolic_link_stays_one_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        assert temporary.parent == real.parent  # a rename over a file system's edge would fail
        temporary.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_of_an_existing_file_are_kept(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    target.chmod(mode)
    with atomic_path(target) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "a.csv") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640


def unwritable(tmp_path: Path, kind: str) -> str:
    if kind == "folder":
        return str(tmp_path)
    if kind == "pipe":
        os.mkfifo(tmp_path / "pipe.csv")
        return str(tmp_path / "pipe.csv")
    if kind == "read-only":
        (tmp_path / "a.csv").write_text("old")
        (tmp_path / "a.csv").chmod(0o444)
        return str(tmp_path / "a.csv")
    if kind == "loop of links":
        (tmp_path / "a").symlink_to(tmp_path / "b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        return str(tmp_path / "a" / "c.csv")
    return {
        "no folder": str(tmp_path / "no" / "a.csv"),
        "file for a folder": str(tmp_path / "file" / "a.csv"),
        "no name": "",
        "NUL": str(tmp_path / "a\0.csv"),
        "too long": str(tmp_path / ("a" * 300 + ".csv")),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "folder",
        "pipe",
        "read-only",
        "loop of links",
        "no folder",
        "file for a folder",
        "no name",
        "NUL",
        "too long",
    ],
)
def test_a_target_that_cannot_be_written_is_one_sentence_before_anything_changes(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "file").write_text("")
    path = unwritable(tmp_path, kind)
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(ViewerError) as error, atomic_path(path) as temporary:
        temporary.write_text("new")
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == before
