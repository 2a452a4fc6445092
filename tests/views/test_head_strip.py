"""The strip of heads: cards that show and choose heads, and when a window fills it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from relpos_viewer.app.head_thumbnails import SIDE, Thumbnail
from relpos_viewer.app.settings import Settings
from relpos_viewer.document.document import Document, EncodingSpec, TextSource, replace
from relpos_viewer.views.head_strip import MARGIN, NUMBER, PAD, HeadStrip
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.theme import DARK, LIGHT

from .matrix_tools import LEFT, mouse, picture, rgb

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal")
LUT = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
LUT[:, 3] = 255


def thumbnail(head: int, code: int = 10, curve=(0.0, 1.0, 4.0)) -> Thumbnail:
    return Thumbnail(head, np.full((8, 8), code, np.uint8), np.asarray(curve, np.float32), ())


@pytest.fixture
def strip(qtbot: QtBot) -> HeadStrip:
    strip = HeadStrip()
    qtbot.addWidget(strip)
    strip.set_palette(LUT)
    strip.set_heads(4, 1)
    strip.resize(strip.width(), 500)
    strip.show()
    qtbot.waitExposed(strip)
    return strip


@pytest.fixture
def window(new_window: Callable[..., MainWindow], qtbot: QtBot) -> MainWindow:
    window = new_window(START)
    qtbot.waitUntil(lambda: window.frame is not None and not window.runner.is_busy, timeout=10_000)
    return window


def test_every_head_has_a_card_and_the_selected_one_a_frame(strip: HeadStrip) -> None:
    seen = picture(strip.viewport()).astype(int)
    tops = {head: strip.card_rect(head).topLeft() for head in range(4)}
    edges = {head: seen[at.y() : at.y() + 3, at.x() + 10 : at.x() + 60] for head, at in tops.items()}
    far = {head: abs(edge - rgb(LIGHT.accent)).sum(axis=2).min() for head, edge in edges.items()}
    framed = [head for head in range(4) if far[head] < 30]
    assert framed == [1]


@pytest.mark.parametrize("theme", (LIGHT, DARK), ids=lambda theme: theme.name)
def test_a_thumbnail_is_painted_in_its_own_card_with_the_colours_of_the_weights(
    strip: HeadStrip, theme
) -> None:
    strip.set_theme(theme)
    for head, code in ((0, 40), (2, 90)):
        strip.set_thumbnail(thumbnail(head, code))
    seen = picture(strip.viewport())
    for head, code in ((0, 40), (2, 90)):
        middle = strip.card_rect(head).topLeft()
        assert tuple(seen[middle.y() + PAD + SIDE // 2, middle.x() + PAD + SIDE // 2]) == (code,) * 3
    other = 255 - LUT
    other[:, 3] = 255
    strip.set_palette(other)
    at = strip.card_rect(2).topLeft()
    assert tuple(picture(strip.viewport())[at.y() + PAD + 9, at.x() + PAD + 9]) == (165,) * 3


def test_its_curve_rises_where_the_head_s_does_and_breaks_where_it_has_no_value(strip: HeadStrip) -> None:
    strip.set_thumbnail(thumbnail(0, curve=(0, 0, 0, np.nan, np.nan, 5, 5, 5)))
    rect = strip.card_rect(0)
    below = picture(strip.viewport())[
        rect.top() + PAD + SIDE + PAD : rect.bottom(), rect.left() : rect.right()
    ]
    inked = abs(below.astype(int) - 255).sum(axis=2) > 90  # [row, column]
    inked[:, : PAD + NUMBER] = False  # the head's number
    columns = np.flatnonzero(inked.any(axis=0))
    first, last = columns[columns < 38], columns[columns > 53]
    assert inked[:, first].argmax(axis=0).min() > inked[:, last].argmax(axis=0).max() + 8
    assert not inked[:, 38:53].any()


def test_a_click_and_the_arrow_keys_choose_a_head(strip: HeadStrip, qtbot: QtBot) -> None:
    chosen: list[int] = []
    strip.head_chosen.connect(chosen.append)
    mouse(strip, QEvent.Type.MouseButtonPress, QPointF(strip.card_rect(2).center()).toTuple(), LEFT, LEFT)
    mouse(strip, QEvent.Type.MouseButtonPress, (MARGIN // 2, MARGIN // 2), LEFT, LEFT)  # beside the cards
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_End, Qt.Key.Key_Home):
        qtbot.keyClick(strip, key)
    assert chosen == [2, 2, 0, 3, 0]


def test_at_the_ends_the_arrow_keys_choose_nothing(strip: HeadStrip, qtbot: QtBot) -> None:
    chosen: list[int] = []
    strip.head_chosen.connect(chosen.append)
    for head, key in ((0, Qt.Key.Key_Up), (3, Qt.Key.Key_Down)):
        strip.set_heads(4, head)
        qtbot.keyClick(strip, key)
    assert chosen == []


def test_the_tooltip_and_the_screen_reader_name_the_head(strip: HeadStrip, qtbot: QtBot) -> None:
    strip.set_thumbnail(thumbnail(2))
    at = strip.card_rect(2).center()
    help_event = QHelpEvent(QEvent.Type.ToolTip, at, strip.viewport().mapToGlobal(at))
    QApplication.sendEvent(strip.viewport(), help_event)
    assert QToolTip.text().startswith("Head 2")
    QToolTip.hideText()
    assert strip.accessibleDescription() == "head 1 of 4"


def test_many_heads_scroll_to_the_selected_one(strip: HeadStrip) -> None:
    strip.set_heads(32, 30)
    assert strip.viewport().rect().contains(strip.card_rect(30))
    assert not strip.viewport().rect().intersects(strip.card_rect(0))
    assert strip.head_at(strip.card_rect(30).center()) == 30


def test_a_resting_window_shows_all_heads_and_a_click_on_one_selects_it(
    window: MainWindow, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: set(window.strip.thumbnails) == {0, 1, 2}, timeout=10_000)
    window.strip.head_chosen.emit(2)
    assert window.session.document.head == 2
    qtbot.waitUntil(lambda: window.strip.accessibleDescription() == "head 2 of 3", timeout=10_000)


def test_only_the_edited_head_is_made_anew(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: set(window.strip.thumbnails) == {0, 1, 2}, timeout=10_000)
    before = window.strip.thumbnails
    n = window.frame.n_key
    values = np.zeros((3, 2 * n - 1), np.float32)
    values[1, 3] = 2.0
    window.history.push(
        replace(window.session.document, edit=window.session.document.edit.updated(values)), "Edit"
    )
    qtbot.waitUntil(lambda: window.strip.thumbnails[1] is not before[1], timeout=10_000)
    assert [window.strip.thumbnails[head] is before[head] for head in (0, 2)] == [True, True]


def test_one_head_alone_needs_no_strip(window: MainWindow, qtbot: QtBot) -> None:
    assert window.strip.isVisible()
    window.history.push(replace(window.session.document, source=replace(TEXT, heads=1)), "One head")
    qtbot.waitUntil(lambda: not window.strip.isVisible(), timeout=10_000)


def test_hiding_the_strip_is_remembered(window: MainWindow) -> None:
    action = window.actions_by_id["head_strip"]
    assert action.isChecked()
    action.trigger()
    assert not window.strip.isVisible()
    assert not action.isChecked()
    assert not Settings.of_user().head_strip
    action.trigger()
    assert window.strip.isVisible()
    assert Settings.of_user().head_strip
