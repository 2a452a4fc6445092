#!/usr/bin/env python3
"""Measure the window under a moving hand: from the move of the mouse to painted pixels.

    scripts/bench_window.py 1024                                   on the platform of QT_QPA_PLATFORM, or the desktop
    QT_QPA_PLATFORM=offscreen scripts/bench_window.py 1024

A point of the curve is grabbed and moved by real mouse events, one a display frame of 60 Hz or, where a picture takes
longer, one a picture: under ALiBi with the brush as wide as it is at first, and under T5 with its widest bucket, which
is most of what is visible. The clock runs from the event to the end of the paint in which the curve and every matrix
that changed stand on the screen. `scripts/bench.py --window N` runs this in a process of its own. Prints JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from PySide6.QtCore import QEvent, QObject, QPointF, QSettings, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from relpos_viewer.app.frames import Frame
from relpos_viewer.app.settings import Settings
from relpos_viewer.document.document import Document, EncodingSpec, TextSource, replace
from relpos_viewer.views.app import prepare_application, spare_pauses
from relpos_viewer.views.main_window import MainWindow

MOVES, WARM_UP = 200, 20
BETWEEN_MOVES = 1 / 60  # seconds
IDLE = 0.0002  # seconds between two looks at the event queue
LONGEST = 120.0  # seconds after which a picture is not waited for any more
SWING = 60.0  # pixels up and down that the hand moves
WINDOW = (1440, 900)  # pixels, on any platform
DRAGS = {"brush": EncodingSpec("alibi"), "bucket": EncodingSpec("t5", {"bidirectional": False})}
WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "wizards",
    "box",
)


class Stuck(Exception):  # noqa: N818
    """A picture did not come."""


@dataclass
class Loop:
    """The event loop, with a clock on every stretch in which it answered nobody."""

    stretches: list[float] = field(default_factory=list)

    def turn(self) -> None:
        """Handle what waits, then let the worker have the interpreter."""
        began = time.perf_counter()
        QApplication.processEvents()
        self.stretches.append(time.perf_counter() - began)
        time.sleep(IDLE)

    def send(self, target: QObject, event: QEvent) -> None:
        began = time.perf_counter()
        QApplication.sendEvent(target, event)
        self.stretches.append(time.perf_counter() - began)

    def until(self, done: Any) -> None:
        limit = time.perf_counter() + LONGEST
        while not done():
            if time.perf_counter() > limit:
                raise Stuck
            self.turn()


class Paints(QObject):
    """Knows which pictures are still to be painted: the curve since a move, what a frame changed since it came."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__()
        self._window = window
        self._waited: set[QObject] = set()
        self._last: Frame | None = None
        self._targets = {stage: view.canvas for stage, view in window.equation.views.items()}
        self._curve = window.curve.plot.viewport()
        for target in (*self._targets.values(), self._curve):
            target.installEventFilter(self)
        window.runner.delivered.connect(self._on_frame)

    def _on_frame(self, frame: Frame) -> None:
        """Every picture that this frame changed has to be painted."""
        if not frame.tiles:
            return
        before, self._last = self._last, frame
        changed = {
            self._targets[stage]
            for stage, tile in frame.tiles.items()
            if before is None or before.tiles.get(stage) is not tile
        }
        self._waited |= changed

    def expect_curve(self) -> None:
        """From here on the curve has to be painted, by the move itself or by its frame."""
        self._waited.add(self._curve)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
        if event.type() == QEvent.Type.Paint:
            self._waited.discard(watched)
        return False

    @property
    def complete(self) -> bool:
        """Whether the newest edit has its frame, and the frame its paints."""
        shown = self._last is not None and self._last.document is self._window.session.document
        return shown and not self._waited


def text_of(n: int) -> str:
    return " ".join(itertools.islice(itertools.cycle(WORDS), n))


def measure(n: int, moves: int, encoding: EncodingSpec) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat))
        document = replace(Document.default(), source=TextSource(text_of(n)), encoding=encoding)
        window = MainWindow(document, settings)
        try:
            return _drag(window, n, moves)
        finally:
            window.history.set_clean()
            window.close()
            window.deleteLater()
            QApplication.processEvents()


def _drag(window: MainWindow, n: int, moves: int) -> dict[str, Any]:
    loop, paints = Loop(), Paints(window)
    window.resize(*WINDOW)
    window.show()
    loop.until(lambda: window.frame is not None and window.frame.n_key == n and window.frame.exact)
    rest = time.perf_counter() + 1.0
    loop.until(lambda: time.perf_counter() > rest and not window.runner.is_busy)

    plot = window.curve.plot
    x = plot.offset_to_x(-n // 8)
    curves = window.frame.curves
    y = plot.value_to_y(float(curves.family[curves.head, n - 1 - n // 8]))
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

    def mouse(kind: QEvent.Type, at: QPointF, button: Qt.MouseButton, buttons: Qt.MouseButton) -> None:
        target = plot.viewport()
        place = QPointF(target.mapToGlobal(at.toPoint()))
        loop.send(target, QMouseEvent(kind, at, place, button, buttons, Qt.KeyboardModifier.NoModifier))

    mouse(QEvent.Type.MouseMove, QPointF(x, y), none, none)
    mouse(QEvent.Type.MouseButtonPress, QPointF(x, y), left, left)
    loop.turn()
    times: list[float] = []
    computed: list[float] = []  # seconds in the worker thread
    for step in range(WARM_UP + moves):
        if step == WARM_UP:
            loop.stretches.clear()
        began = time.perf_counter()
        height = SWING * math.sin(0.21 * (step + 1)) + (6 if step % 2 else -6)
        paints.expect_curve()
        mouse(QEvent.Type.MouseMove, QPointF(x, y - height), none, left)
        loop.until(lambda: paints.complete)
        painted = time.perf_counter()
        if step >= WARM_UP:
            times.append(painted - began - IDLE)
            computed.append(window.frame.seconds)
        next_move = began + BETWEEN_MOVES
        loop.until(lambda at=next_move: time.perf_counter() >= at)
    blocked = max(loop.stretches)
    mouse(QEvent.Type.MouseButtonRelease, QPointF(x, y), left, none)
    loop.until(lambda: not window.runner.is_busy)
    return {
        "n": n,
        "platform": QApplication.platformName(),
        "threads": torch.get_num_threads(),
        "window": [window.width(), window.height()],
        "panel": list(window.equation.viewport.shape),
        "moves": moves,
        "move_to_painted_s": statistics.median(times),
        "move_to_painted_90_s": statistics.quantiles(times, n=10)[-1],
        "move_to_painted_worst_s": max(times),
        "frame_s": statistics.median(computed),
        "longest_blocked_s": blocked,  # by arithmetic, events and paint together
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", type=int, help="tokens")
    parser.add_argument("--moves", type=int, default=MOVES, help="how many moves are measured")
    parser.add_argument("--drags", nargs="+", choices=DRAGS, default=list(DRAGS), help="what the hand moves")
    options = parser.parse_args()
    prepare_application()
    spare_pauses()
    print(
        json.dumps(
            [{"drag": name, **measure(options.n, options.moves, DRAGS[name])} for name in options.drags]
        )
    )


if __name__ == "__main__":
    main()
