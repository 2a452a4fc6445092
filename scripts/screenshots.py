"""Makes the pictures of the README: the real window, off-screen, with a real edit. Run it from anywhere."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import numpy as np
import torch  # noqa: F401  before Qt
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from relpos_viewer.app.settings import Settings
from relpos_viewer.core.brush import profile
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, View, replace
from relpos_viewer.views.app import prepare_application
from relpos_viewer.views.main_window import MainWindow

PICTURES = REPOSITORY / "resources" / "screenshots"
# The hand's work in the pictures: the curve of the first head is pulled up around this offset.
PULLED, HEIGHT, RADIUS = -9, 4.0, 4


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
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat))
        settings.theme = shot.theme
        window = MainWindow(shot.document, settings)
        window.resize(*shot.size)
        window.show()
        _until_still(window)
        window.resize(*shot.size)
        window.equation.set_cell(shot.cell)
        window.equation.cell_hovered.emit(*shot.cell)
        _until_still(window)
        PICTURES.mkdir(parents=True, exist_ok=True)
        window.grab().toImage().save(str(PICTURES / f"{shot.name}.png"))
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


def main() -> None:
    """Write every picture."""
    prepare_application()
    for shot in shots():
        take(shot)
        print(f"{PICTURES.relative_to(REPOSITORY)}/{shot.name}.png")


if __name__ == "__main__":
    main()
