"""Gestures: relative motion, a dead zone, fine and round values, and no value lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.brush import Brush, reach, set_totals
from relpos_viewer.views.curve_gesture import DEAD_ZONE, Pointer, Stroke, VerticalDrag, rounded

N = 9
UNITS = 0.02  # a plot 400 px high for −4 … 4


def pointer(y, *, x=0.0, offset=-2, value=0.0, fine=False, snap=False):
    return Pointer(x, y, offset, value, fine, snap)


def dragging(start=None, *, press_y=200.0, grabbed=0.0, step=0.5, brush=None, **press):
    start = np.zeros((1, 2 * N - 1), np.float32) if start is None else start
    found = reach(N, -2, -2, brush or Brush())
    return VerticalDrag(start, grabbed, found, [0], pointer(press_y, **press), UNITS, step)


def at(values, offset=-2):
    return float(values[0, offset + N - 1])


# Each case: what is done, from a press at y = 200; the amounts after each motion. D01, D04 are public bug reports.
MOTIONS = {
    "D01 the way counts, not the place: pressed beside the point": ([{"y": 190}], [0.20]),
    "down is less": ([{"y": 225}], [-0.50]),
    "D04 Shift is a tenth, and releasing it does not jump": (
        [{"y": 150, "fine": True}, {"y": 150}, {"y": 140}],
        [0.10, 0.10, 0.30],
    ),
    "pressing Shift midway does not jump": (
        [{"y": 150}, {"y": 150, "fine": True}, {"y": 140, "fine": True}],
        [1.0, 1.0, 1.02],
    ),
    "there and back": ([{"y": 100}, {"y": 200}], [2.0, 0.0]),
    "Ctrl goes to the nearest round value": (
        [{"y": 185, "snap": True}, {"y": 165, "snap": True}],
        [0.5, 0.5],
    ),
    "Ctrl and Shift go to a tenth of it": ([{"y": 140, "snap": True, "fine": True}], [0.1]),
    "releasing Ctrl shows the way again": ([{"y": 185, "snap": True}, {"y": 185}], [0.5, 0.3]),
}


@pytest.mark.parametrize(("motions", "amounts"), MOTIONS.values(), ids=MOTIONS.keys())
def test_a_drag_moves_its_point_by(motions, amounts):
    drag = dragging()
    for motion, amount in zip(motions, amounts, strict=True):
        assert drag.move(pointer(**motion))
        assert at(drag.values()) == pytest.approx(amount, abs=1e-6)


def test_round_values_are_those_of_the_whole_curve_not_of_the_edit():
    drag = dragging(grabbed=0.22)
    drag.move(pointer(190, snap=True))
    assert 0.22 + drag.amount == pytest.approx(0.5)


@pytest.mark.parametrize(("step", "value", "expected"), [(0.1, 0.31, 0.3), (0.5, -0.76, -1.0), (20, 31, 40)])
def test_round_values_have_no_tail_of_digits(step, value, expected):
    assert rounded(value, step) == expected


def test_a_trembling_hand_only_clicks():
    drag = dragging()
    assert not drag.move(pointer(200 - DEAD_ZONE + 0.5))
    assert not drag.move(pointer(200, x=80.0))  # sideways there is nothing to change
    assert not drag.started
    assert drag.move(pointer(200 - DEAD_ZONE))
    assert drag.started


def test_a_drag_once_begun_may_return_through_its_dead_zone():
    drag = dragging()
    drag.move(pointer(150))
    assert drag.move(pointer(199))
    assert at(drag.values()) == pytest.approx(0.02)


@given(st.lists(st.tuples(st.floats(0, 400), st.booleans(), st.booleans()), max_size=20))
def test_whatever_the_way_the_values_come_from_the_start_and_it_stays_bit_for_bit(way):
    start = np.random.default_rng(0).normal(size=(1, 2 * N - 1)).astype(np.float32)
    before = start.tobytes()
    drag = dragging(start, grabbed=at(start), brush=Brush("smooth", 3))
    for y, fine, snap in way:
        drag.move(pointer(y, fine=fine, snap=snap))
        drag.values()
    assert start.tobytes() == before
    assert drag.start is start
    expected = start.copy()
    expected[0, drag.reach.columns] += np.float32(drag.amount) * drag.reach.weights
    np.testing.assert_array_equal(drag.values(), expected)


@given(st.lists(st.floats(0, 400), min_size=1, max_size=20))
def test_many_moves_end_where_one_would(way):
    many, one = dragging(), dragging()
    for y in way:
        many.move(pointer(y))
    many.move(pointer(120.0))
    one.move(pointer(120.0))
    np.testing.assert_array_equal(many.values(), one.values())


def test_a_radius_chosen_midway_counts_from_the_start():
    drag = dragging()
    drag.move(pointer(150))
    drag.reach = reach(N, -2, -2, Brush("step", 1))
    assert np.flatnonzero(drag.values()[0]).tolist() == [5, 6, 7]
    drag.reach = reach(N, -2, -2, Brush())
    assert np.flatnonzero(drag.values()[0]).tolist() == [6]


def stroke_on(start):
    def draw(values, path, totals):
        return set_totals(values, np.zeros_like(values), path, totals, [0])

    return Stroke(start, pointer(100, x=0, offset=-6, value=1.0), draw, 0.5)


def test_a_fast_stroke_leaves_no_offset_out():
    stroke = stroke_on(np.zeros((1, 2 * N - 1), np.float32))
    assert stroke.move(pointer(0, x=90, offset=-3, value=4.0))
    assert stroke.move(pointer(0, x=30, offset=-5, value=0.0))
    np.testing.assert_allclose(stroke.values()[0, 2:6], [1, 0, 2, 4])
    assert (stroke.low, stroke.high, stroke.offset) == (-6, -3, -5)


def test_a_stroke_begins_only_past_the_dead_zone_and_then_where_the_button_went_down():
    stroke = stroke_on(np.zeros((1, 2 * N - 1), np.float32))
    assert not stroke.move(pointer(100, x=DEAD_ZONE - 1, offset=-5, value=9.0))
    assert stroke.move(pointer(100, x=30, offset=-5, value=2.0))
    np.testing.assert_allclose(stroke.values()[0, 2:4], [1, 2])


def test_a_stroke_with_ctrl_draws_round_values():
    stroke = stroke_on(np.zeros((1, 2 * N - 1), np.float32))
    stroke.move(pointer(100, x=30, offset=-5, value=2.2, snap=True))
    assert at(stroke.values(), -5) == 2.0
    assert stroke.snap_step == 0.5
