"""Dialogs come back where they were: each that a command opens, in a window of the next run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox
from pytestqt.qtbot import QtBot

from relpos_viewer.app.settings import Settings
from relpos_viewer.document.document import Document
from relpos_viewer.views import names
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.placed_dialog import can_be_reached, place_beside

from .test_main_window import settle

COMMANDS = {
    "fit": names.FIT_DIALOG,
    "conventions": names.CONVENTIONS_PANEL,
    "shift_test": names.SHIFT_DIALOG,
    "extrapolation": names.EXTRAPOLATION_DIALOG,
    "getting_started": names.HELP_DIALOG,
    "shortcuts": names.SHORTCUTS_DIALOG,
    "about": names.ABOUT_DIALOG,
    "export_encoding": names.CODE_DIALOG,
    "export_figure": names.EXPORT_DIALOG,
    "range_formula": names.FORMULA_DIALOG,
}


@pytest.fixture
def run(new_window: Callable[..., MainWindow], qtbot: QtBot) -> Callable[[], MainWindow]:
    def make() -> MainWindow:
        window = new_window(Document.default(), (760, 600))
        window.move(20, 30)
        settle(window, qtbot)
        window.curve.select(-5, -2)
        return window

    return make


def opened(window: MainWindow, command: str) -> QDialog:
    window.actions_by_id[command].trigger()
    dialog = window.findChild(QDialog, COMMANDS[command])
    assert dialog.isVisible()
    return dialog


def stands(window: MainWindow, dialog: QDialog) -> tuple[QPoint, QSize]:
    """Where from the window's corner, and how large."""
    QApplication.processEvents()
    return dialog.pos() - window.pos(), dialog.size()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dialog_comes_back_where_it_was_beside_the_window_of_the_next_run(run, command):
    window = run()
    dialog = opened(window, command)
    dialog.move(61, 47)
    dialog.resize(min(dialog.width() + 37, 790), min(dialog.height() + 23, 740))
    before = stands(window, dialog)
    dialog.close()
    again = run()
    again.move(50, 60)
    assert stands(again, opened(again, command)) == before
    again.findChild(QDialog, COMMANDS[command]).close()


def test_a_place_on_a_screen_that_is_gone_is_not_taken_but_the_size_is(run):
    Settings.of_user().set_dialog_place(names.SHORTCUTS_DIALOG, (90_000, 40, 431, 333))
    window = run()
    dialog = opened(window, "shortcuts")
    assert dialog.size() == QSize(431, 333)
    assert can_be_reached(dialog.geometry())


@pytest.mark.parametrize(
    ("place", "reached"),
    [
        (QRect(10, 10, 300, 200), True),
        (QRect(-260, 10, 300, 200), False),
        (QRect(-200, 10, 300, 200), True),
        (QRect(10, -60, 300, 200), False),
        (QRect(10, 90_000, 300, 200), False),
    ],
)
def test_a_hand_must_reach_the_top_of_a_dialog(qapp, place, reached):
    assert can_be_reached(place) is reached


def test_questions_of_the_system_are_left_alone(run):
    window = run()
    box = QMessageBox(window)
    box.setObjectName("box")
    box.show()
    box.close()
    assert Settings.of_user().dialog_place("box") is None


SCREEN, WANTED, LEAST = QRect(0, 0, 1440, 900), QSize(720, 600), QSize(500, 400)
BESIDE = {
    "below a curve at the top": (QRect(0, 0, 1440, 250), QRect(360, 250, 720, 600)),
    "above a curve at the bottom, as high as there is room": (
        QRect(100, 450, 900, 300),
        QRect(190, 0, 720, 450),
    ),
    "to the right of a high one": (QRect(0, 100, 500, 780), QRect(500, 190, 720, 600)),
    "to the left of a high one": (QRect(800, 0, 640, 900), QRect(80, 150, 720, 600)),
    "in the farther corner where no side has room": (QRect(300, 250, 1100, 500), QRect(0, 300, 720, 600)),
}


@pytest.mark.parametrize("case", BESIDE)
def test_a_dialog_stands_where_what_it_is_about_stays_in_sight(case):
    shown, expected = BESIDE[case]
    place = place_beside(shown, WANTED, LEAST, SCREEN)
    assert SCREEN.contains(place)
    if "no side" in case:
        assert place.size() == WANTED
        assert place.left() == 0  # the curve's middle is to the right of the screen's
    else:
        assert place == expected
        assert not place.intersects(shown)
