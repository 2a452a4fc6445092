"""The picture of the curve: everything it says is there, in its colour, at its pixel, and nothing is cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter

from relpos_viewer.views.curve_editor import CurveEditor
from relpos_viewer.views.curve_item import QueryLine, spread_note
from relpos_viewer.views.theme import DARK, LIGHT

from .curve_mouse import click, curve_set, hover

N = 9
CARD = LIGHT.card


@pytest.fixture
def editor(qtbot):
    made = CurveEditor()
    qtbot.addWidget(made)
    made.resize(900, 330)
    made.show()
    made.radius = 1
    return made


def shot(editor, ratio=1.0):
    """The plot's pixels, uint8 [row, column, RGB], in pixels of the plot widget times `ratio`."""
    plot = editor.plot
    image = QImage(round(plot.width() * ratio), round(plot.height() * ratio), QImage.Format.Format_RGB888)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor("magenta"))
    painter = QPainter(image)
    painter.translate(plot.plot_rect().topLeft())
    plot.item.paint(painter)
    painter.end()
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def rgb(colour):
    return np.array(QColor(colour).getRgb()[:3])


def far(pixels, colour):
    """How far pixels are from a colour, the largest channel difference."""
    return np.abs(pixels.astype(int) - rgb(colour)).max(axis=-1)


def thickness(column, y, theme):
    """Pixels of accent ink around row `y` of a pixel column; half-covered ones count half."""
    near = column[y - 7 : y + 8]
    return (1 - far(near, theme.accent) / far(rgb(theme.card), theme.accent)).clip(0).sum()


def at(editor, offset, value):
    return round(editor.plot.offset_to_x(offset)), round(editor.plot.value_to_y(value))


def family(**values):
    made = np.zeros((2, 2 * N - 1), np.float32)
    for head, value in values.items():
        made[int(head[1:])] = value
    return made


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_edited_head_is_bold_in_the_accent_colour_and_the_others_faint(editor, theme):
    editor.set_theme(theme)
    editor.set_frame_curves(curve_set(family=family(h0=1.0, h1=-1.0), causal=False), False)
    pixels = shot(editor)
    x = round(editor.plot.offset_to_x(-3.5))
    y = at(editor, 0, 1.0)[1]
    assert far(pixels[:, x], theme.accent).argmin() in (y - 1, y)
    assert 1.8 < thickness(pixels[:, x], y, theme) < 2.7
    other = pixels[at(editor, 0, -1.0)[1] - 1 : at(editor, 0, -1.0)[1] + 1, x]
    assert far(other, theme.card).max() > 10
    assert far(other, theme.accent).min() > 60


def test_with_all_heads_the_others_take_the_accent_colour(editor):
    editor.set_frame_curves(curve_set(family=family(h0=1.0, h1=-1.0), causal=False), False)
    x, y = round(editor.plot.offset_to_x(-3.5)), at(editor, 0, -1.0)[1]
    before = far(shot(editor)[y - 1 : y + 1, x], LIGHT.accent).min()
    editor.all_heads = True
    assert far(shot(editor)[y - 1 : y + 1, x], LIGHT.accent).min() < before - 30


def test_points_are_hollow_as_given_and_filled_where_edited(editor):
    editor.set_frame_curves(curve_set(n=N, causal=False), False)
    edit = np.zeros((2, 2 * N - 1), np.float32)
    edit[0, -3 + 8] = 1.0
    editor.set_edit(edit)
    pixels = shot(editor)
    x, y = at(editor, -3, 1.0)
    assert far(pixels[y, x], LIGHT.accent) < 30
    x, y = at(editor, -6, 0.0)
    assert far(pixels[y, x], CARD) < 30


@pytest.mark.parametrize("n", [1, 2])
def test_a_curve_of_few_offsets_shows_each_as_a_point(editor, n):
    editor.set_frame_curves(curve_set(n=n, heads=1, causal=False), False)
    x, y = at(editor, 0, 0.0)
    pixels = far(shot(editor), LIGHT.accent)
    assert far(shot(editor)[y, x], CARD) < 30  # hollow
    assert (pixels[y - 5 : y + 6, x - 5 : x + 6] < 100).sum() >= 8


def test_the_family_stays_behind_an_edit_as_a_dashed_ghost(editor):
    editor.set_frame_curves(curve_set(n=N, causal=False), False)
    edit = np.zeros((2, 2 * N - 1), np.float32)
    edit[0, 2:7] = 1.5
    editor.set_edit(edit)
    pixels = shot(editor)
    y = at(editor, 0, 0.0)[1]
    left, right = round(editor.plot.offset_to_x(-5.5)), round(editor.plot.offset_to_x(-3.5))
    dark = far(pixels[y - 1 : y + 2, left:right], LIGHT.muted).min(axis=0) < 60
    assert 0.3 < dark.mean() < 0.8
    assert np.abs(np.diff(dark.astype(int))).sum() > 8


def test_a_masked_future_is_shaded_and_says_so(editor):
    editor.set_frame_curves(curve_set(n=N), True)
    pixels = shot(editor)
    right = pixels[60:-90, round(editor.plot.offset_to_x(0.6)) : round(editor.plot.offset_to_x(1.4))]
    assert far(right, CARD).min() > 10
    rect = editor.plot.plot_rect()
    strip = pixels[
        round(rect.top()) : round(rect.bottom()),
        round(editor.plot.offset_to_x(0.6)) : round(rect.right()) - 1,
    ]
    assert (far(strip, LIGHT.muted) < 60).sum() > 40  # ink of the words
    editor.set_frame_curves(curve_set(n=N, causal=False), True)
    past = shot(editor)[60:-90, round(editor.plot.offset_to_x(0.6)) : round(editor.plot.offset_to_x(0.9))]
    assert far(past, CARD).min() == 0


@pytest.mark.parametrize("width", [420, 600, 900, 1400])
def test_the_words_on_a_masked_strip_are_never_cut(editor, width):
    editor.resize(width, 330)
    editor.set_frame_curves(curve_set(n=35), True)
    pixels = shot(editor)
    rect = editor.plot.plot_rect()
    top, bottom = round(rect.top()), round(rect.bottom())
    left, right = round(editor.plot.offset_to_x(0.5)) + 1, round(rect.right()) - 1
    ink = far(pixels[top:bottom, left:right], LIGHT.muted) < 60
    assert ink.any()
    assert not ink[:, 0].any()
    assert not ink[:, -1].any()


def test_e05_what_lies_beyond_the_drawn_range_is_hatched_and_names_its_rule(editor):
    beyond = np.arange(-8, 9) < -4
    curves = curve_set(n=N, causal=False, beyond=beyond)
    editor.set_frame_curves(curves, False)
    left, edge = round(editor.plot.offset_to_x(-8)), round(editor.plot.offset_to_x(-4.5))
    plain = shot(editor)
    hatched = far(plain[100:200, left:edge], CARD) > 10
    assert 0.05 < hatched.mean() < 0.6
    inside = plain[100:120, edge + 4 : edge + 20]
    assert far(inside, CARD).max() < 25
    editor.set_frame_curves(curves, False, "hold")
    changed = (shot(editor) != plain).any(axis=-1)
    assert changed[:, left:edge].any()
    assert not changed[:, edge + 2 :].any()


def test_buckets_of_several_offsets_are_striped(editor):
    editor.set_frame_curves(curve_set(n=N, causal=False, buckets=(np.arange(17) + 1) // 4), False)
    pixels = shot(editor)
    y = round(editor.plot.plot_rect().top()) + 6
    tints = [tuple(pixels[y, round(editor.plot.offset_to_x(offset)) + 5]) for offset in (-7, -4, 0.5, 4, 7)]
    assert tints[0] == tints[2] == tints[4] != tints[1] == tints[3] == tuple(rgb(CARD))


def test_the_spread_of_a_content_dependent_family_is_a_band_that_follows_the_edit(editor):
    level = np.zeros(17, np.float32)
    curves = curve_set(n=N, causal=False, exact=False, low=level - 0.5, high=level + 0.5)
    editor.set_frame_curves(curves, False)
    x = round(editor.plot.offset_to_x(-3.5))
    y = round(editor.plot.value_to_y(0.3))
    assert far(shot(editor)[y, x], CARD) > 8
    edit = np.zeros((2, 17), np.float32)
    edit[0] = -1.2
    editor.set_edit(edit)
    assert far(shot(editor)[y, x], CARD) == 0
    assert far(shot(editor)[round(editor.plot.value_to_y(-1.0)), x], CARD) > 8


def test_the_reach_is_shaded_before_the_click_the_more_the_nearer(editor):
    editor.set_frame_curves(curve_set(n=N, causal=False), False)
    editor.radius = 2
    editor.shape = "linear"
    bare = shot(editor)
    hover(editor.plot, (editor.plot.offset_to_x(-4), 100))
    pixels = shot(editor)
    y = round(editor.plot.plot_rect().bottom()) - 20
    tint = [
        int(np.abs(pixels[y, x + 6].astype(int) - bare[y, x + 6]).max())
        for x in (round(editor.plot.offset_to_x(offset)) for offset in range(-8, 1))
    ]
    assert tint[0] == tint[1] == tint[7] == tint[8] == 0
    assert 0 < tint[2] < tint[3] < tint[4] > tint[5] > tint[6] > 0


def test_a_selection_is_marked_along_the_axis(editor):
    editor.set_frame_curves(curve_set(n=N, causal=False), False)
    click(editor.plot, (editor.plot.offset_to_x(-4), 100))
    pixels = shot(editor)
    y = round(editor.plot.plot_rect().bottom()) - 2
    assert far(pixels[y, round(editor.plot.offset_to_x(-4))], LIGHT.accent) < 20
    assert far(pixels[y, round(editor.plot.offset_to_x(-2))], LIGHT.accent) > 100


@pytest.mark.parametrize("offset", [-8, -3, 0, 8])
@pytest.mark.parametrize("value", [-30.0, -1.9, 0.0, 1.9, 30.0])
@pytest.mark.parametrize("width", [420, 900])
def test_a_label_is_whole_inside_the_plot_and_off_its_point(editor, offset, value, width):
    editor.resize(width, 300)
    made = family()
    made[0, offset + 8] = value
    editor.set_frame_curves(curve_set(family=made, causal=False), False)
    editor.plot.set_values(-2, 2)
    shot(editor)
    item = editor.plot.item
    plot = item.boundingRect()
    m = editor.plot.map()
    y = min(max(float(m.y(value)) - m.top, 0.0), m.height)
    point = QPointF(float(m.x(offset)) - m.left, y)
    rect = item.label_rect(point, 250, 24)
    assert plot.contains(rect)
    assert not rect.contains(point)


def test_a_label_goes_where_it_hides_least_of_the_curve(editor):
    made = family()
    made[0] = np.abs(np.arange(-8, 9)) * 0.2 - 1  # a valley: over its lowest point lies the curve
    editor.set_frame_curves(curve_set(family=made, causal=False), False)
    shot(editor)
    m = editor.plot.map()
    point = QPointF(float(m.x(0)) - m.left, float(m.y(-1.0)) - m.top)
    assert editor.plot.item.label_rect(point, 500, 40).top() > point.y()


def test_a_moved_view_or_theme_or_head_is_painted_anew(editor):
    editor.set_frame_curves(curve_set(family=family(h0=1.0, h1=-1.0)), True)
    pictures = [shot(editor)]
    for change in (
        lambda: editor.plot.set_values(-9, 9),
        lambda: editor.plot.set_offsets(-5, 5),
        lambda: editor.set_theme(DARK),
        lambda: editor.set_frame_curves(curve_set(family=family(h0=1.0, h1=-1.0), head=1), True),
        lambda: editor.set_edit(np.full((2, 17), 0.5, np.float32)),
        lambda: setattr(editor, "axis", "symlog"),
    ):
        change()
        pictures.append(shot(editor))
    for before, after in itertools.pairwise(pictures):
        assert (before != after).any()


def test_on_a_screen_of_ratio_two_the_curve_is_as_thick_and_twice_as_fine(editor):
    for n in (N, 400):
        editor.set_frame_curves(curve_set(n=n, causal=False), False)
        editor.plot.set_values(-1, 2)
        x, y = editor.plot.offset_to_x(0) + 12.25, editor.plot.value_to_y(0)
        column = shot(editor, 2.0)[:, round(2 * x)]
        assert 3.8 < thickness(column, round(2 * y), LIGHT) < 5.2
        assert np.flatnonzero(far(column, LIGHT.accent) < 60).mean() + 0.5 == pytest.approx(2 * y, abs=1)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_pinned_query_has_a_thin_line_of_its_own_where_it_sees_keys_and_moves_with_the_edit(
    editor, theme
):
    editor.set_theme(theme)
    edit = np.zeros((2, 2 * N - 1), np.float32)
    edit[0, 2:5] = 0.5
    own = np.full(2 * N - 1, np.nan, np.float32)
    own[2 : N - 1] = 1.25  # query 6 sees δ = −6 … −2 here, and nothing else
    editor.set_frame_curves(
        curve_set(
            family(h0=0.0), low=family()[0] - 2, high=family()[0] + 2, edit=edit, exact=False, causal=False
        ),
        False,
    )
    without = shot(editor)
    editor.set_query(QueryLine(6, own))
    changed = far(without, theme.text) - far(shot(editor), theme.text) > 50  # nearer to the text's colour
    for offset, value, drawn in ((-6, 1.75, True), (-4, 1.75, True), (-2, 1.25, True), (1, 1.25, False)):
        x, y = at(editor, offset, value)
        assert changed[y - 2 : y + 3, x - 1 : x + 2].any() == drawn, offset
    editor.set_query(None)
    assert np.array_equal(shot(editor), without)


def test_a_query_has_no_line_of_its_own_where_all_queries_have_the_same_curve_or_another_length(editor):
    editor.set_frame_curves(curve_set(n=N), True)
    without = shot(editor)
    editor.set_query(QueryLine(6, np.full(2 * N - 1, 0.5, np.float32)))
    assert np.array_equal(shot(editor), without)
    editor.set_query(None)
    editor.set_frame_curves(curve_set(n=N, exact=False), True)
    without = shot(editor)
    editor.set_query(QueryLine(6, np.full(2 * N + 1, 0.5, np.float32)))
    assert np.array_equal(shot(editor), without)


def test_the_note_says_how_many_queries_were_asked():
    assert spread_note(curve_set(exact=False)) == "mean, 10–90 % spread; your edit acts as an added bias"
    sampled = curve_set(exact=False, sampled=64)
    assert spread_note(sampled) == "mean, 10–90 % spread of 64 queries; your edit acts as an added bias"


def test_another_curve_laid_over_is_drawn_dashed_with_its_name_and_taken_away_again(editor):
    editor.set_frame_curves(curve_set(family(h0=1.0), head=0), True)
    before = shot(editor)
    editor.set_overlay(np.full(2 * N - 1, -1.0), "ALiBi")
    over = shot(editor)
    changed = np.abs(over.astype(int) - before).max(axis=-1) > 40  # [row, column]
    left, y = at(editor, 1 - N, -1.0)
    line = changed[y - 1 : y + 2, left + 4 : at(editor, N - 1, 0)[0] - 4].any(axis=0)  # [column]
    assert 0.3 < line.mean() < 0.8  # dashes and gaps
    corner = editor.plot.plot_rect()
    top, side = round(corner.top()), round(corner.left())
    assert changed[top + 4 : top + 26, side + 40 : side + 80].any()  # its name
    editor.set_overlay(np.full(3, -1.0), "of another length")
    assert np.array_equal(shot(editor), before)
    editor.set_overlay(None)
    assert np.array_equal(shot(editor), before)


def test_the_note_and_the_name_of_the_query_can_be_read_over_any_curve_and_the_line_is_in_view(editor):
    own = np.full(2 * N - 1, np.nan, np.float32)
    own[:N] = 7.5
    black = family()[0] + 40
    shown = curve_set(family=family(h0=0.0), low=-black, high=black, exact=False)
    editor.set_frame_curves(shown, True)
    editor.set_frame_curves(curve_set(family=family(h0=0.0), exact=False), True)
    editor.set_query(QueryLine(8, own))
    assert editor.plot.values[0] < 7.5 < editor.plot.values[1]
    editor.set_frame_curves(shown, True)
    editor.plot.set_values(-5.0, 10.0)  # so that the band lies behind the words
    rect = editor.plot.plot_rect()
    note = shot(editor)[int(rect.top()) + 5 : int(rect.top()) + 20, int(rect.left()) + 6 :]
    columns = np.flatnonzero((far(note, LIGHT.muted) < 60).any(0))
    assert len(columns) > 100 and (far(note, LIGHT.text) < 40).any(), (
        "words in grey, the query's name in black"
    )
    assert (far(note[:, columns[0] : columns[-1]], CARD) < 12).mean() > 0.4, "on a ground of their own"
