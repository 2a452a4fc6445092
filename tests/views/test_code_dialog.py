"""Taking an encoding along: the dialog of code, the clipboard, and opening an exported encoding again."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PySide6.QtWidgets import QApplication, QComboBox, QPlainTextEdit, QPushButton

from relpos_viewer.core.attention import attend
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, replace
from relpos_viewer.export.code import CODE_KINDS
from relpos_viewer.views import names
from relpos_viewer.views.code_dialog import CodeDialog
from relpos_viewer.views.main_window import MainWindow

TEXT = TextSource("one two three four", heads=2, dim=4)


@pytest.fixture
def window(new_window: Callable[..., MainWindow], qtbot) -> MainWindow:
    edit = np.zeros((2, 7), np.float32)
    edit[1, 2] = 1.5
    document = replace(
        Document.default(), source=TEXT, encoding=EncodingSpec("absolute"), edit=EditCurve(edit), scale=0.3
    )
    window = new_window(document)
    qtbot.waitUntil(lambda: window.frame is not None and not window.runner.is_busy)
    return window


@pytest.fixture
def dialog(window, qtbot) -> CodeDialog:
    window.actions_by_id["export_encoding"].trigger()
    dialog = window.findChild(CodeDialog, names.CODE_DIALOG)
    qtbot.waitUntil(lambda: "def bias(" in dialog.code())
    return dialog


def numbers(code: str, window: MainWindow) -> tuple[torch.Tensor, torch.Tensor]:
    """What the code gives for the document's own vectors, and the picture's term."""
    module: dict = {}
    exec(compile(code, "exported.py", "exec"), module)
    frame = window.frame
    inputs = frame.inputs
    document = frame.document
    exact = attend(
        inputs,
        frame.encoding,
        scale=document.scale,
        mask=parse_mask(document.mask),
        edit=document.edit.at(inputs.heads, inputs.n_key),
    )
    return module["bias"](inputs.n_query, inputs.n_key, inputs.q, inputs.k), exact.positional


def test_the_dialog_shows_code_that_gives_the_numbers_of_the_picture(window, dialog) -> None:
    mine, wanted = numbers(dialog.code(), window)
    torch.testing.assert_close(mine, wanted, atol=1e-6, rtol=1e-5)


def test_the_dialog_follows_the_document(window, dialog, qtbot) -> None:
    window.edits.set_encoding(EncodingSpec("alibi"))
    qtbot.waitUntil(lambda: "ALiBi" in dialog.code())
    window.history.undo()
    qtbot.waitUntil(lambda: "Absolute" in dialog.code())


def test_every_kind_is_shown_copied_and_remembered(window, dialog, qtbot) -> None:
    box = dialog.findChild(QComboBox, names.CODE_KIND)
    telling = {"python": "def bias(", "score-mod": "def score_mod_for(", "json": '"encoding": "absolute"'}
    for place, kind in reversed([*enumerate(CODE_KINDS)]):
        box.setCurrentIndex(place)
        qtbot.waitUntil(lambda kind=kind: telling[kind.name] in dialog.code())
        dialog.findChild(QPushButton, names.CODE_COPY).click()
        assert QApplication.clipboard().text() == dialog.code()
        assert window.settings.code_kind == kind.name
    assert dialog.findChild(QPlainTextEdit, names.CODE_TEXT).isReadOnly()


@pytest.mark.parametrize(
    ("name", "written", "telling"),
    [
        ("x.py", "x.py", "def bias("),
        ("x.mod.py", "x.mod.py", "score_mod"),
        ("x.encoding.json", "x.encoding.json", "relpos-viewer encoding"),
        ("x", "x.py", "def bias("),
    ],
)
def test_a_file_is_written_as_its_name_says(dialog, qtbot, tmp_path, name, written, telling) -> None:
    dialog.save_to(str(tmp_path / name))
    qtbot.waitUntil(lambda: (tmp_path / written).exists())
    assert telling in (tmp_path / written).read_text(encoding="utf-8")


def test_what_cannot_be_written_is_said_in_the_dialog(dialog, qtbot, tmp_path) -> None:
    said = []
    dialog.say_error = said.append
    dialog.save_to(str(tmp_path / "no" / "x.py"))
    qtbot.waitUntil(lambda: bool(said))
    assert "does not exist" in said[0]


def test_an_encoding_too_large_for_code_is_said_and_cannot_be_saved(window, dialog, qtbot) -> None:
    window.edits.set_encoding(EncodingSpec("transformer-xl", {"width": 30_000}))
    save = dialog.findChild(QPushButton, names.CODE_SAVE)
    qtbot.waitUntil(lambda: not save.isEnabled(), timeout=20_000)
    assert dialog.code() == ""


def test_copy_as_code_puts_the_function_on_the_clipboard(window, qtbot) -> None:
    QApplication.clipboard().clear()
    window.actions_by_id["copy_code"].trigger()
    qtbot.waitUntil(lambda: "def bias(" in QApplication.clipboard().text())
    mine, wanted = numbers(QApplication.clipboard().text(), window)
    torch.testing.assert_close(mine, wanted, atol=1e-6, rtol=1e-5)


def test_an_exported_encoding_is_opened_as_one_step(window, qtbot, tmp_path) -> None:
    path = tmp_path / "k.encoding.json"
    record = {
        "format": "relpos-viewer encoding",
        "version": 1,
        "encoding": "kerple-log",
        "parameters": {"p": [0.5, 1.5], "a": [1.0, 2.0]},
        "edit": {"first_offset": -1, "values": [[0, 2, 0], [0, 0, 3]]},
    }
    path.write_text(json.dumps(record), encoding="utf-8")
    before = window.session.document
    window.files.open_path(path)
    qtbot.waitUntil(lambda: window.session.document.encoding.name == "kerple-log")
    document = window.session.document
    assert document.source is before.source
    np.testing.assert_array_equal(document.edit.values, [[0, 2, 0], [0, 0, 3]])
    window.history.undo()
    assert window.session.document.encoding.name == "absolute"
    assert window.session.document.edit == before.edit


def test_a_broken_encoding_file_changes_nothing_and_says_why(window, qtbot, tmp_path) -> None:
    path = tmp_path / "k.encoding.json"
    path.write_text("{", encoding="utf-8")
    said = []
    window.say_error = lambda error: said.append(str(error))
    window.files.open_path(path)
    qtbot.waitUntil(lambda: bool(said))
    assert "is not JSON" in said[0]
    assert window.session.document.encoding.name == "absolute"
