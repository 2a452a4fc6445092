"""The brush over a plane and what is done to its rectangles, against closed formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relpos_viewer.core import brush
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.plane_brush import (
    OPERATIONS,
    Rectangle,
    by_formula,
    changed,
    pasted,
    reach,
    read_block,
    shares,
    write_block,
)

# [head, row, column], no two alike and no symmetry.
PLANES = np.random.default_rng(5).normal(size=(3, 5, 7))
BLOCK = Rectangle(1, 2, 3, 5)

PROFILES = {
    "step": lambda part: 1.0,
    "linear": lambda part: 1 - part,
    "smooth": lambda part: (1 + math.cos(math.pi * part)) / 2,
}


@pytest.mark.parametrize("form", PROFILES)
@pytest.mark.parametrize("radius", [0, 1, 3])
def test_the_share_of_a_cell_falls_with_its_distance_to_the_hand(form: str, radius: int) -> None:
    found = shares((5, 7), Rectangle(1, 2, 1, 2), radius, form)
    for row in range(5):
        for column in range(7):
            part = math.sqrt((row - 1) ** 2 + (column - 2) ** 2) / (radius + 1)
            wanted = PROFILES[form](part) if part < 1 else 0.0
            assert found[row, column] == pytest.approx(wanted, abs=1e-7), (row, column)


def test_a_rectangle_moves_whole_and_its_surroundings_follow_by_their_distance_to_it() -> None:
    found = shares((5, 7), Rectangle(1, 2, 2, 4), 1, "linear")
    diagonal = 1 - math.sqrt(2) / 2
    wanted = [
        [0, diagonal, 0.5, 0.5, 0.5, diagonal, 0],
        [0, 0.5, 1, 1, 1, 0.5, 0],
        [0, 0.5, 1, 1, 1, 0.5, 0],
        [0, diagonal, 0.5, 0.5, 0.5, diagonal, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert np.allclose(found, wanted, atol=1e-7)


def test_a_motion_of_the_flat_planes_adds_the_shares_to_the_heads_that_move() -> None:
    flat = PLANES.reshape(3, -1)
    moved = brush.move(flat, reach((5, 7), BLOCK, 2, "smooth"), -1.5, [0, 2]).reshape(PLANES.shape)
    share = shares((5, 7), BLOCK, 2, "smooth")
    assert np.allclose(moved[0], PLANES[0] - 1.5 * share)
    assert np.allclose(moved[2], PLANES[2] - 1.5 * share)
    assert np.array_equal(moved[1], PLANES[1])


def test_a_rectangle_lies_between_any_two_corners() -> None:
    for one, other in (((3, 5), (1, 2)), ((1, 5), (3, 2)), ((3, 2), (1, 5))):
        assert Rectangle.between(one, other) == BLOCK
    assert BLOCK.shape == (3, 4)
    assert [BLOCK.holds(*cell) for cell in ((1, 2), (3, 5), (0, 2), (4, 5), (2, 1), (2, 6))] == [True] * 2 + [
        False
    ] * 4


def _smooth(values: np.ndarray) -> np.ndarray:
    """The mean over the neighbours that are there, weighted 1 2 1 both ways, cell by cell."""
    height, width = values.shape
    result = np.zeros_like(values)
    for row in range(height):
        for column in range(width):
            total = weight = 0.0
            for down in (-1, 0, 1):
                for across in (-1, 0, 1):
                    y, x = row + down, column + across
                    if 0 <= y < height and 0 <= x < width:
                        share = (2 - abs(down)) * (2 - abs(across))
                        total, weight = total + share * values[y, x], weight + share
            result[row, column] = total / weight
    return result


WANTED = {
    "Flatten": lambda v: np.full(v.shape, v.mean()),
    "Smooth": _smooth,
    "Turn": lambda v: 2 * v.mean() - v,
    "Mirror left–right": lambda v: np.array([list(reversed(row)) for row in v]),
    "Mirror up–down": lambda v: np.array(list(reversed(list(v)))),
    "Reverse": lambda v: np.array([list(reversed(row)) for row in reversed(list(v))]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_changes_its_rectangle_in_its_heads_alone(name: str) -> None:
    before = PLANES.copy()
    result = changed(PLANES, BLOCK, (0, 2), OPERATIONS[name])
    for head in (0, 2):
        wanted = PLANES[head].copy()
        wanted[1:4, 2:6] = WANTED[name](PLANES[head, 1:4, 2:6])
        assert np.allclose(result[head], wanted)
    assert np.array_equal(result[1], PLANES[1])
    assert np.array_equal(PLANES, before), "the values it began with are kept"


def test_a_single_row_or_cell_can_be_smoothed() -> None:
    assert np.allclose(OPERATIONS["Smooth"](np.array([[1.0, 4.0, 2.0]])), [[2.0, 2.75, 8 / 3]])
    assert np.array_equal(OPERATIONS["Smooth"](np.array([[3.5]])), [[3.5]])


def test_a_formula_knows_rows_columns_heads_and_the_value_there_is() -> None:
    result = by_formula("b + 10*dy - dx*h + 100*H", PLANES, BLOCK, (1, 2))
    for head in (1, 2):
        for row in range(5):
            for column in range(7):
                inside = 1 <= row <= 3 and 2 <= column <= 5
                wanted = PLANES[head, row, column]
                if inside:
                    wanted += 10 * (row - 2) - (column - 3) * head + 300
                assert result[head, row, column] == pytest.approx(wanted)
    assert np.array_equal(result[0], PLANES[0])
    with pytest.raises(ViewerError, match="names “dz”"):
        by_formula("dz", PLANES, BLOCK, (0,))


def test_a_block_goes_through_the_clipboard_bit_by_bit() -> None:
    assert np.array_equal(read_block(write_block(PLANES[1])), PLANES[1])
    assert np.array_equal(read_block("1,5; −2\n\n3 4e1\n"), [[1.5, -2.0], [3.0, 40.0]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "no numbers"), ("1 2\n3", "differ in length"), ("1 cat", "“cat” is not a number")],
)
def test_a_clipboard_that_is_no_block_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ViewerError, match=sentence):
        read_block(text)


def test_a_block_begins_at_the_selection_one_number_fills_it_and_a_whole_plane_goes_to_its_place() -> None:
    two = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    result, place = pasted(PLANES, BLOCK, (0,), two)
    assert place == Rectangle(1, 2, 2, 4)
    assert np.array_equal(result[0, 1:3, 2:5], two)
    assert np.count_nonzero(result != PLANES) == 6
    result, place = pasted(PLANES, BLOCK, (0, 1), np.array([[7.0]]))
    assert place == BLOCK
    assert (result[:2, 1:4, 2:6] == 7).all()
    assert np.count_nonzero(result != PLANES) == 2 * 12
    result, place = pasted(PLANES, BLOCK, (2,), PLANES[0])
    assert np.array_equal(result[2], PLANES[0])
    assert place == Rectangle(0, 0, 4, 6)
    with pytest.raises(ViewerError, match="2 × 3 numbers, more than fit"):
        pasted(PLANES, Rectangle(4, 0, 4, 0), (0,), two)
