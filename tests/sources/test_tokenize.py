from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources import text as text_module
from relpos_viewer.sources.text import TOKENIZERS, tokenize

FAMILY, ACCENT, FLAG = "👨‍👩‍👧", "e\N{COMBINING ACUTE ACCENT}", "🇩🇪"

WORDS = {
    "punctuation stands apart": ("Yes, sir!", ["Yes", ",", "sir", "!"]),
    "an apostrophe inside a word stays": ("don't ’tis 'so'", ["don't", "’", "tis", "'", "so", "'"]),
    "a number keeps its point": ("3.14 10,000.5 7.", ["3.14", "10,000.5", "7", "."]),
    "a hyphen parts": ("well-known", ["well", "-", "known"]),
    "every Han, kana sign is one": ("你好 東京タワー", list("你好東京タワー")),
    "Hangul has blanks": ("안녕 하세요", ["안녕", "하세요"]),
    "Thai falls into clusters": ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
    "right to left": ("שלום, عالم", ["שלום", ",", "عالم"]),
    "a joiner within a Persian word": ("می\u200cخواهم", ["می\u200cخواهم"]),
    "Devanagari signs stay joined": ("नमस्ते", ["नमस्ते"]),
    "combining marks stay on their letter": (f"caf{ACCENT}!", [f"caf{ACCENT}", "!"]),
    "emoji are one each": (f"{FAMILY}{FLAG}", [FAMILY, FLAG]),
    "symbols": ("i ⭢ j", ["i", "⭢", "j"]),
}


@pytest.mark.parametrize(("text", "wanted"), WORDS.values(), ids=WORDS)
def test_words_are_what_a_reader_calls_words(text: str, wanted: list[str]) -> None:
    assert list(tokenize(text, "words").texts) == wanted


@pytest.mark.parametrize(("text", "characters", "codepoints"), [(FAMILY, 1, 5), (ACCENT, 1, 2), (FLAG, 1, 2)])
def test_a_joined_emoji_is_one_character_and_several_code_points(
    text: str, characters: int, codepoints: int
) -> None:
    assert len(tokenize(text, "characters")) == characters
    assert len(tokenize(text, "codepoints")) == codepoints


def test_bytes_of_one_character_share_its_place_and_say_which_part_they_are() -> None:
    tokens = tokenize("i ⭢ j", "bytes")
    assert len(tokens) == 7
    assert tokens.ids == (0x69, 0x20, 0xE2, 0xAD, 0xA2, 0x20, 0x6A)
    assert tokens.spans == ((0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5))
    assert tokens.labels == ("i", "␣", "⭢ 1/3", "⭢ 2/3", "⭢ 3/3", "␣", "j")


def test_typed_numbers_are_token_ids() -> None:
    tokens = tokenize("5 17,3\n-2", "integers")
    assert tokens.ids == (5, 17, 3, -2)
    assert tokens.texts == ("5", "17", "3", "-2")


PARAGRAPHS = {
    "one paragraph has no documents": ("a b\nc", None),
    "a blank line starts a document": ("a b\n\nc", (0, 0, 1)),
    "blanks on the line count as nothing": ("a\n \t\n\n\nb\n\nc", (0, 1, 2)),
    "other line ends": ("a\r\n\r\nb\r\rc", (0, 1, 2)),
    "blank lines around the text part nothing": ("\n\na\n\n", None),
}


@pytest.mark.parametrize(("text", "documents"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_blank_lines_part_documents(text: str, documents: tuple[int, ...] | None) -> None:
    assert tokenize(text).documents == documents


def test_blank_characters_belong_to_the_document_before_them() -> None:
    assert tokenize("a\n\nb", "characters").documents == (0, 0, 0, 1)


REFUSED = {
    "nothing": ("", "words", "type at least one token"),
    "blanks alone": (" \n\t", "words", "type at least one token"),
    "no number": ("5 seven 3", "integers", r"“seven” \(number 2\)"),
    "a number without end": ("9" * 5000, "integers", "not a token id"),
    "half a surrogate pair": ("ab\ud83d", "bytes", r"U\+D83D\) at character 3"),
    "unknown kind": ("a", "wrods", "did you mean words"),
}


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_cut_is_named(text: str, kind: str, message: str) -> None:
    with pytest.raises(ViewerError, match=message):
        tokenize(text, kind)


def test_a_text_too_long_to_draw_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MAX_TOKENS", 3)
    assert len(tokenize("a b c")) == 3
    with pytest.raises(ViewerError, match="more than 3 tokens"):
        tokenize("a b c d")


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(f"{FAMILY}{ACCENT}{FLAG}\n\r '.1ก你ש")
)


@settings(max_examples=150)
@given(text=TEXT.filter(str.strip), kind=st.sampled_from([name for name in TOKENIZERS if name != "integers"]))
def test_every_token_stands_where_its_span_says_and_nothing_is_lost(text: str, kind: str) -> None:
    tokens = tokenize(text, kind)
    assert tokens.spans is not None
    assert [text[start:stop] for start, stop in tokens.spans] == list(tokens.texts)
    assert list(tokens.spans) == sorted(tokens.spans)
    covered = {index for span in tokens.spans for index in range(*span)}
    skipped = "".join(char for index, char in enumerate(text) if index not in covered)
    assert not skipped.strip()
    assert kind == "words" or not skipped
    if kind == "bytes":
        assert tokens.ids is not None
        assert bytes(tokens.ids).decode() == text
