"""Tools for a range: one step each, the right totals, and nothing outside the range but what shares its buckets."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QDialogButtonBox, QMenu
from pytestqt.qtbot import QtBot

from relpos_viewer.app.settings import Settings
from relpos_viewer.core.brush import Brush
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, View
from relpos_viewer.views import curve_ranges as ranges
from relpos_viewer.views.curve_hand import Hand
from relpos_viewer.views.formula_dialog import KEPT, FormulaDialog, remembered
from relpos_viewer.views.main_window import MainWindow

from .curve_mouse import curve_set, key
from .test_main_window import settle

Key = Qt.Key
HEADS, N, HEAD = 3, 12, 1
EDIT = np.random.default_rng(7).normal(size=(HEADS, 2 * N - 1)).astype(np.float32)
SOURCE = TextSource(" ".join("abcdefghijkl"), heads=HEADS, dim=8)


@pytest.fixture
def opened(new_window: Callable[..., MainWindow], qtbot: QtBot) -> Callable[..., MainWindow]:
    def make(family: str = "alibi", mask: str = "none") -> MainWindow:
        window = new_window(
            Document(SOURCE, EncodingSpec(family), mask, edit=EditCurve(EDIT), view=View(head=HEAD))
        )
        settle(window, qtbot)
        return window

    return make


def totals(window: MainWindow, head: int = HEAD) -> np.ndarray:
    """The whole curve as the document has it, float64 [2n−1]; the family as the frame found it."""
    edit = window.session.document.edit.at(HEADS, N)
    return window.frame.curves.family[head].astype(np.float64) + edit[head]


def part(low: int, high: int) -> slice:
    return slice(low + N - 1, high + N)


# What each makes of a range, on every family, is in test_families_and_tools.py.
TOOLS = (
    "range_flatten",
    "range_straighten",
    "range_smooth",
    "range_reverse",
    "range_turn",
    "range_mirror",
)


@pytest.mark.parametrize("action", TOOLS)
def test_buckets_stay_whole_where_they_are_snapped_to(opened, action):
    window = opened("t5")
    window.curve.snap = True
    window.curve.select(-11, -5)
    window.actions_by_id[action].trigger()
    curves = window.frame.curves
    edit = window.session.document.edit.at(HEADS, N)[HEAD]
    touched = np.flatnonzero(edit != EDIT[HEAD])
    after = totals(window)
    for bucket in np.unique(curves.buckets[part(-11, -5)]):
        assert np.ptp(after[curves.buckets == bucket]) < 1e-5
    assert {*curves.buckets[touched]} <= {*curves.buckets[part(-11, -5)]}
    assert "δ = −11…−5" in window.history.undo_name


def test_without_a_range_a_tool_takes_all_that_is_visible(opened):
    window = opened(mask="causal")
    before = totals(window)
    window.curve.select(-3, -3)  # as every click leaves it
    window.actions_by_id["range_flatten"].trigger()
    np.testing.assert_allclose(totals(window)[:N], before[:N].mean(), atol=1e-5)
    assert np.array_equal(totals(window)[N:], before[N:])


def test_with_the_mirror_on_the_other_side_gets_the_same_values(opened):
    window = opened()
    window.curve.mirror = True
    window.curve.select(-7, -2)
    window.actions_by_id["range_reverse"].trigger()
    after = totals(window)
    np.testing.assert_allclose(after[part(2, 7)], after[part(-7, -2)][::-1], atol=1e-5)


@pytest.mark.parametrize(
    ("action", "typed", "name", "expected"),
    [
        ("range_scale", None, "Scale δ = −7…−2 by 1.5", lambda v: v.mean() + 1.5 * (v - v.mean())),
        ("range_shift", None, "Shift δ = −7…−2 by +0.5", lambda v: v + 0.5),
        ("range_shift", "−3,25", "Shift δ = −7…−2 by −3.25", lambda v: v - 3.25),
    ],
)
def test_a_number_is_asked_for_in_place_and_enter_applies_it(opened, action, typed, name, expected):
    window = opened()
    before = totals(window)
    window.curve.select(-7, -2)
    window.actions_by_id[action].trigger()
    entry = window.curve.entry
    assert entry.isVisible()
    assert entry.box.hasFocus() or not window.isActiveWindow()
    if typed is not None:
        entry.box.setText(typed)
    key(entry.box, Key.Key_Return)
    np.testing.assert_allclose(totals(window)[part(-7, -2)], expected(before[part(-7, -2)]), atol=1e-5)
    assert window.history.undo_name == name
    window.history.undo()
    assert not window.history.can_undo


@pytest.mark.parametrize("leave", ["escape", "elsewhere"])
def test_a_suggested_number_that_nobody_confirmed_changes_nothing(opened, leave):
    window = opened()
    window.actions_by_id["range_scale"].trigger()
    box = window.curve.entry.box
    if leave == "escape":
        key(box, Key.Key_Escape)
    else:
        box.left.emit()
    assert not window.curve.entry.isVisible()
    assert not window.history.can_undo


def test_a_number_too_large_is_refused_in_a_sentence_and_changes_nothing(opened):
    window = opened()
    window.curve.scale_range(1e9)
    assert "1,000,000" in window.message.text()
    assert not window.history.can_undo


def test_another_heads_values_are_copied_from_the_menu_of_heads(opened):
    window = opened()
    menu = window.menus["Edit/Range/Copy from head"]
    menu.aboutToShow.emit()
    assert [(action.text(), action.isEnabled()) for action in menu.actions()] == [
        ("Head 0", True),
        ("Head 1", False),
        ("Head 2", True),
    ]
    wanted, before = totals(window, 2), totals(window)
    window.curve.select(-7, -2)
    menu.triggered.emit(menu.actions()[2])
    np.testing.assert_allclose(totals(window)[part(-7, -2)], wanted[part(-7, -2)], atol=1e-5)
    assert np.array_equal(totals(window)[part(-1, 11)], before[part(-1, 11)])
    assert window.history.undo_name == "Copy head 2 to δ = −7…−2"


def test_the_menu_of_the_curve_offers_the_tools_too(opened):
    window = opened()
    window.curve._open_menu(None, window.curve.mapToGlobal(window.curve.rect().center()))
    (menu,) = [child for child in window.curve.findChildren(QMenu) if child.isVisible()]
    assert window.menus["Edit/Range"].menuAction() in menu.actions()
    menu.close()
    assert window.actions_by_id["range_flatten"] in window.menus["Edit/Range"].actions()


# Without a window.


def hand(family=None, **changes) -> Hand:
    curves = curve_set(family, n=4, heads=2, causal=False)
    known = {
        "curves": curves,
        "edit": np.zeros_like(curves.edit),
        "tool": "brush",
        "brush": Brush(),
        "snap": True,
        "all_heads": False,
        "selection": (-2, 1),
        "anchors": (),
    }
    return Hand(**{**known, **changes})


def test_a_diagonal_without_a_value_is_left_out():
    family = np.arange(14, dtype=np.float32).reshape(2, 7)
    family[0, 2] = np.nan  # δ = −1
    edit = ranges.reshaped(hand(family), "flatten")
    assert edit.values[0, 2] == 0
    total = family[0] + edit.values[0]
    np.testing.assert_allclose(total[[1, 3, 4]], (1 + 3 + 4) / 3, rtol=1e-6)


def test_what_is_flat_already_is_no_step():
    assert ranges.reshaped(hand(), "flatten") is None


def test_a_head_that_was_never_computed_cannot_be_copied():
    family = np.zeros((2, 7), np.float32)
    family[1] = np.nan
    with pytest.raises(ViewerError, match="head 1"):
        ranges.copied(hand(family), 1)


def test_a_formula_knows_offset_curve_head_and_length():
    family = np.arange(14, dtype=np.float32).reshape(2, 7) ** 2
    edit = ranges.by_formula(hand(family, all_heads=True), "b + 10*d + 100*h + 1000*H + n")
    for head in (0, 1):
        added = 10.0 * np.arange(-2, 2) + 100 * head + 2000 + 4
        np.testing.assert_allclose(edit.values[head, 1:5], added, rtol=1e-6)
        assert not edit.values[head, [0, 5, 6]].any()


@pytest.mark.parametrize(("text", "words"), [("1/d", "finite"), ("10**9", "1,000,000"), ("bb", "bb")])
def test_a_formula_without_a_usable_value_is_refused(text, words):
    with pytest.raises(ViewerError, match=words):
        ranges.by_formula(hand(), text)


def test_formulas_are_remembered_once_and_not_for_ever():
    assert remembered(["a", "b"], "b") == ["b", "a"]
    assert len(remembered([str(i) for i in range(99)], "x")) == KEPT


# The dialog.


@pytest.fixture
def dialog(opened) -> Callable[[], tuple[MainWindow, FormulaDialog]]:
    def make():
        window = opened()
        window.curve.select(-7, -2)
        window.actions_by_id["range_formula"].trigger()
        return window, window.findChild(FormulaDialog)

    return make


def test_the_curve_follows_the_formula_while_it_is_typed_and_enter_keeps_it(dialog, qtbot):
    window, asked = dialog()
    offsets = np.arange(-7, -1)
    for text, values in (("d", offsets), ("-0.5*abs(d)", -0.5 * np.abs(offsets))):
        asked.line.setText(text)
        np.testing.assert_allclose(totals(window)[part(-7, -2)], values, atol=1e-5)
        assert window.history.is_previewing
    settle(window, qtbot)
    np.testing.assert_allclose(window.curve.edit[HEAD] + window.frame.curves.family[HEAD], totals(window))
    asked.accept()
    np.testing.assert_allclose(totals(window)[part(-7, -2)], -0.5 * np.abs(offsets), atol=1e-5)
    assert window.history.undo_name == "Set δ = −7…−2 to -0.5*abs(d)"
    window.history.undo()
    assert np.array_equal(window.session.document.edit.at(HEADS, N), EDIT)
    assert not window.history.can_undo
    assert Settings.of_user().formulas[0] == "-0.5*abs(d)"


def test_a_formula_that_is_let_go_gives_back_the_axis_that_it_had_grown(dialog):
    window, asked = dialog()
    before = window.curve.plot.values
    asked.line.setText("1000*d")
    assert window.curve.plot.values[0] < -5000
    asked.line.setText("0*d")
    assert window.curve.plot.values == before
    asked.line.setText("1000*d")
    asked.reject()
    assert window.curve.plot.values == before


def test_a_formula_that_cannot_be_read_says_why_shows_the_curve_as_it_was_and_is_not_kept(dialog):
    window, asked = dialog()
    before = EDIT[HEAD]
    asked.line.setText("d + 1")
    asked.line.setText("d + slope")
    assert "slope" in asked.message
    assert np.array_equal(window.session.document.edit.at(HEADS, N)[HEAD], before)
    ok = asked.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert not ok.isEnabled()
    asked.accept()
    assert asked.isVisible()
    asked.line.setText("d")
    assert asked.message == ""
    assert ok.isEnabled()


@pytest.mark.parametrize("text", ["", "   ", "d +", "d + slope", "log(0*d)", "d ? 2", "sin(d", "d" * 5000])
def test_what_is_wrong_with_a_formula_is_told_in_a_sentence(dialog, text):
    _window, asked = dialog()
    asked.line.setText(text)
    assert re.match("[A-Z“]", asked.message)


def test_escape_gives_the_curve_back_and_edits_go_on(dialog):
    window, asked = dialog()
    asked.line.setText("d*d")
    window.curve.nudge(1)  # a program could; it must not mix with what is only tried
    key(asked, Key.Key_Escape)
    assert np.array_equal(window.session.document.edit.at(HEADS, N), EDIT)
    assert not window.history.can_undo
    window.curve.nudge(1)
    assert window.history.can_undo


def test_the_dialog_leaves_the_curve_in_sight_and_lists_what_a_formula_may_say(dialog):
    window, asked = dialog()
    top = window.curve.mapToGlobal(QPointF(0, 0)).y()
    assert asked.y() + asked.height() <= top
    words = "".join(label.text() for label in asked.findChildren(type(asked._error)))
    for name in ("abs(x)", "where(x, y, z)", "offset δ", "number of heads"):
        assert name in words
    asked.reject()
