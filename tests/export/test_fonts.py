from __future__ import annotations

import pytest

from relpos_viewer.export import fonts
from relpos_viewer.export.fonts import BASE, Fonts


@pytest.fixture
def only_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no font but the one that comes with matplotlib."""
    monkeypatch.setattr(fonts, "_candidates", lambda: ())


@pytest.mark.usefixtures("only_base")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("e\u0301", "é"),
        ("中文", "U+4E2D…"),
        ("x中y", "xU+4E2Dy"),
        ("👨\u200d👩\u200d👧", "U+1F468…"),
        ("\u2068שלום\u2069", "שלום"),
        ("a\u200bb", "ab"),
        ("a\nb\tc", "a b c"),
        ("$x$", "$x$"),
        ("\x00", "U+0000"),
        ("\ud800", "U+D800"),
        ("", ""),
    ],
)
def test_a_text_is_drawn_as_the_fonts_allow(text, shown) -> None:
    assert Fonts([text]).drawable(text) == shown


def test_an_installed_font_is_taken_for_what_the_base_lacks(monkeypatch) -> None:
    have = {"base.ttf": {ord("a")}, "cjk.ttf": {ord("中")}, "other.ttf": {ord("文")}, "idle.ttf": {ord("a")}}
    monkeypatch.setattr(fonts, "coverage", lambda path: frozenset(have[path]))
    monkeypatch.setattr(fonts, "_path", lambda family: "base.ttf")
    monkeypatch.setattr(
        fonts, "_candidates", lambda: (("Idle", "idle.ttf"), ("CJK", "cjk.ttf"), ("Other", "other.ttf"))
    )
    chosen = Fonts(["a中文"])
    assert chosen.families == [BASE, "CJK", "Other"] and chosen.drawable("a中文") == "a中文"
    assert Fonts(["aaa"]).families == [BASE]


def test_a_file_that_is_no_font_covers_nothing(tmp_path) -> None:
    (tmp_path / "a.ttf").write_bytes(b"no font")
    assert fonts.coverage(str(tmp_path / "a.ttf")) == frozenset()
