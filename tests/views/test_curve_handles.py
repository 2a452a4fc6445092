"""Native handles in the hand: keys, modifiers, heads and words. Each family's are dragged in test_families_and_tools.py."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from relpos_viewer.app.settings import Settings
from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.core.encodings.base import Handle
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, View, replace
from relpos_viewer.views import names
from relpos_viewer.views.curve_handles import handle_label, place
from relpos_viewer.views.main_window import MainWindow

from .curve_mouse import CTRL, PLAIN, SHIFT, click, double_click, drag, hover, key, move, press, release
from .test_main_window import settle

Key = Qt.Key
HEADS, N, DIM, HEAD = 3, 24, 16, 1
EDIT = np.random.default_rng(5).normal(size=(HEADS, 2 * N - 1)).astype(np.float32)
SOURCE = TextSource(" ".join("abcdefghijklmnopqrstuvwx"), heads=HEADS, dim=DIM)

WITH_HANDLES = [name for name, family in FAMILIES.items() if family().with_heads(HEADS).handles(HEAD, N, DIM)]
WITHOUT = [name for name in FAMILIES if name not in WITH_HANDLES]


def document(family: str, mask: str = "none", **parameters: object) -> Document:
    return Document(
        SOURCE, EncodingSpec(family, parameters), mask, edit=EditCurve(EDIT), view=View(head=HEAD)
    )


@pytest.fixture
def opened(new_window: Callable[..., MainWindow], qtbot: QtBot) -> Callable[..., MainWindow]:
    def make(family: str, mask: str = "none", tool: str = "handles", **parameters: object) -> MainWindow:
        window = new_window(document(family, mask, **parameters))
        settle(window, qtbot)
        window.curve.tool = tool
        return window

    return make


def handles(window: MainWindow, head: int = HEAD) -> tuple[Handle, ...]:
    """Those of the document, computed anew."""
    return window.session.document.encoding.build().with_heads(HEADS).handles(head, N, DIM)


def handle(window: MainWindow, name: str, head: int = HEAD) -> Handle:
    return next(one for one in handles(window, head) if one.name == name)


def at(window: MainWindow, one: Handle) -> tuple[float, float]:
    return place(one, window.curve.plot.map())


def steps(window: MainWindow) -> list[str]:
    """Names of all steps that can be taken back, newest first; takes them back."""
    found = []
    while window.history.can_undo:
        found.append(window.history.undo_name)
        window.history.undo()
    return found


def test_most_families_have_handles():
    assert {"t5", "alibi", "kerple-log", "kerple-power", "sandwich", "tisa", "fire", "rope"} <= {
        *WITH_HANDLES
    }
    assert {"shaw", "music", "transformer-xl", "xlnet", "deberta", "cope"} <= {*WITH_HANDLES}
    assert {*WITHOUT} == {"none", "curve", "swin", "swin-v2", "beit"}


NAMES = {
    ("alibi", "slope", False): "Move slope of head 1",
    ("alibi", "slope", True): "Move slope of all heads",
    ("rope", "pair 1", False): "Move pair 1",
    ("t5", "bucket 5", False): "Move bucket 5 of head 1",
}


@pytest.mark.parametrize(("family", "name", "all_heads"), NAMES)
def test_a_step_says_which_handle_moved_and_whose(opened, family, name, all_heads):
    window = opened(family)
    window.curve.all_heads = all_heads
    x, y = at(window, handle(window, name))
    drag(window.curve.plot, (x, y), (x - 20, y + 20))
    assert window.history.undo_name == NAMES[family, name, all_heads]


def test_with_all_heads_the_same_handle_of_each_moves_by_as_many_score_units(opened):
    window = opened("t5")
    window.curve.all_heads = True
    before = [handle(window, "bucket 5", head).value for head in range(HEADS)]
    others = [handle(window, "bucket 4", head).value for head in range(HEADS)]
    x, y = at(window, handle(window, "bucket 5"))
    drag(window.curve.plot, (x, y), (x, y + 40))
    way = -40 * window.curve.plot.map().units_per_pixel
    after = [handle(window, "bucket 5", head).value for head in range(HEADS)]
    np.testing.assert_allclose(after, np.add(before, way), atol=1e-4)
    assert [handle(window, "bucket 4", head).value for head in range(HEADS)] == pytest.approx(others)
    assert len(set(before)) > 1
    assert len(steps(window)) == 1


def test_with_all_heads_a_sideways_handle_moves_by_the_same_factor(opened):
    centre = np.array([[-4.0, -6.0, -9.0]], np.float32)  # [kernel, head]
    table = {"amplitude": centre * 0 + 1, "sharpness": centre * 0 + 0.05, "centre": centre}
    window = opened("tisa", **table)
    window.curve.all_heads = True
    x, y = at(window, handle(window, "kernel 0"))
    plot = window.curve.plot.map()
    drag(window.curve.plot, (x, y), (x - 60, y))
    factor = plot.offset(x - 60) / -6.0
    found = [handle(window, "kernel 0", head).offset for head in range(HEADS)]
    np.testing.assert_allclose(found, centre[0] * factor, rtol=1e-4)


def test_escape_gives_back_what_the_drag_found(opened, qtbot):
    window = opened("alibi")
    before = window.session.document
    x, y = at(window, handle(window, "slope"))
    press(window.curve.plot, (x, y))
    move(window.curve.plot, (x, y + 50))
    assert window.session.document.encoding != before.encoding
    key(window.curve.plot, Key.Key_Escape)
    assert window.session.document == before
    release(window.curve.plot, (x, y + 50))
    assert window.session.document == before
    assert steps(window) == []


@pytest.mark.parametrize("motion", ["click", "double click", "there and back", "tremble"])
def test_what_does_not_move_a_handle_is_no_step(opened, motion):
    window = opened("tisa")
    before, plot = window.session.document, window.curve.plot
    x, y = at(window, handle(window, "kernel 1"))
    if motion == "click":
        click(plot, (x, y))
    elif motion == "double click":
        double_click(plot, (x, y))
    elif motion == "tremble":
        drag(plot, (x, y), (x + 2, y - 2))
    else:
        press(plot, (x, y))
        for way in (20, 40, 0):
            move(plot, (x + way, y + way))
        release(plot, (x, y))
    assert window.session.document == before
    assert steps(window) == []


def test_beside_the_handles_nothing_is_grabbed(opened):
    window = opened("alibi")
    before = window.session.document
    x, y = at(window, handle(window, "slope"))
    drag(window.curve.plot, (x + 60, y), (x + 60, y + 50))
    assert window.session.document == before


def test_shift_makes_a_drag_ten_times_finer_and_ctrl_rounds_the_value(opened):
    window = opened("t5")
    one = handle(window, "bucket 5")
    x, y = at(window, one)
    drag(window.curve.plot, (x, y), (x, y + 50), SHIFT)
    fine = -5 * window.curve.plot.map().units_per_pixel
    assert handle(window, "bucket 5").value == pytest.approx(one.value + fine, abs=1e-4)
    window.history.undo()
    drag(window.curve.plot, (x, y), (x, y + 53), CTRL)
    value = handle(window, "bucket 5").value
    assert abs(value - one.value + 53 * window.curve.plot.map().units_per_pixel) < 0.5
    assert value * 20 == pytest.approx(round(value * 20), abs=1e-4)


def test_ctrl_rounds_a_sideways_handle_to_whole_offsets(opened):
    window = opened("tisa")
    one = handle(window, "width 3")
    x, y = at(window, one)
    drag(window.curve.plot, (x, y), (x + 41, y), CTRL)
    offset = handle(window, "width 3").offset
    assert offset == pytest.approx(round(offset), abs=1e-4)
    assert offset != pytest.approx(one.offset, abs=0.5)


def test_the_other_tools_change_the_edit_and_leave_the_family_alone(opened):
    window = opened("alibi", tool="brush")
    before = window.session.document
    x, y = at(window, handle(window, "slope"))
    assert window.curve.plot.item.marks.handles == ()
    drag(window.curve.plot, (x, y), (x, y - 40))
    assert window.session.document.encoding == before.encoding
    assert not np.array_equal(window.session.document.edit.values, EDIT)


# The keyboard.


def test_keys_walk_the_handles_move_the_chosen_one_and_merge_into_one_step(opened):
    window = opened("t5")
    plot, found = window.curve.plot, [one.name for one in handles(window)]
    key(plot, Key.Key_H, text="h")
    chosen = window.curve.plot.item.marks.handle.name
    assert chosen == found[len(found) // 2]
    key(plot, Key.Key_H, text="h")
    assert window.curve.plot.item.marks.handle.name == found[len(found) // 2 + 1]
    key(plot, Key.Key_H, SHIFT, text="H")
    assert window.curve.plot.item.marks.handle.name == chosen
    before = handle(window, chosen).value
    for code, modifiers in ((Key.Key_Up, PLAIN), (Key.Key_Up, PLAIN), (Key.Key_Down, SHIFT)):
        key(plot, code, modifiers)
    assert handle(window, chosen).value == pytest.approx(before + 0.19, abs=1e-4)
    key(plot, Key.Key_Right)  # it goes up and down alone: on to the next
    assert window.curve.plot.item.marks.handle.name == found[len(found) // 2 + 1]
    assert np.array_equal(window.session.document.edit.values, EDIT)
    assert len(steps(window)) == 1


@pytest.mark.parametrize(
    ("family", "code", "told"),
    [
        ("alibi", Key.Key_Right, "slope goes up and down alone: ↑ and ↓ move it"),
        ("music", Key.Key_Up, "length goes sideways alone: ← and → move it"),
    ],
)
def test_an_arrow_that_cannot_move_the_only_handle_says_which_can(opened, family, code, told):
    window = opened(family)
    key(window.curve.plot, Key.Key_H, text="h")
    before = window.session.document.encoding
    key(window.curve.plot, code)
    assert window.findChild(QLabel, names.STATUS_CELL).text() == told
    assert window.session.document.encoding == before


def test_left_and_right_move_a_handle_that_goes_sideways(opened):
    window = opened("tisa")
    plot = window.curve.plot
    click(plot, at(window, handle(window, "kernel 1")))
    before = handle(window, "kernel 1")
    key(plot, Key.Key_Right)
    key(plot, Key.Key_Left, SHIFT)
    assert handle(window, "kernel 1").offset == pytest.approx(before.offset + 0.9, abs=1e-4)
    assert handle(window, "kernel 1").value == pytest.approx(before.value, abs=1e-6)


@pytest.mark.parametrize(
    ("family", "name", "typed", "value", "offset"),
    [("t5", "bucket 5", "−1,25", -1.25, None), ("tisa", "width 0", "-3", None, -3.0)],
)
def test_enter_types_what_the_handle_stands_at(opened, qtbot, family, name, typed, value, offset):
    window = opened(family)
    click(window.curve.plot, at(window, handle(window, name)))
    key(window.curve.plot, Key.Key_Return)
    assert window.curve.entry.isVisible()
    window.curve.entry.box.setText(typed)
    key(window.curve.entry.box, Key.Key_Return)
    moved = handle(window, name)
    if value is not None:
        assert moved.value == pytest.approx(value, abs=1e-6)
    if offset is not None:
        centre = handle(window, "kernel 0").offset
        assert abs(moved.offset - centre) == pytest.approx(abs(offset - centre), abs=1e-4)
    assert len(steps(window)) == 1


def test_delete_and_escape_leave_handles_and_edit_alone(opened):
    window = opened("alibi")
    before = window.session.document
    window.curve.select(-3, -3)
    click(window.curve.plot, at(window, handle(window, "slope")))
    key(window.curve.plot, Key.Key_Delete)
    assert window.session.document == before
    assert window.curve.plot.item.marks.handle is not None
    QApplication.sendEvent(window.curve.plot, QEvent(QEvent.Type.Leave))
    key(window.curve.plot, Key.Key_Escape)
    assert window.curve.plot.item.marks.handle is None


# What is said.


def test_the_header_always_says_what_a_drag_changes(opened):
    window = opened("alibi", tool="brush")
    says = window.curve.tools.drags
    assert says.text() == "drag: edit Δ on top"
    window.curve.tool = "handles"
    assert says.text() == f"drag: {FAMILIES['alibi'].title} parameters"
    window.resize(1024, 700)
    QApplication.processEvents()
    for tool, words in (("brush", "Δ"), ("handles", "parameters")):
        window.curve.tool = tool
        QApplication.processEvents()
        assert says.isVisible()
        assert words in says.text()
        assert says.width() >= says.fontMetrics().horizontalAdvance(says.text())


def test_a_hovered_handle_names_its_parameter_and_shows_which_way_it_goes(opened):
    window = opened("tisa")
    hints: list[str] = []
    window.curve.hint_changed.connect(hints.append)
    shapes = {
        "kernel 1": Qt.CursorShape.SizeAllCursor,
        "width 3": Qt.CursorShape.SizeHorCursor,
    }
    for name, shape in shapes.items():
        one = handle(window, name)
        hover(window.curve.plot, at(window, one))
        assert one.help in hints[-1]
        assert window.curve.plot.item.marks.handle.name == name
        assert any(one.help in text for text, _role in window.curve.plot.item.marks.label)
        assert window.curve.plot.viewport().cursor().shape() == shape
    x, y = at(window, handle(window, "kernel 1"))
    hover(window.curve.plot, (x + 40, y + 60))
    assert hints[-1] == ""
    assert window.curve.plot.item.marks.handle is None


def test_the_tool_is_remembered_and_comes_back_with_a_family_that_has_handles(opened, qtbot):
    window = opened("alibi")
    window.edits.set_encoding(EncodingSpec("none"))
    settle(window, qtbot)
    assert window.curve.tool == "brush"
    window.edits.set_encoding(EncodingSpec("t5"))
    settle(window, qtbot)
    assert window.curve.tool == "handles"
    assert Settings.of_user().curve_tool == "handles"
    window.curve.tool = "anchors"
    assert Settings.of_user().curve_tool == "anchors"


def test_a_bucket_that_reaches_into_the_masked_future_has_its_handle_in_sight(opened):
    window = opened("t5", mask="causal", bidirectional=False)
    low, high = window.curve.plot.offsets
    shown = window.curve.plot.item.marks.handles
    assert {one.name for one in shown} >= {"bucket 0", "bucket 5"}
    assert all(low < one.offset < high for one in shown)


def test_another_head_cancels_the_drag(opened, qtbot):
    window = opened("alibi")
    before = window.session.document
    x, y = at(window, handle(window, "slope"))
    press(window.curve.plot, (x, y))
    move(window.curve.plot, (x, y + 50))
    window.commands.show_head(2)
    settle(window, qtbot)
    assert not window.curve.is_dragging
    assert window.session.document == replace(before, view=replace(before.view, head=2))
    release(window.curve.plot, (x, y + 50))
    assert steps(window) == []


# Families whose bias depends on content, yet clip or end at a distance.

# What each handle is at −5 and +5: family, its parameters to begin with, handle, parameter, and its value then.
REACHES = [
    ("shaw", {"clip": 9}, "past clip", "clip", 5),
    ("shaw", {"clip": 9}, "future clip", "clip", 5),
    ("music", {}, "length", "length", 6),
    ("transformer-xl", {}, "past clamp", "clamp", 5),
    ("xlnet", {"clamp": 400}, "future clamp", "clamp", 5),
    ("deberta", {}, "past own places", "num_buckets", 10),
    ("deberta", {"num_buckets": 8, "max_distance": 9}, "past max distance", "max_distance", 6),
    ("deberta", {"num_buckets": 0, "span": 40}, "future span", "span", 5),
    ("cope", {"positions": 9}, "positions", "positions", 6),
]


@pytest.mark.parametrize(("family", "parameters", "name", "parameter", "value"), REACHES)
def test_a_handle_of_a_distance_sets_its_parameter_in_one_step(
    opened, qtbot, family, parameters, name, parameter, value
):
    window = opened(family, **parameters)
    before, one = window.session.document, handle(window, name)
    x, y = at(window, one)
    to = window.curve.plot.map().x(5 if name.startswith("future") else -5)
    drag(window.curve.plot, (x, y), (float(to), y))
    settle(window, qtbot)
    assert window.session.document.encoding.build().values[parameter] == value
    assert window.frame.encoding.values[parameter] == value
    assert abs(handle(window, name).offset) == max(5, 6 * (parameter == "max_distance"))
    assert np.array_equal(window.session.document.edit.values, EDIT)
    assert len(steps(window)) == 1
    assert window.session.document == before


@pytest.mark.parametrize(("family", "parameter"), [("transformer-xl", "clamp"), ("music", "length")])
def test_a_handle_at_the_end_of_the_axis_waits_there_and_sets_none_when_dragged_out_again(
    opened, family, parameter
):
    window = opened(family)
    found = handles(window)[0]
    assert found.offset == 1 - N
    click(window.curve.plot, at(window, found))
    for _ in range(3):
        key(window.curve.plot, Key.Key_Right)
    inward = window.session.document.encoding.parameters[parameter]
    assert inward == {"clamp": N - 4, "length": N - 3}[parameter]
    for _ in range(4):
        key(window.curve.plot, Key.Key_Left)
    assert window.session.document.encoding.build().values[parameter] == 0
    assert handle(window, found.name).offset == 1 - N


@pytest.mark.parametrize("family", ["fox", "cable"])
def test_the_help_of_a_gate_says_on_which_line_it_lies(opened, family):
    assert "not on the mean drawn" in handle(opened(family), "gate bias").help


@pytest.mark.parametrize("family", WITH_HANDLES)
def test_numbers_of_handles_have_the_typographic_minus(family):
    learned = {
        "tisa": {
            "centre": [[-3.25], [4.5], [-6.125]],
            "amplitude": [[-1.5], [2.5], [-0.25]],
            "sharpness": [[0.1]] * 3,
        },
        "alibi": {"slopes": [0.25, 0.5, 1.5]},
        "fox": {"gate_bias": -2.5},
        "cable": {"gate_bias": -2.5},
    }
    encoding = EncodingSpec(family, learned.get(family, {})).build().with_heads(HEADS)
    texts = ["".join(text for text, _ in handle_label(one)) for one in encoding.handles(0, N, DIM)]
    assert [text for text in texts if re.search(r"-\d", text)] == []
    assert any("−" in text for text in texts)


def test_a_window_opens_with_the_remembered_tool_on_any_head(new_window, qtbot):
    Settings.of_user().curve_tool = "handles"
    window = new_window(document("shaw"))
    settle(window, qtbot)
    assert window.curve.tool == "handles"
    assert window.curve.curves.head == HEAD
