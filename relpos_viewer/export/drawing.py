"""Draw a `Picture` on a `Canvas`: the equation of matrices, and the curve under it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import view_levels
from relpos_viewer.core.pooling import block_edges, chosen_reduce
from relpos_viewer.core.quantise import (
    BELOW,
    LAST_VALUE,
    MARKS,
    MASKED,
    NAN,
    NEG_INF,
    NO_KEY,
    POS_INF,
    quantise,
)
from relpos_viewer.core.quantise import BEYOND as BEYOND_CODE
from relpos_viewer.export.appearance import Style, lookup, style
from relpos_viewer.export.axis import OVERHANG, value_labels
from relpos_viewer.export.canvas import Box, Canvas, Ruler
from relpos_viewer.export.cells import Cells, limits_of
from relpos_viewer.export.curves import draw_curves
from relpos_viewer.export.figures import PANELS, VECTOR_DPI, FigureOptions, matrices
from relpos_viewer.export.fonts import Fonts
from relpos_viewer.export.layout import (
    AXIS_NAME,
    BAR,
    BAR_GAP,
    HEADER,
    MARGIN,
    SIDE_NAME,
    SMALL,
    SWATCH,
    Layout,
    Panel,
    Request,
    arrange,
    least_em,
)
from relpos_viewer.export.paint import paint
from relpos_viewer.export.picture import Picture
from relpos_viewer.export.plane import draw_plane

FIXED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;·…×−+=←→↓δ√∞()⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵇ"
BORDER = 0.06  # em


@dataclass(frozen=True)
class Matrix:
    """One matrix, pooled to the pixels it gets: codes uint8 [h, w], and cells past the encoding's range."""

    codes: np.ndarray
    beyond: np.ndarray | None
    reduce: str
    cells_per_pixel: tuple[float, float]


def draw(picture: Picture, options: FigureOptions, *, vector: bool) -> Canvas:
    """Return the finished figure. Call it with `canvas.settings()` in force.

    Raises:
        ViewerError: for an unknown theme, panel or colour map, or a size that is too small.
    """
    look = style(options.theme)
    stages = matrices(options)
    field = picture.field
    levels = dict(options.levels)
    if not set(stages) <= set(levels):
        levels = {**default_levels(field), **levels}
    colours = {stage: lookup(stage, options.terms_map, options.weights_map, look) for stage in stages}

    title = picture.caption if options.title is None else options.title
    labels = picture.tokens.labels if options.labels else ()
    fonts = Fonts([FIXED, title, picture.caption, *labels])
    ruler = Ruler(options.resolution, fonts)
    words = tuple(map(fonts.drawable, labels))
    width = options.pixels(options.width)

    def laid_out(marks: tuple[int, ...], remark: str) -> Layout:
        return arrange(
            Request(
                stages=stages,
                curve="curve" in options.panels,
                width=width,
                height=None if options.height is None else options.pixels(options.height),
                least_em=0.0 if options.unit == "px" else least_em(options.resolution),
                title=bool(title),
                legend=tuple(MARKS[mark] for mark in marks),
                remark=remark,
                words=words,
                n_query=field.n_query,
                n_key=field.n_key,
            ),
            ruler,
        )

    # Pixels of a matrix for one of the figure.
    finer = math.ceil(VECTOR_DPI / options.resolution) if vector else 1
    made: dict[tuple[str, tuple[int, int]], Matrix] = {}

    def tiles_of(layout: Layout) -> dict[str, Matrix]:
        shapes = {panel.stage: _pixels(panel.box, finer) for panel in layout.panels}
        for key in shapes.items():
            if key not in made:  # a long sequence's take seconds
                made[key] = _matrix(picture, *key, levels, options.reduce)
        return {stage: made[stage, shape] for stage, shape in shapes.items()}

    layout = laid_out((), "")
    tiles = tiles_of(layout)
    marks, pooled = marks_present(tiles), _pooling_words(tiles)
    if marks or pooled:
        layout = laid_out(marks, pooled)
        tiles = tiles_of(layout)

    canvas = Canvas(layout.width, layout.height, options.resolution, look.background, ruler)
    em = layout.em
    if title:
        shown = ruler.fit(fonts.drawable(title), 1.1 * em, layout.width - 2 * MARGIN * em)
        canvas.text(MARGIN * em, layout.title_y, shown, 1.1 * em, look.text, va="center")
    for panel in layout.panels:
        _draw_panel(canvas, layout, panel, tiles[panel.stage], colours[panel.stage], picture, look, finer)
        _draw_bar(canvas, layout, panel, levels[panel.stage], colours[panel.stage], look)
    if layout.curve is not None:
        # Under the matrices the plot begins where they begin.
        under = layout.panels and layout.panels[0].box.bottom < layout.curve.y
        left = layout.panels[0].box.x if under else 0.0
        if picture.plane is None:
            draw_curves(canvas, layout.curve, picture, look, em, options.curve_axis, left)
        else:
            terms = lookup("positional", options.terms_map, options.weights_map, look)
            draw_plane(canvas, layout.curve, picture.plane, picture.head, terms, look, em, left)
    _draw_legend(canvas, layout, marks, _pooling_words(tiles), colours, look)
    return canvas


def default_levels(field: Cells) -> dict[Stage, Levels]:
    """One zero-centred scale for the three terms, the weights from 0 to their largest."""
    return view_levels(limits_of(field, Plainly()), Plainly(), STAGES)


@dataclass(frozen=True)
class Plainly:
    """The choices of a view that chooses nothing."""

    levels: str = "shared"
    weights_scale: Literal["linear", "log"] = "linear"
    hide_first_key: bool = False

    def locked_limits(self, _stage: str) -> None:
        """Return None: nothing is locked."""

    def typed_limits(self, stage: str) -> tuple[float, float]:
        """Raise, as nothing is typed."""
        raise LookupError(stage)


def marks_present(tiles: Mapping[str, Matrix]) -> tuple[int, ...]:
    """The codes that are no value and stand somewhere in these matrices: only they need a legend."""
    present = {int(code) for tile in tiles.values() for code in np.unique(tile.codes)}
    if any(tile.beyond is not None and tile.beyond.any() for tile in tiles.values()):
        present.add(BEYOND_CODE)
    return tuple(
        code for code in (MASKED, NO_KEY, BEYOND_CODE, BELOW, NEG_INF, POS_INF, NAN) if code in present
    )


def _pixels(box: Box, finer: int) -> tuple[int, int]:
    """The pixels [h, w] of a matrix in its box."""
    return int(box.h) * finer, int(box.w) * finer


def _matrix(
    picture: Picture, stage: Stage, shape: tuple[int, int], levels: Mapping[Stage, Levels], reduce: str
) -> Matrix:
    field = picture.field
    reduce = chosen_reduce(stage, reduce)
    n_query, n_key = field.n_query, field.n_key
    values, shown = field.tile(stage, (0, n_query), (0, n_key), shape, reduce)  # [h, w] each
    h, w = values.shape
    rows, cols = block_edges(n_query, h), block_edges(n_key, w)
    no_key = ~np.logical_or.reduceat(field.rows_that_see(), rows[:-1])  # [h]
    beyond = None
    if stage == "positional" and picture.curves.beyond is not None:
        # The middle cell of a pixel's block says which offset it stands for.
        row, col = (rows[:-1] + rows[1:]) // 2, (cols[:-1] + cols[1:]) // 2
        beyond = picture.curves.beyond[col[None, :] - row[:, None] + n_query - 1] & shown  # [h, w]
    codes = quantise(values, shown, levels[stage], no_key=no_key)
    return Matrix(codes, beyond, reduce, (n_query / h, n_key / w))


def _pooling_words(tiles: Mapping[str, Matrix]) -> str:
    """What is said where a pixel stands for several cells; nothing is ever thinned out silently."""
    ways: dict[str, list[str]] = {}
    for stage, tile in tiles.items():
        if max(tile.cells_per_pixel) > 1:
            ways.setdefault(tile.reduce, []).append(PANELS[stage])
    if not ways:
        return ""
    rows, cols = next(tile.cells_per_pixel for tile in tiles.values() if max(tile.cells_per_pixel) > 1)
    how = "; ".join(way if len(ways) == 1 else f"{', '.join(names)}: {way}" for way, names in ways.items())
    return f"1 pixel = {rows:.3g} × {cols:.3g} cells ({how})"


def _draw_panel(
    canvas: Canvas,
    layout: Layout,
    panel: Panel,
    tile: Matrix,
    colours: np.ndarray,
    picture: Picture,
    look: Style,
    finer: int,
) -> None:
    em, box, ruler = layout.em, panel.box, canvas.ruler
    overlay = None
    if tile.beyond is not None:
        overlay = (tile.beyond, look.marks[BEYOND_CODE])
    rgba = paint(tile.codes, colours, look.marks, _pixels(box, finer), em * finer, overlay)
    axes = canvas.axes(box, look.border, BORDER * em)
    n_query, n_key = picture.field.n_query, picture.field.n_key
    axes.imshow(
        rgba,
        extent=(-0.5, n_key - 0.5, n_query - 0.5, -0.5),
        aspect="auto",
        interpolation="none",
        origin="upper",
    )
    canvas.ticks(axes, "x", layout.keys.places, layout.keys.texts, em, look.muted, layout.keys.rotation)
    if panel.names_queries:
        canvas.ticks(axes, "y", layout.queries.places, layout.queries.texts, em, look.muted)
        x = box.x - layout.queries.extent - 0.5 * em - SIDE_NAME * em / 2
        canvas.text(
            x, box.y + box.h / 2, "← query", SMALL * em, look.muted, ha="center", va="center", rotation=90
        )

    head = box.y - HEADER * em / 2 + 0.1 * em
    name = PANELS[panel.stage]
    canvas.text(box.x, head, name, 1.05 * em, look.text, weight="bold", va="center")
    formula = {
        "content": picture.scale,
        "positional": picture.formula,
        "scores": "content + position",
        "weights": "softmax over keys",
    }[panel.stage]
    taken = ruler.width(name, 1.05 * em, "bold") + ruler.width(formula, SMALL * em) + 0.8 * em
    if taken <= box.w:
        canvas.text(box.right, head, formula, SMALL * em, look.muted, ha="right", va="center")
    if panel.sign:
        size = (SMALL if "→" in panel.sign else 1.7) * em
        canvas.text(
            panel.sign_x,
            box.y + box.h / 2,
            panel.sign,
            size,
            look.muted,
            ha="center",
            va="center",
            linespacing=1.3,
        )
    under = box.bottom + 0.5 * em + layout.keys.extent
    canvas.text(
        box.x + box.w / 2,
        under + AXIS_NAME * em / 2,
        "key →",
        SMALL * em,
        look.muted,
        ha="center",
        va="center",
    )


def _draw_bar(
    canvas: Canvas, layout: Layout, panel: Panel, levels: Levels, colours: np.ndarray, look: Style
) -> None:
    em = layout.em
    top = round(panel.box.bottom + 0.5 * em + layout.keys.extent + (AXIS_NAME + BAR_GAP) * em)
    box = Box(panel.box.x, top, panel.box.w, max(round(BAR * em), 2))
    gradient = colours[: LAST_VALUE + 1][None]  # [1, 247, 3]
    axes = canvas.image(box, gradient, look.border, BORDER * em)
    ticks = value_labels(levels, box.w, canvas.ruler, SMALL * em, upright=False)
    canvas.ticks(axes, "x", ticks.places, ticks.texts, SMALL * em, look.muted)
    for place, label in zip(ticks.places, axes.get_xticklabels(), strict=True):
        beyond = canvas.ruler.width(label.get_text(), SMALL * em) / 2 - min(place, 1 - place) * box.w
        if beyond > OVERHANG * em:  # flush with the end of a short bar
            label.set_horizontalalignment("left" if place < 0.5 else "right")


def _draw_legend(
    canvas: Canvas,
    layout: Layout,
    marks: tuple[int, ...],
    pooled: str,
    colours: Mapping[Stage, np.ndarray],
    look: Style,
) -> None:
    em, ruler = layout.em, canvas.ruler
    size = round(0.95 * em)
    for code, (x, y) in zip(marks, layout.swatches, strict=True):
        ground = next(reversed(colours.values()))  # the weights' where they are shown: only they have a floor
        swatch = paint(np.full((1, 1), code, np.uint8), ground, look.marks, (size, 2 * size), em)
        box = Box(round(x), round(y - size / 2), 2 * size, size)
        canvas.image(box, swatch, look.border, BORDER * em)
        canvas.text(x + SWATCH * em, y, MARKS[code], SMALL * em, look.muted, va="center")
    if pooled:
        x, y = layout.remark
        pooled = ruler.fit(pooled, SMALL * em, layout.width - 2 * MARGIN * em)
        canvas.text(x, y, pooled, SMALL * em, look.muted, ha="right", va="center")
