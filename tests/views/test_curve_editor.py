"""The curve editor in the hand: pointer, wheel and keys at pixels, and what they do to the edit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QMainWindow,
    QMenu,
    QStatusBar,
    QToolButton,
    QWidget,
)

from relpos_viewer.app.actions import ACTIONS
from relpos_viewer.app.undo import History
from relpos_viewer.document.document import Document, EditCurve, TextSource, replace
from relpos_viewer.document.session import Session
from relpos_viewer.views import names
from relpos_viewer.views.curve_editor import CurveEditor
from relpos_viewer.views.theme import DARK, LIGHT, stylesheet

from .curve_mouse import (
    CTRL,
    MIDDLE,
    PLAIN,
    RIGHT,
    SHIFT,
    click,
    curve_set,
    double_click,
    drag,
    hover,
    key,
    mouse,
    move,
    press,
    release,
    wheel,
)

Key = Qt.Key
RANDOM = np.random.default_rng(3).normal(size=(2, 17)).astype(np.float32)


class Log:
    """What an editor said, in order."""

    def __init__(self, editor: CurveEditor) -> None:
        self.said: list[tuple] = []
        self.offsets: list[int | None] = []
        self.hints: list[str] = []
        editor.edit_started.connect(self._started)
        editor.edit_previewed.connect(self._previewed)
        editor.edit_committed.connect(self._committed)
        editor.edit_cancelled.connect(self._cancelled)
        editor.offset_hovered.connect(self.offsets.append)
        editor.hint_changed.connect(self.hints.append)

    def _started(self):
        self.said.append(("started",))

    def _previewed(self, values):
        self.said.append(("previewed", values))

    def _committed(self, values, name, key):
        self.said.append(("committed", values, name, key))

    def _cancelled(self):
        self.said.append(("cancelled",))

    @property
    def kinds(self):
        return [entry[0] for entry in self.said]

    @property
    def commits(self):
        return [entry for entry in self.said if entry[0] == "committed"]


@pytest.fixture
def editor(qtbot):
    made = CurveEditor()
    qtbot.addWidget(made)
    made.resize(1000, 330)
    made.show()
    made.set_frame_curves(curve_set(n=9), True)
    made.radius = 0
    return made


@pytest.fixture
def log(editor):
    return Log(editor)


def point(editor, offset, dy=0.0):
    """Pixel of the curve at an offset, `dy` lower."""
    column = offset + (editor.edit.shape[1] // 2)
    value = editor.edit[0, column] + np.nan_to_num(editor.curves.family[0, column])
    return editor.plot.offset_to_x(offset), editor.plot.value_to_y(value) + dy


def units(editor):
    return editor.plot.map().units_per_pixel


def scaled_to(editor, units_per_pixel):
    """Show as many units as make a pixel worth this."""
    half = editor.plot.plot_rect().height() * units_per_pixel / 2
    editor.plot.set_values(-half, half)


def edits(values, head=0):
    return {int(c) - values.shape[1] // 2: float(values[head, c]) for c in np.flatnonzero(values[head])}


# Dragging.


def test_d01_a_point_grabbed_off_its_centre_moves_by_the_way_of_the_pointer(editor, log):
    scaled_to(editor, 0.02)
    x, y = point(editor, -2)
    drag(editor.plot, (x, y + 4), (x, y - 6))
    assert edits(log.commits[0][1]) == pytest.approx({-2: 0.20}, abs=1e-6)


def test_a_drag_may_begin_anywhere_in_the_column_of_its_offset(editor, log):
    scaled_to(editor, 0.02)
    x, _ = point(editor, -5)
    top = editor.plot.plot_rect().top()
    drag(editor.plot, (x + 8, top + 60), (x + 200, top + 35))
    assert edits(log.commits[0][1]) == pytest.approx({-5: 0.5}, abs=1e-6)


@pytest.fixture
def history(editor):
    """The editor as the window wires it: previews and commits go to the document, the document comes back."""
    session = Session(Document(TextSource("a b c d e f g h i", heads=2)))
    made = History(session)

    def with_edit(values):
        return replace(session.document, edit=EditCurve(values))

    def on_changed(new, old):
        editor.set_edit(new.edit.at(2, 9))

    session.changed.connect(on_changed)
    editor.edit_previewed.connect(lambda values: made.preview(with_edit(values)))
    editor.edit_cancelled.connect(made.cancel_preview)

    def on_committed(values, name, merge_key):
        if made.is_previewing:
            made.preview(with_edit(values))
            made.commit_preview(name)
        else:
            made.push(with_edit(values), name, merge_key)

    editor.edit_committed.connect(on_committed)
    made.session = session
    return made


def steps(history):
    """Names of all steps that can be taken back, newest first; takes them back."""
    found = []
    while history.can_undo:
        found.append(history.undo_name)
        history.undo()
    return found


def test_d03_a_hundred_moves_are_one_step_and_undo_restores_every_bit(editor, history):
    scaled_to(editor, 0.02)
    x, y = point(editor, -2)
    drag(editor.plot, (x, y), (x, y + 50), steps=100)
    np.testing.assert_allclose(edits(editor.edit)[-2], -1.0, rtol=1e-6)
    dragged = editor.edit.tobytes()
    history.undo()
    assert not editor.edit.any()
    assert not history.can_undo
    history.redo()
    assert editor.edit.tobytes() == dragged


def test_d03_escape_in_the_middle_of_a_drag_restores_and_leaves_no_step(editor, history, log):
    x, y = point(editor, -2)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y + 40))
    assert editor.edit.any()
    assert history.session.document.edit.values.any()
    key(editor.plot, Key.Key_Escape)
    assert not editor.edit.any()
    assert history.session.document.edit.is_zero
    move(editor.plot, (x, y + 80))
    release(editor.plot, (x, y + 80))
    assert not editor.edit.any()
    assert not history.can_undo
    assert log.kinds == ["started", "previewed", "cancelled"]


def test_d03_an_anchor_added_and_dragged_in_one_go_is_one_step(editor, history):
    editor.tool = "anchors"
    x, y = point(editor, -4)
    drag(editor.plot, (x, y), (x, y - 30), modifiers=CTRL)
    assert -4 in editor.anchors
    assert steps(history) == ["Drag δ = −4"]
    assert not editor.edit.any()


def test_the_ctrl_that_added_an_anchor_rounds_only_once_pressed_anew(editor):
    scaled_to(editor, 0.02)
    editor.tool = "anchors"
    x, y = point(editor, -4)
    press(editor.plot, (x, y), CTRL)
    move(editor.plot, (x, y - 31), CTRL)
    assert edits(editor.edit)[-4] == pytest.approx(0.62)
    move(editor.plot, (x, y - 32))
    move(editor.plot, (x, y - 31), CTRL)
    assert edits(editor.edit)[-4] == pytest.approx(0.5)
    release(editor.plot, (x, y - 31))


def test_d03_escape_takes_back_an_anchor_that_was_added_by_the_same_press(editor, log):
    editor.tool = "anchors"
    x, y = point(editor, -4)
    press(editor.plot, (x, y), CTRL)
    move(editor.plot, (x, y - 30), CTRL)
    key(editor.plot, Key.Key_Escape)
    assert editor.anchors == (-8, 0)
    assert log.kinds[-1] == "cancelled"


def test_d04_shift_is_a_tenth_of_the_way_and_releasing_it_does_not_jump(editor):
    scaled_to(editor, 0.02)
    x, y = point(editor, -2)
    press(editor.plot, (x, y))
    for step in range(0, 51, 5):
        move(editor.plot, (x, y - step), SHIFT)
    assert edits(editor.edit)[-2] == pytest.approx(0.10)
    move(editor.plot, (x, y - 60))
    assert edits(editor.edit)[-2] == pytest.approx(0.30)
    release(editor.plot, (x, y - 60))


def test_a_modifier_pressed_while_the_pointer_rests_counts_at_once(editor, log):
    scaled_to(editor, 0.02)
    x, y = point(editor, -2)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 31))
    QApplication.sendEvent(
        editor.plot, QKeyEvent(QEvent.Type.KeyPress, Key.Key_Control, Qt.KeyboardModifier.NoModifier)
    )
    assert edits(editor.edit)[-2] == pytest.approx(0.5)  # from 0.62
    assert log.hints[-1].startswith("Ctrl: round to 0.5")
    QApplication.sendEvent(editor.plot, QKeyEvent(QEvent.Type.KeyRelease, Key.Key_Control, CTRL))
    assert edits(editor.edit)[-2] == pytest.approx(0.62)
    release(editor.plot, (x, y - 31))
    assert log.hints[-1] == ""


def test_a_click_selects_and_edits_nothing(editor, log):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x + 2, y - 3))
    release(editor.plot, (x + 2, y - 3))
    assert log.said == []
    assert editor.selection == (-3, -3)


def test_a_drag_back_to_its_start_is_no_step(editor, log):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 30))
    move(editor.plot, (x, y))
    release(editor.plot, (x, y))
    assert log.kinds[-1] == "cancelled"
    assert not log.commits


def test_what_is_previewed_last_is_what_is_committed(editor, log):
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 37))
    assert log.kinds == ["started", *["previewed"] * (len(log.said) - 2), "committed"]
    np.testing.assert_array_equal(log.said[-1][1], log.said[-2][1])
    assert log.said[-1][2:] == ("Drag δ = −3", None)


def test_values_given_away_cannot_be_changed_and_do_not_change(editor, log):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 20))
    first = log.said[-1][1]
    before = first.tobytes()
    move(editor.plot, (x, y - 40))
    assert first.tobytes() == before
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    release(editor.plot, (x, y - 40))


def test_neighbours_follow_within_the_radius(editor, log):
    editor.radius, editor.shape = 2, "linear"
    x, y = point(editor, -4)
    drag(editor.plot, (x, y), (x, y - 30))
    found = edits(log.commits[0][1])
    assert set(found) == {-6, -5, -4, -3, -2}
    assert found[-5] / found[-4] == pytest.approx(2 / 3)


def test_the_wheel_changes_the_radius_during_a_drag_from_its_start(editor, log):
    editor.shape = "step"
    x, y = point(editor, -4)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 30))
    wheel(editor.plot, (x, y - 30), 1)
    assert set(edits(editor.edit)) == {-5, -4, -3}
    wheel(editor.plot, (x, y - 30), -1)
    assert set(edits(editor.edit)) == {-4}
    release(editor.plot, (x, y - 30))
    assert len(log.commits) == 1


def test_mirror_moves_both_sides(editor, log):
    editor.mirror = True
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 30))
    found = edits(log.commits[0][1])
    assert set(found) == {-3, 3}
    assert found[-3] == found[3]


def test_buckets_move_as_a_whole_by_default_and_alone_when_switched_off(editor, log):
    editor.set_frame_curves(curve_set(n=9, buckets=np.arange(17) // 3), True)
    x, y = point(editor, -4)
    drag(editor.plot, (x, y), (x, y - 30))
    assert set(edits(log.commits[0][1])) == {-5, -4, -3}
    editor.snap = False
    editor.set_edit(np.zeros((2, 17), np.float32))
    x, y = point(editor, -4)
    drag(editor.plot, (x, y), (x, y - 30))
    assert set(edits(log.commits[1][1])) == {-4}


def test_the_bucket_switch_is_offered_only_where_there_are_buckets(editor):
    switch = editor.findChild(QToolButton, names.CURVE_SNAP)
    assert not switch.isEnabled()
    editor.set_frame_curves(curve_set(n=9, buckets=np.arange(17) // 3), True)
    assert switch.isEnabled()
    assert switch.isChecked()


def test_all_heads_move_by_the_same_amount(editor, log):
    editor.all_heads = True
    start = RANDOM
    editor.set_edit(start)
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 30))
    moved = log.commits[0][1] - start
    assert moved[0, 5] == pytest.approx(30 * units(editor), rel=1e-4)
    np.testing.assert_allclose(moved[1], moved[0], atol=1e-6)


def test_freehand_sets_the_curve_where_the_pointer_went(editor, log):
    editor.set_frame_curves(curve_set(family=RANDOM), True)
    editor.tool = "freehand"
    m = editor.plot.map()
    start, stop = (float(m.x(-7)), float(m.y(1.0))), (float(m.x(-3)), float(m.y(-1.0)))
    drag(editor.plot, start, stop, steps=1)
    total = (RANDOM + log.commits[0][1])[0]
    np.testing.assert_allclose(total[1:6], [1, 0.5, 0, -0.5, -1], atol=1e-5)
    assert set(edits(log.commits[0][1])) == {-7, -6, -5, -4, -3}
    assert log.commits[0][2] == "Draw δ = −7…−3"
    np.testing.assert_array_equal(log.commits[0][1][1], 0)


def test_a_selected_range_moves_together(editor, log):
    click(editor.plot, point(editor, -6))
    click(editor.plot, point(editor, -3), SHIFT)
    assert editor.selection == (-6, -3)
    x, y = point(editor, -4)
    drag(editor.plot, (x, y), (x, y - 30))
    found = edits(log.commits[0][1])
    assert set(found) == {-6, -5, -4, -3}
    assert len(set(found.values())) == 1


def test_dragging_along_the_offset_axis_selects_a_range(editor):
    rect = editor.plot.plot_rect()
    y = rect.bottom() + 10
    drag(editor.plot, (editor.plot.offset_to_x(-7), y), (editor.plot.offset_to_x(-2), y))
    assert editor.selection == (-7, -2)


@given(way=st.lists(st.tuples(st.integers(-90, 90), st.sampled_from([PLAIN, SHIFT, CTRL])), max_size=8))
def test_whatever_the_hand_did_escape_restores_every_bit(editor, way):
    editor.radius, editor.mirror = 3, True
    editor.set_edit(RANDOM)
    x, y = editor.plot.offset_to_x(-3), editor.plot.plot_rect().center().y()
    press(editor.plot, (x, y))
    for dy, modifiers in way:
        move(editor.plot, (x, y + dy), modifiers)
    key(editor.plot, Key.Key_Escape)
    release(editor.plot, (x, y))
    assert editor.edit.tobytes() == RANDOM.tobytes()


def test_a_lost_release_ends_the_drag(editor, log):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 30))
    hover(editor.plot, (x, y - 60))
    hover(editor.plot, (x, y - 90))
    assert len(log.commits) == 1
    assert edits(log.commits[0][1])[-3] == pytest.approx(30 * units(editor))
    hover(editor.plot, point(editor, -6))
    assert editor.plot.item.marks.focus == -6


# Anchors.


def test_d07_an_anchor_added_off_the_curve_changes_nothing(editor, log):
    family = np.zeros((1, 17), np.float32)
    family[0, :9] = np.arange(-8, 1) * 0.5  # (−8, −4) … (0, 0), straight
    editor.set_frame_curves(curve_set(family=family), True)
    editor.tool = "anchors"
    before = editor.edit.tobytes()
    click(editor.plot, (editor.plot.offset_to_x(-3), editor.plot.value_to_y(-2.2)), CTRL)
    assert editor.anchors == (-8, -3, 0)
    assert editor.edit.tobytes() == before
    assert log.said == []
    assert (family + editor.edit)[0, -3 + 8] == -1.5


def test_an_anchor_bends_the_curve_between_its_neighbours_only(editor, log):
    editor.tool = "anchors"
    click(editor.plot, point(editor, -6), CTRL)
    x, y = point(editor, -2)
    drag(editor.plot, (x, y), (x, y - 40))
    found = edits(log.commits[0][1])
    top = found[-2]
    assert found == pytest.approx({-5: top / 4, -4: top / 2, -3: 3 * top / 4, -2: top, -1: top / 2})
    assert editor.anchors == (-8, -6, -2, 0)


def test_delete_removes_an_anchor_and_leaves_the_curve(editor, log):
    editor.tool = "anchors"
    drag(editor.plot, point(editor, -4), point(editor, -4, -30))
    before = editor.edit.tobytes()
    click(editor.plot, point(editor, -4))
    key(editor.plot, Key.Key_Delete)
    assert editor.anchors == (-8, 0)
    assert editor.edit.tobytes() == before
    assert len(log.commits) == 1


def test_the_anchor_near_the_pointer_is_the_target(editor):
    editor.tool = "anchors"
    double_click(editor.plot, point(editor, -4))
    assert editor.anchors == (-8, -4, 0)
    x, y = point(editor, -4)
    hover(editor.plot, (x + 6, y + 30))
    click(editor.plot, (x + 6, y + 30), CTRL)
    assert editor.anchors == (-8, -4, 0)


# Hovering.


def test_the_target_is_shown_before_the_click(editor, log):
    editor.radius = 2
    x, y = point(editor, -4)
    hover(editor.plot, (x + 9, y + 60))
    marks = editor.plot.item.marks
    assert marks.focus == -4
    assert (marks.reach.columns - 8).tolist() == [-6, -5, -4, -3, -2]
    assert "".join(text for text, _ in marks.label).startswith("δ = −4   b = 0")
    assert log.offsets == [-4]
    hover(editor.plot, (5, 5))
    assert editor.plot.item.marks.focus is None
    assert log.offsets == [-4, None]


def test_leaving_the_plot_ends_hovering(editor, log):
    hover(editor.plot, point(editor, -4))
    QApplication.sendEvent(editor.plot, QEvent(QEvent.Type.Leave))
    assert log.offsets == [-4, None]


def test_an_offset_shown_from_outside_is_marked_and_not_told_back(editor, log):
    editor.set_offset(-6)
    assert editor.plot.item.marks.focus == -6
    editor.set_offset(99)
    assert editor.plot.item.marks.focus is None
    editor.set_offset(None)
    assert log.offsets == []


@pytest.mark.parametrize("axis", ["linear", "symlog"])
@pytest.mark.parametrize("n", [1, 2, 9, 300])
def test_every_pixel_of_the_plot_belongs_to_the_offset_nearest_to_it(editor, axis, n):
    editor.set_frame_curves(curve_set(n=n), False)
    editor.axis = axis
    rect = editor.plot.plot_rect()
    for x in np.linspace(rect.left() + 1, rect.right() - 1, 40):
        offset = editor.plot.x_to_offset(float(x))
        assert abs(offset) < n
        distance = abs(editor.plot.offset_to_x(offset) - x)
        for other in (offset - 1, offset + 1):
            if abs(other) < n and axis == "linear":
                assert distance <= abs(editor.plot.offset_to_x(other) - x) + 1e-6


# Wheel, zoom and pan.


def test_the_wheel_over_the_plot_and_the_brackets_change_the_radius(editor):
    at = point(editor, -4)
    wheel(editor.plot, at, 1)
    assert editor.radius == 1
    wheel(editor.plot, at, 2)
    assert editor.radius == 3
    key(editor.plot, Key.Key_BracketLeft, text="[")
    assert editor.radius == 2
    key(
        editor.plot, Key.Key_8, Qt.KeyboardModifier.GroupSwitchModifier, text="]"
    )  # AltGr on German keyboards
    assert editor.radius == 3
    wheel(editor.plot, at, -9)
    assert editor.radius == 0


def test_shift_makes_large_radius_steps_fine(editor):
    editor.set_frame_curves(curve_set(n=300), True)
    editor.radius = 100
    at = point(editor, -4)
    wheel(editor.plot, at, 1)
    assert editor.radius == 110
    wheel(editor.plot, at, 1, SHIFT)
    assert editor.radius == 111


def test_the_wheel_over_the_value_axis_zooms_it_around_the_pointer(editor):
    rect = editor.plot.plot_rect()
    y = rect.top() + 0.3 * rect.height()
    value, (low, high), offsets = editor.plot.y_to_value(y), editor.plot.values, editor.plot.offsets
    wheel(editor.plot, (rect.left() - 20, y), 1)
    assert editor.plot.y_to_value(y) == pytest.approx(value)
    once = editor.plot.values[1] - editor.plot.values[0]
    assert once < high - low
    assert editor.plot.offsets == offsets
    wheel(editor.plot, (rect.left() - 20, y), -1)
    wheel(editor.plot, (rect.left() - 20, y), 1, SHIFT)
    fine = editor.plot.values[1] - editor.plot.values[0]
    assert once < fine < high - low


def test_the_wheel_over_the_offset_axis_zooms_it_around_the_pointer(editor):
    rect, values = editor.plot.plot_rect(), editor.plot.values
    x = editor.plot.offset_to_x(-4)
    wheel(editor.plot, (x, rect.bottom() + 10), 2)
    assert editor.plot.offset_to_x(-4) == pytest.approx(x)
    low, high = editor.plot.offsets
    assert high - low < 9
    assert editor.plot.values == values


def test_a_drag_of_the_middle_or_right_button_pans(editor, log):
    for button in (MIDDLE, RIGHT):
        editor.plot.set_offsets(-6, -2)
        (low, high), (bottom, top) = editor.plot.offsets, editor.plot.values
        width, height = editor.plot.plot_rect().width(), editor.plot.plot_rect().height()
        drag(editor.plot, (400, 150), (500, 170), button=button)
        assert editor.plot.offsets[0] == pytest.approx(low - 100 / width * (high - low))
        assert editor.plot.values[0] == pytest.approx(bottom + 20 / height * (top - bottom))
    assert log.said == []
    assert editor.selection is None


def test_the_view_never_leaves_the_offsets_that_exist(editor):
    drag(editor.plot, (400, 150), (9000, 150), button=MIDDLE)
    low, _high = editor.plot.offsets
    assert low == pytest.approx(-8.5 * 1.04)
    for _ in range(40):
        wheel(editor.plot, (400, editor.plot.plot_rect().bottom() + 10), -3)
    assert max(abs(end) for end in editor.plot.offsets) <= 8.5 * 1.05


@pytest.mark.parametrize("way", ["Home", "double click"])
def test_home_and_a_double_click_on_an_axis_show_everything_again(editor, way):
    fresh = (editor.plot.offsets, editor.plot.values)
    rect = editor.plot.plot_rect()
    for _ in range(2):
        wheel(editor.plot, (rect.left() - 20, rect.center().y()), 3)
        wheel(editor.plot, (rect.center().x(), rect.bottom() + 10), 3)
        if way == "Home":
            key(editor.plot, Key.Key_Home)
        else:
            double_click(editor.plot, (rect.left() - 20, rect.center().y()))
        assert (editor.plot.offsets, editor.plot.values) == fresh


def test_the_value_axis_rests_while_dragging_and_grows_after_when_needed(editor):
    low, high = editor.plot.values
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 600))
    editor.set_frame_curves(curve_set(n=9, edit=editor.edit), True)
    assert editor.plot.values == (low, high)
    release(editor.plot, (x, y - 600))
    assert editor.plot.values[0] == low
    assert editor.plot.values[1] > edits(editor.edit)[-3] > high


def test_the_value_axis_rests_after_a_drag_that_stays_in_view(editor):
    before = editor.plot.values
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 40))
    assert editor.plot.values == before


def test_a_view_that_was_chosen_stays_after_a_drag_and_with_new_curves(editor):
    rect = editor.plot.plot_rect()
    wheel(editor.plot, (rect.left() - 20, rect.center().y()), 4)
    chosen = editor.plot.values
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 900))
    editor.set_frame_curves(curve_set(family=RANDOM * 9), True)
    assert editor.plot.values == chosen


def test_new_curves_are_fitted(editor):
    editor.set_frame_curves(curve_set(family=RANDOM * 50), True)
    low, high = editor.plot.values
    assert low < (RANDOM * 50)[:, :9].min() < (RANDOM * 50)[:, :9].max() < high


@pytest.mark.parametrize("value", [1e30, -1e30, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("axis", ["linear", "symlog"])
def test_a_value_out_of_all_measure_is_drawn_without_harm(editor, value, axis):
    family = np.zeros((2, 17), np.float32)
    family[0, 5] = family[1, 3] = value
    editor.axis = axis
    editor.set_frame_curves(curve_set(family=family), True)
    hover(editor.plot, (editor.plot.offset_to_x(-3), 100))
    editor.grab()
    low, high = editor.plot.values
    assert -1e6 <= low < 0 < high <= 1e6


def test_pixels_follow_a_resize_at_once(editor, qtbot):
    editor.resize(700, 300)
    qtbot.wait(1)
    rect = editor.plot.plot_rect()
    low, high = editor.plot.offsets
    assert editor.plot.offset_to_x(low) == pytest.approx(rect.left())
    assert editor.plot.offset_to_x(high) == pytest.approx(rect.right())
    assert rect.right() < 700


# Keys.


def test_arrows_choose_an_offset_and_nudge_it(editor, log):
    key(editor.plot, Key.Key_Left)
    assert editor.selection == (0, 0)
    key(editor.plot, Key.Key_Left)
    key(editor.plot, Key.Key_Left)
    assert editor.selection == (-2, -2)
    assert log.offsets == [0, -1, -2]
    key(editor.plot, Key.Key_Up)
    key(editor.plot, Key.Key_Up, SHIFT)
    assert edits(editor.edit) == pytest.approx({-2: 0.11})
    key(editor.plot, Key.Key_Down)
    assert edits(editor.edit) == pytest.approx({-2: 0.01})
    assert editor.plot.accessibleDescription().startswith("δ = −2")


def test_arrows_win_over_a_pointer_that_rests_in_the_plot(editor):
    hover(editor.plot, point(editor, -6))
    key(editor.plot, Key.Key_Left)
    assert editor.selection == (-6, -6)
    key(editor.plot, Key.Key_Right)
    assert editor.plot.item.marks.focus == -5


def test_arrows_stop_at_the_ends(editor):
    for _ in range(12):
        key(editor.plot, Key.Key_Left)
    assert editor.selection == (-8, -8)


def test_the_view_follows_the_arrows(editor):
    editor.plot.set_offsets(-2.5, 2.5)
    editor.select(-2, -2)
    key(editor.plot, Key.Key_Left)
    low, high = editor.plot.offsets
    assert low < -3 < high
    assert high - low == pytest.approx(5)


def test_repeated_nudges_are_one_step_of_undo(editor, history):
    editor.select(-2, -2)
    for _ in range(5):
        key(editor.plot, Key.Key_Up)
    editor.select(-3, -3)
    key(editor.plot, Key.Key_Up)
    assert edits(editor.edit) == pytest.approx({-2: 0.5, -3: 0.1})
    assert steps(history) == ["Nudge δ = −3", "Nudge δ = −2"]


def test_shift_with_an_arrow_stretches_the_selection(editor):
    editor.select(-2, -2)
    key(editor.plot, Key.Key_Left, SHIFT)
    key(editor.plot, Key.Key_Left, SHIFT)
    assert editor.selection == (-4, -2)
    key(editor.plot, Key.Key_A, CTRL)
    assert editor.selection == (-8, 0)
    key(editor.plot, Key.Key_Escape)
    assert editor.selection is None


@pytest.mark.parametrize(
    "spec", [spec for spec in ACTIONS if "Ctrl" in spec.shortcut], ids=lambda spec: spec.id
)
def test_the_curve_takes_no_ctrl_key_that_is_an_action_of_the_window(editor, spec):
    for sequence in spec.shortcuts:
        pressed = sequence[0]
        modifiers = pressed.keyboardModifiers()
        override = QKeyEvent(QEvent.Type.ShortcutOverride, pressed.key(), modifiers)
        QApplication.sendEvent(editor.plot, override)
        assert not override.isAccepted()
        key(editor.plot, pressed.key(), modifiers)
        assert editor.selection is None


@pytest.mark.parametrize("way", ["Delete", "double click", "menu"])
def test_a_point_is_reset_by_delete_double_click_and_menu(editor, log, way):
    editor.set_edit(RANDOM)
    if way == "double click":
        double_click(editor.plot, point(editor, -3))
    else:
        editor.select(-3, -3)
        if way == "Delete":
            key(editor.plot, Key.Key_Delete)
        else:
            menu = editor.findChild(QToolButton, names.CURVE_RESET).menu()
            menu.actions()[0].trigger()
    expected = RANDOM.copy()
    expected[0, 5] = 0
    np.testing.assert_array_equal(log.commits[0][1], expected)
    assert log.commits[0][2] == "Reset δ = −3"
    assert log.kinds == ["committed"]


def test_the_reset_menu_resets_a_head_and_all(editor, log):
    editor.set_edit(RANDOM)
    menu = editor.findChild(QToolButton, names.CURVE_RESET).menu()
    menu.actions()[1].trigger()
    np.testing.assert_array_equal(log.commits[0][1], RANDOM * [[0], [1]])
    menu.actions()[2].trigger()
    assert not log.commits[1][1].any()


def test_an_escape_with_nothing_to_leave_is_for_somebody_else(editor):
    event = QKeyEvent(QEvent.Type.KeyPress, Key.Key_Escape, PLAIN)
    QApplication.sendEvent(editor.plot, event)
    assert not event.isAccepted()


def test_shortcuts_of_the_window_do_not_take_the_keys_of_the_curve(qtbot):
    window, editor = QMainWindow(), CurveEditor()
    qtbot.addWidget(window)
    window.setCentralWidget(editor)
    editor.set_frame_curves(curve_set(n=9), True)
    taken = []
    for shortcut in ("Left", "Delete", "Home", "[", "F5"):
        action = QAction(shortcut, window)
        action.setShortcut(shortcut)
        action.triggered.connect(lambda _=False, name=shortcut: taken.append(name))
        window.addAction(action)
    with qtbot.waitActive(window):
        window.show()
    editor.plot.setFocus()
    editor.select(-2, -2)
    editor.radius = 4
    for pressed in (Key.Key_Left, "[", Key.Key_Home, Key.Key_Delete, Key.Key_F5):
        qtbot.keyClick(editor.plot, pressed)
    assert taken == ["F5"]
    assert editor.selection == (-3, -3)
    assert editor.radius == 3


def test_a_curve_goes_through_the_clipboard(editor, log):
    editor.set_edit(RANDOM)
    editor.select(-5, -3)
    key(editor.plot, Key.Key_C, CTRL)
    copied = QGuiApplication.clipboard().text()
    assert [line.split("\t")[0] for line in copied.splitlines()] == ["-5", "-4", "-3"]
    editor.set_edit(np.zeros((2, 17), np.float32))
    key(editor.plot, Key.Key_V, CTRL)
    assert log.commits[0][1][0, 3:6].tobytes() == RANDOM[0, 3:6].tobytes()
    assert not log.commits[0][1][:, 6:].any()


def test_a_selected_point_is_no_range_to_copy(editor):
    drag(editor.plot, point(editor, -3), point(editor, -3, -20))
    assert editor.selection == (-3, -3)
    editor.copy_values()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 17


def test_after_a_stroke_the_mark_is_where_the_pointer_is(editor, log):
    editor.tool = "freehand"
    hover(editor.plot, point(editor, -7))
    drag(editor.plot, point(editor, -7), point(editor, -2))
    assert log.offsets[-1] == -2
    assert editor.plot.item.marks.focus == -2


def test_a_clipboard_without_numbers_is_refused_in_a_sentence(editor, log):
    refused = []
    editor.refused.connect(refused.append)
    QGuiApplication.clipboard().setText("hello there")
    key(editor.plot, Key.Key_V, CTRL)
    assert len(refused) == 1
    assert "hello there" in refused[0]
    assert not log.commits


# The box for an exact value.


def open_entry(editor, offset=-3):
    editor.select(offset, offset)
    key(editor.plot, Key.Key_Return)
    assert editor.entry.isVisible()
    return editor.entry.box


@pytest.mark.parametrize(
    ("typed", "value"), [("-1.25", -1.25), ("-1,25", -1.25), ("−1.25", -1.25), (" 3 ", 3)]
)
def test_enter_opens_a_box_for_an_exact_value(editor, log, typed, value):
    editor.set_frame_curves(curve_set(family=RANDOM), True)
    box = open_entry(editor)
    assert box.text() == f"{RANDOM[0, 5]:.6g}".replace("-", "−")
    box.setText(typed)
    key(box, Key.Key_Return)
    assert not editor.entry.isVisible()
    assert (RANDOM + log.commits[0][1])[0, 5] == pytest.approx(value)
    assert set(edits(log.commits[0][1])) == {-3}


def test_a_radius_does_not_blur_an_exact_value(editor, log):
    editor.radius = 3
    box = open_entry(editor)
    box.setText("2")
    key(box, Key.Key_Return)
    assert edits(log.commits[0][1]) == {-3: 2.0}


def test_tab_goes_on_to_the_next_offset(editor, log):
    box = open_entry(editor)
    box.setText("1")
    key(box, Key.Key_Tab)
    assert editor.entry.isVisible()
    assert editor.selection == (-2, -2)
    box.setText("2")
    key(box, Key.Key_Backtab)
    assert editor.selection == (-3, -3)
    key(box, Key.Key_Escape)
    assert edits(editor.edit) == {-3: 1.0, -2: 2.0}
    assert len(log.commits) == 2


def test_escape_leaves_the_value_as_it_was(editor, log):
    box = open_entry(editor)
    box.setText("5")
    key(box, Key.Key_Escape)
    assert not editor.entry.isVisible()
    assert not log.commits


@pytest.mark.parametrize("typed", ["abc", "", "1 2", "1e999", "nan", "--3", "1e30"])
def test_what_is_no_number_keeps_the_box_open_with_a_sentence(editor, log, typed):
    box = open_entry(editor)
    box.setText(typed)
    key(box, Key.Key_Return)
    assert editor.entry.isVisible()
    assert editor.entry.message
    assert not log.commits
    assert editor.plot.rect().contains(editor.entry.geometry())
    box.setText("1")
    assert editor.entry.message == ""
    key(box, Key.Key_Escape)


def test_an_untouched_box_changes_no_digit(editor, log):
    editor.set_edit(RANDOM)
    key(open_entry(editor), Key.Key_Return)
    assert not log.commits


def test_arrows_in_the_box_step_the_number(editor):
    box = open_entry(editor)
    box.setText("0.3")
    key(box, Key.Key_Up)
    assert box.text() == "0.4"
    key(box, Key.Key_Down, SHIFT)
    assert box.text() == "0.39"
    key(box, Key.Key_Escape)


@pytest.mark.parametrize("offset", [-8, 0])
@pytest.mark.parametrize("value", [-50.0, 50.0])
def test_the_box_is_never_cut(editor, offset, value):
    rect = editor.plot.plot_rect()
    wheel(editor.plot, (rect.left() - 20, rect.center().y()), 1)
    editor.set_value(offset, value)
    open_entry(editor, offset)
    assert editor.plot.rect().contains(editor.entry.geometry())
    key(editor.entry.box, Key.Key_Escape)


# Frames and the document.


def test_frames_that_carry_an_older_edit_do_not_bring_it_back(editor, history):
    x, y = point(editor, -3)
    drag(editor.plot, (x, y), (x, y - 30))
    drawn = editor.edit.tobytes()
    editor.set_frame_curves(curve_set(n=9), True)
    assert editor.edit.tobytes() == drawn
    history.undo()
    editor.set_frame_curves(curve_set(n=9, edit=np.frombuffer(drawn, np.float32).reshape(2, 17)), True)
    assert not editor.edit.any()


def test_without_a_word_from_the_document_frames_say_what_the_edit_is(editor):
    editor.set_frame_curves(curve_set(n=9, edit=RANDOM), True)
    np.testing.assert_array_equal(editor.edit, RANDOM)


def test_a_drag_goes_on_while_frames_arrive(editor, log):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    for step in range(10, 60, 10):
        move(editor.plot, (x, y - step))
        editor.set_frame_curves(curve_set(n=9), True)
        assert edits(editor.edit)[-3] == pytest.approx(step * units(editor))
    release(editor.plot, (x, y - 50))
    assert log.kinds.count("committed") == 1


@pytest.mark.parametrize("other", [curve_set(n=12), curve_set(n=9, head=1), curve_set(n=9, heads=3)])
def test_a_drag_ends_when_its_curve_goes_away(editor, log, other):
    x, y = point(editor, -3)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 30))
    editor.set_frame_curves(other, True)
    assert log.kinds[-1] == "cancelled"
    assert not editor.edit.any()
    assert editor.edit.shape == other.edit.shape
    move(editor.plot, (x, y - 60))
    release(editor.plot, (x, y - 60))
    assert not log.commits


def test_before_the_first_frame_nothing_can_go_wrong(qtbot):
    editor = CurveEditor()
    qtbot.addWidget(editor)
    editor.resize(800, 300)
    editor.show()
    log = Log(editor)
    drag(editor.plot, (300, 100), (300, 50))
    double_click(editor.plot, (300, 100))
    hover(editor.plot, (310, 100))
    wheel(editor.plot, (300, 100), 1)
    editor.set_offset(3)
    editor.axis = "symlog"
    for code in (Key.Key_Left, Key.Key_Up, Key.Key_Return, Key.Key_Delete, Key.Key_Home, Key.Key_Escape):
        key(editor.plot, code)
    editor.reset_all()
    editor.grab()
    assert log.said == []


# The header.


@pytest.mark.parametrize("width", [700, 760, 850, 1000, 1400])
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_header_fits_its_width_uncut(qtbot, width, theme):
    editor = CurveEditor()
    qtbot.addWidget(editor)
    editor.setStyleSheet(stylesheet(theme))
    editor.set_theme(theme)
    editor.set_frame_curves(curve_set(n=9, buckets=np.arange(17)), True)
    editor.resize(width, 300)
    editor.show()
    qtbot.wait(1)
    assert editor.width() == width
    controls = [
        widget
        for kind in (QAbstractButton, QAbstractSpinBox)
        for widget in editor.tools.findChildren(kind)
        if widget.isVisible()
    ]
    assert len(controls) >= 12
    boxes = [widget.geometry() for widget in controls]
    for widget, box in zip(controls, boxes, strict=True):
        assert editor.tools.rect().contains(box), widget.objectName()
        assert box.width() >= widget.minimumSizeHint().width() or isinstance(widget, QAbstractSpinBox)
        assert not any(box.intersects(other) for other in boxes if other is not box)


@pytest.mark.parametrize("styled", [False, True])
def test_a_narrow_header_drops_words_and_lays_no_control_over_another(editor, styled):
    editor.setStyleSheet(stylesheet(LIGHT) if styled else "")
    for width in (editor.minimumSizeHint().width(), 470, 520, 600, 800):
        editor.resize(width, 330)
        QApplication.processEvents()
        shown = [child for child in editor.tools.findChildren(QWidget) if child.isVisibleTo(editor.tools)]
        shown = sorted(
            (child for child in shown if child.parent() is editor.tools), key=lambda child: child.x()
        )
        assert all(a.geometry().right() < b.x() for a, b in pairwise(shown))
        assert shown[-1].geometry().right() <= editor.tools.width()
        buttons = [child for child in shown if isinstance(child, QAbstractButton)]
        assert all(button.width() >= button.sizeHint().width() for button in buttons)


def test_a_wide_header_shows_its_words(editor):
    editor.resize(1400, 300)
    mirror = editor.findChild(QToolButton, names.CURVE_MIRROR)
    assert mirror.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    editor.resize(660, 300)
    assert mirror.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly


def test_every_control_has_a_name_of_its_own_a_word_and_a_tip(editor):
    controls = [
        *editor.tools.findChildren(QAbstractButton),
        editor.tools.radius_box,
        editor.plot,
        editor.entry.box,
    ]
    found = [control.objectName() for control in controls]
    assert all(found)
    assert len(set(found)) == len(found)
    assert all(control.accessibleName() for control in controls)
    assert all(control.toolTip() for control in controls if isinstance(control, QAbstractButton))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("tool", "freehand"),
        ("shape", "step"),
        ("radius", 5),
        ("mirror", True),
        ("snap", False),
        ("all_heads", True),
        ("axis", "symlog"),
    ],
)
def test_settings_are_told_and_kept_whichever_way_they_change(editor, qtbot, setting, value):
    with qtbot.waitSignal(editor.tool_changed):
        setattr(editor, setting, value)
    assert getattr(editor, setting) == value


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        (names.CURVE_TOOL_PREFIX + "freehand", "tool", "freehand"),
        (names.CURVE_TOOL_PREFIX + "anchors", "tool", "anchors"),
        (names.CURVE_SHAPE_PREFIX + "linear", "shape", "linear"),
        (names.CURVE_MIRROR, "mirror", True),
        (names.CURVE_ALL_HEADS, "all_heads", True),
        (names.CURVE_AXIS, "axis", "symlog"),
    ],
)
def test_buttons_choose(editor, qtbot, name, setting, value):
    assert getattr(editor, setting) != value
    qtbot.mouseClick(editor.findChild(QToolButton, name), Qt.MouseButton.LeftButton)
    assert getattr(editor, setting) == value


def test_a_radius_nobody_chose_grows_with_the_sequence_and_one_that_was_stays(qtbot):
    editor = CurveEditor()
    qtbot.addWidget(editor)
    editor.set_frame_curves(curve_set(n=35), True)
    small = editor.radius
    editor.set_frame_curves(curve_set(n=600), True)
    assert editor.radius > small >= 2
    editor.radius = 7
    editor.set_frame_curves(curve_set(n=300), True)
    assert editor.radius == 7
    editor.set_frame_curves(curve_set(n=4), True)
    assert editor.radius == 3


def test_the_right_button_opens_a_menu_for_the_point_under_it(editor, log):
    editor.set_edit(RANDOM)
    at = point(editor, -5)
    press(editor.plot, at, button=RIGHT)
    release(editor.plot, at, button=RIGHT)
    menu = next(menu for menu in editor.findChildren(QMenu) if menu.isVisible())
    assert editor.selection == (-5, -5)
    next(action for action in menu.actions() if "Reset point" in action.text().replace("&", "")).trigger()
    assert log.commits[0][2] == "Reset δ = −5"
    menu.close()


def test_a_second_button_does_not_disturb_a_drag(editor, log):
    x, y = point(editor, -3)
    view = (editor.plot.offsets, editor.plot.values)
    press(editor.plot, (x, y))
    move(editor.plot, (x, y - 20))
    mouse(editor.plot, QEvent.Type.MouseButtonPress, (x, y - 20), RIGHT, RIGHT | Qt.MouseButton.LeftButton)
    move(editor.plot, (x, y - 30))
    release(editor.plot, (x, y - 30), button=RIGHT)
    release(editor.plot, (x, y - 30))
    assert edits(log.commits[0][1])[-3] == pytest.approx(30 * units(editor))
    assert (editor.plot.offsets, editor.plot.values) == view


def test_the_frame_that_shows_the_focus_comes_and_goes_with_it(qtbot):
    holder = QMainWindow()
    qtbot.addWidget(holder)
    holder.setStyleSheet(stylesheet(LIGHT))
    editor, line = CurveEditor(), QLineEdit()
    holder.setCentralWidget(editor)
    holder.setStatusBar(QStatusBar())
    holder.statusBar().addWidget(line)
    holder.resize(900, 400)
    holder.show()
    editor.setFocus()
    painted = []
    editor.paintEvent = lambda event: painted.append(event.rect())
    for widget in (line, editor, line):
        QApplication.processEvents()
        painted.clear()
        widget.setFocus()
        QApplication.processEvents()
        assert any(rect.contains(editor.rect()) for rect in painted)


def test_a_frame_that_brings_what_is_drawn_already_paints_nothing_again(editor, monkeypatch):
    curves = curve_set(RANDOM)
    editor.set_frame_curves(curves, True)
    editor.grab()
    refreshed = []
    update = type(editor.plot.item).update
    monkeypatch.setattr(
        type(editor.plot.item), "update", lambda item, *a: (refreshed.append(1), update(item, *a))[1]
    )
    editor.set_frame_curves(curves.with_edit(curves.edit.copy()), True)
    assert not refreshed
    moved = curves.edit.copy()
    moved[0, 3] = 1
    editor.set_frame_curves(curves.with_edit(moved), True)
    assert refreshed and editor.edit[0, 3] == 1
    refreshed.clear()
    editor.set_frame_curves(curves.with_edit(moved), False)
    assert refreshed, "what is masked as the future is part of the picture"
