"""A screen of one's own: an X server that nobody sees, its picture, and a real pointer on it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Screen:
    """A running X server.

    Attributes:
        display: its name, such as ":99".
        framebuffer: the file in which it keeps its picture (XWD format).
    """

    display: str
    framebuffer: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to show its windows here."""
        return {**os.environ, "DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb", "QT_SCALE_FACTOR": "1"}

    def picture(self) -> np.ndarray:
        """What the screen shows now: uint8 [height, width, 3] (blue, green, red)."""
        data = self.framebuffer.read_bytes()
        header = np.frombuffer(data, ">u4", 25)
        height, line, colours = int(header[5]), int(header[12]), int(header[19])
        start = int(header[0]) + 12 * colours
        pixels = np.frombuffer(data, np.uint8, height * line, start).reshape(height, -1, 4)
        return pixels[:, : int(header[4]), :3]

    def crop(self, place: tuple[int, int, int, int]) -> np.ndarray:
        """The part of the picture at (x, y, width, height)."""
        x, y, width, height = place
        return self.picture()[y : y + height, x : x + width].copy()

    def still(self, place: tuple[int, int, int, int], seconds: float = 20) -> np.ndarray:
        """The part of the picture once it has been the same for 0.6 s."""
        until = time.monotonic() + seconds
        last, since = self.crop(place), time.monotonic()
        while time.monotonic() - since < 0.6:
            if time.monotonic() > until:
                raise TimeoutError("the picture did not come to rest")
            time.sleep(0.05)
            now = self.crop(place)
            if not np.array_equal(now, last):
                last, since = now, time.monotonic()
        return last

    def changes(self, place: tuple[int, int, int, int], before: np.ndarray, seconds: float = 5) -> bool:
        """Wait until the part of the picture is another than before; False when it stays."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not np.array_equal(self.crop(place), before):
                return True
            time.sleep(0.02)
        return False

    def xdotool(self, *command: object) -> None:
        """Move the pointer, press buttons or keys."""
        subprocess.run(["xdotool", *map(str, command)], env=self.environment, check=True, timeout=10)


@contextmanager
def screen(folder: Path, width: int = 1440, height: int = 900) -> Iterator[Screen]:
    """Start an X server whose picture is kept in `folder`, and stop it afterwards."""
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-fbdir", str(folder), "-nolisten", "tcp"]
        + ["-screen", "0", f"{width}x{height}x24"],
        pass_fds=[write],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as answer:
            number = answer.readline().strip()  # empty when the server could not start
        assert number, "Xvfb did not start"
        yield Screen(f":{number}", folder / "Xvfb_screen0")
    finally:
        server.terminate()
        server.wait(10)
