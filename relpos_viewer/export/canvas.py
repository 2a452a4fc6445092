"""A matplotlib figure addressed in pixels from the top left, with text that is measured before it is placed.

Everything is a multiple of one `em` that grows with the figure, so a figure 600 and one 3,000 pixels wide
look the same (pyqtgraph#1767). matplotlib is imported here and only here, with the Agg canvas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from relpos_viewer.export.fonts import BASE, Fonts

RC = {
    "font.sans-serif": ["DejaVu Sans"],
    "text.hinting": "none",  # hinted glyphs have other widths at other sizes
    "svg.fonttype": "none",  # text stays text: it can be searched, and edited in a drawing program
    "svg.hashsalt": "relpos-viewer",  # the same figure gives the same file
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
    "path.simplify": True,
}


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, y counted from the top."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        """The x just past it."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """The y just under it."""
        return self.y + self.h


class Ruler:
    """Measures text in pixels for one resolution and one choice of fonts."""

    def __init__(self, dpi: float, fonts: Fonts) -> None:
        self.dpi = dpi
        self.fonts = fonts
        self._renderer = RendererAgg(1, 1, dpi)

    def font(self, size: float, weight: str = "normal") -> FontProperties:
        """The font for text `size` pixels high (em, not capitals)."""
        # Only the names of panels are bold; of a fallback font without a bold cut matplotlib would warn.
        families = self.fonts.families if weight == "normal" else [BASE]
        return FontProperties(family=[*families, "sans-serif"], size=size * 72 / self.dpi, weight=weight)

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        """How wide `text` will be, in pixels."""
        if not text:
            return 0.0
        lines = (
            self._renderer.get_text_width_height_descent(line, self.font(size, weight), False)[0]
            for line in text.split("\n")
        )
        return float(max(lines))

    def fit(self, text: str, size: float, width: float) -> str:
        """`text`, or its longest beginning with … that is no wider than `width`."""
        if self.width(text, size) <= width:
            return text
        shortest, longest = 1, len(text) - 1
        while shortest < longest:  # widths grow with length, so the longest that fits is found by halving
            middle = (shortest + longest + 1) // 2
            if self.width(_cut(text, middle), size) <= width:
                shortest = middle
            else:
                longest = middle - 1
        return _cut(text, shortest)


def _cut(text: str, length: int) -> str:
    return text[:length].rstrip() + "…"


class Canvas:
    """One figure of `width` × `height` pixels at `dpi`."""

    def __init__(self, width: int, height: int, dpi: float, background: str, ruler: Ruler) -> None:
        self.width, self.height, self.dpi, self.ruler = width, height, dpi, ruler
        self.figure = Figure(figsize=(width / dpi, height / dpi), dpi=dpi, facecolor=background)
        FigureCanvasAgg(self.figure)

    def points(self, pixels: float) -> float:
        """Pixels as typographic points."""
        return pixels * 72 / self.dpi

    def text(self, x: float, y: float, text: str, size: float, color: str, **style: Any) -> None:
        """Write `text` at a pixel; `style` as matplotlib's Text, `weight` among it."""
        font = self.ruler.font(size, style.pop("weight", "normal"))
        artist = self.figure.text(
            x / self.width, 1 - y / self.height, text, color=color, fontproperties=font, **style
        )
        artist.set_parse_math(False)  # a token may be "$x$"

    def axes(self, box: Box, border: str, line: float) -> Axes:
        """Empty axes with a thin frame at `box`."""
        axes = self.figure.add_axes(
            (box.x / self.width, 1 - box.bottom / self.height, box.w / self.width, box.h / self.height),
            facecolor="none",
        )
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set(color=border, linewidth=self.points(line))
        return axes

    def image(self, box: Box, rgba: np.ndarray, border: str, line: float) -> Axes:
        """Paint `rgba` [row, column, 4] uint8 over `box`, first row on top, in axes of unit extent."""
        axes = self.axes(box, border, line)
        axes.imshow(rgba, extent=(0, 1, 1, 0), aspect="auto", interpolation="none", origin="upper")
        return axes

    def ticks(
        self,
        axes: Axes,
        which: str,
        places: Iterable[float],
        labels: Iterable[str],
        size: float,
        color: str,
        rotation: float = 0,
    ) -> None:
        """Label `places` (data coordinates) on the "x" or "y" axis."""
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_ticks(list(places), labels=list(labels))
        axes.tick_params(
            which,
            length=self.points(0.22 * size),
            width=self.points(0.06 * size),
            pad=self.points(0.22 * size),
            color=color,
            labelcolor=color,
        )
        axes.tick_params(which, which="minor", length=0)
        for label in axis.get_ticklabels():
            label.set(fontproperties=self.ruler.font(size), rotation=rotation, parse_math=False)
            if which == "y":
                label.set_verticalalignment("center")


def settings() -> Any:
    """A context in which matplotlib draws as these figures need, whatever the user's matplotlibrc says."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "backend": "agg"})
