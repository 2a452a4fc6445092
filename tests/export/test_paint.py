from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.export.appearance import Mark
from relpos_viewer.export.paint import paint

GREY = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)  # code c is the grey c


@pytest.mark.parametrize("pixels", [3, 4, 7, 10, 100])
def test_a_pixel_over_an_edge_mixes_its_cells_by_area(pixels) -> None:
    cells = np.array([[0, 200, 100]], np.uint8)
    row = paint(cells, GREY, {}, (1, pixels), 10)[0, :, 0]
    fine = (
        np.repeat(cells[0], 1000 * pixels).reshape(pixels, 3 * 1000).mean(1)
    )  # pixels in thousandths of a cell
    assert np.abs(row - fine).max() <= 0.51
    column = paint(cells.T, GREY, {}, (pixels, 1), 10)[:, 0, 0]
    assert np.array_equal(column, row)


@pytest.mark.parametrize("hatch", ["/", "\\", "-", "+", "x"])
def test_a_hatch_covers_its_cell_alone_and_most_of_its_ground_stays(hatch) -> None:
    codes = np.array([[255, 50]], np.uint8)
    picture = paint(codes, GREY, {255: Mark("#ffffff", "#000000", hatch)}, (60, 120), 20)
    assert picture.shape == (60, 120, 4) and picture[..., 3].min() == 255
    marked, plain = picture[:, :60, 0], picture[:, 60:, 0]
    assert (plain == 50).all()
    assert marked.min() < 40 and 0.6 < (marked > 200).mean() < 0.95


def test_hatches_grow_with_the_letters() -> None:
    codes, mark = np.full((1, 1), 255, np.uint8), {255: Mark("#ffffff", "#000000", "-")}
    small, large = (paint(codes, GREY, mark, (30 * em, 1), em)[:, 0, 0] for em in (10, 40))

    def lines(column: np.ndarray) -> int:
        return int((np.diff((column < 128).astype(int)) == 1).sum())

    assert lines(small) == lines(large) > 20


def test_an_overlay_keeps_the_colour_under_it() -> None:
    codes = np.full((1, 2), 50, np.uint8)
    where = np.array([[True, False]])
    picture = paint(codes, GREY, {}, (40, 80), 10, (where, Mark("#000000", "#ffffff", "/")))
    assert (picture[:, 40:, :3] == 50).all()
    hatched = picture[:, :40, 0]
    assert hatched.min() == 50 and hatched.max() > 180
