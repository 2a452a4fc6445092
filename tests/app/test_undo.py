"""One gesture, one step; undo gives back the exact arrays and leaves the view alone."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app.steps import Steps
from relpos_viewer.app.undo import History
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.document.session import Session

FIRST = Document.default()
HEADS, N = 4, 24


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session() -> Session:
    return Session(FIRST)


@pytest.fixture
def history(session, clock, qapp) -> History:
    return History(session, clock=clock)


def with_edit(document: Document, offset: int, value: float, head: int = 0) -> Document:
    values = document.edit.at(HEADS, N)
    values[head, offset + N - 1] = value
    return replace(document, edit=document.edit.updated(values))


def with_text(document: Document, text: str) -> Document:
    return replace(document, source=TextSource(text))


def steps(history: History) -> list[str]:
    """Names of all steps, the newest first; leaves the history at its beginning."""
    names = []
    while history.can_undo:
        names.append(history.undo_name)
        history.undo()
    return names


def test_a_drag_of_a_hundred_moves_is_one_step_that_undoes_exactly(session, history):
    for move in range(1, 101):
        history.preview(with_edit(session.document, -2, -move / 100))
    history.commit_preview("Drag curve at −2")
    dragged = session.document
    assert dragged.edit.at(HEADS, N)[0, N - 3] == -1.0
    assert (history.undo_name, history.can_redo) == ("Drag curve at −2", False)
    history.undo()
    assert session.document == FIRST
    assert not session.document.edit.at(HEADS, N).any()
    assert (history.can_undo, history.redo_name) == (False, "Drag curve at −2")
    history.redo()
    assert session.document == dragged


def test_escape_in_a_drag_leaves_no_step_and_the_document_before_it(session, history):
    history.push(with_text(FIRST, "before"), "Edit text")
    before = session.document
    history.preview(with_edit(before, -2, 1.0))
    history.preview(with_edit(before, -2, 2.0))
    history.cancel_preview()
    assert session.document == before
    assert steps(history) == ["Edit text"]


def test_a_drag_that_returns_to_its_start_is_no_step(session, history):
    history.preview(with_edit(FIRST, -2, 1.0))
    history.preview(FIRST)
    history.commit_preview("Drag curve at −2")
    assert not history.can_undo
    assert history.clean


def test_two_drags_are_two_steps_however_quick(session, history):
    for value in (1.0, 2.0):
        history.preview(with_edit(session.document, -2, value))
        history.commit_preview("Drag curve at −2")
    assert steps(history) == ["Drag curve at −2"] * 2


@pytest.mark.parametrize(
    ("second_key", "pause", "expected"),
    [
        ("text", 0.9, ["Edit text"]),
        ("text", 1.1, ["Edit text", "Edit text"]),
        ("other", 0.0, ["Edit text", "Edit text"]),
        (None, 0.0, ["Edit text", "Edit text"]),
    ],
)
def test_changes_join_only_with_the_same_key_and_within_a_second(
    session, history, clock, second_key, pause, expected
):
    history.push(with_text(FIRST, "a"), "Edit text", "text")
    clock.now += pause
    history.push(with_text(FIRST, "ab"), "Edit text", second_key)
    assert session.document.source.text == "ab"
    assert steps(history) == expected
    assert session.document == FIRST


def test_changes_without_a_key_never_join(session, history):
    history.push(with_text(FIRST, "a"), "Edit text")
    history.push(with_text(FIRST, "ab"), "Edit text")
    assert steps(history) == ["Edit text", "Edit text"]


def test_a_long_run_of_quick_keystrokes_is_one_step_and_redo_gives_the_last(session, history, clock):
    for length in range(1, 50):
        clock.now += 0.5
        history.push(with_text(FIRST, "x" * length), "Edit text", "text")
    history.undo()
    assert session.document == FIRST
    history.redo()
    assert session.document.source.text == "x" * 49


@pytest.mark.parametrize("between", ["undo and redo", "save", "drag", "reset"])
def test_nothing_joins_a_step_across(session, history, between):
    history.push(with_text(FIRST, "a"), "Edit text", "text")
    if between == "undo and redo":
        history.undo()
        history.redo()
    elif between == "save":
        history.set_clean()
    elif between == "drag":
        history.preview(with_edit(session.document, -1, 1.0))
        history.commit_preview("Drag curve at −1")
    else:
        history.reset(with_text(FIRST, "opened"))
    history.push(with_text(session.document, "ab"), "Edit text", "text")
    assert not history.clean
    history.undo()
    assert session.document.source.text == ("opened" if between == "reset" else "a")


def test_a_change_soon_after_an_undo_does_not_rewrite_the_step_taken_back(session, history):
    history.push(with_text(FIRST, "a"), "Edit text", "text")
    history.undo()
    history.push(with_text(FIRST, "b"), "Edit text", "text")
    assert steps(history) == ["Edit text"]
    assert session.document == FIRST
    history.redo()
    assert session.document.source.text == "b"


CHANGES = {
    "text": lambda d: with_text(d, "two words"),
    "source": lambda d: replace(d, source=ArraySource("f.npz", "f", {"q": np.ones((1, 2, 3), np.float32)})),
    "encoding": lambda d: replace(d, encoding=EncodingSpec("alibi")),
    "parameter": lambda d: replace(d, encoding=EncodingSpec("t5", {"num_buckets": 8})),
    "mask": lambda d: replace(d, mask="window:3"),
    "mask array": lambda d: replace(d, mask=np.eye(3, dtype=bool)),
    "scale": lambda d: replace(d, scale=1.0),
    "edit": lambda d: with_edit(d, -3, 0.1, head=2),
    "nothing but a NaN": lambda d: replace(
        d, source=ArraySource("f", "f", {"q": np.full((1, 2, 3), np.nan, np.float32)})
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_undo_and_redo_restore_everything_but_the_view(session, history, change):
    after = change(FIRST)
    history.push(after, "Change")
    moved = View(head=3, layout="grid", levels="auto", terms_map="cmap:vik")
    history.set_view(moved)
    history.undo()
    assert session.document == replace(FIRST, view=moved)
    history.redo()
    assert session.document == replace(after, view=moved)


def test_a_view_is_no_step_and_no_reason_to_save(session, history):
    history.set_view(View(layout="grid"))
    history.push(replace(session.document, view=View(layout="weights")), "Show weights")
    assert session.document.view.layout == "weights"
    assert (history.can_undo, history.clean) == (False, True)


def test_a_view_changed_during_a_drag_stays_when_the_drag_is_cancelled(session, history):
    history.preview(with_edit(FIRST, -2, 1.0))
    history.set_view(View(head=2))
    history.cancel_preview()
    assert session.document == replace(FIRST, view=View(head=2))


def test_the_view_that_comes_with_a_change_is_shown(session, history):
    history.push(replace(with_text(FIRST, "a"), view=View(head=1)), "Edit text")
    assert session.document.view.head == 1
    history.preview(replace(with_text(FIRST, "b"), view=View(head=2)))
    history.commit_preview("Drag")
    assert session.document.view.head == 2


def test_a_change_during_a_drag_ends_the_drag_as_a_step_of_its_own(session, history):
    history.preview(with_edit(FIRST, -2, 1.0))
    history.push(replace(session.document, mask="none"), "Set mask")
    history.commit_preview("Drag curve at −2")  # the hand lets go later
    assert steps(history) == ["Set mask", "Edit curve"]


def test_undo_during_a_drag_takes_back_the_drag_alone(session, history):
    history.push(with_text(FIRST, "a"), "Edit text")
    before = session.document
    history.preview(with_edit(before, -2, 1.0))
    assert (history.can_undo, history.can_redo) == (True, False)
    history.undo()
    assert session.document == before
    assert history.undo_name == "Edit text"


def test_redo_does_nothing_during_a_drag(session, history):
    history.push(with_text(FIRST, "a"), "Edit text")
    history.undo()
    history.preview(with_edit(FIRST, -2, 1.0))
    shown = session.document
    history.redo()
    assert session.document == shown
    assert history.is_previewing


def test_clean_follows_saving_through_undo_and_redo(session, history):
    seen: list[bool] = []
    history.clean_changed.connect(seen.append)
    history.push(with_text(FIRST, "a"), "Edit text")
    history.set_clean()
    history.push(with_text(FIRST, "b"), "Edit text")
    assert not history.clean
    history.undo()
    assert history.clean
    history.undo()
    assert not history.clean
    history.set_unclean()
    history.redo()
    assert not history.clean, "a recovered document is in no file, wherever undo goes"
    assert seen == [False, True, False, True, False]


def test_resetting_forgets_the_steps_and_is_clean(session, history):
    history.push(with_text(FIRST, "a"), "Edit text")
    history.undo()
    history.preview(with_edit(FIRST, -2, 1.0))
    history.set_unclean()
    opened = with_text(FIRST, "opened")
    history.reset(opened)
    assert session.document == opened
    assert (history.can_undo, history.can_redo, history.is_previewing, history.clean) == (
        False,
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    "act",
    [
        lambda history: history.push(with_text(FIRST, "z"), "Edit text"),
        lambda history: history.undo(),
        lambda history: history.reset(FIRST),
        lambda history: history.preview(with_edit(FIRST, -2, 1.0)),
    ],
    ids=["push", "undo", "reset", "preview"],
)
def test_the_menu_is_told_when_the_names_may_differ(qtbot, session, history, act):
    history.push(with_text(FIRST, "a"), "Edit text")
    with qtbot.waitSignal(history.changed, timeout=1000):
        act(history)


def test_the_oldest_steps_are_forgotten_after_two_hundred(session, history):
    for index in range(205):
        history.push(with_text(FIRST, str(index)), f"Step {index}")
    assert len(steps(history)) == 200
    assert session.document.source.text == "4"


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (0, 1),  # the last step always stays
        (1, 1),
        (2.1, 2),
        (5.1, 5),
        (100, 9),
    ],
)
def test_the_oldest_steps_are_forgotten_when_their_arrays_take_too_much(session, qapp, room, kept):
    values = np.random.default_rng(1).normal(size=(HEADS, 20_001)).astype(np.float32)
    history = History(session, steps=Steps(most_bytes=int(room * values.nbytes)))
    # An array that every step shares, and the newest document's own, count nothing.
    source = ArraySource("f.npz", "f", {"q": np.ones((1, 300_000, 3), np.float32)})
    history.reset(replace(FIRST, source=source, edit=EditCurve(values)))
    for index in range(9):
        edit = EditCurve(values + (index + 1))
        history.push(replace(session.document, edit=edit), f"Drag {index}")
        history.set_view(View(head=index % 4))
        if index == 5:
            history.set_clean()
    assert steps(history) == [f"Drag {index}" for index in range(8, 8 - kept, -1)]
    assert np.array_equal(session.document.edit.values, values + (9 - kept))
    for _ in range(6 - (9 - kept)):
        history.redo()
    assert history.clean == (kept >= 3), "what was saved is clean wherever it can still be reached"


def test_small_steps_are_kept_though_each_shares_a_large_array(session, qapp):
    big = np.ones((HEADS, 20_001), np.float32)
    history = History(session, steps=Steps(most_bytes=2 * big.nbytes))
    history.reset(replace(FIRST, edit=EditCurve(big)))
    for index in range(30):
        history.push(replace(session.document, mask=f"window:{index + 1}"), f"Mask {index}")
    history.push(replace(session.document, edit=EditCurve(big + 1)), "Drag")
    for index in range(30):
        history.push(replace(session.document, mask=f"prefix:{index + 1}"), f"Mask {index}")
    assert len(steps(history)) == 61


def test_steps_share_what_did_not_change(session, history):
    values = np.zeros((HEADS, 4095), np.float32)
    big = replace(FIRST, edit=EditCurve(values))
    history.reset(big)
    history.push(replace(big, mask="none"), "Set mask")
    history.undo()
    assert session.document.edit.values is big.edit.values
