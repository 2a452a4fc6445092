"""Ink that can be read on a given ground (WCAG 2 relative luminance and contrast)."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor

from relpos_viewer.views.theme import Theme

# WCAG level AA for text of ordinary size.
READABLE = 4.5
DARK_INK, LIGHT_INK = QColor("#000000"), QColor("#ffffff")


def luminance(colour: QColor) -> float:
    """Return the relative luminance of an opaque sRGB colour, 0 (black) to 1 (white)."""
    return _luminance(colour.rgb() & 0xFFFFFF)


@lru_cache(4096)  # a strip asks for the inks of a palette's 256 grounds, chip by chip and frame by frame
def _luminance(rgb: int) -> float:
    red, green, blue = (_linear((rgb >> shift & 0xFF) / 255) for shift in (16, 8, 0))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast ratio of two opaque colours, 1 (equal) to 21 (black on white)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def readable_ink(ground: QColor, theme: Theme) -> QColor:
    """Return the theme's text colour where it can be read on `ground`, else the better of black and white."""
    return first_readable(ground, QColor(theme.text))


def muted_ink(ground: QColor, theme: Theme) -> QColor:
    """Return the theme's muted colour where it can be read on `ground`, else what `readable_ink` returns."""
    return first_readable(ground, QColor(theme.muted), QColor(theme.text))


def first_readable(ground: QColor, *inks: QColor) -> QColor:
    """Return the first of `inks` with a contrast of at least 4.5 on `ground`, else black or white.

    One of black and white always reaches 4.58.
    """
    for ink in inks:
        if contrast(ground, ink) >= READABLE:
            return ink
    return max(DARK_INK, LIGHT_INK, key=lambda ink: contrast(ground, ink))


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
