"""The bias curve as a panel: the edited head bold, its family's own term as a ghost, other heads faint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.quantise import MASKED
from relpos_viewer.export.appearance import Style
from relpos_viewer.export.axis import LINE, factor_labels, offset_labels, offset_place, value_labels
from relpos_viewer.export.canvas import Box, Canvas
from relpos_viewer.export.layout import HEADER, SIDE_NAME, SMALL
from relpos_viewer.export.picture import Picture

MOST_FUTURE = 0.1  # how much of the length is shown past the last visible offset, masked


def draw_curves(
    canvas: Canvas, box: Box, picture: Picture, look: Style, em: float, axis: str, left: float
) -> None:
    """Draw the panel into `box`, its titles and tick labels included; `axis` is "linear" or "symlog".

    The plot begins at `left` where its labels leave room for that, in line with what stands above it.
    """
    curves, head = picture.curves, picture.head
    n = picture.field.n_key
    offsets = np.arange(-(n - 1), n)  # [2n−1]
    low, high = shown_offsets(offsets, curves.visible)
    inside = (offsets >= low) & (offsets <= high)
    drawn = inside & (curves.visible if curves.visible.any() else True)
    values = value_range(curves, head, drawn)
    edited = bool(curves.edit[head][drawn].any())

    ruler = canvas.ruler
    top = box.y + HEADER * em
    height = box.bottom - top - (LINE + 0.5 + 1.35) * em
    left_labels = value_labels(values, height, ruler, em, upright=True)
    right_labels = factor_labels(values.low, values.high, height, ruler, em)
    x = max(box.x + SIDE_NAME * em + left_labels.extent + 0.5 * em, left)
    right = box.right - SIDE_NAME * em - right_labels.extent - 0.7 * em
    plot = Box(round(x), round(top), round(right - x), round(height))
    axes = canvas.axes(plot, look.border, 0.06 * em)

    def place(offset: np.ndarray | float) -> np.ndarray:
        return offset_place(offset, axis)

    axes.set_xlim(float(place(low - 0.5)), float(place(high + 0.5)))
    axes.set_ylim(values.low, values.high)
    below = offset_labels(low, high, axis, plot.w, ruler, em)
    canvas.ticks(axes, "x", [float(place(each)) for each in below.places], below.texts, em, look.muted)
    span = values.high - values.low
    canvas.ticks(
        axes, "y", [values.low + p * span for p in left_labels.places], left_labels.texts, em, look.muted
    )
    twin = axes.twinx()
    twin.set_ylim(values.low, values.high)
    for spine in twin.spines.values():
        spine.set_visible(False)
    canvas.ticks(
        twin, "y", [values.low + p * span for p in right_labels.places], right_labels.texts, em, look.muted
    )

    thin, line = canvas.points(0.06 * em), canvas.points(0.13 * em)
    for fraction in left_labels.places:
        axes.axhline(values.low + fraction * span, color=look.grid, linewidth=thin, zorder=0.5)
    if values.low < 0 < values.high:
        axes.axhline(0, color=look.faint, linewidth=thin, zorder=0.6)
    _shade(canvas, axes, plot, offsets, curves, inside, look, em, place)

    xs = place(offsets)
    total = curves.family + curves.edit  # [head, 2n−1]

    def plain(curve: np.ndarray) -> np.ndarray:
        return np.where(drawn & np.isfinite(curve), curve, np.nan)

    others = [
        other for other in range(picture.heads) if other != head and np.isfinite(curves.family[other]).any()
    ]
    for other in others:
        axes.plot(xs, plain(total[other]), color=look.faint, linewidth=0.6 * line, alpha=0.75, zorder=2)
    spread = curves.low is not None and curves.high is not None
    if spread:
        low_, high_ = plain(curves.low + curves.edit[head]), plain(curves.high + curves.edit[head])
        axes.fill_between(xs, low_, high_, color=look.accent, alpha=0.16, linewidth=0, zorder=2.5)
    if edited:
        axes.plot(
            xs, plain(curves.family[head]), color=look.muted, linewidth=0.8 * line, dashes=(4, 2.4), zorder=3
        )
    spacing = plot.w / max(high - low + 1, 1)
    roomy = axis == "linear" and spacing >= 0.75 * em
    axes.plot(
        xs,
        plain(total[head]),
        color=look.accent,
        linewidth=line,
        marker="o" if roomy or drawn.sum() == 1 else None,
        markersize=canvas.points(min(0.42 * em, 0.5 * spacing)) if roomy else canvas.points(0.42 * em),
        markerfacecolor=look.background,
        markeredgecolor=look.accent,
        markeredgewidth=0.8 * line,
        zorder=4,
        solid_joinstyle="round",
    )

    middle = plot.y + plot.h / 2
    canvas.text(
        plot.x - left_labels.extent - 0.5 * em - SIDE_NAME * em / 2,
        middle,
        "score units",
        SMALL * em,
        look.muted,
        ha="center",
        va="center",
        rotation=90,
    )
    canvas.text(
        box.right - SIDE_NAME * em / 2,
        middle,
        "factor eᵇ",
        SMALL * em,
        look.muted,
        ha="center",
        va="center",
        rotation=90,
    )
    canvas.text(
        plot.x + plot.w / 2,
        box.bottom - 0.62 * em,
        "offset δ = key − query",
        SMALL * em,
        look.muted,
        ha="center",
        va="center",
    )
    head_line = box.y + HEADER * em / 2 - 0.05 * em
    canvas.text(plot.x, head_line, "bias curve", 1.05 * em, look.text, weight="bold", va="center")
    formula = "b(δ)" if curves.exact else "mean of the term along each diagonal"
    after = plot.x + ruler.width("bias curve ", 1.05 * em, "bold") + 0.5 * em
    if after + ruler.width(formula, SMALL * em) > plot.right:
        formula = ""
    canvas.text(after, head_line, formula, SMALL * em, look.muted, va="center")

    entries = [("edited" if edited else f"head {picture.head}", {"color": look.accent, "linewidth": line})]
    if edited:
        entries.append(
            ("before the edit", {"color": look.muted, "linewidth": 0.8 * line, "dashes": (4, 2.4)})
        )
    if spread:
        entries.append(("10–90 %", {"color": look.accent, "linewidth": 5 * line, "alpha": 0.16}))
    if others:
        entries.append(("other heads", {"color": look.faint, "linewidth": 0.6 * line, "alpha": 0.75}))
    _legend(canvas, plot.right, head_line, entries, look, em, after + ruler.width(formula, SMALL * em) + em)


def shown_offsets(offsets: np.ndarray, visible: np.ndarray) -> tuple[int, int]:
    """The first and last offset of the axis: all that can be seen, and a strip of what is masked."""
    if not visible.any():
        return int(offsets[0]), int(offsets[-1])
    seen = offsets[visible]
    strip = max(1, round(MOST_FUTURE * (seen[-1] - seen[0] + 1)))
    return max(int(offsets[0]), int(seen[0]) - strip), min(int(offsets[-1]), int(seen[-1]) + strip)


def value_range(curves: CurveSet, head: int, drawn: np.ndarray) -> Levels:
    """The ends of the value axis: the head's own curves, zero, and a little air.

    The other heads' curves widen it by half at most; steeper ones leave the plot, or this head's would be flat.
    """
    own = [curves.family[head], curves.family[head] + curves.edit[head]]
    own += [each for each in (curves.low, curves.high) if each is not None]
    low, high = _extent(np.stack(own)[:, drawn])
    if low == high:
        low, high = _extent((curves.family + curves.edit)[:, drawn])
    else:
        others = _extent((curves.family + curves.edit)[:, drawn])
        room = 0.25 * (high - low)
        low, high = max(min(low, others[0]), low - room), min(max(high, others[1]), high + room)
    if low == high:
        return Levels(-1.0, 1.0)
    air = 0.07 * (high - low)
    return Levels(low - air, high + air)


def _extent(values: np.ndarray) -> tuple[float, float]:
    """Smallest and largest finite value, zero among them."""
    finite = np.append(values[np.isfinite(values)], 0.0).astype(np.float64)
    return float(finite.min()), float(finite.max())


def _shade(
    canvas: Canvas,
    axes: Axes,
    plot: Box,
    offsets: np.ndarray,
    curves: CurveSet,
    inside: np.ndarray,
    look: Style,
    em: float,
    place: Callable[[float], np.ndarray],
) -> None:
    """Mark the offsets that are masked everywhere, and those past the range of the encoding."""
    kinds = [(~curves.visible, look.marks[MASKED].ground, "masked")] if curves.visible.any() else []
    if curves.beyond is not None:
        kinds.append((curves.beyond & curves.visible, look.accent_soft, "beyond the range"))
    low, high = axes.get_xlim()
    for where, colour, words in kinds:
        for first, last in runs(where & inside):
            left, right = float(place(offsets[first] - 0.5)), float(place(offsets[last] + 0.5))
            axes.axvspan(left, right, facecolor=colour, edgecolor="none", zorder=0.4)
            shown = "future: masked" if words == "masked" and offsets[first] > 0 else words
            size = SMALL * em
            width = (right - left) / (high - low) * plot.w
            centre = plot.x + ((left + right) / 2 - low) / (high - low) * plot.w
            long = canvas.ruler.width(shown, size) + em
            if long <= width:
                canvas.text(centre, plot.y + 0.9 * em, shown, size, look.muted, ha="center", va="center")
            elif width >= 1.3 * em and long <= plot.h:
                canvas.text(
                    centre, plot.y + 0.5 * em, shown, size, look.muted, ha="center", va="top", rotation=90
                )


def runs(where: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(np.int8)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def _legend(
    canvas: Canvas,
    right: float,
    y: float,
    entries: list[tuple[str, dict[str, Any]]],
    look: Style,
    em: float,
    least: float,
) -> None:
    """Samples of lines with their names, flush right; the last ones are left out where there is no room for all."""
    widths = [canvas.ruler.width(words, SMALL * em) + 2.6 * em for words, _ in entries]
    while widths and right - sum(widths) - 1.2 * em * (len(widths) - 1) < least:
        widths.pop()
    x = right - sum(widths) - 1.2 * em * max(len(widths) - 1, 0)
    for (words, line), width in zip(entries, widths, strict=False):
        canvas.text(x + 2.6 * em, y, words, SMALL * em, look.muted, va="center")
        canvas.figure.add_artist(
            Line2D(
                [x / canvas.width, (x + 2 * em) / canvas.width],
                [1 - y / canvas.height] * 2,
                transform=canvas.figure.transFigure,
                solid_capstyle="butt",
                **line,
            )
        )
        x += width + 1.2 * em
