"""Quantise: colours in proportion, and a mark of its own for everything that is no colour."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.core.levels import Levels, choose_levels
from relpos_viewer.core.quantise import (
    BELOW,
    BEYOND,
    LAST_VALUE,
    MARKS,
    MASKED,
    NAN,
    NEG_INF,
    NO_KEY,
    POS_INF,
    ZERO_CODE,
    quantise,
)

TERMS, LOG = Levels(-2, 2), Levels(1e-6, 1, "log")


@pytest.mark.parametrize(
    ("value", "levels", "code"),
    [
        (0.0, TERMS, ZERO_CODE),
        (-2.0, TERMS, 0),
        (2.0, TERMS, LAST_VALUE),
        (1.0, TERMS, round(LAST_VALUE * 0.75)),
        (7.0, TERMS, LAST_VALUE),  # past a typed limit: the colour of its end
        (-3e38, TERMS, 0),
        (np.nan, TERMS, NAN),
        (np.inf, TERMS, POS_INF),
        (-np.inf, TERMS, NEG_INF),
        (1.0, LOG, LAST_VALUE),
        (1e-3, LOG, ZERO_CODE),
        (1e-6, LOG, 0),
        (1.93e-22, LOG, BELOW),
        (0.0, LOG, BELOW),
        (np.nan, LOG, NAN),
        (0.0, Levels(0, 1e-45), 0),
        (3e38, Levels(-3e38, 3e38), LAST_VALUE),
    ],
)
def test_every_value_has_its_code(value, levels, code):
    values = np.asarray([[value, np.nan], [3e38, 0.5]], np.float32)  # its neighbours do not matter
    assert quantise(values, None, levels)[0, 0] == code
    assert quantise(np.asarray([[value]], np.float32), None, levels)[0, 0] == code


def test_underflow_masked_and_nan_are_three_codes():
    values = np.asarray([[1, 1.93e-22, 0, 0, np.nan]], np.float32)
    visible = np.asarray([[True, True, True, False, True]])
    assert quantise(values, visible, choose_levels(values, visible, scale="log")).tolist() == [
        [LAST_VALUE, BELOW, BELOW, MASKED, NAN]
    ]


def test_masked_wins_over_what_lies_under_it_and_a_query_without_keys_over_masked():
    values = np.asarray([[np.nan, np.inf], [0, 0], [1, 1]], np.float32)
    visible = np.asarray([[False, False], [False, False], [True, True]])
    codes = quantise(values, visible, TERMS, no_key=~visible.any(1) & [False, True, False])
    assert codes.tolist() == [[MASKED] * 2, [NO_KEY] * 2, [quantise(values, None, TERMS)[2, 0]] * 2]


def test_offsets_beyond_the_encoding_are_marked_but_not_over_the_mask():
    beyond = np.asarray([[True, True, False]])
    codes = quantise(np.zeros((1, 3), np.float32), np.asarray([[True, False, True]]), TERMS, beyond=beyond)
    assert codes.tolist() == [[BEYOND, MASKED, ZERO_CODE]]


def test_no_mark_is_a_value_and_every_mark_has_words():
    assert min(MARKS) > LAST_VALUE and all(MARKS.values())


def test_float32_and_float64_pictures_agree():
    values = np.random.default_rng(1).normal(size=(64, 64))
    narrow = quantise(values.astype(np.float32), None, TERMS).astype(int)
    assert np.abs(narrow - quantise(values, None, TERMS)).max() <= 1
