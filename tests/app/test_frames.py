"""Frames: one document and one viewport in, pictures and curves out."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app import head_pictures
from relpos_viewer.app.frames import FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.core import crew, measures
from relpos_viewer.core.attention import attend, attention
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.quantise import BEYOND, LAST_VALUE, MASKED, NO_KEY, ZERO_CODE, quantise
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.sources.build import inputs_for

WHOLE = Viewport((0, 10_000), (0, 10_000), (300, 300))
TEXT = TextSource("the cat sat on the mat and the cats sat", heads=3, dim=8)


def document(**changes: object) -> Document:
    return Document(**{"source": TEXT, "encoding": EncodingSpec("alibi"), **changes})


def frame(doc: Document, viewport: Viewport = WHOLE, maker: FrameMaker | None = None, **request: object):
    return (maker or FrameMaker())(FrameRequest(doc, viewport, **request), Cancel())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_frame_shows_the_numbers_of_attention(name: str) -> None:
    edit = np.random.default_rng(1).normal(size=(3, 19)).astype(np.float32)
    doc = document(encoding=EncodingSpec(name), edit=EditCurve(edit), view=View(head=2))
    shown = frame(doc)
    inputs = inputs_for(doc.source)
    exact = attention(inputs.q, inputs.k, encoding="none", mask="causal")
    np.testing.assert_allclose(shown.field.content, exact.content[2], atol=1e-6)
    # No query of ten stands past FIRE's threshold, up to which its term is a curve.
    assert shown.curves.exact == (FAMILIES[name].toeplitz or name == "fire")
    assert shown.curves.family.shape == shown.curves.edit.shape == (3, 19)
    np.testing.assert_array_equal(shown.curves.edit, edit)
    assert set(shown.tiles) == {"content", "positional", "scores", "weights"}
    for tile in shown.tiles.values():
        assert tile.codes.shape == (10, 10)  # no pixel is made up: there are ten tokens
        assert (tile.codes[np.triu_indices(10, 1)] == MASKED).all()
        assert (tile.codes[np.tril_indices(10)] <= LAST_VALUE).all()


def test_terms_share_one_scale_with_zero_in_the_middle_unless_told_otherwise() -> None:
    levels = {stage: tile.levels for stage, tile in frame(document()).tiles.items()}
    assert levels["content"] == levels["positional"] == levels["scores"]
    assert levels["content"].low == -levels["content"].high
    each = {stage: tile.levels for stage, tile in frame(document(view=View(levels="auto"))).tiles.items()}
    assert each["content"] != each["positional"] and each["positional"].low == -each["positional"].high
    zero = frame(document(encoding=EncodingSpec("none"))).tiles["positional"].codes
    assert (zero[np.tril_indices(10)] == ZERO_CODE).all()


def test_locked_and_typed_limits_do_not_follow_the_data() -> None:
    view = View(levels="typed", low=-1, high=2, locked=(("weights", 0.0, 0.25),))
    tiles = frame(document(view=view)).tiles
    assert (tiles["scores"].levels.low, tiles["scores"].levels.high) == (-1, 2)
    assert (tiles["weights"].levels.low, tiles["weights"].levels.high) == (0, 0.25)
    logarithmic = frame(document(view=replace(view, weights_scale="log"))).tiles["weights"].levels
    assert logarithmic.scale == "log" and logarithmic.low > 0


def test_the_first_key_can_be_left_out_of_the_colours() -> None:
    sink = np.full((1, 4, 4), 0.1)
    sink[..., 0] = 0.7
    doc = document(source=ArraySource("", "", {"weights": sink}), encoding=EncodingSpec("none"), mask="none")
    assert frame(doc).tiles["weights"].levels.high == pytest.approx(0.7)
    hidden = replace(doc, view=View(hide_first_key=True))
    assert frame(hidden).tiles["weights"].levels.high == pytest.approx(0.1)


def test_given_weights_are_shown_untouched_and_an_edit_weighs_them_anew() -> None:
    # I15 (a): dropout 0.2 leaves rows that sum to 0.75 and 1.25; nothing is renormalised.
    given = np.array([[[0, 0.25, 0.25, 0, 0.25], [0.25] * 5]])
    given = np.pad(given, ((0, 0), (0, 3), (0, 0)), constant_values=0.2)
    doc = document(
        source=ArraySource("", "", {"weights": given}), encoding=EncodingSpec("none"), mask="none", scale=None
    )
    shown = frame(doc)
    assert np.array_equal(shown.field.weights, given[0]), "bit for bit"
    hidden = frame(replace(doc, mask="causal")).field.weights
    assert hidden[0].tolist() == pytest.approx([0, 0, 0, 0, 0]), (
        "the only visible weight of the first row is 0"
    )
    edit = np.zeros((1, 9), np.float32)
    edit[0, 4 + 1] = np.log(3)  # the next key counts three times
    edited = frame(replace(doc, edit=EditCurve(edit))).field.weights
    expected = given[0, 0] * [1, 3, 1, 1, 1]
    np.testing.assert_allclose(edited[0], expected / expected.sum() * 0.75, atol=1e-6)


def test_a_query_without_any_key_is_marked_and_a_fallen_head_is_the_last() -> None:
    mask = np.tril(np.ones((10, 10), bool))
    mask[4] = False
    shown = frame(document(mask=mask, view=View(head=99)))
    assert (shown.tiles["weights"].codes[4] == NO_KEY).all()
    assert not shown.field.weights[4].any()
    assert shown.curves.head == 2


def test_cells_past_a_drawn_curve_are_marked_in_the_positional_panel_alone() -> None:
    table = np.random.default_rng(0).normal(size=(3, 5))  # drawn for |δ| < 3
    shown = frame(document(encoding=EncodingSpec("curve", {"table": table}), mask="none"))
    row, col = np.indices((10, 10))
    marked = shown.tiles["positional"].codes == BEYOND
    assert np.array_equal(marked, abs(col - row) >= 3)
    assert not (shown.tiles["scores"].codes == BEYOND).any()


def test_a_viewport_is_asked_for_in_cells_and_pixels() -> None:
    tile = frame(document(), Viewport((2.5, 7), (0, 4), (3, 300))).tiles["weights"]
    assert tile.viewport == Viewport((2, 7), (0, 4), (3, 4))
    assert tile.codes.shape == (3, 4)
    assert tile.cells_per_pixel == (5 / 3, 1.0)
    assert tile.reduce == "max" and frame(document()).tiles["content"].reduce == "mean"


def test_moving_the_curve_keeps_content_and_undo_gives_the_same_picture() -> None:
    maker = FrameMaker()
    first = frame(document(), maker=maker)
    edit = np.zeros((3, 19), np.float32)
    edit[0, 9 - 2] = 5
    moved = frame(document(edit=EditCurve(edit)), maker=maker)
    again = frame(document(), maker=maker)
    assert moved.field.content is first.field.content, "content is not computed again for an edit"
    assert not np.array_equal(moved.tiles["weights"].codes, first.tiles["weights"].codes)
    for stage in first.tiles:
        assert np.array_equal(first.tiles[stage].codes, again.tiles[stage].codes)


def test_figures_come_with_detail_only() -> None:
    assert frame(document(), detail=False).figures == {}
    figures = frame(document()).figures
    assert figures["Toeplitz share"] == pytest.approx(1)
    assert "leak to other documents" not in figures
    packed = document(source=TextSource("one two three\n\nfour five", heads=3))
    assert frame(packed).figures["leak to other documents"] > 0
    assert frame(replace(packed, mask="documents")).figures["leak to other documents"] == 0


def test_a_content_dependent_family_shows_mean_and_spread_along_diagonals() -> None:
    shown = frame(document(encoding=EncodingSpec("rope")))
    own = shown.field.own.numpy()
    for delta in (-1, -5):
        line = np.diagonal(own, delta)
        assert shown.curves.family[0, 9 + delta] == pytest.approx(line.mean(), abs=1e-5)
        ends = np.quantile(line.astype(np.float64), [0.1, 0.9])
        assert [part[9 + delta] for part in (shown.curves.low, shown.curves.high)] == pytest.approx(
            ends, abs=1e-5
        )
    assert shown.curves.sampled == 0
    assert np.isnan(shown.curves.family[0, 10:]).all() and not shown.curves.visible[10:].any()
    assert np.isfinite(shown.curves.family[1:, :10]).all(), "the other heads are drawn faintly"


LONG = TextSource(" ".join(f"word{index % 300}" for index in range(LARGEST + 52)), heads=2, dim=16)


# Every family under one mask, and one of each way of being computed under another: a matrix of 2,100² takes seconds.
@pytest.mark.parametrize(
    ("name", "mask"),
    [*((name, "causal") for name in FAMILIES), *((name, "window:300") for name in ("t5", "rope", "deberta"))],
)
def test_a_long_sequence_has_the_numbers_of_attention_without_its_matrices(name: str, mask: str) -> None:
    edit = np.zeros((2, 2 * 2100 - 1), np.float32)
    edit[1, 2099 - 70 : 2099 - 20] = np.random.default_rng(2).normal(size=50)
    spec = EncodingSpec(name, {"kind": "sinusoidal"} if name == "absolute" else {})
    doc = document(
        source=LONG, encoding=spec, mask=mask, edit=EditCurve(edit), view=View(head=1, reduce="mean")
    )
    maker = FrameMaker()
    viewport = Viewport((0, 1e9), (0, 1e9), (210, 210))
    first = frame(doc, viewport, maker, quick=True)
    assert not first.exact and set(first.tiles) == {"content", "positional", "scores", "weights"}
    shown = frame(doc, viewport, maker, quick=False)
    assert shown.exact and frame(doc, viewport, maker, quick=True).exact, "row sums are known now"
    inputs = inputs_for(LONG)
    whole = attend(inputs, doc.encoding.build(), mask=parse_mask(mask), edit=edit)
    cell = shown.field.values(1500, 1460)
    assert cell.weight == pytest.approx(float(whole.weights[1, 1500, 1460]), abs=1e-6)
    assert cell.edit == edit[1, 2099 - 40]
    weights = whole.weights[1].numpy().reshape(210, 10, 210, 10)
    seen = whole.visible[1].numpy().reshape(210, 10, 210, 10).sum((1, 3))
    mean = weights.sum((1, 3)) / np.maximum(seen, 1)
    tile = shown.tiles["weights"]
    expected = quantise(mean.astype(np.float32), seen > 0, tile.levels)
    assert (np.abs(tile.codes.astype(int) - expected) <= 1).all()
    assert (shown.curves.visible == whole_diagonals(whole.visible[1].numpy())).all()


def whole_diagonals(visible: np.ndarray) -> np.ndarray:
    rows, cols = visible.nonzero()
    found = np.zeros(2 * len(visible) - 1, bool)
    found[cols - rows + len(visible) - 1] = True
    return found


def test_an_edit_of_a_long_sequence_comes_at_once_and_undo_gives_the_same_picture() -> None:
    maker, viewport = FrameMaker(), Viewport((0, 1e9), (0, 1e9), (210, 210))
    before = frame(document(source=LONG), viewport, maker)
    edit = np.zeros((2, 2 * 2100 - 1), np.float32)
    edit[0, 2099 - 40 : 2099] = 3
    moved = frame(document(source=LONG, edit=EditCurve(edit)), viewport, maker, quick=True)
    again = frame(document(source=LONG), viewport, maker, quick=True)
    assert moved.exact and again.exact
    assert not np.array_equal(moved.tiles["weights"].codes, before.tiles["weights"].codes)
    for stage, tile in before.tiles.items():
        assert np.array_equal(again.tiles[stage].codes, tile.codes), stage


def test_the_spread_of_a_long_content_dependent_term_comes_from_sampled_queries() -> None:
    doc = document(source=LONG, encoding=EncodingSpec("rope"))
    curves = frame(doc, Viewport((0, 1e9), (0, 1e9), (50, 50)), quick=True).curves
    assert not curves.exact and np.isfinite(curves.family[0, 2099]) and np.isnan(curves.family[1]).all()
    inputs = inputs_for(LONG)
    own = attention(inputs.q, inputs.k, encoding="rope").positional[0].numpy()
    sampled = np.unique(np.linspace(0, 2099, 64).astype(int))
    values = [own[i, i - 30] for i in sampled if i >= 30]
    assert curves.family[0, 2099 - 30] == pytest.approx(np.mean(values), abs=1e-4)
    ends = np.quantile(np.array(values, np.float64), [0.1, 0.9])
    assert [part[2099 - 30] for part in (curves.low, curves.high)] == pytest.approx(ends, abs=1e-4)
    assert curves.sampled == 64


def test_the_figures_of_a_long_head_are_those_of_its_matrices_unless_they_would_take_too_long(
    monkeypatch,
) -> None:
    long = document(source=LONG, encoding=EncodingSpec("rope"))
    maker = FrameMaker()
    figures = frame(long, Viewport((0, 1e9), (0, 1e9), (64, 64)), maker=maker).figures
    inputs = inputs_for(LONG)
    exact = attention(inputs.q.double(), inputs.k.double(), encoding="rope", mask="causal")
    assert figures == pytest.approx(
        {
            "Toeplitz share": measures.toeplitz_share(exact.positional[0], exact.visible[0]),
            "position share": measures.position_share(
                exact.content[0], exact.positional[0], exact.visible[0]
            ),
            "mean distance": measures.mean_distance(exact.weights[0]),
            "entropy (bits)": measures.entropy_bits(exact.weights[0]),
        },
        rel=1e-6,
    )
    monkeypatch.setattr(head_pictures, "FIGURE_CELLS", 2099**2)
    assert frame(long, Viewport((0, 1e9), (0, 1e9), (64, 64)), maker=maker).figures == {}


def test_the_strongest_cell_of_a_long_block_is_found_by_any_thread() -> None:
    shown = frame(
        document(source=LONG, encoding=EncodingSpec("t5")), Viewport((0, 1e9), (0, 1e9), (210, 210))
    )
    inputs = inputs_for(LONG)
    weights = attention(inputs.q, inputs.k, encoding="t5", mask="causal").weights[0].numpy()
    for rows, cols in [((1200, 1210), (1190, 1200)), ((1200, 1210), (1200, 1210))]:
        block = weights[slice(*rows), slice(*cols)]
        row, col = divmod(int(block.argmax()), 10)
        assert shown.field.strongest("weights", rows, cols) == (rows[0] + row, cols[0] + col)
    assert shown.field.strongest("weights", (10, 20), (30, 40)) is None


def test_after_a_refusal_the_last_good_document_is_shown_again() -> None:
    maker = FrameMaker()
    good = document(encoding=EncodingSpec("curve"))
    before = frame(good, maker=maker)
    with pytest.raises(ViewerError, match="2 heads"):
        frame(document(encoding=EncodingSpec("curve", {"table": np.zeros((2, 19), "f4")})), maker=maker)
    after = frame(good, maker=maker)
    for stage, tile in before.tiles.items():
        np.testing.assert_array_equal(after.tiles[stage].codes, tile.codes)


def test_while_a_source_cannot_be_shown_everything_else_stays_live() -> None:
    maker = FrameMaker()
    good = frame(document(), maker=maker)
    broken = replace(TEXT, tokenizer="integers")
    held = frame(document(source=broken, encoding=EncodingSpec("rope")), maker=maker)
    assert "is not a token id" in held.problem
    assert not good.problem
    assert held.inputs.tokens.labels == good.inputs.tokens.labels
    expected = frame(document(encoding=EncodingSpec("rope")))
    for stage, tile in expected.tiles.items():
        np.testing.assert_array_equal(held.tiles[stage].codes, tile.codes)
    assert not frame(document(), maker=maker).problem


def test_a_cancelled_request_is_given_up() -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        FrameMaker()(FrameRequest(document(), WHOLE), cancel)


def test_a_device_that_fails_gives_way_to_the_cpu_and_says_so() -> None:
    shown = frame(document(), device="cuda:7")
    assert shown.device == "cpu"
    assert any("cuda:7 failed" in note and "CPU computes instead" in note for note in shown.notes)
    np.testing.assert_array_equal(shown.tiles["weights"].codes, frame(document()).tiles["weights"].codes)


@pytest.mark.parametrize("n", (10, 420), ids=("whole matrices", "row sums"))
def test_while_only_the_edit_changes_the_content_is_the_same_picture(n: int) -> None:
    source = TextSource(" ".join(f"w{place % 7}" for place in range(n)), heads=2, dim=8)
    doc, maker = document(source=source, view=View(levels="auto")), FrameMaker()
    first = frame(doc, maker=maker)
    edited = replace(doc, edit=EditCurve(np.full((2, 2 * n - 1), 1.5, np.float32)))
    second = frame(edited, maker=maker)
    assert second.tiles["content"] is first.tiles["content"]
    assert second.tiles["scores"] is not first.tiles["scores"]
    for changed in ({"head": 1}, {"reduce": "max"}, {"levels": "shared"}):
        other = replace(edited, view=replace(edited.view, **changed))
        again = frame(other, maker=maker)
        np.testing.assert_array_equal(
            again.tiles["content"].codes, frame(other).tiles["content"].codes, str(changed)
        )
    maker.close()


def test_a_refresh_measures_the_drift_of_many_edits_and_changes_no_picture() -> None:
    source = TextSource(" ".join(f"w{place % 11}" for place in range(420)), heads=2, dim=8)
    doc, maker, rng = document(source=source), FrameMaker(), np.random.default_rng(4)
    for _ in range(30):
        values = np.zeros((2, 839), np.float32)
        values[0, 300:340] = rng.normal(size=40) * 8
        edited = replace(doc, edit=EditCurve(values))
        before = frame(edited, maker=maker)
    assert before.drift is None
    field = before.field
    found = frame(edited, maker=maker, stages=(), detail=False, refresh=True)
    assert found.tiles == {}
    assert found.drift is not None
    assert 0 <= found.drift < 1e-4
    after = frame(edited, maker=maker)
    for stage, tile in before.tiles.items():
        assert abs(after.tiles[stage].codes.astype(int) - tile.codes).max() <= 1, stage
    np.testing.assert_allclose(after.field.row(400).weight, field.row(400).weight, rtol=1e-4, atol=1e-9)
    maker.close()


@pytest.mark.parametrize("looks", (1, 2, 3))
def test_a_refresh_that_is_given_up_leaves_the_sums_there(
    looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "POLL_S", 1e-4)  # a pass is short, and is to be looked at more often than that

    class Impatient(Cancel):
        """Gives up at its n-th look."""

        left = looks

        def check(self) -> None:
            self.left -= 1
            if self.left == 0:
                raise Cancelled

    n = 2100  # more cells than are summed at once, so it shows whether the sums are still there
    source = TextSource(" ".join(f"w{place % 11}" for place in range(n)), heads=1, dim=4)
    pictures = head_pictures.head_pictures(
        inputs_for(source),
        encoding("alibi", heads=1),
        scale=None,
        mask=parse_mask("causal"),
        head=0,
        display=(40, 40),
    )
    whole = (0, n), (0, n)
    pictures.prepare(Cancel())
    assert pictures.comes_at_once(*whole)
    with pytest.raises(Cancelled):
        pictures.refresh(Impatient())
    assert pictures.comes_at_once(*whole)
    pictures.close()
