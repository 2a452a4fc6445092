"""The worker thread: the newest request wins, and the picture moves while the hand moves."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from relpos_viewer.core.errors import ViewerError

logger = logging.getLogger(__name__)

# Half a frame at 60 Hz: requests that come faster than this could not be seen apart.
DISPLAY_INTERVAL_MS = 8
# A progress bar needs no more than this; each report costs an event on the GUI thread.
PROGRESS_INTERVAL_S = 0.05


class Cancelled(Exception):  # noqa: N818  nothing went wrong
    """Raised inside a computation that nobody waits for any more."""


class OutOfMemoryError(ViewerError):
    """The device had not enough memory; apart from other errors, so that the window can try the CPU."""


class Cancel:
    """Handed to a computation, so that it can be stopped between blocks and say how far it is.

    Any thread may call any method. `cancel` asks; the computation obeys at its next `check`.
    """

    def __init__(self, report: Callable[[float], None] = lambda fraction: None) -> None:
        self._event = threading.Event()
        self._report = report
        self._reported = -PROGRESS_INTERVAL_S

    @property
    def cancelled(self) -> bool:
        """True from the moment that somebody asked to stop."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the computation to stop."""
        self._event.set()

    def check(self) -> None:
        """Raise Cancelled when the result is no longer wanted. Call it between blocks of work."""
        if self._event.is_set():
            raise Cancelled

    def progress(self, fraction: float) -> None:
        """Say that `fraction` (0…1) is done; reports that follow too closely are left out."""
        self.check()
        now = time.monotonic()
        if now - self._reported >= PROGRESS_INTERVAL_S:
            self._reported = now
            self._report(min(max(fraction, 0.0), 1.0))


class LatestRunner(QObject):
    """Runs `compute(request, cancel)` in one worker thread, always for the newest request.

    Of the requests that wait, only the newest is kept. A computation that has begun is finished and
    its result delivered even when a newer request waits: otherwise a picture that takes longer than
    a mouse event would stand still until the hand rests. `cancel` stops it instead.

    All methods are for the GUI thread, where all signals arrive. Call `close` before dropping a
    runner (in `closeEvent`): it waits for the worker, so that nothing computes for a dead window.

    Signals:
        delivered(object): a result, in the order of the requests.
        failed(object): the exception of a computation, unless a newer request waits already.
            Anything but a ViewerError is a defect of the program and has been logged.
        busy(bool): True when work begins, False when there is none left.
        progress(float): 0…1, from a computation that reports it.
    """

    delivered = Signal(object)
    failed = Signal(object)
    busy = Signal(bool)
    progress = Signal(float)

    # From the worker. Queued, because the receiving object lives in the GUI thread.
    _finished = Signal(int, object, object)
    _progressed = Signal(int, float)

    def __init__(self, compute: Callable[[Any, Cancel], Any], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._compute = compute
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="relpos-compute")
        self._running: Cancel | None = None
        self._ticket = 0  # of the running or last computation
        # A list of at most one request, since None may be a request.
        self._waiting: list[Any] = []
        self._closed = False
        self._announced = False
        self._pace = QTimer(self)
        self._pace.setSingleShot(True)
        self._pace.setTimerType(Qt.TimerType.PreciseTimer)
        self._pace.setInterval(DISPLAY_INTERVAL_MS)
        self._pace.timeout.connect(self._start_waiting)
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)
        self._progressed.connect(self._on_progressed, Qt.ConnectionType.QueuedConnection)

    @property
    def is_busy(self) -> bool:
        """True while something is computed or waits to be."""
        return self._running is not None or bool(self._waiting)

    def submit(self, request: Any) -> None:
        """Ask for `request`; it takes the place of any other that still waits. Does nothing once closed."""
        if self._closed:
            return
        self._waiting = [request]
        self._start_waiting()

    def cancel(self) -> None:
        """Forget the request that waits and ask the running computation to stop; it delivers nothing."""
        self._waiting = []
        if self._running is not None:
            self._running.cancel()
        self._announce()

    def close(self) -> None:
        """Stop, wait for the worker thread to end, and deliver nothing more. May be called twice."""
        self._closed = True
        self._pace.stop()
        self.cancel()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._running = None
        self._announce()

    @Slot()
    def _start_waiting(self) -> None:
        if self._waiting and self._running is None and not self._pace.isActive():
            request = self._waiting.pop()
            self._ticket += 1
            # The worker may outlive this object only when `close` was forgotten; with a weak
            # reference it cannot become the last owner and destroy a QObject in the wrong thread.
            owner = weakref.ref(self)
            self._running = Cancel(partial(_emit, owner, "_progressed", self._ticket))
            self._pace.start()
            self._executor.submit(_work, self._compute, request, self._running, owner, self._ticket)
        self._announce()

    @Slot(int, object, object)
    def _on_finished(self, ticket: int, result: Any, error: BaseException | None) -> None:
        cancel = self._running
        if cancel is None or ticket != self._ticket:
            return
        self._running = None
        newer = bool(self._waiting)
        # First the next computation, so that the worker is not idle while the window paints.
        self._start_waiting()
        if cancel.cancelled:
            return
        if error is None:
            self.delivered.emit(result)
        elif not newer:
            self.failed.emit(error)

    @Slot(int, float)
    def _on_progressed(self, ticket: int, fraction: float) -> None:
        if self._running is not None and ticket == self._ticket and not self._running.cancelled:
            self.progress.emit(fraction)

    def _announce(self) -> None:
        if self.is_busy != self._announced:
            self._announced = self.is_busy
            self.busy.emit(self._announced)


def _work(
    compute: Callable[[Any, Cancel], Any],
    request: Any,
    cancel: Cancel,
    owner: weakref.ref[LatestRunner],
    ticket: int,
) -> None:
    """Compute in the worker thread and hand the outcome to the GUI thread, whatever it is."""
    result: Any = None
    failure: BaseException | None = None
    try:
        cancel.check()
        result = compute(request, cancel)
    except BaseException as error:
        failure = _for_people(error)
    _emit(owner, "_finished", ticket, result, failure)


def _emit(owner: weakref.ref[LatestRunner], signal: str, *values: Any) -> None:
    """Emit a signal of the runner, if there still is one. Called in the worker thread."""
    runner = owner()
    if runner is not None:
        # RuntimeError: Qt destroyed the runner with its parent, and nobody is there to listen.
        with contextlib.suppress(RuntimeError):
            getattr(runner, signal).emit(*values)


def _for_people(error: BaseException) -> BaseException:
    """The error to deliver: a sentence where it is about memory, and logged where it is a defect."""
    if is_out_of_memory(error):
        return OutOfMemoryError(
            "There is not enough memory for this; shorten the sequence or use fewer heads."
        )
    if not isinstance(error, ViewerError | Cancelled):
        logger.error("A computation failed.", exc_info=error)
    # A traceback keeps every array of the failed computation alive for as long as the error is shown.
    return error.with_traceback(None)


def is_out_of_memory(error: BaseException) -> bool:
    """True for the many ways in which Python, torch and its devices say that memory ran out."""
    # By name and text: torch's own class differs by version, and its CPU allocator raises RuntimeError.
    text = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and any(sign in text for sign in _MEMORY_SIGNS))
    )


_MEMORY_SIGNS = ("out of memory", "not enough memory", "can't allocate memory")
