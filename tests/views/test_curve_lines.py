"""Thinning a long curve to the pixels there are: nothing that stands out is lost, and it stays cheap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from relpos_viewer.views.curve_lines import Thinning, runs, span, stroke
from relpos_viewer.views.curve_scale import SCALES, PlotMap


def plot_map(n, scale="linear", low=None, high=None, width=400.0, values=(-4.0, 4.0)):
    low, high = (1 - n - 0.5 if low is None else low), (n - 0.5 if high is None else high)
    forward = SCALES[scale].forward
    return PlotMap(SCALES[scale], 0.0, 0.0, width, 100.0, (float(forward(low)), float(forward(high))), values)


@pytest.mark.parametrize("scale", sorted(SCALES))
@pytest.mark.parametrize("n", [300, 5000, 32768])
def test_a_single_peak_survives_and_stays_in_its_pixel(scale, n):
    m = plot_map(n, scale)
    values = np.zeros(2 * n - 1, np.float32)
    values[n - 1 - n // 3] = 3.0
    values[n - 1 + n // 3] = -2.0
    thin = Thinning.of(m, n)
    line = thin.line(values)
    assert (line.max(), line.min()) == (3.0, -2.0)
    for offset, value in ((-(n // 3), 3.0), (n // 3, -2.0)):
        x = thin.x[line == value]
        assert abs(float(m.x(offset)) - x.mean()) <= 1.5


@pytest.mark.parametrize("scale", sorted(SCALES))
def test_a_curve_of_65535_offsets_is_drawn_with_two_points_a_pixel(scale):
    thin = Thinning.of(plot_map(32768, scale), 32768)
    assert thin.dense
    assert len(thin.x) <= 2 * 402


def test_a_sparse_curve_keeps_every_offset_in_view_and_one_beyond_each_edge():
    m = plot_map(35, low=-20.5, high=-9.5)
    thin = Thinning.of(m, 35)
    assert not thin.dense
    values = np.arange(69, dtype=np.float32)
    assert (thin.line(values) - 34).tolist() == list(range(-22, -7))
    assert thin.x[1] < 0 < thin.x[2]


@given(st.integers(1, 400), st.integers(0, 3))
def test_the_envelope_is_that_of_the_offsets_in_each_pixel(n, seed):
    m = plot_map(n, width=60.0)
    values = np.random.default_rng(seed).normal(size=2 * n - 1).astype(np.float32)
    thin = Thinning.of(m, n)
    line = thin.line(values)
    if not thin.dense:
        np.testing.assert_array_equal(line, values[thin.first : thin.last + 1])
        return
    column = np.floor(m.x(np.arange(1 - n, n))).astype(int)
    for k, pixel in enumerate(np.unique(column)):
        assert {line[2 * k], line[2 * k + 1]} == {
            values[column == pixel].min(),
            values[column == pixel].max(),
        }


def test_an_unknown_value_hides_no_known_one_in_its_pixel():
    n = 2000
    values = np.full(2 * n - 1, np.nan, np.float32)
    values[n] = 1.0
    line = Thinning.of(plot_map(n), n).line(values)
    assert np.nanmax(line) == 1.0
    assert np.isnan(line).sum() == len(line) - 2


def test_a_flag_holds_for_a_pixel_when_it_holds_for_any_offset_in_it():
    n = 2000
    flags = np.zeros(2 * n - 1, bool)
    flags[n] = True
    thin = Thinning.of(plot_map(n), n)
    assert thin.any(flags).sum() == 2


def test_runs_are_the_first_and_last_places_of_true():
    assert runs(np.array([True, True, False, True, False, False, True])) == [(0, 1), (3, 3), (6, 6)]
    assert runs(np.zeros(3, bool)) == []


def test_a_span_takes_its_offsets_and_half_of_the_way_to_the_next_and_ends_at_the_plot():
    m = plot_map(10, low=-9.5, high=9.5, width=190.0)
    assert (span(m, -2, 1).left(), span(m, -2, 1).right()) == pytest.approx((70, 110))
    assert span(m, -100, 100).width() == 190


def painted(values, width, n=None):
    """Rows of each pixel column that a stroke reached, [column] of sets."""
    n = n or (len(values) + 1) // 2
    m = plot_map(n)
    image = QImage(400, 100, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    thin = Thinning.of(m, n)
    stroke(painter, m, thin.x, thin.line(np.asarray(values, np.float32)), QPen(QColor("black"), width))
    painter.end()
    grey = np.frombuffer(image.constBits(), np.uint8).reshape(100, 400, 4)[..., 0]
    return [set(np.flatnonzero(grey[:, column] < 250).tolist()) for column in range(400)]


@pytest.mark.parametrize("n", [20, 2000])
def test_a_level_curve_is_a_line_of_its_width_at_its_height(n):
    thin, wide = (painted(np.full(2 * n - 1, 2.0), width) for width in (1.0, 2.2))
    for column in (20, 200, 380):
        assert thin[column] and thin[column] <= {24, 25}
        assert thin[column] < wide[column] <= {23, 24, 25, 26}


def test_a_curve_breaks_where_it_is_unknown():
    values = np.zeros(39)
    values[15:24] = np.nan
    rows = painted(values, 2.2)
    assert rows[100] and rows[300]
    assert not rows[200]


def test_a_rough_curve_fills_its_range_in_every_pixel():
    rng = np.random.default_rng(0)
    rows = painted(rng.uniform(-3, 3, size=2 * 32768 - 1), 2.2)
    assert all(min(r) <= 16 and max(r) >= 83 for r in rows[1:-1])
