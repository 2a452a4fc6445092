"""Where everything in a figure goes, in pixels; no drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES
from relpos_viewer.export.axis import NO_LABELS, Labels, token_labels
from relpos_viewer.export.canvas import Box, Ruler

SMALL = 0.9  # em of secondary text, the smallest there is
SMALLEST_POINTS = 5.0  # on paper nothing is smaller

# All in em.
MARGIN = 1.2
TITLE = 2.5
HEADER = 1.75  # title of a panel
AXIS_NAME = 1.25
BAR_GAP, BAR, BAR_LABELS = 0.45, 0.75, 1.55
ROW_GAP = 1.3
LEGEND, LEGEND_LINE = 0.7, 1.4
SWATCH, SWATCH_GAP = 2.5, 1.6  # a swatch with the gap to its words; between two entries
SIDE_NAME = 1.35
SIGN, SOFTMAX, NO_SIGN = 2.4, 4.7, 1.7
CURVE_HEIGHT = 12.5  # of the curve panel, at least
LEAST_CURVE = 24.0  # its width, at least
MUCH_LARGER = 0.75  # the side of a matrix, as a part of the largest that could be had
LEAST_EM = 4.0  # pixels; smaller letters cannot be read
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
        legend: the words of each mark that needs a swatch.
        remark: a sentence beside them, or "".
        words: labels of the keys, or () for none.
        n_query: queries are the last of the keys.
    """

    stages: tuple[str, ...]
    curve: bool
    width: int
    height: int | None
    least_em: float
    title: bool
    legend: tuple[str, ...]
    remark: str
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
    """A finished layout.

    `side` is the width of a matrix, `curve` the box of the whole curve panel, `title_y` the middle of its line;
    `swatches` and `remark` are points in the middle of their lines, where an entry begins and where the remark ends.
    """

    em: float
    width: int
    height: int
    panels: tuple[Panel, ...]
    side: float
    keys: Labels
    queries: Labels
    curve: Box | None
    title_y: float
    swatches: tuple[tuple[float, float], ...]
    remark: tuple[float, float]


def arrange(request: Request, ruler: Ruler) -> Layout:
    """One to four rows of matrices, the curve under or beside them: whatever the room is best for.

    Raises:
        ViewerError: when even then they are too small to be read.
    """
    count = len(request.stages)
    rows = sorted({1, math.ceil(count / 2), count}) if count else [0]
    places = (False, True) if request.height is not None and count and request.curve else (False,)
    fitting: list[Layout] = []
    for shrink in (1.0, 0.85, 0.7, 0.55):  # long labels in a low figure: smaller letters before none
        tried = [_try(request, ruler, each, shrink, beside=beside) for beside in places for each in rows]
        fitting = [one for one in tried if _legible(one)]
        if fitting:
            break
    else:
        parts = [f"{count} matri{'x' if count == 1 else 'ces'}"] if count else []
        parts += ["the curve"] if request.curve else []
        height = request.height or tried[0].height
        raise ViewerError(
            f"{request.width} × {height} pixels are too few for {' and '.join(parts)}; "
            "make the figure larger or choose fewer panels."
        )
    if request.height is None:
        # In a row, as the equation is read, unless the matrices become tiny.
        return next((one for one in fitting if one.side >= 1.8 * LEAST_SIDE * one.em), fitting[-1])
    # The equation in a row over its curve reads best; it gives way where others have much larger matrices.
    best = max(one.side for one in fitting)
    return next(one for one in fitting if one.side >= MUCH_LARGER * best)


def _legible(layout: Layout) -> bool:
    """Whether letters, matrices and the curve are large enough to be read."""
    wide = layout.curve is None or layout.curve.w >= LEAST_CURVE * layout.em - 2  # boxes lie on whole pixels
    return wide and layout.em >= LEAST_EM and layout.side >= LEAST_SIDE * layout.em


def _try(request: Request, ruler: Ruler, rows: int, shrink: float, *, beside: bool) -> Layout:
    """Lay the matrices out in `rows` rows, with the curve `beside` or under them, letters times `shrink`."""
    columns = math.ceil(len(request.stages) / rows) if rows else 0
    grid = _Grid.of(request.stages, rows, columns)
    under = request.curve and not beside
    em = request.width / (52 + 8 * max(columns, 1) + (26 if beside else 0))
    if request.height is not None:
        em = min(em, request.height / (15 * rows + (13 if under else 0) + 3))
    em = max(shrink * em, request.least_em)
    aspect = min(max(request.n_query / request.n_key, 1 / 12), 2.0)  # a single query still gets a band
    above = (TITLE if request.title else 0.6) * em
    swatches, remark, lines = _legend(request, ruler, em)
    below = (LEGEND + lines * LEGEND_LINE if lines else 0.5) * em

    keys = queries = NO_LABELS
    side = 0
    across = down = -1.0  # pixels kept for the labels of queries and keys
    left = row_height = 0.0
    # Labels need room, room decides about labels: what is kept for them only grows, so this ends.
    while rows and (queries.extent > across or keys.extent > down):
        across, down = max(across, queries.extent), max(down, keys.extent)
        left = (MARGIN + grid.lead + SIDE_NAME + 0.5) * em + across
        row_height = (HEADER + 0.5 + AXIS_NAME + BAR_GAP + BAR + BAR_LABELS) * em + down
        room = request.width - left - (grid.inner + MARGIN) * em
        free = (room - ((LEAST_CURVE + ROW_GAP) * em if beside else 0)) / columns
        if request.height is not None:
            curve_height = CURVE_HEIGHT * em if under else 0.0
            high = request.height - above - below - curve_height - rows * row_height
            free = min(free, (high - (rows - 1) * ROW_GAP * em) / rows / aspect)
        side = math.floor(free)
        if side < 2:
            break
        if request.words:
            first = request.n_key - request.n_query
            keys = token_labels(request.words, 0, side, ruler, em, upright=False)
            queries = token_labels(
                request.words[first:], first, max(side * aspect, 1), ruler, em, upright=True
            )

    matrix_height = max(round(side * aspect), 1)
    spare = request.width - left - columns * side - (grid.inner + MARGIN) * em
    start = left + (spare / 2 if rows and not beside else 0.0)  # centred where the height is what limits
    panels: list[Panel] = []
    for index, stage in enumerate(request.stages):
        row, column = divmod(index, columns)
        x = start + column * side + sum(grid.gaps[: column + 1]) * em
        y = above + row * (row_height + matrix_height + ROW_GAP * em) + HEADER * em
        outside = (SIDE_NAME + 0.5) * em + across if column == 0 else 0.0
        sign_x = x - outside - (grid.gaps[column] if column else grid.lead) * em / 2
        box = Box(round(x), round(y), side, matrix_height)
        panels.append(Panel(stage, box, grid.signs[index], sign_x, column == 0))

    matrices_bottom = above + rows * (row_height + matrix_height) + max(rows - 1, 0) * ROW_GAP * em
    bottom = matrices_bottom
    curve = None
    if beside:
        x = panels[columns - 1].box.right + ROW_GAP * em
        curve = Box(x, above, request.width - MARGIN * em - x, request.height - above - below)
    elif under:
        top = bottom + (1.2 * ROW_GAP * em if rows else 0.0)
        if request.height is None:
            height = max((0.26 if rows else 0.42) * request.width, 16 * em)
        else:
            height = request.height - below - top
        # In line with the matrices where these leave room at the sides.
        x = max(start - left, 0.0) + MARGIN * em
        curve = Box(x, top, request.width - 2 * x, height)
        bottom = top + height
    height = request.height if request.height is not None else round(bottom + below)
    return Layout(
        em=em,
        width=request.width,
        height=height,
        panels=tuple(panels),
        side=float(side) if rows else curve.h / 2,
        keys=keys,
        queries=queries,
        curve=curve,
        title_y=1.35 * em,
        swatches=tuple((x, height - below + (0.5 + line) * LEGEND_LINE * em) for x, line in swatches),
        remark=(request.width - MARGIN * em, height - below + (0.5 + remark) * LEGEND_LINE * em),
    )


def _legend(request: Request, ruler: Ruler, em: float) -> tuple[list[tuple[float, int]], int, int]:
    """Flow the legend: x and line of each entry, the line of the remark (flush right), and how many lines there are."""
    right = request.width - MARGIN * em
    x, line = MARGIN * em, 0
    places = []
    for words in request.legend:
        wide = SWATCH * em + ruler.width(words, SMALL * em)
        if places and x + wide > right:
            x, line = MARGIN * em, line + 1
        places.append((x, line))
        x += wide + SWATCH_GAP * em
    remark = line
    if request.remark and places and x + ruler.width(request.remark, SMALL * em) > right:
        remark += 1
    return places, remark, max(line, remark) + 1 if places or request.remark else 0


@dataclass(frozen=True)
class _Grid:
    """Signs between the matrices, and the gaps that they need; gaps in em.

    signs: before each matrix; gaps: before each column; lead: before the first column, for signs that begin a row.
    """

    signs: tuple[str, ...]
    gaps: tuple[float, ...]
    lead: float

    @property
    def inner(self) -> float:
        """All gaps between columns."""
        return sum(self.gaps)

    @classmethod
    def of(cls, stages: Sequence[str], rows: int, columns: int) -> _Grid:
        signs = _signs(stages)
        gaps = [0.0] + [max(map(_gap, signs[column::columns])) for column in range(1, columns)]
        lead = max((_gap(sign) for sign in signs[columns::columns] if sign), default=0.0) if rows > 1 else 0.0
        return cls(tuple(signs), tuple(gaps), lead)


def _signs(stages: Sequence[str]) -> list[str]:
    """The sign before each matrix. + and = stand only where the sum is whole, → only after the scores."""
    order = list(stages)
    whole = any(order[start : start + 3] == list(STAGES[:3]) for start in range(len(order)))
    signs = [""]
    for before, after in pairwise(order):
        sign = EQUATION.get((before, after), "")
        signs.append(sign if whole or "→" in sign else "")
    return signs


def _gap(sign: str) -> float:
    return {"": NO_SIGN, "+": SIGN, "=": SIGN}.get(sign, SOFTMAX)


def least_em(dpi: float) -> float:
    """Pixels an em must have on paper so that the smallest text is legible."""
    return SMALLEST_POINTS / SMALL * dpi / 72
