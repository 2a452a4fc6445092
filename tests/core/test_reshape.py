"""What is done at once to a range of a curve."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.core import reshape

RANGE = np.array([0.0, 4.0, -2.0, 6.0])


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (reshape.scaled(RANGE, 2.0), [-2.0, 6.0, -6.0, 10.0]),
        (reshape.scaled(RANGE, 0.0), [2.0] * 4),
        (reshape.shifted(RANGE, -1.5), [-1.5, 2.5, -3.5, 4.5]),
        (reshape.flattened(RANGE), [2.0] * 4),
        (reshape.straightened(RANGE), [0.0, 2.0, 4.0, 6.0]),
        (reshape.smoothed(RANGE), [0.0, 1.5, 1.5, 6.0]),
        (reshape.reversed_(RANGE), [6.0, -2.0, 4.0, 0.0]),
        (reshape.turned(RANGE), [4.0, 0.0, 6.0, -2.0]),
    ],
)
def test_a_range_is_reshaped(result: np.ndarray, wanted: list[float]) -> None:
    assert result.tolist() == wanted


@pytest.mark.parametrize(
    "shape",
    [
        lambda x: reshape.scaled(x, 3.0),
        lambda x: reshape.shifted(x, 1.0),
        reshape.flattened,
        reshape.straightened,
        reshape.smoothed,
        reshape.turned,
    ],
)
def test_what_has_no_value_gets_none_and_spoils_none(shape) -> None:
    holed = np.array([0.0, np.nan, 4.0, 2.0])
    result = shape(holed)
    assert np.isnan(result).tolist() == [False, True, False, False]
    assert np.isnan(shape(np.full(3, np.nan))).all()


def test_turning_twice_and_reversing_twice_give_the_range_back() -> None:
    np.testing.assert_allclose(reshape.turned(reshape.turned(RANGE)), RANGE)
    assert reshape.reversed_(reshape.reversed_(RANGE)).tolist() == RANGE.tolist()
