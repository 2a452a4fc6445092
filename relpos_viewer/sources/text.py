"""Cuts a text into tokens without a model: words, characters, code points, bytes, or typed numbers.

Every token keeps its exact span of code points in the text, so that a token can be marked in an editor and
identical tokens at different places stay apart. Any thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import regex

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.tokens import Tokens

# Twice the longest sequence the program is designed for (131,072); a text beyond it would fill memory long
# before there is a picture.
MAX_TOKENS = 262_144

# A token, its span of code points, and its number where it has one.
Piece = tuple[str, tuple[int, int], int | None]

# Scripts written without blanks between words. No dictionary is at hand, so each cluster is a token, which is
# also what the default word rule of Unicode (UAX 29) falls back to.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD_CLUSTER = rf"(?:(?=[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]])\X)"

_WORD = regex.compile(
    rf"""(?V1)
    \p{{Nd}}+(?:[.,]\p{{Nd}}+)+(?!\p{{M}})                   # 3.14 and 10,000.5 are one number
    | {_WORD_CLUSTER}+ (?:['’]{_WORD_CLUSTER}+)*             # don't is one word
    | (?!\s)\X                                               # punctuation, emoji, one cluster of unspaced scripts
    | \S                                                     # whatever a cluster that starts with a blank left over
    """,
    regex.VERBOSE,
)
_CLUSTER = regex.compile(r"\X")
_NUMBER = re.compile(r"[^\s,]+")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True)
class Tokenizer:
    """One way to cut a text, as forms and the command line list it."""

    name: str
    title: str
    help: str


def tokenize(text: str, kind: str = "words") -> Tokens:
    """Cut `text` into tokens.

    Args:
        text: what was typed or loaded.
        kind: a name of `TOKENIZERS`.

    Returns:
        Tokens with spans into `text`. Byte and integer tokens have ids; the byte tokens of one character share
        its text and its span. Paragraphs parted by a blank line are documents when there is more than one.

    Raises:
        ViewerError: no tokens, too many, half a surrogate pair, an unknown kind, or a word that is no integer.
    """
    if kind not in TOKENIZERS:
        raise ViewerError(f"unknown tokenizer “{kind}”{nearest(kind, TOKENIZERS)}")
    check_text(text, "the text")
    pieces: list[Piece] = []
    for piece in _CUT_BY_NAME[kind](text):
        if len(pieces) == MAX_TOKENS:
            raise ViewerError(f"the text has more than {MAX_TOKENS:,} tokens; keep a shorter part of it.")
        pieces.append(piece)
    if not pieces:
        raise ViewerError("there is no text; type at least one token.")
    texts, spans, ids = zip(*pieces, strict=True)
    return Tokens(
        texts=texts,
        spans=spans,
        ids=ids if ids[0] is not None else None,
        source=text,
        documents=_documents(text, spans),
    )


def check_text(text: str, name: str) -> None:
    """Raise ViewerError when `text` holds half a surrogate pair: no font, file or widget can take it."""
    if match := _SURROGATE.search(text):
        raise ViewerError(
            f"{name} holds half a surrogate pair (U+{ord(match[0]):04X}) at character {match.start() + 1}; delete it."
        )


def _words(text: str) -> Iterator[Piece]:
    return ((match[0], match.span(), None) for match in _WORD.finditer(text))


def _characters(text: str) -> Iterator[Piece]:
    return ((match[0], match.span(), None) for match in _CLUSTER.finditer(text))


def _codepoints(text: str) -> Iterator[Piece]:
    return ((char, (index, index + 1), None) for index, char in enumerate(text))


def _bytes(text: str) -> Iterator[Piece]:
    for index, char in enumerate(text):
        for byte in char.encode("utf-8"):
            yield char, (index, index + 1), byte


def _integers(text: str) -> Iterator[Piece]:
    for count, match in enumerate(_NUMBER.finditer(text), start=1):
        word = match[0]
        # 18 digits always fit into 64 bits; Python itself would refuse thousands of digits with another error.
        if not _INTEGER.match(word) or len(word) > 18:
            shown = word if len(word) <= 24 else word[:24] + "…"
            raise ViewerError(
                f"“{shown}” (number {count}) is not a token id; type whole numbers such as 5 17 3."
            )
        yield word, match.span(), int(word)


_CUTS: tuple[tuple[Tokenizer, Callable[[str], Iterator[Piece]]], ...] = (
    (
        Tokenizer(
            "words", "Words", "Words, numbers and punctuation marks; scripts without blanks by character."
        ),
        _words,
    ),
    (
        Tokenizer("characters", "Characters", "What a reader calls a character: 👨‍👩‍👧 is one, é is one."),
        _characters,
    ),
    (
        Tokenizer("codepoints", "Code points", "Unicode code points: a joined emoji falls into its parts."),
        _codepoints,
    ),
    (
        Tokenizer("bytes", "Bytes", "UTF-8 bytes; the bytes of one character share its place in the text."),
        _bytes,
    ),
    (Tokenizer("integers", "Token ids", "Whole numbers with blanks or commas between them."), _integers),
)
TOKENIZERS: dict[str, Tokenizer] = {tokenizer.name: tokenizer for tokenizer, _ in _CUTS}
_CUT_BY_NAME = {tokenizer.name: cut for tokenizer, cut in _CUTS}


def _documents(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[int, ...] | None:
    """Return each token's paragraph, counted from 0, or None when all stand in one.

    A paragraph starts with the first line that is not blank after a blank one; blank lines belong to the
    paragraph before them.
    """
    starts = _paragraph_starts(text)
    ids: list[int] = []
    paragraph, document, previous = 0, 0, None
    for start, _ in spans:
        while paragraph + 1 < len(starts) and start >= starts[paragraph + 1]:
            paragraph += 1
        if previous is not None and paragraph != previous:
            document += 1
        previous = paragraph
        ids.append(document)
    return tuple(ids) if document else None


def _paragraph_starts(text: str) -> list[int]:
    lines = [match.span() for match in _LINE.finditer(text)]
    blank = [not text[start:stop].strip() for start, stop in lines]
    starts = [
        start
        for (start, _), (before, here) in zip(lines[1:], pairwise(blank), strict=True)
        if before and not here
    ]
    # Blank lines at the top stand before the first paragraph, not in one of their own.
    first = next((start for (start, _), empty in zip(lines, blank, strict=True) if not empty), 0)
    return [0, *(start for start in starts if start > first)]
