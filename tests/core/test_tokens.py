"""Labels: every token can be seen, and none is mistaken for another."""

from __future__ import annotations

import pytest

from relpos_viewer.core import tokens
from relpos_viewer.core.tokens import Tokens, printable


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("cat", "cat"),
        (" ", "␣"),
        (" cat", "␣cat"),
        ("\n\n", "⏎⏎"),
        ("\t", "⇥"),
        ("", "∅"),
        ("\u200d", "U+200D"),
        ("\u0000", "U+0000"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "\u25cc\u0301"),  # I03: the second code point of é, on a circle instead of its neighbour
        ("\u093f", "\u25cc\u093f"),
        ("\ufe0f", "U+FE0F"),
        ("日本", "日本"),
        ("שלום", "\u2068שלום\u2069"),
        ("\ufeff", "U+FEFF"),
        ("a\u202eb", "aU+202Eb"),  # an override would turn its neighbours round
    ],
)
def test_a_label_can_be_seen(text: str, label: str) -> None:
    assert printable(text) == label


def test_parts_of_one_character_are_numbered() -> None:
    # I01, as a byte-level tokenizer without merges cuts it.
    arrow = Tokens(
        ("i", " ", "\xe2", "\xad", "\xa2", " ", "j"),
        ((0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5)),
        source="i ⭢ j",
    )
    assert arrow.labels == ("i", "␣", "⭢ 1/3", "⭢ 2/3", "⭢ 3/3", "␣", "j")


def test_labels_are_those_of_each_token_alone_and_each_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("cat", "", " ", "e\u0301", "\u0301", "שלום", "a\u202eb", "日本", "\u200d", "a\u200db", "é") * 50
    expected, asked = tuple(printable(text) for text in texts), []

    def counted(text: str) -> str:
        asked.append(text)
        return printable(text)

    monkeypatch.setattr(tokens, "printable", counted)
    assert Tokens(texts).labels == expected
    assert len(asked) <= len(set(texts)) + len(set("".join(texts)))


def test_identical_tokens_at_different_places_keep_their_labels() -> None:
    assert Tokens(("a", "b", "a"), ((0, 1), (2, 3), (4, 5)), source="a b a").labels == ("a", "b", "a")
