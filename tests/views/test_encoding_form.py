"""The encoding form: one widget a parameter, made from the registry; refused values change nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QToolButton,
    QWidget,
)

from relpos_viewer.core.encodings import FAMILIES, GROUPS
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import EncodingSpec
from relpos_viewer.sources.table_file import read_table_file
from relpos_viewer.views import names
from relpos_viewer.views.encoding_form import EncodingForm, EncodingPicker
from relpos_viewer.views.number_boxes import DecimalBox, IntegerBox
from relpos_viewer.views.theme import LIGHT, stylesheet


@pytest.fixture
def form(qtbot) -> EncodingForm:
    form = EncodingForm()
    qtbot.addWidget(form)
    form.set_spec(EncodingSpec("t5"))
    form.show()
    return form


@pytest.fixture
def picker(qtbot) -> EncodingPicker:
    picker = EncodingPicker()
    qtbot.addWidget(picker)
    picker.show()
    return picker


@pytest.fixture
def specs(form) -> list[EncodingSpec]:
    specs = []
    form.spec_changed.connect(specs.append)
    return specs


def editor(form: QWidget, name: str) -> QWidget:
    return form.findChild(QWidget, names.PARAMETER_PREFIX + name)


def enter(qtbot, box: QWidget, text: str) -> None:
    line = box.findChild(QLineEdit)
    line.selectAll()
    qtbot.keyClicks(line, text)
    qtbot.keyClick(line, Qt.Key.Key_Return)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_parameter_of_every_family_has_a_widget_that_shows_its_default_and_help(form, specs, family):
    form.set_spec(EncodingSpec(family.name))
    for parameter in family.parameters:
        widget = editor(form, parameter.name)
        assert widget.toolTip() == parameter.help
        assert widget.accessibleName()
        shown = {
            "int": lambda w: w.value(),
            "float": lambda w: w.value(),
            "bool": lambda w: w.isChecked(),
            "choice": lambda w: w.currentText(),
            "table": lambda w: None,
        }[parameter.kind](widget)
        assert shown == parameter.default
    assert specs == []


def test_a_new_number_is_reported_once_and_only_what_differs_is_kept(form, specs, qtbot):
    enter(qtbot, editor(form, "num_buckets"), "16")
    assert [(spec.name, dict(spec.parameters)) for spec in specs] == [("t5", {"num_buckets": 16})]
    enter(qtbot, editor(form, "num_buckets"), "32")
    assert dict(specs[-1].parameters) == {}


def test_a_checkbox_is_reported(form, specs):
    editor(form, "bidirectional").click()
    assert dict(specs[-1].parameters) == {"bidirectional": False}


def test_a_choice_is_reported(form, specs, qtbot):
    form.set_spec(EncodingSpec("alibi"))
    editor(form, "form").setFocus()
    qtbot.keyClick(editor(form, "form"), Qt.Key.Key_Down)
    assert dict(specs[-1].parameters) == {"form": "symmetric"}


REFUSED = [
    ("t5", "num_buckets", "31", "num_buckets must be even"),
    ("t5", "num_buckets", "1", "num_buckets must lie between 2 and 4096"),
    ("t5", "num_buckets", "12.5", "whole number"),
    ("t5", "num_buckets", "many", "must be a number"),
    ("t5", "max_distance", "3", "max_distance must be above 8"),
    ("rope", "fraction", "1.5", "fraction must lie between 0 and 1"),
    ("rope", "base", "x", "base must be a number"),
    ("rope", "base", "1e999", "base must be a number"),
]


@pytest.mark.parametrize(("family", "name", "text", "sentence"), REFUSED)
def test_a_refused_value_is_explained_and_the_last_good_one_stays(
    form, specs, qtbot, family, name, text, sentence
):
    form.set_spec(EncodingSpec(family))
    enter(qtbot, editor(form, name), text)
    assert sentence in form.error()
    assert specs == []
    form.set_spec(EncodingSpec(family))  # the window shows the unchanged document: the reason stays
    assert sentence in form.error()


def test_a_mended_value_takes_the_explanation_away(form, specs, qtbot):
    enter(qtbot, editor(form, "num_buckets"), "31")
    enter(qtbot, editor(form, "num_buckets"), "30")
    assert form.error() == ""
    assert dict(specs[-1].parameters) == {"num_buckets": 30}


def test_two_values_that_only_fit_together_can_be_given_one_after_the_other(form, specs, qtbot):
    enter(qtbot, editor(form, "num_buckets"), "31")
    editor(form, "bidirectional").click()
    assert form.error() == ""
    assert dict(specs[-1].parameters) == {"num_buckets": 31, "bidirectional": False}


@pytest.mark.parametrize(("text", "value"), [("0,5", 0.5), ("0.25", 0.25), ("1e-3", 0.001)])
def test_decimals_take_comma_and_point(form, specs, qtbot, text, value):
    form.set_spec(EncodingSpec("rope"))
    enter(qtbot, editor(form, "fraction"), text)
    assert dict(specs[-1].parameters) == {"fraction": value}


def test_defaults_take_every_parameter_back(form, specs):
    form.set_spec(EncodingSpec("t5", {"num_buckets": 16, "bidirectional": False}))
    form.findChild(QToolButton, names.ENCODING_DEFAULTS).click()
    assert dict(specs[-1].parameters) == {}
    assert editor(form, "num_buckets").value() == 32


@pytest.mark.parametrize("kind", [IntegerBox, DecimalBox])
def test_the_wheel_passes_a_box_that_nobody_chose(qtbot, kind):
    box = kind(0, 10)
    qtbot.addWidget(box)
    box.setValue(5)
    box.show()
    QApplication.sendEvent(box, _wheel(box))
    assert box.value() == 5
    box.activateWindow()
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    QApplication.sendEvent(box, _wheel(box))
    assert box.value() > 5


def _wheel(widget: QWidget) -> QWheelEvent:
    return QWheelEvent(
        QPointF(5, 5),
        QPointF(widget.mapToGlobal(QPoint(5, 5))),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )


# Tables


def test_a_loaded_table_is_reported_and_can_be_forgotten(form, specs, tmp_path):
    table = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    np.save(tmp_path / "t.npy", table)
    editor(form, "table").load(tmp_path / "t.npy")
    np.testing.assert_array_equal(specs[-1].parameters["table"], table)
    editor(form, "table").set_value(specs[-1].parameters["table"])
    next(b for b in editor(form, "table").findChildren(QToolButton) if b.text() == "Forget").click()
    assert dict(specs[-1].parameters) == {}


def test_a_table_of_the_wrong_shape_is_explained(form, specs, tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((3, 3, 3), np.float32))
    editor(form, "table").load(tmp_path / "t.npy")
    assert "[bucket, head]" in form.error()
    assert specs == []


def test_table_files_of_every_kind_give_the_same_numbers(tmp_path):
    from safetensors.numpy import save_file

    table = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "a.npy", table)
    np.savez(tmp_path / "a.npz", other=np.zeros(3), table=table)
    save_file({"table": table}, tmp_path / "a.safetensors")
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", fmt="%.9g")
    for suffix in ("npy", "npz", "safetensors", "csv"):
        np.testing.assert_array_equal(read_table_file(tmp_path / f"a.{suffix}"), table, err_msg=suffix)


def test_a_column_of_numbers_is_a_table_of_one_head(tmp_path):
    (tmp_path / "a.csv").write_text("0.5\n-1.25\n2\n")
    np.testing.assert_array_equal(read_table_file(tmp_path / "a.csv"), [[0.5], [-1.25], [2.0]])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.npy", None, "cannot be read"),
        ("pickle.npy", b"\x80\x04\x95K\x01.", "npy"),
        ("words.csv", b"a,b\nc,d\n", "no table of numbers"),
        ("figure.png", b"\x89PNG", "no file of tables"),
    ],
)
def test_a_file_without_a_table_is_named(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ViewerError, match=sentence) as caught:
        read_table_file(tmp_path / name)
    assert name in str(caught.value)


def test_several_arrays_without_a_telling_name_are_listed(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 2)), y=np.zeros((2, 2)))
    with pytest.raises(ViewerError, match="x, y"):
        read_table_file(tmp_path / "a.npz")


# The picker


def test_the_picker_lists_every_family_below_its_group_with_its_summary_and_paper(picker):
    box = picker.findChild(QComboBox, names.ENCODING_BOX)
    listed = [(box.itemText(row), box.itemData(row)) for row in range(box.count())]
    wanted = []
    for title, members in GROUPS.items():
        wanted += [(title, None), *((FAMILIES[name].title, name) for name in members)]
    assert listed == wanted
    assert sorted(name for _, name in listed if name) == sorted(FAMILIES)
    for row, (_, name) in enumerate(listed):
        usable = bool(box.model().item(row).flags() & Qt.ItemFlag.ItemIsEnabled)
        assert usable is (name is not None)
        if name is not None:
            tip = box.itemData(row, Qt.ItemDataRole.ToolTipRole)
            assert FAMILIES[name].summary in tip
            assert FAMILIES[name].paper in tip


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        ("ALIBI", "alibi"),
        ("window", "swin"),
        ("v2", "swin-v2"),
        ("xpos", "xpos"),
        ("nothing of it", None),
        ("", None),
    ],
)
def test_a_part_of_a_title_finds_the_family(picker, qtbot, typed, chosen):
    picker.set_spec(EncodingSpec("t5"))
    specs = []
    picker.spec_changed.connect(specs.append)
    line = picker.family.lineEdit()
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_Delete)
    qtbot.keyClicks(line, typed)
    qtbot.keyClick(line, Qt.Key.Key_Return)
    line.editingFinished.emit()
    assert [spec.name for spec in specs] == ([] if chosen is None else [chosen])
    assert line.text() == FAMILIES[chosen or "t5"].title
    assert picker.family.currentData() == (chosen or "t5")


@pytest.mark.parametrize(
    ("family", "parameters", "hidden"),
    [
        ("rope", {}, {"factor", "original", "low", "high", "attention_factor"}),
        ("rope", {"scaling_rule": "linear"}, {"original", "low", "high", "attention_factor"}),
        ("rope", {"scaling_rule": "dynamic"}, {"low", "high", "attention_factor"}),
        ("rope", {"scaling_rule": "llama3"}, {"attention_factor"}),
        ("rope", {"scaling_rule": "yarn", "high": 32.0}, set()),
        ("absolute", {}, set()),
        ("absolute", {"kind": "learned"}, {"base"}),
        ("swin-v2", {"cosine": False}, {"logit_scale"}),
    ],
)
def test_parameters_that_do_not_matter_are_hidden(form, qtbot, family, parameters, hidden):
    form.set_spec(EncodingSpec(family, parameters))
    qtbot.wait(1)  # new rows are shown by the event loop
    shown = {each.name: editor(form, each.name).isVisibleTo(form) for each in FAMILIES[family].parameters}
    assert {name for name, visible in shown.items() if not visible} == hidden


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_parameter_depends_on_another_one_and_on_values_that_it_takes(family):
    own = {each.name: each for each in family.parameters}
    for parameter in family.parameters:
        if parameter.when is not None:
            name, values = parameter.when
            assert all(own[name].read(value) == value for value in values)


def test_the_longest_form_fits_a_small_screen(picker, qtbot):
    for family, parameters in [(name, {}) for name in FAMILIES] + [
        ("rope", {"scaling_rule": "yarn", "high": 32.0})
    ]:
        picker.set_spec(EncodingSpec(family, parameters))
        picker.open_parameters()
        qtbot.wait(1)
        assert picker.popup.height() < 700, family
        picker.popup.close()


def test_going_back_to_a_family_brings_its_parameters_back(picker, qtbot):
    specs = []
    picker.spec_changed.connect(specs.append)
    box = picker.findChild(QComboBox, names.ENCODING_BOX)
    picker.set_spec(EncodingSpec("t5", {"num_buckets": 16}))
    for name in ("alibi", "t5"):
        box.setCurrentIndex(box.findData(name))
        box.activated.emit(box.currentIndex())
    assert [(spec.name, dict(spec.parameters)) for spec in specs] == [
        ("alibi", {}),
        ("t5", {"num_buckets": 16}),
    ]


def test_showing_a_spec_reports_nothing(picker):
    specs = []
    picker.spec_changed.connect(specs.append)
    for family in FAMILIES:
        picker.set_spec(EncodingSpec(family))
        assert picker.family.currentData() == family
    assert specs == []


def test_the_button_opens_the_parameters_and_editing_there_is_the_pickers_news(picker, qtbot):
    picker.set_spec(EncodingSpec("t5"))
    specs = []
    picker.spec_changed.connect(specs.append)
    picker.button.click()
    assert picker.popup.isVisible()
    enter(qtbot, editor(picker.popup, "max_distance"), "64")
    assert [dict(spec.parameters) for spec in specs] == [{"max_distance": 64}]
    qtbot.keyClick(picker.popup, Qt.Key.Key_Escape)
    assert not picker.popup.isVisible()


def test_the_popup_grows_with_the_sentence_of_an_error(picker, qtbot):
    picker.set_spec(EncodingSpec("t5"))
    picker.button.click()
    QApplication.processEvents()
    before = picker.popup.height()
    enter(qtbot, editor(picker.popup, "num_buckets"), "31")
    qtbot.waitUntil(lambda: picker.popup.height() > before)
    picker.popup.close()


def test_a_file_without_a_table_is_refused_in_sight_though_its_dialog_closed_the_parameters(
    picker, qtbot, tmp_path, monkeypatch
):
    path = tmp_path / "words.csv"
    path.write_text("hello,world\n")
    picker.set_spec(EncodingSpec("curve"))
    picker.open_parameters()
    load = editor(picker.popup, "table").focusProxy()

    def choose(*_):
        picker.popup.close()  # as Qt does when a dialog opens
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", choose)
    load.click()
    assert "holds no table" in picker.form.error()
    assert picker.popup.isVisible()
    picker.popup.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_of_a_form_is_cut_with_every_parameter_shown_tables_loaded_and_long_numbers(qtbot, family):
    picker = EncodingPicker()
    qtbot.addWidget(picker)
    picker.setStyleSheet(stylesheet(LIGHT))
    picker.set_spec(EncodingSpec(family))
    picker.show()
    form = picker.form
    for parameter in FAMILIES[family].parameters:
        shown = form.findChild(QWidget, names.PARAMETER_PREFIX + parameter.name)
        form._form.setRowVisible(shown, True)
        if parameter.kind == "table":
            shown.set_value(np.zeros((4096, 12, 64), np.float32))
        elif parameter.kind == "float":
            shown.set_value(
                min(math.inf if parameter.maximum is None else parameter.maximum, 12345.678912345)
            )
        elif parameter.kind == "choice":
            shown.set_value(max(parameter.choices, key=len))
    picker.open_parameters()
    QApplication.processEvents()
    for label in form.findChildren(QLabel):
        if label.isVisible() and not label.wordWrap():
            assert label.width() >= label.fontMetrics().horizontalAdvance(label.text()), label.text()
    for button in form.findChildren(QToolButton):
        assert not button.isVisible() or button.width() >= button.minimumSizeHint().width(), button.text()
    for box in form.findChildren(QAbstractSpinBox):
        line = box.lineEdit()
        needed = line.fontMetrics().horizontalAdvance(line.text()) + line.textMargins().left()
        assert not box.isVisible() or needed <= line.width(), line.text()
    picker.popup.hide()
