"""Where everything in a figure goes, in pixels; no drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES
from relpos_viewer.export.axis import LINE, NO_LABELS, Labels, token_labels
from relpos_viewer.export.canvas import Box, Ruler

SMALL = 0.9  # em of secondary text, the smallest there is
SMALLEST_POINTS = 5.0  # on paper nothing is smaller

# All in em.
MARGIN = 1.2
TITLE = 2.0
HEADER = 1.75  # title of a panel
AXIS_NAME = 1.25
BAR_GAP, BAR, BAR_LABELS = 0.45, 0.75, 1.55
ROW_GAP = 1.3
LEGEND = 2.0
SIDE_NAME = 1.35
SIGN, SOFTMAX, NO_SIGN = 2.4, 4.7, 1.7
LEAST_SIDE = 5.0  # of a matrix; below that it shows nothing

EQUATION = {
    ("content", "positional"): "+",
    ("positional", "scores"): "=",
    ("scores", "weights"): "softmax\n→",
}


@dataclass(frozen=True)
class Request:
    """What a layout is made for.

    Attributes:
        stages: the matrices, in order.
        curve: whether the bias curve is drawn under them.
        width: pixels; height: pixels, or None for the height that suits.
        least_em: pixels that an em must have for the smallest text to be legible in print, 0 on screen.
        title: whether there is one.
        legend: whether marks need explaining.
        words: labels of the keys, or () for none.
        n_query: queries are the last of the keys.
    """

    stages: tuple[str, ...]
    curve: bool
    width: int
    height: int | None
    least_em: float
    title: bool
    legend: bool
    words: tuple[str, ...]
    n_query: int
    n_key: int


@dataclass(frozen=True)
class Panel:
    """One matrix: its box, the sign before it with the middle of its place, and whether it names its queries."""

    stage: str
    box: Box
    sign: str
    sign_x: float
    names_queries: bool


@dataclass(frozen=True)
class Layout:
    """A finished layout; `curve` is the box of the whole curve panel, `legend_y` the middle of its line."""

    em: float
    width: int
    height: int
    panels: tuple[Panel, ...]
    keys: Labels
    queries: Labels
    curve: Box | None
    title_y: float
    legend_y: float


def arrange(request: Request, ruler: Ruler) -> Layout:
    """The arrangement, one to four rows of matrices, in which the matrices are largest.

    Raises:
        ViewerError: when even then they are too small to be read.
    """
    count = len(request.stages)
    rows = sorted({1, math.ceil(count / 2), count}) if count else [0]
    tried = [_try(request, ruler, each) for each in rows]
    if request.height is None:
        # In a row, as the equation is read, unless the matrices become tiny.
        layout = next((one for one, side in tried if side >= 1.8 * LEAST_SIDE * one.em), tried[-1][0])
        side = next(side for one, side in tried if one is layout)
    else:
        layout, side = max(tried, key=lambda pair: pair[1])
    if side < LEAST_SIDE * layout.em or layout.width < 12 * layout.em:
        parts = [f"{count} matrices"] if count else []
        parts += ["the curve"] if request.curve else []
        raise ViewerError(
            f"{request.width} × {request.height or layout.height} pixels are too few for {' and '.join(parts)}; "
            "make the figure larger or choose fewer panels."
        )
    return layout


def _try(request: Request, ruler: Ruler, rows: int) -> tuple[Layout, float]:
    """Lay the matrices out in `rows` rows; return the layout and the shorter side of a matrix in pixels."""
    columns = math.ceil(len(request.stages) / rows) if rows else 0
    em = request.width / (52 + 8 * max(columns, 1))
    if request.height is not None:
        em = min(em, request.height / (15 * rows + (13 if request.curve else 0) + 3))
    em = max(em, request.least_em)

    signs = _signs(request.stages)
    gaps = [_gap(sign) for sign in signs]  # before each panel
    starts = [gaps[index] for index in range(columns, len(signs), columns)] if columns else []
    lead = max((gap for gap in starts if gap > NO_SIGN), default=0.0) * em  # a sign that begins a row
    inner = max(
        (sum(gaps[start + 1 : start + columns]) for start in range(0, len(signs), max(columns, 1))),
        default=0.0,
    )
    aspect = min(max(request.n_query / request.n_key, 1 / 12), 2.0)  # a single query still gets a band
    above = (TITLE if request.title else 0.6) * em
    below = (LEGEND if request.legend else 0.5) * em

    keys = queries = NO_LABELS
    side = 16.0 * em
    for _ in range(3):  # labels need room, room decides about labels; it settles at once
        left = MARGIN * em + lead + SIDE_NAME * em + queries.extent + 0.5 * em
        row_height = (HEADER + 0.5 + AXIS_NAME + BAR_GAP + BAR + BAR_LABELS) * em + keys.extent
        if columns:
            side = (request.width - left - inner * em - MARGIN * em) / columns
        if request.height is not None and rows:
            curve_height = 12.5 * em if request.curve else 0.0
            free = (
                request.height - above - below - curve_height - rows * row_height - (rows - 1) * ROW_GAP * em
            )
            side = min(side, free / rows / aspect)
        side = math.floor(side)
        if side < 2:
            break
        if request.words and rows:
            first = request.n_key - request.n_query
            keys = token_labels(request.words, 0, side, ruler, em, upright=False)
            queries = token_labels(
                request.words[first:], first, max(side * aspect, 1), ruler, em, upright=True
            )

    matrix_height = max(round(side * aspect), 1)
    panels: list[Panel] = []
    spare = request.width - left - columns * side - inner * em - MARGIN * em if columns else 0.0
    for index, stage in enumerate(request.stages):
        row, column = divmod(index, columns)
        if column == 0:
            x = left + spare / 2  # centred where the height is what limits
            sign_x = x - SIDE_NAME * em - queries.extent - 0.5 * em - gaps[index] * em / 2
        else:
            sign_x = x + gaps[index] * em / 2
            x += gaps[index] * em
        y = above + row * (row_height + matrix_height + ROW_GAP * em) + HEADER * em
        panels.append(
            Panel(stage, Box(round(x), round(y), side, matrix_height), signs[index], sign_x, column == 0)
        )
        x += side

    top = above + (rows * (row_height + matrix_height) + (rows - 1) * ROW_GAP * em if rows else 0.0)
    curve = None
    if request.curve:
        top += ROW_GAP * em if rows else 0.0
        if request.height is None:
            curve_height = (0.26 if rows else 0.42) * request.width
        else:
            curve_height = request.height - below - top
        curve = Box(MARGIN * em, top, request.width - 2 * MARGIN * em, curve_height)
        top += curve_height
    height = request.height if request.height is not None else round(top + below)
    layout = Layout(
        em=em,
        width=request.width,
        height=height,
        panels=tuple(panels),
        keys=keys,
        queries=queries,
        curve=curve,
        title_y=0.35 * em + TITLE * em / 2,
        legend_y=height - LEGEND * em / 2,
    )
    shorter = min(side, matrix_height / min(aspect, 1.0)) if rows else (curve.h / 2 if curve else 0.0)
    return layout, shorter


def _signs(stages: Sequence[str]) -> list[str]:
    """The sign before each matrix. + and = stand only where the sum is whole, → only after the scores."""
    order = list(stages)
    whole = any(order[start : start + 3] == list(STAGES[:3]) for start in range(len(order)))
    signs = [""]
    for before, after in zip(order, order[1:], strict=False):
        sign = EQUATION.get((before, after), "")
        signs.append(sign if whole or "→" in sign else "")
    return signs


def _gap(sign: str) -> float:
    return {"": NO_SIGN, "+": SIGN, "=": SIGN}.get(sign, SOFTMAX)


def least_em(dpi: float) -> float:
    """Pixels an em must have on paper so that the smallest text is legible."""
    return SMALLEST_POINTS / SMALL * dpi / 72


def line_height(em: float) -> float:
    """Pixels of a line of text."""
    return LINE * em
