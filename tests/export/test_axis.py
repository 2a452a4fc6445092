from __future__ import annotations

import math

import pytest

from relpos_viewer.core.levels import Levels
from relpos_viewer.export.axis import (
    factor_labels,
    factor_text,
    nice_step,
    offset_labels,
    token_labels,
)
from relpos_viewer.export.canvas import Ruler
from relpos_viewer.export.fonts import Fonts


@pytest.fixture
def ruler() -> Ruler:
    return Ruler(100, Fonts([]))


@pytest.mark.parametrize(
    ("mantissa", "decade", "text"),
    [
        (1, 0, "×1"),
        (5, 2, "×500"),
        (2, -2, "×0.02"),
        (1, -3, "×0.001"),
        (1, 10, "×10¹⁰"),
        (2, -7, "×2·10⁻⁷"),
        (1, -45, "×10⁻⁴⁵"),
    ],
)
def test_factors_are_written_as_people_read_them(mantissa, decade, text) -> None:
    assert factor_text(mantissa, decade) == text


@pytest.mark.parametrize(("least", "step"), [(0.1, 1), (1, 1), (1.1, 2), (3, 5), (11, 20), (2001, 5000)])
def test_steps_are_one_two_five(least, step) -> None:
    assert nice_step(least) == step


@pytest.mark.parametrize(("low", "high"), [(-0.01, 0.01), (-3, 5), (-800, 20), (-1e-9, 1e-9), (700, 800)])
def test_factors_name_their_bias(ruler, low, high) -> None:
    labels = factor_labels(low, high, 300, ruler, 12)
    assert 2 <= len(labels.texts) <= 20
    raised = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
    for place, text in zip(labels.places, labels.texts, strict=True):
        bias = low + place * (high - low)
        if "10" in text and any(each in text for each in "⁰¹²³⁴⁵⁶⁷⁸⁹"):
            mantissa, _, power = text.removeprefix("×").rpartition("10")
            said = math.log(float(mantissa.rstrip("·") or 1)) + int(power.translate(raised)) * math.log(10)
        else:
            said = math.log(float(text.removeprefix("×").translate(raised)))
        assert said == pytest.approx(bias, abs=0.01 * (high - low))


@pytest.mark.parametrize("axis", ["linear", "symlog"])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 0), (-34, 4), (-2047, 205), (-2047, 2047)])
def test_offsets_are_labelled_by_their_own_name_and_zero_is_among_them(ruler, axis, low, high) -> None:
    labels = offset_labels(low - 0.5, high + 0.5, axis, 600, ruler, 12)
    assert [text.replace("−", "-") for text in labels.texts] == [str(int(place)) for place in labels.places]
    assert 0 in labels.places and list(labels.places) == sorted(set(labels.places))
    assert all(low <= place <= high for place in labels.places)


def test_long_words_are_cut_and_marked(ruler) -> None:
    labels = token_labels(["incomprehensibilities", "a"], 0, 400, ruler, 12, upright=True)
    assert labels.texts[0].endswith("…") and labels.texts[0].startswith("incompre") and labels.texts[1] == "a"
    assert ruler.width(labels.texts[0], 12) <= 7 * 12


def test_positions_begin_where_the_queries_begin(ruler) -> None:
    labels = token_labels(["w"] * 300, 1700, 200, ruler, 12, upright=True)
    assert labels.texts[0] == "1700" and labels.places[0] == 0
    assert all(int(text) - place == 1700 for place, text in zip(labels.places, labels.texts, strict=True))


def test_a_short_bar_still_says_both_ends(ruler) -> None:
    from relpos_viewer.export.axis import value_labels

    assert value_labels(Levels(-123456.0, 123456.0), 40, ruler, 12, upright=False).places == (0.0, 1.0)
