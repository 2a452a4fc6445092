"""Turns the bytes of a text file into text, or says which byte stands in the way."""

from __future__ import annotations

import codecs
import unicodedata

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.text import check_text

# UTF-32's mark starts with UTF-16's, so it comes first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, name: str) -> str:
    """Return the text of file `name`: UTF-8, or UTF-16 and UTF-32 with a byte-order mark.

    UTF-16 without a mark is recognised by its NUL bytes. Line ends become "\\n"; the mark is never part of the
    text, and neither is a NUL.

    Raises:
        ViewerError: naming the first byte that fits no encoding and its position, counted from 0.
    """
    encoding, start = _encoding(data, name)
    try:
        text = data[start:].decode(encoding)
    except UnicodeDecodeError as error:
        raise ViewerError(_complaint(data, start + error.start, encoding, name)) from None
    if "\0" in text:
        position = data.index(0, start)
        raise ViewerError(f"{name} is not text: byte {position} is 0x00; open a text saved as UTF-8.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    check_text(text, name)
    return text


def _encoding(data: bytes, name: str) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    if 0 not in data:
        return "utf-8", 0
    # ASCII letters in UTF-16 are every second byte NUL, on the odd places in little-endian files. A few NULs are
    # not enough: pairs of ASCII letters are Chinese characters in UTF-16.
    odd, even = data[1::2].count(0), data[0::2].count(0)
    encoding = "utf-16-le" if odd >= even else "utf-16-be"
    if len(data) % 2 == 0 and max(odd, even) > max(4 * min(odd, even), len(data) // 8):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            text = "\0"
        if not any(_is_noise(char) for char in text[:10_000]):
            return encoding, 0
    raise ViewerError(f"{name} is not text: byte {data.index(0)} is 0x00; open a text saved as UTF-8.")


def _is_noise(char: str) -> bool:
    """Control, unassigned and private characters come from reading something else as UTF-16."""
    return unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") and not char.isspace()


def _complaint(data: bytes, position: int, encoding: str, name: str) -> str:
    line = data.count(b"\n", 0, position) + 1
    byte = data[position] if position < len(data) else 0
    shown = encoding.upper().removesuffix("-LE").removesuffix("-BE")
    return f"{name} is not {shown}: byte {position} (line {line}) is 0x{byte:02X}; save the text as UTF-8."
