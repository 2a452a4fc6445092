"""Numbers as people read and type them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import digits, logarithm, number_texts, parse_number, short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1 / 512, "0.00195"),
        (-17.0, "−17"),
        (0.8, "0.8"),
        (1234.0, "1234"),
        (99_999.0, "99999"),
        (123_456.0, "1.23e5"),
        (1.785e-08, "1.79e−8"),
        (999.6, "1000"),
        (99.96, "100"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_a_number_is_written_with_three_digits(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "most", "text"),
    [
        (-0.1234567, 4, "−0.1235"),
        (-2.5e-7, 4, "−2.5e−07"),
        (1 / 3, 6, "0.333333"),
        (20.0, 4, "20"),
        (-0.5, 10, "−0.5"),
    ],
)
def test_more_digits_can_be_asked_for_with_the_same_minus(value: float, most: int, text: str) -> None:
    assert digits(value, most) == text


def test_a_sign_can_be_asked_for() -> None:
    assert [short(x, signed=True) for x in (1.5, -1.5, 0.0)] == ["+1.5", "−1.5", "0"]


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_short_number_reads_back_to_three_digits(value: float) -> None:
    assert parse_number(short(value)) == pytest.approx(value, rel=5.1e-3, abs=0)


@pytest.mark.parametrize(
    ("text", "value"), [("−1,25", -1.25), (" 3.5 ", 3.5), ("1e-3", 1e-3), ("-2", -2), ("+4", 4)]
)
def test_comma_point_and_either_minus_are_read(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "nan", "inf", "1_000", "1,2,3"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ViewerError, match=f"“{text}” is not a number"):
        parse_number(text)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.0, 1 / 512), ["0", "0.00195"]),
        ((-2.0, 0.0, 2.0), ["−2", "0", "2"]),
        ((1.0001, 1.0002), ["1.0001", "1.0002"]),
        ((1000.25, 1000.5), ["1000.2", "1000.5"]),
        ((1e-30, 2e-30), ["1e−30", "2e−30"]),
        ((5.0, 5.0), ["5", "5"]),
    ],
)
def test_neighbouring_numbers_are_short_but_never_alike(values, texts) -> None:
    assert number_texts(values) == texts


@pytest.mark.parametrize(
    ("natural", "text"),
    [(-200.0, "−86.86"), (-50.0, "−21.71"), (math.log(0.25), "−0.602"), (0.0, "0"), (-math.inf, "−∞")],
)
def test_a_logarithm_has_two_decimals(natural: float, text: str) -> None:
    assert logarithm(natural) == text  # P05
