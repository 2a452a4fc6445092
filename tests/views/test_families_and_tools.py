"""Every tool on every family: real mouse and keys, the numbers the tool promises, and one step of undo.

Each tool is a function of one table that does what a hand would do and returns what must have come of it, worked out
here from the values before. What a family does not offer is greyed, and stands in a table with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QToolButton, QTreeWidget, QWidget
from pytestqt.qtbot import QtBot

from relpos_viewer.app.actions import ACTIONS
from relpos_viewer.core import fit
from relpos_viewer.core.encodings import FAMILIES, Encoding
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import short
from relpos_viewer.core.plane_brush import Rectangle
from relpos_viewer.core.quantise import LAST_VALUE
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, View
from relpos_viewer.views import names
from relpos_viewer.views.curve_handles import place
from relpos_viewer.views.main_window import MainWindow
from relpos_viewer.views.number_boxes import DecimalBox

from . import matrix_tools as matrix
from .curve_mouse import CTRL, PLAIN, RIGHT, SHIFT, click, double_click, drag, move, press, release, wheel
from .test_main_window import settle

Key = Qt.Key
HEADS, N, DIM, HEAD = 3, 12, 16, 1
DELTA = np.arange(1 - N, N)
RNG = np.random.default_rng(11)
EDIT = RNG.normal(size=(HEADS, 2 * N - 1)).astype(np.float32)
SOURCE = TextSource(" ".join("abcdefghijkl"), heads=HEADS, dim=DIM)
# Parameters with which a short sequence meets all that a family does: shared buckets, waves, several rows, tables
# that no two heads and no two offsets have alike.
PARAMETERS = {
    "t5": {
        "num_buckets": 8,
        "max_distance": 11,
        "table": RNG.normal(size=(8, HEADS)).astype(np.float32),
    },
    "deberta": {"num_buckets": 8, "max_distance": 9},
    "curve": {"table": RNG.normal(size=(HEADS, 2 * N - 1)).astype(np.float32)},
    "swin": {"width": 4, "table": RNG.normal(size=(35, HEADS)).astype(np.float32)},
    "swin-v2": {"width": 4, "table": RNG.uniform(1, 15, size=(35, HEADS)).astype(np.float32)},
    "beit": {"width": 4, "table": RNG.normal(size=(38, HEADS)).astype(np.float32)},
}
LOADED = {
    name: RNG.uniform(1, 2, size=PARAMETERS[name]["table"].shape).astype(np.float32)
    for name in ("swin", "swin-v2", "beit")
}
PLANES = tuple(name for name, family in FAMILIES.items() if issubclass(family, PlaneEncoding))
BUCKETS = ("t5", "deberta")
SPECS = {spec.id: spec for spec in ACTIONS}
LOW, HIGH = -7, -2  # the range that tools work on
RANGE = slice(LOW + N - 1, HIGH + N)


def start_of(family: str) -> Document:
    loaded = {"table": LOADED[family]} if family in PLANES else None  # and drawn on since
    spec = EncodingSpec(family, PARAMETERS.get(family, {}), loaded)
    return Document(SOURCE, spec, "none", edit=EditCurve(EDIT), view=View(head=HEAD))


# What is expected, computed in float64 apart from any frame.


def doubled(inputs: AttentionInputs) -> AttentionInputs:
    given = {name: getattr(inputs, name) for name in ("q", "k", "v", "w_q", "w_k")}
    return replace(inputs, **{name: each.double() for name, each in given.items() if each is not None})


def term(encoding: Encoding, inputs: AttentionInputs) -> np.ndarray:
    """The family's own term, float64 [head, query, key]."""
    return encoding.positional(doubled(inputs), 1 / math.sqrt(DIM)).double().numpy()


def along_offsets(cells: np.ndarray) -> np.ndarray:
    """The mean of each diagonal, float64 [head, 2n−1]."""
    return np.stack([[np.diagonal(head, delta).mean() for delta in DELTA] for head in cells])


def spread_out(curve: np.ndarray) -> np.ndarray:
    """A curve [head, 2n−1] as cells [head, query, key]."""
    query, key = np.mgrid[:N, :N]
    return curve[:, key - query + N - 1]


@dataclass
class Outcome:
    """What a tool must have done to the document; what is None must be as it was, bit for bit.

    Attributes:
        edit: float64 [head, 2n−1].
        family: looks at the encoding, for all heads, and asserts.
        planes: float64 [head, row, column] of the encoding.
        places: bool [head, 2n−1], where the edit may change; where it does when None.
        steps: of undo, 0 or 1.
    """

    edit: np.ndarray | None = None
    family: Callable[[Encoding], None] | None = None
    planes: np.ndarray | None = None
    places: np.ndarray | None = None
    steps: int = 1


NOTHING = Outcome(steps=0)


class Desk:
    """One window on a family, the hands of its user, and the numbers before the tool at hand was used."""

    def __init__(self, window: MainWindow, family: str, qtbot: QtBot) -> None:
        self.window, self.family, self.qtbot = window, family, qtbot
        self.curve, self.plane, self.history = window.curve, window.plane, window.history
        self.is_plane = family in PLANES
        self.editor = self.plane if self.is_plane else self.curve
        self.inputs = window.frame.inputs
        self.term = term(self.encoding, self.inputs)
        self.own = along_offsets(self.term)
        self.exact = window.frame.curves.exact

    @property
    def view(self) -> QWidget:
        """What has the keys: the plane or the plot."""
        return self.plane.view if self.window.bias_editor is self.plane else self.curve.plot

    @property
    def document(self) -> Document:
        return self.window.session.document

    @property
    def encoding(self) -> Encoding:
        return self.document.encoding.build().with_heads(HEADS)

    @property
    def edit(self) -> np.ndarray:
        return self.document.edit.at(HEADS, N)

    @property
    def totals(self) -> np.ndarray:
        """The whole curves at the start, float64 [head, 2n−1]."""
        return self.own + EDIT

    @property
    def planes(self) -> np.ndarray:
        return self.encoding.planes(N).double().numpy()

    @property
    def loaded_planes(self) -> np.ndarray:
        table = torch.from_numpy(LOADED[self.family])
        return replace(self.encoding, table=table).planes(N).double().numpy()

    def settle(self) -> None:
        settle(self.window, self.qtbot)

    def come_back(self) -> None:
        """Wait for what is under way, and give the keys to the editor on show."""
        if not same(self.window.frame.document.encoding, self.document.encoding):
            self.settle()  # edits alone are on the curve at once
        self.front(self.window)
        self.window.bias_editor.setFocus()

    def front(self, dialog: QWidget) -> None:
        """Wait until a dialog has the keys, which only a window manager gives to a new one at once."""
        dialog.activateWindow()
        self.qtbot.waitUntil(dialog.isActiveWindow)

    # Hands.

    def begin(self) -> None:
        """Put every setting back, as nobody's hand left it."""
        self.come_back()
        curve = self.curve
        curve.tools.tool, curve.shape = "brush", "smooth"
        curve.radius, curve.mirror, curve.all_heads, curve.snap = 0, False, False, False
        if self.is_plane:
            self.plane.tools.tool = "brush"
        self.press(Key.Key_Escape)
        curve.reset_view()
        assert self.editor.selection is None

    def press(self, key: Qt.Key, held: Qt.KeyboardModifier = PLAIN, on: QWidget | None = None) -> None:
        self.qtbot.keyClick(on or self.view, key, held)

    def type(self, text: str, on: QWidget | None = None) -> None:
        self.qtbot.keyClicks(on or QApplication.focusWidget(), text)

    def choose(self, action: str) -> None:
        """Use an action by its first keys, or in its menu where it has none."""
        keys = SPECS[action].shortcuts
        if keys:
            self.press(keys[0][0].key(), keys[0][0].keyboardModifiers())
        else:
            self.in_menu(SPECS[action].menu, self.window.actions_by_id[action].text())

    def in_menu(self, path: str, text: str) -> None:
        """Open a menu, and click the entry with this text."""
        self.qtbot.mouseMove(self.view, QPoint(1, 1))  # a menu does not hear a hand that has not moved since
        menu = self.window.menus[path]
        menu.popup(self.view.mapToGlobal(self.view.rect().center()))
        (entry,) = [each for each in menu.actions() if each.text() == text]
        self.qtbot.mouseMove(menu, menu.actionGeometry(entry).center())
        self.qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(entry).center())
        menu.close()

    def click_button(self, kind: type, name: str, within: QWidget) -> None:
        button = within.findChild(kind, name)
        assert button.isEnabled() and button.isVisibleTo(within.window()), name
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    # Where things are.

    def at(self, offset: float, down: float = 0.0) -> tuple[float, float]:
        """The pixel of an offset, in the middle of the plot's height or below it."""
        rect = self.curve.plot.plot_rect()
        return float(self.curve.plot.map().x(offset)), rect.center().y() + down

    def units(self) -> float:
        """Score units of a pixel of height."""
        low, high = self.curve.plot.values
        return (high - low) / self.curve.plot.plot_rect().height()

    def select_range(self) -> None:
        click(self.curve.plot, self.at(LOW))
        click(self.curve.plot, self.at(HIGH), SHIFT)
        assert self.curve.selection == (LOW, HIGH)

    def heads_to(self, make: Callable[[np.ndarray], np.ndarray], heads: tuple[int, ...] = (HEAD,)) -> Outcome:
        """The outcome that gives the range of some heads the totals `make` makes of theirs."""
        edit = EDIT.astype(np.float64)
        for head in heads:
            # Of a family without a curve of its own, the shown head speaks for all.
            speaks = head if self.exact else HEAD
            own = self.own[speaks, RANGE]
            edit[head, RANGE] = make(self.totals[speaks, RANGE]) - own
        places = np.zeros(EDIT.shape, bool)
        places[list(heads), RANGE] = True
        return Outcome(edit, places=places)


def added(places: dict[int, float], heads: tuple[int, ...] = (HEAD,)) -> Outcome:
    """The outcome that adds score units at some offsets."""
    edit = EDIT.astype(np.float64)
    for offset, amount in places.items():
        edit[list(heads), offset + N - 1] += amount
    return Outcome(edit)


def bell(distance: int, radius: int) -> float:
    return 0.5 + 0.5 * math.cos(math.pi * distance / (radius + 1))


def around(offset: int, radius: int, amount: float, share: Callable[[int, int], float]) -> dict[int, float]:
    return {offset + step: amount * share(abs(step), radius) for step in range(-radius, radius + 1)}


# The curve in the hand.


def brush(desk: Desk) -> Outcome:
    desk.choose("tool:brush")
    for _ in range(2):
        desk.press(Key.Key_BracketRight)
    amount = 40 * desk.units()
    drag(desk.curve.plot, desk.at(-4), desk.at(-4, -40))
    return added(around(-4, 2, amount, bell))


def linear_brush(desk: Desk) -> Outcome:
    desk.choose("shape:linear")
    wheel(desk.curve.plot, desk.at(3), 1)
    wheel(desk.curve.plot, desk.at(3), 2)
    amount = -30 * desk.units()
    drag(desk.curve.plot, desk.at(3), desk.at(3, 30))
    return added(around(3, 3, amount, lambda far, radius: 1 - far / (radius + 1)))


def step_brush_on_both_sides(desk: Desk) -> Outcome:
    desk.choose("shape:step")
    desk.choose("mirror")
    desk.press(Key.Key_BracketRight)
    amount = 25 * desk.units()
    drag(desk.curve.plot, desk.at(-5), desk.at(-5, -25))
    return added(dict.fromkeys((-6, -5, -4, 4, 5, 6), amount))


def brush_of_all_heads(desk: Desk) -> Outcome:
    desk.choose("all_heads")
    amount = 40 * desk.units()
    drag(desk.curve.plot, desk.at(-2), desk.at(-2, -40))
    desk.choose("all_heads")  # apart again
    assert not desk.curve.all_heads
    return added({-2: amount}, (0, 1, 2))


def brush_of_a_range(desk: Desk) -> Outcome:
    desk.select_range()
    amount = -20 * desk.units()
    drag(desk.curve.plot, desk.at(-5), desk.at(-5, 20))
    return added(dict.fromkeys(range(LOW, HIGH + 1), amount))


def fine_brush(desk: Desk) -> Outcome:
    amount = 0.1 * 60 * desk.units()
    drag(desk.curve.plot, desk.at(1), desk.at(1, -60), SHIFT)
    return added({1: amount})


def rounding_brush(desk: Desk) -> Outcome:
    least, way = 12 * desk.units(), 47 * desk.units()
    power = 10.0 ** math.floor(math.log10(least))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least * (1 - 1e-9))
    before = desk.totals[HEAD, 1 + N - 1]
    drag(desk.curve.plot, desk.at(1), desk.at(1, -47), CTRL)
    return added({1: round((before + way) / step) * step - before})


def brush_of_buckets(desk: Desk) -> Outcome:
    desk.choose("snap")
    buckets = desk.window.frame.curves.buckets
    one = buckets[-9 + N - 1]
    mates = DELTA[buckets == one]
    assert len(mates) > 1
    amount = 40 * desk.units()
    drag(desk.curve.plot, desk.at(-9), desk.at(-9, -40))
    return added(dict.fromkeys(map(int, mates), amount))


def flatten_buckets(desk: Desk) -> Outcome:
    desk.choose("snap")
    desk.select_range()
    desk.choose("range_flatten")
    buckets = desk.window.frame.curves.buckets
    touched = np.isin(buckets, buckets[RANGE])  # whole buckets go along
    edit = EDIT.astype(np.float64)
    edit[HEAD, touched] = desk.totals[HEAD, RANGE].mean() - desk.own[HEAD, touched]
    return Outcome(edit)


def freehand(desk: Desk) -> Outcome:
    desk.choose("tool:freehand")
    plot, rect = desk.curve.plot, desk.curve.plot.plot_rect()
    high = plot.values[1]
    way = {-6: -30, -5: 12, -4: 55, -3: 20, -2: -40}
    points = {offset: desk.at(offset, down) for offset, down in way.items()}
    press(plot, points[-6])
    for at in points.values():
        move(plot, at)
    release(plot, points[-2])
    edit = EDIT.astype(np.float64)
    for offset, (_, y) in points.items():
        edit[HEAD, offset + N - 1] = high - (y - rect.top()) * desk.units() - desk.own[HEAD, offset + N - 1]
    return Outcome(edit)


def anchors(desk: Desk) -> Outcome:
    desk.choose("tool:anchors")
    click(desk.curve.plot, desk.at(2), CTRL)
    assert desk.curve.anchors == (1 - N, 2, N - 1)
    assert not desk.history.can_undo  # an anchor alone bends nothing
    amount = 30 * desk.units()
    drag(desk.curve.plot, desk.at(-3), desk.at(-3, -30))
    after = desk.document
    desk.press(Key.Key_Delete)
    assert desk.curve.anchors == (1 - N, 2, N - 1)
    assert desk.document is after  # nor does taking one away
    shares = {delta: (delta + 11) / 8 if delta < -3 else (2 - delta) / 5 for delta in range(-10, 2)}
    return added({delta: amount * share for delta, share in shares.items()})


def handle(which: int) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        desk.choose("tool:handles")
        one = desk.encoding.handles(HEAD, N, DIM)[which]
        plot = desk.curve.plot.map()
        x, y = place(one, plot)
        far = 2.3 * (float(plot.x(1)) - float(plot.x(0)))
        across = -far if one.offset > 0 else far  # towards δ = 0, as some wait at the ends of the axis
        drag(desk.curve.plot, (x, y), (x + across, y + 27))
        dropped = plot.offset(x + across)
        down = 27 * plot.units_per_pixel

        def moved(encoding: Encoding) -> None:
            found = next(each for each in encoding.handles(HEAD, N, DIM) if each.name == one.name)
            if one.moves != "offset":
                assert found.value == pytest.approx(one.value - down, abs=NEAR.get(desk.family, 2e-3))
            if one.moves != "value":
                whole = one.name.split()[-1] in WHOLE
                assert found.offset == pytest.approx(round(dropped) if whole else dropped, abs=2e-3)

        return Outcome(family=moved)

    return tool


# Of Sandwich's rippling curve the nearest of 400 bases is taken.
NEAR = {"sandwich": 0.03}
# Whole distances: such a handle lies on the offset nearest to where it was dropped.
WHOLE = {"clip", "clamp", "length", "positions", "span", "places", "distance"}


# Values by key.


def nudge(desk: Desk) -> Outcome:
    click(desk.curve.plot, desk.at(-3))
    for key, held in ((Key.Key_Up, PLAIN), (Key.Key_Up, PLAIN), (Key.Key_Down, SHIFT)):
        desk.press(key, held)
    return added({-3: 0.19})


def exact_value(desk: Desk) -> Outcome:
    click(desk.curve.plot, desk.at(5))
    desk.choose("exact_value")
    desk.type("-1,25", desk.curve.entry.box)
    desk.press(Key.Key_Return, on=desk.curve.entry.box)
    return added({5: -1.25 - desk.totals[HEAD, 5 + N - 1]})


def without(*places: tuple[object, object]) -> Outcome:
    """The edit taken away at (head, offset) places of its array."""
    edit = EDIT.astype(np.float64)
    for where in places:
        edit[where] = 0
    return Outcome(edit)


def reset_point(desk: Desk) -> Outcome:
    click(desk.curve.plot, desk.at(4))
    desk.choose("reset_point")
    return without((HEAD, 4 + N - 1))


def double_click_a_point(desk: Desk) -> Outcome:
    double_click(desk.curve.plot, desk.at(-8))
    return without((HEAD, -8 + N - 1))


def reset_curve(desk: Desk) -> Outcome:
    desk.choose("reset_curve")
    return without((HEAD, slice(None)))


def reset_all(desk: Desk) -> Outcome:
    desk.choose("reset_all")
    return without((slice(None), slice(None)))


def copy_numbers(desk: Desk) -> Outcome:
    desk.select_range()
    desk.press(Key.Key_C, CTRL)
    table = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert [int(offset) for offset, _ in table] == [*range(LOW, HIGH + 1)]
    close([float(value) for _, value in table], desk.totals[HEAD, RANGE])
    return NOTHING


def paste_numbers(desk: Desk) -> Outcome:
    QGuiApplication.clipboard().setText("offset\tbias\n-9\t1.5\n0\t-2.25\n7\t0,125\n")
    desk.press(Key.Key_V, CTRL)
    pasted = {-9: 1.5, 0: -2.25, 7: 0.125}
    return added({offset: value - desk.totals[HEAD, offset + N - 1] for offset, value in pasted.items()})


# The range.


def at_once(
    action: str, make: Callable[[np.ndarray], np.ndarray], heads: tuple[int, ...] = (HEAD,)
) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        if len(heads) > 1:
            desk.choose("all_heads")
        desk.select_range()
        desk.choose(action)
        return desk.heads_to(make, heads)

    return tool


def typed(action: str, text: str, make: Callable[[np.ndarray], np.ndarray]) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        desk.select_range()
        desk.choose(action)
        assert desk.curve.entry.isVisible()
        desk.type(text, desk.curve.entry.box)
        desk.press(Key.Key_Return, on=desk.curve.entry.box)
        return desk.heads_to(make)

    return tool


def line_between(values: np.ndarray) -> np.ndarray:
    return values[0] + (values[-1] - values[0]) * np.arange(len(values)) / (len(values) - 1)


def rounded_off(values: np.ndarray) -> np.ndarray:
    inner = (values[:-2] + 2 * values[1:-1] + values[2:]) / 4
    return np.concatenate([values[:1], inner, values[-1:]])


def flat(values: np.ndarray) -> np.ndarray:
    return np.full(values.shape, values.mean())


def upside_down(values: np.ndarray) -> np.ndarray:
    return 2 * values.mean() - values


def mirror(desk: Desk) -> Outcome:
    desk.select_range()
    desk.choose("range_mirror")
    return desk.heads_to(lambda _: desk.totals[HEAD, ::-1][RANGE])


def copy_from_head(desk: Desk) -> Outcome:
    desk.select_range()
    desk.in_menu("Edit/Range/Copy from head", "Head 2")
    return desk.heads_to(lambda _: desk.totals[2, RANGE])


def formula(desk: Desk) -> Outcome:
    desk.select_range()
    desk.choose("range_formula")
    (line,) = desk.window.findChildren(QWidget, names.FORMULA_LINE)
    desk.front(line.window())
    desk.press(Key.Key_A, CTRL, line)
    desk.type("0.5*d + b/4 - h", line)
    desk.press(Key.Key_Return, on=line)
    QApplication.processEvents()
    return desk.heads_to(lambda values: 0.5 * np.arange(LOW, HIGH + 1) + values / 4 - HEAD)


# What changes no number.


def pan(desk: Desk) -> Outcome:
    plot = desk.curve.plot
    wheel(plot, (desk.at(0)[0], plot.plot_rect().bottom() + 8), 3)  # closer, or there is nowhere to go
    before, x = plot.offsets, desk.at(0)[0]
    per_pixel = (before[1] - before[0]) / plot.plot_rect().width()
    drag(plot, desk.at(0), (x - 24, desk.at(0)[1]), button=RIGHT)
    assert plot.offsets == pytest.approx([end + 24 * per_pixel for end in before])
    desk.press(Key.Key_Home)
    assert plot.offsets[0] < 1 - N and plot.offsets[1] > N - 1
    return NOTHING


def pin_a_query(desk: Desk) -> Outcome:
    canvas = desk.window.equation.views["scores"].canvas
    at = canvas.point_of(7, 2)
    matrix.click(canvas, (at.x(), at.y()))
    query = desk.curve.plot.item.query
    if desk.exact:
        assert query is None  # it has the curve that all have
    else:
        assert query.position == 7
        seen = slice(N - 1 - 7, 2 * N - 1 - 7)
        close(query.own[seen], desk.term[HEAD, 7])
        assert np.isnan(np.delete(query.own, np.r_[seen])).all()
    assert desk.window.inspector.heading().startswith("query 7"), desk.window.inspector.heading()
    return NOTHING


# What explains the family.


def conventions(desk: Desk) -> Outcome:
    """Opened, compared with the family's own words, and the reading that a document can hold is taken."""
    desk.choose("conventions")
    panel = desk.window.tools.conventions
    told = desk.encoding.conventions(N, DIM)
    desk.qtbot.waitUntil(lambda: [card.convention for card in panel.cards] == list(told))
    share, cells = (
        toeplitz_share((desk.term + spread_out(EDIT))[HEAD]),
        panel.findChild(QLabel, names.CONVENTIONS_SHARE),
    )
    wanted = "" if share is None else f"Toeplitz share {short(share)}"
    desk.qtbot.waitUntil(lambda: cells.text() == wanted)
    if desk.family not in READINGS:
        assert not any(card.reading.spec for card in panel.readings)
        panel.close()
        return NOTHING
    name, family, parameters = READINGS[desk.family]
    card = next(each for each in panel.readings if each.reading.variant.name == name)
    desk.qtbot.mouseClick(card.box, Qt.MouseButton.LeftButton, pos=QPoint(8, card.box.height() // 2))
    desk.qtbot.waitUntil(lambda: card.take.isVisible() and card.take.height() > 10)
    desk.qtbot.mouseClick(card.take, Qt.MouseButton.LeftButton)
    panel.close()

    def taken(encoding: Encoding) -> None:
        assert encoding.name == family
        for parameter, value in parameters.items():
            assert encoding.values[parameter] == value
        if desk.exact and name == "query − key":
            close(encoding.curve(N).numpy(), desk.own[:, ::-1])

    return Outcome(family=taken)


# Of each family with readings, one that a document can hold: its name, and what the encoding is then.
READINGS = {
    "curve": ("query − key", "curve", {}),
    "t5": ("query − key", "t5", {}),
    "alibi": ("symmetric", "alibi", {"form": "symmetric"}),
    "kerple-log": ("query − key", "curve", {}),
    "kerple-power": ("query − key", "curve", {}),
    "sandwich": ("t from 0", "sandwich", {"first": "0"}),
    "tisa": ("i − j − 1", "tisa", {}),
    "rope": ("interleaved pairs", "rope", {"layout": "interleaved"}),
    "xpos": ("without decay", "rope", {"layout": "interleaved"}),
    "shaw": ("query − key", "shaw", {}),
    "music": ("first row first", "music", {}),
    "transformer-xl": ("key − query", "transformer-xl", {}),
    "xlnet": ("key − query", "xlnet", {}),
    "deberta": ("key − query", "deberta", {}),
    "fox": ("other sign of the gates", "cable", {}),
    "cable": ("other sign of the gates", "fox", {}),
    "swin": ("key − query", "swin", {"width": 4}),
    "swin-v2": ("dot products", "swin-v2", {"cosine": False}),
    "beit": ("key − query", "beit", {"width": 4}),
    "absolute": ("sines, then cosines", "absolute", {"kind": "learned"}),
}


def toeplitz_share(cells: np.ndarray) -> float | None:
    """How much of the variance of [query, key] the means of the diagonals explain; None without variance."""
    if cells.var() < 1e-12:
        return None
    means = spread_out(along_offsets(cells[None]))[0]
    return float(means.var() / cells.var())


def shift_test(desk: Desk) -> Outcome:
    """The same term over five empty tokens before the sequence, apart from any window."""
    desk.choose("shift_test")
    dialog = desk.window.tools.shift
    sentence = dialog.findChild(QLabel, names.SHIFT_SENTENCE)
    desk.qtbot.waitUntil(lambda: bool(sentence.text()))
    if desk.family in PLANES:
        dialog.close()
        assert re.fullmatch(
            r"The .* table is for a window of 3 × 4 = 1[23] tokens.*, and there are 1[67]; .*",
            sentence.text(),
        ), sentence.text()
        return NOTHING
    empty = torch.zeros(HEADS, 5, DIM)
    tokens = Tokens(("",) * 5 + desk.inputs.tokens.texts)
    moved = replace(
        desk.inputs,
        tokens=tokens,
        q=torch.cat([empty, desk.inputs.q], 1),
        k=torch.cat([empty, desk.inputs.k], 1),
        v=None,
    )
    largest = np.abs(term(desk.encoding, moved)[HEAD, 5:, 5:] - desk.term[HEAD]).max()
    assert (largest > 0.01) == (desk.family in PLACED)
    label = dialog.findChild(QLabel, names.SHIFT_LARGEST).text()
    if desk.family in PLACED:
        assert sentence.text().startswith("Scores move by up to ")
        assert float(label.removeprefix("max |Δ| ")) == pytest.approx(largest, rel=0.01)
    else:
        assert sentence.text().startswith("Every score stays as it was: ")
        assert label == "max |Δ| ≈ 0"
    dialog.close()
    return NOTHING


# Families whose term is no matter of two tokens' distance alone.
PLACED = ("absolute",)


def extrapolation(desk: Desk) -> Outcome:
    desk.choose("extrapolation")
    dialog = desk.window.tools.extrapolation
    assert dialog.isVisible()
    desk.qtbot.waitUntil(lambda: dialog.sentence.text().endswith("."))
    desk.press(Key.Key_Escape, on=dialog)
    assert not dialog.isVisible()
    return NOTHING


def copy_as_code(desk: Desk) -> Outcome:
    QGuiApplication.clipboard().clear()
    desk.choose("copy_code")
    desk.qtbot.waitUntil(lambda: "def bias(" in QGuiApplication.clipboard().text())
    module: dict = {}
    exec(compile(QGuiApplication.clipboard().text(), "copied.py", "exec"), module)
    given = module["bias"](N, N, desk.inputs.q, desk.inputs.k)
    close(given.double().numpy(), desk.term + spread_out(EDIT.astype(np.float64)))
    return NOTHING


def fit_and_keep(desk: Desk) -> Outcome:
    """A table of three points on a line, which ALiBi explains to the last digit."""
    QGuiApplication.clipboard().setText("-1\t-0.75\n-2\t-1.5\n-3\t-2.25\n")
    desk.choose("fit")
    dialog = desk.window.fits.dialog
    desk.click_button(QPushButton, names.FIT_CLIPBOARD, dialog)
    desk.qtbot.waitUntil(lambda: dialog.answer is not None and not desk.window.fits.busy, timeout=30_000)
    table = dialog.findChild(QTreeWidget, names.FIT_TABLE)
    (row,) = table.findItems(FAMILIES["alibi"].title, Qt.MatchFlag.MatchExactly)
    table.scrollToItem(row)
    desk.qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualItemRect(row).center())
    desk.click_button(QPushButton, names.FIT_KEEP, dialog)
    dialog.close()

    slopes = np.array([2**-4, 0.75, 2**-2])  # Press et al. for three heads, but the fitted one
    lines = slopes[:, None] * DELTA

    def kept(encoding: Encoding) -> None:
        assert encoding.name == "alibi"
        close(encoding.curve(N).numpy(), lines)

    edit = EDIT.astype(np.float64)
    if desk.exact:  # the other heads keep their curve
        edit = desk.totals - lines
    edit[HEAD] = 0
    return Outcome(edit, kept)


# The plane in the hand. A cell is (row, column) from 0; its plane is 5 × 7.

ROWS, COLUMNS = 5, 7
BLOCK = (slice(1, 4), slice(2, 6))


def plane_mouse(desk: Desk, kind: QEvent.Type, cell: tuple[int, int], up: float, held: object) -> None:
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    at = desk.view.grid.rect(*cell).center() - QPointF(0, up)
    moved, over = kind == QEvent.Type.MouseMove, kind == QEvent.Type.MouseButtonRelease
    event = QMouseEvent(
        kind, at, desk.view.mapToGlobal(at), none if moved else left, none if over else left, held
    )
    QApplication.sendEvent(desk.view, event)


def plane_drag(desk: Desk, cell: tuple[int, int], up: float, held: object = PLAIN) -> None:
    plane_mouse(desk, QEvent.Type.MouseButtonPress, cell, 0, PLAIN)
    for part in (0.0, 0.4, 1.0):
        plane_mouse(desk, QEvent.Type.MouseMove, cell, part * up, held)
    plane_mouse(desk, QEvent.Type.MouseButtonRelease, cell, up, held)


def plane_click(desk: Desk, cell: tuple[int, int], held: object = PLAIN) -> None:
    plane_mouse(desk, QEvent.Type.MouseButtonPress, cell, 0, held)
    plane_mouse(desk, QEvent.Type.MouseButtonRelease, cell, 0, held)


def select_block(desk: Desk) -> None:
    plane_mouse(desk, QEvent.Type.MouseButtonPress, (3, 5), 0, SHIFT)
    plane_mouse(desk, QEvent.Type.MouseMove, (1, 2), 0, SHIFT)
    plane_mouse(desk, QEvent.Type.MouseButtonRelease, (1, 2), 0, SHIFT)
    assert desk.plane.selection == Rectangle(1, 2, 3, 5)


def unit_of(planes: np.ndarray) -> float:
    """Score units of a pixel: 150 of them take zero to the end of the colours."""
    return max(np.abs(planes[HEAD]).max(), 0.5) / 150


def plane_added(desk: Desk, before: np.ndarray, cells: dict, heads: tuple[int, ...] = (HEAD,)) -> Outcome:
    wanted = before.copy()
    for (row, column), amount in cells.items():
        if 0 <= row < ROWS and 0 <= column < COLUMNS:
            wanted[list(heads), row, column] += amount
    return Outcome(planes=wanted)


def plane_brush(desk: Desk) -> Outcome:
    desk.choose("tool:brush")
    desk.press(Key.Key_BracketRight)
    desk.press(Key.Key_BracketRight)
    before = desk.planes
    plane_drag(desk, (1, 5), 40)
    shares = {}
    for row in range(ROWS):
        for column in range(COLUMNS):
            far = math.hypot(row - 1, column - 5)
            shares[row, column] = bell(far, 2) if far < 3 else 0.0
    amount = 40 * unit_of(before)
    return plane_added(desk, before, {cell: amount * share for cell, share in shares.items()})


def plane_step_brush(desk: Desk) -> Outcome:
    desk.choose("shape:step")
    desk.press(Key.Key_BracketRight)
    before = desk.planes
    plane_drag(desk, (2, 2), -30)
    square = [(row, column) for row in (1, 2, 3) for column in (1, 2, 3)]  # corners lie nearer than 2
    return plane_added(desk, before, dict.fromkeys(square, -30 * unit_of(before)))


def brush_after_select(desk: Desk) -> Outcome:
    """The Brush of the menu takes the hand back from Select."""
    desk.click_button(QToolButton, names.PLANE_TOOL_PREFIX + "select", desk.plane)
    desk.choose("tool:brush")
    before = desk.planes
    plane_drag(desk, (3, 3), 20)
    return plane_added(desk, before, {(3, 3): 20 * unit_of(before)})


def plane_brush_of_all_heads(desk: Desk) -> Outcome:
    desk.choose("all_heads")
    before = desk.planes
    plane_drag(desk, (4, 0), 35)
    return plane_added(desk, before, {(4, 0): 35 * unit_of(before)}, (0, 1, 2))


def plane_brush_of_a_block(desk: Desk) -> Outcome:
    select_block(desk)
    before = desk.planes
    plane_drag(desk, (2, 3), -25)
    block = [(row, column) for row in range(1, 4) for column in range(2, 6)]
    return plane_added(desk, before, dict.fromkeys(block, -25 * unit_of(before)))


def fine_plane_brush(desk: Desk) -> Outcome:
    before = desk.planes
    plane_drag(desk, (0, 6), 50, SHIFT)
    return plane_added(desk, before, {(0, 6): 5 * unit_of(before)})


def plane_nudge(desk: Desk) -> Outcome:
    before = desk.planes
    plane_click(desk, (2, 5))
    for key, held in ((Key.Key_Up, CTRL), (Key.Key_Plus, PLAIN), (Key.Key_Down, CTRL | SHIFT)):
        desk.press(key, held)
    return plane_added(desk, before, {(2, 5): 0.19})


def plane_exact_value(desk: Desk) -> Outcome:
    before = desk.planes
    plane_click(desk, (3, 1))
    desk.press(Key.Key_Return)
    desk.type("1,25", desk.plane.entry.box)
    desk.press(Key.Key_Return, on=desk.plane.entry.box)
    return plane_added(desk, before, {(3, 1): 1.25 - before[HEAD, 3, 1]})


def plane_copy(desk: Desk) -> Outcome:
    select_block(desk)
    desk.press(Key.Key_C, CTRL)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    close(np.array(lines, float), desk.planes[HEAD][BLOCK])
    return NOTHING


def plane_paste(desk: Desk) -> Outcome:
    before = desk.planes
    QGuiApplication.clipboard().setText("0.5\t1.5\n2,25\t3\n")
    plane_click(desk, (3, 4))
    desk.press(Key.Key_V, CTRL)
    pasted = {(3, 4): 0.5, (3, 5): 1.5, (4, 4): 2.25, (4, 5): 3.0}
    return plane_added(desk, before, {cell: value - before[HEAD][cell] for cell, value in pasted.items()})


def of_block(
    desk: Desk, make: Callable[[np.ndarray], np.ndarray], heads: tuple[int, ...] = (HEAD,)
) -> Outcome:
    wanted = desk.planes
    for head in heads:
        wanted[head][BLOCK] = make(wanted[head][BLOCK])
    return Outcome(planes=wanted)


def block_at_once(
    action: str, make: Callable[[np.ndarray], np.ndarray], heads: tuple[int, ...] = (HEAD,)
) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        if len(heads) > 1:
            desk.choose("all_heads")
        select_block(desk)
        wanted = of_block(desk, make, heads)
        desk.choose(action)
        return wanted

    return tool


def block_button(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        select_block(desk)
        wanted = of_block(desk, make)
        desk.click_button(QToolButton, names.PLANE_DO_PREFIX + name, desk.plane)
        return wanted

    return tool


def block_typed(
    action: str, text: str, button: str, make: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Desk], Outcome]:
    def tool(desk: Desk) -> Outcome:
        select_block(desk)
        wanted = of_block(desk, make)
        desk.choose(action)
        desk.type(text)
        if button:
            desk.click_button(QToolButton, names.PLANE_DO_PREFIX + button, desk.plane)
        else:
            desk.press(Key.Key_Return, on=QApplication.focusWidget())
        return wanted

    return tool


def smoothed_block(values: np.ndarray) -> np.ndarray:
    """1 2 1 along rows and columns, of the neighbours that are there."""
    for axis in (0, 1):
        values = np.moveaxis(values, axis, 0)
        padded = np.pad(values, ((1, 1), (0, 0)))
        counts = np.pad(np.ones_like(values), ((1, 1), (0, 0)))
        sums, shares = (each[:-2] + 2 * each[1:-1] + each[2:] for each in (padded, counts))
        values = np.moveaxis(sums / shares, 0, axis)
    return values


def plane_mirror(desk: Desk) -> Outcome:
    """Each offset of the selection takes the value of its opposite, as along the line."""
    select_block(desk)
    turned = desk.planes[HEAD, ::-1, ::-1][BLOCK]
    wanted = of_block(desk, lambda _: turned)
    desk.choose("range_mirror")
    return wanted


def plane_copy_from_head(desk: Desk) -> Outcome:
    select_block(desk)
    other = desk.planes[2][BLOCK]
    wanted = of_block(desk, lambda _: other)
    desk.in_menu("Edit/Range/Copy from head", "Head 2")
    return wanted


def plane_formula(desk: Desk) -> Outcome:
    select_block(desk)
    dy, dx = np.mgrid[-1:2, -1:3]
    wanted = of_block(desk, lambda values: 4 + dx / 2 - dy + values / 4 + HEAD)
    desk.choose("range_formula")
    desk.type("4 + dx/2 - dy + b/4 + h")
    desk.press(Key.Key_Return, on=QApplication.focusWidget())
    return wanted


def plane_reset_block(desk: Desk) -> Outcome:
    select_block(desk)
    own = desk.loaded_planes
    wanted = of_block(desk, lambda _: own[HEAD][BLOCK])
    desk.press(Key.Key_Delete)
    return wanted


def plane_reset_head(desk: Desk) -> Outcome:
    wanted = desk.planes
    wanted[HEAD] = desk.loaded_planes[HEAD]
    desk.choose("reset_curve")
    return Outcome(without((HEAD, slice(None))).edit, planes=wanted)


def plane_reset_all(desk: Desk) -> Outcome:
    desk.choose("reset_all")
    own = desk.loaded_planes
    return Outcome(np.zeros(EDIT.shape), planes=own)


def number_beside(desk: Desk) -> Outcome:
    boxes = [
        box
        for box in desk.plane.findChildren(DecimalBox)
        if box.objectName().startswith(names.PLANE_NUMBER_PREFIX)
    ]
    if desk.family != "beit":  # no class token
        assert boxes == []
        return NOTHING
    before = desk.encoding.beside_plane(HEAD, N).numpy().copy()
    boxes[1].setFocus()
    boxes[1].selectAll()
    desk.type("2.5", boxes[1])
    desk.press(Key.Key_Return, on=boxes[1])

    def changed(encoding: Encoding) -> None:
        close(encoding.beside_plane(HEAD, N).numpy(), [before[0], 2.5, before[2]])

    return Outcome(family=changed, planes=desk.planes)


Tool = Callable[[Desk], Outcome]
EXPLAIN: dict[str, Tool] = {
    "pin a query": pin_a_query,
    "conventions, and a reading taken": conventions,
    "shift test": shift_test,
    "extrapolation": extrapolation,
    "copy as code": copy_as_code,
    "fit and keep": fit_and_keep,
}
ALONG_A_LINE: dict[str, Tool] = {
    "brush": brush,
    "linear brush": linear_brush,
    "step brush, past and future alike": step_brush_on_both_sides,
    "brush, all heads linked and apart again": brush_of_all_heads,
    "brush of a range": brush_of_a_range,
    "brush with Shift": fine_brush,
    "brush with Ctrl": rounding_brush,
    "brush of buckets": brush_of_buckets,
    "flatten buckets": flatten_buckets,
    "freehand": freehand,
    "anchors": anchors,
    "first handle": handle(0),
    "last handle": handle(-1),
    "nudge": nudge,
    "exact value": exact_value,
    "reset point": reset_point,
    "double-click": double_click_a_point,
    "reset curve": reset_curve,
    "reset all heads": reset_all,
    "copy numbers": copy_numbers,
    "paste numbers": paste_numbers,
    "scale by 2": typed("range_scale", "2", lambda v: v.mean() + 2 * (v - v.mean())),
    "scale by −0.5": typed("range_scale", "-0,5", lambda v: v.mean() - 0.5 * (v - v.mean())),
    "shift": typed("range_shift", "-3.25", lambda v: v - 3.25),
    "flatten": at_once("range_flatten", flat),
    "flatten all heads": at_once("range_flatten", flat, (0, 1, 2)),
    "straighten": at_once("range_straighten", line_between),
    "smooth": at_once("range_smooth", rounded_off),
    "mirror": mirror,
    "reverse": at_once("range_reverse", lambda v: v[::-1]),
    "turn": at_once("range_turn", upside_down),
    "copy from head": copy_from_head,
    "formula": formula,
    "pan": pan,
    **EXPLAIN,
}
OVER_A_PLANE: dict[str, Tool] = {
    "brush": plane_brush,
    "step brush": plane_step_brush,
    "brush after Select": brush_after_select,
    "brush, all heads linked": plane_brush_of_all_heads,
    "brush of a block": plane_brush_of_a_block,
    "brush with Shift": fine_plane_brush,
    "nudge": plane_nudge,
    "exact value": plane_exact_value,
    "copy numbers": plane_copy,
    "paste numbers": plane_paste,
    "scale by 3": block_typed("range_scale", "3", "Scale", lambda v: v.mean() + 3 * (v - v.mean())),
    "scale, and Enter": block_typed("range_scale", "0,5", "", lambda v: (v + v.mean()) / 2),
    "shift": block_typed("range_shift", "0.75", "Shift", lambda v: v + 0.75),
    "shift, and Enter": block_typed("range_shift", "-1.5", "", lambda v: v - 1.5),
    "flatten": block_at_once("range_flatten", flat),
    "flatten all heads": block_at_once("range_flatten", flat, (0, 1, 2)),
    "smooth": block_at_once("range_smooth", smoothed_block),
    "mirror": plane_mirror,
    "mirror left and right": block_button("Mirror left–right", lambda v: v[:, ::-1]),
    "mirror up and down": block_button("Mirror up–down", lambda v: v[::-1]),
    "reverse": block_at_once("range_reverse", lambda v: v[::-1, ::-1]),
    "turn": block_at_once("range_turn", upside_down),
    "copy from head": plane_copy_from_head,
    "formula": plane_formula,
    "reset block": plane_reset_block,
    "reset plane": plane_reset_head,
    "reset all heads": plane_reset_all,
    "number beside the plane": number_beside,
    **EXPLAIN,
}
# What a family does not offer: the tools of the tables above that fail with it, the action that is grey, and why.
NO_BUCKETS = [name for name in FAMILIES if name not in BUCKETS]
GREY = {
    "snap": (NO_BUCKETS, ("brush of buckets", "flatten buckets"), "no offsets share a bucket"),
    "tool:handles": (("none", "curve", *PLANES), ("first handle", "last handle"), "no handle is a parameter"),
    "tool:freehand": (PLANES, (), "a plane has no curve to draw"),
    "tool:anchors": (PLANES, (), "a plane has no line to bend"),
    "mirror": (PLANES, (), "a plane is not one past and one future"),
    "range_straighten": (PLANES, (), "a plane has no two ends"),
}


def tools_of(family: str) -> dict[str, Tool]:
    grey = {tool for families, tools, _ in GREY.values() if family in families for tool in tools}
    table = OVER_A_PLANE if family in PLANES else ALONG_A_LINE
    return {name: tool for name, tool in table.items() if name not in grey}


# The checks.


def close(found: object, wanted: object, atol: float = 2e-4) -> None:
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(wanted, np.float64), rtol=2e-5, atol=atol
    )


def check(desk: Desk, wanted: Outcome, before: Document) -> None:
    """Whether the document is what the tool promised, in the right heads and places and nowhere else."""
    if wanted.edit is None:
        assert desk.edit.tobytes() == EDIT.tobytes(), "the edit was to stay as it was"
    else:
        close(desk.edit, wanted.edit)
        still = np.abs(wanted.edit - EDIT) < 1e-12 if wanted.places is None else ~wanted.places
        assert np.array_equal(desk.edit[still], EDIT[still]), "what was not asked for was to keep every bit"
    if wanted.family is None and wanted.planes is None:
        assert same(desk.document.encoding, before.encoding), "the encoding was to stay as it was"
    elif wanted.steps:
        assert not same(desk.document.encoding, before.encoding), "the encoding was to change"
    if wanted.family is not None:
        wanted.family(desk.encoding)
    if wanted.planes is not None:
        kept = desk.encoding.plane_range
        old = before.encoding.build().with_heads(HEADS).planes(N).double().numpy()
        changed = np.abs(wanted.planes - old) > 1e-9
        close(
            desk.planes,
            np.where(changed & (kept is not None), wanted.planes.clip(*(kept or (0, 0))), wanted.planes),
        )
        assert np.array_equal(desk.planes[~changed], old[~changed]), "the other cells were to keep every bit"


def drive(desk: Desk, tool: Tool) -> None:
    desk.begin()
    before = desk.document
    assert same(before, start_of(desk.family)) and not desk.history.can_undo
    wanted = tool(desk)
    after = desk.document
    assert desk.window.message.isHidden() or not desk.window.message.is_error, desk.window.message.text()
    check(desk, wanted, before)
    if not wanted.steps:
        assert same(after, before) and not desk.history.can_undo, "this was to be no step"
        return
    desk.come_back()  # another family may have brought another editor
    desk.choose("undo")
    assert same(desk.document, before), "undo was to bring every bit back"
    assert not desk.history.can_undo, "this was to be one step"
    desk.choose("redo")
    assert same(desk.document, after), "redo was to do it again"
    desk.choose("undo")


def clear(desk: Desk) -> None:
    """Begin again after a failure, so that the next tool has a fair start."""
    for dialog in desk.window.findChildren(QDialog):
        dialog.close()
    desk.curve.cancel_gesture()
    desk.history.reset(start_of(desk.family))


@pytest.fixture
def desk(
    request: pytest.FixtureRequest,
    new_window: Callable[..., MainWindow],
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    # How well a search ends is asked elsewhere; here its end alone counts.
    monkeypatch.setattr(fit, "TRIED", 12)
    monkeypatch.setattr(fit, "STARTS", 1)
    window = new_window(start_of(request.param), (1000, 680))
    settle(window, qtbot)
    return Desk(window, request.param, qtbot)


def what_is_grey(desk: Desk) -> None:
    """The actions of the table are grey, and their keys do nothing; elsewhere they are not."""
    desk.begin()
    before, tool = desk.document, desk.editor.tools.tool
    for action, (families, _, _) in GREY.items():
        grey = desk.family in families
        assert desk.window.actions_by_id[action].isEnabled() != grey, action
        if grey and SPECS[action].shortcut:
            desk.choose(action)
    assert (desk.document, desk.editor.tools.tool) == (before, tool)
    if desk.family in GREY["tool:handles"][0]:
        button = desk.curve.tools.findChild(QToolButton, names.CURVE_TOOL_PREFIX + "handles")
        assert re.fullmatch(r"Handles: [A-Z].{20,}\.", button.toolTip())


def weights_after_a_drag(desk: Desk) -> None:
    """What the matrices show then is softmax(content + family + edit), in float64 and by hand."""
    desk.begin()
    if desk.is_plane:
        plane_drag(desk, (1, 4), 60)
    else:
        desk.curve.radius = 1
        drag(desk.curve.plot, desk.at(-2), desk.at(-2, -70))
    desk.settle()
    assert desk.history.can_undo
    q, k = (each[HEAD].double().numpy() for each in (desk.inputs.q, desk.inputs.k))
    added = term(desk.encoding, desk.inputs)[HEAD] + spread_out(desk.edit.astype(np.float64))[HEAD]
    scores = q @ k.T / math.sqrt(DIM) + added
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    frame = desk.window.frame
    close([frame.field.row(query).weight for query in range(N)], shares, 1e-5)
    tile = frame.tiles["weights"]
    part = ((shares - tile.levels.low) / (tile.levels.high - tile.levels.low)).clip(0, 1)
    assert np.abs(tile.codes - LAST_VALUE * part).max() < 0.6  # the colours, cell by cell
    desk.choose("undo")


@pytest.mark.parametrize("desk", FAMILIES, indirect=True)
def test_every_tool_keeps_its_promise_in_one_step(desk: Desk) -> None:
    checks = {name: partial(drive, desk, tool) for name, tool in tools_of(desk.family).items()}
    checks["what is grey"] = partial(what_is_grey, desk)
    checks["weights after a drag"] = partial(weights_after_a_drag, desk)
    failures = []
    for name, one in checks.items():
        try:
            one()
        except Exception as error:
            error.add_note(f"— with “{name}” on {desk.family}")
            failures.append(error)
            clear(desk)
    if failures:
        raise ExceptionGroup(f"tools of {desk.family}", failures)
