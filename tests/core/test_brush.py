"""The brush: what follows a hand, by how much, and that nothing is ever lost by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.brush import (
    SHAPES,
    Brush,
    Reach,
    move,
    profile,
    reach,
    reach_between,
    reset,
    set_totals,
    stroke,
)

sizes = st.integers(1, 40)
shapes = st.sampled_from(SHAPES)
amounts = st.floats(-50, 50, width=32)


@st.composite
def hands(draw):
    """n, an offset of it, and a brush."""
    n = draw(sizes)
    return (
        n,
        draw(st.integers(1 - n, n - 1)),
        Brush(draw(shapes), draw(st.integers(0, 50)), draw(st.booleans())),
    )


@st.composite
def groups(draw, n):
    """Buckets as families have them: runs of equal numbers, the numbers in any order."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=2 * n - 1, max_size=2 * n - 1))
    names = draw(st.permutations(range(2 * n - 1)))
    return np.repeat(names, lengths)[: 2 * n - 1].astype(np.int64)


def curves(n, heads=2, seed=0):
    return np.random.default_rng(seed).normal(size=(heads, 2 * n - 1)).astype(np.float32)


def by_offset(found: Reach, n):
    return {int(c) - (n - 1): float(w) for c, w in zip(found.columns, found.weights, strict=True)}


@pytest.mark.parametrize(
    ("shape", "shares"),
    [("step", [1, 1, 1, 1, 0]), ("linear", [1, 0.75, 0.5, 0.25, 0]), ("smooth", [1, 0.8536, 0.5, 0.1464, 0])],
)
def test_the_share_of_a_motion_falls_to_zero_just_past_the_radius(shape, shares):
    np.testing.assert_allclose(profile(np.arange(5), 3, shape), shares, atol=1e-4)


@given(hands())
def test_a_radius_moves_exactly_that_many_neighbours_on_each_side(hand):
    n, offset, brush = hand
    weights = by_offset(reach(n, offset, offset, brush), n)
    near = {d for d in range(1 - n, n) if abs(d - offset) <= brush.radius}
    expected = near | {-d for d in near} if brush.mirror else near
    assert set(weights) == expected
    assert weights[offset] == 1.0


def test_a_hand_on_a_range_moves_all_of_it_alike_and_lets_the_neighbours_fall_off():
    weights = by_offset(reach(10, -5, -3, Brush("linear", 1)), 10)
    assert weights == {-6: 0.5, -5: 1.0, -4: 1.0, -3: 1.0, -2: 0.5}


def test_a_motion_changes_only_the_heads_it_was_given():
    start = curves(8, heads=3)
    moved = move(start, reach(8, -2, -2, Brush("step", 1)), 0.5, [0, 2])
    changed = np.argwhere(moved != start)
    assert {tuple(c) for c in changed} == {(h, d + 7) for h in (0, 2) for d in (-3, -2, -1)}
    np.testing.assert_allclose(moved[0, 4:7], start[0, 4:7] + 0.5, rtol=1e-6)


@given(hands(), amounts)
def test_a_drag_never_touches_the_values_it_started_from(hand, amount):
    n, offset, brush = hand
    start = curves(n)
    before = start.tobytes()
    move(start, reach(n, offset, offset, brush), amount, [0, 1])
    set_totals(start, curves(n, seed=1), [offset], [amount], [0])
    reset(start, slice(None), [0, 1])
    assert start.tobytes() == before


@given(hands(), amounts)
def test_mirroring_keeps_a_symmetric_edit_symmetric(hand, amount):
    n, offset, brush = hand
    start = curves(n)
    start = start + start[:, ::-1]
    mirrored = Brush(brush.shape, brush.radius, mirror=True)
    moved = move(start, reach(n, offset, offset, mirrored), amount, [0, 1])
    np.testing.assert_array_equal(moved, moved[:, ::-1])


def test_mirroring_moves_the_middle_once_not_twice():
    weights = by_offset(reach(5, 0, 0, Brush("linear", 1, mirror=True)), 5)
    assert weights == {-1: 0.5, 0: 1.0, 1: 0.5}


@given(st.data())
def test_snapping_keeps_every_bucket_constant(data):
    n, offset, brush = data.draw(hands())
    buckets = data.draw(groups(n))
    level = np.random.default_rng(1).normal(size=2 * n).astype(np.float32)
    start = np.stack([level[buckets], -level[buckets]])
    found = reach(n, offset, offset, brush, buckets)
    drawn = set_totals(start, start * 2, [offset], [1.5], [0, 1], mirror=brush.mirror, buckets=buckets)
    for values in (move(start, found, data.draw(amounts), [0, 1]), drawn):
        for bucket in np.unique(buckets):
            inside = values[:, buckets == bucket]
            np.testing.assert_array_equal(inside, inside[:, :1].repeat(inside.shape[1], axis=1))
    assert set(found.columns[found.weights == 1]) >= set(np.flatnonzero(buckets == buckets[offset + n - 1]))


def test_a_bucket_follows_as_much_as_its_nearest_offset():
    buckets = np.array([3, 3, 3, 2, 2, 1, 0, 0, 0, 0, 0])  # δ = −5 … 5
    weights = by_offset(reach(6, 0, 0, Brush("linear", 2), buckets), 6)
    assert weights == pytest.approx({0: 1.0, **dict.fromkeys((-2, -1, 1, 2, 3, 4, 5), 2 / 3)})


@pytest.mark.parametrize(
    ("start", "end", "path", "values"),
    [
        ((-2, 0.0), (2, 4.0), [-2, -1, 0, 1, 2], [0, 1, 2, 3, 4]),
        ((2, 4.0), (-1, 1.0), [2, 1, 0, -1], [4, 3, 2, 1]),
        ((3, 1.0), (3, 5.0), [3], [5]),
    ],
)
def test_a_stroke_passes_every_offset_between_two_positions_of_the_pointer(start, end, path, values):
    got_path, got_values = stroke(start, end)
    np.testing.assert_array_equal(got_path, path)
    np.testing.assert_allclose(got_values, values)


def test_drawing_sets_the_whole_curve_not_the_edit():
    start, family = curves(5), curves(5, seed=1)
    drawn = set_totals(start, family, [-3, -2], [1.0, 2.0], [1])
    np.testing.assert_allclose((family + drawn)[1, 1:3], [1.0, 2.0], rtol=1e-6)
    untouched = np.ones_like(start, bool)
    untouched[1, 1:3] = False
    np.testing.assert_array_equal(drawn[untouched], start[untouched])


@pytest.mark.parametrize(
    ("mirror", "path", "totals", "expected"),
    [
        (False, [1, 2, 1], [5.0, 6.0, 7.0], {1: 7.0, 2: 6.0}),
        (True, [-1, 0, 1], [5.0, 6.0, 7.0], {-1: 7.0, 0: 6.0, 1: 7.0}),
        (True, [1, 0, -1], [5.0, 6.0, 7.0], {-1: 7.0, 0: 6.0, 1: 7.0}),
    ],
)
def test_where_a_stroke_passes_twice_the_later_value_holds(mirror, path, totals, expected):
    zero = np.zeros((1, 5), np.float32)
    drawn = set_totals(zero, zero, path, totals, [0], mirror=mirror)
    assert {int(c) - 2: float(drawn[0, c]) for c in np.flatnonzero(drawn[0])} == expected


def test_a_stroke_through_a_bucket_leaves_it_at_the_last_value_passed():
    zero = np.zeros((1, 7), np.float32)
    buckets = np.array([1, 1, 1, 0, 2, 2, 2])  # δ = −3 … 3
    drawn = set_totals(zero, zero, [-2, -1, 0], [1.0, 2.0, 3.0], [0], buckets=buckets)
    np.testing.assert_array_equal(drawn[0], [2, 2, 2, 3, 0, 0, 0])


def test_an_offset_without_any_cell_is_drawn_from_zero():
    zero = np.zeros((1, 3), np.float32)
    drawn = set_totals(zero, np.full((1, 3), np.nan, np.float32), [1], [2.5], [0])
    np.testing.assert_array_equal(drawn[0], [0, 0, 2.5])


def test_an_anchor_bends_the_curve_straight_between_its_neighbours():
    weights = by_offset(reach_between(9, -3, (-8, -3, 0)), 9)
    expected = {-7: 0.2, -6: 0.4, -5: 0.6, -4: 0.8, -3: 1.0, -2: 2 / 3, -1: 1 / 3}
    assert weights == pytest.approx(expected)


def test_past_the_outermost_anchor_the_curve_moves_along():
    weights = by_offset(reach_between(4, 1, (1,)), 4)
    assert weights == dict.fromkeys(range(-3, 4), 1.0)


@given(st.integers(2, 30), st.data())
def test_a_curve_straight_between_anchors_stays_straight_between_them(n, data):
    anchors = sorted(data.draw(st.sets(st.integers(1 - n, n - 1), min_size=1, max_size=6)))
    offset = data.draw(st.sampled_from(anchors))
    bent = move(
        np.zeros((1, 2 * n - 1), np.float32), reach_between(n, offset, anchors), data.draw(amounts), [0]
    )
    at = bent[0, np.array(anchors) + n - 1]
    np.testing.assert_allclose(bent[0], np.interp(np.arange(1 - n, n), anchors, at), atol=1e-4)


@pytest.mark.parametrize("heads", [[0], [0, 1]])
def test_reset_clears_the_chosen_offsets_of_the_chosen_heads(heads):
    start = curves(4)
    cleared = reset(start, np.array([2, 3]), heads)
    expected = start.copy()
    for head in heads:
        expected[head, 2:4] = 0
    np.testing.assert_array_equal(cleared, expected)
