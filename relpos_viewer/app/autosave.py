"""A copy of unsaved work, at most a minute old, for the day the program or the machine dies."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_state_path
from PySide6.QtCore import QLockFile, QObject, Qt, QTimer, Signal, Slot

from relpos_viewer.app.undo import History
from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import Document
from relpos_viewer.document.files import load_session, save_session
from relpos_viewer.document.session import Session

# From the first unsaved change on; with the time to write, less than a minute of work is at stake.
INTERVAL_MS = 20_000

_SESSION = "session.relpos"
_ORIGIN = "origin.json"
_LOCK = "lock"


def recovery_folder() -> Path:
    """Where recovery copies of this user lie. Each running program has a folder of its own in it."""
    return user_state_path("relpos-viewer", appauthor=False) / "recovery"


@dataclass(frozen=True)
class Recovery:
    """Work that a program which has died left behind.

    Attributes:
        path: its session file.
        origin: the file it was opened from or last saved to; "" when there was none.
        time: when the copy was written, seconds since 1970.
    """

    path: Path
    origin: str
    time: float

    def load(self) -> Document:
        """The document. Raises ViewerError when the copy cannot be read."""
        return load_session(self.path)

    def discard(self) -> None:
        """Remove the copy: it was recovered, or is not wanted."""
        _remove(self.path.parent)


def recoveries(folder: Path | None = None) -> list[Recovery]:
    """What programs that have died left in `folder`, the newest first. Those still running are left alone."""
    found = []
    try:
        homes = sorted((folder or recovery_folder()).iterdir())
    except OSError:
        return []
    for home in homes:
        if not home.is_dir() or _is_in_use(home):
            continue
        session = home / _SESSION
        try:
            found.append(Recovery(session, _read_origin(home), session.stat().st_mtime))
        except OSError:
            # It died before anything was unsaved: only an empty home is left.
            _remove(home)
    return sorted(found, key=lambda recovery: recovery.time, reverse=True)


class Autosave(QObject):
    """Writes the session to a recovery copy while it holds unsaved work, and removes it when it does not.

    GUI thread only; the writing itself happens in a thread of its own, from the immutable document.
    Call `close` on a clean exit: the copy goes. After a crash it stays, and `recoveries` finds it.

    Signals:
        failed(object): a ViewerError, the first time in a row that the copy could not be written.
    """

    failed = Signal(object)
    _written = Signal(object)

    def __init__(
        self,
        session: Session,
        history: History,
        folder: Path | None = None,
        parent: QObject | None = None,
        interval_ms: int = INTERVAL_MS,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._history = history
        self._origin = ""
        self._broken = False
        self._closed = False
        self._home = (folder or recovery_folder()) / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: QLockFile | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="relpos-autosave")
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self.save_now)
        self._written.connect(self._on_written, Qt.ConnectionType.QueuedConnection)
        session.changed.connect(self._on_changed)
        history.clean_changed.connect(self._on_clean_changed)

    @property
    def origin(self) -> str:
        """The file that the document belongs to, told to whoever recovers it; "" for none."""
        return self._origin

    @origin.setter
    def origin(self, value: str | os.PathLike[str]) -> None:
        self._origin = os.fspath(value)

    @Slot()
    def save_now(self) -> None:
        """Begin to write the copy, unless there is nothing unsaved."""
        self._timer.stop()
        if not self._history.clean:
            self._begin(None)

    def adopt(self, recovery: Recovery) -> None:
        """The document is now what `recovery` held: write it as this program's own copy, then remove that one.

        Work once lost and found again is in a file at every moment.
        """
        self.origin = recovery.origin
        self._begin(recovery)

    def close(self) -> None:
        """The program ends as it should: stop, and remove the copy. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._timer.stop()
        self._session.changed.disconnect(self._on_changed)
        self._history.clean_changed.disconnect(self._on_clean_changed)
        self._executor.shutdown(wait=True, cancel_futures=True)
        if self._lock is not None:
            self._lock.unlock()
            _remove(self._home)

    def _on_changed(self, new: Document, old: Document) -> None:
        # Not restarted by further changes: a copy is due some seconds after the first of them.
        if not self._timer.isActive():
            self._timer.start()

    @Slot(bool)
    def _on_clean_changed(self, clean: bool) -> None:
        if clean:
            # In the worker, after a copy that it may just be writing.
            self._executor.submit(_forget, self._home)
        elif not self._timer.isActive():
            self._timer.start()

    def _begin(self, replaced: Recovery | None) -> None:
        try:
            self._occupy()
        except OSError as error:
            reason = error.strerror or str(error)
            self._on_written(ViewerError(f"No recovery copy can be written to {self._home}: {reason}."))
            return
        self._executor.submit(self._write, self._session.document, self._origin, replaced)

    def _write(self, document: Document, origin: str, replaced: Recovery | None) -> None:
        """Worker thread."""
        failure: ViewerError | None = None
        try:
            with atomic_path(self._home / _ORIGIN) as temporary:
                temporary.write_text(json.dumps({"path": origin}), encoding="utf-8")
            save_session(document, self._home / _SESSION)
            if replaced is not None:
                replaced.discard()
        except ViewerError as error:
            failure = error
        self._written.emit(failure)

    @Slot(object)
    def _on_written(self, failure: ViewerError | None) -> None:
        if self._closed:
            return
        if failure is not None and not self._broken:
            self.failed.emit(failure)
        self._broken = failure is not None
        if self._broken:
            self._timer.start()

    def _occupy(self) -> None:
        """Make this program's own folder and mark it as in use."""
        if self._lock is None:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = QLockFile(str(self._home / _LOCK))
            lock.setStaleLockTime(0)  # stale only when its process is gone, however long it runs
            if not lock.tryLock(0):
                raise OSError(None, "its folder cannot be locked")
            self._lock = lock


def _is_in_use(home: Path) -> bool:
    lock = QLockFile(str(home / _LOCK))
    lock.setStaleLockTime(0)
    if not lock.tryLock(0):
        return True
    lock.unlock()
    return False


def _read_origin(home: Path) -> str:
    try:
        value = json.loads((home / _ORIGIN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    path = value.get("path") if isinstance(value, dict) else None
    return path if isinstance(path, str) else ""


def _forget(home: Path) -> None:
    for name in (_SESSION, _ORIGIN):
        with contextlib.suppress(OSError):
            (home / name).unlink()


def _remove(home: Path) -> None:
    """Remove a program's folder with all files in it (a kill may have left a half-written one)."""
    with contextlib.suppress(OSError):
        for file in home.iterdir():
            file.unlink()
        home.rmdir()
