"""The equation: four matrices on one range and one crosshair, in three arrangements, at every size of window."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel

from relpos_viewer.app.frames import FrameMaker, FrameRequest, Tile
from relpos_viewer.app.palettes import palettes
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.field import STAGES
from relpos_viewer.core.levels import choose_levels
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.document.document import Document, TextSource, replace
from relpos_viewer.views.equation_row import EquationRow
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.matrix_view import MatrixView
from relpos_viewer.views.theme import DARK, LIGHT, stylesheet

from .matrix_tools import LEFT, click, double_click, drag, mouse, move, picture, tile, wheel


@dataclass
class Inputs:
    tokens: Tokens


@dataclass
class Frame:
    inputs: Inputs
    tiles: dict[str, Tile]
    n_query: int
    n_key: int


def frame(n_query=10, n_key=10, seed=0) -> Frame:
    values = np.random.default_rng(seed).normal(size=(4, n_query, n_key))
    visible = np.tri(n_query, n_key, n_key - n_query, dtype=bool)
    tiles = {
        stage: tile(values[place], choose_levels(values[place], visible, symmetric=True), visible=visible)
        for place, stage in enumerate(STAGES)
    }
    return Frame(Inputs(Tokens(tuple(f"w{j}" for j in range(n_key)))), tiles, n_query, n_key)


@pytest.fixture
def row(qtbot):
    widget = EquationRow()
    qtbot.addWidget(widget)
    widget.resize(1400, 396)
    widget.set_frame(frame(), palettes("auto", "auto", "light"))
    widget.show()
    return widget


def centre(view, i, j):
    point = view.canvas.point_of(i, j)
    return point.x(), point.y()


def shown_rects(row):
    views = [view for view in row.views.values() if view.isVisible()]
    return [view.geometry() for view in views]


@pytest.mark.parametrize("size", [(996, 300), (996, 420), (1412, 396), (1412, 640), (760, 200), (2500, 1200)])
@pytest.mark.parametrize("layout", ["row", "grid"])
def test_nothing_overlaps_or_is_cut_in_any_window(row, layout, size):
    if layout == "grid":
        size = (size[0], max(size[1], 312))
    row.set_layout(layout)
    row.resize(*size)
    rects = shown_rects(row)
    assert len(rects) == 4
    assert all(row.rect().contains(rect) for rect in rects)
    assert not any(one.intersects(other) for one, other in combinations(rects, 2))
    assert len({(rect.width(), rect.height()) for rect in rects}) == 1
    assert len({view.canvas.pixel_shape for view in row.views.values()}) == 1
    assert all(view.canvas.width() >= 80 for view in row.views.values())
    title = row.views["positional"].findChild(QLabel, "matrixTitle_positional")
    assert title.width() >= title.sizeHint().width()


def test_the_smallest_size_keeps_its_word(row):
    for layout in ("row", "grid", "weights"):
        row.set_layout(layout)
        row.resize(row.minimumSizeHint())
        for view in row.views.values():
            if view.isVisible():
                assert view.canvas.width() >= 60


@pytest.mark.parametrize("stage", STAGES)
def test_a_single_stage_takes_all_the_room(row, stage):
    before = row.views[stage].canvas.width()
    row.set_layout(stage)
    assert [view.stage for view in row.views.values() if view.isVisible()] == [stage]
    assert row.views[stage].geometry() == row.rect()
    assert row.views[stage].canvas.width() > before
    assert row.viewport.shape == row.views[stage].canvas.pixel_shape


def test_a_double_click_on_a_title_asks_for_that_stage_and_then_for_all(row, qtbot):
    title = row.views["scores"].findChild(QLabel, "matrixTitle_scores")
    row.set_layout("grid")
    for expected in ("scores", "grid"):
        with qtbot.waitSignal(row.layout_requested) as caught:
            mouse(title, QEvent.Type.MouseButtonDblClick, (3, 3), LEFT, LEFT)
        assert caught.args == [expected]
        row.set_layout(expected)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "gesture",
    [
        lambda canvas: wheel(canvas, (60, 60), 2),
        lambda canvas: drag(canvas, (100, 100), (60, 70)),
        lambda canvas: double_click(canvas, (60, 60)),
    ],
    ids=["wheel", "drag", "double click"],
)
def test_all_four_follow_a_gesture_on_one(row, stage, gesture):
    row.range.set((2, 8), (1, 7))
    before = [picture(view.canvas) for view in row.views.values()]
    gesture(row.views[stage].canvas)
    assert row.range.rows != (2, 8)
    for view, old in zip(row.views.values(), before, strict=True):
        assert (picture(view.canvas) != old).any()
        assert centre(view, 3, 3) == centre(row.views[stage], 3, 3)


@pytest.mark.parametrize("stage", STAGES)
def test_a_hover_on_one_marks_all_four_and_is_told_once(row, stage):
    heard = []
    row.cell_hovered.connect(lambda *cell: heard.append(cell))
    before = [picture(view.canvas) for view in row.views.values()]
    move(row.views[stage].canvas, centre(row.views[stage], 4, 2))
    assert heard == [(4, 2)]
    for view, old in zip(row.views.values(), before, strict=True):
        high = view.canvas.height() / 10
        across = np.flatnonzero((picture(view.canvas) != old).any(-1)[:, -4])  # far from cell and diagonal
        assert len(across) and across.min() >= 4 * high - 3 and across.max() <= 5 * high + 3
        assert [label.text for label in view.query_axis.labels_on_show if label.index == 4] == ["w4"]


def test_rows_are_the_last_queries_and_their_diagonal_starts_there(row):
    row.set_frame(frame(3, 10), palettes("auto", "auto", "light"))
    labels = [label.text for label in row.views["content"].query_axis.labels_on_show]
    assert labels == ["w7", "w8", "w9"]
    quiet = picture(row.views["positional"].canvas)
    row.set_cell((0, 5))  # query 0 is position 7: δ = −2
    by_cell = picture(row.views["positional"].canvas)
    row.set_cell(None)
    row.set_offset(-2)
    by_offset = picture(row.views["positional"].canvas)
    lit = (by_offset != quiet).any(-1)
    assert lit.any()
    # Away from the crosshair of the hovered cell, hovering drew the very same diagonal.
    high = quiet.shape[0] // 3
    assert (
        by_cell[2 * high + 5 :][lit[2 * high + 5 :]] == by_offset[2 * high + 5 :][lit[2 * high + 5 :]]
    ).mean() > 0.9


def test_a_click_pins_and_a_second_one_releases(row):
    heard = []
    row.cell_pinned.connect(lambda *cell: heard.append(cell))
    canvas = row.views["scores"].canvas
    for cell in ((4, 2), (7, 1), (7, 1)):
        click(canvas, centre(row.views["scores"], *cell))
    assert heard == [(4, 2), (7, 1), (-1, -1)]


def test_a_double_click_leaves_the_pin_as_it_was(row):
    heard = []
    row.set_pinned((3, None))
    row.cell_pinned.connect(lambda *cell: heard.append(cell))
    double_click(row.views["scores"].canvas, centre(row.views["scores"], 6, 2))
    assert heard == [(6, 2), (3, -1)]


def test_a_pinned_row_is_marked_in_every_matrix(row):
    before = [picture(view.canvas) for view in row.views.values()]
    row.set_pinned((5, None))
    for view, old in zip(row.views.values(), before, strict=True):
        changed = np.flatnonzero((picture(view.canvas) != old).any(-1).any(1))
        high = view.canvas.height() / 10
        assert len(changed) and changed.min() >= 5 * high - 3 and changed.max() <= 6 * high + 3


def test_the_viewport_is_reported_once_for_many_movements_and_with_the_pixels_of_a_panel(row, qtbot):
    qtbot.wait(50)
    heard = []
    row.viewport_changed.connect(heard.append)
    for _ in range(10):
        wheel(row.views["weights"].canvas, (50, 50), 0.2)
    qtbot.waitUntil(lambda: bool(heard))
    qtbot.wait(50)
    assert len(heard) == 1
    assert (heard[0].rows, heard[0].cols) == (row.range.rows, row.range.cols)
    assert heard[0].shape == row.views["weights"].canvas.pixel_shape
    row.resize(1200, 396)
    qtbot.waitUntil(lambda: len(heard) == 2)
    assert heard[1].shape == row.views["content"].canvas.pixel_shape != heard[0].shape


def test_a_full_view_asks_for_all_of_a_sequence_whose_length_it_does_not_know_yet(row):
    maker, document = FrameMaker(), Document.default()
    for text in ("a b c d e f g h i j k l", "a b c"):
        asked = row.viewport
        answer = maker(FrameRequest(replace(document, source=TextSource(text)), asked), Cancel())
        row.set_frame(answer, palettes("auto", "auto", "light"))
        assert answer.tiles["weights"].codes.shape == (answer.n_key, answer.n_key)
        assert row.range.is_full and (row.viewport.rows, row.viewport.cols) == (asked.rows, asked.cols)


def test_another_length_keeps_a_full_view_full_and_a_part_where_it_exists(row):
    colours = palettes("auto", "auto", "light")
    row.set_frame(frame(14, 14), colours)
    assert row.range.is_full and row.range.counts == (14, 14)
    row.range.set((8, 14), (2, 8))
    row.set_frame(frame(12, 12), colours)
    assert (row.range.rows, row.range.cols) == ((6, 12), (2, 8))


def test_a_frame_without_a_stage_keeps_its_picture(row):
    before = picture(row.views["content"].canvas)
    part = frame(seed=5)
    part.tiles = {"weights": part.tiles["weights"]}
    other = picture(row.views["weights"].canvas)
    row.set_frame(part, palettes("auto", "auto", "light"))
    assert (picture(row.views["content"].canvas) == before).all()
    assert (picture(row.views["weights"].canvas) != other).any()


def test_focus_goes_from_card_to_card_and_is_seen(row, qtbot):
    row.setStyleSheet(stylesheet(LIGHT))
    row.activateWindow()
    cards = list(row.views.values())
    cards[0].setFocus()
    for card, after in pairwise(cards):
        quiet = picture(after)
        qtbot.keyClick(card, Qt.Key.Key_Tab)
        assert after.hasFocus()
        assert (picture(after) != quiet).any()


@pytest.mark.parametrize("n", [5, 200])
def test_positions_can_take_the_place_of_tokens(row, n):
    row.set_frame(frame(n, n), palettes("auto", "auto", "light"))
    row.set_labels_shown(False)
    row.set_cell((3, 4))
    axis = row.views["content"].key_axis
    assert all(label.text == str(label.index) for label in axis.labels_on_show)
    row.set_labels_shown(True)
    assert "w4" in next(label.text for label in axis.labels_on_show if label.index == 4)


def test_the_theme_reaches_every_part(row):
    row.set_theme(LIGHT)
    light = [picture(row.views["content"].query_axis), picture(row.views["content"].bar)]
    row.set_theme(DARK)
    dark = [picture(row.views["content"].query_axis), picture(row.views["content"].bar)]
    for one, other in zip(light, dark, strict=True):
        assert (one != other).any()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((-5, 5), (0, 10)),
        ((15, 25), (10, 20)),
        ((3, 4), (3, 7)),
        ((0, 99), (0, 20)),
        ((18.5, 19), (16, 20)),
        ((2.5, 9.5), (2.5, 9.5)),
    ],
)
def test_a_range_stays_inside_the_matrix_and_above_four_cells(rows, expected):
    range_ = MatrixRange()
    range_.set_counts(20, 20)
    range_.set(rows, (0, 20))
    assert range_.rows == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_tiny_matrix_is_shown_whole(n):
    range_ = MatrixRange()
    range_.set_counts(n, n)
    range_.zoom(0.1, 0.1, (0.5, 0.5))
    assert range_.is_full and range_.counts == (n, n)


def test_a_closed_row_leaves_nothing_behind(qapp):
    widget = EquationRow()
    widget.set_frame(frame(), palettes("auto", "auto", "light"))
    widget.show()
    widget.set_cell((2, 2))
    gone = [weakref.ref(widget), *(weakref.ref(view) for view in widget.findChildren(MatrixView))]
    widget.close()
    widget.deleteLater()
    del widget
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [ref for ref in gone if ref() is not None] == []
