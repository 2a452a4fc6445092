"""The look of a picture: colour maps, and one drawing style a theme.

Maps are those of the window, so that a figure shows what its maker saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cmap
import numpy as np

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.field import Stage
from relpos_viewer.core.quantise import BELOW, BEYOND, LAST_VALUE, MASKED, NAN, NEG_INF, NO_KEY, POS_INF

AUTO = "auto"


@dataclass(frozen=True)
class Mark:
    """How a cell without a colour of its own is drawn: a ground, and a hatch in another colour."""

    ground: str
    ink: str
    hatch: Literal["", "/", "\\", "-", "+", "x"]


@dataclass(frozen=True)
class Style:
    """Colours as ``#rrggbb``. The accent always means *position, or your edit to it*."""

    background: str
    text: str
    muted: str
    faint: str
    border: str
    grid: str
    accent: str
    accent_soft: str
    terms_map: str
    weights_map: str
    marks: dict[int, Mark]


STYLES: dict[str, Style] = {
    "light": Style(
        background="#ffffff",
        text="#16191f",
        muted="#5a6372",
        faint="#b4bcc8",
        border="#c3cad4",
        grid="#e8ebf0",
        accent="#2463d6",
        accent_soft="#dfe9fb",
        terms_map="colorbrewer:RdBu_r",
        weights_map="colorcet:CET_L17",
        marks={
            MASKED: Mark("#eff1f4", "#dadfe6", "/"),
            NO_KEY: Mark("#eff1f4", "#7d8794", "x"),
            BEYOND: Mark("#dfe9fb", "#2463d6", "\\"),
            NEG_INF: Mark("#3c424c", "#ffffff", "-"),
            POS_INF: Mark("#3c424c", "#ffffff", "+"),
            NAN: Mark("#fbd9d6", "#b3261e", "x"),
        },
    ),
    "dark": Style(
        background="#1d2127",
        text="#eceff4",
        muted="#a0a9b6",
        faint="#565f6c",
        border="#434b56",
        grid="#2c323a",
        accent="#6ea8ff",
        accent_soft="#22344f",
        terms_map="seaborn:icefire",
        weights_map="crameri:lipari",
        marks={
            MASKED: Mark("#23282f", "#383f4a", "/"),
            NO_KEY: Mark("#23282f", "#a0a9b6", "x"),
            BEYOND: Mark("#22344f", "#6ea8ff", "\\"),
            NEG_INF: Mark("#c9d0da", "#14171c", "-"),
            POS_INF: Mark("#c9d0da", "#14171c", "+"),
            NAN: Mark("#5a2320", "#ff8a80", "x"),
        },
    ),
}


def style(theme: str) -> Style:
    """The style of a theme.

    Raises:
        ViewerError: for an unknown name.
    """
    if theme not in STYLES:
        raise ViewerError(f"unknown theme “{theme}”{nearest(theme, STYLES)}")
    return STYLES[theme]


def colour_map(name: str) -> cmap.Colormap:
    """The colour map of that name; every name of the package `cmap` is known, such as viridis or crameri:vik.

    Raises:
        ViewerError: for an unknown name, with the nearest one.
    """
    try:
        return cmap.Colormap(name)
    except (ValueError, TypeError, KeyError) as error:
        known = sorted(cmap.Catalog().unique_keys(prefer_short_names=True))
        hint = nearest(name, known)
        hint = hint if "did you mean" in hint else "; viridis, magma and crameri:vik are some"
        raise ViewerError(f"unknown colour map “{name}”{hint}") from error


def lookup(stage: Stage, terms_map: str, weights_map: str, look: Style) -> np.ndarray:
    """The colour of every code of `core.quantise` for a stage, uint8 [256, 3]; "auto" is the theme's own map."""
    if stage == "weights":
        name = look.weights_map if weights_map == AUTO else weights_map
    else:
        name = look.terms_map if terms_map == AUTO else terms_map
    colours = np.zeros((256, 3), np.uint8)
    values = np.asarray(colour_map(name).lut(LAST_VALUE + 1))[:, :3]  # [247, 3] in 0 … 1
    colours[: LAST_VALUE + 1] = np.rint(values * 255)
    colours[BELOW] = colours[0]  # too small to tell from the floor; the colour bar says where that is
    for code, mark in look.marks.items():
        colours[code] = rgb(mark.ground)
    return colours


def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three bytes."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
