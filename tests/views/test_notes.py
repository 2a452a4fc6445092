"""What a file leaves out is said in the window, whichever way the file came in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot

from relpos_viewer.document.document import Document
from relpos_viewer.views.main_window import MainWindow

from .test_main_window import settle

NOTE = "The factor 8 comes without a rope_type"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"rope_scaling": {"factor": 8}}))
    return path


def dropped(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    buttons, held = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, buttons, held))


def from_the_list(window: MainWindow, path: Path) -> None:
    window.settings.add_recent(path)
    window.files.fill_recent()
    menu = window.menus["File/Open recent"]
    menu.triggered.emit(next(action for action in menu.actions() if action.data() == str(path)))


@pytest.mark.parametrize("way", [dropped, from_the_list, lambda window, path: window.files.open_path(path)])
def test_what_a_config_leaves_out_is_said_however_it_is_opened(
    new_window: Callable[..., MainWindow], qtbot: QtBot, config: Path, way: Callable
) -> None:
    window = new_window(Document.default())
    settle(window, qtbot)
    way(window, config)
    qtbot.waitUntil(lambda: window.session.document.encoding.name == "rope")
    settle(window, qtbot)
    assert window.message.isVisible()
    assert NOTE in window.message.text()


def test_what_the_command_line_read_is_said_with_the_first_picture_beside_what_its_arrays_say(
    new_window: Callable[..., MainWindow], qtbot: QtBot, tmp_path: Path
) -> None:
    weights = np.full((1, 3, 3), 0.5, np.float32)  # rows sum to 1.5
    np.savez(tmp_path / "a.npz", weights=weights)
    from relpos_viewer.app.opening import open_document

    window = new_window(open_document(tmp_path / "a.npz", Document.default(), {}), notes=("First note.",))
    settle(window, qtbot)
    assert window.message.text().startswith("First note. ")
    assert window.message.text() != "First note. "
    window.message.dismiss()
    window.request_picture()
    settle(window, qtbot)
    assert not window.message.isVisible()
