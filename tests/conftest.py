"""What every test stands on: off-screen Qt, settings of its own, and nothing left behind."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

# Before anything imports Qt. A developer's own display is never used.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ.pop("DISPLAY", None)
os.environ.pop("WAYLAND_DISPLAY", None)
# One font cache for the run: building it takes seconds, and each test gets a new cache folder otherwise.
REPOSITORY = Path(__file__).resolve().parents[1]
os.environ.setdefault("MPLCONFIGDIR", str(REPOSITORY / ".pytest_cache" / "matplotlib"))

import torch  # noqa: I001, F401  before QApplication: the other order has crashed on Windows (pytorch#11326)
import pytest
from hypothesis import HealthCheck, settings
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

# Two busy cores make any deadline flaky; a fixed order makes a failure repeatable.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the working tree."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference values computed independently of this program; it lies beside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of independent reference values (shared/) is not beside the repository")
    return folder


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings, recent files and recovery files of one test, in a folder of its own; returns that folder.

    The environment covers programs started by the test; QSettings has read it already, so it is told too.
    """
    folder = tmp_path_factory.mktemp("home")
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(
            variable, str(folder / variable.removeprefix("XDG_").removesuffix("_HOME").lower())
        )
    for format in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(format, QSettings.Scope.UserScope, str(folder / "config"))
    return folder


@pytest.fixture(autouse=True)
def nothing_outlives(own_settings: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves threads, running timers or top-level widgets behind.

    pytest-qt has closed the widgets given to ``qtbot.addWidget`` before this looks.
    """
    started: list[weakref.ref[QTimer]] = []
    start = QTimer.start

    def remembering_start(timer: QTimer, *interval: object) -> None:
        started.append(weakref.ref(timer))
        start(timer, *interval)

    # Qt can list neither its timers nor who started them.
    monkeypatch.setattr(QTimer, "start", remembering_start)
    threads_before = set(threading.enumerate())
    widgets_before = _top_level_widgets()

    yield

    left: list[str] = []
    for attempt in range(20):
        _delete_what_is_due()
        left = (
            [f"thread {thread.name}" for thread in threading.enumerate() if thread not in threads_before]
            + [f"timer of {_owner(timer)}" for ref in started if (timer := ref()) and _runs(timer)]
            + [f"window {_name(widget)}" for widget in _top_level_widgets() - widgets_before]
        )
        if not left:
            return
        # A result may be on its way, or only a cycle keeps a widget: both go within moments.
        if attempt == 0:
            gc.collect()
        else:
            time.sleep(0.05)
    pytest.fail("outlived the test: " + ", ".join(sorted(set(left))), pytrace=False)


def _delete_what_is_due() -> None:
    app = QApplication.instance()
    if app is not None:
        app.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _top_level_widgets() -> set[QWidget]:
    if QApplication.instance() is None:
        return set()
    # Qt keeps its one tooltip label for the next tooltip.
    return {
        widget
        for widget in QApplication.topLevelWidgets()
        if isValid(widget) and widget.metaObject().className() != "QTipLabel"
    }


def _runs(timer: QTimer) -> bool:
    return isValid(timer) and timer.isActive()


def _owner(timer: QTimer) -> str:
    parent = timer.parent()
    return _name(parent) if parent is not None else "nobody"


def _name(thing: object) -> str:
    name = getattr(thing, "objectName", str)()
    return f"{type(thing).__name__} {name!r}" if name else type(thing).__name__
