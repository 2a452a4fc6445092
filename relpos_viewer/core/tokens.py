"""Tokens: what the sequence is, and how each token is written on an axis."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property

# Blanks are drawn as marks, or an axis label would be empty.
BLANKS = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\N{NO-BREAK SPACE}": "⍽"}
# First strong isolate … pop: a right-to-left token never turns its neighbours round.
ISOLATE, POP = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
# Joiners and variation selectors are invisible but shape what stands beside them, so inside a token they stay.
JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
DOTTED_CIRCLE = "\u25cc"  # what Unicode lets a lone mark stand on


@dataclass(frozen=True)
class Tokens:
    """A sequence of tokens.

    Attributes:
        texts: each token's own text, as it stands in the source.
        spans: half-open ranges of code points in `source`; tokens that share one character share its span.
        ids: the tokens' numbers, where they have any.
        source: the text the spans refer to.
        documents: the document each token belongs to (packed sequences), or None for a single one.
    """

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] | None = None
    ids: tuple[int, ...] | None = None
    source: str = ""
    documents: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One printable, never empty label a token: blanks as marks, parts of one character numbered."""
        labels = _printable_all(self.texts)
        if self.spans is not None:
            for first, last in _shared_characters(self.spans):
                start, stop = self.spans[first]
                whole = printable(self.source[start:stop])
                count = last - first + 1
                for part in range(count):
                    labels[first + part] = f"{whole} {part + 1}/{count}"
        return tuple(labels)


def printable(text: str) -> str:
    """Return `text` so that every character of it can be seen; the empty text is "∅"."""
    if not text:
        return "∅"
    # A combining mark that starts a token would sit on the character before its label.
    if unicodedata.category(text[0]).startswith("M") and text[0] not in JOINERS:
        text = DOTTED_CIRCLE + text
    if len(text) > 1 and any(not _is_invisible(char) for char in text):
        shown = "".join(char if char in JOINERS else _shown(char) for char in text)
    else:
        shown = "".join(map(_shown, text))
    if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
        return ISOLATE + shown + POP
    return shown


def _printable_all(texts: tuple[str, ...]) -> list[str]:
    """Return `printable` of every text; each distinct character and text is looked at once."""
    # A character that is its own label keeps that in any text made of such characters alone.
    plain = {char for char in set("".join(texts)) if printable(char) == char}
    known = {text: text if text and plain.issuperset(text) else printable(text) for text in set(texts)}
    return [known[text] for text in texts]


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _shown(char: str) -> str:
    if char in BLANKS:
        return BLANKS[char]
    if char in JOINERS or _is_invisible(char):
        return f"U+{ord(char):04X}"
    if unicodedata.category(char) == "Zs":
        return f"U+{ord(char):04X}"
    return char


def _shared_characters(spans: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return (first, last) index pairs of neighbouring tokens that share one and the same span."""
    runs: list[tuple[int, int]] = []
    first = 0
    for index in range(1, len(spans) + 1):
        if index == len(spans) or spans[index] != spans[first] or spans[first][0] == spans[first][1]:
            if index - first > 1:
                runs.append((first, index - 1))
            first = index
    return runs
