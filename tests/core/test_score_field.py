"""ScoreField against the plain path in float64: every family, mask, shape, viewport and reduction, and every edit."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relpos_viewer.core import (
    crew,
    live_weights,
    row_statistics,
    score_cells,
    score_field,
    score_samples,
    visibility,
)
from relpos_viewer.core.attention import Attention, attention
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.pooling import REDUCTIONS, pool, strongest_cell
from relpos_viewer.core.row_statistics import Scan
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.core.tokens import Tokens

INF = math.inf
FAMILIES = ("none", "curve", "t5", "alibi", "rope", "absolute")
MASKS = (
    *("none", "causal", "window:3", "prefix:5", "padding:6", "left-padding:6"),
    *("documents:7,4,12", "array", "function"),
)


@pytest.fixture
def holding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short sequences hold their edited diagonals too, where a new pass over all cells would be quicker."""
    monkeypatch.setattr(live_weights, "BLOCK_START", -1e12)


@pytest.fixture(params=["sums", "whole"])
def way(request: pytest.FixtureRequest, holding: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """How weights are kept while edits move them."""
    monkeypatch.setattr(score_field, "WIDE", -1 if request.param == "whole" else math.inf)


def layer(
    seed: int, n_query: int, n_key: int, heads: int = 2, key_heads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, k = rng.normal(size=(heads, n_query, 8)), rng.normal(size=(key_heads, n_key, 8))
    return q.astype(np.float32), k.astype(np.float32)


def family(name: str, n: int, heads: int) -> object:
    rng = np.random.default_rng(n)
    return encoding(name, table=rng.normal(size=(heads, 2 * n - 1))) if name == "curve" else encoding(name)


def masks(name: str, n_query: int, n_key: int) -> tuple[object, object]:
    """A mask as the field and as the plain path take it."""
    if name.startswith("documents"):
        name = f"documents:{n_key - n_key // 3},{n_key // 3}" if n_key > 2 else "documents"
    if name not in ("array", "function"):
        return name, name
    cells = np.random.default_rng(n_key).random((n_query, n_key)) < 0.4
    cells[n_query // 2] = False  # a row without any key
    if name == "array":
        return cells, cells
    return lambda rows, cols: torch.from_numpy(cells[slice(*rows), slice(*cols)]), cells


def check(
    field: ScoreField, exact: Attention, view: tuple, stages=STAGES, reductions=REDUCTIONS, heads=(0, 1)
):
    for head in heads:
        for stage in stages:
            matrix = getattr(exact, stage)[head]
            for reduce in reductions:
                tile, shown = field.tile(stage, *view, reduce, head=head)
                wanted, wanted_shown = pool(matrix, exact.visible[head], *view, reduce)
                np.testing.assert_array_equal(shown, wanted_shown)
                # Scores of 30 have float32 neighbours 2e-6 apart.
                size = max(1.0, float(np.abs(np.where(np.isfinite(wanted), wanted, 0)).max(initial=0)))
                tolerance = 1e-5 if stage == "weights" else 1e-6 * 8 * size
                np.testing.assert_allclose(tile, wanted, rtol=0, atol=tolerance, err_msg=f"{stage} {reduce}")
                assert tile.dtype == np.float32


@settings(max_examples=50, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    mask=st.sampled_from(MASKS),
    sizes=st.sampled_from([(23, 23), (1, 23), (9, 40), (64, 64), (1, 1), (130, 131), (2, 300)]),
    display=st.sampled_from([(512, 512), (8, 8), (7, 5), (1, 3)]),
    seed=st.integers(0, 999),
    hold=st.booleans(),
    data=st.data(),
)
def test_every_picture_is_that_of_the_plain_path(name, mask, sizes, display, seed, hold, data):
    n_query, n_key = sizes
    q, k = layer(seed, n_query, n_key)
    rng = np.random.default_rng(seed)
    mine, plain = masks(mask, n_query, n_key)
    edit = rng.normal(size=(2, 2 * n_key - 1)).astype(np.float32)
    own = family(name, n_key, 2)
    field = ScoreField(q, k, encoding=own, mask=mine, edit=edit, display=display, device="cpu")
    whole = ((0, n_query), (0, n_key), display)
    ends = data.draw(st.lists(st.floats(-3, 1.2), min_size=4, max_size=4))
    zoomed = (
        (ends[0] * n_query, (ends[0] + abs(ends[1]) + 0.1) * n_query),
        (ends[2] * n_key, (ends[2] + abs(ends[3]) + 0.1) * n_key),
        data.draw(st.tuples(st.integers(1, 40), st.integers(1, 40))),
    )
    before = live_weights.BLOCK_START
    live_weights.BLOCK_START = -1e12 if hold else before
    try:
        for _ in range(3):
            exact = attention(q.astype(float), k.astype(float), encoding=own, mask=plain, edit=edit)
            for view in (whole, zoomed):
                check(field, exact, view)
            offsets = rng.integers(-(n_key - 1), n_key, rng.integers(1, 6))
            for head in (0, 1):
                field.edit(head, offsets, rng.normal(size=len(offsets)) * 8)
                edit[head] = field.curve(head)
    finally:
        live_weights.BLOCK_START = before


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("mask", MASKS)
def test_limits_and_log_normalisers_are_those_of_the_plain_path(name, mask, way):
    n_query, n_key = 40, 57
    q, k = layer(1, n_query, n_key)
    mine, plain = masks(mask, n_query, n_key)
    own = family(name, n_key, 2)
    field = ScoreField(q, k, encoding=own, mask=mine, display=(8, 8), device="cpu")
    for offsets, values in [((0,), 0.0), (range(-9, 3), 4.0), ((-1, 5), -INF), (range(-56, 57), -1.0)]:
        field.edit(1, list(offsets), values)
        exact = attention(
            q.astype(float),
            k.astype(float),
            encoding=own,
            mask=plain,
            edit=np.stack([field.curve(0), field.curve(1)]),
        )
        seen = exact.visible[1]
        for stage in STAGES:
            cells = getattr(exact, stage)[1][seen]
            cells = cells[cells.isfinite()]
            low, high = field.extent(stage, 1)
            assert high == pytest.approx(float(cells.max()), abs=1e-5)
            assert low == pytest.approx(0 if stage == "weights" else float(cells.min()), abs=1e-5)
        later = exact.weights[1][:, 1:][seen[:, 1:]]
        assert field.extent("weights", 1, without_first_key=True)[1] == pytest.approx(
            float(later.max()), abs=1e-6
        )
        log = exact.scores[1].masked_fill(~seen, -INF).logsumexp(-1)
        np.testing.assert_allclose(field.log_normalisers(1), log, atol=1e-5, rtol=0)
        skewed = [
            bool(seen.diagonal(offset + n_key - n_query).any()) for offset in range(-(n_key - 1), n_key)
        ]
        np.testing.assert_array_equal(field.visible_offsets(1), skewed)
        np.testing.assert_array_equal(field.rows_that_see(1), seen.any(1))


@pytest.mark.parametrize("name", FAMILIES)
def test_cells_rows_columns_and_diagonals_are_those_of_the_plain_field(name):
    n_query, n_key = 90, 101
    q, k = layer(3, n_query, n_key)
    edit = np.random.default_rng(3).normal(size=(2, 2 * n_key - 1)).astype(np.float32)
    field = ScoreField(q, k, encoding=encoding(name), mask="causal", edit=edit, device="cpu")
    plain = PlainField.of(
        field.inputs, encoding(name), scale=None, mask=parse_mask("causal"), edit=edit, head=1
    )
    numbers = ("content", "positional", "edit", "score", "weight", "before_weight")
    for asked in (
        ("row", 0),
        ("row", 63),
        ("column", 0),
        ("column", 77),
        ("diagonal", 0),
        ("diagonal", -70),
        ("diagonal", 5),
    ):
        mine, wanted = (getattr(each, asked[0]) for each in (field.cells(1), plain))
        mine, wanted = mine(asked[1]), wanted(asked[1])
        for number in ("queries", "keys", "visible"):
            np.testing.assert_array_equal(getattr(mine, number), getattr(wanted, number))
        shown = wanted.visible
        for number in numbers:
            np.testing.assert_allclose(
                getattr(mine, number)[shown],
                getattr(wanted, number)[shown],
                atol=1e-5,
                err_msg=f"{asked} {number}",
            )
        assert not mine.weight[~shown].any() and not mine.before_weight[~shown].any()
    for query, key in ((0, 0), (5, 16), (89, 100), (0, 100)):
        mine, wanted = field.values(query, key, head=1), plain.values(query, key)
        assert (mine.offset, mine.visible, mine.row_sees_a_key) == (
            wanted.offset,
            wanted.visible,
            wanted.row_sees_a_key,
        )
        for number in (*numbers, "log_weight"):
            assert getattr(mine, number) == pytest.approx(getattr(wanted, number), abs=1e-5)


def test_a_reader_of_cells_keeps_to_the_edit_it_was_made_with():
    q, k = layer(4, 20, 20)
    field = ScoreField(q, k, encoding="t5", mask="causal", device="cpu")
    field.prepare()
    reader = field.cells()
    before = reader.column(3)
    field.edit(0, [-2], 9.0)
    np.testing.assert_array_equal(reader.column(3).weight, before.weight)
    assert field.column(3).weight[5] > 3 * before.weight[5]
    np.testing.assert_allclose(field.column(3).before_weight, before.weight, atol=1e-6)


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("held", [True, False])
def test_500_random_edits_leave_no_drift(mask, held, monkeypatch):
    if held:
        monkeypatch.setattr(live_weights, "BLOCK_START", -1e12)
        monkeypatch.setattr(
            live_weights, "HELD_BYTES", 0
        )  # no more than a brush is held: much has to be let go
    n = 96
    q, k = layer(5, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask=mask, display=(16, 16), device="cpu")
    field.prepare()
    rng = np.random.default_rng(5)
    for step in range(500):
        offsets = np.unique(rng.integers(1 - n, n) + np.arange(rng.integers(1, 64))) % n - n // 2
        values = (
            rng.uniform(-30, 30, len(offsets))
            if step % 3
            else rng.choice([-INF, -1e4, 30.0, 0.0], len(offsets))
        )
        field.edit(0, offsets, values)
    exact = attention(q.astype(float), k.astype(float), encoding="alibi", mask=mask, edit=field.curve())
    running = field.tile("weights", (0, n), (0, n), (16, 16))[0]
    np.testing.assert_allclose(
        running, pool(exact.weights[0], exact.visible[0], (0, n), (0, n), (16, 16), "mean")[0], atol=1e-6
    )
    assert field.refresh() < 1e-5
    assert field.refresh() < 1e-6


@pytest.mark.parametrize(
    # Pixel columns of 8, 256 and 32 keys: blocks of 128 rows repeat along a diagonal.
    ("name", "mask", "n_query", "bins"),
    [
        ("alibi", "causal", 768, 96),
        ("curve", "none", 768, 3),
        ("rope", "window:300", 768, 96),
        ("rope", "prefix:150", 640, 24),
        ("curve", "documents:500,268", 768, 24),
        ("alibi", "causal", 640, 3),
    ],
)
def test_diagonals_are_taken_hold_of_block_by_block_along_them(
    name, mask, n_query, bins, holding, monkeypatch
):
    n = 768
    q, k = layer(31, n_query, n, heads=1)
    own = family(name, n, 1)
    field = ScoreField(q, k, encoding=own, mask=mask, display=(12, bins), device="cpu")
    field.prepare()
    taken = []
    climb = row_statistics.sum_rungs
    monkeypatch.setattr(
        row_statistics, "sum_rungs", lambda *given: taken.append(given[4].count) or climb(*given)
    )
    monkeypatch.setattr(Scan, "everything", None)
    view = ((0, n_query), (0, n), (12, bins))
    rng = np.random.default_rng(n_query)
    for first in (-200, -30, -90, -260):
        # Raised bands leave the smallest score outside of them, lowered ones the largest.
        field.edit(0, np.arange(first, first + 40), rng.uniform(0, 9, 40) * (1 if bins < 96 else -1))
        exact = attention(q.astype(float), k.astype(float), encoding=own, mask=mask, edit=field.curve())
        check(field, exact, view, ["weights"], ["mean", "max"], [0])
        cells = exact.scores[0][exact.visible[0]]
        assert field.extent("scores") == pytest.approx((float(cells.min()), float(cells.max())), abs=1e-5)
        log = exact.scores[0].masked_fill(~exact.visible[0], -INF).logsumexp(-1)
        np.testing.assert_allclose(field.log_normalisers(), log, atol=1e-5, rtol=0)
    assert sum(taken) > 8


def test_a_wide_edit_turns_to_the_whole_matrix_and_a_narrow_one_back_to_sums(holding, monkeypatch):
    n = 300
    q, k = layer(41, n, n, heads=1)
    field = ScoreField(q, k, encoding="t5", mask="causal", display=(67, 41), device="cpu")
    field.prepare()
    view = ((0, n), (0, n), (67, 41))
    content = field.extent("content")
    passes = []
    everything = Scan.everything
    monkeypatch.setattr(Scan, "everything", lambda *given: passes.append(1) or everything(*given))
    wide, narrow = np.arange(-250, -20), np.arange(-9, -2)
    # A pass that sums everything: none for the matrix, one on the way back, none while what is held moves on.
    for offsets, value, summed in (
        (wide, 2.0, 0),
        (wide, -3.0, 0),
        (narrow, 4.0, 1),
        (narrow, 1.0, 0),
        (wide, 0.5, 0),
    ):
        passes.clear()
        field.edit(0, offsets, value + 0.01 * offsets)
        field.prepare()
        assert len(passes) == summed
        exact = attention(q.astype(float), k.astype(float), encoding="t5", mask="causal", edit=field.curve())
        check(field, exact, view, STAGES, ["mean", "max"], [0])
        assert field.extent("content") == content
        assert field.refresh() < 1e-6


def test_an_edit_that_takes_its_time_is_left_until_a_picture_is_asked_for(monkeypatch):
    monkeypatch.setattr(score_field, "WHOLE_CELLS", 0)
    monkeypatch.setattr(live_weights, "SOON", 0)
    n, view = 1400, ((0, 1400), (0, 1400), (35, 20))
    q, k = layer(44, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", display=(35, 20), device="cpu")
    field.prepare()
    # A brush's diagonals are held at once; what is too much to be held waits, together with what comes after it.
    steps = (
        (range(-40, -20), 1.5, True),
        (range(-300, -5), -2.0, False),
        (range(-30, -25), 0.5, False),
        (range(-1000, -20), 2.0, False),
    )
    for offsets, value, at_once in steps:
        field.edit(0, offsets, value + 0.001 * np.array(offsets))
        assert field.ready == at_once
    exact = attention(q.astype(float), k.astype(float), encoding="alibi", mask="causal", edit=field.curve())
    check(field, exact, view, STAGES, ["mean", "max"], [0])
    assert field.ready and field.refresh() < 1e-5


@pytest.mark.parametrize("n_query", [700, 290])
def test_a_mask_that_is_a_function_is_asked_in_blocks_and_only_when_somebody_wants_to_know(n_query):
    n_key, asked = 700, []
    cells = np.random.default_rng(45).random((n_query, n_key)) < 0.01
    cells[40:120] = False

    def mask(rows, cols):
        asked.append(rows)
        return torch.from_numpy(cells[slice(*rows), slice(*cols)])

    q, k = layer(45, n_query, n_key, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask=mask, device="cpu")
    assert not asked
    for _ in range(2):
        diagonals = [cells.diagonal(offset + n_key - n_query).any() for offset in range(1 - n_key, n_key)]
        np.testing.assert_array_equal(field.visible_offsets(), diagonals)
        np.testing.assert_array_equal(field.rows_that_see(), cells.any(1))
    assert len(asked) <= 2 * math.ceil(n_query / visibility.COUNTED_ROWS)


def test_a_refresh_mends_sums_that_went_wrong_and_says_by_how_much(holding):
    n, view = 300, ((0, 300), (0, 300), (30, 20))
    q, k = layer(47, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", display=(30, 20), device="cpu")
    field.prepare()
    field.edit(0, range(-30, -10), 3.0)  # held apart
    live = field._of(0).live["weights"]
    for wrong in (live.stats.sums, live.stats.rest):
        wrong[10:20] *= 1.5
    live._normalise()
    exact = attention(q.astype(float), k.astype(float), encoding="alibi", mask="causal", edit=field.curve())
    assert (
        np.abs(
            field.log_normalisers()
            - exact.scores[0].masked_fill(~exact.visible[0], -INF).logsumexp(-1).numpy()
        ).max()
        > 0.1
    )
    # The first ten queries see no offset that is held, so their sums were wrong by the whole factor.
    assert field.refresh() == pytest.approx(math.log(1.5), abs=1e-5)
    check(field, exact, view, STAGES, ["mean", "max"], [0])
    assert field.refresh() == 0


def test_a_dominant_diagonal_goes_up_and_down_without_a_pass_over_all_cells(holding, monkeypatch):
    n = 200
    q, k = layer(6, n, n, heads=1)
    field = ScoreField(q, k, encoding="t5", mask="causal", display=(20, 20), device="cpu")
    field.edit(0, [0, -1], 25.0)
    field.prepare()  # the two diagonals outweigh all others by e^25
    field.edit(0, [0, -1], -25.0)  # taken hold of
    monkeypatch.setattr(Scan, "everything", None)
    view = ((0, n), (0, n), (20, 20))
    for value in (30.0, -30.0, 0.0, 80.0, -1e4, -INF, 120.0, -40.0):
        field.edit(0, [0, -1], value)
        exact = attention(q.astype(float), k.astype(float), encoding="t5", mask="causal", edit=field.curve())
        check(field, exact, view, ["weights"], ["mean", "max"], [0])
    # The rows' own sums are exact to float32, not to a part of what was taken out of them.
    log = exact.scores[0].masked_fill(~exact.visible[0], -INF).logsumexp(-1)
    np.testing.assert_allclose(field.log_normalisers(), log, atol=1e-5, rtol=0)


def test_diagonals_that_are_let_go_return_with_their_edit(holding, monkeypatch):
    monkeypatch.setattr(live_weights, "HELD_BYTES", 0)
    n = 300
    q, k = layer(7, n, n, heads=1)
    field = ScoreField(q, k, encoding="none", mask="none", display=(30, 30), device="cpu")
    field.prepare()
    monkeypatch.setattr(Scan, "everything", None)
    for first in (-60, -20, 0, 40, -250, 200):
        field.edit(0, np.arange(first, first + 50), np.linspace(-100, 70, 50))
    exact = attention(q.astype(float), k.astype(float), mask="none", edit=field.curve())
    check(field, exact, ((0, n), (0, n), (30, 30)), ["weights"], ["mean", "max"], [0])


@pytest.mark.parametrize("odd", [math.nan, INF, -INF])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_what_is_wrong_with_one_score_stays_in_its_row(odd, mask, way):
    n = 24
    scores = np.random.default_rng(8).normal(size=(1, n, n))
    scores[0, 9, 3] = odd
    inputs = AttentionInputs(Tokens(tuple(map(str, range(n)))), given=torch.from_numpy(scores).float())
    field = ScoreField.of(inputs, encoding("none"), mask=mask, display=(8, 8))
    view = ((0, n), (0, n), (8, 8))
    for offsets in ([], [-6, -5], [0]):
        if offsets:
            field.edit(0, offsets, 3.0)
        plain = PlainField.of(
            inputs, encoding("none"), scale=None, mask=parse_mask(mask), edit=field.curve(), head=0
        )
        for stage in STAGES:
            for reduce in REDUCTIONS:
                mine, wanted = field.tile(stage, *view, reduce)[0], plain.tile(stage, *view, reduce)[0]
                np.testing.assert_allclose(mine, wanted, atol=1e-5)
            finite = plain.stage(stage)[plain.visible & plain.stage(stage).isfinite()]
            assert field.extent(stage)[1] == pytest.approx(float(finite.max()), abs=1e-5)
        assert math.isnan(field.log_normalisers()[9]) == (odd != -INF)


def test_the_largest_weight_after_the_first_key_may_be_the_second_s(way):
    n = 30
    scores = np.random.default_rng(43).normal(size=(1, n, n))
    scores[0, :, 0] += 9
    scores[0, :, 1] += 6
    inputs = AttentionInputs(Tokens(tuple(map(str, range(n)))), given=torch.from_numpy(scores).float())
    field = ScoreField.of(inputs, encoding("none"), mask="none", display=(8, 8))
    field.prepare()
    field.edit(0, [-2, 3], 0.5)
    offset = np.arange(n)[None, :] - np.arange(n)[:, None]  # [query, key]
    weights = torch.from_numpy(scores[0] + field.curve()[offset + n - 1]).softmax(-1)  # [query, key]
    assert int(weights[:, 1:].amax(0).argmax()) == 0
    assert field.extent("weights", without_first_key=True)[1] == pytest.approx(
        float(weights[:, 1:].max()), abs=1e-6
    )
    assert field.extent("weights")[1] == pytest.approx(float(weights.max()), abs=1e-6)


def test_given_weights_biases_and_masks_of_a_file_count():
    n, heads = 30, 2
    generator = torch.Generator().manual_seed(9)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    tokens = Tokens(tuple(map(str, range(n))), documents=tuple(i // 11 % 2 for i in range(n)))
    visible = random(heads, n, n) > -1
    cases = [
        AttentionInputs(
            tokens, given=random(heads, n, n), row_sums=random(heads, n, 1).abs(), visible=visible
        ),
        AttentionInputs(tokens, q=random(heads, n, 8), k=random(1, n, 8), bias=random(heads, n, n)),
        AttentionInputs(tokens, q=random(heads, n, 8), k=random(1, n, 8), visible=visible[0]),
    ]
    for inputs in cases:
        for mask in ("causal", "documents"):
            edit = random(heads, 2 * n - 1)
            mine = ScoreField.of(inputs, encoding("alibi"), mask=mask, edit=edit, head=1, display=(6, 6))
            plain = PlainField.of(
                inputs, encoding("alibi"), scale=None, mask=parse_mask(mask), edit=edit, head=1
            )
            for stage in STAGES:
                for view in (((0, n), (0, n), (6, 6)), ((4, 19), (2, 30), (50, 50))):
                    for reduce in REDUCTIONS:
                        tile, shown = mine.tile(stage, *view, reduce)
                        wanted, wanted_shown = plain.tile(stage, *view, reduce)
                        np.testing.assert_array_equal(shown, wanted_shown)
                        np.testing.assert_allclose(tile, wanted, atol=1e-5)
            np.testing.assert_allclose(mine.row(7).weight, plain.row(7).weight, atol=1e-6)
            cell = mine.values(7, int(mine.row(7).weight.argmax()))
            assert cell.log_weight == pytest.approx(math.log(cell.weight), abs=1e-5)
            np.testing.assert_allclose(mine.column(7).before_weight, plain.column(7).before_weight, atol=1e-6)


@pytest.mark.parametrize("mask", ["none", "causal", "array"])
def test_the_weights_of_content_and_of_position_alone(mask):
    n = 50
    q, k = layer(10, n, n)
    mine, plain = masks(mask, n, n)
    field = ScoreField(q, k, encoding="rope", mask=mine, display=(10, 10), device="cpu")
    field.edit(0, range(-5, 2), 3.0)
    exact = attention(
        q.astype(float), k.astype(float), encoding="rope", mask=plain, edit=np.stack([field.curve(0)] * 2)
    )
    view = ((0, n), (0, n), (10, 10))
    for stage, term in (("content weights", exact.content), ("positional weights", exact.positional)):
        weights = term[0].masked_fill(~exact.visible[0], -INF).softmax(-1).nan_to_num(0.0)
        for reduce in REDUCTIONS:
            tile = field.tile(stage, *view, reduce)[0]
            np.testing.assert_allclose(tile, pool(weights, exact.visible[0], *view, reduce)[0], atol=1e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_the_strongest_cell_is_found_across_blocks(stage, monkeypatch):
    monkeypatch.setattr(score_cells, "ROWS", 16)
    monkeypatch.setattr(score_cells, "COLS", 16)
    q, k = layer(11, 70, 70, heads=1)
    field = ScoreField(q, k, encoding="t5", mask="causal", device="cpu")
    exact = attention(q, k, encoding="t5", mask="causal")
    for rows, cols in (((0, 70), (0, 70)), ((3, 50), (10, 33)), ((0, 9), (50, 60))):
        wanted = strongest_cell(getattr(exact, stage)[0], exact.visible[0], rows, cols)
        assert field.strongest(stage, rows, cols) == wanted


@pytest.mark.parametrize(
    ("odd", "wanted"),
    [
        ({}, (1, 2)),  # of equals the first row's, though a block to its right
        ({(5, 6): math.nan, (3, 13): math.nan, (9, 0): math.nan}, (3, 13)),
        ({(5, 6): -INF}, (5, 6)),
        ({(5, 6): INF, (12, 1): math.nan}, (12, 1)),
    ],
)
def test_the_strongest_cell_of_equals_is_the_first_and_nan_comes_before_all(odd, wanted, monkeypatch):
    monkeypatch.setattr(score_cells, "ROWS", 4)
    monkeypatch.setattr(score_cells, "COLS", 4)
    scores = torch.from_numpy(np.random.default_rng(15).uniform(-1, 1, (1, 16, 16)))
    for place in ((1, 14), (1, 2), (2, 0), (13, 3)):
        scores[0][place] = -7.0
    for place, value in odd.items():
        scores[0][place] = value
    inputs = AttentionInputs(Tokens(tuple(map(str, range(16)))), given=scores.float())
    field = ScoreField.of(inputs, encoding("none"), mask="none", display=(8, 8))
    assert field.strongest("scores", (0, 16), (0, 16)) == wanted
    assert strongest_cell(scores[0], None, (0, 16), (0, 16)) == wanted
    assert field.cells().strongest("weights", (0, 16), (0, 0)) is None


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("rows_at_once", [1 << 23, 700])
def test_a_preview_shows_exact_cells_before_any_pass(stage, rows_at_once, monkeypatch):
    monkeypatch.setattr(score_field, "PREVIEW_CELLS", rows_at_once)
    monkeypatch.setattr(Scan, "everything", None)
    n = 100
    q, k = layer(12, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", device="cpu")
    exact = attention(q, k, encoding="alibi", mask="causal")
    tile, shown = field.preview(stage, (0, n), (0, n), (20, 20))
    sampled = 20 if rows_at_once > 2000 else 7
    pixels = np.arange(20) * sampled // 20  # the sampled row of each pixel
    edges = np.arange(sampled + 1) * 20 // sampled
    queries = (5 * ((edges[:-1] + edges[1:]) // 2) + 2)[pixels]
    keys = 5 * np.arange(20) + 2
    np.testing.assert_array_equal(shown, exact.visible[0][queries][:, keys])
    np.testing.assert_allclose(tile[shown], getattr(exact, stage)[0][queries][:, keys][shown], atol=1e-5)


def test_a_preview_of_a_long_sequence_computes_few_cells(monkeypatch):
    n, cells = 16_384, 0
    q, k = layer(13, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", device="cpu")
    rows = score_samples._chosen_rows

    def counting(terms, curve, queries, cols):
        nonlocal cells
        cells += len(queries) * (cols[1] - cols[0])
        return rows(terms, curve, queries, cols)

    monkeypatch.setattr(score_samples, "_chosen_rows", counting)
    monkeypatch.setattr(Scan, "everything", None)
    field.preview("weights", (0, n), (0, n), (512, 512))
    assert 0 < cells <= score_field.PREVIEW_CELLS


class Stop(Exception):  # noqa: N818
    pass


class Watch:
    """Counts what it is told, and stops the work after some checks."""

    def __init__(self, checks: float = INF) -> None:
        self.left, self.fractions = checks, []

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stop

    def progress(self, fraction: float) -> None:
        self.fractions.append(fraction)


def test_a_pass_says_how_far_it_is():
    q, k = layer(14, 3000, 3000, heads=1)
    field = ScoreField(q, k, encoding="none", mask="causal", device="cpu")
    watch = Watch()
    field.prepare(cancel=watch)
    assert field.ready
    assert watch.fractions == sorted(watch.fractions)
    assert watch.fractions[-1] == 1 and watch.fractions[0] >= 0


@pytest.mark.parametrize("checks", [0, 1])
def test_a_pass_or_edit_that_is_stopped_leaves_the_next_picture_exact(checks, holding, monkeypatch):
    monkeypatch.setattr(crew, "POLL_S", 1e-4)  # asked more than once in a few milliseconds
    n = 2500
    q, k = layer(15, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", display=(50, 50), device="cpu")
    view = ((0, n), (0, n), (50, 50))
    with pytest.raises(Stop):
        field.tile("weights", *view, cancel=Watch(checks))
    assert not field.ready
    first = field.tile("weights", *view)[0]
    with pytest.raises(Stop):
        field.edit(0, range(-200, 0), 2.0, cancel=Watch(checks))
    edited = field.tile("weights", *view)[0]
    assert np.abs(edited - first).max() > 1e-5
    fresh = ScoreField(
        q, k, encoding="alibi", mask="causal", edit=field.curve(), display=(50, 50), device="cpu"
    )
    np.testing.assert_allclose(edited, fresh.tile("weights", *view)[0], atol=1e-7)


@pytest.mark.parametrize("checks", [0, 1])
def test_a_wide_edit_or_its_refresh_that_is_stopped_leaves_the_next_picture_exact(checks, monkeypatch):
    monkeypatch.setattr(crew, "POLL_S", 1e-4)
    n = 1500
    q, k = layer(42, n, n, heads=1)
    field = ScoreField(q, k, encoding="alibi", mask="causal", display=(50, 50), device="cpu")
    view = ((0, n), (0, n), (50, 50))
    field.prepare()
    for value in (1.0, 2.0):
        field.edit(0, range(-700, 0), value)
        first = field.tile("weights", *view)[0]
    with pytest.raises(Stop):
        field.edit(0, range(-700, 0), 3.0, cancel=Watch(checks))
    edited = field.tile("weights", *view)[0]
    assert np.abs(edited - first).max() > 1e-5
    with pytest.raises(Stop):
        field.refresh(cancel=Watch(checks))
    fresh = ScoreField(
        q, k, encoding="alibi", mask="causal", edit=field.curve(), display=(50, 50), device="cpu"
    )
    for pixels in (edited, field.tile("weights", *view)[0]):
        np.testing.assert_allclose(pixels, fresh.tile("weights", *view)[0], atol=1e-7)


def test_masks_skip_blocks_that_are_wholly_hidden(monkeypatch):
    n, cells = 4096, []
    q, k = layer(16, n, n, heads=1)
    product = torch.mm

    def counting(left, right, out):
        cells[-1] += out.numel() / n**2
        return product(left, right, out=out)

    monkeypatch.setattr(torch, "mm", counting)

    def first_keys(rows, cols):
        return (torch.arange(*cols) < 1000).expand(rows[1] - rows[0], -1)

    for mask in ("none", "causal", "window:64", first_keys):
        cells.append(0.0)
        ScoreField(q, k, encoding="none", mask=mask, device="cpu").prepare()
    # A few pixels are computed again for the smallest and largest content.
    assert 1 <= cells[0] < 1.01 and 0.5 < cells[1] < 0.53 and cells[2] < 0.07
    assert 1000 / n < cells[3] <= row_statistics.COLS / n


MEMORY = """
import resource, sys
import numpy as np, torch
from relpos_viewer.core.score_field import ScoreField
n = 16384
rng = np.random.default_rng(0)
q, k = (rng.standard_normal((n, 64), dtype=np.float32) for _ in "qk")
small = ScoreField(q[:512], k[:512], encoding="alibi", mask="causal", device="cpu")
small.tile("weights", (0, 512), (0, 512), (512, 512))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
field = ScoreField(q, k, encoding="alibi", mask="causal", device="cpu")
for stage in ("content", "positional", "scores", "weights"):
    field.tile(stage, (0, n), (0, n), (512, 512))
    field.extent(stage)
field.edit(0, range(-64, 0), 1.0)
field.tile("weights", (0, n), (0, n), (512, 512))
field.refresh()
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit, field.cost.memory)
"""


def test_memory_stays_within_what_the_field_says_and_far_from_a_matrix():
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    used, said = map(int, done.stdout.split())
    assert used < said
    assert used < 16384**2  # a quarter of one float32 matrix


def test_too_much_for_the_machine_is_a_sentence(monkeypatch):
    monkeypatch.setattr("relpos_viewer.core.field_cost.free_memory", lambda device: 100_000_000)
    q = np.zeros((1, 20_000, 8), np.float32)
    with pytest.raises(ViewerError) as refusal:
        ScoreField(q, q, encoding="none", mask="causal", device="cpu")
    assert str(refusal.value) == (
        "this sequence needs 0.2 GB of memory and 0.1 GB are free; shorten it, or close other programs."
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f: f.tile("wieghts", (0, 5), (0, 5), (5, 5)), "unknown stage “wieghts”; did you mean weights?"),
        (lambda f: f.tile("scores", (0, 5), (0, 5), (5, 5), "median"), "unknown way to reduce cells “median”; did you mean mean?"),
        (lambda f: f.edit(0, [5], 1.0), "offsets must be whole numbers between −4 and 4."),
        (lambda f: f.edit(0, [0.5], 1.0), "offsets must be whole numbers between −4 and 4."),
        (lambda f: f.edit(0, [0], math.nan), "an edit holds NaN or +∞; give finite numbers, or −∞ to hide an offset."),
        (lambda f: f.edit(7, [0], 1.0), "there is no head 7; the heads are 0 to 1."),
        (lambda f: f.set_curve(np.zeros(4)), "edit has shape [4]; give [9], one value an offset."),
        (lambda f: f.edit(0, [0, 1], [1.0, 2.0, 3.0]), "2 offsets need as many values, or one for all; values have shape [3]."),
        (lambda f: f.values(5, 0), "there is no query 5; the queries are 0 to 4."),
        (lambda f: f.values(-1, 0), "there is no query −1; the queries are 0 to 4."),
        (lambda f: f.values(0, 9), "there is no key 9; the keys are 0 to 4."),
        (lambda f: f.row(1.5), "there is no query 1.5; the queries are 0 to 4."),
        (lambda f: f.column(5), "there is no key 5; the keys are 0 to 4."),
        (lambda f: f.diagonal(5), "there is no offset 5; they are −4 to 4."),
        (lambda f: f.row(0, head=True), "there is no head True; the heads are 0 to 1."),
        (lambda f: f.tile("scores", (4, 1), (0, 5), (5, 5)), "rows must run from a first cell to a later one, not (4, 1)."),
        (lambda f: f.tile("scores", (0, 5), (2, math.nan), (5, 5)), "cols must run from a first cell to a later one, not (2, nan)."),
        (lambda f: f.tile("scores", 5, (0, 5), (5, 5)), "rows must be a pair of numbers, not 5."),
        (lambda f: f.preview("scores", (0, 5), (0, 5), (0, 5)), "shape must be two whole numbers of at least 1, not (0, 5)."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(ask, message):
    q, k = layer(17, 5, 5)
    field = ScoreField(q, k, encoding="none", mask="none", device="cpu")
    with pytest.raises(ViewerError) as refusal:
        ask(field)
    assert str(refusal.value) == message


def test_an_edit_of_no_offset_changes_nothing():
    q, k = layer(17, 5, 5)
    field = ScoreField(q, k, encoding="alibi", mask="causal", device="cpu")
    before = field.row(3).weight
    field.edit(0, [], [])
    np.testing.assert_array_equal(field.row(3).weight, before)


def test_only_one_other_kind_of_weights_keeps_its_sums_beside_the_scores_own():
    q, k = layer(46, 50, 50)
    field = ScoreField(q, k, encoding="alibi", mask="causal", display=(10, 10), device="cpu")
    view = ((0, 50), (0, 50), (10, 10))
    first = field.tile("content weights", *view)[0]
    kept = []
    for stage in ("weights", "positional weights", "content weights"):
        field.tile(stage, *view)
        kept.append(set(field._of(0).live))
    assert kept == [
        {"content weights", "weights"},
        {"positional weights", "weights"},
        {"content weights", "weights"},
    ]
    field.refresh()
    assert set(field._of(0).live) == {"weights"}
    np.testing.assert_array_equal(field.tile("content weights", *view)[0], first)


@pytest.mark.parametrize(
    ("given", "what"), [(torch.ones(3, 3), r"torch.float32 \[3, 3\]"), (None, "NoneType")]
)
def test_a_mask_function_that_gives_something_else_is_named(given, what):
    q, k = layer(18, 5, 5)
    with pytest.raises(ViewerError, match=r"must return bool \[5, 5\] .* not " + what):
        ScoreField(q, k, encoding="none", mask=lambda rows, cols: given, device="cpu").prepare()
