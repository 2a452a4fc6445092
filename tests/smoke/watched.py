"""Starts the program as its command does and, beside it, tells on stdout where its widgets lie on the screen.

A line of JSON, {object name: [x, y, width, height]}, is written whenever something moved. Nothing else is
added to the program: a real pointer does the rest.
"""

from __future__ import annotations

import json
import sys

import torch  # noqa: F401  before QApplication
from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QApplication

from relpos_viewer.cli import main


class Watcher(QTimer):
    """Writes the rectangles of all visible, named widgets when they change."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._last = ""
        self.timeout.connect(self.look)
        self.start(100)

    def look(self) -> None:
        """Write the rectangles once more if they are others than before."""
        places = {}
        for widget in self._app.allWidgets():
            if widget.objectName() and widget.isVisible():
                corner = widget.mapToGlobal(QPoint(0, 0))
                places[widget.objectName()] = [corner.x(), corner.y(), widget.width(), widget.height()]
        line = json.dumps(places)
        if line != self._last:
            self._last = line
            print(line, flush=True)


if __name__ == "__main__":
    app = QApplication(sys.argv[:1])
    watcher = Watcher(app)
    status = main(sys.argv[1:])
    watcher.stop()
    sys.exit(status)
