"""The inspector: exact numbers in words, and bars that lose no key."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage

from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.field import CellValues, LineValues, PlainField
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.views.inspector import Inspector
from relpos_viewer.views.row_bars import RowBars
from relpos_viewer.views.theme import DARK, LIGHT

LABELS = tuple(f"w{index}" for index in range(8))


def cell(**changed: object) -> CellValues:
    """Query 5, key 2 with small numbers, and what a case changes."""
    plain = CellValues(
        query=5,
        key=2,
        offset=-3,
        content=1.2,
        positional=-1.5,
        edit=0.0,
        score=-0.3,
        weight=0.0412,
        before_weight=0.0412,
        log_weight=float(np.log(0.0412)),
        visible=True,
        row_sees_a_key=True,
    )
    return replace(plain, **changed)


def row(n: int = 8, **changed: np.ndarray) -> LineValues:
    """A row of zeros with equal weights, all visible, and what a case changes."""
    zeros = np.zeros(n, np.float32)
    plain = LineValues(
        queries=np.full(n, 5),
        keys=np.arange(n),
        content=zeros,
        positional=zeros,
        edit=zeros,
        score=zeros,
        weight=np.full(n, 1 / n, np.float32),
        before_weight=np.full(n, 1 / n, np.float32),
        visible=np.ones(n, bool),
    )
    return replace(plain, **changed)


@pytest.fixture
def inspector(qtbot) -> Inspector:
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.set_terms("q·k / √d", "T5 log buckets")
    inspector.resize(330, 420)
    inspector.show()
    return inspector


def lines(inspector: Inspector) -> dict[str, str]:
    return dict(line.split("\t") for line in inspector.as_text().splitlines()[1:])


def test_without_a_cell_a_hint_says_what_to_do(inspector):
    assert inspector.as_text() == ""
    assert "Point at a cell" in inspector.accessibleDescription()


def test_the_heading_names_query_key_and_offset(inspector):
    inspector.set_cell(cell(), LABELS)
    assert inspector.as_text().splitlines()[0] == "query 5 “w5” → key 2 “w2”  δ = −3"


def test_fewer_queries_than_keys_are_named_by_their_place_in_the_sequence(inspector):
    inspector.set_cell(cell(query=0, key=7, offset=0), LABELS)
    assert inspector.heading() == "query 7 “w7” → key 7 “w7”  δ = 0"


CASES = [
    ("plain", {}, {"content: q·k / √d": "+1.2", "score": "−0.3", "weight": "0.0412"}),
    ("small weight", {"weight": 1 / 512}, {"weight": "0.00195"}),
    ("underflow", {"weight": 0.0, "log_weight": -200.0}, {"weight": "0", "log₁₀ weight": "−86.86"}),
    ("masked", {"weight": 0.0, "visible": False}, {"weight": "masked", "log₁₀ weight": "–"}),
    ("no key", {"weight": 0.0, "visible": False, "row_sees_a_key": False}, {"weight": "no visible key"}),
    (
        "nan",
        {"content": np.nan, "weight": np.nan},
        {"content: q·k / √d": "NaN", "weight": "NaN: not a number"},
    ),
    ("infinite", {"content": -np.inf, "score": -np.inf}, {"content: q·k / √d": "−∞", "score": "−∞"}),
    (
        "edited",
        {"edit": 7.5, "weight": 0.796, "before_weight": 0.014},
        {"position: your edit": "+7.5", "weight": "0.796  was 0.014"},
    ),
]


@pytest.mark.parametrize(
    ("changed", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_numbers_are_said_in_words(inspector, changed, expected):
    inspector.set_cell(cell(**changed), LABELS)
    shown = lines(inspector)
    assert {name: shown[name] for name in expected} == expected


def test_no_edit_no_line_about_it_and_no_before(inspector):
    inspector.set_cell(cell(), LABELS)
    assert "position: your edit" not in lines(inspector)
    assert "was" not in lines(inspector)["weight"]


def test_a_row_that_is_edited_anywhere_keeps_the_line_so_that_nothing_jumps(inspector):
    edit = np.zeros(8, np.float32)
    edit[6] = 2.0
    inspector.set_cell(cell(), LABELS, row(edit=edit))
    assert lines(inspector)["position: your edit"] == "0"


def test_the_first_edit_asks_for_no_more_room(inspector):
    inspector.set_cell(cell(), LABELS, row())
    before = inspector.minimumSizeHint()
    inspector.set_cell(cell(edit=2.0), LABELS, row())
    assert "position: your edit" in lines(inspector)
    assert inspector.minimumSizeHint() == before


@pytest.mark.parametrize(
    ("title", "buckets", "name"),
    [
        ("ALiBi linear biases", None, "position: ALiBi linear biases"),
        ("T5 log buckets", np.arange(15) * 2, "position: T5 bucket 8"),  # δ = −3 stands at 4 of −7 … 7
    ],
)
def test_the_position_term_bears_its_familys_name_and_bucket(inspector, title, buckets, name):
    inspector.set_terms("q·k / √d", title, buckets)
    inspector.set_cell(cell(), LABELS)
    assert name in lines(inspector)


def test_right_to_left_tokens_leave_no_control_marks_in_the_copied_text(inspector):
    labels = Tokens(("a", "b", "שלום", "c", "d", "עולם")).labels
    inspector.set_cell(cell(), labels)
    inspector.copy_text()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("query 5 “עולם” → key 2 “שלום”")
    assert not any(0x2066 <= ord(char) <= 0x2069 for char in copied)


@pytest.mark.parametrize("width", [260, 330, 600])
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_it_fits_its_width_with_long_tokens_and_numbers(inspector, width, theme):
    inspector.resize(width, 420)
    inspector.set_theme(theme)
    inspector.set_terms("q·k / √d", "A family with a rather long title of its own")
    small = cell(edit=-1.234e-7, weight=1.2345e-22, before_weight=9.876e-21)
    inspector.set_cell(small, ("x" * 90,) * 8, row())
    assert inspector.minimumSizeHint().width() <= 260
    assert inspector.width() == width
    inspector.grab()


def test_shown_numbers_are_those_of_the_field(inspector):
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 2, 8, 4)).astype(np.float32)
    edit = rng.normal(size=(2, 15)).astype(np.float32)
    inputs = inputs_from_arrays(q, k, tokens=Tokens(LABELS))
    field = PlainField.of(inputs, encoding("alibi"), scale=None, mask=parse_mask("causal"), edit=edit, head=1)
    inspector.set_cell(field.values(5, 2), LABELS, field.row(5))
    shown = lines(inspector)
    score = float((q[1, 5] @ k[1, 2]) / 2 - 3 / 256 + edit[1, 4])
    assert float(shown["score"].replace("−", "-")) == pytest.approx(score, rel=5e-3)
    assert float(shown["position: your edit"].replace("−", "-")) == pytest.approx(edit[1, 4], rel=5e-3)


# The bars


@pytest.fixture
def bars(qtbot) -> RowBars:
    bars = RowBars()
    qtbot.addWidget(bars)
    bars.resize(330, 230)
    bars.show()
    return bars


def colours(widget: RowBars, upper: bool | None = None) -> list[QColor]:
    image: QImage = widget.grab().toImage()
    half = image.height() // 2
    rows = range(20, half) if upper else range(half, image.height() - 20)
    return [image.pixelColor(x, y) for x in range(40, image.width()) for y in rows]


def near(colour: QColor, name: str) -> bool:
    other = QColor(name)
    parts = ((colour.red(), other.red()), (colour.green(), other.green()), (colour.blue(), other.blue()))
    return all(abs(a - b) <= 6 for a, b in parts)


def key_middle(bars: RowBars, key: int, count: int) -> int:
    """The x of a key, found by asking from the left."""
    xs = [x for x in range(bars.width()) if bars.key_at(x) == key]
    assert xs, f"key {key} of {count} is drawn nowhere"
    return xs[len(xs) // 2]


@pytest.mark.parametrize("count", [1, 2, 8, 35, 200])
def test_every_key_can_be_pointed_at(bars, count):
    bars.set_row(row(count), tuple(map(str, range(count))))
    found = {bars.key_at(x) for x in range(bars.width())} - {-1}
    assert found == set(range(count))


def test_pointing_at_a_bar_tells_its_key_and_leaving_too(bars, qtbot):
    bars.set_row(row(), LABELS)
    heard = []
    bars.key_hovered.connect(heard.append)
    for key in (3, 6):
        qtbot.mouseMove(bars, QPoint(key_middle(bars, key, 8), 60))
    qtbot.mouseMove(bars, QPoint(1, 60))
    assert heard == [3, 6, -1]


def test_a_click_on_a_bar_chooses_its_key(bars, qtbot):
    bars.set_row(row(), LABELS)
    with qtbot.waitSignal(bars.key_clicked) as signal:
        qtbot.mouseClick(bars, Qt.MouseButton.LeftButton, pos=QPoint(key_middle(bars, 4, 8), 60))
    assert signal.args == [4]


def test_one_hot_key_among_thousands_is_drawn_and_found(bars):
    inked = []
    for height in (0.0, 1.0):
        weight = np.full(4096, 1e-9, np.float32)
        weight[1234] += height
        weight[5] = 1.0  # the axis is the same without the hot key
        bars.set_row(row(4096, weight=weight, before_weight=weight), tuple(map(str, range(4096))))
        inked.append(sum(near(colour, LIGHT.text) for colour in colours(bars, upper=False)))
    assert 1234 in {bars.key_at(x) for x in range(bars.width())}
    assert inked[1] > inked[0] + 30


@pytest.mark.parametrize("high", (0.2, 0.65, 0.9))
def test_bars_that_touch_are_as_high_as_bars_with_gaps(bars, high):
    """The same weights over 20 keys, one bar each, and over 600, painted as one shape."""
    tops = []
    for count in (20, 600):
        weight = np.repeat(np.float32([1.0, high]), count // 2)
        bars.set_row(row(count, weight=weight, before_weight=weight), tuple(map(str, range(count))))
        image: QImage = bars.grab().toImage()
        x = key_middle(bars, count - count // 8, count)
        tops.append(next(y for y in range(130, 230) if near(image.pixelColor(x, y), LIGHT.text)))
    assert abs(tops[0] - tops[1]) <= 1


def test_the_accent_is_the_position_and_nothing_else(bars):
    content = np.linspace(-1, 1, 8, dtype=np.float32)
    bars.set_row(row(content=content), LABELS)
    assert not any(near(colour, LIGHT.accent) for colour in colours(bars, upper=True))
    bars.set_row(row(content=content, positional=content), LABELS)
    assert any(near(colour, LIGHT.accent) for colour in colours(bars, upper=True))


def test_masked_keys_are_hatched_and_have_no_bar(bars):
    visible = np.arange(8) < 4
    weight = np.where(visible, 0.25, 0).astype(np.float32)
    bars.set_row(row(weight=weight, before_weight=weight, visible=visible), LABELS)
    image = bars.grab().toImage()
    for key, masked in ((1, False), (6, True)):
        x = key_middle(bars, key, 8)
        column = [image.pixelColor(x + dx, y) for dx in (-2, 0, 2) for y in range(30, 90)]
        assert (sum(colour.name() == LIGHT.mask for colour in column) > len(column) / 3) is masked


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_has_a_mark_of_its_own(bars, odd):
    content = np.ones(8, np.float32)
    bars.set_row(row(content=content), LABELS)
    assert not any(near(colour, LIGHT.danger) for colour in colours(bars, upper=True))
    content = content.copy()
    content[3] = odd
    bars.set_row(row(content=content), LABELS)
    assert any(near(colour, LIGHT.danger) for colour in colours(bars, upper=True))


HARD_ROWS = {
    "one key": row(1),
    "no visible key": row(visible=np.zeros(8, bool), weight=np.zeros(8, np.float32)),
    "all zero": row(weight=np.zeros(8, np.float32), before_weight=np.zeros(8, np.float32)),
    "huge": row(content=np.full(8, 3e38, np.float32), positional=np.full(8, -3e38, np.float32)),
    "tiny": row(content=np.full(8, 1e-38, np.float32)),
    "all nan": row(content=np.full(8, np.nan, np.float32), weight=np.full(8, np.nan, np.float32)),
}


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("hard", HARD_ROWS.values(), ids=HARD_ROWS)
def test_hard_rows_are_painted_without_complaint(bars, hard, scale):
    bars.set_weights_scale(scale)
    bars.set_row(hard, LABELS[: len(hard.keys)])
    bars.set_key(0)
    with np.errstate(all="raise", under="ignore"):
        bars.grab()


def test_axis_numbers_are_plain(bars):
    weight = np.array([0.8, 0.1, 0.1, 0, 0, 0, 0, 0], np.float32)
    bars.set_row(row(weight=weight, before_weight=weight), LABELS)
    terms, weights = bars.ticks()
    assert weights[0] == "0"
    assert not any("×" in text or "e" in text for text in weights)
    assert "0" in terms


def test_a_key_is_described_with_its_numbers(bars):
    visible = np.arange(8) != 5
    bars.set_row(row(edit=np.full(8, 0.5, np.float32), visible=visible), LABELS)
    assert bars.describe(2) == "key 2 “w2”: content 0, position +0.5, weight 0.125"
    assert bars.describe(5) == "key 5 “w5”: masked"
