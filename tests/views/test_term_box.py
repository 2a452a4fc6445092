"""Choosing a term of the position in its panel, and the remark beside it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from relpos_viewer.app.inspections import TOEPLITZ_SHARE
from relpos_viewer.document.document import Document, EncodingSpec, TextSource, replace
from relpos_viewer.views import names
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.matrix_view import MatrixView
from relpos_viewer.views.term_box import TermBox

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("absolute"), mask="causal")
TERMS = ("content-position", "position-content", "position-position")


@pytest.fixture
def card(qtbot: QtBot) -> MatrixView:
    made = MatrixView("positional", MatrixRange())
    qtbot.addWidget(made)
    made.resize(330, 400)
    made.show()
    return made


def test_a_box_offers_all_terms_and_each(qtbot: QtBot) -> None:
    box = TermBox()
    qtbot.addWidget(box)
    box.set_terms(TERMS, "position-content", None)
    assert [box.itemText(place) for place in range(box.count())] == ["all terms", *TERMS]
    assert box.currentText() == "position-content"
    chosen: list[str] = []
    box.chosen.connect(chosen.append)
    box.set_terms(TERMS, "", None)
    assert chosen == []  # only hands choose
    box.activated.emit(3)
    box.activated.emit(0)
    assert chosen == ["position-position", ""]


def test_a_sequence_that_is_too_long_is_told_why(qtbot: QtBot) -> None:
    box = TermBox()
    qtbot.addWidget(box)
    box.set_terms(TERMS, "", 2048)
    assert not box.isEnabled() and "up to 2,048 keys" in box.toolTip()
    box.set_terms(TERMS, "", None)
    assert box.isEnabled() and "score" in box.toolTip()


def test_a_remark_gives_way_to_the_formula_and_says_what_it_means(card: MatrixView) -> None:
    card.set_remark(("Toeplitz share 0.87", "Toeplitz 0.87"), TOEPLITZ_SHARE)
    remark = card._remark
    assert remark.isVisible() and remark.toolTip() == TOEPLITZ_SHARE
    assert remark.text() == "Toeplitz share 0.87"
    assert not remark.geometry().intersects(card._formula.geometry())
    card.set_formula("absolute, from q and k")
    assert remark.text() == "Toeplitz 0.87"
    card.resize(200, 300)
    assert not remark.isVisible() and card._formula.isVisible()
    card.resize(420, 400)
    assert remark.text() == "Toeplitz share 0.87"
    card.set_remark((), "")
    assert not remark.isVisible()


def test_the_parts_of_the_title_do_not_overlap(card: MatrixView) -> None:
    card.set_remark(("Toeplitz share 0.87", "Toeplitz 0.87"), TOEPLITZ_SHARE)
    card.set_terms(TERMS, "", None)
    for width in (180, 260, 330, 420, 700):
        card.resize(width, 400)
        line = (card._title, card.terms, card._formula, card._remark)
        parts = [each.geometry() for each in line if each.isVisible()]
        assert all(a.right() < b.left() for a, b in pairwise(parts)), width
        assert parts[-1].right() <= width
        assert card.terms.geometry().bottom() < card.canvas.y()


@pytest.fixture
def window(new_window: Callable[..., MainWindow], qtbot: QtBot) -> MainWindow:
    made = new_window(START)
    settle(made, qtbot)
    return made


def settle(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(
        lambda: (
            window.frame is not None
            and window.frame.document == window.session.document
            and not window.runner.is_busy
        )
    )


def test_a_hand_chooses_a_term_and_only_its_panel_changes(window: MainWindow, qtbot: QtBot) -> None:
    box = window.findChild(TermBox, names.TERM_BOX)
    boxes = window.findChildren(TermBox)
    assert [each.isVisible() for each in boxes].count(True) == 1
    box = next(each for each in boxes if each.isVisible())
    before = window.frame
    box.setCurrentIndex(3)
    box.activated.emit(3)
    settle(window, qtbot)
    assert window.frame.term == "position-position"
    assert not window.history.can_undo and window.history.clean
    changed = [
        stage
        for stage, tile in window.frame.tiles.items()
        if not np.array_equal(tile.codes, before.tiles[stage].codes)
    ]
    assert "positional" in changed and "weights" not in changed
    window.edits.set_encoding(EncodingSpec("alibi"))
    settle(window, qtbot)
    assert not box.isVisible() and window.frame.term == ""
    window.history.undo()
    settle(window, qtbot)
    assert box.isVisible() and box.currentText() == "position-position"


def test_the_toeplitz_share_stands_beside_the_formula(window: MainWindow, qtbot: QtBot) -> None:
    card = window.equation.views["positional"]
    qtbot.waitUntil(lambda: card._remark.text().startswith("Toeplitz 0."))  # beside a box
    window.edits.set_encoding(replace(START, encoding=EncodingSpec("alibi")).encoding)
    qtbot.waitUntil(lambda: card._remark.text() == "Toeplitz share 1")
    window.edits.set_encoding(EncodingSpec("none"))
    qtbot.waitUntil(lambda: card._remark.text() == "")
