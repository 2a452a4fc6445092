"""Typed formulas: what they give, and that nothing else can be typed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.formula import FUNCTIONS, VARIABLES, evaluate

D = np.arange(-4.0, 5.0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-0.5*abs(d)**0.7", -0.5 * np.abs(D) ** 0.7),
        ("d", D),
        ("δ^2", D**2),
        ("-d**2", -(D**2)),
        ("2**3**2", 512.0),
        ("2**-1", 0.5),
        ("1 - 2 - 3", -4.0),
        ("8/4/2", 1.0),
        ("7 % 4", 3.0),
        ("2+3*4", 14.0),
        ("(2+3)*4", 20.0),
        ("--3", 3.0),
        ("1.5e2 + .5", 150.5),
        ("where(d <= 0, d, -9)", np.where(D <= 0, D, -9.0)),
        ("max(d, -2) + min(1, d)", np.maximum(D, -2) + np.minimum(1, D)),
        ("(d == 0) * 3", (D == 0) * 3.0),
        ("log(1 + abs(d)) * h / H", np.log(1 + np.abs(D)) * 2 / 4),
        ("cos(pi*d)", np.cos(np.pi * D)),
        ("b + 1", D * 10 + 1),
        ("e", np.e),
    ],
)
def test_a_formula_means_what_it_says(text: str, wanted: object) -> None:
    value = evaluate(text, d=D, b=D * 10, n=5, h=2, H=4)
    np.testing.assert_allclose(value, wanted, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the formula is empty; write one such as -0.5*abs(d)**0.7."),
        ("d +", "the formula ends too early; something is missing at its end."),
        ("(d", "the formula has a bracket that is not closed."),
        ("d d", "the formula has “d” where it should end."),
        ("* d", "the formula has “*” where a number or a name should stand."),
        ("d; 1", "the formula has “;” where no such sign can stand."),
        ("abs", "abs is a function; write abs(…)."),
        ("max(d)", "max takes 2 values, not 1."),
        ("abs(d, 1)", "abs takes 1 value, not 2."),
        ("1/0", "the formula 1/0 is no finite number everywhere; mind log(0) and 1/0."),
        ("log(d)", "the formula log(d) is no finite number everywhere; mind log(0) and 1/0."),
        ("9" * 501, "the formula has 501 signs, and the limit is 500."),
        ("(" * 60 + "d" + ")" * 60, "the formula is nested more than 50 deep; write a simpler one."),
        ("2**" * 60 + "2", "the formula is nested more than 50 deep; write a simpler one."),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ViewerError) as refused:
        evaluate(text, d=D)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "d.__class__",
        "d[0]",
        "lambda: 1",
        "exec(d)",
        "open(d)",
        "d if d else d",
        "'a'",
        "{d}",
    ],
)
def test_nothing_of_python_can_be_reached(text: str) -> None:
    with pytest.raises(ViewerError):
        evaluate(text, d=D)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ViewerError, match="did you mean sqrt"):
        evaluate("sqr(d)", d=D)


@given(st.text(alphabet="dbnhH0123456789.+-*/^%()<>=!, abscolgexpinmqrtwuf", max_size=40))
def test_any_text_is_a_number_or_a_sentence(text: str) -> None:
    try:
        value = evaluate(text, d=D, b=D, n=9.0, h=0.0, H=4.0)
    except ViewerError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert np.isfinite(value).all()


def test_every_function_and_variable_can_be_used() -> None:
    for name, (count, _) in FUNCTIONS.items():
        evaluate(f"{name}({', '.join(['abs(d) + 1'] * count)})", d=D)
    assert set(VARIABLES) == {"d", "b", "n", "h", "H", "pi", "e"}
