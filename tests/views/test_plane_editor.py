"""The plane editor as a user meets it: dragged, undone, reshaped by rectangles, typed into, saved and opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QToolButton
from pytestqt.qtbot import QtBot

from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.plane_brush import Rectangle, shares
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, replace
from relpos_viewer.document.files import load_session, save_session
from relpos_viewer.views import names
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.number_boxes import DecimalBox

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)  # 11 tokens
WIDTH, ROWS, COLUMNS = 4, 5, 7  # three rows of tokens, the last one short
NO, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)


def document(name: str = "swin", **parameters: object) -> Document:
    return Document(source=TEXT, encoding=EncodingSpec(name, {"width": WIDTH, **parameters}), mask="none")


def table(extra: int = 0) -> np.ndarray:
    """A learned table of three heads without any symmetry, float32 [row, head]."""
    return np.random.default_rng(8).normal(size=(ROWS * COLUMNS + extra, 3)).astype(np.float32)


@pytest.fixture
def open_window(new_window: Callable[..., MainWindow], qtbot: QtBot) -> Callable[[Document], MainWindow]:
    def make(shown: Document) -> MainWindow:
        window = new_window(shown)
        settle(window, qtbot)
        return window

    return make


@pytest.fixture
def window(open_window: Callable[[Document], MainWindow]) -> MainWindow:
    made = open_window(document(table=table()))
    made.curve.radius = 0
    return made


def settle(window: MainWindow, qtbot: QtBot) -> None:
    """Wait until the newest document is on show and nothing is under way."""

    def shown() -> bool:
        frame = window.frame
        return frame is not None and frame.document == window.session.document and not window.runner.is_busy

    for _ in range(2):
        qtbot.waitUntil(shown, timeout=10_000)
        QApplication.processEvents()


def cell_at(row: int, column: int) -> Callable[[MainWindow], QPointF]:
    return lambda window: window.plane.view.grid.rect(row, column).center()


def mouse(window: MainWindow, kind: QEvent.Type, at: QPointF, held: Qt.KeyboardModifier = NO) -> None:
    view, left, none = window.plane.view, Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    moved, up = kind == QEvent.Type.MouseMove, kind == QEvent.Type.MouseButtonRelease
    event = QMouseEvent(kind, at, view.mapToGlobal(at), none if moved else left, none if up else left, held)
    QApplication.sendEvent(view, event)


def press(window: MainWindow, cell: tuple[int, int], held: Qt.KeyboardModifier = NO) -> None:
    mouse(window, QEvent.Type.MouseButtonPress, cell_at(*cell)(window), held)


def move(window: MainWindow, cell: tuple[int, int], up: float, held: Qt.KeyboardModifier = NO) -> None:
    mouse(window, QEvent.Type.MouseMove, cell_at(*cell)(window) - QPointF(0, up), held)


def release(window: MainWindow, cell: tuple[int, int], up: float = 0, held: Qt.KeyboardModifier = NO) -> None:
    mouse(window, QEvent.Type.MouseButtonRelease, cell_at(*cell)(window) - QPointF(0, up), held)


def drag(window: MainWindow, cell: tuple[int, int], up: float) -> None:
    press(window, cell)
    for part in (0.3, 0.7, 1.0):
        move(window, cell, part * up)
    release(window, cell, up)


def select(window: MainWindow, one: tuple[int, int], other: tuple[int, int]) -> None:
    press(window, one, SHIFT)
    move(window, other, 0, SHIFT)
    release(window, other, 0, SHIFT)


def planes_of(shown: Document) -> np.ndarray:
    """The planes that a document means, float64 [head, row, column]."""
    family = shown.encoding.build().with_heads(3)
    return torch.stack([family.plane(head, 11) for head in range(3)]).double().numpy()


def test_a_family_over_an_image_has_a_plane_in_the_curves_place(window: MainWindow, qtbot: QtBot) -> None:
    assert window.bias.currentWidget() is window.plane
    assert np.array_equal(window.plane.planes, planes_of(window.session.document))
    drags = window.plane.findChild(object, names.PLANE_DRAGS)
    assert drags.text() == "drag: table of Swin window bias (exact)"
    window.edits.set_encoding(EncodingSpec("alibi"))
    settle(window, qtbot)
    assert window.bias.currentWidget() is window.curve
    window.history.undo()
    settle(window, qtbot)
    assert window.bias.currentWidget() is window.plane


def test_a_drag_shows_in_all_matrices_at_once_and_is_one_step_of_undo(
    window: MainWindow, qtbot: QtBot
) -> None:
    before, frame = window.session.document, window.frame
    old = planes_of(before)
    window.curve.radius = 1
    press(window, (1, 5))
    move(window, (1, 5), 40)
    qtbot.waitUntil(lambda: window.frame is not frame, timeout=5000)
    settle(window, qtbot)
    for stage in ("positional", "scores", "weights"):
        assert not np.array_equal(window.frame.tiles[stage].codes, frame.tiles[stage].codes), stage
    move(window, (1, 5), 60)
    release(window, (1, 5), 60)
    settle(window, qtbot)
    units = np.abs(old[0]).max() / 150
    wanted = old.copy()
    wanted[0] += 60 * units * shares((ROWS, COLUMNS), Rectangle(1, 5, 1, 5), 1, "smooth")
    found = planes_of(window.session.document)
    assert np.allclose(found, wanted, atol=1e-5)
    assert np.array_equal(found[1:], old[1:]), "the other heads keep every bit"
    untouched = shares((ROWS, COLUMNS), Rectangle(1, 5, 1, 5), 1, "smooth") == 0
    assert np.array_equal(found[0][untouched], old[0][untouched]), "a file's numbers stay exact"
    assert window.history.undo_name == "Drag dy −1, dx 2"
    assert window.session.document.edit.is_zero
    window.history.undo()
    settle(window, qtbot)
    assert window.session.document == before
    assert np.array_equal(window.plane.planes, old)
    assert not window.history.can_undo
    window.history.redo()
    settle(window, qtbot)
    assert np.allclose(window.plane.planes, wanted, atol=1e-5)


def test_the_menu_checks_the_tool_that_the_plane_has_and_not_the_curves(window: MainWindow) -> None:
    tools = {name: action for name, action in window.actions_by_id.items() if name.startswith("tool:")}

    def checked() -> list[str]:
        return [name for name, action in tools.items() if action.isChecked()]

    window.curve.tool = "freehand"
    assert window.bias_editor is window.plane
    assert checked() == ["tool:brush"]
    window.plane.findChild(QToolButton, names.PLANE_TOOL_PREFIX + "select").click()
    assert checked() == []
    tools["tool:brush"].trigger()
    assert window.plane.tools.tool == "brush"
    assert checked() == ["tool:brush"]
    assert window.curve.tool == "freehand"  # as it was left, for the next curve


def test_escape_gives_a_dragged_plane_back(window: MainWindow, qtbot: QtBot) -> None:
    before = window.session.document
    press(window, (2, 2))
    move(window, (2, 2), 50)
    assert window.plane.is_dragging
    assert window.session.document != before
    qtbot.keyClick(window.plane.view, Qt.Key.Key_Escape)
    assert window.session.document == before
    assert np.array_equal(window.plane.planes, planes_of(before))
    release(window, (2, 2), 50)
    assert not window.history.can_undo


def test_there_and_back_again_is_no_step(window: MainWindow, qtbot: QtBot) -> None:
    before = window.session.document
    press(window, (2, 2))
    move(window, (2, 2), 50)
    move(window, (2, 2), 0)
    release(window, (2, 2))
    settle(window, qtbot)
    assert window.session.document == before
    assert not window.history.can_undo


@pytest.mark.parametrize(("held", "part"), [(SHIFT, 0.1), (NO, 1.0)])
def test_shift_makes_a_drag_ten_times_finer(
    held: Qt.KeyboardModifier, part: float, window: MainWindow, qtbot: QtBot
) -> None:
    old = planes_of(window.session.document)[0]
    press(window, (3, 3))
    move(window, (3, 3), 0.0)
    move(window, (3, 3), 0.0, held)
    move(window, (3, 3), 50.0, held)
    release(window, (3, 3), 50.0, held)
    added = planes_of(window.session.document)[0] - old
    assert added[3, 3] == pytest.approx(part * 50 * np.abs(old).max() / 150, rel=1e-4)
    assert np.count_nonzero(added) == 1


def test_control_rounds_the_value(window: MainWindow) -> None:
    press(window, (3, 3))
    move(window, (3, 3), 47.0, CONTROL)
    release(window, (3, 3), 47.0, CONTROL)
    value = float(planes_of(window.session.document)[0, 3, 3])
    assert value == pytest.approx(round(value, 1), abs=1e-6)


def test_the_wheel_changes_the_radius_for_both_editors(window: MainWindow) -> None:
    at = cell_at(2, 2)(window)
    event = QWheelEvent(
        at,
        window.plane.view.mapToGlobal(at),
        QPointF(0, 0).toPoint(),
        QPointF(0, 240).toPoint(),
        Qt.MouseButton.NoButton,
        NO,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(window.plane.view, event)
    assert window.plane.tools.radius == window.curve.radius == 2
    window.curve.radius = 1
    assert window.plane.tools.radius == 1
    window.actions_by_id["shape:step"].trigger()
    assert window.plane.tools.shape == "step"
    window.plane.findChild(QToolButton, names.PLANE_SHAPE_PREFIX + "linear").click()
    assert window.curve.shape == "linear"
    window.plane.findChild(QToolButton, names.PLANE_ALL_HEADS).click()
    assert window.curve.all_heads


def test_a_selection_moves_whole_and_in_all_heads(window: MainWindow, qtbot: QtBot) -> None:
    old = planes_of(window.session.document)
    window.curve.all_heads = True
    select(window, (1, 1), (2, 3))
    assert window.plane.selection == Rectangle(1, 1, 2, 3)
    assert not window.history.can_undo
    drag(window, (2, 2), -30)
    settle(window, qtbot)
    added = planes_of(window.session.document) - old
    amount = -30 * np.abs(old[0]).max() / 150
    assert np.allclose(added[:, 1:3, 1:4], amount, atol=1e-5)
    assert np.count_nonzero(added) == 3 * 6
    assert window.plane.selection == Rectangle(1, 1, 2, 3)


BLOCK = (slice(1, 4), slice(2, 6))
OPERATIONS = {
    "Flatten": lambda v: np.full(v.shape, v.mean()),
    "Turn": lambda v: 2 * v.mean() - v,
    "Mirror left–right": lambda v: v[:, ::-1],
    "Mirror up–down": lambda v: v[::-1],
    "Reverse": lambda v: v[::-1, ::-1],
    "Shift": lambda v: v + 0.5,
    "Scale": lambda v: v.mean() + 2 * (v - v.mean()),
    "From head": lambda v: None,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_button_changes_the_selected_rectangle_as_one_step(
    name: str, window: MainWindow, qtbot: QtBot
) -> None:
    before = window.session.document
    old = planes_of(before)
    select(window, (3, 5), (1, 2))
    window.plane.findChild(QToolButton, names.PLANE_DO_PREFIX + name).click()
    settle(window, qtbot)
    wanted = old.copy()
    wanted[0][BLOCK] = old[1][BLOCK] if name == "From head" else OPERATIONS[name](old[0][BLOCK])
    assert np.allclose(planes_of(window.session.document), wanted, atol=1e-5)
    assert np.allclose(window.plane.planes, wanted, atol=1e-5)
    assert "dy −1…1, dx −1…2" in window.history.undo_name
    window.history.undo()
    settle(window, qtbot)
    assert window.session.document == before


def test_a_formula_is_typed_and_a_wrong_one_said(window: MainWindow, qtbot: QtBot) -> None:
    line = window.plane.findChild(QLineEdit, names.PLANE_FORMULA)
    window.curve.all_heads = True
    line.setFocus()
    qtbot.keyClicks(line, "dx - 10*dy + h")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    settle(window, qtbot)
    dy, dx = np.mgrid[-2:3, -3:4]
    wanted = np.stack([dx - 10 * dy + head for head in range(3)])
    assert np.array_equal(planes_of(window.session.document), wanted)
    assert not window.plane.entry.isVisible()
    line.setText("dx +")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert window.message.is_error
    assert np.array_equal(window.plane.planes, wanted)


def test_numbers_go_through_the_clipboard(window: MainWindow, qtbot: QtBot) -> None:
    old = planes_of(window.session.document)
    select(window, (1, 2), (3, 5))
    window.plane.view.setFocus()
    qtbot.keyClick(window.plane.view, Qt.Key.Key_C, CONTROL)
    lines = [list(map(float, line.split("\t"))) for line in QGuiApplication.clipboard().text().splitlines()]
    assert np.array_equal(lines, old[0][BLOCK])
    window.commands.show_head(1)
    settle(window, qtbot)
    press(window, (0, 1))
    release(window, (0, 1))
    qtbot.keyClick(window.plane.view, Qt.Key.Key_V, CONTROL)
    settle(window, qtbot)
    found = planes_of(window.session.document)
    assert np.array_equal(found[1, 0:3, 1:5], old[0][BLOCK])
    assert np.count_nonzero(found != old) == 12
    QGuiApplication.clipboard().setText("no number")
    window.actions_by_id["paste_curve"].trigger()
    assert window.message.is_error


def test_keys_move_the_selection_and_its_value(window: MainWindow, qtbot: QtBot) -> None:
    view, old = window.plane.view, planes_of(window.session.document)
    before = window.session.document
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert window.plane.selection == Rectangle(2, 3, 2, 3)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    qtbot.keyClick(view, Qt.Key.Key_Left)
    assert window.plane.selection == Rectangle(1, 2, 1, 2)
    qtbot.keyClick(view, Qt.Key.Key_Right, SHIFT)
    assert window.plane.selection == Rectangle(1, 2, 1, 3)
    for key, held in (
        (Qt.Key.Key_Up, CONTROL),
        (Qt.Key.Key_Plus, NO),
        (Qt.Key.Key_Up, CONTROL | SHIFT),
        (Qt.Key.Key_Minus, NO),
    ):
        qtbot.keyClick(view, key, held)
    settle(window, qtbot)
    added = planes_of(window.session.document) - old
    assert np.allclose(added[0, 1, 2:4], 0.11, atol=1e-6)
    assert np.count_nonzero(added) == 2
    assert window.history.undo_name == "Nudge dy −1, dx −1…0"
    window.history.undo()
    assert window.session.document == before, "nudges in quick succession are one step"
    settle(window, qtbot)
    qtbot.keyClick(view, Qt.Key.Key_A, CONTROL)
    assert window.plane.selection == Rectangle(0, 0, ROWS - 1, COLUMNS - 1)
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert window.plane.selection is None


def test_an_exact_value_is_typed_at_its_cell(window: MainWindow, qtbot: QtBot) -> None:
    old = planes_of(window.session.document)
    mouse(window, QEvent.Type.MouseButtonDblClick, cell_at(3, 1)(window))
    box = window.plane.entry.box
    assert window.plane.entry.isVisible()
    box.clear()
    qtbot.keyClicks(box, "-1,25")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    settle(window, qtbot)
    found = planes_of(window.session.document)
    assert found[0, 3, 1] == -1.25
    assert np.count_nonzero(found != old) == 1
    assert window.history.undo_name == "Set −1.25 in dy 1, dx −2"
    assert not window.plane.entry.isVisible()
    qtbot.keyClick(window.plane.view, Qt.Key.Key_Return)
    assert window.plane.entry.isVisible(), "Enter opens the box, too"
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert np.array_equal(planes_of(window.session.document), found)


def test_reset_goes_back_to_the_familys_own_table(
    open_window: Callable[[Document], MainWindow], qtbot: QtBot
) -> None:
    edit = EditCurve(np.full((3, 21), 0.25, np.float32))
    window = open_window(replace(document(), edit=edit))
    window.curve.radius = 0
    own = planes_of(window.session.document)
    assert "Δ" in window.plane.tools._note.text(), "an edit along the line is not hidden"
    drag(window, (1, 1), 40)
    drag(window, (3, 5), 40)
    window.commands.show_head(2)
    settle(window, qtbot)
    drag(window, (2, 2), 40)
    settle(window, qtbot)
    press(window, (2, 2))
    release(window, (2, 2))
    qtbot.keyClick(window.plane.view, Qt.Key.Key_Delete)
    settle(window, qtbot)
    found = planes_of(window.session.document)
    assert np.array_equal(found[2], own[2])
    assert np.count_nonzero(found != own) == 2
    window.actions_by_id["reset_all"].trigger()
    settle(window, qtbot)
    assert window.session.document.encoding == document().encoding, "no table is left"
    assert window.session.document.edit.is_zero


@pytest.mark.parametrize("saved", [False, True], ids=["at once", "in a session that was saved meanwhile"])
@pytest.mark.parametrize(("name", "extra"), [("swin", 0), ("beit", 3)])
def test_reset_goes_back_to_the_table_that_was_loaded(
    open_window: Callable[[Document], MainWindow],
    qtbot: QtBot,
    tmp_path: Path,
    name: str,
    extra: int,
    saved: bool,
) -> None:
    loaded = document(name, table=table(extra))
    window = open_window(loaded)
    window.curve.radius = 0
    drag(window, (1, 1), 40)
    drag(window, (3, 5), 40)
    drawn = window.session.document
    assert not np.array_equal(planes_of(drawn), planes_of(loaded))
    if saved:
        save_session(drawn, tmp_path / "a.relpos")
        window = open_window(load_session(tmp_path / "a.relpos"))
        assert window.session.document == drawn
    window.plane.select((3, 5), (3, 5))
    qtbot.keyClick(window.plane.view, Qt.Key.Key_Delete)
    settle(window, qtbot)
    found = planes_of(window.session.document)
    assert np.count_nonzero(found != planes_of(loaded)) == 1, "the other cell is still as drawn"
    window.actions_by_id["reset_all"].trigger()
    settle(window, qtbot)
    assert window.session.document.encoding == loaded.encoding
    window.history.undo()
    window.history.undo()
    assert window.session.document == drawn
    window.actions_by_id["reset_all"].trigger()
    assert window.session.document.encoding == loaded.encoding, "undo kept what reset goes back to"


@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
@pytest.mark.parametrize(("name", "extra"), [("swin", 0), ("swin-v2", 0), ("beit", 3)])
def test_all_of_the_column_can_be_seen_and_every_number_read(
    new_window: Callable[..., MainWindow], qtbot: QtBot, size: tuple[int, int], name: str, extra: int
) -> None:
    learned = np.abs(table(extra))
    learned[-3:] = [[-1 / 3] * 3, [1 / 7] * 3, [-2 / 3] * 3] if extra else learned[-3:]
    window = new_window(document(name, table=learned), size)
    settle(window, qtbot)
    window.resize(*size)
    settle(window, qtbot)
    assert (window.width(), window.height()) == size
    column, around = window.plane.column, window.plane.column.parentWidget()
    assert column.isVisible() and column.height() <= around.height() and column.width() <= around.width()
    for box in column.findChildren(DecimalBox):
        line = box.lineEdit()
        needed = line.fontMetrics().horizontalAdvance(line.text()) + line.textMargins().left()
        assert needed <= line.width(), (box.accessibleName(), line.text())
    for button in column.findChildren(QToolButton):
        assert button.width() >= button.minimumSizeHint().width(), button.text()


def test_another_parameter_chosen_meanwhile_leaves_reset_its_table(
    open_window: Callable[[Document], MainWindow], qtbot: QtBot
) -> None:
    positive = np.abs(table())
    window = open_window(document("swin-v2", table=positive))
    window.curve.radius = 0
    drag(window, (1, 1), 40)
    window.top.encoding.form.findChild(QCheckBox, names.PARAMETER_PREFIX + "cosine").click()
    settle(window, qtbot)
    window.actions_by_id["reset_all"].trigger()
    assert dict(window.session.document.encoding.parameters).keys() == {"width", "table", "cosine"}
    assert np.array_equal(window.session.document.encoding.parameters["table"], positive)
    settle(window, qtbot)
    drag(window, (1, 1), 40)
    window.top.encoding.form._set("table", None)  # forgotten: what hands draw on then is the family's own
    settle(window, qtbot)
    drag(window, (1, 1), 40)
    window.actions_by_id["reset_all"].trigger()
    assert "table" not in window.session.document.encoding.parameters


def test_swin_v2_keeps_its_values_in_its_range(
    open_window: Callable[[Document], MainWindow], qtbot: QtBot
) -> None:
    window = open_window(document("swin-v2"))
    window.curve.radius = 0
    assert "kept within 0 … 16" in window.plane.findChild(object, names.PLANE_DRAGS).text()
    press(window, (1, 1))
    for up in (300, 1500):
        move(window, (1, 1), up)
    assert window.plane.planes[0, 1, 1] == encoding("swin-v2").plane_range[1]
    release(window, (1, 1), 1500)
    settle(window, qtbot)
    assert float(planes_of(window.session.document)[0, 1, 1]) == pytest.approx(16, abs=1e-2)
    assert not window.message.is_error


def test_the_numbers_of_a_class_token_stand_beside_the_plane(
    open_window: Callable[[Document], MainWindow], qtbot: QtBot
) -> None:
    start = document("beit", table=table(3))
    window = open_window(start)
    boxes = [window.plane.findChild(DecimalBox, f"{names.PLANE_NUMBER_PREFIX}{place}") for place in range(3)]
    assert np.allclose([box.value() for box in boxes], table(3)[-3:, 0])
    boxes[1].setFocus()
    boxes[1].selectAll()
    qtbot.keyClicks(boxes[1], "2.5")
    qtbot.keyClick(boxes[1], Qt.Key.Key_Return)
    settle(window, qtbot)
    family = window.session.document.encoding.build().with_heads(3)
    assert np.allclose(family.beside_plane(0, 11), [table(3)[-3, 0], 2.5, table(3)[-1, 0]])
    assert torch.equal(family.plane(0, 11), start.encoding.build().with_heads(3).plane(0, 11))
    assert window.history.undo_name == "Set patch → class"
    window.history.undo()
    settle(window, qtbot)
    assert window.session.document == start
    assert boxes[1].value() == pytest.approx(float(table(3)[-2, 0]))


def test_matrix_cells_and_cells_of_the_plane_light_each_other(window: MainWindow, qtbot: QtBot) -> None:
    window.cursor_place.on_cell_hovered(9, 3)  # (2, 1) → (0, 3)
    assert window.plane.view.marks.outside == (0, 5)
    assert "dy −2, dx 2" in window.plane.view.marks.label
    assert "dy −2 dx 2" in window.inspector.heading()
    assert "dy −2 dx 2" in window.status._cell.text()
    window.cursor_place.on_cell_hovered(-1, -1)
    assert window.plane.view.marks.outside is None
    mouse_at = cell_at(1, 5)(window)  # dy −1, dx 2
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        mouse_at,
        window.plane.view.mapToGlobal(mouse_at),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        NO,
    )
    QApplication.sendEvent(window.plane.view, event)
    overlay = window.equation.views["scores"].canvas._overlay
    assert overlay._offset == -2
    assert np.flatnonzero(overlay._queries).tolist() == [4, 5, 8, 9]
    assert "1 above, 2 to the right" in window.status._cell.text()


def test_a_drawn_plane_is_saved_and_opened_again(
    window: MainWindow, open_window: Callable[[Document], MainWindow], qtbot: QtBot, tmp_path: Path
) -> None:
    drag(window, (1, 5), 33)
    settle(window, qtbot)
    save_session(window.session.document, tmp_path / "plane.relpos")
    opened = load_session(tmp_path / "plane.relpos")
    assert opened == window.session.document
    other = open_window(opened)
    assert np.array_equal(other.plane.planes, window.plane.planes)


def test_a_long_sequence_is_scrolled(open_window: Callable[[Document], MainWindow], qtbot: QtBot) -> None:
    source = TextSource(" ".join(["a"] * 600), heads=1, dim=8)
    window = open_window(replace(document(), source=source))
    view = window.plane.view
    assert view.grid.rows < window.plane.planes.shape[1] == 299
    assert view.grid.area.height() <= view.height()
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Home)
    middle = view.grid.top
    for _ in range(view.grid.rows):
        qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.grid.top < middle, "the selection stays on show"
    assert window.plane.selection.top == 149 - view.grid.rows
