"""Edits without a gesture: they know what they reach, name themselves, and are no step when nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.core.brush import Brush
from relpos_viewer.views import curve_commands as commands
from relpos_viewer.views.curve_commands import Nudger
from relpos_viewer.views.curve_hand import Hand

from .curve_mouse import curve_set

RANDOM = np.random.default_rng(2).normal(size=(2, 17)).astype(np.float32)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def hand(edit=None, selection=(-2, -2), **changes):
    curves = changes.pop("curves", None) or curve_set(family=RANDOM)
    known = {
        "curves": curves,
        "edit": np.zeros_like(RANDOM) if edit is None else edit,
        "tool": "brush",
        "brush": Brush("smooth", 3),
        "snap": True,
        "all_heads": False,
        "selection": selection,
        "anchors": (),
    }
    return Hand(**{**known, **changes})


def changed(edit, before):
    return {(int(h), int(c) - 8) for h, c in np.argwhere(edit.values != before.edit)}


def test_a_nudge_moves_the_selected_point_alone_whatever_the_radius():
    before = hand()
    edit = Nudger().nudge(before, 1, fine=False)
    assert changed(edit, before) == {(0, -2)}
    assert edit.values[0, 6] == np.float32(0.1)
    assert edit.name == "Nudge δ = −2"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"selection": (-3, -2)}, {(0, -3), (0, -2)}),
        ({"brush": Brush(mirror=True)}, {(0, -2), (0, 2)}),
        ({"all_heads": True}, {(0, -2), (1, -2)}),
        ({"curves": curve_set(family=RANDOM, buckets=np.arange(17) // 3)}, {(0, -2), (0, -1), (0, 0)}),
        ({"curves": curve_set(family=RANDOM, buckets=np.arange(17) // 3), "snap": False}, {(0, -2)}),
        ({"curves": curve_set(family=RANDOM, head=1)}, {(1, -2)}),
    ],
)
def test_a_nudge_reaches_what_the_switches_say(changes, expected):
    before = hand(**changes)
    assert changed(Nudger().nudge(before, -1, fine=True), before) == expected


def test_ten_nudges_are_one_whole_and_ten_back_restore_every_bit():
    nudger, edit = Nudger(Clock()), RANDOM
    for _ in range(10):
        edit = nudger.nudge(hand(edit), 1, fine=False).values
    assert edit[0, 6] == RANDOM[0, 6] + np.float32(1.0)
    for _ in range(10):
        edit = nudger.nudge(hand(edit), -1, fine=False).values
    assert edit.tobytes() == RANDOM.tobytes()


def test_fine_and_coarse_nudges_add_up():
    nudger = Nudger(Clock())
    edit = nudger.nudge(hand(), 1, fine=False).values
    edit = nudger.nudge(hand(edit), 1, fine=True).values
    assert edit[0, 6] == np.float32(0.11)


def test_nudges_of_one_point_share_a_merge_key_and_those_of_another_do_not():
    nudger = Nudger(Clock())
    first = nudger.nudge(hand(), 1, fine=False)
    second = nudger.nudge(hand(first.values), 1, fine=True)
    other = nudger.nudge(hand(second.values, selection=(-3, -3)), 1, fine=False)
    assert first.merge_key == second.merge_key != other.merge_key
    assert first.merge_key is not None


@pytest.mark.parametrize("pause", [0.9, 1.1])
def test_a_pause_begins_a_new_count(pause):
    clock = Clock()
    nudger = Nudger(clock)
    edit = nudger.nudge(hand(RANDOM), 3, fine=False).values
    clock.now = pause
    edit = nudger.nudge(hand(edit), -3, fine=False).values
    # After a pause the count starts from the rounded sum; before it, from the values themselves.
    assert (edit is RANDOM) is (pause < 1)


def test_a_change_by_others_begins_a_new_count():
    nudger = Nudger(Clock())
    nudger.nudge(hand(), 5, fine=False)
    undone = np.zeros_like(RANDOM)
    assert nudger.nudge(hand(undone), 1, fine=False).values[0, 6] == np.float32(0.1)


def test_without_a_selection_there_is_nothing_to_nudge_or_reset():
    assert Nudger().nudge(hand(selection=None), 1, fine=False) is None
    assert commands.reset_selection(hand(RANDOM, selection=None)) is None


def test_an_exact_value_is_that_of_the_whole_curve_and_disturbs_no_neighbour():
    before = hand(RANDOM)
    edit = commands.set_value(before, -4, -1.25)
    assert changed(edit, before) == {(0, -4)}
    assert (before.curves.family + edit.values)[0, 4] == pytest.approx(-1.25)
    assert edit.name == "Set δ = −4 to −1.25"


def test_all_heads_get_the_same_value_where_their_curves_are_known():
    edit = commands.set_value(hand(all_heads=True), -4, 2.0)
    np.testing.assert_allclose((RANDOM + edit.values)[:, 4], 2.0, rtol=1e-6)


def test_all_heads_get_the_same_edit_where_only_the_shown_head_has_a_mean():
    family = RANDOM.copy()
    family[1] = np.nan
    edit = commands.set_value(hand(all_heads=True, curves=curve_set(family=family, exact=False)), -4, 2.0)
    assert edit.values[0, 4] == edit.values[1, 4] == np.float32(2.0) - family[0, 4]


@pytest.mark.parametrize(
    ("command", "zeroed"),
    [
        (commands.reset_selection, np.s_[0:1, 6:7]),
        (commands.reset_head, np.s_[0:1, :]),
        (commands.reset_all, np.s_[:, :]),
    ],
)
def test_reset_takes_back_exactly_its_part(command, zeroed):
    expected = RANDOM.copy()
    expected[zeroed] = 0
    edit = command(hand(RANDOM))
    np.testing.assert_array_equal(edit.values, expected)
    assert edit.name.startswith("Reset")
    assert edit.merge_key is None


@pytest.mark.parametrize(
    "command",
    [
        commands.reset_selection,
        commands.reset_head,
        commands.reset_all,
        lambda h: commands.set_value(h, -2, float(RANDOM[0, 6])),
        lambda h: commands.paste(h, f"-2 {RANDOM[0, 6]!s}"),
    ],
)
def test_what_changes_nothing_is_no_step(command):
    assert command(hand()) is None


def test_resetting_an_anchor_bends_the_curve_back():
    tent = np.zeros((2, 17), np.float32)
    tent[0, :9] = np.interp(np.arange(-8, 1), [-8, -4, 0], [0, 2, 0])
    before = hand(tent, tool="anchors", anchors=(-8, -4, 0), selection=(-4, -4))
    np.testing.assert_array_equal(commands.reset_selection(before).values, 0)


def test_pasting_sets_many_offsets_as_one_step():
    before = hand()
    edit = commands.paste(before, "-5\t1\n-1\t2\n")
    assert changed(edit, before) == {(0, -5), (0, -1)}
    np.testing.assert_allclose((RANDOM + edit.values)[0, [3, 7]], [1, 2], rtol=1e-6)
    assert edit.name == "Paste 2 values"


@pytest.mark.parametrize(
    ("tool", "selection", "offset", "expected"),
    [
        ("brush", None, -4, {-5, -4, -3}),
        ("brush", (-6, -3), -4, {-7, -6, -5, -4, -3, -2}),
        ("brush", (-8, -7), -4, {-5, -4, -3}),
        ("freehand", (-6, -3), -4, {-4}),
        ("anchors", None, -4, {-7, -6, -5, -4, -3, -2, -1}),
    ],
)
def test_a_drag_reaches_by_its_tool(tool, selection, offset, expected):
    found = hand(tool=tool, selection=selection, brush=Brush("linear", 1), anchors=(-8, 0)).reach_at(offset)
    assert set((found.columns - 8).tolist()) == expected
