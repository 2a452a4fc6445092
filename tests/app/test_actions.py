"""The table of actions is complete, in plain words, and no two of its keys clash."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence

from relpos_viewer.app.actions import ACTIONS, DYNAMIC_MENUS, GESTURES, MENUS, make_actions, shortcuts_table
from relpos_viewer.document import document as doc
from relpos_viewer.resources import resource

WANTED = [
    "new",
    "open",
    "save",
    "save_as",
    "export_figure",
    "export_data",
    "export_curve",
    "export_encoding",
    "copy_picture",
    "quit",
    "undo",
    "redo",
    "copy_curve",
    "copy_code",
    "paste_curve",
    "exact_value",
    "reset_point",
    "reset_curve",
    "reset_all",
    "range_scale",
    "range_shift",
    "range_flatten",
    "range_straighten",
    "range_smooth",
    "range_mirror",
    "range_reverse",
    "range_turn",
    "range_formula",
    "mirror",
    "snap",
    "all_heads",
    "full_view",
    "zoom_in",
    "zoom_out",
    "inspector",
    "labels",
    "lock_levels",
    "weights_log",
    "head_strip",
    "hide_first_key",
    "edit_text",
    "tokens_from",
    "axes",
    "source_size",
    "next_head",
    "previous_head",
    "edit_curve",
    "radius_up",
    "radius_down",
    "conventions",
    "shift_test",
    "fit",
    "extrapolation",
    "getting_started",
    "shortcuts",
    "about",
]

# Each group of choices offers exactly what a document, a brush or the settings can hold.
CHOICES = {
    "layout": get_args(doc.Layout),
    "levels": get_args(doc.LevelMode),
    "reduce": get_args(doc.Reduce),
    "curve_axis": get_args(doc.CurveAxis),
    "tokenizer": get_args(doc.Tokenizer),
    "theme": ("system", "light", "dark"),
    "tool": ("brush", "freehand", "anchors", "handles"),
    "shape": ("step", "linear", "smooth"),
}

every_action = pytest.mark.parametrize("spec", ACTIONS, ids=[spec.id for spec in ACTIONS])


@pytest.fixture
def actions(qapp):
    parent = QObject()
    yield make_actions(parent)
    parent.deleteLater()


def test_the_table_holds_every_action_once():
    plain = [spec.id for spec in ACTIONS if not spec.group]
    assert sorted(plain) == sorted(WANTED)


@pytest.mark.parametrize(("group", "values"), CHOICES.items(), ids=CHOICES.keys())
def test_a_group_offers_exactly_the_values_there_are(group, values):
    assert sorted(spec.value for spec in ACTIONS if spec.group == group) == sorted(values)


@pytest.mark.parametrize("group", ["terms_map", "weights_map"])
def test_the_default_colour_map_can_be_chosen_again(group):
    values = [spec.value for spec in ACTIONS if spec.group == group]
    assert getattr(doc.View(), group) in values
    assert len(values) == len(set(values)) > 3


def test_no_two_actions_have_the_same_keys():
    keys = Counter(sequence.toString() for spec in ACTIONS for sequence in spec.shortcuts)
    assert [key for key, count in keys.items() if count > 1] == []


def test_no_key_is_the_beginning_of_another():
    sequences = [sequence for spec in ACTIONS for sequence in spec.shortcuts]
    clashes = [
        (one.toString(), other.toString())
        for one in sequences
        for other in sequences
        if one is not other and one.matches(other) != QKeySequence.SequenceMatch.NoMatch
    ]
    assert clashes == []


@every_action
def test_an_action_says_in_words_what_it_does(spec):
    assert spec.text
    assert spec.text[0].isupper()
    assert "&" not in spec.text
    assert spec.label
    assert not spec.label.endswith("…")
    assert spec.tip.endswith(".")
    assert spec.tip.rstrip(".").lower() != spec.label.lower()
    assert ".." not in spec.tip
    assert "…" not in spec.tip


@every_action
def test_the_keys_of_an_action_can_be_read_by_qt(spec):
    for part, sequence in zip(filter(None, spec.shortcut.split("; ")), spec.shortcuts, strict=True):
        assert sequence.toString() == part


@every_action
def test_keys_that_type_text_or_move_in_it_belong_to_the_curve_or_are_brackets(spec):
    for sequence in spec.shortcuts:
        modified = sequence[0].keyboardModifiers() != Qt.KeyboardModifier.NoModifier
        function = sequence[0].key() in (Qt.Key.Key_F1, Qt.Key.Key_F11)
        assert modified or function or spec.scope == "curve" or sequence.toString() in "[]"


@every_action
def test_the_drawing_of_an_action_exists(spec):
    assert not spec.icon or resource("icons", f"{spec.icon}.svg").is_file()


def test_every_action_stands_in_a_menu_of_the_bar():
    bar = {name for name, title in MENUS}
    assert {spec.menu.split("/")[0] for spec in ACTIONS} | {"Device"} == bar
    assert {menu.menu.split("/")[0] for menu in DYNAMIC_MENUS} <= bar


def test_the_mnemonics_of_the_menu_bar_differ():
    letters = [title[title.index("&") + 1].lower() for name, title in MENUS]
    assert len(set(letters)) == len(MENUS)
    assert [title.replace("&", "") for name, title in MENUS] == [name for name, title in MENUS]


def test_texts_differ_within_a_menu():
    texts = Counter((spec.menu, spec.text) for spec in ACTIONS)
    assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("menu", DYNAMIC_MENUS, ids=[menu.menu for menu in DYNAMIC_MENUS])
def test_a_menu_filled_later_has_its_place_words_and_drawing(menu):
    menus = {spec.id: spec.menu for spec in ACTIONS}
    assert not menu.after or menus[menu.after] == menu.menu.rpartition("/")[0]
    assert menu.tip.endswith(".")
    assert resource("icons", f"{menu.icon}.svg").is_file()


@every_action
def test_a_qt_action_is_made_from_its_row(actions, spec):
    action = actions[spec.id]
    assert action.objectName() == f"action_{spec.id}"
    assert action.text() == spec.text
    assert action.toolTip().startswith(spec.tip)
    assert action.statusTip() == spec.tip
    assert action.shortcuts() == spec.shortcuts
    assert action.isCheckable() == spec.checkable
    assert (action.actionGroup() is not None) == bool(spec.group)
    within = action.shortcutContext() == Qt.ShortcutContext.WidgetWithChildrenShortcut
    assert within == (spec.scope == "curve")


def test_choices_of_one_group_exclude_one_another(actions):
    actions["layout:row"].setChecked(True)
    actions["theme:dark"].setChecked(True)
    actions["layout:grid"].setChecked(True)
    assert not actions["layout:row"].isChecked()
    assert actions["theme:dark"].isChecked()


def test_the_table_for_people_has_every_key_and_every_gesture():
    rows = shortcuts_table()
    assert all(len(row) == 3 and all(row) for row in rows)
    assert len(rows) == sum(bool(spec.shortcut) for spec in ACTIONS) + len(GESTURES)
    assert ("View ▸ Layout", "Row", "Ctrl+1") in rows
    assert ("Edit", "Redo", "Ctrl+Shift+Z or Ctrl+Y") in rows


def test_what_shows_a_state_leaves_the_place_of_the_check_mark_free_in_menus(actions):
    for spec in ACTIONS:
        assert actions[spec.id].isIconVisibleInMenu() is not spec.checkable, spec.id
