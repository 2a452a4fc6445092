"""Scales: pixels to offsets and values and back, and ticks that are round, apart and true."""

from __future__ import annotations

import math
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.views.curve_fit import LEAST_SPAN, fitted_offsets, fitted_values, grown_values
from relpos_viewer.views.curve_scale import (
    SCALES,
    PlotMap,
    factor_ticks,
    nice_step,
    value_text,
    value_ticks,
)

SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]")

scales = st.sampled_from(sorted(SCALES)).map(SCALES.__getitem__)


def plot_map(scale="linear", n=10):
    edge = float(SCALES[scale].forward(n))
    return PlotMap(SCALES[scale], 50.0, 10.0, 800.0, 400.0, (-edge, edge), (-4.0, 4.0))


@given(scales, st.integers(-40_000, 40_000))
def test_a_scale_brings_every_offset_back(scale, offset):
    assert round(float(scale.inverse(scale.forward(offset)))) == offset


def test_the_symmetric_log_scale_is_odd_and_gives_near_offsets_more_room():
    scale = SCALES["symlog"]
    places = scale.forward(np.array([-100, -1, 0, 1, 2, 100, 101]))
    assert places[0] == -places[5]
    assert places[2] == 0
    assert places[4] - places[3] > 10 * (places[6] - places[5])


@pytest.mark.parametrize("scale", sorted(SCALES))
@given(offset=st.integers(-9, 9), value=st.floats(-4, 4))
def test_pixels_lead_back_to_their_offset_and_value(scale, offset, value):
    m = plot_map(scale)
    assert m.offset(float(m.x(offset))) == pytest.approx(offset, abs=1e-9)
    assert m.value(float(m.y(value))) == pytest.approx(value, abs=1e-9)


def test_a_plot_400_pixels_high_for_eight_units_has_a_fiftieth_of_a_unit_in_each():
    m = plot_map()
    assert m.units_per_pixel == 0.02
    assert (m.y(4.0), m.y(0.0), m.y(-4.0)) == (10.0, 210.0, 410.0)
    assert m.x(0) == 450.0


@pytest.mark.parametrize(
    ("least", "step"),
    [(0.09, 0.1), (0.1, 0.1), (0.11, 0.2), (0.3, 0.5), (0.7, 1), (1, 1), (3, 5), (70, 100), (2e-4, 2e-4)],
)
def test_steps_are_one_two_or_five(least, step):
    assert nice_step(least) == step


@pytest.mark.parametrize("name", sorted(SCALES))
@pytest.mark.parametrize("n", [2, 9, 35, 2048, 32768])
@pytest.mark.parametrize("width", [240, 900])
def test_offset_ticks_are_whole_hold_zero_and_have_room(name, n, width):
    scale = SCALES[name]
    low, high = float(scale.forward(0.5 - n)), float(scale.forward(n - 0.5))
    ticks = scale.ticks(low, high, width)
    assert 0 in ticks
    assert all(isinstance(tick, int) and abs(tick) < n for tick in ticks)
    gaps = np.diff(scale.forward(np.array(ticks))) * width / (high - low)
    assert len(ticks) == 1 or gaps.min() >= 40


def test_offset_ticks_follow_a_view_of_one_side():
    assert SCALES["symlog"].ticks(*SCALES["symlog"].forward(np.array([-35.0, 0.4])), 400)[-1] == 0
    assert SCALES["linear"].ticks(-35.0, -11.0, 400) == [-35, -30, -25, -20, -15]


@given(st.floats(-100, 100), st.floats(1e-3, 1e4), st.integers(100, 600))
def test_value_ticks_are_in_view_and_apart(low, span, height):
    step, ticks = value_ticks(low, low + span, height)
    assert all(low - 1e-9 <= tick <= low + span + 1e-9 for tick in ticks)
    assert step * height / span >= 33


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [(-2.0, 1, "−2"), (0.5, 0.5, "0.5"), (-0.05, 0.05, "−0.05"), (0.0, 0.1, "0.0"), (2e5, 1e5, "2e5")],
)
def test_a_tick_has_the_decimals_of_its_step(value, step, text):
    assert value_text(value, step) == text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-3.5, 3.5, {"×20", "×0.05", "×1"}),
        (-8, 8, {"×1", "×1000", "×0.001"}),
        (-40, 40, {"×1", "×10¹⁰", "×10⁻¹⁰"}),
    ],
)
def test_factor_ticks_are_round_factors_at_their_logarithms(low, high, expected):
    ticks = {text: b for b, text in factor_ticks(low, high, 260)}
    assert expected <= set(ticks)
    assert ticks["×1"] == 0
    for text, b in ticks.items():
        plain = text[1:].replace("10", "1e", 1) if SUPERSCRIPT.search(text) else text[1:]
        assert math.exp(b) == pytest.approx(float(unicodedata.normalize("NFKC", plain).replace("−", "-")))


@given(st.floats(-300, 300), st.floats(1e-3, 200), st.integers(120, 600))
def test_factor_ticks_never_crowd_and_differ_from_each_other(low, span, height):
    ticks = factor_ticks(low, low + span, height)
    places = np.array([b for b, _ in ticks]) * height / span
    assert len(places) < 2 or np.diff(places).min() > 15
    assert len({text for _, text in ticks}) == len(ticks)


def test_a_fresh_view_shows_the_past_and_a_strip_of_the_masked_future():
    offsets = np.arange(-34, 35)
    low, high = fitted_offsets(offsets <= 0)
    assert low == -34.5
    assert 4 < high < 10
    assert fitted_offsets(np.ones(69, bool)) == (-34.5, 34.5)
    assert fitted_offsets(np.zeros(69, bool)) == (-34.5, 34.5)


def test_a_fresh_view_shows_all_curves_where_they_count():
    visible = np.array([True, True, False])
    low, high = fitted_values(np.array([[-6.0, 2.0, 99.0], [np.nan, 3.0, 0.0]]), visible)
    assert -8 < low < -6
    assert 3 < high < 5


@pytest.mark.parametrize("values", [[[0.0, 0.0]], [[np.nan, np.nan]], [[5.0, 5.0]]])
def test_a_flat_or_unknown_curve_still_has_room_to_be_dragged(values):
    low, high = fitted_values(np.array(values), np.ones(2, bool))
    assert high - low == LEAST_SPAN


@pytest.mark.parametrize(
    ("curve", "same"),
    [
        ([0.0, 1.9, 0.0], True),
        ([0.0, 0.0, 99.0], True),
        ([0.0, 5.0, 0.0], False),
        ([np.nan, -9.0, 0.0], False),
    ],
)
def test_a_view_grows_only_when_something_visible_left_it(curve, same):
    low, high = grown_values((-2.0, 2.0), np.array(curve), np.array([True, True, False]))
    assert ((low, high) == (-2.0, 2.0)) is same
    assert low <= np.nanmin(np.array(curve)[:2])
    assert high >= np.nanmax(np.array(curve)[:2])
