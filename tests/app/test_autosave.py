"""Unsaved work outlives the program; a clean exit leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from relpos_viewer.app.autosave import INTERVAL_MS, Autosave, recoveries, recovery_folder
from relpos_viewer.app.undo import History
from relpos_viewer.document.document import Document, TextSource, View, replace
from relpos_viewer.document.files import load_session
from relpos_viewer.document.session import Session

FIRST = Document.default()
EDITED = replace(FIRST, source=TextSource("work that must not be lost"))


kills = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill without warning")


class Running:
    """A program as far as autosaving is concerned."""

    def __init__(self, folder: Path, interval_ms: int = 10) -> None:
        self.session = Session(FIRST)
        self.history = History(self.session)
        self.autosave = Autosave(self.session, self.history, folder, interval_ms=interval_ms)
        self.errors: list[Exception] = []
        self.autosave.failed.connect(self.errors.append)

    def edit(self, text: str) -> Document:
        self.history.push(replace(FIRST, source=TextSource(text)), "Edit text")
        return self.session.document


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "recovery"


@pytest.fixture
def running(qapp, folder):
    program = Running(folder)
    yield program
    program.autosave.close()


def copies(folder: Path) -> list[Path]:
    return sorted(folder.rglob("session.relpos"))  # not what a kill left half renamed


def test_a_copy_is_at_most_a_minute_old():
    assert INTERVAL_MS <= 30_000


def test_unsaved_work_is_written_and_kept_up_to_date(qtbot, running, folder):
    running.edit("one")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    last = running.edit("two")
    qtbot.waitUntil(lambda: load_session(copies(folder)[0]) == last)


def test_changes_that_never_pause_are_written_all_the_same(qtbot, running, folder):
    for index in range(100):
        running.edit(str(index))
        qtbot.wait(2)
        if copies(folder):
            return
    pytest.fail("no copy was written while the changes went on")


def test_a_drag_under_way_is_in_the_copy(qtbot, running, folder):
    running.edit("one")
    shown = replace(running.session.document, mask="none")
    running.history.preview(shown)
    qtbot.waitUntil(lambda: bool(copies(folder)) and load_session(copies(folder)[0]) == shown)


def test_a_drag_that_took_long_is_written_once_it_ends(qtbot, running, folder):
    running.history.preview(EDITED)
    qtbot.wait(40)  # the copy was due while the drag was no change yet
    assert not folder.exists()
    running.history.commit_preview("Drag")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)


def test_nothing_is_written_while_nothing_is_unsaved(qtbot, running, folder):
    running.history.set_view(View(layout="grid"))
    running.history.reset(EDITED)
    running.autosave.save_now()
    qtbot.wait(60)
    assert not folder.exists()


def test_saving_removes_the_copy_and_the_next_change_writes_it_again(qtbot, running, folder):
    running.edit("one")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    running.history.set_clean()
    qtbot.waitUntil(lambda: copies(folder) == [])
    running.edit("two")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)


def test_a_clean_exit_leaves_nothing(qtbot, running, folder):
    running.edit("one")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    running.autosave.close()
    running.autosave.close()
    running.edit("after the end")
    qtbot.wait(40)
    running.history.set_clean()
    qtbot.wait(40)
    assert list(folder.iterdir()) == []


def test_the_copy_of_a_program_that_still_runs_is_not_offered(qtbot, running, folder):
    running.edit("one")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    assert recoveries(folder) == []
    assert len(copies(folder)) == 1


def test_only_the_user_may_read_the_copies(qtbot, running, folder):
    running.edit("one")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    if os.name == "posix":
        assert copies(folder)[0].parent.stat().st_mode & 0o077 == 0


def test_a_copy_that_cannot_be_written_is_said_once_and_tried_again(qtbot, running, folder):
    folder.write_text("a file where the folder should be")
    last = running.edit("one")
    qtbot.waitUntil(lambda: len(running.errors) == 1)
    qtbot.wait(60)
    assert len(running.errors) == 1
    assert str(folder) in str(running.errors[0])
    folder.unlink()
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)
    assert load_session(copies(folder)[0]) == last


def test_an_error_while_writing_is_delivered_and_does_not_stop_the_saving(qtbot, running, folder):
    running.edit("a half \ud800 of a character")
    qtbot.waitUntil(lambda: len(running.errors) == 1)
    running.edit("whole")
    qtbot.waitUntil(lambda: len(copies(folder)) == 1)


def crash(folder: Path, *, origin: str, then: str = "os.kill(os.getpid(), signal.SIGKILL)") -> None:
    """Run a program of its own that edits, waits for its copy, and ends by `then`."""
    program = f"""
        import os, signal, sys, time
        from pathlib import Path
        from PySide6.QtCore import QCoreApplication
        from relpos_viewer.app.autosave import Autosave
        from relpos_viewer.app.undo import History
        from relpos_viewer.document.document import Document, TextSource, replace
        from relpos_viewer.document.session import Session

        app = QCoreApplication([])
        folder = Path(sys.argv[1])
        session = Session(Document.default())
        history = History(session)
        autosave = Autosave(session, history, folder, interval_ms=1)
        autosave.origin = sys.argv[2]
        history.push(replace(session.document, source=TextSource({EDITED.source.text!r})), "Edit text")
        until = time.monotonic() + 20
        while not list(folder.rglob("session.relpos")) and time.monotonic() < until:
            app.processEvents()
        {then}
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(folder), origin],
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@kills
def test_after_a_kill_the_work_is_offered_until_it_is_discarded(folder):
    crash(folder, origin="/home/me/my work.relpos")
    (found,) = recoveries(folder)
    assert found.load() == EDITED
    assert found.origin == "/home/me/my work.relpos"
    assert found.time == found.path.stat().st_mtime
    assert recoveries(folder) == [found]
    (found.path.parent / ".0123456789ab.relpos").write_bytes(b"half written")
    found.discard()
    assert recoveries(folder) == []
    assert list(folder.iterdir()) == []


@kills
def test_recovered_work_is_in_a_file_at_every_moment(qtbot, running, folder):
    crash(folder, origin="/home/me/w.relpos")
    (found,) = recoveries(folder)
    running.history.reset(found.load())
    running.history.set_unclean()
    running.autosave.adopt(found)
    qtbot.waitUntil(lambda: not found.path.exists())
    assert [load_session(path) for path in copies(folder)] == [EDITED]
    assert running.autosave.origin == "/home/me/w.relpos"
    assert recoveries(folder) == []  # what is left belongs to this program


@kills
def test_recovered_work_stays_where_it_is_when_it_cannot_be_written_again(
    qtbot, running, folder, monkeypatch
):
    crash(folder, origin="")
    (found,) = recoveries(folder)
    running.history.reset(replace(EDITED, source=TextSource("\ud800")))  # what no file can hold
    running.history.set_unclean()
    running.autosave.adopt(found)
    qtbot.waitUntil(lambda: len(running.errors) == 1)
    assert found.path.exists()


@kills
def test_an_exit_without_close_but_clean_leaves_an_empty_home_that_is_swept(folder):
    crash(
        folder, origin="", then="history.set_clean(); time.sleep(0.3); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert recoveries(folder) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("origin", "expected"),
    [(b'{"path": "/x.relpos"}', "/x.relpos"), (b"{}", ""), (b"[1]", ""), (b"\xff", ""), (None, "")],
)
def test_a_damaged_note_of_the_origin_is_no_origin(folder, origin, expected):
    home = folder / "1-abc"
    home.mkdir(parents=True)
    (home / "session.relpos").write_bytes(b"")
    if origin is not None:
        (home / "origin.json").write_bytes(origin)
    assert [recovery.origin for recovery in recoveries(folder)] == [expected]


def test_the_newest_work_is_offered_first(folder):
    for name, when in (("1-a", 100), ("2-b", 300), ("3-c", 200)):
        (folder / name).mkdir(parents=True)
        (folder / name / "session.relpos").touch()
        os.utime(folder / name / "session.relpos", (when, when))
    assert [recovery.path.parent.name for recovery in recoveries(folder)] == ["2-b", "3-c", "1-a"]


def test_without_a_folder_there_is_nothing_to_recover(folder):
    assert recoveries(folder) == []


def test_copies_lie_in_the_users_state(own_settings):
    if sys.platform == "linux":
        assert own_settings in recovery_folder().parents
