"""The extrapolation window: what it asks for, what it shows of the answers, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from relpos_viewer.app.extrapolation import ExtrapolationMaker, PictureRequest, Subject
from relpos_viewer.app.frames import Frame, FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.core import extrapolation, measures
from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.quantise import MASKED
from relpos_viewer.document.document import Document, EncodingSpec, TextSource, View, replace
from relpos_viewer.views.extrapolation_charts import AXIS
from relpos_viewer.views.extrapolation_dialog import FIRST_TRAINED, ExtrapolationDialog
from relpos_viewer.views.length_slider import length_of, step_of
from relpos_viewer.views.line_chart import thinned
from relpos_viewer.views.theme import DARK, LIGHT

TEXT = TextSource("the cat sat on the mat", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal")


def frame(document: Document = START) -> Frame:
    return FrameMaker()(FrameRequest(document, Viewport((0, 1e9), (0, 1e9), (20, 20))), Cancel())


@pytest.fixture
def dialog(qtbot: QtBot) -> Iterator[ExtrapolationDialog]:
    made = ExtrapolationDialog(LIGHT)
    qtbot.addWidget(made)
    yield made
    made.close_runner()


@pytest.fixture
def open_with(dialog: ExtrapolationDialog, qtbot: QtBot) -> Callable[..., ExtrapolationDialog]:
    def make(document: Document = START, n: int = 512) -> ExtrapolationDialog:
        dialog.set_frame(frame(document))
        dialog.length.setValue(n)
        dialog.show()
        settle(dialog, qtbot)
        return dialog

    return make


def settle(dialog: ExtrapolationDialog, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: dialog.is_settled, timeout=20_000)


def test_the_slider_is_logarithmic_and_meets_every_power_of_two() -> None:
    for power in range(6, 18):
        assert length_of(step_of(2**power)) == 2**power
    lengths = [length_of(step) for step in range(step_of(131_072) + 1)]
    assert lengths[0] == 64 and lengths[-1] == 131_072 and lengths == sorted(lengths)
    ratios = np.array(lengths[1:]) / lengths[:-1]
    assert ratios.max() < 1.03


def test_slider_box_and_picture_are_at_one_length(open_with, qtbot: QtBot) -> None:
    dialog = open_with()
    dialog.slider.setValue(step_of(256))
    assert dialog.length.value() == 256
    settle(dialog, qtbot)
    assert "n = 256" in dialog.picture.accessible_title
    dialog.length.setValue(300)
    assert dialog.slider.value() == step_of(300) and dialog.length.value() == 300
    settle(dialog, qtbot)
    assert "n = 300" in dialog.picture.accessible_title
    codes = dialog.picture.codes
    assert (codes[np.triu_indices(len(codes), 1)] == MASKED).all()
    assert (codes[np.tril_indices(len(codes))] != MASKED).all()


def test_what_lies_past_training_is_shaded_and_the_sentence_says_what_becomes_of_it(
    open_with, qtbot: QtBot
) -> None:
    dialog = open_with(n=500)
    dialog.trained.setValue(200)
    chart = dialog.curve.chart
    assert AXIS.inverse(chart.shaded) == pytest.approx([-499, -199.5])
    assert "line goes on" in dialog.sentence.text()
    slope = float(encoding("alibi", heads=3).slope_of_each()[0])
    assert chart.lines[0].y == pytest.approx(slope * AXIS.inverse(chart.lines[0].x), rel=1e-4)
    dialog.trained.setValue(600)
    assert dialog.curve.chart.shaded is None and "nothing is new" in dialog.sentence.text()
    dialog.set_frame(frame(replace(START, encoding=EncodingSpec("shaw", {"clip": 12}))))
    assert dialog.trained.value() == 13 and not dialog.trained.isEnabled()


def test_figures_grow_with_the_length_and_are_those_of_the_weights(open_with, qtbot: QtBot) -> None:
    dialog = open_with(n=300)
    q, k = (each.expand(3, -1, -1) for each in extrapolation.random_vectors(256, 8))
    expected = []
    for n in (64, 128, 256):
        weights = attention(q[:, :n], k[:, :n], encoding=encoding("alibi", heads=3), mask="causal").weights[0]
        expected.append((measures.mean_distance(weights), measures.entropy_bits(weights)))
    for part, place in ((dialog.distance, 0), (dialog.entropy, 1)):
        line = part.chart.lines[0]
        assert line.x.tolist() == [6, 7, 8]
        assert line.y == pytest.approx([row[place] for row in expected], rel=1e-3)


def test_a_family_that_refuses_says_so_and_shows_what_there_is(open_with, qtbot: QtBot) -> None:
    learned = replace(START, encoding=EncodingSpec("absolute", {"kind": "learned"}))
    dialog = open_with(learned, n=2000)
    assert dialog.picture.codes is None and "512" in dialog.picture.words
    assert "refused" in dialog.sentence.text()
    assert dialog.distance.chart.lines[0].x.tolist() == [6, 7, 8, 9]
    dialog.length.setValue(400)
    settle(dialog, qtbot)
    assert dialog.picture.codes is not None


def test_rope_has_its_scalings_side_by_side_and_no_other_family(open_with, qtbot: QtBot) -> None:
    dialog = open_with(replace(START, encoding=EncodingSpec("rope")), n=4 * FIRST_TRAINED)
    table = dialog.rules.table
    rows = {table.item(row, 0).text(): table.item(row, 2).text() for row in range(table.rowCount())}
    assert not dialog.rules.isHidden() and len(rows) == 6
    # Pair 3 of 4 turns once in 6,283 positions.
    assert rows["none"] == "25%  (1 of 4)" and rows["linear"] == "0%  (0 of 4)"
    assert len(dialog.rules.chart.chart.lines) == 6
    dialog.set_frame(frame())
    assert dialog.rules.isHidden()


def test_a_text_is_repeated_and_arrays_are_not_offered(open_with, qtbot: QtBot) -> None:
    dialog = open_with(n=64)
    random = dialog.picture.codes
    assert dialog.source.count() == 2
    dialog.source.setCurrentIndex(1)
    settle(dialog, qtbot)
    assert not np.array_equal(dialog.picture.codes, random)


def test_a_long_picture_is_sampled_first_and_can_be_stopped(open_with, qtbot: QtBot, monkeypatch) -> None:
    dialog = open_with()
    pictures: list[bool] = []
    make = dialog._maker._picture

    def watched(request, cancel):
        if not request.quick:
            pictures.append(False)
            while True:
                cancel.check()
        answer = make(request, cancel)
        pictures.append(answer.exact)
        return answer

    monkeypatch.setattr(dialog._maker, "_picture", watched)
    monkeypatch.setattr(extrapolation, "MOST_MEASURED", 512)
    dialog.length.setValue(6000)
    qtbot.waitUntil(lambda: len(pictures) == 2, timeout=20_000)
    assert pictures == [False, False] and "sampled" in dialog.picture.accessible_title
    dialog.stop.click()
    qtbot.waitUntil(lambda: not dialog._runner.is_busy)
    qtbot.wait(50)
    assert len(pictures) == 2, "what was stopped does not begin again by itself"
    assert "Stopped" in dialog.state


def test_the_window_follows_the_theme_and_computes_nothing_while_it_is_hidden(
    open_with, qtbot: QtBot
) -> None:
    dialog = open_with()
    light = dialog.grab().toImage()
    dialog.set_theme(DARK)
    assert dialog.grab().toImage() != light
    dialog.hide()
    dialog.length.setValue(2000)
    assert not dialog._runner.is_busy


def test_a_picture_nobody_waits_for_is_given_up() -> None:
    cancel = Cancel()
    cancel.cancel()
    subject = Subject(EncodingSpec("alibi"), 0, 2, 8, None, None, View(), "cpu")
    maker = ExtrapolationMaker()
    with pytest.raises(Cancelled):
        maker(PictureRequest(subject, 500, (50, 50), quick=True), cancel)
    maker.close()


def test_thinning_keeps_every_peak() -> None:
    x = np.linspace(0, 1, 5000)
    y = np.zeros(5000)
    y[[77, 3210]] = 5.0, -3.0
    places, values = thinned(x, y, 100)
    assert len(places) == len(values) <= 200 and (values.max(), values.min()) == (5, -3)
    assert places[np.argmax(values)] == pytest.approx(x[77], abs=0.02)


@pytest.mark.parametrize(("name", "before", "after"), [("rope", 8, 64), ("alibi", 0, 0)])
def test_a_curve_comes_from_few_queries_while_a_hand_moves(name: str, before: int, after: int) -> None:
    subject = Subject(EncodingSpec(name), 0, 2, 8, None, None, View(), "cpu")
    maker = ExtrapolationMaker()
    quick, exact = (
        maker(PictureRequest(subject, 4500, (50, 50), quick=quick), Cancel()) for quick in (True, False)
    )
    maker.close()
    assert (quick.exact, quick.curves.sampled) == (False, before)
    assert (exact.exact, exact.curves.sampled) == (True, after)
    assert exact.complete and not quick.complete
