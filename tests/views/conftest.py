"""What tests of whole windows stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pytestqt.qtbot import QtBot

from relpos_viewer.app.settings import Settings
from relpos_viewer.document.document import Document
from relpos_viewer.views.main_window import MainWindow


@pytest.fixture
def new_window(qtbot: QtBot) -> Iterator[Callable[..., MainWindow]]:
    """Shows windows, and closes them when the test ends, unsaved work and all; arguments as for `MainWindow`."""
    windows: list[MainWindow] = []

    def make(document: Document, size: tuple[int, int] = (1440, 900), **arguments: object) -> MainWindow:
        window = MainWindow(document, Settings.of_user(), **arguments)
        windows.append(window)
        window.resize(*size)
        window.show()
        return window

    yield make
    for window in windows:
        window.history.set_clean()  # or closing would ask
        window.close()
        window.deleteLater()
