"""The bias plane as a panel: the table of a two-dimensional family, in the place of the curve."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from relpos_viewer.core.levels import Levels
from relpos_viewer.core.numbers import short
from relpos_viewer.core.planes import PlaneSet
from relpos_viewer.core.pooling import block_edges
from relpos_viewer.core.quantise import LAST_VALUE, quantise
from relpos_viewer.export.appearance import Style
from relpos_viewer.export.axis import LINE, value_labels
from relpos_viewer.export.canvas import Box, Canvas, Ruler
from relpos_viewer.export.layout import BAR, HEADER, SIDE_NAME, SMALL

WIDEST = 3.0  # of a cell, for its height
BORDER = 0.06  # em


def draw_plane(
    canvas: Canvas,
    box: Box,
    planes: PlaneSet,
    head: int,
    colours: np.ndarray,
    look: Style,
    em: float,
    left: float,
) -> None:
    """Draw the panel into `box`, its titles, axes and colour bar included.

    The plane begins at `left` where its labels leave room for that, in line with what stands above it.

    Args:
        canvas: the figure.
        box: pixels.
        planes: what to draw.
        head: of which head.
        colours: uint8 [256, 3], see `core.quantise`.
        look: the theme.
        em: pixels.
        left: pixels.
    """
    values = planes.values[head]  # [row, column]
    rows, columns = values.shape
    largest = float(np.abs(values).max())
    levels = Levels(-largest, largest) if largest > 0 else Levels(-1.0, 1.0)
    ruler = canvas.ruler
    top = box.y + HEADER * em
    height = box.bottom - top - (LINE + 0.5 + 1.35) * em
    labels_width = ruler.width(f"−{rows // 2}", em)
    x = max(box.x + SIDE_NAME * em + labels_width + 0.5 * em, left)
    ticks = value_labels(levels, height, ruler, SMALL * em, upright=True)
    bar_room = (1.2 + BAR + 0.5) * em + ticks.extent
    width = min(box.right - x - bar_room, WIDEST * height / rows * columns)
    plot = Box(round(x), round(top), max(round(width), 1), max(round(height), 1))

    axes = canvas.axes(plot, look.border, BORDER * em)
    axes.imshow(
        colours[quantise(_pooled(values, plot), None, levels)],
        extent=(-columns / 2, columns / 2, rows / 2, -rows / 2),
        aspect="auto",
        interpolation="none",
        origin="upper",
    )
    axes.add_patch(_frame(look, canvas.points(0.12 * em)))
    across = _steps(columns // 2, plot.w / columns, ruler.width(f"−{columns // 2}", em) + 0.6 * em)
    down = _steps(rows // 2, plot.h / rows, LINE * em)
    canvas.ticks(axes, "x", across, [short(place) for place in across], em, look.muted)
    canvas.ticks(axes, "y", down, [short(place) for place in down], em, look.muted)

    bar = Box(round(plot.right + 1.2 * em), plot.y, max(round(BAR * em), 2), plot.h)
    gradient = colours[LAST_VALUE::-1][:, None]  # [247, 1, 3], high values on top
    bar_axes = canvas.image(bar, gradient, look.border, BORDER * em)
    bar_axes.yaxis.tick_right()
    places = [1 - place for place in ticks.places]
    canvas.ticks(bar_axes, "y", places, ticks.texts, SMALL * em, look.muted)

    side = plot.x - labels_width - 0.5 * em - SIDE_NAME * em / 2
    style = {"ha": "center", "va": "center"}
    below = _fitting(ruler, SMALL * em, plot.w, "key left ← dx → key right", "dx")
    canvas.text(plot.x + plot.w / 2, box.bottom - 0.62 * em, below, SMALL * em, look.muted, **style)
    beside = _fitting(ruler, SMALL * em, plot.h, "key below ← dy → key above", "dy")
    canvas.text(side, plot.y + plot.h / 2, beside, SMALL * em, look.muted, rotation=90, **style)
    line = box.y + HEADER * em / 2 - 0.05 * em
    canvas.text(plot.x, line, "bias plane", 1.05 * em, look.text, weight="bold", va="center")
    after = plot.x + ruler.width("bias plane ", 1.05 * em, "bold") + 0.5 * em
    words = f"b(dy, dx), key − query in rows and columns, head {head}"
    if after + ruler.width(words, SMALL * em) <= box.right:
        canvas.text(after, line, words, SMALL * em, look.muted, va="center")
    numbers = planes.beside[head]
    for place, (name, number) in enumerate(zip(planes.encoding.beside, numbers, strict=True)):
        words = f"{name}  {short(float(number))}"
        start = bar.right + 1.5 * em + ticks.extent
        if start + ruler.width(words, SMALL * em) <= box.right:
            y = plot.y + (place + 0.5) * LINE * em * 1.2
            canvas.text(start, y, words, SMALL * em, look.muted, va="center")


def _pooled(values: np.ndarray, plot: Box) -> np.ndarray:
    """Return the mean of the cells that share a pixel, [h, w]; every cell where all have one."""
    for axis, room in ((0, plot.h), (1, plot.w)):
        if values.shape[axis] > room:
            edges = block_edges(values.shape[axis], int(room))  # [room + 1]
            sums = np.add.reduceat(values, edges[:-1], axis)
            counts = np.diff(edges).reshape((-1, 1) if axis == 0 else (1, -1))
            values = sums / counts
    return values


def _frame(look: Style, width: float) -> Rectangle:
    """Return the outline of the query itself, in the middle."""
    return Rectangle((-0.5, -0.5), 1, 1, fill=False, edgecolor=look.text, linewidth=width)


def _steps(last: int, cell: float, room: float) -> list[int]:
    """Return whole offsets −last … last that lie at least `room` pixels apart, 0 among them."""
    step = max(int(np.ceil(room / cell)), 1)
    half = list(range(step, last + 1, step))
    return [-place for place in reversed(half)] + [0, *half]


def _fitting(ruler: Ruler, size: float, room: float, *texts: str) -> str:
    return next((text for text in texts if ruler.width(text, size) <= room), texts[-1])
