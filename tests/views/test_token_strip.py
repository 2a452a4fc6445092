"""The token strip: where chips lie, how they are coloured, and what a hand does to them."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QFontMetrics, QRegion
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from relpos_viewer.core.levels import Levels
from relpos_viewer.core.quantise import LAST_VALUE
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.text import tokenize
from relpos_viewer.views.contrast import READABLE, contrast
from relpos_viewer.views.theme import DARK, LIGHT
from relpos_viewer.views.token_strip import PAD, WIDEST, TokenStrip

from .matrix_tools import picture

WORDS = (
    "It",
    "is",
    "a",
    "truth",
    "universally",
    "acknowledged",
    ",",
    "that",
    "a",
    "man",
    "in",
    "want",
    "of",
    "a",
    "wife",
)


def ramp() -> np.ndarray:
    """A colour table black to white over the values; blue marks above them."""
    lut = np.zeros((256, 4), np.uint8)
    lut[:, 3] = 255
    lut[: LAST_VALUE + 1, :3] = np.linspace(0, 255, LAST_VALUE + 1).astype(np.uint8)[:, None]
    lut[LAST_VALUE + 1 :, 2] = 200
    return lut


@pytest.fixture
def strip(qtbot) -> TokenStrip:
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.resize(420, 60)
    strip.set_tokens(WORDS)
    strip.show()
    qtbot.waitExposed(strip)
    return strip


@pytest.fixture
def long_strip(qtbot) -> TokenStrip:
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.resize(600, 60)
    strip.set_tokens(tuple(f"tok{index}" for index in range(2048)))
    strip.show()
    return strip


def middle(strip: TokenStrip, token: int) -> QPoint:
    return strip.chip_rect(token).center()


def test_every_chip_is_found_under_its_own_middle_and_none_overlap(strip):
    for token in range(len(WORDS)):
        assert strip.token_at(middle(strip, token)) == token
    rects = [strip.chip_rect(token) for token in range(len(WORDS))]
    assert not any(a.intersects(b) for k, a in enumerate(rects) for b in rects[k + 1 :])
    assert all(rect.left() >= 0 and rect.right() <= strip.width() for rect in rects)


def test_beside_the_chips_there_is_no_token(strip):
    assert strip.token_at(QPoint(-1, 5)) == -1
    assert strip.token_at(QPoint(strip.width() - 1, strip.height() - 1)) == -1
    assert strip.token_at(QPoint(5, 5000)) == -1


@pytest.mark.parametrize(
    ("weight", "visible", "expected"),
    [(0.0, True, (0, 0, 0)), (1.0, True, (255, 255, 255)), (0.5, True, (127, 127, 127))],
)
def test_a_chip_has_the_colour_its_weight_has_in_the_matrix(strip, weight, visible, expected):
    strip.set_palette(ramp(), Levels(0.0, 1.0))
    weights = np.zeros(len(WORDS))
    weights[4] = weight
    strip.set_row(6, weights, np.full(len(WORDS), visible))
    ground, _ = strip.chip_colours(4)
    assert (ground.red(), ground.green(), ground.blue()) == pytest.approx(expected, abs=1)


def test_a_masked_key_is_muted_and_not_like_a_weight_of_zero(strip):
    strip.set_palette(ramp(), Levels(0.0, 1.0))
    visible = np.arange(len(WORDS)) <= 6
    strip.set_row(6, np.where(visible, 1 / 7, 0.0), visible)
    assert strip.chip_colours(9)[0].name() == LIGHT.mask
    strip.set_row(6, np.zeros(len(WORDS)), np.ones(len(WORDS), bool))
    assert strip.chip_colours(9)[0].name() == "#000000"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("shade", range(0, LAST_VALUE + 1, 6))
def test_the_ink_of_a_chip_can_be_read_on_every_colour(strip, theme, shade):
    strip.set_theme(theme)
    lut = ramp()
    lut[:, 0] = lut[::-1, 0]  # every mixture of red and grey as well
    strip.set_palette(lut, Levels(0.0, 1.0))
    weights = np.full(len(WORDS), shade / LAST_VALUE)
    strip.set_row(6, weights, np.arange(len(WORDS)) <= 6)
    for token in (0, 9):  # visible, masked
        ground, ink = strip.chip_colours(token)
        assert contrast(ground, ink) >= READABLE


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ([Qt.Key.Key_Right], 7),
        ([Qt.Key.Key_Left], 5),
        ([Qt.Key.Key_Home], 0),
        ([Qt.Key.Key_Home, Qt.Key.Key_Left], 0),
        ([Qt.Key.Key_End], len(WORDS) - 1),
        ([Qt.Key.Key_End, Qt.Key.Key_Right], len(WORDS) - 1),
        ([Qt.Key.Key_PageUp], 0),
    ],
)
def test_keys_move_along_the_tokens_from_the_query(strip, qtbot, keys, where):
    strip.set_row(6)
    heard = []
    strip.token_hovered.connect(heard.append)
    for key in keys:
        qtbot.keyClick(strip, key)
    assert heard[-1] == where


def test_up_and_down_go_to_the_line_above_and_below(strip, qtbot):
    first_below = next(k for k in range(len(WORDS)) if strip.chip_rect(k).top() > strip.chip_rect(0).top())
    heard = []
    strip.token_hovered.connect(heard.append)
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    qtbot.keyClick(strip, Qt.Key.Key_Down)
    assert heard[-1] == first_below
    qtbot.keyClick(strip, Qt.Key.Key_Up)
    assert heard[-1] == 0
    qtbot.keyClick(strip, Qt.Key.Key_Up)
    assert heard[-1] == 0


def test_enter_and_click_select_a_query(strip, qtbot):
    clicked = []
    strip.token_clicked.connect(clicked.append)
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    qtbot.keyClick(strip, Qt.Key.Key_Return)
    qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=middle(strip, 5))
    assert clicked == [1, 5]


def test_hovering_is_reported_once_a_token_and_leaving_too(strip, qtbot):
    heard = []
    strip.token_hovered.connect(heard.append)
    qtbot.mouseMove(strip.viewport(), middle(strip, 4))
    qtbot.mouseMove(strip.viewport(), middle(strip, 4) + QPoint(2, 1))
    qtbot.mouseMove(strip.viewport(), middle(strip, 5))
    qtbot.keyClick(strip, Qt.Key.Key_Escape)
    assert heard == [4, 5, -1]


def test_a_screen_reader_hears_token_and_weight(strip):
    weights = np.zeros(len(WORDS))
    weights[4] = 1 / 512
    strip.set_row(6, weights, np.arange(len(WORDS)) <= 6)
    strip.set_current(4)
    assert "“universally”" in strip.accessibleDescription()
    assert "weight 0.00195" in strip.accessibleDescription()
    strip.set_current(9)
    assert "masked" in strip.accessibleDescription()
    assert "weight" not in strip.accessibleDescription()


def test_a_row_of_another_length_than_the_tokens_is_not_drawn(strip):
    strip.set_palette(ramp(), None)
    strip.set_row(2, np.ones(3), np.ones(3, bool))
    assert strip.chip_colours(0)[0].name() == LIGHT.card


def test_other_tokens_of_another_number_forget_the_row(strip):
    strip.set_row(6, np.ones(len(WORDS)), np.ones(len(WORDS), bool))
    strip.set_current(9)
    strip.set_tokens(("a", "b"))
    assert strip.accessibleDescription() == ""
    strip.grab()  # painting reads no index beyond the new end
    strip.set_row(1, np.array([0.25, 0.75]), np.ones(2, bool))
    assert "weight 0.75" in strip.describe(1)


def test_two_thousand_tokens_keep_two_lines_and_scroll_to_the_query(long_strip):
    height = long_strip.height()
    assert height < 80
    long_strip.set_row(1500, np.full(2048, 1 / 2048), np.ones(2048, bool))
    assert 0 <= long_strip.chip_rect(1500).top() < height
    assert long_strip.token_at(middle(long_strip, 1500)) == 1500
    long_strip.set_row(0, np.full(2048, 1 / 2048), np.ones(2048, bool))
    assert 0 <= long_strip.chip_rect(0).top() < height


def test_chips_leave_room_for_the_scroll_bar(long_strip):
    assert long_strip.verticalScrollBar().isVisible()
    assert max(long_strip.chip_rect(token).right() for token in range(2048)) < long_strip.viewport().width()


def test_the_selected_token_stays_in_sight_when_the_lines_are_broken_anew(long_strip):
    long_strip.set_row(2047)
    for width in (300, 900):
        long_strip.resize(width, long_strip.height())
        assert long_strip.viewport().rect().contains(long_strip.chip_rect(2047))


def test_a_label_of_any_width_is_cut_as_qt_cuts_it(qtbot):
    strip = TokenStrip()
    qtbot.addWidget(strip)
    words = tuple("i" * count for count in range(1, 120)) + tuple("W" * count for count in range(1, 40))
    strip.set_tokens(words)
    metrics = QFontMetrics(strip.font())
    cut = [metrics.elidedText(word, Qt.TextElideMode.ElideRight, WIDEST) for word in words]
    assert any(shown != word for shown, word in zip(cut, words, strict=True))
    assert strip._shown == cut
    assert strip._widths == [
        max(metrics.height(), metrics.horizontalAdvance(shown) + 2 * PAD) for shown in cut
    ]


def test_painting_many_tokens_touches_only_those_that_can_be_seen(long_strip, monkeypatch):
    asked = []
    colours = TokenStrip.chip_colours
    monkeypatch.setattr(
        TokenStrip, "chip_colours", lambda self, token: (asked.append(token), colours(self, token))[1]
    )
    long_strip.set_row(1500)
    long_strip.viewport().grab()
    assert 1500 in asked
    assert len(set(asked)) < 60


HARD = {
    "joined emoji": "👨‍👩‍👧",
    "right to left": "שלום",
    "combining": "e\N{COMBINING ACUTE ACCENT}",
    "cjk": "世界",
    "blank": " ",
    "line end": "\n",
    "very long": "x" * 500,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_a_hard_token_is_one_chip_that_leaves_its_neighbours_in_place(qtbot, text):
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.resize(700, 60)
    strip.set_tokens(Tokens(("a", text, "b")).labels)
    a, hard, b = (strip.chip_rect(token) for token in range(3))
    assert a.right() < hard.left() < hard.right() < b.left()
    assert 14 <= hard.width() < 220
    strip.grab()


def test_bytes_of_one_character_say_which_part_they_are(qtbot):
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.set_tokens(tokenize("i ⭢", "bytes").labels)
    assert "“⭢ 2/3”" in strip.describe(3)


def test_a_narrow_strip_wraps_to_more_lines_but_never_past_its_limit(strip):
    one = TokenStrip.height(strip)
    strip.resize(2000, strip.height())
    assert strip.height() < one
    strip.resize(180, strip.height())
    assert strip.height() == one


def test_every_line_can_be_seen_after_a_window_became_narrower(strip, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(strip)
    window.resize(2000, 200)
    window.show()
    QApplication.processEvents()
    one = strip.height()
    window.resize(500, 200)
    QApplication.processEvents()
    assert strip.viewport().height() == strip.height() > one
    strip.setParent(None)


def test_under_a_moving_hand_only_chips_of_another_shade_are_painted(strip: TokenStrip, qtbot) -> None:
    painted: list[QRegion] = []

    class Watch(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
            if event.type() == QEvent.Type.Paint:
                painted.append(event.region())
            return False

    watch = Watch()
    weights = np.linspace(0, 1, len(WORDS), dtype=np.float32)
    strip.set_palette(ramp(), Levels(0.0, 1.0))
    strip.set_row(14, weights)
    QApplication.processEvents()
    strip.viewport().installEventFilter(watch)
    moved = weights.copy()
    moved[4] = 0.9
    strip.set_row(14, moved)
    QApplication.processEvents()
    strip.viewport().removeEventFilter(watch)
    assert len(painted) == 1
    assert painted[0].boundingRect() == strip.chip_rect(4)
    # What was left alone looks as if all had been painted.
    left = picture(strip)
    strip.viewport().update()
    QApplication.processEvents()
    np.testing.assert_array_equal(picture(strip), left)
