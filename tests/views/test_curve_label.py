"""The words beside the pointer, and the table of the clipboard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.views.curve_label import point_label, read_table, write_table

from .curve_mouse import curve_set


def text(curves, edit=None, offset=-3, **state):
    edit = curves.edit if edit is None else edit
    return "".join(part for part, _ in point_label(curves, edit, offset, **state))


def edited(curves, offset, value):
    edit = curves.edit.copy()
    edit[curves.head, offset + curves.n - 1] = value
    return edit


FAMILY = np.zeros((2, 17), np.float32)
FAMILY[0, 5] = 0.22  # δ = −3
BUCKETS = np.arange(17) // 2


@pytest.mark.parametrize(
    ("changes", "edit", "state", "expected"),
    [
        ({}, 0.0, {}, "δ = −3   b = +0.22"),
        ({}, 7.5, {}, "δ = −3   b = +7.72 (+0.22 +7.5)"),
        ({}, -0.42, {}, "δ = −3   b = −0.2 (+0.22 −0.42)"),
        ({"buckets": BUCKETS}, 0.0, {}, "δ = −3   b = +0.22   bucket 2"),
        ({"exact": False}, 0.0, {}, "δ = −3   b = +0.22 (mean +0.22)"),
        ({"visible": np.zeros(17, bool)}, 0.0, {}, "δ = −3   b = +0.22   masked"),
        ({"beyond": np.ones(17, bool)}, 0.0, {}, "δ = −3   b = +0.22   beyond drawn range"),
        ({}, 0.0, {"fine": True, "snap_step": 0.05}, "δ = −3   b = +0.22   round to 0.05 · fine ×0.1"),
        (
            {"family": np.full((2, 17), np.nan, np.float32), "exact": False},
            1.0,
            {},
            "δ = −3   b = +1 (no cell +1)",
        ),
    ],
)
def test_a_point_says_its_offset_its_value_and_what_it_is_made_of(changes, edit, state, expected):
    curves = curve_set(**{"family": FAMILY, **changes})
    assert text(curves, edited(curves, -3, edit), **state) == expected


def test_a_small_value_is_never_written_as_zero():
    curves = curve_set()
    assert "b = +0.00195" in text(curves, edited(curves, -3, 1 / 512))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=17))
def test_a_copied_table_reads_back_bit_for_bit(values):
    offsets = np.arange(len(values)) - 8
    back, totals = read_table(write_table(offsets, np.array(values, np.float32)), 9)
    np.testing.assert_array_equal(back, offsets)
    assert totals.astype(np.float32).tobytes() == np.array(values, np.float32).tobytes()


@pytest.mark.parametrize(
    "table", ["-2\t1.5\n3\t-4", "−2 1,5\n3 −4\n", "offset;b\n-2;1.5\n\n3;-4", "δ\tb\r\n-2\t1.5\r\n3\t-4\r\n"]
)
def test_tables_of_spreadsheets_and_people_are_read(table):
    offsets, values = read_table(table, 9)
    assert offsets.tolist() == [-2, 3]
    assert values.tolist() == [1.5, -4.0]


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("", "no offsets"),
        ("δ\tb", "Line 1"),
        ("1 2\n3", "Line 2"),
        ("1 2 3", "Line 1"),
        ("1 2\n1.5 2", "“1.5 2”"),
        ("9 1", "−8 to 8"),
        ("1 2\n3 nan", "Line 2"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(table, named):
    with pytest.raises(ViewerError, match=named) as caught:
        read_table(table, 9)
    assert str(caught.value).count(". ") == 0
