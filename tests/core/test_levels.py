"""Levels: predictable limits from visible finite cells, round ticks that never read as zero."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.levels import WEIGHT_FLOOR, Levels, choose_levels, shared_levels, typed_levels
from relpos_viewer.core.numbers import short

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([-3.0, 1.0], {"symmetric": True}, (-3, 3)),
        ([0.5, 2.0], {"symmetric": True}, (-2, 2)),
        ([-3.0, 1.0], {}, (-3, 1)),
        ([0.25, 0.5], {}, (0, 0.5)),  # weights start at zero
        ([1 / 512] * 4, {}, (0, 1 / 512)),
        ([0.0, 0.0], {}, (0, 1)),
        ([0.0, 0.0], {"symmetric": True}, (-1, 1)),
        ([-4.0, -4.0], {}, (-6, -2)),  # flat data widened
        ([NAN, INF, -INF, 2.0, -1.0], {"symmetric": True}, (-2, 2)),
        ([NAN, INF], {"symmetric": True}, (-1, 1)),
        ([], {}, (0, 1)),
        ([1e-9, 0.5], {"scale": "log"}, (WEIGHT_FLOOR, 0.5)),
        ([0.0, 0.0], {"scale": "log"}, (WEIGHT_FLOOR, WEIGHT_FLOOR * 10)),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_limits_come_from_the_finite_values(values, options, expected, kind):
    levels = choose_levels(kind(np.asarray(values, np.float32)), **options)
    assert (levels.low, levels.high) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mode", ["full", "percentile"])
@pytest.mark.parametrize("hidden", [1e9, NAN, -INF])
def test_masked_cells_do_not_move_the_limits(mode, hidden):
    values, visible = np.linspace(-1, 2, 400, dtype=np.float32).reshape(20, 20), np.ones((20, 20), bool)
    values[3, 4], visible[3, 4] = hidden, False
    levels = choose_levels(values, visible, mode=mode, symmetric=True)
    assert levels.high == pytest.approx(2, abs=0.05)


def test_one_sink_column_does_not_hide_the_rest_by_percentile():
    values = np.random.default_rng(0).uniform(0, 0.1, (1000, 1000)).astype(np.float32)
    values[:, 0] = 1e6  # a thousandth of all cells
    assert choose_levels(values, mode="percentile").high == pytest.approx(0.1, rel=0.02)
    assert choose_levels(values).high == 1e6


def test_shared_limits_hold_every_panel():
    assert shared_levels([Levels(-1, 1), Levels(-7, 7), Levels(-2, 2)]) == Levels(-7, 7)


@pytest.mark.parametrize(
    ("low", "high", "scale", "part"),
    [
        ("1", "1", "linear", "below"),
        ("2", "−1", "linear", "below"),
        ("abc", "1", "linear", "abc"),
        ("0", "1", "log", "above 0"),
        ("0", "inf", "linear", "inf"),
    ],
)
def test_typed_limits_that_make_no_scale_are_refused_in_a_sentence(low, high, scale, part):
    with pytest.raises(ViewerError, match=part):
        typed_levels(low, high, scale)


def test_typed_limits_take_comma_and_minus_sign():
    assert typed_levels("−0,5", "2.5") == Levels(-0.5, 2.5)


@pytest.mark.parametrize(
    ("levels", "most", "expected"),
    [
        (Levels(-7.8, 7.8), 3, (-5, 0, 5)),
        (Levels(0, 0.3), 3, (0, 0.2)),
        (Levels(0, 0.3), 4, (0, 0.1, 0.2, 0.3)),
        (Levels(0, 1 / 512), 4, (0, 0.0005, 0.001, 0.0015)),
        (Levels(1e-6, 0.3, "log"), 3, (1e-6, 1e-4, 1e-2)),
        (Levels(0, 1e-45), 3, (0, 5e-46, 1e-45)),
    ],
)
def test_ticks_are_round_numbers_within_the_limits(levels, most, expected):
    assert levels.ticks(most) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("high", [1 / 512, 1e-30, 3e38, 4e-3])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_tick_but_zero_reads_as_zero(high, most):
    for levels in (Levels(0, high), Levels(-high, high)):
        for tick in levels.ticks(most):
            assert (float(short(tick).replace("−", "-")) == 0) == (tick == 0)


@pytest.mark.parametrize("levels", [Levels(-3, 5), Levels(1e-6, 0.5, "log")])
def test_fraction_and_value_are_inverse(levels):
    for fraction in (0, 0.25, 1):
        assert float(levels.fraction(levels.value(fraction))) == pytest.approx(fraction, abs=1e-12)
