"""The colours of the window's matrices: one table of 256 colours a stage, and the maps offered in the menus.

The look itself (default maps, grounds and hatches of the marks) is `export.appearance`'s: a figure shows
what its maker saw on the screen.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.export.appearance import AUTO, Mark, lookup, style

TERMS_MAPS: tuple[tuple[str, str], ...] = (
    (AUTO, "Automatic"),
    ("colorbrewer:RdBu_r", "Blue – white – red"),
    ("cmocean:balance", "Blue – white – red, deep"),
    ("crameri:vik", "Blue – grey – brown"),
    ("colorbrewer:PuOr_r", "Violet – white – orange"),
    ("crameri:cork", "Blue – white – green"),
    ("seaborn:icefire", "Ice – black – fire"),
    ("crameri:berlin", "Blue – black – red"),
    ("crameri:vanimo", "Pink – black – green"),
)
"""(name, title) of diverging maps for the terms, zero in the middle; none of them sets red against green."""

WEIGHTS_MAPS: tuple[tuple[str, str], ...] = (
    (AUTO, "Automatic"),
    ("colorcet:CET_L17", "White – orange – blue"),
    ("crameri:oslo_r", "White – blue – black"),
    ("crameri:batlowW_r", "White – green – navy"),
    ("crameri:lajolla_r", "Yellow – red – black"),
    ("crameri:lipari", "Navy – rose – cream"),
    ("bids:magma", "Magma"),
    ("bids:viridis", "Viridis"),
    ("cividis:cividis", "Cividis"),
    ("matplotlib:binary", "White – black"),
)
"""(name, title) of sequential maps for the weights, of even steps in lightness."""


def palette(stage: Stage, name: str, theme: str) -> np.ndarray:
    """The colour of every code of `core.quantise` in one stage, RGBA uint8 [256, 4], read-only and shared.

    name: a map of `TERMS_MAPS` or `WEIGHTS_MAPS`, "auto" or any name of the package `cmap`; theme:
    "light" or "dark".

    Raises:
        ViewerError: for a map or theme that does not exist.
    """
    return _palette(stage, name, theme)


def palettes(terms_map: str, weights_map: str, theme: str) -> dict[Stage, np.ndarray]:
    """The palette of every stage, for the maps of a `document.View`."""
    return {
        stage: palette(stage, weights_map if stage == "weights" else terms_map, theme) for stage in STAGES
    }


def marks(theme: str) -> dict[int, Mark]:
    """Ground and hatch of every code that is drawn with a pattern, by code."""
    return style(theme).marks


@lru_cache(maxsize=64)
def _palette(stage: Stage, name: str, theme: str) -> np.ndarray:
    colours = np.full((256, 4), 255, np.uint8)
    colours[:, :3] = lookup(stage, name, name, style(theme))
    colours.setflags(write=False)
    return colours
