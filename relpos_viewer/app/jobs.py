"""Jobs: opening, saving and exporting away from the GUI thread, one after the other, none of them dropped."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from relpos_viewer.app.runner import Cancel, Cancelled


@dataclass(frozen=True)
class Job:
    """What to do, what to call it meanwhile, and who wants to know how it ended.

    Attributes:
        title: for the status bar: "Opening emma.txt".
        work: called in the worker thread without arguments.
        done: called in the GUI thread with what `work` returned.
        failed: called in the GUI thread with the exception.
        can_cancel: its result may be thrown away; a job that writes a file is always finished.
        cancel: what stops the work itself, which then raises Cancelled and is heard of no more; see `Jobs.stopper`.
    """

    title: str
    work: Callable[[], Any]
    done: Callable[[Any], None]
    failed: Callable[[Exception], None]
    can_cancel: bool = True
    cancel: Cancel | None = None


class Jobs(QObject):
    """Runs jobs in one worker thread, in the order they came. All methods are for the GUI thread.

    Signals:
        changed(str): title of the job that runs now, "" when there is none.
        progress(float): 0…1, from the work of a job that has a stopper.
    """

    changed = Signal(str)
    progress = Signal(float)
    _finished = Signal(object, object)  # from the worker: the result, the exception

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="relpos-job")
        self._waiting: list[Job] = []
        self._dropped: set[int] = set()
        self._closed = False
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)

    @property
    def title(self) -> str:
        """What runs now, "" for nothing."""
        return self._waiting[0].title if self._waiting else ""

    def stopper(self) -> Cancel:
        """Return what a job's work can be stopped with, and tells how far it is."""
        return Cancel(partial(_report, weakref.ref(self)))

    def start(self, job: Job) -> None:
        """Run `job` after those that were started before."""
        if self._closed:
            return
        self._waiting.append(job)
        self._executor.submit(_work, job.work, weakref.ref(self))
        if len(self._waiting) == 1:
            self.changed.emit(self.title)

    def cancel(self) -> None:
        """Throw away the results of all jobs that can be cancelled, and stop the work of those that can be stopped."""
        self._dropped.update(id(job) for job in self._waiting if job.can_cancel)
        for job in self._waiting:
            if job.cancel is not None:
                job.cancel.cancel()

    def close(self) -> None:
        """Let what was started end (a file half written helps nobody) or stop, and report nothing more."""
        self._closed = True
        self.cancel()
        self._executor.shutdown(wait=True)

    @Slot(object, object)
    def _on_finished(self, result: Any, error: Exception | None) -> None:
        job = self._waiting.pop(0)
        dropped = id(job) in self._dropped
        self._dropped.discard(id(job))
        self.changed.emit(self.title)
        if self._closed or dropped or isinstance(error, Cancelled):
            return
        if error is None:
            job.done(result)
        else:
            job.failed(error)


def _report(owner: weakref.ref[Jobs], fraction: float) -> None:
    jobs = owner()
    if jobs is not None:
        with contextlib.suppress(RuntimeError):  # as in `_work`
            jobs.progress.emit(fraction)


def _work(work: Callable[[], Any], owner: weakref.ref[Jobs]) -> None:
    result: Any = None
    failure: BaseException | None = None
    try:
        result = work()
    except BaseException as error:
        # A traceback would keep the arrays of the failed job alive for as long as its error is shown.
        failure = error.with_traceback(None)
    jobs = owner()
    if jobs is not None:
        with contextlib.suppress(RuntimeError):  # Qt destroyed it with its parent; nobody is there to listen
            jobs._finished.emit(result, failure)
