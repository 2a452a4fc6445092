"""Figures of any chosen panels, as PNG, SVG, PDF or TIFF, drawn without a display."""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.core.levels import Levels
from relpos_viewer.export.picture import Picture

PANELS: dict[str, str] = {
    "content": "content",
    "positional": "position",
    "scores": "score",
    "weights": "weights",
    "curve": "bias curve",
}
"""Every panel, with its title."""

ALIASES = {"position": "positional", "score": "scores", "weight": "weights", "bias": "curve"}

Unit = Literal["px", "in", "mm"]
PER_INCH = {"in": 1.0, "mm": 25.4}

MOST_PIXELS = 100_000_000  # 400 MB of RGBA
LEAST_PIXELS = 64
DEFAULT_DPI = {"px": 96.0, "in": 300.0, "mm": 300.0}  # a pixel is 1/96 inch, as in CSS
VECTOR_DPI = 288.0  # of the matrices inside an SVG or PDF

# rc_context changes matplotlib's settings for the whole process.
_drawing = threading.Lock()


@dataclass(frozen=True)
class Format:
    """One kind of figure file: `name` is matplotlib's, `suffixes` begin with the usual one."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    vector: bool


FORMATS: tuple[Format, ...] = (
    Format("png", "PNG image", (".png",), False),
    Format("svg", "SVG drawing", (".svg",), True),
    Format("pdf", "PDF document", (".pdf",), True),
    Format("tiff", "TIFF image", (".tiff", ".tif"), False),
)


@dataclass(frozen=True)
class FigureOptions:
    """How a figure looks.

    Attributes:
        panels: keys of `PANELS` in the order of the equation.
        width, height: in `unit`; height None is the height that suits the width.
        unit: pixels, or a size on paper, where no text is smaller than 5 points.
        dpi: pixels per inch; None is 96 for pixels and 300 for paper.
        title: None for a line that says what is drawn, "" for none.
        labels: whether tokens are written along the axes.
        theme: "light" or "dark".
        terms_map, weights_map: names of colour maps, "auto" for the theme's own.
        levels: colour limits by stage; those that are missing are chosen from the data.
        reduce: how cells become one pixel: "auto" (max for weights, mean for terms), "mean", "max", "sample".
        curve_axis: "linear" or "symlog".
    """

    panels: tuple[str, ...] = tuple(PANELS)
    width: float = 1600
    height: float | None = None
    unit: Unit = "px"
    dpi: float | None = None
    title: str | None = None
    labels: bool = True
    theme: str = "light"
    terms_map: str = "auto"
    weights_map: str = "auto"
    levels: Mapping[Stage, Levels] = field(default_factory=dict)
    reduce: str = "auto"
    curve_axis: str = "linear"

    @property
    def resolution(self) -> float:
        """Pixels per inch."""
        return DEFAULT_DPI[self.unit] if self.dpi is None else self.dpi

    def pixels(self, length: float) -> int:
        """A length in `unit` as whole pixels."""
        return round(length if self.unit == "px" else length / PER_INCH[self.unit] * self.resolution)


def parse_panels(text: str) -> tuple[str, ...]:
    """Read a list of panels such as "content,weights"; they come in the order of the equation.

    Raises:
        ViewerError: for an unknown panel, with the nearest name, or none at all.
    """
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    names = [ALIASES.get(name, name) for name in names]
    for name in names:
        if name not in PANELS:
            raise ViewerError(f"unknown panel “{name}”{nearest(name, PANELS)}")
    if not names:
        raise ViewerError(f"No panel is chosen; give some of {', '.join(PANELS)}.")
    return tuple(panel for panel in PANELS if panel in names)


def figure_format(path: str | PathLike[str]) -> Format | None:
    """The format that a file's suffix asks for, or None."""
    suffix = Path(path).suffix.lower()
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def save_figure(picture: Picture, options: FigureOptions, path: str | PathLike[str]) -> None:
    """Draw `picture` into the file `path`, whose suffix chooses the format; atomic. Any thread.

    Raises:
        ViewerError: for an unknown suffix, a size that cannot be, or a file that cannot be written.
    """
    kind = figure_format(path)
    if kind is None:
        known = ", ".join(each.suffixes[0] for each in FORMATS)
        raise ViewerError(f"'{path}' does not say which kind of figure it is; end it in one of {known}.")
    data = figure_bytes(picture, options, kind)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def figure_bytes(picture: Picture, options: FigureOptions, kind: Format = FORMATS[0]) -> bytes:
    """Draw `picture` and return the file's bytes: PNG unless said otherwise, as the clipboard takes it. Any thread.

    Raises:
        ViewerError: for a size that cannot be.
    """
    _check(options)
    from relpos_viewer.export import canvas  # matplotlib takes most of a second to import
    from relpos_viewer.export.drawing import draw

    target = io.BytesIO()
    with _drawing, canvas.settings():
        figure = draw(picture, options, vector=kind.vector).figure
        figure.savefig(
            target,
            format=kind.name,
            dpi=options.resolution,
            facecolor=figure.get_facecolor(),
            **_metadata(kind, options, picture),
        )
    return target.getvalue()


def _metadata(kind: Format, options: FigureOptions, picture: Picture) -> dict[str, Any]:
    title = picture.caption if options.title is None else options.title
    dpi = (options.resolution, options.resolution)
    return {
        "png": {"metadata": {"Software": "relpos-viewer", "Title": title}, "pil_kwargs": {"dpi": dpi}},
        "svg": {"metadata": {"Creator": "relpos-viewer", "Title": title, "Date": None}},
        "pdf": {"metadata": {"Creator": "relpos-viewer", "Title": title, "CreationDate": None}},
        "tiff": {"pil_kwargs": {"compression": "tiff_lzw", "dpi": dpi}},
    }[kind.name]


def _check(options: FigureOptions) -> None:
    lengths = {"width": options.width, "height": options.height, "dpi": options.dpi}
    for name, value in lengths.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ViewerError(f"The {name} of a figure must be above 0, not {value:g}.")
    if options.dpi is not None and not 10 <= options.dpi <= 5000:
        raise ViewerError(f"{options.dpi:g} dpi is out of range; give 10 to 5000.")
    width = options.pixels(options.width)
    height = options.pixels(options.height) if options.height is not None else width
    if width * height > MOST_PIXELS or max(width, height) > 60_000:
        raise ViewerError(
            f"A figure of {width:,} × {height:,} pixels is too large; give a smaller size or fewer dpi."
        )
    if min(width, height) < LEAST_PIXELS:
        raise ViewerError(
            f"A figure of {width} × {height} pixels is too small; give at least {LEAST_PIXELS} each way."
        )


def matrices(options: FigureOptions) -> tuple[Stage, ...]:
    """The panels that are matrices."""
    return tuple(stage for stage in STAGES if stage in options.panels)
