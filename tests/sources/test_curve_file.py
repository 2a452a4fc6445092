"""Curves from files and copied text: every way in which people write offsets and values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.curve_file import curve_of_text, read_curve_file

NAN = np.nan
WANTED = [NAN, 1.25, -3.0, NAN, 0.5]  # n = 3, δ = −2 … 2


@pytest.mark.parametrize(
    "text",
    [
        "-1\t1.25\n0\t-3\n2\t0.5\n",
        "−1 1,25\n0 −3\n2 0,5",
        "−1\t1,25\r\n0\t−3\r\n2\t0,5\r\n",
        "-1;1,25\n\n0;-3\n2;0,5\n",
        "-1,1.25\n0,-3\n2,0.5\n",
        "-1, 1.25\n0, -3\n2, 0.5\n",
        "offset,curve\n-1,1.25\n0,-3\n2,0.5\n",
        "δ\tb\n-1\t1.25\n0\t-3\n2\t0.5\n",
        "place,height\n-1,1.25\n0,-3\n2,0.5\n",
        "head,offset,curve,edit\n0,-1,7,0\n1,-1,1.25,1\n1,0,-3,1\n1,2,0.5,1\n1,9,4,4\n",
        '"offset","value"\n"-1","1.25"\n"0","-3"\n"2","0.5"\n',
        "-1 1.25\n0 -3\n2 0.5\n8 4\n",  # beyond these positions
    ],
)
def test_a_table_of_offsets_and_values_is_read(text: str) -> None:
    np.testing.assert_array_equal(curve_of_text(text, 3, head=1), WANTED)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no offsets and values"),
        ("wife", "no offsets and values"),
        ("1 2\nthree 4", "three  4"),
        ("1 2\n3\n", "no offsets|not an offset"),
        ("0.5 2\n1 3", "no whole number"),
        ("7 2\n8 3", "no value at an offset from −2 to 2"),
        ("head,offset,curve\n0,1,2\n", "no curve of head 1"),
        ("offset,height\n0,1\n", "call it “curve”"),
    ],
)
def test_what_is_no_table_is_a_sentence(text: str, match: str) -> None:
    with pytest.raises(ViewerError, match=match):
        curve_of_text(text, 3, head=1)


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (np.array([4.0, 5.0, 6.0]), [NAN, 4.0, 5.0, 6.0, NAN]),
        (np.array([[0.0] * 7, [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0]]), [1.0, 2.0, 3.0, 4.0, 5.0]),
        (np.array([[4.0, 5.0, 6.0]]), [NAN, 4.0, 5.0, 6.0, NAN]),
        (np.array([[-1.0, 1.25], [0.0, -3.0], [2.0, 0.5]]), WANTED),
    ],
)
def test_an_array_is_read_with_its_middle_at_offset_0(
    array: np.ndarray, wanted: list[float], tmp_path: Path
) -> None:
    path = tmp_path / "curve.npy"
    np.save(path, array)
    np.testing.assert_array_equal(read_curve_file(path, 3, head=1), wanted)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 5)])
def test_an_array_of_another_shape_is_a_sentence(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "curve.npy"
    np.save(path, np.zeros(shape))
    with pytest.raises(ViewerError, match=r"curve\.npy holds an array"):
        read_curve_file(path, 3)


def test_a_file_of_text_is_read_like_a_copied_table_and_a_missing_one_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("head,offset,curve,edit\n1,-1,1.25,1\n1,0,-3,1\n1,2,0.5,1\n")
    np.testing.assert_array_equal(read_curve_file(path, 3, 1), WANTED)
    with pytest.raises(ViewerError, match=r"away\.csv cannot be read"):
        read_curve_file(tmp_path / "away.csv", 3)
    np.save(tmp_path / "heads.npy", np.zeros((2, 5)))
    with pytest.raises(ViewerError, match="none for head 4"):
        read_curve_file(tmp_path / "heads.npy", 3, 4)
