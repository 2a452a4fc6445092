"""Places in a Python text (code points) as places in a Qt text document (UTF-16 units)."""

from __future__ import annotations

import numpy as np

CARRIAGE_RETURN, LINE_FEED = 0x0D, 0x0A


def utf16_positions(text: str) -> np.ndarray:
    """Return where each code point of `text` starts in a QTextDocument holding it, int64 [len(text) + 1].

    A code point beyond U+FFFF takes two units (👨‍👩‍👧 is 5 code points and 8 units), and the pair CR LF is one
    paragraph break, so its two places coincide in the end.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    units = 1 + (points > 0xFFFF).astype(np.int64)  # [code point]
    units[:-1][(points[:-1] == CARRIAGE_RETURN) & (points[1:] == LINE_FEED)] = 0
    return np.concatenate([[0], np.cumsum(units)])


def editor_text(text: str) -> str:
    """Return `text` as a QTextDocument gives it back: every kind of line end has become a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\N{PARAGRAPH SEPARATOR}", "\n")
