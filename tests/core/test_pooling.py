"""Pooling: every cell counts in exactly one pixel, and what is wrong with the data survives zooming out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.pooling import REDUCTIONS, block_edges, block_of, pool, strongest_cell, whole_cells

NAN, INF = float("nan"), float("inf")


def blockwise(values, visible, shape, reduce):
    """The same by loops over the cells of each block, in float64."""
    h, w = shape
    rows, cols = block_edges(values.shape[0], h), block_edges(values.shape[1], w)
    pooled, shown = np.zeros(shape), np.zeros(shape, bool)
    for y in range(h):
        for x in range(w):
            block = np.s_[rows[y] : rows[y + 1], cols[x] : cols[x + 1]]
            cells = values[block][visible[block]].astype(np.float64)
            shown[y, x] = cells.size > 0
            if cells.size:
                pooled[y, x] = cells.mean() if reduce == "mean" else cells[np.argmax(np.abs(cells))]
    return pooled, shown


@pytest.mark.parametrize("reduce", ["mean", "max"])
@pytest.mark.parametrize(
    ("cells", "shape"),
    [
        ((8, 12), (4, 3)),
        ((13, 7), (5, 3)),
        ((9, 10), (8, 9)),
        ((6, 6), (6, 2)),
        ((700, 3), (2, 3)),
        ((5, 1), (2, 1)),
    ],
)
@pytest.mark.parametrize("mask", ["none", "causal", "random"])
def test_each_pixel_reduces_exactly_the_visible_cells_of_its_block(cells, shape, reduce, mask):
    rng = np.random.default_rng(3)
    values = rng.normal(size=cells).astype(np.float32)
    visible = {
        "none": np.ones(cells, bool),
        "causal": np.tri(*cells, dtype=bool),
        "random": rng.random(cells) < 0.3,
    }[mask]
    pooled, shown = pool(
        values, None if mask == "none" else visible, (0, cells[0]), (0, cells[1]), shape, reduce
    )
    expected, expected_shown = blockwise(values, visible, shape, reduce)
    np.testing.assert_array_equal(shown, expected_shown)
    np.testing.assert_allclose(pooled, expected, rtol=1e-5, atol=1e-6)
    assert pooled.dtype == np.float32


def test_a_single_hot_cell_of_4096_squared_is_hot_in_its_own_pixel_and_nowhere_else():
    values = np.zeros((4096, 4096), np.float32)
    values[1234, 3210] = 1  # 1234 mod 8 = 2: taking every eighth cell misses it
    pooled, _ = pool(values, None, (0, 4096), (0, 4096), (512, 512), "max")
    assert pooled[154, 401] == 1
    assert pooled.sum() == 1


@pytest.mark.parametrize(
    ("cell", "reduce", "expected"),
    [
        (NAN, "mean", NAN),
        (NAN, "max", NAN),
        (INF, "mean", INF),
        (INF, "max", INF),
        (-INF, "mean", -INF),
        (-INF, "max", -INF),
        (-9.0, "max", -9.0),  # the larger magnitude keeps its sign
    ],
)
@pytest.mark.parametrize("size", [8, 9])
def test_an_extraordinary_cell_stays_visible_when_zoomed_out(cell, reduce, expected, size):
    values = np.ones((size, size), np.float32)
    values[5, 1] = cell
    pooled, _ = pool(values, None, (0, size), (0, size), (4, 4), reduce)
    y, x = (np.searchsorted(block_edges(size, 4), index, "right") - 1 for index in (5, 1))
    np.testing.assert_equal(pooled[y, x], np.float32(expected))
    pooled[y, x] = 1
    np.testing.assert_array_equal(pooled, 1)


@pytest.mark.parametrize("masked", [NAN, INF, -INF, 1e30])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_a_masked_cell_never_leaks_into_its_block(masked, reduce):
    values = np.full((4, 4), 2.0, np.float32)
    values[1, 1] = masked
    visible = np.ones((4, 4), bool)
    visible[1, 1] = False
    pooled, shown = pool(values, visible, (0, 4), (0, 4), (2, 2), reduce)
    np.testing.assert_array_equal(pooled[shown], 2)


def test_numbers_near_the_end_of_float32_do_not_turn_infinite():
    pooled, _ = pool(np.full((4, 4), 3e38, np.float32), None, (0, 4), (0, 4), (1, 1), "mean")
    np.testing.assert_allclose(pooled, 3e38, rtol=1e-6)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 10), (0, 10)),
        ((2.2, 4.1), (2, 5)),
        ((-3, 99), (0, 10)),
        ((4, 4), (4, 5)),
        ((12, 15), (9, 10)),
        ((-5, -1), (0, 1)),
    ],
)
def test_a_viewport_is_taken_outwards_to_whole_cells(span, expected):
    assert whole_cells(span, 10) == expected


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_fewer_cells_than_pixels_come_back_as_they_are(reduce, kind):
    values = np.arange(30, dtype=np.float32).reshape(5, 6)
    pooled, shown = pool(kind(values), None, (1.5, 3.5), (2, 6), (400, 400), reduce)
    np.testing.assert_array_equal(pooled, values[1:4, 2:6])
    assert shown.all() and shown.shape == pooled.shape


def test_an_unknown_reduction_is_named():
    with pytest.raises(ViewerError, match="median"):
        pool(np.zeros((2, 2)), None, (0, 2), (0, 2), (1, 1), "median")


@pytest.mark.parametrize("size", [4096, 1000])
def test_the_true_cell_behind_a_hot_pixel_is_found(size):
    values = np.zeros((size, size), np.float32)
    values[123, 321] = -1
    rows, cols = (block_of(index, (0, size), 512) for index in (124 if size == 4096 else 123, 321))
    assert strongest_cell(values, None, rows, cols) == (123, 321)
    assert strongest_cell(values, np.zeros((size, size), bool), rows, cols) is None


@pytest.mark.parametrize(
    ("values", "hidden", "expected"),
    [
        ([[1, -3], [2, 0]], (), (0, 1)),  # the largest magnitude
        ([[INF, 0], [NAN, 0]], (), (1, 0)),  # not a number before infinite
        ([[NAN, 0], [5, -INF]], [(0, 0)], (1, 1)),  # masked cells stand aside
        ([[0, 0], [0, 0]], [(0, 0)], (0, 1)),
    ],
)
def test_the_strongest_cell_is_the_one_that_max_shows(values, hidden, expected):
    visible = np.ones((2, 2), bool)
    for cell in hidden:
        visible[cell] = False
    values = np.asarray(values, np.float32)
    assert strongest_cell(values, visible, (0, 2), (0, 2)) == expected
    pooled, _ = pool(values, visible, (0, 2), (0, 2), (1, 1), "max")
    np.testing.assert_equal(pooled[0, 0], values[expected])


@pytest.mark.parametrize(("cells", "blocks"), [(13, 5), (8, 8), (700, 512)])
def test_every_cell_is_in_the_block_that_names_it(cells, blocks):
    edges = block_edges(cells, blocks) + 3
    for cell in range(3, cells + 3):
        start, stop = block_of(cell, (3, cells + 3), blocks)
        assert start <= cell < stop and start in edges and stop in edges
