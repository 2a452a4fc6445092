"""The sequence panel: text, tokenizer and samples are reported once, and showing them reports nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QMimeData, Qt, QUrl
from PySide6.QtGui import QKeyEvent, QTextDocument

from relpos_viewer.core.tokens import Tokens
from relpos_viewer.document.document import ArraySource, TextSource
from relpos_viewer.sources.text import TOKENIZERS, tokenize
from relpos_viewer.views.samples import SAMPLES
from relpos_viewer.views.sequence_panel import SequencePanel
from relpos_viewer.views.utf16 import editor_text, utf16_positions


@pytest.fixture
def panel(qtbot) -> SequencePanel:
    panel = SequencePanel()
    qtbot.addWidget(panel)
    panel.resize(900, 90)
    panel.show()
    return panel


@pytest.fixture
def heard(panel) -> list:
    heard = []
    panel.text_changed.connect(lambda text: heard.append(("text", text)))
    panel.tokenizer_changed.connect(lambda kind: heard.append(("tokenizer", kind)))
    panel.sample_chosen.connect(lambda text, kind: heard.append(("sample", text, kind)))
    return heard


def test_every_keystroke_is_reported_at_once(panel, heard, qtbot):
    qtbot.keyClicks(panel.editor, "a b")
    assert heard == [("text", "a"), ("text", "a "), ("text", "a b")]


def test_showing_a_source_reports_nothing(panel, heard):
    panel.set_source(TextSource("one two", tokenizer="characters"))
    panel.set_tokens(tokenize("one two", "characters"))
    panel.set_source(TextSource("1 2", tokenizer="integers"))
    assert heard == []
    assert panel.editor.text() == "1 2"
    assert panel.tokenizer.currentData() == "integers"


def test_showing_what_was_just_typed_leaves_the_caret(panel, qtbot):
    panel.set_source(TextSource("one three"))
    cursor = panel.editor.textCursor()
    cursor.setPosition(4)
    panel.editor.setTextCursor(cursor)
    qtbot.keyClicks(panel.editor, "two ")
    panel.set_source(TextSource("one two three"))
    assert panel.editor.textCursor().position() == 8
    panel.set_source(TextSource("zero one two three"))  # an undo elsewhere: the caret stays by its word
    assert panel.editor.textCursor().position() == 13
    panel.set_source(TextSource("zero one two three four"))
    assert panel.editor.textCursor().position() == 13


@pytest.mark.parametrize(
    "text",
    [
        "no\N{NO-BREAK SPACE}break",
        "two\n\nparagraphs",
        "tab\tbed",
        "👨‍👩‍👧 🇩🇪",
        "line\N{LINE SEPARATOR}separator",
        "",
    ],
)
def test_the_text_comes_back_as_it_was_shown(panel, text):
    panel.set_source(TextSource(text))
    assert panel.editor.text() == text


def test_choosing_a_tokenizer_is_reported_by_its_name(panel, heard, qtbot):
    panel.set_source(TextSource("a b"))
    panel.tokenizer.setFocus()
    qtbot.keyClick(panel.tokenizer, Qt.Key.Key_Down)
    assert heard == [("tokenizer", list(TOKENIZERS)[1])]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_a_sample_is_one_change_that_its_own_tokenizer_can_cut(panel, heard, sample):
    action = next(action for action in panel.samples.menu().actions() if action.text() == sample.title)
    action.trigger()
    [(_, text, kind)] = heard
    tokens = tokenize(text, kind)
    assert 10 <= len(tokens) <= 200
    assert ">" not in text.splitlines()[0]


def test_undo_belongs_to_the_window_and_not_to_the_editor(panel, qtbot):
    qtbot.keyClicks(panel.editor, "a")
    for key, modifiers in (
        (Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier),
        (Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier),
    ):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifiers)
        panel.editor.event(event)
        assert not event.isAccepted()


def test_a_dropped_file_is_the_windows_and_dropped_text_the_editors(panel):
    file, text = QMimeData(), QMimeData()
    file.setUrls([QUrl.fromLocalFile("/tmp/a.txt")])
    text.setText("words")
    assert not panel.editor.canInsertFromMimeData(file)
    assert panel.editor.canInsertFromMimeData(text)


# (tokenizer, text, token, UTF-16 range in the editor); lengths 8, 2 and 4 as in the report go-runewidth#20
MARKED = [
    ("characters", "👨‍👩‍👧x", 0, (0, 8)),
    ("characters", "👨‍👩‍👧x", 1, (8, 9)),
    ("characters", "e\N{COMBINING ACUTE ACCENT}x", 0, (0, 2)),
    ("characters", "🇩🇪x", 0, (0, 4)),
    ("codepoints", "🇩🇪x", 1, (2, 4)),
    ("bytes", "i ⭢ j", 3, (2, 3)),
    ("words", "שלום עולם", 1, (5, 9)),
    ("words", "one\r\ntwo", 1, (4, 7)),
]


@pytest.mark.parametrize(("kind", "text", "token", "places"), MARKED)
def test_the_current_token_marks_its_own_characters(panel, kind, text, token, places):
    panel.set_source(TextSource(text, tokenizer=kind))
    panel.set_tokens(tokenize(text, kind))
    panel.set_current(token)
    [selection] = panel.editor.extraSelections()
    assert (selection.cursor.selectionStart(), selection.cursor.selectionEnd()) == places


def test_nothing_is_marked_while_the_tokens_are_of_an_older_text(panel, qtbot):
    panel.set_source(TextSource("one two"))
    panel.set_tokens(tokenize("one two"))
    panel.set_current(1)
    assert len(panel.editor.extraSelections()) == 1
    panel.editor.moveCursor(panel.editor.textCursor().MoveOperation.Start)
    qtbot.keyClicks(panel.editor, "x ")
    panel.set_current(0)
    assert panel.editor.extraSelections() == []


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_places_in_the_editor_are_those_of_qt(text):
    document = QTextDocument()
    document.setPlainText(text)
    # One more for the end of the last paragraph, which every document has.
    assert utf16_positions(text)[-1] == document.characterCount() - 1
    assert len(utf16_positions(text)) == len(text) + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), ("a\N{PARAGRAPH SEPARATOR}b", "a\nb"), ("a\nb", "a\nb")],
)
def test_every_line_end_is_one_in_the_editor(text, shown):
    document = QTextDocument()
    document.setPlainText(text)
    assert editor_text(text) == document.toPlainText() == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [("one", "1 token"), ("one two", "2 tokens"), ("one\n\ntwo", "2 tokens, 2 documents")],
)
def test_the_number_of_tokens_is_said(panel, text, words):
    panel.set_tokens(tokenize(text))
    assert panel.editor.accessibleDescription() == words


def test_a_problem_is_said_until_the_next_tokens(panel):
    panel.set_tokens(tokenize("one"))
    panel.set_problem("there is no text; type at least one token.")
    assert "no text" in panel.editor.accessibleDescription()
    panel.set_tokens(tokenize("one two"))
    assert panel.editor.accessibleDescription() == "2 tokens"


def test_arrays_are_described_and_cannot_be_typed_into(panel, heard, qtbot):
    panel.set_source(TextSource("typed before", tokenizer="characters"))
    q = np.zeros((4, 12, 32), np.float32)
    panel.set_source(ArraySource("/x/a.npz", "a.npz", {"q": q, "k": q}, notes=("One NaN in q.",)))
    assert panel.editor.text() == "a.npz: q [4, 12, 32], k [4, 12, 32]\nOne NaN in q."
    qtbot.keyClicks(panel.editor, "x")
    assert heard == []
    assert not panel.tokenizer.isVisible()
    panel.findChild(type(panel.samples), "sequenceType").click()
    assert heard == [("sample", "typed before", "characters")]


def test_fewer_tokens_than_before_drop_a_row_that_is_no_more(panel):
    panel.set_source(TextSource("a b c d"))
    panel.set_tokens(tokenize("a b c d"))
    panel.set_row(3, np.full(4, 0.25), np.ones(4, bool))
    panel.set_current(3)
    panel.set_tokens(tokenize("a b"))
    panel.set_tokens(Tokens(("x",)))
    panel.grab()
    assert panel.editor.extraSelections() == []


def test_the_editor_shows_whole_lines_at_the_top_of_its_room(panel):
    panel.set_source(TextSource(" ".join(["word"] * 900)))
    panel.resize(900, 260)
    editor = panel.editor
    assert editor.viewport().height() == 3 * editor.fontMetrics().lineSpacing()
    assert editor.y() == panel.samples.y()
    assert editor.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff


def test_the_editor_grows_to_three_lines_and_further_when_asked(panel):
    heights = []
    for lines in (1, 2, 3, 4, 9):
        panel.set_source(TextSource("\n".join("x" * lines)))
        heights.append(panel.editor.height())
    assert heights[0] < heights[1] < heights[2] == heights[3] == heights[4]
    panel.findChild(type(panel.samples), "sequenceExpand").click()
    assert panel.editor.height() > 2 * heights[2]
