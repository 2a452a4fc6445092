"""Fonts for whatever the tokens are written in: no boxes, no warnings, no broken axis.

DejaVu Sans comes with matplotlib and is the base everywhere. For characters it lacks, an installed font is looked
for; a character that no font can draw is written as its code point (U+1F468), which can at least be looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.ft2font import FaceFlags

BASE = "DejaVu Sans"

# Looked at first, in this order; after them every other installed font.
PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Segoe UI",
    "Segoe UI Symbol",
    "Noto Emoji",
    "Symbola",
    "Arial Unicode MS",
    "FreeSans",
    "STIXGeneral",
)

# Pictures of scripts instead of letters, and TeX's fonts, whose code points are not Unicode's.
UNFIT = ("Last Resort", "cm", "STIXNon", "STIXSize")

# Shape or direct their neighbours and are never drawn; without a shaping font they would only be boxes.
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")


class Fonts:
    """The font families that can draw a set of texts, and the texts as these can draw them."""

    def __init__(self, texts: Iterable[str]) -> None:
        needed = {ord(char) for text in texts for char in INVISIBLE.sub("", text)}
        self.families = [BASE]
        self._drawable = set(coverage(_path(BASE)))
        missing = needed - self._drawable
        for family, path in _candidates() if missing else ():
            gained = missing & coverage(path)
            if gained:
                self.families.append(family)
                self._drawable |= gained
                missing -= gained
                if not missing:
                    break

    def drawable(self, text: str) -> str:
        """`text` on one line, with code points in place of characters that no font here can draw."""
        parts: list[str] = []
        unknown = 0
        for char in unicodedata.normalize("NFC", INVISIBLE.sub("", text)):
            if ord(char) in self._drawable and char.isprintable():
                parts.append(char)
                unknown = 0
            elif char.isspace():
                parts.append(" ")
                unknown = 0
            else:
                unknown += 1
                if unknown <= 2:
                    parts.append(f"U+{ord(char):04X}" if unknown == 1 else "…")
        return "".join(parts)


@lru_cache(maxsize=512)
def coverage(path: str) -> frozenset[int]:
    """The code points that the font file at `path` has outlines for; empty where it cannot be drawn from."""
    try:
        font = font_manager.get_font(path)
        # Bitmap and colour emoji fonts cannot be scaled by matplotlib, it raises in the middle of drawing.
        if FaceFlags.SCALABLE not in font.face_flags or FaceFlags.COLOR in font.face_flags:
            return frozenset()
        return frozenset(font.get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def _path(family: str) -> str:
    return font_manager.findfont(family)


@lru_cache(maxsize=1)
def _candidates() -> tuple[tuple[str, str], ...]:
    """(family, file) of every upright installed font, the preferred ones first, one file a family."""
    files: dict[str, str] = {}
    for entry in font_manager.fontManager.ttflist:
        upright = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if upright and not entry.name.startswith(UNFIT):
            files.setdefault(entry.name, entry.fname)
    order = [name for name in PREFERRED if name in files]
    order += sorted(name for name in files if name not in PREFERRED)
    return tuple((name, files[name]) for name in order)
