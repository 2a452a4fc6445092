"""The window as a user meets it: typing, dragging, undoing, saving, exporting, and every action once."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QDialog, QFileDialog, QLabel, QMessageBox
from pytestqt.qtbot import QtBot

from relpos_viewer.app.actions import ACTIONS
from relpos_viewer.app.frames import Frame, FrameMaker, FrameRequest
from relpos_viewer.app.runner import Cancel
from relpos_viewer.app.settings import Settings
from relpos_viewer.core.quantise import LAST_VALUE, quantise
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.document.files import load_session
from relpos_viewer.views.main_window import MainWindow, _formulas

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal")


@pytest.fixture
def open_window(new_window: Callable[..., MainWindow]) -> Callable[..., MainWindow]:
    def make(document: Document = START, **arguments: object) -> MainWindow:
        return new_window(document, **arguments)

    return make


@pytest.fixture
def window(open_window: Callable[..., MainWindow], qtbot: QtBot) -> MainWindow:
    made = open_window()
    settle(made, qtbot)
    return made


def settle(window: MainWindow, qtbot: QtBot) -> None:
    """Wait until the newest document is on show and nothing is under way."""

    # Plain truth: of an assertion that fails pytest writes out the whole frame, at each look.
    def shown() -> bool:
        frame = window.frame
        return (
            frame is not None
            and frame.document == window.session.document
            and not window.runner.is_busy
            and not window.files.busy
        )

    qtbot.waitUntil(shown, timeout=10_000)
    QApplication.processEvents()
    qtbot.waitUntil(shown, timeout=10_000)


def mouse(
    widget, kind: QEvent.Type, at: QPointF, *, down: bool, modifiers=Qt.KeyboardModifier.NoModifier
) -> None:
    button = Qt.MouseButton.LeftButton
    moved = kind == QEvent.Type.MouseMove
    event = QMouseEvent(
        kind,
        at,
        widget.mapToGlobal(at),
        Qt.MouseButton.NoButton if moved else button,
        button if down else Qt.MouseButton.NoButton,
        modifiers,
    )
    QApplication.sendEvent(widget.viewport(), event)


def drag_curve(
    window: MainWindow, offset: int, pixels: float, steps: int = 20, *, release: bool = True
) -> None:
    """Press on the curve at an offset, move up by `pixels`, and let go."""
    plot = window.curve.plot
    curves = window.frame.curves
    value = float(
        curves.family[curves.head, offset + curves.n - 1]
        + window.curve.edit[curves.head, offset + curves.n - 1]
    )
    at = QPointF(plot.offset_to_x(offset), plot.value_to_y(value))
    mouse(plot, QEvent.Type.MouseButtonPress, at, down=True)
    for step in range(1, steps + 1):
        mouse(plot, QEvent.Type.MouseMove, at - QPointF(0, pixels * step / steps), down=True)
    if release:
        mouse(plot, QEvent.Type.MouseButtonRelease, at - QPointF(0, pixels), down=False)


def same_tiles(one: Frame, other: Frame) -> bool:
    return all(np.array_equal(one.tiles[stage].codes, tile.codes) for stage, tile in other.tiles.items())


# Typing


def test_typing_changes_the_matrices(window: MainWindow, qtbot: QtBot) -> None:
    before = window.frame
    qtbot.keyClicks(window.sequence.editor, " now")
    settle(window, qtbot)
    assert (
        window.session.document.source.text.endswith("down now")
        or "now" in window.session.document.source.text
    )
    assert window.frame.n_key == before.n_key + 1
    assert window.frame.tiles["weights"].codes.shape == (12, 12)
    window.history.undo()
    settle(window, qtbot)
    assert window.session.document == START, "what was typed in one go is one step"
    assert window.sequence.editor.text() == TEXT.text
    for stage, tile in before.tiles.items():
        assert np.array_equal(window.frame.tiles[stage].codes, tile.codes)


def test_no_text_at_all_is_said_and_nothing_is_lost(window: MainWindow, qtbot: QtBot) -> None:
    before = window.frame
    window.sequence.editor.selectAll()
    qtbot.keyClick(window.sequence.editor, Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: window.message.isVisible() and window.message.is_error, timeout=5000)
    assert "no tokens" in window.message.text() or "at least one" in window.message.text()
    assert same_tiles(window.frame, before), "the last picture stays"
    qtbot.keyClicks(window.sequence.editor, "a b")
    settle(window, qtbot)
    assert window.frame.n_key == 2
    assert not window.message.isVisible(), "the message goes when its cause does"


def test_a_text_that_cannot_be_cut_leaves_the_rest_of_the_window_live(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.actions_by_id["tokenizer:integers"].trigger()
    settle(window, qtbot)
    assert "is not a token id" in window.message.text()
    before = window.frame
    drag_curve(window, offset=-2, pixels=20)
    settle(window, qtbot)
    assert not np.array_equal(window.frame.tiles["scores"].codes, before.tiles["scores"].codes)
    assert window.message.is_error, "what is wrong with the text is still so"
    window.history.undo()
    settle(window, qtbot)
    assert window.curve.edit[0].max() == 0
    assert same_tiles(window.frame, before)


def test_one_token_is_a_picture_of_one_cell(open_window: Callable[..., MainWindow], qtbot: QtBot) -> None:
    window = open_window(replace(START, source=TextSource("one")))
    settle(window, qtbot)
    assert window.frame.field.weights.tolist() == [[1.0]]


# Dragging


def test_a_drag_moves_the_curve_its_diagonals_and_no_other_score(window: MainWindow, qtbot: QtBot) -> None:
    before = window.frame
    window.curve.tools.radius = 0
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    after = window.frame
    rows, cols = np.indices((11, 11))
    moved = after.field.scores.numpy() != before.field.scores.numpy()
    assert np.array_equal(moved, cols - rows == -3)
    changed = after.tiles["positional"].codes != before.tiles["positional"].codes
    locked = after.tiles["positional"].levels == before.tiles["positional"].levels
    assert locked, "60 pixels keep the shared limits, so that pixels can be compared"
    assert np.array_equal(changed, cols - rows == -3), "the pixels of that diagonal and no others"
    assert not np.array_equal(after.tiles["weights"].codes, before.tiles["weights"].codes)
    assert window.session.document.edit.values[0].any() and not window.session.document.edit.values[1:].any()


def test_a_drag_is_one_step_and_undo_brings_back_every_bit(window: MainWindow, qtbot: QtBot) -> None:
    before, document = window.frame, window.session.document
    drag_curve(window, -4, 80, steps=100)
    settle(window, qtbot)
    after = window.frame
    assert window.history.undo_name
    window.actions_by_id["undo"].trigger()
    settle(window, qtbot)
    assert window.session.document == document
    assert not window.history.can_undo, "one drag, one step"
    for stage in ("positional", "scores", "weights"):
        assert np.array_equal(window.frame.field.stage(stage), before.field.stage(stage))
        assert np.array_equal(window.frame.tiles[stage].codes, before.tiles[stage].codes)
    assert not window.curve.edit.any()
    window.actions_by_id["redo"].trigger()
    settle(window, qtbot)
    assert np.array_equal(window.frame.field.weights, after.field.weights)


def test_the_matrices_follow_while_the_hand_moves(window: MainWindow, qtbot: QtBot) -> None:
    before = window.frame
    drag_curve(window, -3, 60, release=False)
    qtbot.waitUntil(lambda: window.frame is not before and not window.runner.is_busy, timeout=5000)
    assert not np.array_equal(window.frame.tiles["weights"].codes, before.tiles["weights"].codes)
    assert window.history.is_previewing
    qtbot.keyClick(window.curve.plot, Qt.Key.Key_Escape)
    settle(window, qtbot)
    assert window.session.document == START and not window.history.can_undo
    assert np.array_equal(window.frame.tiles["weights"].codes, before.tiles["weights"].codes)


def test_what_is_older_than_the_picture_is_grey_and_what_is_older_than_the_document_is_said(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    maker, gates = FrameMaker(), {"picture": threading.Event(), "figures": threading.Event()}
    for gate in gates.values():
        gate.set()

    def slow(request: FrameRequest, cancel: Cancel) -> Frame:
        while not gates["figures" if request.detail else "picture"].wait(0.02):
            cancel.check()
        return maker(request, cancel)

    window = open_window(make_frame=slow)
    settle(window, qtbot)
    state, figures = (window.status.findChild(QLabel, f"status{part}") for part in ("Left", "Figures"))
    qtbot.waitUntil(lambda: set(window.strip.thumbnails) == {0, 1, 2}, timeout=10000)
    assert figures.isEnabled() and "exact" in state.text()
    for change in (replace(START, mask="none"), replace(START, mask="none", view=View(head=1))):
        for gate in gates.values():
            gate.clear()
        window.history.push(change, "change it")
        qtbot.waitUntil(lambda: state.text() == "updating…", timeout=5000)
        assert figures.isEnabled()  # of the picture that is still on show
        gates["picture"].set()
        qtbot.waitUntil(lambda: "exact" in state.text(), timeout=5000)
        assert not figures.isEnabled()
        gates["figures"].set()
        qtbot.waitUntil(figures.isEnabled, timeout=5000)
        settle(window, qtbot)
    maker.close()


def test_thumbnails_that_wait_for_newer_ones_are_faded(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: set(window.strip.thumbnails) == {0, 1, 2}, timeout=10000)
    assert window.strip.faded == set()
    window.history.push(replace(START, mask="none"), "change it")
    qtbot.waitUntil(lambda: window.frame.document.mask == "none", timeout=5000)
    assert window.strip.faded == {0, 1, 2}
    qtbot.waitUntil(lambda: window.strip.faded == set(), timeout=10000)


def test_the_figures_of_the_head_come_back_when_the_hand_lets_go(window: MainWindow, qtbot: QtBot) -> None:
    drag_curve(window, -2, 50)
    settle(window, qtbot)
    figures = window.status.findChild(object, "statusFigures")
    before = figures.text()
    assert "Toeplitz share 1" in before and "position share" in before
    drag_curve(window, -5, 50, release=False)
    qtbot.waitUntil(lambda: window.history.is_previewing and not window.runner.is_busy, timeout=5000)
    assert figures.text() == before, "a moving hand is not slowed down by them"
    qtbot.keyClick(window.curve.plot, Qt.Key.Key_Escape)
    mouse(window.curve.plot, QEvent.Type.MouseButtonRelease, QPointF(200, 100), down=False)
    drag_curve(window, -5, 50)
    settle(window, qtbot)
    assert figures.text() != before


# Live


def test_the_window_paints_and_the_newest_request_wins_while_the_worker_is_held(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    gate, maker, asked = threading.Event(), FrameMaker(), []

    def held(request, cancel):
        asked.append(request.document)
        if len(asked) == 1:
            gate.wait(10)
        return maker(request, cancel)

    window = open_window(make_frame=held)
    qtbot.waitUntil(lambda: len(asked) == 1, timeout=5000)
    ticks: list[int] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(1))
    timer.start(5)
    for count in range(2, 12):
        window.edits.type_text("a " * count)
        window.grab()
        QApplication.processEvents()
    qtbot.wait(60)
    timer.stop()
    assert len(ticks) >= 3, "the event loop ran on"
    assert len(asked) == 1
    gate.set()
    settle(window, qtbot)
    assert window.frame.n_key == 11
    texts = list(dict.fromkeys(document.source.text for document in asked))
    assert len(texts) <= 3 and texts[-1] == "a " * 11, "what nobody waits for any more is not computed"


def test_a_long_sequence_is_sampled_first_then_exact_and_follows_the_hand(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    long = replace(START, source=replace(TEXT, text="the cat sat on a mat " * 500))
    window = open_window(long)
    frames: list = []
    window.runner.delivered.connect(lambda frame: frames.append(frame) if frame.tiles else None)
    settle(window, qtbot)
    qtbot.waitUntil(lambda: bool(frames) and frames[-1].exact and not window.runner.is_busy, timeout=20_000)
    assert not frames[0].exact, "something to look at comes at once"
    assert "exact" in window.status.findChild(object, "statusLeft").text()
    before = window.frame
    drag_curve(window, -40, 60)
    settle(window, qtbot)
    qtbot.waitUntil(lambda: not window.runner.is_busy, timeout=10_000)
    assert window.frame.exact
    assert not np.array_equal(window.frame.tiles["weights"].codes, before.tiles["weights"].codes)
    window.equation.cell_hovered.emit(2000, 1960)
    line = window.status.findChild(object, "statusCell").text()
    assert line.startswith("query 2000 “") and "pixel: max of" in line


def test_a_long_sequence_is_exported_as_it_is_shown_and_its_matrices_are_refused(
    open_window: Callable[..., MainWindow], qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(replace(START, source=replace(TEXT, text="the cat sat on a mat " * 700)))
    settle(window, qtbot)
    qtbot.waitUntil(lambda: window.frame.exact and not window.runner.is_busy, timeout=20_000)
    asked: list[str] = []

    def where(_parent: object, _title: str, start: str, filters: str) -> tuple[str, str]:
        asked.append(start)
        return str(tmp_path / names.pop(0)), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", where)
    names = ["a.pixels.npz", "c.npy"]
    weights = window.frame.tiles["weights"]
    for action in ("export_data", "export_curve"):
        window.actions_by_id[action].trigger()
        qtbot.waitUntil(lambda: not window.files.busy, timeout=20_000)
    assert asked[0].endswith("attention.pixels.npz")
    with np.load(tmp_path / "a.pixels.npz") as saved:
        codes = quantise(saved["weights"], saved["visible"], weights.levels)
        assert (codes == weights.codes).mean() > 0.999
        assert (saved["row_edges"][-1], saved["col_edges"][-1]) == (4200, 4200)
    assert np.load(tmp_path / "c.npy").shape == (3, 8399)

    window.actions_by_id["copy_picture"].trigger()
    qtbot.waitUntil(lambda: not window.files.busy, timeout=20_000)
    assert QGuiApplication.clipboard().image().width() > 1000

    names = ["all.npz"]
    window.actions_by_id["export_data"].trigger()
    qtbot.waitUntil(lambda: window.message.is_error, timeout=5000)
    assert "4,200 tokens would be 0.9 GB" in window.message.text() and not (tmp_path / "all.npz").exists()


# Cell and curve


def test_hovering_a_cell_tells_its_numbers_everywhere(window: MainWindow, qtbot: QtBot) -> None:
    window.equation.cell_hovered.emit(9, 5)
    exact = window.frame.field.values(9, 5)
    line = window.status.findChild(object, "statusCell").text()
    assert line.startswith("query 9 “sat” → key 5 “mat”   δ = −4")
    assert window.inspector.as_text().count("\n") >= 4
    assert exact.content + exact.positional == pytest.approx(exact.score, abs=1e-6)


def test_a_hot_cell_survives_zooming_out_and_the_readout_names_it(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    # P03 at the size this window shows: one weight in 1,500² cells, on some 250² pixels.
    weights = np.zeros((1, 1500, 1500), np.float32)
    weights[0, 1234, 321] = 1
    source = ArraySource("", "hot", {"weights": weights})
    window = open_window(Document(source=source, encoding=EncodingSpec("none"), mask="none"))
    settle(window, qtbot)
    tile = window.frame.tiles["weights"]
    height, width = tile.codes.shape
    assert height < 400 and tile.reduce == "max"
    hot = np.argwhere(tile.codes == LAST_VALUE)
    # Pixels share out whole cells, so an edge may lie a part of a pixel before that of a ruler.
    assert abs(hot - [1234 * height / 1500, 321 * width / 1500]).max() < 1 and len(hot) == 1
    (start, _), (left, _) = tile.block(1234, 321)
    window.equation.cell_hovered.emit(start, left)  # another cell of the same pixel
    line = window.status.findChild(object, "statusCell").text()
    assert "pixel: max of" in line and line.endswith("largest weight 1 at query 1234 → key 321")


def test_an_edit_survives_typing_a_longer_text(window: MainWindow, qtbot: QtBot) -> None:
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    edit = window.session.document.edit
    window.edits.type_text("short text")
    settle(window, qtbot)
    window.edits.type_text(TEXT.text + " again")
    settle(window, qtbot)
    assert window.session.document.edit == edit
    assert window.frame.curves.edit[0, 11 - 3] == edit.values[0, 10 - 3]


def _point_at_a_cell(window: MainWindow) -> None:
    window.equation._hover(10, 10)


def _pin_a_cell(window: MainWindow) -> None:
    window.equation._click(2, 10)


def _select_a_point(window: MainWindow) -> None:
    window.curve.select(-9, -9)


@pytest.mark.parametrize("point", [_point_at_a_cell, _pin_a_cell, _select_a_point])
@pytest.mark.parametrize("encoding", ["t5", "alibi"])
def test_what_was_pointed_at_in_a_longer_sequence_is_let_go(
    open_window: Callable[..., MainWindow], qtbot: QtBot, encoding: str, point: Callable[[MainWindow], None]
) -> None:
    window = open_window(replace(START, encoding=EncodingSpec(encoding), mask="none"))
    settle(window, qtbot)
    window.curve.radius = 4
    point(window)
    window.edits.type_text("one")
    point(window)  # at the picture of the old sequence, which is still on show
    settle(window, qtbot)
    assert window.inspector.heading() == "query 0 “one” → key 0 “one”  δ = 0"
    assert window.status.findChild(object, "statusCell").text() == ""
    assert window.curve.radius == 0, "no neighbour can follow"
    window.edits.type_text(TEXT.text)
    settle(window, qtbot)
    assert window.curve.radius == 4, "the chosen radius outlives a text that was too short for it"


@pytest.mark.parametrize("encoding", ["t5", "rope"])
def test_the_status_line_follows_the_value_of_the_point(
    open_window: Callable[..., MainWindow], qtbot: QtBot, encoding: str
) -> None:
    window = open_window(replace(START, encoding=EncodingSpec(encoding)))
    settle(window, qtbot)
    line = window.status.findChild(object, "statusCell")
    window.curve.move_selection(0)
    window.curve.move_selection(-1)
    before = line.text()
    assert before.startswith("δ = −1 (1 back)   b = ")
    window.curve.set_value(-1, 2.5)
    settle(window, qtbot)
    assert line.text().startswith("δ = −1 (1 back)   b = 2.5 (")
    assert line.text().endswith("weight factor ×12.2")
    window.history.undo()
    settle(window, qtbot)
    assert line.text() == before
    window.curve.move_selection(3)
    assert "NaN" not in line.text()


# Files


def test_a_session_reopens_with_the_same_picture_and_numbers(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "work.relpos"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    drag_curve(window, -3, 60)
    window.commands.show_head(1)
    settle(window, qtbot)
    assert window.isWindowModified()
    saved = window.frame
    window.actions_by_id["save"].trigger()
    settle(window, qtbot)
    assert not window.isWindowModified() and window.windowTitle().startswith("work.relpos")
    assert load_session(path) == window.session.document

    window.actions_by_id["new"].trigger()
    settle(window, qtbot)
    assert window.session.document == Document.default()
    window.files.open_path(path)
    settle(window, qtbot)
    for stage, tile in saved.tiles.items():
        assert np.array_equal(window.frame.tiles[stage].codes, tile.codes)
        assert np.array_equal(window.frame.field.stage(stage), saved.field.stage(stage))
    assert str(path) in window.settings.recent_files
    assert not window.isWindowModified()


def test_unsaved_work_is_asked_about_and_cancel_keeps_it(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    document = window.session.document
    asked: list[str] = []

    def answer(box: QMessageBox) -> int:
        asked.append(box.text())
        return QMessageBox.StandardButton.Cancel

    monkeypatch.setattr(QMessageBox, "exec", answer)
    window.actions_by_id["new"].trigger()
    assert not window.close()
    assert asked == ["“Untitled” has changes that are not saved."] * 2
    assert window.session.document == document and window.isVisible()


@pytest.mark.parametrize("name", ["missing.txt", "bad.json", "damaged.npz", "weights.pt"])
def test_a_file_that_cannot_be_opened_leaves_everything_as_it_was(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    if name != "missing.txt":
        path.write_bytes(b"\x80\x04K\x01." if name == "weights.pt" else b"{\xff")
    before = window.frame
    window.files.open_path(path)
    qtbot.waitUntil(lambda: window.message.isVisible(), timeout=5000)
    assert window.message.is_error and name in window.message.text()
    assert "\n" not in window.message.text()
    assert window.session.document == START and window.frame is before


def test_a_question_is_asked_and_its_answer_remembered(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # I13: (1, 2, 2, 2) may be head × sequence or sequence × head.
    path = tmp_path / "ambiguous.npz"
    q = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    k = np.array([[[[1, 0], [0, 1]], [[1, 1], [2, 0]]]], np.float32)
    np.savez(path, q=q, k=k)
    asked: list[str] = []

    def exec_(dialog: QDialog) -> int:
        asked.append(dialog.windowTitle())
        dialog._group.button(dialog._values.index("bshd")).setChecked(True)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr("relpos_viewer.views.question_dialog.QuestionDialog.exec", exec_)
    window.files.open_path(path)
    settle(window, qtbot)
    qtbot.waitUntil(lambda: window.frame.inputs.q.shape == (2, 2, 2), timeout=5000)
    window.history.push(replace(window.session.document, scale=1.0, mask="none"), "unscaled")
    settle(window, qtbot)
    assert window.frame.field.content.tolist() == [[1, 3], [5, 11]]
    window.history.set_clean()
    window.files.open_path(path)
    settle(window, qtbot)
    assert len(asked) == 1, "the answer was remembered"


def test_a_dropped_file_is_opened(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    from PySide6.QtCore import QMimeData, QPoint
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    path = tmp_path / "words.txt"
    path.write_text("alpha beta gamma")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    keys, buttons = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(QPoint(9, 9), Qt.DropAction.CopyAction, mime, buttons, keys)
    window.dragEnterEvent(enter)
    assert enter.isAccepted()
    window.dropEvent(QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, mime, buttons, keys))
    qtbot.waitUntil(lambda: window.frame.n_key == 3, timeout=5000)
    assert window.windowTitle().startswith("words.txt")


def test_exported_files_hold_what_the_window_shows(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    target = {"path": ""}
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (target["path"], ""))
    for action, name in (
        ("export_data", "all.npz"),
        ("export_data", "all.json"),
        ("export_data", "all.csv"),
        ("export_curve", "c.curve.csv"),
        ("export_curve", "c.npy"),
    ):
        target["path"] = str(tmp_path / name)
        window.actions_by_id[action].trigger()
        settle(window, qtbot)
    with np.load(tmp_path / "all.npz") as saved:
        assert np.array_equal(saved["weights"][0], window.frame.field.weights)
        assert saved["scores"].shape == (3, 11, 11)
    assert json.loads((tmp_path / "all.json").read_text())
    assert (tmp_path / "all.csv").stat().st_size > 1000
    shown = window.frame.curves
    assert np.array_equal(np.load(tmp_path / "c.npy"), shown.family + shown.edit)

    window.actions_by_id["export_figure"].trigger()
    dialog = window.files._figure_dialog
    dialog.save_to(str(tmp_path / "figure.png"))
    settle(window, qtbot)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert not dialog.isVisible()

    window.actions_by_id["copy_picture"].trigger()
    settle(window, qtbot)
    assert QGuiApplication.clipboard().image().width() > 1000


def test_a_target_that_cannot_be_written_is_said(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "no such folder" / "work.relpos"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    window.actions_by_id["save_as"].trigger()
    qtbot.waitUntil(lambda: window.message.isVisible(), timeout=5000)
    assert window.message.is_error
    assert window.session.document == START


# Every action


def test_every_action_of_the_table_can_be_done(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"path": ""}
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (target["path"], ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)
    monkeypatch.setattr(QDialog, "exec", lambda _dialog: QDialog.DialogCode.Accepted)
    suffixes = {"save": ".relpos", "save_as": ".relpos", "export_data": ".npz", "export_curve": ".curve.csv"}
    # Numbers can be cut in every way, also as token ids.
    numbers = replace(START, source=replace(TEXT, text="1 2 3 4 5 6 7"))
    errors: list[str] = []
    monkeypatch.setattr(window, "say_error", lambda error: errors.append(str(error)))
    for spec in ACTIONS:
        if spec.id == "quit":
            continue
        target["path"] = str(tmp_path / f"{spec.id}{suffixes.get(spec.id, '')}".replace(":", "-"))
        window.history.push(replace(numbers, mask="window:3"), "something to undo")
        settle(window, qtbot)
        action = window.actions_by_id[spec.id]
        action.setEnabled(True)
        action.trigger()
        QApplication.processEvents()
        settle(window, qtbot)
        if spec.id in suffixes:
            assert Path(target["path"]).is_file(), spec.id
    assert errors == []
    for dialog in window.findChildren(QDialog):
        dialog.close()
    window.history.set_clean()
    window.actions_by_id["quit"].trigger()
    assert not window.isVisible()


def test_tab_reaches_every_control_that_takes_the_focus_and_each_shows_it(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.activateWindow()
    first = window.sequence.editor
    first.setFocus()
    reached, widget = [], first
    while not reached or widget is not first:
        reached.append(widget)
        shown = widget.grab().toImage()
        qtbot.keyClick(widget, Qt.Key.Key_Tab)
        QApplication.processEvents()
        if widget not in (first, window.curve.plot):  # a caret, and the frame of the card around the plot
            assert widget.grab().toImage() != shown, widget.objectName()
        widget = QApplication.focusWidget()
        assert len(reached) < 60
    found = {widget.objectName() for widget in reached}
    names = {widget.objectName() for widget in window.curve.tools.findChildren(QAbstractSpinBox)}
    assert names | {"curvePlot", "tokenStrip", "curveTool_brush", "curveMirror", "curveReset"} <= found


def test_a_first_window_leaves_room_for_its_title_bar(qtbot: QtBot) -> None:
    window = MainWindow(START, Settings.of_user())
    try:
        room = window.screen().availableGeometry()
        assert window.width() <= room.width()
        assert window.height() < room.height() or window.height() == 900 < room.height()
    finally:
        window.close()
        window.deleteLater()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
def test_nothing_is_cut_at_either_size(
    open_window: Callable[..., MainWindow], qtbot: QtBot, size: tuple[int, int], theme: str
) -> None:
    Settings.of_user().theme = theme
    window = open_window()
    settle(window, qtbot)
    window.resize(*size)
    settle(window, qtbot)
    assert (window.width(), window.height()) == size, "the contents fit into the window"
    inside = window.centralWidget().rect()
    for part in (window.top, window.sequence, window.equation, window.curve, window.status):
        assert inside.contains(part.geometry()) or part.parent() is not window.centralWidget()
        assert part.width() >= part.minimumSizeHint().width()
        assert part.height() >= part.minimumSizeHint().height()
    assert window.inspector.isVisible() == (size[0] > 1200)
    assert window.theme.name == theme


def test_every_interactive_widget_has_a_name_and_is_named_for_screen_readers(window: MainWindow) -> None:
    from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit

    unnamed = [
        f"{type(widget).__name__} {widget.objectName()!r} in {widget.parent().objectName()!r}"
        for kind in (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)
        for widget in window.findChildren(kind)
        # Parts that Qt makes inside its own widgets carry Qt's names.
        if not widget.objectName().startswith("qt_")
        and (not widget.objectName() or not (widget.accessibleName() or getattr(widget, "text", str)()))
    ]
    assert unnamed == []


@pytest.mark.soak
def test_five_thousand_frames_leave_no_reference_and_no_window_behind(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    # PySide6 6.12.0 on Python 3.11 loses a reference to None in nearly every call and dies within 2,000 frames.
    window = open_window()
    settle(window, qtbot)
    frame = window.frame
    none_before = sys.getrefcount(None)
    codes = [np.roll(frame.tiles["weights"].codes, step, 0) for step in range(7)]
    canvas = window.equation.views["weights"]
    lut = np.zeros((256, 4), np.uint8)
    lut[: LAST_VALUE + 1, :3] = np.arange(LAST_VALUE + 1)[:, None]
    lut[:, 3] = 255
    tile = frame.tiles["weights"]
    for step in range(5000):
        canvas.set_tile(
            type(tile)(codes[step % 7], tile.viewport, tile.levels, tile.reduce, tile.cells_per_pixel), lut
        )
        window.curve.set_offset(-(step % 10))
        canvas.repaint()
        if step % 50 == 0:
            QApplication.processEvents()
    # 6.11.3 gains some references instead, which costs nothing; a loss ends in an abort.
    assert sys.getrefcount(None) > none_before - 1000


def test_a_suffix_that_makes_another_file_of_a_name_does_not_replace_it_unasked(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "work.relpos"
    there.write_text("precious")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "work"), ""))
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
    window.actions_by_id["save"].trigger()
    settle(window, qtbot)
    assert there.read_text() == "precious"
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    window.actions_by_id["save"].trigger()
    settle(window, qtbot)
    assert load_session(there) == START


def test_saving_on_the_way_out_saves(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    document = window.session.document
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.relpos"), ""))
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Save)
    assert window.close()
    assert load_session(tmp_path / "out.relpos") == document


# From Python


def test_a_window_opens_from_python_on_queries_and_keys(qtbot: QtBot) -> None:
    import relpos_viewer

    rng = np.random.default_rng(3)
    q, k = rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 6, 4))
    made = relpos_viewer.view(q, k, encoding="alibi", mask="causal", tokens=list("abcdef"), block=False)
    try:
        settle(made, qtbot)
        exact = relpos_viewer.attention(q, k, encoding="alibi", mask="causal")
        np.testing.assert_allclose(made.frame.field.weights, exact.weights[0], atol=1e-6)
        assert made.frame.inputs.tokens.texts == tuple("abcdef")
    finally:
        made.close()
        made.deleteLater()


# The row of controls


@pytest.mark.parametrize(
    ("mask", "number", "spec"),
    [
        ("causal", None, "causal"),
        ("window", None, "window:8"),
        ("window", 3, "window:3"),
        ("prefix", 2, "prefix:2"),
        ("left-padding", 3, "left-padding:3"),
    ],
)
def test_a_mask_is_chosen_with_its_number(
    window: MainWindow, qtbot: QtBot, mask: str, number: int | None, spec: str
) -> None:
    box = window.top.mask
    box.setCurrentIndex(box.findData(mask))
    box.activated.emit(box.currentIndex())
    if number is not None:
        window.top.mask_argument.setValue(number)
    settle(window, qtbot)
    assert window.session.document.mask == spec
    assert window.top.mask_argument.isVisible() == (mask != "causal")


@pytest.mark.parametrize(("text", "scale"), [("1", 1.0), ("0,25", 0.25), ("1/√d", None), ("", None)])
def test_a_scale_is_typed(window: MainWindow, qtbot: QtBot, text: str, scale: float | None) -> None:
    window.history.push(replace(START, scale=7.0), "scale")
    edit = window.top.scale.lineEdit()
    edit.setText(text)
    edit.editingFinished.emit()
    settle(window, qtbot)
    assert window.session.document.scale == scale


def test_a_scale_that_is_no_number_is_refused_and_the_old_one_stays(window: MainWindow, qtbot: QtBot) -> None:
    edit = window.top.scale.lineEdit()
    edit.setText("much")
    edit.editingFinished.emit()
    assert window.session.document == START
    assert "“much” is not a number" in window.message.text()
    assert edit.text() == "1/√d"


# Arrangement


def test_each_arrangement_remembers_its_sizes(open_window: Callable[..., MainWindow], qtbot: QtBot) -> None:
    first = open_window()
    settle(first, qtbot)
    first.arrangement.setSizes([300, 430])
    row = first.arrangement.sizes()
    first.commands.set_layout("grid")
    settle(first, qtbot)
    assert first.arrangement.orientation() == Qt.Orientation.Horizontal
    first.commands.set_layout("row")
    settle(first, qtbot)
    assert first.arrangement.sizes() == pytest.approx(row, abs=3)
    first.history.set_clean()
    first.close()
    second = open_window()
    settle(second, qtbot)
    assert second.arrangement.sizes() == pytest.approx(row, abs=3)


@pytest.mark.parametrize("size", [(1440, 900), (1200, 800)])
def test_a_matrix_alone_is_the_largest_thing_and_grows_with_the_window(
    open_window: Callable[..., MainWindow], qtbot: QtBot, size: tuple[int, int]
) -> None:
    window = open_window()
    window.resize(*size)
    settle(window, qtbot)
    canvas = window.equation.views["weights"].canvas
    in_row = canvas.width()
    window.commands.set_layout("weights")
    settle(window, qtbot)
    alone, part = canvas.width(), window.equation.width() / window.arrangement.width()
    assert alone > 1.7 * in_row
    assert alone > window.curve.height()
    window.resize(size[0] + 200, size[1] + 100)
    settle(window, qtbot)
    assert canvas.width() >= alone + 80
    assert window.equation.width() / window.arrangement.width() > part - 0.03


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"row": 5}', b'{"row": [[1, -1], [2, 3]]}', b"\xff"])
def test_a_damaged_arrangement_is_left_out(window: MainWindow, state: bytes) -> None:
    before = window.arrangement.sizes()
    window.arrangement.restore(state)
    assert window.arrangement.sizes() == before


def test_the_commands_of_a_first_picture_can_be_given_at_once(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    window = open_window(replace(START, encoding=EncodingSpec("t5")))
    settle(window, qtbot)
    # The window opens before it knows how many heads there are, and nothing is done before its first picture.
    assert window.frame.inputs.heads > 1 and window.frame.curves.buckets is not None
    assert window.actions_by_id["next_head"].isEnabled()
    assert not window.actions_by_id["previous_head"].isEnabled()
    assert window.actions_by_id["snap"].isEnabled()


def test_a_family_without_buckets_gives_way_to_one_with_them(window: MainWindow, qtbot: QtBot) -> None:
    for name, snaps in (("alibi", False), ("t5", True)):
        window.history.push(replace(window.session.document, encoding=EncodingSpec(name)), "choose it")
        settle(window, qtbot)
        assert window.actions_by_id["snap"].isEnabled() == snaps, name


@pytest.mark.parametrize(
    ("encoding", "formula"),
    [
        (EncodingSpec("alibi"), "b(j − i)"),
        (EncodingSpec("fire"), "b(j − i)"),  # up to its threshold
        (EncodingSpec("fire", {"threshold": 2.0}), "b(i, j)"),
        (EncodingSpec("rope"), "rope, from q and k"),
        (EncodingSpec("swin"), "b(dy, dx)"),
    ],
)
def test_the_position_panel_says_what_its_term_comes_from(
    open_window: Callable[..., MainWindow], qtbot: QtBot, encoding: EncodingSpec, formula: str
) -> None:
    window = open_window(replace(START, encoding=encoding))
    settle(window, qtbot)
    assert _formulas(window.frame)["positional"] == formula


@pytest.mark.parametrize(
    ("encoding", "formula"),
    [("none", "given bias"), ("alibi", "given bias + b(j − i)"), ("rope", "given bias + rope")],
)
def test_a_bias_from_a_file_is_named_in_the_position_panel(
    open_window: Callable[..., MainWindow], qtbot: QtBot, encoding: str, formula: str
) -> None:
    rng = np.random.default_rng(3)
    arrays = {name: rng.normal(size=(2, 5, 4)).astype(np.float32) for name in ("q", "k")}
    source = ArraySource("", "given", {**arrays, "bias": rng.normal(size=(2, 5, 5)).astype(np.float32)})
    window = open_window(Document(source=source, encoding=EncodingSpec(encoding)))
    settle(window, qtbot)
    assert _formulas(window.frame)["positional"] == formula
    assert formula in "".join(label.text() for label in window.inspector.findChildren(QLabel))


@pytest.mark.parametrize(("width", "figures"), [(1900, True), (1000, False)])
def test_figures_make_way_for_the_line_about_a_cell(
    open_window: Callable[..., MainWindow], qtbot: QtBot, width: int, figures: bool
) -> None:
    window = open_window()
    settle(window, qtbot)
    window.resize(width, 800)
    qtbot.waitUntil(lambda: window.width() == width, timeout=2000)
    label = window.status.findChild(object, "statusFigures")
    assert label.isVisible()
    window.equation.cell_hovered.emit(9, 5)
    assert label.isVisible() == figures
    window.equation.cell_hovered.emit(-1, -1)
    assert label.isVisible()


def test_axes_that_were_read_one_way_can_be_read_another(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "three.npz"
    q = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    np.savez(path, q=q, k=q)
    window.files.open_path(path)
    settle(window, qtbot)
    qtbot.waitUntil(lambda: window.frame.inputs.q.shape == (2, 3, 4), timeout=5000)
    assert "choose the order bshd" in window.message.text()

    def exec_(dialog: QDialog) -> int:
        dialog._group.button(dialog._values.index("bshd")).setChecked(True)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr("relpos_viewer.views.question_dialog.QuestionDialog.exec", exec_)
    window.actions_by_id["axes"].trigger()
    qtbot.waitUntil(lambda: window.frame.inputs.q.shape == (3, 2, 4), timeout=5000)
    assert np.array_equal(window.frame.inputs.q, q.swapaxes(0, 1))
    window.actions_by_id["undo"].trigger()
    qtbot.waitUntil(lambda: window.frame.inputs.q.shape == (2, 3, 4), timeout=5000)
    assert window.settings.answers(path) == {"order": "bshd"}, "the next opening asks nothing"
    settle(window, qtbot)


def test_under_a_moving_hand_the_last_numbers_of_the_row_are_those_of_the_last_picture(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.cursor_place.on_cell_pinned(8, 4)
    drag_curve(window, -4, 60, release=False)
    qtbot.waitUntil(lambda: not window.runner.is_busy and window.frame.document.edit.values.any())
    wanted = float(window.frame.field.row(8).edit[4])
    assert wanted > 0.1
    qtbot.waitUntil(lambda: f"{wanted:+.2f}" in window.inspector.as_text(), timeout=2000)
    window.curve.cancel_gesture()
    settle(window, qtbot)
    assert "your edit" not in window.inspector.as_text()


def test_a_long_sequence_is_summed_anew_once_a_hand_has_rested(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    text = TextSource(" ".join(f"w{place % 9}" for place in range(400)), heads=1, dim=8)
    window = open_window(replace(START, source=text))
    settle(window, qtbot)
    drag_curve(window, -30, 40)
    settle(window, qtbot)
    frame = window.frame
    state = window.status.findChild(QLabel, "statusLeft")
    qtbot.waitUntil(lambda: "drift" in state.toolTip(), timeout=10_000)
    assert window.frame is frame  # the picture stays
    drag_curve(window, -30, 40, release=False)
    assert state.toolTip() == ""  # it is of a picture that is gone
    window.curve.cancel_gesture()
    settle(window, qtbot)


def test_the_curve_shows_the_pinned_querys_own_term_and_follows_the_pin(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    window = open_window(replace(START, encoding=EncodingSpec("rope")))
    settle(window, qtbot)
    n, own = window.frame.n_key, window.frame.field.own.numpy()
    for query in (n - 1, 4):
        if query == 4:
            window.cursor_place.on_cell_pinned(4, 2)
        line = window.curve.plot.item.query
        assert line.position == query
        assert np.array_equal(line.own[n - 1 - query : n], own[query, : query + 1])
        assert np.isnan(line.own[: n - 1 - query]).all() and np.isnan(line.own[n:]).all()
    window.edits.set_encoding(EncodingSpec("alibi"))
    settle(window, qtbot)
    assert window.curve.plot.item.query is None
