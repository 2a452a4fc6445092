"""Jobs: files are read and written in order, away from the GUI thread, and none is dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from relpos_viewer.app.jobs import Job, Jobs


@pytest.fixture
def jobs(qtbot: QtBot) -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def job(work, log: list, **rest: object) -> Job:
    return Job(f"job {len(log)}", work, log.append, lambda error: log.append(error), **rest)


def test_every_job_is_done_in_the_order_it_came(jobs: Jobs, qtbot: QtBot) -> None:
    log: list = []
    for number in range(20):
        jobs.start(job(lambda number=number: number, log))
    qtbot.waitUntil(lambda: len(log) == 20, timeout=5000)
    assert log == list(range(20))
    assert jobs.title == ""


def test_work_runs_in_another_thread_and_its_outcome_is_told_in_this_one(jobs: Jobs, qtbot: QtBot) -> None:
    threads: list = []
    told: list = []
    jobs.start(
        Job(
            "work",
            lambda: threads.append(threading.current_thread()),
            lambda _result: told.append(threading.current_thread()),
            told.append,
        )
    )
    qtbot.waitUntil(lambda: bool(told), timeout=5000)
    assert threads != [threading.main_thread()] and told == [threading.main_thread()]


def test_a_failure_is_told_and_the_next_job_is_done(jobs: Jobs, qtbot: QtBot) -> None:
    log: list = []
    jobs.start(job(lambda: 1 / 0, log))
    jobs.start(job(lambda: "next", log))
    qtbot.waitUntil(lambda: len(log) == 2, timeout=5000)
    assert isinstance(log[0], ZeroDivisionError) and log[1] == "next"


def test_work_with_a_stopper_is_stopped_and_heard_of_no_more_and_says_how_far_it_is(
    jobs: Jobs, qtbot: QtBot
) -> None:
    log, told, begun = [], [], threading.Event()
    jobs.progress.connect(told.append)
    stopper = jobs.stopper()

    def work() -> None:
        stopper.progress(0.25)
        begun.set()
        while True:
            stopper.check()
            time.sleep(0.001)

    jobs.start(job(work, log, can_cancel=False, cancel=stopper))
    qtbot.waitUntil(lambda: bool(told), timeout=5000)
    assert begun.wait(5) and told == [0.25]
    jobs.cancel()
    jobs.start(job(lambda: "next", log))
    qtbot.waitUntil(lambda: bool(log), timeout=5000)
    assert log == ["next"]


def test_what_was_finished_before_it_could_be_stopped_is_told(jobs: Jobs, qtbot: QtBot) -> None:
    gate, log = threading.Event(), []
    stopper = jobs.stopper()
    jobs.start(job(lambda: gate.wait(5) and "written", log, can_cancel=False, cancel=stopper))
    jobs.cancel()
    gate.set()
    qtbot.waitUntil(lambda: bool(log), timeout=5000)
    assert log == ["written"]


def test_closing_stops_what_can_be_stopped(qtbot: QtBot) -> None:
    jobs, log = Jobs(), []
    stopper = jobs.stopper()

    def work() -> None:
        while True:
            stopper.check()
            time.sleep(0.001)

    jobs.start(job(work, log, can_cancel=False, cancel=stopper))
    jobs.close()
    assert log == []


def test_cancelling_throws_away_what_is_read_but_never_what_is_written(jobs: Jobs, qtbot: QtBot) -> None:
    gate, log, written = threading.Event(), [], []
    titles: list[str] = []
    jobs.changed.connect(titles.append)
    jobs.start(job(lambda: gate.wait(5), log))
    jobs.start(job(lambda: written.append("file") or "saved", log, can_cancel=False))
    jobs.cancel()
    gate.set()
    qtbot.waitUntil(lambda: log == ["saved"], timeout=5000)
    assert written == ["file"]
    qtbot.wait(20)
    assert log == ["saved"], "the cancelled one stays untold"
    assert titles[0] == "job 0" and titles[-1] == ""


def test_closing_waits_for_a_file_that_is_being_written(qtbot: QtBot) -> None:
    jobs, written, told = Jobs(), [], []
    gate = threading.Event()
    jobs.start(Job("write", lambda: (gate.wait(5), written.append(1)), told.append, told.append))
    threading.Timer(0.1, gate.set).start()
    jobs.close()
    assert written == [1]
    qtbot.wait(20)
    assert told == [], "nobody is left to be told"
    jobs.start(job(lambda: written.append(2), told))
    assert written == [1]
