"""Public bug reports about other viewers, run through the whole window: file or text in, words and colours out.

The ids are those of the reports' table; what a smaller test can pin is pinned beside the code it is about.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from relpos_viewer.core.quantise import BELOW, BEYOND, MASKED, NAN, NEG_INF, NO_KEY, POS_INF
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.views.main_window import MainWindow
from tests.views.test_main_window import drag_curve, open_window, settle, window

__all__ = ["open_window", "window"]  # fixtures

Opener = Callable[..., MainWindow]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Answer the questions of a file in turn; returns the list that their options go into."""

    def will(*values: str) -> list[list[str]]:
        waiting, asked = list(values), []

        def exec_(dialog: QDialog) -> int:
            asked.append(dialog._values)
            dialog._group.button(dialog._values.index(waiting.pop(0))).setChecked(True)
            return QDialog.DialogCode.Accepted

        monkeypatch.setattr("relpos_viewer.views.question_dialog.QuestionDialog.exec", exec_)
        return asked

    return will


def arrays(view: View | None = None, encoding: str = "none", **parts: np.ndarray) -> Document:
    return Document(
        source=ArraySource("", "arrays", parts),
        encoding=EncodingSpec(encoding),
        mask="none",
        view=view or View(),
    )


def shown(window: MainWindow, qtbot: QtBot, document: Document) -> MainWindow:
    window.history.reset(document)
    settle(window, qtbot)
    return window


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> MainWindow:
    before = window.session.document
    window.history.set_clean()
    window.files.open_path(path)
    qtbot.waitUntil(lambda: window.session.document is not before or window.message.is_error, timeout=5000)
    settle(window, qtbot)
    return window


def readout(window: MainWindow, query: int, key: int) -> str:
    window.equation.cell_hovered.emit(query, key)
    return window.status.findChild(QLabel, "statusCell").text()


def codes(window: MainWindow, stage: str) -> list[list[int]]:
    return window.frame.tiles[stage].codes.tolist()


def marked(window: MainWindow) -> list[tuple[int, int]]:
    """UTF-16 places that are marked in the editor: the query's, then the key's."""
    selections = window.sequence.editor.extraSelections()
    return [(each.cursor.selectionStart(), each.cursor.selectionEnd()) for each in selections]


# Input

FAMILY, ACCENT, FLAG = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301", "\U0001f1e9\U0001f1ea"
CUTS = {
    # I01: three bytes of one character share its place.
    "I01 bytes": ("i ⭢ j", "bytes", 7, 4, "⭢ 3/3", (2, 3)),
    "I01 bytes of a pair of surrogates": ("a😀", "bytes", 5, 4, "😀 4/4", (1, 3)),
    # I03: rows in code points or characters, places in UTF-16.
    "I03 family, characters": (FAMILY, "characters", 1, 0, FAMILY, (0, 8)),
    "I03 family, code points": (FAMILY, "codepoints", 5, 4, "\U0001f467", (6, 8)),
    "I03 accent, characters": (ACCENT, "characters", 1, 0, ACCENT, (0, 2)),
    "I03 accent, code points": (ACCENT, "codepoints", 2, 1, "\u25cc\u0301", (1, 2)),
    "I03 flag, characters": (FLAG, "characters", 1, 0, FLAG, (0, 4)),
    "I03 flag, code points": (FLAG, "codepoints", 2, 1, "\U0001f1ea", (2, 4)),
    "I03 behind the others": (FAMILY + ACCENT + FLAG + "z", "characters", 4, 3, "z", (14, 15)),
}


@pytest.mark.parametrize(("text", "kind", "rows", "key", "label", "place"), CUTS.values(), ids=CUTS)
def test_a_hovered_token_marks_its_characters_in_the_text(
    window: MainWindow, qtbot: QtBot, text, kind, rows, key, label, place
) -> None:
    shown(window, qtbot, Document(TextSource(text, kind), EncodingSpec("none"), "none"))
    assert window.frame.n_key == rows
    assert window.frame.inputs.tokens.labels[key] == label
    assert "\ufffd" not in "".join(window.frame.inputs.tokens.labels)
    assert f"key {key} “{label}”" in readout(window, 0, key)
    assert marked(window)[-1] == place


CSV = "token,weight\nthe,0.5\n"


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbf" + CSV.encode(), b"\xff\xfe" + CSV.encode("utf-16-le"), CSV.encode("utf-16-le")],
    ids=["UTF-8 with a mark", "UTF-16 with a mark", "UTF-16 without"],
)
def test_a_table_of_a_spreadsheet_opens_without_its_mark(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, data: bytes
) -> None:
    # I05
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    opened(window, qtbot, path)
    assert window.frame.inputs.tokens.texts == ("the",)
    words = window.sequence.editor.text() + window.windowTitle()
    assert "“token”" in words and "\ufeff" not in words and "\0" not in words


@pytest.mark.parametrize("name", ["protein.fasta", "protein.txt"])
def test_residues_stand_beside_an_attention_of_two_more_positions_only_as_told(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer, name: str
) -> None:
    # I08
    residues = tmp_path / name
    residues.write_text(">sp|T\nMKTAY\nIAKQR\n")
    np.savez(tmp_path / "attention.npz", attention=np.full((12, 12), 1 / 12, np.float32))
    opened(window, qtbot, tmp_path / "attention.npz")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(residues), ""))
    asked = answer("cls+eos")
    window.actions_by_id["tokens_from"].trigger()
    settle(window, qtbot)
    assert asked == [["cls+eos", "crop", "numbers"]]
    assert window.frame.inputs.tokens.labels == ("CLS", *"MKTAYIAKQR", "EOS")
    assert "key 1 “M”" in readout(window, 3, 1)
    window.history.undo()
    settle(window, qtbot)
    assert window.frame.inputs.tokens.labels[0] == "0"


def test_two_files_of_the_command_line_open_with_their_question(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, answer
) -> None:
    # I08, as `relpos-viewer attention.npy --tokens-from protein.fasta` opens the window.
    (tmp_path / "protein.fasta").write_text(">x\nMKT\n")
    rows = np.array([[0.5, 0.1, 0.2, 0.1, 0.1]] * 5, np.float32)
    np.save(tmp_path / "attention.npy", rows)
    answer("crop")
    window.files.open_path(tmp_path / "attention.npy", tmp_path / "protein.fasta")
    qtbot.waitUntil(lambda: window.session.document.source.kind == "arrays", timeout=5000)
    settle(window, qtbot)
    assert window.frame.inputs.tokens.labels == tuple("MKT")
    assert window.frame.field.weights.sum(1).tolist() == pytest.approx([0.4] * 3)  # shown, not made to be 1
    assert "row sums 0.4" in window.sequence.editor.text()


def test_bfloat16_keeps_its_values_and_what_is_no_number_has_its_marks(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    # I10
    bits = np.array([0x3F80, 0x4049, 0x7F80, 0x8000, 0xFF80, 0x7FC0, 0x3B80], "<u2").tobytes()
    header = json.dumps(
        {"scores": {"dtype": "BF16", "shape": [1, 7], "data_offsets": [0, len(bits)]}}
    ).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bits)
    opened(window, qtbot, path)
    assert "bf16" in window.sequence.editor.text()
    values = window.frame.field.content[0].numpy()
    np.testing.assert_array_equal(values, [1, 3.140625, np.inf, -0.0, -np.inf, np.nan, 0.00390625])
    assert np.signbit(values[3])
    row = codes(window, "scores")[0]
    assert (row[2], row[4], row[5]) == (POS_INF, NEG_INF, NAN)
    assert window.equation.views["scores"].bar.legend_texts == ("−∞", "+∞", "NaN")
    assert "content ∞" in readout(window, 0, 2) and "content −∞" in readout(window, 0, 4)


def test_matrices_of_unequal_size_are_refused_as_objects_and_opened_by_name(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, answer
) -> None:
    # I11
    one, two = np.eye(3, dtype=np.float32)[None].repeat(2, 0), np.eye(5, dtype=np.float32)[None].repeat(2, 0)
    objects = np.empty(2, object)
    objects[:] = [one, two]
    np.save(tmp_path / "objects.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "named.npz", one=one, two=two)
    before = window.session.document
    opened(window, qtbot, tmp_path / "objects.npy")
    assert "object array needs pickle, which can run code; save as .npz" in window.message.text()
    assert window.session.document is before
    asked = answer("two")
    opened(window, qtbot, tmp_path / "named.npz")
    assert asked == [["one", "two"]]
    assert (window.frame.inputs.heads, window.frame.n_key) == (2, 5)


DROPPED = [[0, 0.25, 0.25, 0, 0.25], [0.25] * 5]
GIVEN = {
    "I15 a": (
        "a.npy",
        DROPPED,
        ["weights"],
        "row sums 0.75 and 1.25: dropout or not probabilities",
        "−0.602",
    ),
    "I15 b": ("b.npy", [[0.9, 0.05, 0.05]], [], "Recognised as weights", "−1.30"),
}


@pytest.mark.parametrize(("name", "rows", "answers", "badge", "logarithm"), GIVEN.values(), ids=GIVEN)
def test_given_weights_are_shown_as_they_are_and_never_softmaxed_again(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, answer, name, rows, answers, badge, logarithm
) -> None:
    np.save(tmp_path / name, np.array(rows, np.float32))
    answer(*answers)
    opened(window, qtbot, tmp_path / name)
    assert badge in window.sequence.editor.text()
    np.testing.assert_allclose(window.frame.field.weights, rows, rtol=3e-7)
    last = len(rows) - 1
    assert readout(window, last, 1).endswith(f"→ {rows[last][1]:g}")
    assert f"log₁₀ weight\t{logarithm}" in window.inspector.as_text()  # of the weight that is shown


def test_scores_that_are_probabilities_say_so(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    # I15, where the name of the array hides what it is.
    np.savez(tmp_path / "a.npz", scores=np.array([[0.9, 0.05, 0.05]], np.float32))
    opened(window, qtbot, tmp_path / "a.npz")
    assert "the softmax is taken twice" in window.sequence.editor.text()


# Mask


def test_packed_documents_leak_a_number_until_their_mask_is_chosen(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    # K01
    zeros = np.zeros((1, 6, 2), np.float32)
    np.savez(tmp_path / "packed.npz", q=zeros, k=zeros, position_ids=[[0, 1, 2, 3, 0, 1]])
    opened(window, qtbot, tmp_path / "packed.npz")
    figures = window.status.findChild(QLabel, "statusFigures")
    for mask, cells, row, leak in (
        ("causal", 21, [0.2] * 5 + [0], "leak to other documents 0.8"),
        ("documents", 13, [0, 0, 0, 0, 1, 0], "leak to other documents 0"),
        ("causal", 21, [0.2] * 5 + [0], "leak to other documents 0.8"),
    ):
        window.top.mask_changed.emit(mask)
        settle(window, qtbot)
        assert int(window.frame.field.visible.sum()) == cells
        assert window.frame.field.weights[4].tolist() == pytest.approx(row)
        qtbot.waitUntil(lambda leak=leak: figures.text().endswith(leak), timeout=5000)


@pytest.mark.parametrize(
    ("meaning", "rows"),
    [
        ("masked", [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]),
        ("attend", [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]),
    ],
)
def test_a_boolean_mask_is_asked_about_and_a_row_without_a_key_is_hatched(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, answer, meaning: str, rows: list
) -> None:
    # K04
    np.save(tmp_path / "mask.npy", np.triu(np.ones((3, 3), bool), 1))
    asked = answer(meaning)
    opened(window, qtbot, tmp_path / "mask.npy")
    assert asked == [["masked", "attend"]]
    np.testing.assert_allclose(window.frame.field.weights, rows, rtol=1e-6)
    assert codes(window, "weights")[0][0 if meaning == "attend" else 2] == MASKED
    hatched = [row for row in range(3) if codes(window, "weights")[row] == [NO_KEY] * 3]
    assert hatched == ([2] if meaning == "attend" else [])
    assert ("no key" in window.equation.views["weights"].bar.legend_texts) == (meaning == "attend")


# Picture


def test_the_strongest_cell_is_where_its_query_and_key_say(window: MainWindow, qtbot: QtBot) -> None:
    # P01
    weights = np.zeros((1, 4, 4), np.float32)
    weights[0, 0, 3], weights[0, 2, 0] = 1, 0.5
    shown(window, qtbot, arrays(weights=weights))
    canvas = window.equation.views["weights"].canvas
    image = canvas.grab().toImage()
    side = image.width() / 4

    def darkness(query: int, key: int) -> int:
        return 255 * 3 - sum(
            image.pixelColor(int((key + 0.5) * side), int((query + 0.5) * side)).getRgb()[:3]
        )

    cells = sorted(((i, j) for i in range(4) for j in range(4)), key=lambda cell: -darkness(*cell))
    assert cells[:2] == [(0, 3), (2, 0)]
    line = readout(window, 0, 3)
    assert line.startswith("query 0 “0” → key 3 “3”") and line.endswith("→ 1")


def test_underflow_masked_and_not_a_number_are_three_things(window: MainWindow, qtbot: QtBot) -> None:
    # P05
    scores = np.array([[[0, -50, -200, 5]]], np.float32)
    visible = np.array([[True, True, True, False]])
    shown(window, qtbot, arrays(View(weights_scale="log"), scores=scores, visible=visible))
    assert codes(window, "weights")[0][1:] == [BELOW, BELOW, MASKED]
    bar = window.equation.views["weights"].bar
    assert bar.legend_texts == ("< 1e−6", "masked")
    assert [bar.ticks_on_show[0].text, bar.ticks_on_show[-1].text] == ["1e−6", "1"]
    assert readout(window, 0, 1).endswith("→ 1.93e−22")
    assert readout(window, 0, 2).endswith("→ 10^−86.86 (underflow)")
    assert "log₁₀ weight\t−86.86" in window.inspector.as_text()
    assert readout(window, 0, 3).endswith("masked")
    scores[0, 0, 1] = np.nan
    shown(window, qtbot, arrays(View(weights_scale="log"), scores=scores, visible=visible))
    assert codes(window, "scores")[0][1] == NAN and codes(window, "weights")[0][3] == MASKED


@pytest.mark.parametrize(
    ("view", "moves"),
    [
        (View(), True),
        (View(levels="auto"), True),
        (View(levels="typed", weights_low=0.001, weights_high=0.003), False),
        (View(locked=(("weights", 0.0, 1 / 512),)), False),
    ],
    ids=["shared", "auto", "typed", "locked"],
)
def test_limits_follow_a_drag_unless_they_are_held(window: MainWindow, qtbot: QtBot, view, moves) -> None:
    # P07
    shown(window, qtbot, arrays(weights=np.full((1, 512, 512), 1 / 512, np.float32)))
    bar = window.equation.views["weights"].bar
    assert [bar.ticks_on_show[0].text, bar.ticks_on_show[-1].text] == ["0", "0.00195"]
    window.history.set_view(view)
    settle(window, qtbot)
    before = window.frame.tiles["weights"].levels
    drag_curve(window, -5, 60, release=False)
    settle(window, qtbot)
    assert (window.frame.tiles["weights"].levels != before) == moves
    window.history.cancel_preview()
    settle(window, qtbot)


RATIO_TWO = """
import relpos_viewer.views.app as app
from relpos_viewer.app.settings import Settings
from relpos_viewer.document.document import Document
application = app.prepare_application()
window = app.MainWindow(Document.default(), Settings.of_user())
window.show()
application.processEvents()
equation = window.equation
canvas = equation.views["weights"].canvas
assert equation.grab().width() == 2 * equation.width(), equation.grab().width()
assert canvas.pixel_shape == (2 * canvas.height(), 2 * canvas.width()), canvas.pixel_shape
window.close()
window.deleteLater()
application.processEvents()
"""


def test_a_screen_of_ratio_two_gets_twice_the_pixels() -> None:
    # X04; the ratio of a screen is settled when Qt starts, so in a program of its own.
    done = subprocess.run(
        [sys.executable, "-c", RATIO_TWO],
        env={**os.environ, "QT_SCALE_FACTOR": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# Curve and encoding


def test_the_same_text_in_another_document_does_not_keep_the_curve_of_the_last(
    window: MainWindow, qtbot: QtBot
) -> None:
    # Found with D03: the frame's inputs were the same, and the editor kept an edit that was gone.
    start = window.session.document
    drag_curve(window, -3, 60)
    settle(window, qtbot)
    assert window.curve.edit.any()
    again = replace(start, source=TextSource(start.source.text, heads=3, dim=8))
    shown(window, qtbot, again)
    assert not window.curve.edit.any()
    drag_curve(window, -8, 60)
    settle(window, qtbot)
    assert window.session.document.edit.at(1, 11)[0, 10 - 3] == 0


def test_a_long_file_after_a_t5_text_has_no_bucket_to_look_up(open_window: Opener, qtbot: QtBot) -> None:
    # Found with P07: the inspector asked the buckets of the last encoding for the offsets of the next.
    window = open_window(Document.default())
    settle(window, qtbot)
    shown(window, qtbot, arrays(weights=np.full((1, 200, 200), 1 / 200, np.float32)))
    assert "bucket" not in window.inspector.as_text() and "query 199" in window.inspector.as_text()


def test_a_cached_decoding_step_is_called_by_its_place(window: MainWindow, qtbot: QtBot) -> None:
    # E04: five cached keys, the query at position 5.
    table = np.arange(8.0)[:, None]
    step = EncodingSpec("t5", {"num_buckets": 8, "max_distance": 16, "bidirectional": False, "table": table})
    source = ArraySource("", "step", {"q": np.zeros((1, 1, 4)), "k": np.zeros((1, 6, 4))})
    shown(window, qtbot, Document(source=source, encoding=step, mask="causal"))
    assert window.frame.field.positional[0].tolist() == [4, 4, 3, 2, 1, 0]
    assert readout(window, 0, 1).startswith("query 5 “5” → key 1 “1”   δ = −4 ")
    assert "position: T5 bucket 4\t+4" in window.inspector.as_text()
    full = ArraySource("", "all", {"q": np.zeros((1, 6, 4)), "k": np.zeros((1, 6, 4))})
    shown(window, qtbot, Document(source=full, encoding=step, mask="causal"))
    assert window.frame.field.positional[5].tolist() == [4, 4, 3, 2, 1, 0]


PAST = np.where(np.arange(-8, 9) < 0, 0.5 * np.arange(-8, 9), 0).astype(np.float32)  # 0.5 · δ on the past
SIXTEEN = TextSource(" ".join("abcdefghijklmnop"))


@pytest.mark.parametrize(("rule", "value"), [("hold", -4), ("extend", -7.5), ("zero", 0)])
def test_past_a_drawn_table_the_rule_is_named_and_cells_are_marked(
    window: MainWindow, qtbot: QtBot, rule: str, value: float
) -> None:
    # E05
    curve = EncodingSpec("curve", {"table": PAST, "rule": rule})
    shown(window, qtbot, Document(source=SIXTEEN, encoding=curve, mask="causal"))
    assert window.frame.field.positional[15, 0] == value
    assert window.frame.curves.beyond_rule == rule
    assert window.frame.curves.beyond[:7].all() and not window.frame.curves.beyond[7:16].any()
    assert codes(window, "positional")[15][:8] == [BEYOND] * 7 + [codes(window, "positional")[15][7]]
    assert "beyond" in window.equation.views["positional"].bar.legend_texts


def test_past_a_drawn_edit_the_curve_is_zero_and_says_so(window: MainWindow, qtbot: QtBot) -> None:
    # E05, drawn by hand on nine tokens before seven more are typed.
    nine = Document(source=TextSource("a b c d e f g h i"), encoding=EncodingSpec("alibi"), mask="causal")
    shown(window, qtbot, replace(nine, edit=EditCurve(PAST[None].repeat(4, 0))))
    assert window.frame.curves.beyond is None
    window.edits.type_text(SIXTEEN.text)
    settle(window, qtbot)
    curves = window.frame.curves
    assert curves.edit[0, 7] == -4 and not curves.edit[0, :7].any()
    assert curves.beyond.tolist() == [True] * 7 + [False] * 24 and curves.beyond_rule == "zero"
    assert codes(window, "positional")[15][6:8] == [BEYOND, codes(window, "positional")[15][7]]
    assert codes(window, "positional")[15][7] != BEYOND
    drag_curve(window, -12, 30)  # what is drawn anew is drawn to its end
    settle(window, qtbot)
    assert window.frame.curves.beyond is None
