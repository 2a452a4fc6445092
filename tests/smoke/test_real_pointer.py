"""The program on a real X server: a hand drags the curve, and the matrices follow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from relpos_viewer.views import names

from .screen import Screen, screen

Place = tuple[int, int, int, int]

_missing = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(bool(_missing), reason=f"{' and '.join(_missing)} not installed"),
]

TEXT = "the cat sat on the mat and the cat slept"


@pytest.fixture
def own_screen(tmp_path: Path) -> Iterator[Screen]:
    with screen(tmp_path) as started:
        yield started


@pytest.fixture
def place_of(own_screen: Screen, tmp_path: Path, own_settings: Path) -> Iterator[Callable[[str], Place]]:
    """Start the program; returns where a widget lies on the screen, by object name."""
    told, complaints = tmp_path / "places.jsonl", tmp_path / "stderr.txt"
    watched = Path(__file__).with_name("watched.py")
    with told.open("w") as out, complaints.open("w") as err:
        program = subprocess.Popen(
            [sys.executable, str(watched), "--text", TEXT, "--encoding", "alibi"],
            env=own_screen.environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )

    def find(name: str) -> Place:
        until = time.monotonic() + 30
        while time.monotonic() < until and program.poll() is None:
            lines = told.read_text().splitlines()
            if lines and name in (places := json.loads(lines[-1])):
                return tuple(places[name])
            time.sleep(0.1)
        pytest.fail(f"no {name!r} on the screen; the program said: {complaints.read_text()}")

    try:
        yield find
        assert program.poll() is None, f"the program died: {complaints.read_text()}"
        assert "Traceback" not in complaints.read_text()
    finally:
        program.terminate()
        program.wait(10)


def test_dragging_the_curve_with_a_real_pointer_moves_the_matrices_and_undo_brings_them_back(
    own_screen: Screen, place_of: Callable[[str], Place]
) -> None:
    plot = place_of(names.CURVE_PLOT)
    # Not the content: where the terms share their scale, its colours move too.
    position, weights = (place_of(names.MATRIX_CANVAS_PREFIX + stage) for stage in ("positional", "weights"))
    own_screen.still(weights)
    own_screen.xdotool("mousemove", 1, 1)
    before = {place: own_screen.still(place) for place in (position, weights)}

    x, y = plot[0] + plot[2] * 2 // 5, plot[1] + plot[3] // 2
    own_screen.xdotool("mousemove", x, y, "mousedown", 1)
    for step in range(1, 13):
        own_screen.xdotool("mousemove", x, y - 6 * step)
        time.sleep(0.02)
    assert own_screen.changes(weights, before[weights]), "the weights must follow while the button is down"
    own_screen.xdotool("mouseup", 1, "mousemove", 1, 1)

    after = {place: own_screen.still(place) for place in before}
    assert not np.array_equal(after[position], before[position])
    assert not np.array_equal(after[weights], before[weights])

    own_screen.xdotool("key", "ctrl+z")
    assert own_screen.changes(weights, after[weights]), "undo must show"
    for place, picture in before.items():
        assert np.array_equal(own_screen.still(place), picture)
