"""Dialogs, the message bar and the icons."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage, QTextDocument
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPushButton, QRadioButton, QTextBrowser

from relpos_viewer.app.actions import ACTIONS, GESTURES
from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.export.figures import FORMATS, PANELS, FigureOptions
from relpos_viewer.resources import resource
from relpos_viewer.sources.contents import Question
from relpos_viewer.views import names
from relpos_viewer.views.dialogs import (
    AboutDialog,
    ExportFigureDialog,
    HelpDialog,
    QuestionDialog,
    ShortcutsDialog,
)
from relpos_viewer.views.help_dialog import TOPICS
from relpos_viewer.views.icons import app_icon, icon
from relpos_viewer.views.icons import names as icon_names
from relpos_viewer.views.message_bar import NOTE_SHORTEST, MessageBar
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import DARK, LIGHT, THEMES, stylesheet

# Figures


@pytest.fixture
def export(qtbot):
    def make(state=None) -> ExportFigureDialog:
        dialog = ExportFigureDialog("T5 log buckets, head 1", state or {}, LIGHT)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def child(dialog, name: str):
    return dialog.findChild(object, name)


def test_the_first_choices_are_those_of_a_figure_without_options(export):
    assert export().options() == replace(FigureOptions(), dpi=96.0)


def test_every_choice_reaches_the_options(export):
    dialog = export()
    child(dialog, names.EXPORT_PANEL_PREFIX + "content").setChecked(False)
    child(dialog, names.EXPORT_PANEL_PREFIX + "curve").setChecked(False)
    unit = child(dialog, names.EXPORT_UNIT)
    unit.setCurrentIndex(unit.findData("mm"))
    unit.activated.emit(unit.currentIndex())
    child(dialog, names.EXPORT_WIDTH).setValue(120)
    child(dialog, names.EXPORT_HEIGHT).setValue(60)
    child(dialog, names.EXPORT_DPI).setValue(600)
    child(dialog, names.EXPORT_TITLE).setText("Head 3")
    child(dialog, names.EXPORT_LABELS).setChecked(False)
    child(dialog, names.EXPORT_THEME).setCurrentIndex(1)
    assert dialog.options() == FigureOptions(
        panels=("positional", "scores", "weights"),
        width=120,
        height=60,
        unit="mm",
        dpi=600,
        title="Head 3",
        labels=False,
        theme="dark",
    )


@pytest.mark.parametrize(
    ("checked", "text", "title"), [(True, "", None), (True, " T ", "T"), (False, "T", "")]
)
def test_a_title_is_automatic_typed_or_none(export, checked, text, title):
    dialog = export()
    child(dialog, names.EXPORT_TITLED).setChecked(checked)
    child(dialog, names.EXPORT_TITLE).setText(text)
    assert dialog.options().title == title


def test_what_was_chosen_is_there_the_next_time(export):
    first = export()
    child(first, names.EXPORT_PANEL_PREFIX + "scores").setChecked(False)
    child(first, names.EXPORT_FORMAT).setCurrentIndex(2)
    child(first, names.EXPORT_WIDTH).setValue(801)
    child(first, names.EXPORT_DPI).setValue(150)
    child(first, names.EXPORT_TITLE).setText("T")
    again = export(first.state())
    assert again.options() == first.options()
    assert again.format() == first.format() == FORMATS[2]
    assert again.state() == first.state()


def test_settings_of_another_version_do_no_harm(export):
    dialog = export({"panels": ["gone"], "unit": "furlong", "format": "bmp", "theme": "sepia"})
    assert dialog.format() == FORMATS[0]
    assert dialog.options().unit == "px"


def test_millimetres_and_inches_keep_the_size_on_paper(export):
    dialog = export()
    unit, width = child(dialog, names.EXPORT_UNIT), child(dialog, names.EXPORT_WIDTH)
    for value in ("mm", "in"):
        unit.setCurrentIndex(unit.findData(value))
        unit.activated.emit(unit.currentIndex())
    assert width.value() == pytest.approx(180 / 25.4, abs=1e-3)
    assert dialog.options().dpi == 300


SIZES = [
    ("px", 800, 96, "800 pixels wide"),
    ("mm", 180, 300, "2,126 pixels wide"),
    ("in", 7, 300, "2,100 pixels wide"),
]


@pytest.mark.parametrize(("unit", "width", "dpi", "words"), SIZES)
def test_the_size_is_said_in_pixels(export, unit, width, dpi, words):
    dialog = export({"unit": unit, "width": width, "dpi": dpi})
    assert any(words in label.text() for label in dialog.findChildren(QLabel))


def test_without_a_panel_nothing_can_be_saved(export):
    dialog = export()
    for panel in PANELS:
        child(dialog, names.EXPORT_PANEL_PREFIX + panel).setChecked(False)
    assert not child(dialog, names.EXPORT_SAVE).isEnabled()
    assert not child(dialog, names.EXPORT_COPY).isEnabled()
    assert any("at least one panel" in label.text() for label in dialog.findChildren(QLabel))


def test_a_size_that_is_no_number_is_refused_in_words_and_changes_nothing(export, qtbot):
    dialog = export()
    line = child(dialog, names.EXPORT_WIDTH).findChild(QLineEdit)
    line.selectAll()
    qtbot.keyClicks(line, "wide")
    child(dialog, names.EXPORT_DPI).setFocus()
    dialog.activateWindow()
    child(dialog, names.EXPORT_WIDTH).interpretText()
    assert any("“wide” is not a number" in label.text() for label in dialog.findChildren(QLabel))
    assert dialog.options().width == 1600


@pytest.mark.parametrize(("typed", "written"), [("a", "a.png"), ("a.svg", "a.svg"), ("a.b", "a.b.png")])
def test_a_name_without_a_known_suffix_gets_the_chosen_one(export, typed, written):
    dialog = export()
    heard = []
    dialog.save_requested.connect(lambda options, path: heard.append((options, path)))
    dialog.save_to(f"/tmp/{typed}")
    assert heard == [(dialog.options(), f"/tmp/{written}")]


def test_copying_leaves_the_dialog_open(export, qtbot):
    dialog = export()
    with qtbot.waitSignal(dialog.copy_requested) as signal:
        child(dialog, names.EXPORT_COPY).click()
    assert signal.args == [dialog.options()]
    assert dialog.isVisible()


# Questions and values

ORDER = Question(
    "q has shape [12, 12, 32]; say which axis is which.",
    "order",
    [("hnd", "head, position & dimension"), ("nhd", "position, head, dimension")],
)


def test_a_question_shows_every_option_and_answers_with_the_chosen_value(qtbot):
    dialog = QuestionDialog(ORDER, "a.npz")
    qtbot.addWidget(dialog)
    assert dialog.answer() == "hnd"
    buttons = dialog.findChildren(QRadioButton)
    assert [button.accessibleName() for button in buttons] == [title for _, title in ORDER.options]
    dialog.findChild(QRadioButton, names.QUESTION_OPTION_PREFIX + "nhd").click()
    assert dialog.answer() == "nhd"
    assert any(str(ORDER) == label.text() for label in dialog.findChildren(QLabel))


def test_the_answer_is_remembered_unless_the_user_says_otherwise(qtbot):
    dialog = QuestionDialog(ORDER, "a.npz")
    qtbot.addWidget(dialog)
    assert dialog.remember()
    dialog.findChild(QCheckBox, names.QUESTION_REMEMBER).click()
    assert not dialog.remember()


def test_fifty_options_leave_the_dialog_on_the_screen(qtbot):
    question = Question("which column?", "column", [(str(k), f"column {k}") for k in range(50)])
    dialog = QuestionDialog(question, "a.csv")
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.height() < 600


# Keys and help


def test_every_action_with_keys_and_every_gesture_is_listed(qtbot):
    dialog = ShortcutsDialog()
    qtbot.addWidget(dialog)
    words = [line[0] for line in dialog.lines()]
    assert {action.label for action in ACTIONS if action.shortcut} <= set(words)
    assert {gesture.text for gesture in GESTURES} <= set(words)


@pytest.mark.parametrize(
    ("wanted", "found", "absent"),
    [("undo", "Undo", "Redo"), ("ctrl+z", "Undo", "Open"), ("curve copy", "Copy curve", "Paste curve")],
)
def test_searching_keeps_the_lines_that_hold_every_word(qtbot, wanted, found, absent):
    dialog = ShortcutsDialog()
    qtbot.addWidget(dialog)
    dialog.findChild(QLineEdit, names.SHORTCUTS_SEARCH).setText(wanted)
    words = [line[0] for line in dialog.lines()]
    assert found in words
    assert absent not in words
    dialog.findChild(QLineEdit, names.SHORTCUTS_SEARCH).clear()
    assert absent in [line[0] for line in dialog.lines()]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_opens_with_its_heading_and_readable_links(qtbot, topic, theme):
    dialog = HelpDialog(theme)
    qtbot.addWidget(dialog)
    dialog.show_topic(topic)
    browser = dialog.findChild(object, names.HELP_TEXT)
    assert dialog.topic() == topic
    assert browser.toPlainText().startswith(dialog.findChild(object, names.HELP_TOPICS).currentItem().text())
    assert "#0000ff" not in browser.toHtml()  # the system's blue cannot be read on a dark ground


@pytest.mark.parametrize("topic", TOPICS)
def test_every_link_of_the_help_leads_to_a_topic(qtbot, topic):
    dialog = HelpDialog(LIGHT)
    qtbot.addWidget(dialog)
    text = resource("help", f"{topic}.md").read_text(encoding="utf-8")
    for target in re.findall(r"(?<!!)\[[^]]*\]\(([^)]+)\)", text):
        dialog.findChild(object, names.HELP_TEXT).anchorClicked.emit(QUrl(target))
        assert f"{dialog.topic()}.md" == target


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_help_tells_of_every_family_its_parameters_its_trap_and_its_paper(family):
    text = resource("help", "encodings.md").read_text(encoding="utf-8")
    section = text.partition(f"### {family.title}\n")[2].partition("\n#")[0]
    assert family.summary in section
    assert family.paper.lower() in section.lower()
    assert "Watch out: " in section
    assert "Handle" in section
    for parameter in family.parameters:
        assert f"`{parameter.name}`" in section


@pytest.mark.parametrize("name", FAMILIES)
def test_the_help_shows_a_picture_of_every_family(qtbot, name):
    dialog = HelpDialog(LIGHT)
    qtbot.addWidget(dialog)
    dialog.show_topic("encodings")
    browser = dialog.findChild(QTextBrowser, names.HELP_TEXT)
    picture = f"../screenshots/families/{name}.png"
    assert picture in browser.toHtml()
    path = resource("screenshots", "families", f"{name}.png")
    assert path.stat().st_size <= 60_000
    kind = QTextDocument.ResourceType.ImageResource
    image = browser.document().resource(kind, browser.document().baseUrl().resolved(QUrl(picture)))
    shown = image if isinstance(image, QImage) else QImage(str(path))
    assert shown.width() == 700
    assert browser.document().baseUrl().resolved(QUrl(picture)).toLocalFile() == str(path)


def test_the_help_has_no_text_that_no_topic_shows():
    assert {file.stem for file in resource("help").glob("*.md")} == set(TOPICS)


def test_versions_can_be_copied(qtbot):
    dialog = AboutDialog("cpu")
    qtbot.addWidget(dialog)
    next(button for button in dialog.findChildren(QPushButton) if button.text() == "Copy versions").click()
    copied = QGuiApplication.clipboard().text()
    assert all(name in copied for name in ("relpos-viewer", "Python", "Qt", "torch"))


# Messages


@pytest.fixture
def bar(qtbot) -> MessageBar:
    bar = MessageBar()
    qtbot.addWidget(bar)
    bar.set_theme(LIGHT)
    return bar


def test_an_error_stays_and_a_note_leaves_by_itself(bar, qtbot, monkeypatch):
    monkeypatch.setattr("relpos_viewer.views.message_bar.NOTE_SHORTEST", 30)
    monkeypatch.setattr("relpos_viewer.views.message_bar.NOTE_PER_CHARACTER", 0)
    bar.show_note("Batch axis of length 1 dropped.")
    assert bar.isVisible()
    qtbot.waitUntil(lambda: not bar.isVisible(), timeout=2000)
    bar.show_error("a.npy is cut off.")
    qtbot.wait(120)
    assert bar.isVisible()
    assert NOTE_SHORTEST >= 4000


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("there is no text; type one.", "There is no text; type one."),
        ("q has shape [3].", "q has shape [3]."),
        ("num_buckets must be even.", "num_buckets must be even."),
        ("a.npz does not exist.", "a.npz does not exist."),
        ("“x” is not a number.", "“x” is not a number."),
        ("", ""),
    ],
)
def test_a_message_begins_like_a_sentence_unless_it_begins_with_a_name(bar, said, shown):
    bar.show_error(said)
    assert bar.text() == shown


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ViewerError("the formula is empty."), "The formula is empty."),
        (ViewerError("num_buckets must be even."), "num_buckets must be even."),
        (ValueError("low"), "Something went wrong: low"),
        (RuntimeError("no room"), "Something went wrong: no room"),
    ],
)
def test_an_error_is_told_in_its_own_words_only_where_they_were_written_for_people(error, shown):
    assert told(error) == shown


def test_a_note_never_takes_the_place_of_an_error_but_an_error_does(bar):
    bar.show_note("First.")
    bar.show_error("Second.")
    bar.show_note("Third.")
    assert (bar.text(), bar.is_error) == ("Second.", True)
    bar.show_error("Fourth.")
    assert bar.text() == "Fourth."
    bar.dismiss()
    bar.show_note("Fifth.")
    assert (bar.text(), bar.is_error) == ("Fifth.", False)
    bar.dismiss()


def test_closing_a_message_is_reported_and_dismissing_is_not(bar):
    closed = []
    bar.closed.connect(lambda: closed.append(True))
    bar.show_error("x")
    bar.dismiss()
    assert closed == []
    bar.show_error("x")
    bar.findChild(object, names.MESSAGE_CLOSE).click()
    assert closed == [True]
    assert not bar.isVisible()


def test_a_screen_reader_is_told_the_sentence(bar):
    bar.show_error("a.npy is cut off; write it again.")
    assert bar.accessibleDescription() == "a.npy is cut off; write it again."


# Icons


@pytest.mark.parametrize("name", icon_names())
def test_every_drawing_is_recoloured_for_each_theme(qtbot, name):
    if name == "app":
        return
    for theme in THEMES.values():
        image = icon(name, theme).pixmap(24, 24).toImage()
        inks = [image.pixelColor(x, y) for x in range(24) for y in range(24)]
        drawn = [ink for ink in inks if ink.alpha() == 255]
        assert drawn, f"{name} draws nothing"
        assert all(abs(ink.lightness() - QColor(theme.text).lightness()) < 12 for ink in drawn)


def test_every_action_has_a_drawing_that_exists():
    assert {action.icon for action in ACTIONS if action.icon} <= set(icon_names())


def test_a_disabled_icon_is_faint(qtbot):
    drawn = icon("undo", LIGHT)
    normal, faint = (
        drawn.pixmap(24, 24, mode).toImage() for mode in (drawn.Mode.Normal, drawn.Mode.Disabled)
    )
    assert normal != faint


def test_the_programs_own_icon_has_colours(qtbot):
    image = app_icon().pixmap(64, 64).toImage()
    assert len({image.pixelColor(x, y).name() for x in range(64) for y in range(64)}) > 20


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_the_style_sheet_names_only_files_that_exist(theme, qtbot):
    paths = re.findall(r'url\("([^"]+)"\)', stylesheet(theme))
    assert len(paths) >= 5
    for path in paths:
        assert path.startswith("/") and resource("themes", path.rsplit("/", 1)[1]).is_file()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExportFigureDialog("x", {}, LIGHT),
        lambda: QuestionDialog(ORDER, "a.npz"),
        ShortcutsDialog,
        lambda: HelpDialog(LIGHT),
        lambda: AboutDialog("cpu"),
    ],
    ids=["export", "question", "shortcuts", "help", "about"],
)
def test_escape_closes_every_dialog_and_every_field_has_a_name(qtbot, make):
    dialog = make()
    qtbot.addWidget(dialog)
    dialog.show()
    fields = [w for w in dialog.findChildren(QLineEdit) if not w.objectName().startswith("qt_")]
    for widget in [*fields, *dialog.findChildren(QRadioButton)]:
        assert widget.accessibleName(), widget
        assert widget.objectName(), widget
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
