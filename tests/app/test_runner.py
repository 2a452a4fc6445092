"""The newest request wins, the hand stays free, and nothing outlives its window."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
from PySide6.QtCore import QObject, QThread, QTimer, Slot
from shiboken6 import isValid

from relpos_viewer.app.runner import Cancel, LatestRunner, OutOfMemoryError
from relpos_viewer.core.errors import ViewerError


class Listener(QObject):
    """Collects what a runner says, and in which thread it was heard."""

    def __init__(self, runner: LatestRunner) -> None:
        super().__init__()
        self.results: list[Any] = []
        self.errors: list[BaseException] = []
        self.busy: list[bool] = []
        self.progress: list[float] = []
        self.threads: set[bool] = set()
        runner.delivered.connect(self.on_delivered)
        runner.failed.connect(self.on_failed)
        runner.busy.connect(self.on_busy)
        runner.progress.connect(self.on_progress)

    @Slot(object)
    def on_delivered(self, result: object) -> None:
        self.threads.add(QThread.currentThread() is self.thread())
        self.results.append(result)

    @Slot(object)
    def on_failed(self, error: object) -> None:
        self.threads.add(QThread.currentThread() is self.thread())
        self.errors.append(error)

    @Slot(bool)
    def on_busy(self, busy: bool) -> None:
        self.busy.append(busy)

    @Slot(float)
    def on_progress(self, fraction: float) -> None:
        self.progress.append(fraction)


class Gate:
    """A computation that waits until the test lets it go, and remembers what it was asked."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, request: Any, cancel: Cancel) -> Any:
        self.begun.append(request)
        self.entered.set()
        assert self.open.wait(10)
        return request

    def wait_begun(self) -> None:
        assert self.entered.wait(10)


@pytest.fixture
def started():
    """Make runners that are closed again whatever happens."""
    runners: list[LatestRunner] = []

    def start(compute) -> tuple[LatestRunner, Listener]:
        runners.append(LatestRunner(compute))
        return runners[-1], Listener(runners[-1])

    yield start
    for runner in runners:
        runner.close()


def test_while_the_worker_is_held_the_event_loop_runs_and_the_newest_request_wins(qtbot, started):
    gate = Gate()
    runner, heard = started(gate)
    ticks: list[float] = []
    heartbeat = QTimer()
    heartbeat.setInterval(2)
    heartbeat.timeout.connect(lambda: ticks.append(time.monotonic()))
    heartbeat.start()
    try:
        runner.submit(0)
        gate.wait_begun()
        for request in range(1, 100):
            runner.submit(request)
        qtbot.waitUntil(lambda: len(ticks) >= 20)  # the GUI thread is alive with the worker held
    finally:
        heartbeat.stop()
        gate.open.set()
    assert heard.results == []
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert gate.begun == [0, 99]  # what came between was never begun
    assert heard.results == [0, 99]
    assert heard.threads == {True}


def test_results_arrive_while_requests_keep_coming_faster_than_they_can_be_computed(qtbot, started):
    def slow(request: int, cancel: Cancel) -> int:
        time.sleep(0.03)
        return request

    runner, heard = started(slow)
    sent = 0
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        sent += 1
        runner.submit(sent)
        qtbot.wait(2)
    during = list(heard.results)
    assert len(during) >= 4, "the picture stood still while the hand moved"
    assert during == sorted(during)
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert heard.results[-1] == sent
    assert len(heard.results) < sent


def test_requests_are_throttled_but_the_first_starts_at_once_and_the_last_is_not_lost(qtbot, qapp, started):
    begun: list[tuple[int, float]] = []

    def quick(request: int, cancel: Cancel) -> int:
        begun.append((request, time.monotonic()))
        return request

    runner, heard = started(quick)
    asked = time.monotonic()
    runner.submit(0)
    qtbot.waitUntil(lambda: heard.results == [0])
    assert begun[0][1] - asked < 0.2
    until = time.monotonic() + 0.2
    sent = 0
    while time.monotonic() < until:
        sent += 1
        runner.submit(sent)
        qapp.processEvents()
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert heard.results[-1] == sent
    assert len(begun) <= 2 + 0.2 / 0.007 + 1  # at most one in 8 ms, less the tolerance of a timer


def test_cancelling_drops_what_waits_and_stops_what_runs(qtbot, started):
    stopped = threading.Event()
    entered = threading.Event()

    def patient(request: str, cancel: Cancel) -> str:
        if request == "short":
            return request
        entered.set()
        try:
            while True:
                cancel.check()
                time.sleep(0.001)
        finally:
            stopped.set()

    runner, heard = started(patient)
    runner.submit("endless")
    assert entered.wait(10)
    runner.submit("endless too")
    runner.cancel()
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert stopped.is_set()
    assert (heard.results, heard.errors) == ([], [])
    runner.submit("short")
    qtbot.waitUntil(lambda: heard.results == ["short"])


def test_a_result_that_ignored_its_cancelling_is_not_delivered(qtbot, started):
    gate = Gate()
    runner, heard = started(gate)
    runner.submit("unwanted")
    gate.wait_begun()
    runner.cancel()
    runner.submit("wanted")
    gate.open.set()
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert heard.results == ["wanted"]


@pytest.mark.parametrize(
    ("raised", "delivered", "logged"),
    [
        (ViewerError("Too long."), ViewerError, False),
        (ZeroDivisionError("a defect"), ZeroDivisionError, True),
        (MemoryError(), OutOfMemoryError, False),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 4 bytes"),
            OutOfMemoryError,
            False,
        ),
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB"), OutOfMemoryError, False),
        (RuntimeError("shapes do not fit"), RuntimeError, True),
    ],
)
def test_a_failed_computation_is_delivered_as_its_error(qtbot, started, caplog, raised, delivered, logged):
    def fails(request: object, cancel: Cancel) -> None:
        raise raised

    runner, heard = started(fails)
    with caplog.at_level(logging.ERROR):
        runner.submit(None)
        qtbot.waitUntil(lambda: not runner.is_busy)
    assert [type(error) for error in heard.errors] == [delivered]
    assert heard.errors[0].__traceback__ is None  # it would keep the arrays of the computation alive
    assert heard.results == []
    assert bool(caplog.records) is logged
    assert heard.threads == {True}


def test_an_error_is_not_shown_once_a_newer_request_waits(qtbot, started):
    gate = Gate()

    def fails_first(request: int, cancel: Cancel) -> int:
        gate(request, cancel)
        if request == 0:
            raise ViewerError("The text is empty; type something.")
        return request

    runner, heard = started(fails_first)
    runner.submit(0)
    gate.wait_begun()
    runner.submit(1)
    gate.open.set()
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert (heard.results, heard.errors) == ([1], [])


def test_busy_is_said_once_when_work_begins_and_once_when_it_ends(qtbot, started):
    gate = Gate()
    runner, heard = started(gate)
    runner.submit(1)
    gate.wait_begun()
    runner.submit(2)
    gate.open.set()
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert heard.busy == [True, False]


def test_progress_reaches_the_gui_thread_and_is_thinned(qtbot, started):
    def reports(request: object, cancel: Cancel) -> None:
        for step in range(1000):
            cancel.progress(step / 1000)

    runner, heard = started(reports)
    runner.submit(None)
    qtbot.waitUntil(lambda: not runner.is_busy)
    assert heard.progress[0] == 0.0
    assert len(heard.progress) < 50


def test_closing_waits_for_the_worker_and_delivers_nothing_more(qtbot, started):
    ended = threading.Event()
    entered = threading.Event()

    def slow_to_stop(request: object, cancel: Cancel) -> object:
        entered.set()
        time.sleep(0.1)
        ended.set()
        return request

    runner, heard = started(slow_to_stop)
    runner.submit(1)
    assert entered.wait(10)
    runner.submit(2)
    runner.close()
    assert ended.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("relpos-compute")]
    runner.submit(3)
    qtbot.wait(30)
    assert (heard.results, heard.errors) == ([], [])
    assert not runner.is_busy
    assert heard.busy == [True, False]


def test_a_worker_that_goes_on_after_its_runner_was_destroyed_harms_nobody(qtbot, caplog):
    gate = Gate()
    ended = threading.Event()

    def reports_late(request: object, cancel: Cancel) -> object:
        gate(request, cancel)
        cancel.progress(0.5)
        ended.set()
        return request

    parent = QObject()
    runner = LatestRunner(reports_late, parent)
    runner.submit(1)
    gate.wait_begun()
    worker = next(thread for thread in threading.enumerate() if thread.name.startswith("relpos-compute"))
    with qtbot.waitSignal(runner.destroyed):
        parent.deleteLater()
    assert not isValid(runner)
    gate.open.set()
    assert ended.wait(10)
    del runner
    worker.join(10)
    assert not worker.is_alive()
    assert caplog.records == []


def test_none_is_a_request_like_any_other(qtbot, started):
    runner, heard = started(lambda request, cancel: request)
    runner.submit(None)
    qtbot.waitUntil(lambda: heard.results == [None])
