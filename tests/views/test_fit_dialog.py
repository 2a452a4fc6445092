"""Fitting in the window: open, wait, choose, keep, undo; expected figures come from numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QFileDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTreeWidget,
)
from pytestqt.qtbot import QtBot

from relpos_viewer.core.encodings import encoding
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, replace
from relpos_viewer.views import names
from relpos_viewer.views.fit_dialog import FitDialog
from relpos_viewer.views.main_window import MainWindow

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
N = 11
DELTA = np.arange(1 - N, N)
PAST = DELTA <= 0
RNG = np.random.default_rng(5)
EDIT = RNG.normal(size=(3, 2 * N - 1)).astype(np.float32)
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal", edit=EditCurve(EDIT))


@pytest.fixture
def open_window(new_window: Callable[..., MainWindow], qtbot: QtBot) -> Callable[..., MainWindow]:
    def make(document: Document = START) -> MainWindow:
        window = new_window(document, (1200, 800))
        settle(window, qtbot)
        return window

    return make


def settle(window: MainWindow, qtbot: QtBot) -> None:
    """Wait until the newest document is on show and its fit, where one is wanted, is in the table."""

    def rests() -> bool:
        frame = window.frame
        newest = frame is not None and frame.document == window.session.document
        return newest and not window.runner.is_busy and not window.fits.busy

    for _ in range(3):  # a fit begins with the event that a frame brings
        qtbot.waitUntil(rests, timeout=60_000)
        QApplication.processEvents()


def fit(window: MainWindow, qtbot: QtBot) -> FitDialog:
    """Open the dialog by its action and wait for the table."""
    window.actions_by_id["fit"].trigger()
    settle(window, qtbot)
    return window.fits.dialog


def child(dialog: FitDialog, kind: type, name: str):
    return dialog.findChild(kind, name)


def press(dialog: FitDialog, name: str) -> None:
    child(dialog, QPushButton, name).click()


def totals(window: MainWindow) -> np.ndarray:
    """The whole curves on show, float32 [head, 2n−1]."""
    return window.frame.curves.family + window.curve.edit


def alibi_rest(y: np.ndarray) -> tuple[float, float, float, int]:
    """Slope, constant, rms and worst offset of the best line through [δ ≤ 0]."""
    x = DELTA[PAST].astype(float)
    slope, constant = np.polyfit(x, y[PAST], 1)
    rest = y[PAST] - slope * x - constant
    return slope, constant, float(np.sqrt((rest**2).mean())), int(x[np.argmax(np.abs(rest))])


def steep() -> Document:
    """A curve that falls to the past, so that a slope explains some of it, with noise; a wall in the future."""
    edit = EDIT.copy() * 0.3
    edit[1] += np.where(PAST, 0.4 * DELTA + 2.5, 50.0)
    return replace(START, edit=EditCurve(edit), view=replace(START.view, head=1))


def test_the_table_ranks_every_family_by_what_it_leaves_of_the_visible_curve(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    slope, constant, rms, worst = alibi_rest(totals(window)[1].astype(float))
    explanations = dialog.answer.explanations
    alibi = next(each for each in explanations if each.encoding.name == "alibi").fits[1]
    assert alibi.rms == pytest.approx(rms)
    assert alibi.worst_offset == worst
    assert dict(alibi.numbers)["slope"] == pytest.approx(slope)
    assert alibi.constant == pytest.approx(constant)

    table = child(dialog, QTreeWidget, names.FIT_TABLE)
    fitted = [row for row in range(table.topLevelItemCount()) if not table.topLevelItem(row).isDisabled()]
    assert fitted == list(range(len(fitted)))  # first
    assert [each.rms for each in explanations][: len(fitted)] == sorted(
        each.rms for each in explanations if each.fits
    )
    refused = {line[0]: line[3] for line in dialog.lines()[len(fitted) :]}
    assert "depends on queries and keys" in refused[encoding("rope").title]
    assert "head 1" in child(dialog, QLabel, names.FIT_TARGET).text()


def test_the_chosen_family_lies_over_the_curve_and_its_numbers_are_written_out(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    item = window.curve.plot.item
    assert dialog.selected is dialog.answer.explanations[0]
    dialog.select("alibi")
    slope, constant, _, worst = alibi_rest(totals(window)[1].astype(float))
    values, name = item._overlay
    np.testing.assert_allclose(values, slope * DELTA + constant)
    assert name == f"{encoding('alibi').title}, fitted"
    text = child(dialog, QPlainTextEdit, names.FIT_DETAILS).toPlainText()
    assert f"slope = {slope:.3g}" in text
    assert f"+{constant:.3g} on every offset, which softmax does not see." in text
    assert f"at δ = −{-worst}." in text
    dialog.close()
    assert item._overlay is None
    window.actions_by_id["fit"].trigger()
    assert item._overlay is not None


@pytest.mark.parametrize("rest", [False, True])
def test_keep_makes_the_fit_the_family_of_the_document_in_one_step(open_window, qtbot, rest):
    window = open_window(steep())
    before, shown = window.session.document, totals(window)
    dialog = fit(window, qtbot)
    dialog.select("kerple-log")
    chosen = dialog.selected
    child(dialog, QCheckBox, names.FIT_REST).setChecked(rest)
    press(dialog, names.FIT_KEEP)
    settle(window, qtbot)
    assert window.session.document.encoding.name == "kerple-log"
    numbers = dict(chosen.fits[1].numbers)
    p, a = numbers["p"], numbers["a"]
    family = -p * np.log1p(a * np.abs(DELTA))
    np.testing.assert_allclose(window.frame.curves.family[1], family, rtol=1e-5)
    after = totals(window)
    np.testing.assert_allclose(after[1], shown[1] if rest else family, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(after[[0, 2]], shown[[0, 2]], rtol=1e-5, atol=1e-5)  # other heads stay
    assert window.history.undo_name == "Fit KERPLE logarithmic to head 1"
    window.history.undo()
    assert window.session.document == before
    settle(window, qtbot)
    np.testing.assert_array_equal(totals(window), shown)


def test_keeping_numbers_of_the_same_family_leaves_the_edit_of_other_heads_untouched(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    dialog.select("alibi")
    press(dialog, names.FIT_KEEP)
    edit = window.session.document.edit.at(3, N)
    start = steep().edit.at(3, N)
    assert np.array_equal(edit[[0, 2]], start[[0, 2]])
    assert not edit[1].any()


def test_every_head_is_fitted_and_kept_at_once(open_window, qtbot):
    window = open_window(steep())
    shown = totals(window).astype(float)
    dialog = fit(window, qtbot)
    child(dialog, QCheckBox, names.FIT_EVERY).click()
    settle(window, qtbot)
    dialog.select("none")
    chosen = dialog.selected
    rms = [float(shown[head, PAST].std()) for head in range(3)]
    assert chosen.rms == pytest.approx(np.sqrt(np.mean(np.square(rms))))
    press(dialog, names.FIT_KEEP)
    settle(window, qtbot)
    assert window.session.document.encoding.name == "none"
    assert window.session.document.edit.is_zero
    assert window.history.undo_name == "Fit None (NoPE) to every head"


def test_a_new_edit_is_fitted_anew_and_the_chosen_family_stays_chosen(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    dialog.select("alibi")
    line = np.zeros((3, 2 * N - 1), np.float32)
    line[1] = 0.8 * DELTA
    window.edits.commit_curve(line, "Draw a line", None)
    assert not child(dialog, QPushButton, names.FIT_KEEP).isEnabled()  # a fit of the curve before
    settle(window, qtbot)
    assert child(dialog, QPushButton, names.FIT_KEEP).isEnabled()
    assert dialog.selected.encoding.name == "alibi"
    slope = dict(dialog.selected.fits[1].numbers)["slope"]
    assert slope == pytest.approx(alibi_rest(totals(window)[1].astype(float))[0], rel=1e-5)
    asked = dialog.answer
    window.history.undo()
    QApplication.processEvents()
    window.history.redo()  # before the hand rested
    settle(window, qtbot)
    assert dialog.answer is asked
    assert child(dialog, QPushButton, names.FIT_KEEP).isEnabled()
    window.actions_by_id["labels"].trigger()  # the same curve, shown in another way
    settle(window, qtbot)
    assert dialog.answer is asked


def test_another_head_is_another_curve(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    window.commands.show_head(2)
    settle(window, qtbot)
    assert "head 2" in child(dialog, QLabel, names.FIT_TARGET).text()
    assert list(dialog.answer.request.targets) == [2]


def test_a_copied_table_is_fitted_in_place_of_the_curve(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    QGuiApplication.clipboard().setText("\n".join(f"−{d}\t{-0.25 * d + 3:.6f}" for d in range(9)))
    press(dialog, names.FIT_CLIPBOARD)
    settle(window, qtbot)
    dialog.select("alibi")
    fitted = dialog.selected.fits[1]
    assert fitted.rms < 1e-6
    assert dict(fitted.numbers)["slope"] == pytest.approx(0.25, abs=1e-6)
    assert fitted.constant == pytest.approx(3, abs=1e-6)
    press(dialog, names.FIT_CURVE)
    settle(window, qtbot)
    assert dialog.selected.fits[1].rms > 0.01
    QGuiApplication.clipboard().setText("no table")
    asked = dialog.answer
    press(dialog, names.FIT_CLIPBOARD)
    settle(window, qtbot)
    assert "offset" in child(dialog, QLabel, names.FIT_STATE).text()
    assert dialog.answer is asked


def test_a_file_is_fitted_in_place_of_the_curve(open_window, qtbot, tmp_path: Path, monkeypatch):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    path = tmp_path / "learned.npy"
    np.save(path, np.stack([0.1 * DELTA, 0.6 * DELTA, 0.2 * DELTA]))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(dialog, names.FIT_FILE)
    settle(window, qtbot)
    dialog.select("alibi")
    assert dict(dialog.selected.fits[1].numbers)["slope"] == pytest.approx(0.6)
    assert "learned.npy" in child(dialog, QLabel, names.FIT_TARGET).text()


def test_the_mean_of_a_family_that_looks_at_queries_is_fitted(open_window, qtbot):
    window = open_window(replace(START, encoding=EncodingSpec("rope"), edit=EditCurve.none()))
    dialog = fit(window, qtbot)
    assert "mean curve" in child(dialog, QLabel, names.FIT_TARGET).text()
    y = window.frame.curves.family[0].astype(float)
    none = next(each for each in dialog.answer.explanations if each.encoding.name == "none")
    assert none.rms == pytest.approx(np.nanstd(y[PAST]), rel=1e-5)
    press(dialog, names.FIT_KEEP)
    settle(window, qtbot)
    assert window.session.document.encoding.name == dialog.answer.explanations[0].encoding.name


def test_the_table_is_copied_with_all_digits_and_reasons(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    press(dialog, names.FIT_COPY)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert {len(line) for line in lines} == {7}
    assert len(lines) == 1 + len(dialog.answer.explanations)
    row = next(line for line in lines if line[0] == encoding("alibi").title)
    _, constant, rms, worst = alibi_rest(totals(window)[1].astype(float))
    assert [int(row[1]), int(row[4])] == [1, worst]
    assert float(row[2]) == pytest.approx(rms, rel=1e-9)
    assert float(row[5]) == pytest.approx(constant, rel=1e-9)
    assert any("depends on queries and keys" in line[6] for line in lines)


def test_a_fit_can_be_stopped_and_begun_again_and_escape_closes(open_window, qtbot):
    window = open_window(steep())
    window.actions_by_id["fit"].trigger()
    dialog = window.fits.dialog
    press(dialog, names.FIT_STOP)
    settle(window, qtbot)
    assert dialog.answer is None
    assert child(dialog, QLabel, names.FIT_STATE).text() == "Stopped."
    assert not child(dialog, QPushButton, names.FIT_KEEP).isEnabled()
    press(dialog, names.FIT_STOP)
    settle(window, qtbot)
    assert dialog.answer is not None
    assert child(dialog, QPushButton, names.FIT_KEEP).isEnabled()
    known = dialog.answer
    press(dialog, names.FIT_STOP)  # again, and closed before it is done
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    window.edits.commit_curve(np.zeros((3, 2 * N - 1), np.float32), "Flat", None)
    settle(window, qtbot)
    assert dialog.answer is known  # nobody looks, so nothing is fitted
    window.actions_by_id["fit"].trigger()
    settle(window, qtbot)
    assert dialog.answer is not known


def test_keep_says_what_was_kept_marks_its_row_and_gives_the_focus_back(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    dialog.activateWindow()
    dialog.select("alibi")
    keep = child(dialog, QPushButton, names.FIT_KEEP)
    keep.setFocus()
    keep.click()
    title = encoding("alibi").title
    sentence = f"Kept {title} for head 1. Undo takes it back."
    assert window.message.text() == sentence
    assert not keep.isEnabled()  # the kept curve is fitted anew
    assert dialog.focusWidget() is child(dialog, QTreeWidget, names.FIT_TABLE)
    settle(window, qtbot)
    assert dialog.focusWidget() is keep
    assert child(dialog, QLabel, names.FIT_STATE).text() == sentence

    def marked() -> list[str]:
        return [line[0] for line in dialog.lines() if "kept" in line[0]]

    assert marked() == [f"{title} — kept"]
    window.history.undo()
    settle(window, qtbot)
    assert marked() == []
    assert child(dialog, QLabel, names.FIT_STATE).text() == ""
    window.history.redo()
    settle(window, qtbot)
    assert marked() == [f"{title} — kept"]
    child(dialog, QCheckBox, names.FIT_REST).setChecked(True)
    dialog.select("t5")
    keep.click()
    settle(window, qtbot)
    assert marked() == [f"{encoding('t5').title} — kept"]
    assert "with the rest as your edit" in child(dialog, QLabel, names.FIT_STATE).text()


def test_a_focus_that_moved_on_meanwhile_stays_where_it_is(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    dialog.activateWindow()
    keep = child(dialog, QPushButton, names.FIT_KEEP)
    keep.setFocus()
    keep.click()
    child(dialog, QCheckBox, names.FIT_REST).setFocus()
    settle(window, qtbot)
    assert dialog.focusWidget() is child(dialog, QCheckBox, names.FIT_REST)


def test_a_number_at_the_end_of_its_domain_is_marked_in_table_tooltip_and_details(open_window, qtbot):
    rising = np.zeros((3, 2 * N - 1), np.float32)
    rising[1] = -0.4 * DELTA + 0.1 * (DELTA == -3)
    nothing = EncodingSpec("none")
    window = open_window(
        replace(START, encoding=nothing, edit=EditCurve(rising), view=replace(START.view, head=1))
    )
    dialog = fit(window, qtbot)
    dialog.select("alibi")
    table = child(dialog, QTreeWidget, names.FIT_TABLE)
    assert table.currentItem().text(3) == "slope at the end of its domain: slope = 0"
    sentence = "At the end of its domain: slope (0 … ∞). A better value may lie beyond."
    assert sentence in table.currentItem().toolTip(3)
    assert sentence in child(dialog, QPlainTextEdit, names.FIT_DETAILS).toPlainText()
    dialog.select("none")
    assert "domain" not in table.currentItem().text(3)


def test_the_rounding_of_a_shown_curve_is_told_as_nothing(open_window, qtbot):
    window = open_window(replace(START, encoding=EncodingSpec("kerple-log"), edit=EditCurve.none()))
    dialog = fit(window, qtbot)
    first = dialog.lines()[0]
    assert first[:3] == (encoding("kerple-log").title, "0", "0")
    assert dialog.selected.fits[0].constant == 0


def test_one_token_has_nothing_that_tells_families_apart(open_window, qtbot):
    window = open_window(replace(START, edit=EditCurve.none()))
    dialog = fit(window, qtbot)
    assert dialog.lines()
    window.history.push(
        replace(window.session.document, source=TextSource("cat", heads=3, dim=8)), "One word"
    )
    settle(window, qtbot)
    assert window.frame.n_key == 1
    assert dialog.lines() == []
    assert dialog.selected is None
    text = child(dialog, QLabel, names.FIT_STATE).text()
    assert text == "One token has one offset, so there is nothing that tells families apart."
    assert not child(dialog, QPushButton, names.FIT_KEEP).isEnabled()
    assert window.curve.plot.item._overlay is None
    window.history.undo()
    settle(window, qtbot)
    assert dialog.lines()
    assert child(dialog, QLabel, names.FIT_STATE).text() == ""


def test_the_dialog_first_stands_where_the_curve_stays_in_sight(open_window, qtbot):
    window = open_window(steep())
    dialog = fit(window, qtbot)
    curve = QRect(window.curve.mapToGlobal(QPoint()), window.curve.size())
    assert not dialog.frameGeometry().intersects(curve)
    assert dialog.screen().availableGeometry().contains(dialog.frameGeometry())
