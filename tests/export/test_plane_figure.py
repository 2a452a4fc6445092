"""The plane of a two-dimensional family in a figure, in the curve's place."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.quantise import LAST_VALUE
from relpos_viewer.document.document import TextSource
from relpos_viewer.export import canvas
from relpos_viewer.export.appearance import lookup, style
from relpos_viewer.export.drawing import draw
from relpos_viewer.export.figures import FigureOptions, figure_bytes
from relpos_viewer.export.picture import Picture, picture
from relpos_viewer.sources.build import inputs_for

ROWS, COLUMNS = 5, 7


def picture_of(table: np.ndarray | None, name: str = "swin") -> Picture:
    inputs = inputs_for(TextSource("a b c d e f g h i j k", heads=2, dim=8))
    family = encoding(name, width=4, **({} if table is None else {"table": table}))
    return picture(inputs, family, scale=None, mask=parse_mask("none"), edit=None, head=1)


def pixels(shown: Picture, theme: str = "light") -> np.ndarray:
    options = FigureOptions(panels=("curve",), width=900, height=420, theme=theme)
    return np.asarray(Image.open(io.BytesIO(figure_bytes(shown, options))).convert("RGB"))


def _largest_block(image: np.ndarray, colour: np.ndarray) -> tuple[float, float, int]:
    """Where the pixels of a colour lie in the middle, and how many there are: row, column, count."""
    rows, columns = np.nonzero((image == colour).all(-1))
    return float(np.median(rows)), float(np.median(columns)), len(rows)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_cell_has_its_place_and_its_colour(theme: str) -> None:
    # Two cells of its own value each: above and left of the query, and below and right of it.
    plane = np.zeros((ROWS, COLUMNS), np.float32)
    plane[0, 1], plane[3, 5] = 2.0, -2.0
    table = np.zeros((ROWS * COLUMNS, 2), np.float32)
    table[:, 1] = plane[::-1, ::-1].ravel()  # files index it by query − key
    image = pixels(picture_of(table), theme)
    colours = lookup("positional", "auto", "auto", style(theme))
    zero_rows, zero_columns, _ = _largest_block(image, colours[LAST_VALUE // 2])
    above, left, many = _largest_block(image, colours[LAST_VALUE])
    below, right, as_many = _largest_block(image, colours[0])
    assert above < zero_rows < below
    assert left < zero_columns < right
    assert min(many, as_many) > 1000
    cell_high, cell_wide = (below - above) / 3, (right - left) / 4
    assert many == pytest.approx(cell_high * cell_wide, rel=0.15)


def test_rows_above_the_query_are_written_above_it() -> None:
    with canvas.settings():
        figure = draw(picture_of(None), FigureOptions(panels=("curve",), width=900), vector=False).figure
    axes = figure.axes[0]
    assert axes.get_ylim() == (ROWS / 2, -ROWS / 2)
    assert axes.get_xlim() == (-COLUMNS / 2, COLUMNS / 2)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["−2", "−1", "0", "1", "2"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["−3", "−2", "−1", "0", "1", "2", "3"]


@pytest.mark.parametrize("name", ["swin", "swin-v2", "beit"])
def test_every_two_dimensional_family_can_be_drawn(name: str) -> None:
    shown = picture_of(None, name)
    assert shown.plane is not None
    assert "b(dy, dx)" in shown.formula
    assert pixels(shown).std() > 5


def test_a_plane_taller_than_its_pixels_is_pooled() -> None:
    inputs = inputs_for(TextSource(" ".join("a" * 1200), heads=1, dim=8))
    shown = picture(inputs, encoding("swin", width=2), scale=None, mask=parse_mask("none"), edit=None, head=0)
    assert shown.plane.shape == (1199, 3)
    assert pixels(shown).shape == (420, 900, 3)
