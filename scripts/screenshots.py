"""Makes the pictures of the README and, with --families, those of the help: the real window, off-screen.

Run it from anywhere.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import numpy as np
import torch  # noqa: F401  before Qt
from PIL import Image
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from relpos_viewer.app.settings import Settings
from relpos_viewer.core.brush import profile
from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, View, replace
from relpos_viewer.views.app import prepare_application
from relpos_viewer.views.main_window import MainWindow

PICTURES = REPOSITORY / "resources" / "screenshots"
# The hand's work in the pictures: the curve of the first head is pulled up around this offset.
PULLED, HEIGHT, RADIUS = -9, 4.0, 4
SMOOTH = Qt.TransformationMode.SmoothTransformation
GAP = 8
FAMILY_WIDTH = 700  # of a picture in the help
FAMILY_WINDOW = (1240, 900)  # the window it is cut out of


@dataclass(frozen=True)
class Shot:
    """One picture: what is shown, how large, and in which theme."""

    name: str
    document: Document
    cell: tuple[int, int]
    size: tuple[int, int] = (1440, 900)
    theme: str = "light"


def pulled(document: Document, n: int) -> Document:
    """Return `document` with the curve of its first head pulled up around one offset."""
    distance = abs(np.arange(-(n - 1), n) - PULLED)
    values = np.zeros((document.heads, 2 * n - 1), np.float32)
    values[0] = HEIGHT * profile(distance, RADIUS, "smooth")
    return replace(document, edit=EditCurve(values))


def shots() -> list[Shot]:
    """Return the pictures of the README."""
    first = pulled(Document.default(), 26)
    rope = replace(
        Document.default(), encoding=EncodingSpec("rope", {"base": 100.0}), view=View(layout="grid")
    )
    return [
        Shot("window-light", first, (19, 10)),
        Shot("window-dark", first, (19, 10), theme="dark"),
        Shot("window-small", first, (19, 10), size=(1024, 700)),
        Shot("rope-grid", rope, (20, 6), size=(1440, 1000)),
    ]


def take(shot: Shot) -> None:
    """Show one window, wait until it is still, and write its picture."""
    with opened(shot) as window:
        window.equation.set_cell(shot.cell)
        window.equation.cell_hovered.emit(*shot.cell)
        _until_still(window)
        PICTURES.mkdir(parents=True, exist_ok=True)
        window.grab().toImage().save(str(PICTURES / f"{shot.name}.png"))


@contextmanager
def opened(shot: Shot) -> Iterator[MainWindow]:
    """Yield the window of a shot, still, and close it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat))
        settings.theme = shot.theme
        window = MainWindow(shot.document, settings)
        window.resize(*shot.size)
        window.show()
        _until_still(window)
        window.resize(*shot.size)
        yield window
        window.history.set_clean()
        window.close()
        window.deleteLater()
        QApplication.processEvents()


def _until_still(window: MainWindow) -> None:
    quiet = 0
    while quiet < 20:
        QApplication.processEvents()
        time.sleep(0.02)
        quiet = quiet + 1 if window.frame is not None and not window.runner.is_busy else 0


# What families over an image show, rather than a line of words: a window of this many tokens.
GRID = {"swin": (5, 25), "swin-v2": (5, 25), "beit": (5, 26)}


def family_shot(name: str) -> Shot:
    """Return what the help shows of a family."""
    document = Document.default()
    parameters: dict[str, object] = {"base": 100.0} if name in ("rope", "xpos", "absolute") else {}
    if name in GRID:
        width, tokens = GRID[name]
        parameters = {"width": width}
        text = " ".join(str(number) for number in range(tokens))
        document = replace(document, source=TextSource(text), mask="none")
    if name == "curve":
        delta = np.arange(-25, 26)
        hill = 2.5 * np.exp(-(((delta + 6) / 3.0) ** 2)) - 0.08 * abs(delta)  # [offset]
        parameters["table"] = np.stack([hill, hill[::-1], 0.5 * hill, -hill]).astype(np.float32)
    if name in ("tisa", "deberta", "shaw", "xlnet", "absolute"):
        document = replace(document, mask="none")
    return Shot(name, replace(document, encoding=EncodingSpec(name, parameters)), (0, 0), FAMILY_WINDOW)


def take_family(name: str) -> Path:
    """Write the picture of a family: its editor, and the position term beside it."""
    path = PICTURES / "families" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened(family_shot(name)) as window:
        if window.frame is not None and window.frame.encoding.handles(0, window.frame.n_key, 32):
            window.curve.tool = "handles"
        _until_still(window)
        editor = window.bias.grab().toImage()
        panel = window.equation.views["positional"].grab().toImage()
        # Side by side and equally high, as wide together as the help is.
        share = (FAMILY_WIDTH - GAP) / (editor.width() + panel.width() * editor.height() / panel.height())
        height = round(share * editor.height())
        drawn = QImage(FAMILY_WIDTH, height, QImage.Format.Format_RGB32)
        drawn.fill(window.palette().window().color())
        painter = QPainter(drawn)
        left, right = (each.scaledToHeight(height, SMOOTH) for each in (editor, panel))
        painter.drawImage(0, 0, left)
        painter.drawImage(left.width() + GAP, 0, right)
        painter.end()
        drawn.save(str(path))
    with Image.open(path) as picture:
        # A palette of its own is enough for flat colours, and a third of the size.
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def main() -> None:
    """Write every picture."""
    prepare_application()
    if "--families" in sys.argv[1:]:
        for name in FAMILIES:
            print(take_family(name).relative_to(REPOSITORY))
        return
    for shot in shots():
        take(shot)
        print(f"{PICTURES.relative_to(REPOSITORY)}/{shot.name}.png")


if __name__ == "__main__":
    main()
