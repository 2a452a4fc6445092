"""Codes to pixels: each panel is one picture of exactly the pixels it is given, hatches included.

Drawn as an image and not as matplotlib's hatches: those have a fixed size on paper, so that they would grow and shrink
against a figure of another width, and viewers of SVG and PDF blur an image of few, enlarged cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from relpos_viewer.export.appearance import Mark, rgb

PERIOD = 0.62  # distance of hatch lines, in em
LINE = 0.085  # their thickness, in em


def paint(
    codes: np.ndarray,
    colours: np.ndarray,
    marks: Mapping[int, Mark],
    shape: tuple[int, int],
    em: float,
    overlay: tuple[np.ndarray, Mark] | None = None,
) -> np.ndarray:
    """Enlarge codes to RGBA uint8 [height, width, 4].

    Args:
        codes: uint8 [h, w], see `core.quantise`; h ≤ height and w ≤ width.
        colours: uint8 [256, 3], one for each code.
        marks: the codes that are hatched.
        shape: (height, width) in pixels.
        em: pixels of one em, which the hatches are measured in.
        overlay: bool [h, w] cells that keep their colour but are hatched in the ink of the mark.

    A pixel that lies over an edge between cells gets the mixture of both, so every cell is as large as the next.
    """
    height, width = shape
    picture = _enlarge(colours[codes].astype(np.float32), height, width)  # [height, width, 3]
    hatched = [(codes == code, mark) for code, mark in marks.items() if mark.hatch]
    for where, mark in [*hatched, *([overlay] if overlay else [])]:
        if where.any():
            cover = _enlarge(where.astype(np.float32)[..., None], height, width)  # [height, width, 1]
            cover *= _hatch(mark.hatch, height, width, em)[..., None]
            picture += cover * (np.array(rgb(mark.ink), np.float32) - picture)
    opaque = np.full((height, width, 1), 255, np.uint8)
    return np.concatenate([np.rint(picture).astype(np.uint8), opaque], axis=2)


def _enlarge(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """[h, w, channel] to [height, width, channel] by the area that each cell has of each pixel."""
    return _stretch(_stretch(cells, height).swapaxes(0, 1), width).swapaxes(0, 1)


def _stretch(cells: np.ndarray, length: int) -> np.ndarray:
    """Stretch the first axis to `length` pixels; each lies over at most two cells."""
    count = cells.shape[0]
    if count == length:
        return cells
    edges = np.arange(length + 1) * count / length  # pixel edges in cells
    first = np.floor(edges[:-1] + 1e-9).astype(int)
    last = np.clip(np.ceil(edges[1:] - 1e-9).astype(int) - 1, first, count - 1)
    share = np.where(first == last, 1.0, (first + 1 - edges[:-1]) * length / count)  # of the first cell
    share = share.astype(np.float32).reshape(-1, *[1] * (cells.ndim - 1))
    result = cells[first]
    mixed = np.flatnonzero(first != last)
    result[mixed] = share[mixed] * result[mixed] + (1 - share[mixed]) * cells[last[mixed]]
    return result


def _hatch(pattern: str, height: int, width: int, em: float) -> np.ndarray:
    """How much of each pixel the lines of a hatch cover, float32 [height, width] in 0 … 1."""
    y, x = np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)[None, :]
    diagonal = math.sqrt(0.5)
    across = {  # distance across the lines, in pixels
        "/": [(x + y) * diagonal],
        "\\": [(x - y) * diagonal],
        "x": [(x + y) * diagonal, (x - y) * diagonal],
        "-": [y + 0 * x],
        "+": [y + 0 * x, x + 0 * y],
    }[pattern]
    period, line = max(PERIOD * em, 2.0), LINE * em
    cover = np.zeros((height, width), np.float32)
    for distance in across:
        off = np.abs((distance / period + 0.5) % 1 - 0.5) * period  # from the middle of the nearest line
        np.maximum(cover, np.clip(line / 2 + 0.5 - off, 0, min(line, 1.0)), out=cover)
    return cover
