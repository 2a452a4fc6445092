"""One matrix: exact colours in their places, marks that cannot be confused, the habits of mouse and keyboard."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QApplication, QLabel

from relpos_viewer.app.palettes import palette
from relpos_viewer.core.levels import Levels, choose_levels
from relpos_viewer.core.quantise import BELOW, LAST_VALUE, MASKED, NAN, NEG_INF, NO_KEY, POS_INF
from relpos_viewer.views.axis_labels import AxisLabels
from relpos_viewer.views.colour_bar import ColourBar
from relpos_viewer.views.matrix_layout import arrange
from relpos_viewer.views.matrix_range import FEWEST_CELLS, MatrixRange
from relpos_viewer.views.matrix_view import MatrixView
from relpos_viewer.views.theme import DARK, LIGHT, THEMES

from .matrix_tools import (
    RIGHT,
    coded,
    double_click,
    drag,
    move,
    picture,
    rgb,
    tile,
    wheel,
)


def make(qtbot, n_query=4, n_key=4, *, stage="weights", size=(320, 400), labels=None):
    range_ = MatrixRange()
    range_.set_counts(n_query, n_key)
    view = MatrixView(stage, range_)
    qtbot.addWidget(view)
    view.range = range_  # kept as long as the view
    view.resize(*size)
    keys = labels or tuple(f"t{j}" for j in range(n_key))
    view.set_labels(keys[n_key - n_query :], keys)
    view.show()
    return view


def at(view, i, j):
    """The middle of a cell in its canvas."""
    point = view.canvas.point_of(i, j)
    return point.x(), point.y()


def pixel(view, i, j):
    x, y = at(view, i, j)
    return tuple(int(channel) for channel in picture(view.canvas)[int(y), int(x)])


def patch(view, i, j, n=4):
    """All pixels inside a cell, [pixel, RGB]."""
    x, y = at(view, i, j)
    half = int(view.canvas.width() / n / 2) - 2
    return picture(view.canvas)[int(y) - half : int(y) + half, int(x) - half : int(x) + half].reshape(-1, 3)


# ---- the picture


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("stage", ["scores", "weights"])
def test_query_0_is_on_top_and_the_last_key_at_the_right(qtbot, stage, theme):
    values = np.zeros((4, 4))
    values[0, 3], values[2, 0] = 1, 0.5
    view = make(qtbot, stage=stage)
    view.set_theme(theme)
    lut = palette(stage, "auto", theme.name)
    levels = choose_levels(values, symmetric=stage == "scores")
    shown = tile(values, levels)
    view.set_tile(shown, lut)
    for i in range(4):
        for j in range(4):
            assert pixel(view, i, j) == tuple(lut[shown.codes[i, j], :3]), (i, j)
    zero = np.asarray(pixel(view, 1, 1), int)
    far = {
        (i, j): np.abs(np.asarray(pixel(view, i, j), int) - zero).sum() for i in range(4) for j in range(4)
    }
    assert sorted(far, key=far.get)[-2:] == [(2, 0), (0, 3)]


def test_the_colour_bar_is_a_gradient_with_numbers(qtbot):
    view = make(qtbot)
    lut = palette("weights", "auto", "light")
    view.set_tile(tile(np.eye(4), Levels(0, 1)), lut)
    line = picture(view.bar)[4]
    colours = [tuple(line[x]) for x in np.linspace(3, view.bar.width() - 4, 20).astype(int)]
    assert len(set(colours)) == 20
    assert next(tick.text for tick in view.bar.ticks_on_show) == "0"
    assert [tick.text for tick in view.bar.ticks_on_show][-1] == "1"


@pytest.mark.parametrize(
    "codes", [[[7, 7], [7, 7]], [[0, LAST_VALUE], [3, 200]], [[MASKED, NAN], [5, POS_INF]]]
)
def test_a_code_has_the_same_colour_whatever_the_other_codes_are(qtbot, codes):
    lut = palette("scores", "crameri:vik", "light")
    view = make(qtbot, 2, 2, stage="scores")
    view.set_tile(coded(codes), lut)
    for (i, j), code in np.ndenumerate(np.asarray(codes)):
        seen = {tuple(colour) for colour in patch(view, i, j, 2)}
        assert tuple(lut[code, :3]) in seen


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_underflow_masked_and_not_a_number_look_different_and_are_in_the_legend(qtbot, theme):
    values = np.asarray([[1, 1.93e-22, 0, 0], [1, 0, 0, 0], [1, 0, np.nan, 0], [1, 0, 0, 1]], np.float32)
    visible = np.tri(4, dtype=bool)
    visible[0, 1] = True
    view = make(qtbot)
    view.set_theme(THEMES[theme])
    lut = palette("weights", "auto", theme)
    levels = choose_levels(values, visible, scale="log")
    view.set_tile(tile(values, levels, visible=visible), lut)
    underflow, masked, nan = (patch(view, *cell) for cell in ((0, 1), (0, 3), (2, 2)))
    assert {tuple(colour) for colour in underflow} == {tuple(lut[BELOW, :3])}
    for hatched in (masked, nan):
        assert len({tuple(colour) for colour in hatched}) > 3
    assert np.abs(masked.mean(0) - nan.mean(0)).max() > 20
    assert view.bar.legend_texts == ("< 1e−6", "NaN", "masked")


@pytest.mark.parametrize("pair", list(combinations((NO_KEY, NEG_INF, POS_INF, NAN, MASKED), 2)))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_marks_can_be_told_apart(qtbot, theme, pair):
    view = make(qtbot, 2, 2)
    view.set_theme(THEMES[theme])
    view.set_tile(coded([[pair[0], 0], [0, pair[1]]]), palette("weights", "auto", theme))
    first, second = (patch(view, i, i, 2) for i in (0, 1))
    assert np.abs(first.astype(int) - second.astype(int)).mean() > 3


def test_one_hot_cell_of_4096_squared_is_seen_in_its_place(qtbot):
    # P03
    values = np.zeros((4096, 4096), np.float32)
    values[1234, 3210] = 1
    view = make(qtbot, 4096, 4096, labels=tuple("x" * 4096))
    lut = palette("weights", "auto", "light")
    view.set_tile(tile(values, Levels(0, 1), shape=view.canvas.pixel_shape), lut)
    hot = np.argwhere((picture(view.canvas) == lut[LAST_VALUE, :3]).all(-1))
    side = view.canvas.width()
    assert len(hot) == 1
    np.testing.assert_allclose(hot[0], [1234 * side / 4096, 3210 * side / 4096], atol=1)
    assert any("max of ~" in label.text() for label in view.findChildren(QLabel))


def test_an_old_picture_stays_at_its_cells_until_the_new_one_comes(qtbot):
    values = np.zeros((16, 16))
    values[5, 9] = 1
    lut = palette("weights", "auto", "light")
    view = make(qtbot, 16, 16)
    view.set_tile(tile(values, Levels(0, 1)), lut)
    view.range.set((4, 8), (8, 12))
    assert pixel(view, 5, 9) == tuple(lut[LAST_VALUE, :3])
    assert pixel(view, 5, 8) == pixel(view, 6, 9) == tuple(lut[0, :3])
    view.set_tile(tile(values, Levels(0, 1), rows=(4, 8), cols=(8, 12)), lut)
    assert pixel(view, 5, 9) == tuple(lut[LAST_VALUE, :3])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_marks_of_the_pointer_leave_all_other_pixels_alone(qtbot, theme):
    view = make(qtbot, 12, 12)
    view.set_theme(theme)
    view.set_tile(
        tile(np.random.default_rng(0).random((12, 12)), Levels(0, 1)), palette("weights", "auto", theme.name)
    )
    before = picture(view.canvas)
    view.set_cell((3, 7))
    changed = (picture(view.canvas) != before).any(-1)
    high = view.canvas.height() / 12
    rows = np.flatnonzero(changed[:, 2])  # far from the column: only the lines along the row
    assert len(rows) and rows.min() >= 3 * high - 3 and rows.max() <= 4 * high + 3
    x, y = at(view, 3, 7)
    assert not changed[int(y), int(x)]  # the cell's own colour stays to be seen
    view.set_cell(None)
    assert (picture(view.canvas) == before).all()


@pytest.mark.parametrize(("n_query", "offset"), [(12, -4), (12, 3), (5, -2)])
def test_the_diagonal_of_an_offset_is_drawn_in_the_accent_colour(qtbot, n_query, offset):
    view = make(qtbot, n_query, 12)
    view.set_tile(tile(np.zeros((n_query, 12)), Levels(0, 1)), palette("weights", "auto", "light"))
    before = picture(view.canvas)
    view.set_offset(offset)
    after = picture(view.canvas)
    accented = (np.abs(after.astype(int) - rgb(LIGHT.accent)).max(-1) < 60) & (after != before).any(-1)
    cells = {view.canvas.cell_at(QPointF(float(x), float(y))) for y, x in np.argwhere(accented)}
    lit = {(i, i + 12 - n_query + offset) for i in range(n_query)}
    lit = {(i, j) for i, j in lit if 0 <= j < 12}
    assert cells >= lit
    assert all(abs(j - i - (12 - n_query) - offset) <= 1 for i, j in cells)


# ---- levels on the bar


@pytest.mark.parametrize("width", [60, 100, 150, 240, 500])
@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
@pytest.mark.parametrize(
    ("levels", "ends"),
    [
        (Levels(0, 1 / 512), ("0", "0.00195")),
        (Levels(-7.83, 7.83), ("−7.83", "7.83")),
        (Levels(1e-6, 0.25, "log"), ("1e−6", "0.25")),
        (Levels(0, 1e-30), ("0", "1e−30")),
        (Levels(5, 5.0001), ("5", "5.0001")),  # P07: data within a tiny range
    ],
)
def test_numbers_on_the_bar_never_collide_and_never_lie(qtbot, levels, ends, width, orientation):
    bar = ColourBar()
    qtbot.addWidget(bar)
    bar.set_orientation(orientation)
    bar.resize(width, bar.across) if orientation == "horizontal" else bar.resize(bar.across, width)
    bar.set_scale(levels, palette("scores", "auto", "light"))
    ticks = bar.ticks_on_show
    by_place = sorted(ticks, key=lambda tick: tick.start)
    assert all(one.stop <= other.start for one, other in pairwise(by_place))
    texts = [tick.text for tick in ticks]
    assert texts[0] == ends[0]
    if width >= 100:
        assert texts[-1] == ends[1]
    assert not any(text.strip("−0.") == "" and text != "0" for text in texts)
    if levels.low < 0 and width >= 150:
        assert "0" in texts


# ---- labels


@pytest.mark.parametrize("size", [(200, 18), (232, 60), (480, 60), (700, 18)])
@pytest.mark.parametrize("n", [1, 2, 9, 27, 64, 300, 2048])
@pytest.mark.parametrize("axis", ["query", "key"])
def test_labels_never_overlap_and_stay_inside(qapp, axis, n, size):
    texts = tuple(["the", "cat", "universally", "👩‍🔬", "日本語", ","][i % 6] for i in range(n))
    font = QFont()
    font.setPixelSize(11)
    metrics = QFontMetricsF(font)
    longest = max(metrics.horizontalAdvance(text) for text in texts)
    extent = QSizeF(*size) if axis == "key" else QSizeF(size[1], size[0])
    labels = AxisLabels(axis, texts, longest, (0, n), extent, metrics).regular()
    assert labels
    for one, other in pairwise(labels):
        assert not one.box.intersects(other.box), (one, other)
    for label in labels:
        assert label.box.left() >= 0 and label.box.right() <= extent.width() + 0.01
        assert label.box.top() >= 0 and label.box.bottom() <= extent.height() + 1
        assert label.text in (str(label.index), texts[label.index]) or label.text.endswith("…")


def test_equal_tokens_are_labels_of_their_own(qtbot):
    view = make(qtbot, 3, 3, labels=("the", "the", "the"))
    for axis in (view.query_axis, view.key_axis):
        assert [(label.index, label.text) for label in axis.labels_on_show] == [
            (0, "the"),
            (1, "the"),
            (2, "the"),
        ]


def test_many_cells_are_labelled_by_round_indices_and_the_cell_under_the_pointer_by_its_token(qtbot):
    view = make(qtbot, 1000, 1000, labels=tuple(f"w{i}" for i in range(1000)))
    assert all(int(label.text) % 10 == 0 for label in view.key_axis.labels_on_show)
    view.set_cell((17, 523))
    assert "523 w523" in [label.text for label in view.key_axis.labels_on_show]


# ---- the card


@pytest.mark.parametrize("size", [(160, 180), (200, 260), (320, 396), (480, 200), (1400, 396), (300, 800)])
@pytest.mark.parametrize("wants", [(20, 20), (80, 80)])
def test_the_parts_of_a_card_fill_it_without_overlap(size, wants):
    places = arrange(size, title=16, query_axis=wants[0], key_axis=wants[1])
    parts = [places.title, places.matrix, places.query_axis, places.key_axis, places.bar]
    card = QRect(0, 0, *size)
    assert all(card.contains(part) for part in parts)
    assert not any(one.intersects(other) for one, other in combinations(parts, 2))
    assert places.matrix.width() == places.matrix.height() >= 40
    assert places.query_axis.right() + 1 == places.matrix.left()  # labels hug the matrix
    assert places.key_axis.top() == places.matrix.bottom() + 1
    assert places.matrix.height() >= 0.4 * min(size)


# ---- mouse


@pytest.mark.parametrize("cell", [(0, 0), (0, 6), (6, 0), (3, 4), (6, 6)])
@pytest.mark.parametrize("corner", [(0.02, 0.02), (0.5, 0.5), (0.98, 0.98)])
def test_hovering_names_exactly_the_cell_under_the_pointer(qtbot, cell, corner):
    view = make(qtbot, 7, 7)
    wide = view.canvas.width() / 7
    with qtbot.waitSignal(view.cell_hovered) as caught:
        move(view.canvas, ((cell[1] + corner[1]) * wide, (cell[0] + corner[0]) * wide))
    assert tuple(caught.args) == cell


def test_a_hover_speaks_once_a_cell_and_once_on_leaving(qtbot):
    view = make(qtbot, 7, 7)
    heard = []
    view.cell_hovered.connect(lambda i, j: heard.append((i, j)))
    x, y = at(view, 2, 3)
    for step in range(5):
        move(view.canvas, (x + step, y))
    move(view.canvas, at(view, 2, 4))
    QApplication.sendEvent(view.canvas, QEvent(QEvent.Type.Leave))
    assert heard == [(2, 3), (2, 4), (-1, -1)]


def test_a_drag_moves_the_matrix_with_the_hand_and_does_not_click(qtbot):
    view = make(qtbot, 40, 40)
    view.range.set((10, 20), (15, 25))
    clicks = []
    view.cell_clicked.connect(lambda *cell: clicks.append(cell))
    wide = view.canvas.width() / 10
    drag(view.canvas, (100, 100), (100 + 2 * wide, 100 - 3 * wide))
    assert view.range.rows == pytest.approx((13, 23))
    assert view.range.cols == pytest.approx((13, 23))
    assert clicks == []


def test_a_trembling_click_is_a_click(qtbot):
    view = make(qtbot, 7, 7)
    clicks = []
    view.cell_clicked.connect(lambda *cell: clicks.append(cell))
    x, y = at(view, 4, 2)
    drag(view.canvas, (x, y), (x + 2, y + 1))
    assert clicks == [(4, 2)] and view.range.is_full


def test_a_drag_of_the_right_button_scales_each_direction(qtbot):
    view = make(qtbot, 40, 40)
    middle = view.canvas.width() / 2
    drag(view.canvas, (middle, middle), (middle + 60, middle), RIGHT)
    assert view.range.rows == (0, 40)
    assert view.range.cols[1] - view.range.cols[0] == pytest.approx(40 * np.exp(-0.5))


@pytest.mark.parametrize("cell", [(0, 0), (7, 30), (39, 39), (20, 3)])
def test_the_wheel_zooms_at_the_pointer(qtbot, cell):
    view = make(qtbot, 40, 40)
    point = at(view, *cell)
    wheel(view.canvas, point, 3)
    assert view.range.rows[1] - view.range.rows[0] < 25
    assert at(view, *cell) == pytest.approx(point, abs=0.01)
    wheel(view.canvas, point, 100)
    assert view.range.rows[1] - view.range.rows[0] == pytest.approx(FEWEST_CELLS)
    wheel(view.canvas, point, -100)
    assert view.range.is_full


@pytest.mark.parametrize("axis", ["query_axis", "key_axis"])
def test_the_wheel_over_an_axis_zooms_that_axis_alone(qtbot, axis):
    view = make(qtbot, 40, 40)
    widget = getattr(view, axis)
    wheel(widget, (widget.width() / 2, widget.height() / 2), 3)
    zoomed, other = (view.range.rows, view.range.cols)[:: 1 if axis == "query_axis" else -1]
    assert zoomed[1] - zoomed[0] < 25 and other == (0, 40)


def test_a_double_click_shows_all(qtbot):
    view = make(qtbot, 40, 40)
    view.range.set((10, 20), (10, 20))
    double_click(view.canvas, (50, 50))
    assert view.range.is_full


# ---- keyboard


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Qt.Key.Key_Up, (4, 5)),
        (Qt.Key.Key_Down, (6, 5)),
        (Qt.Key.Key_Left, (5, 4)),
        (Qt.Key.Key_Right, (5, 6)),
    ],
)
def test_arrows_move_the_cell(qtbot, key, expected):
    view = make(qtbot, 12, 12)
    view.set_cell((5, 5))
    with qtbot.waitSignal(view.cell_hovered) as caught:
        qtbot.keyClick(view, key)
    assert tuple(caught.args) == expected


def test_arrows_stop_at_the_edge_and_take_the_view_along(qtbot):
    view = make(qtbot, 12, 12)
    view.range.set((0, 4), (0, 4))
    view.set_cell((3, 0))
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.range.rows == (1, 5)
    with qtbot.waitSignal(view.cell_hovered) as caught:
        qtbot.keyClick(view, Qt.Key.Key_Left)
    assert tuple(caught.args) == (4, 0)


def test_plus_and_minus_zoom_and_home_shows_all(qtbot):
    view = make(qtbot, 40, 40)
    view.set_cell((8, 8))
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    assert view.range.rows[1] - view.range.rows[0] == pytest.approx(28)
    assert view.range.rows[0] < 8 < view.range.rows[1]
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    assert view.range.rows[1] - view.range.rows[0] == pytest.approx(28)
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert view.range.is_full


def test_enter_pins_the_cell_and_escape_lets_go_of_it(qtbot):
    view = make(qtbot, 12, 12)
    view.set_cell((5, 6))
    with qtbot.waitSignal(view.cell_clicked) as caught:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert tuple(caught.args) == (5, 6)
    with qtbot.waitSignal(view.cell_hovered) as caught:
        qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert tuple(caught.args) == (-1, -1)


def test_every_part_has_a_name_for_screen_readers(qtbot):
    view = make(qtbot, stage="positional")
    assert view.objectName() == "matrix_positional"
    for part in (view, view.canvas, view.query_axis, view.key_axis, view.bar):
        assert "position" in part.accessibleName()


class Paints(QObject):
    """Counts how often a widget was painted."""

    count = 0

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_the_same_tile_again_is_not_painted_again_but_other_colours_are(qtbot):
    view = make(qtbot, 12, 12)
    shown = coded(np.arange(144).reshape(12, 12))
    dark = np.zeros((256, 4), np.uint8)
    dark[:, 3] = 255
    view.set_tile(shown, dark + np.uint8(0))
    light = np.full((256, 4), 255, np.uint8)
    view.set_tile(shown, light)
    middle = picture(view.canvas)[40, 40]
    assert tuple(middle) == (255, 255, 255)
    qtbot.wait(50)
    paints = Paints()
    view.canvas.installEventFilter(paints)
    view.set_tile(shown, light)
    qtbot.wait(50)
    assert paints.count == 0
    view.set_tile(shown, dark)
    qtbot.waitUntil(lambda: paints.count == 1)


def test_a_tile_with_a_pixel_for_each_of_the_screen_s_is_copied_byte_by_byte(qtbot):
    view = make(qtbot, 12, 12)
    high, wide = view.canvas.pixel_shape
    codes = np.random.default_rng(0).integers(0, 240, (high, wide)).astype(np.uint8)
    table = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
    table[:, 3] = 255
    view.canvas.set_tile(codes, table, (0, 12), (0, 12))
    np.testing.assert_array_equal(picture(view.canvas)[:, :, 1], codes)
