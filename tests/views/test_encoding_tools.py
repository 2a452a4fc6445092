"""The tool windows that explain an encoding: conventions, other readings, and the shift test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QSpinBox
from pytestqt.qtbot import QtBot

from relpos_viewer.app.frames import Frame, FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel
from relpos_viewer.app.settings import Settings
from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.core.quantise import MASKED, ZERO_CODE
from relpos_viewer.core.readings import Comparison
from relpos_viewer.document.document import Document, EncodingSpec, TextSource, replace
from relpos_viewer.views import names
from relpos_viewer.views.conventions_panel import ConventionsPanel
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.reading_card import words
from relpos_viewer.views.shift_dialog import ShiftDialog
from relpos_viewer.views.theme import DARK, LIGHT

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("t5", {"num_buckets": 8}), mask="none")


@pytest.fixture
def frame_of() -> Iterator[Callable[..., Frame]]:
    maker = FrameMaker()

    def make(name: str = "t5", document: Document = START, **parameters) -> Frame:
        if name != "t5" or parameters:
            document = replace(document, encoding=EncodingSpec(name, parameters))
        return maker(FrameRequest(document, Viewport((0, 11), (0, 11), (22, 22))), Cancel())

    yield make
    maker.close()


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[ConventionsPanel]:
    made = ConventionsPanel(LIGHT)
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close_runner()


@pytest.fixture
def shift(qtbot: QtBot) -> Iterator[ShiftDialog]:
    made = ShiftDialog(LIGHT)
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close_runner()


def child(widget, kind, name: str):
    found = widget.findChild(kind, name)
    assert found is not None, name
    return found


def explained(panel: ConventionsPanel, frame: Frame, qtbot: QtBot) -> None:
    panel.set_frame(frame)
    qtbot.waitUntil(lambda: panel._found is not None and panel._found.request.document is frame.document)


def compared(panel: ConventionsPanel, name: str, qtbot: QtBot):
    card = next(each for each in panel.readings if each.reading.variant.name == name)
    card.box.click()
    qtbot.waitUntil(lambda: card.reading.comparison is not None or bool(card.reading.problem))
    return card


def test_conventions_are_listed_with_their_tables(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of(), qtbot)
    assert [card.convention.title for card in panel.cards] == ["Offset sign", "Scales", "Buckets"]
    table = panel.cards[2].table
    assert [table.horizontalHeaderItem(each).text() for each in range(2)] == ["δ", "bucket"]
    written = [(table.item(row, 0).text(), table.item(row, 1).text()) for row in range(table.rowCount())]
    assert ("0", "0") in written and ("−1", "1") in written


def test_the_row_of_the_cursor_is_lit_and_stays_lit(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of("deberta", span=32, num_buckets=0), qtbot)
    card = panel.cards[-1]
    panel.set_offset(-9)
    row = card.lit_row
    assert card.table.item(row, 0).text() == "−9"
    assert card.table.item(row, 1).background().color().name() == LIGHT.accent_soft
    top, bottom = card.table.rowAt(0), card.table.rowAt(card.table.viewport().height() - 1)
    assert top <= row <= bottom
    panel.set_offset(None)
    assert card.lit_row == row
    panel.set_offset(8)
    assert card.table.item(card.lit_row, 0).text() == "8"
    assert card.table.item(row, 1).background().style().name == "NoBrush"
    panel.set_theme(DARK)
    assert card.table.item(card.lit_row, 0).background().color().name() == DARK.accent_soft


def test_the_panel_follows_the_document_and_keeps_its_lit_row(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of(), qtbot)
    panel.set_offset(-3)
    explained(panel, frame_of("t5", num_buckets=16), qtbot)
    card = panel.cards[-1]
    assert card.table.item(card.lit_row, 0).text() == "−3"
    explained(panel, frame_of("alibi"), qtbot)
    assert panel.cards[-1].convention.title == "Slopes"


def test_a_reading_is_compared_once_it_is_ticked(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of(), qtbot)
    assert all(card.reading.comparison is None for card in panel.readings)
    card = compared(panel, "query − key", qtbot)
    found = card.reading.comparison
    assert found.weight > 0.01
    assert f"Query {found.query} “" in card.numbers.text()
    assert card.picture.isVisible() and card.picture.codes.shape == (11, 11)
    largest = np.unravel_index(np.nanargmax(np.abs(found.picture)), (11, 11))
    assert card.picture.codes[largest] in (0, 246)
    others = [each for each in panel.readings if each is not card]
    assert all(each.reading.comparison is None for each in others)


def test_a_ticked_reading_follows_mask_and_head(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of("alibi"), qtbot)
    card = compared(panel, "symmetric", qtbot)
    assert "differs most" in card.numbers.text()
    document = replace(START, mask="causal")
    panel.set_frame(frame_of("alibi", document))
    qtbot.waitUntil(lambda: "both readings are the same" in card.numbers.text())
    assert not card.picture.isVisible()


def test_a_reading_is_taken_only_where_a_document_can_hold_it(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of("xpos"), qtbot)
    assert not compared(panel, "powers swapped", qtbot).take.isVisible()
    card = compared(panel, "without decay", qtbot)
    assert card.take.isVisible()
    with qtbot.waitSignal(panel.reading_taken) as taken:
        card.take.click()
    assert taken.args[0].name == "rope"
    assert not any(each.is_on for each in panel.readings)


def test_all_of_it_is_copied(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of(), qtbot)
    panel.set_share(0.5)
    child(panel, QPushButton, names.CONVENTIONS_COPY).click()
    text = QGuiApplication.clipboard().text()
    assert "## Buckets" in text and "## Read by another convention" in text and "0.5 of head 0" in text


@pytest.mark.parametrize(("share", "text"), [(0.871, "Toeplitz share 0.871"), (float("nan"), ""), (None, "")])
def test_the_share_of_offsets_stands_in_the_panel(panel, share, text: str) -> None:
    panel.set_share(share)
    assert child(panel, QLabel, names.CONVENTIONS_SHARE).text() == text


def test_a_closed_panel_computes_nothing(panel, frame_of, qtbot) -> None:
    explained(panel, frame_of(), qtbot)
    panel.close()
    panel.set_frame(frame_of("alibi"))
    assert not panel._runner.is_busy
    panel.show()
    qtbot.waitUntil(lambda: panel._found.request.encoding.name == "alibi")


def comparison(**changes) -> Comparison:
    values = {
        "bias": 2.0,
        "weight": 0.25,
        "query": 3,
        "moved": 0.5,
        "picture": np.zeros((2, 2)),
        "compared": 9,
        "queries": 9,
    }
    return Comparison(**{**values, **changes})


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (comparison(), "Query 5 “five” differs most: 50 % of its weight goes to other keys."),
        (comparison(weight=1e-8), "The weights stay: softmax ignores what is added to a whole row."),
        (
            comparison(bias=1e-6, weight=0.0, query=None),
            "Among the visible cells both readings are the same.",
        ),
        (comparison(queries=70_000), "9 of 70,000 queries, evenly spread."),
    ],
)
def test_a_comparison_is_put_in_words(found: Comparison, wanted: str) -> None:
    labels = ("zero", "one", "two", "three", "four", "five")
    assert wanted in words(found, labels, 2)


# The shift test


def shown_for(shift: ShiftDialog, frame: Frame, qtbot: QtBot) -> str:
    sentence = child(shift, QLabel, names.SHIFT_SENTENCE)
    sentence.setText("")
    shift.set_frame(frame)
    qtbot.waitUntil(lambda: sentence.text() != "")
    return sentence.text()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_shifted(shift, frame_of, qtbot, name: str) -> None:
    sentence = shown_for(shift, frame_of(name, replace(START, mask="causal")), qtbot)
    assert sentence.startswith(("Every score stays as it was: ", "Scores move by up to "))
    assert shift.picture.codes.shape == (11, 11)
    assert shift.picture.codes[0, 1] == MASKED
    if sentence.startswith("Every"):
        assert set(np.unique(shift.picture.codes)) == {ZERO_CODE, MASKED}
        assert child(shift, QLabel, names.SHIFT_LARGEST).text() == "max |Δ| ≈ 0"
    else:
        assert {0, 246} & set(np.unique(shift.picture.codes))


def test_another_number_of_places_is_another_test(shift, frame_of, qtbot) -> None:
    places = child(shift, QSpinBox, names.SHIFT_PLACES)
    assert (places.value(), places.minimum(), places.maximum()) == (5, 1, 64)
    shown_for(shift, frame_of("absolute"), qtbot)
    before = child(shift, QLabel, names.SHIFT_LARGEST).text()
    places.setValue(1)
    qtbot.waitUntil(lambda: child(shift, QLabel, names.SHIFT_LARGEST).text() != before)


def test_a_family_that_refuses_says_why(shift, frame_of, qtbot) -> None:
    frame = frame_of("absolute", table=np.ones((12, 128)))
    sentence = shown_for(shift, frame, qtbot)
    assert sentence.startswith("The learned table ends at 12 positions")
    assert shift.picture.codes is None


# In the window


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[MainWindow]:
    made = MainWindow(replace(START, mask="causal"), Settings.of_user())
    made.resize(1440, 900)
    made.show()
    qtbot.waitUntil(lambda: made.frame is not None and not made.runner.is_busy)
    yield made
    made.history.set_clean()
    made.close()
    made.deleteLater()


def test_the_window_takes_a_reading_as_one_step(window, qtbot) -> None:
    window.actions_by_id["conventions"].trigger()
    panel = window.tools.conventions
    qtbot.waitUntil(lambda: bool(panel.readings))
    before = window.session.document
    compared(panel, "causal", qtbot).take.click()
    taken = window.session.document.encoding
    assert taken.name == "t5" and taken.parameters["bidirectional"] is False
    qtbot.waitUntil(lambda: panel.readings[0].reading.variant.name == "bidirectional")
    window.history.undo()
    assert window.session.document == before
    assert not window.history.can_undo


def test_hands_on_matrix_and_curve_light_a_row(window, qtbot) -> None:
    window.actions_by_id["conventions"].trigger()
    panel = window.tools.conventions
    qtbot.waitUntil(lambda: bool(panel.cards))
    window.equation.cell_hovered.emit(7, 3)
    lit = [card.convention.rows[card.lit_row][0] for card in panel.cards if card.lit_row is not None]
    assert [int(each.split("…")[0]) <= -4 <= int(each.split("…")[-1]) for each in lit] == [True]
    window.curve.offset_hovered.emit(0)
    lit = [card.convention.rows[card.lit_row][0] for card in panel.cards if card.lit_row is not None]
    assert lit == ["0"]


def test_the_share_follows_the_figures_of_the_head(window, qtbot) -> None:
    window.actions_by_id["conventions"].trigger()
    label = child(window.tools.conventions, QLabel, names.CONVENTIONS_SHARE)
    qtbot.waitUntil(lambda: label.text() == "Toeplitz share 1")


def test_the_shift_test_follows_the_window(window, qtbot) -> None:
    window.actions_by_id["shift_test"].trigger()
    sentence = child(window.tools.shift, QLabel, names.SHIFT_SENTENCE)
    qtbot.waitUntil(lambda: "T5 log buckets depends on key − query alone" in sentence.text())
    window.edits.set_encoding(EncodingSpec("absolute"))
    qtbot.waitUntil(lambda: sentence.text().startswith("Scores move by up to"))
