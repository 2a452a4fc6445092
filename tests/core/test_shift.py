"""Moving the sequence: relative families do not notice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relpos_viewer.core import shift as module
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.shift import shift_test, verdict

from .lively import LIVELY

# What a shift by three places does to each family.
MOVES = {"absolute": True, "fire": True, "swin": True, "swin-v2": True, "beit": True}


def inputs(n: int = 12, n_query: int = 12):
    rng = np.random.default_rng(n)
    return inputs_from_arrays(rng.normal(size=(4, n_query, 8)), rng.normal(size=(2, n, 8)))


@pytest.mark.parametrize("n_query", [12, 5])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_shift_changes_only_what_is_not_relative(name: str, n_query: int) -> None:
    built = encoding(name, **LIVELY[name])
    found = shift_test(inputs(12, n_query), built, scale=None, head=2, places=3)
    assert found.difference.shape == (n_query, 12)
    assert found.relative != MOVES.get(name, False), found.largest
    if found.relative:
        assert found.largest < 1e-9
    else:
        assert found.largest > 0.01


def test_a_window_does_not_notice_a_shift_by_whole_rows() -> None:
    assert shift_test(inputs(), encoding("swin", width=4), scale=None, head=0, places=4).relative


def test_absolute_positions_change_by_what_their_products_do() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1, 6, 8))
    table = rng.normal(size=(10, 8))
    found = shift_test(
        inputs_from_arrays(q, k), encoding("absolute", table=table), scale=0.5, head=0, places=4
    )
    first, second = table[:6], table[4:10]
    wanted = 0.5 * (
        q[0] @ (second - first).T + (second - first) @ k[0].T + second @ second.T - first @ first.T
    )
    np.testing.assert_allclose(found.difference, wanted)


def test_learned_positions_end() -> None:
    with pytest.raises(ViewerError, match="ends at 12 positions and the sequence has 13"):
        shift_test(inputs(), encoding("absolute", table=np.zeros((12, 8))), scale=None, head=0, places=1)


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("none", {}, "Every score stays as it was: there is no positional term."),
        (
            "alibi",
            {},
            "Every score stays as it was: the term of ALiBi linear biases depends on key − query alone.",
        ),
        (
            "rope",
            {},
            "Every score stays as it was: the term of RoPE rotary depends on key − query alone, and on what the tokens "
            "are.",
        ),
        (
            "rope",
            {"scaling_rule": "dynamic", "original": 4},
            "Scores move by up to NUMBER: dynamic NTK stretches the frequencies",
        ),
        (
            "absolute",
            {},
            "Scores move by up to NUMBER: absolute positions give every place a vector of its own.",
        ),
        (
            "beit",
            {"width": 3},
            "Scores move by up to NUMBER: BEiT takes the first token for its class token, and",
        ),
    ],
)
def test_one_sentence_says_what_happened_and_why(name: str, parameters: dict, sentence: str) -> None:
    built = encoding(name, **parameters)
    found = shift_test(inputs(), built, scale=None, head=1, places=5)
    assert sentence in verdict(found, built, "NUMBER")


def test_hidden_cells_do_not_count() -> None:
    built = encoding("absolute")
    whole = shift_test(inputs(), built, scale=None, head=2, places=2)
    found = shift_test(inputs(), built, scale=None, head=2, places=2, mask=parse_mask("causal"))
    seen = np.tri(12, dtype=bool)
    np.testing.assert_array_equal(found.difference, np.where(seen, whole.difference, math.nan))
    assert found.largest == pytest.approx(np.abs(whole.difference[seen]).max())
    assert found.largest < whole.largest
    assert found.size < whole.size


def test_fire_notices_from_the_query_on_that_comes_to_lie_beyond_its_threshold() -> None:
    built = encoding("fire", **LIVELY["fire"])  # its threshold is 6
    found = shift_test(inputs(), built, scale=None, head=0, places=2)
    moves = (np.abs(found.difference) > 1e-9).any(1)
    np.testing.assert_array_equal(moves, np.arange(12) + 2 > 6)


def test_of_a_long_sequence_the_last_queries_move_and_pixels_keep_the_largest_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LARGEST", 10)
    monkeypatch.setattr(module, "LAST", 6)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    built = encoding("absolute")
    whole = shift_test(inputs(10, 10), built, scale=None, head=3, places=4).difference
    found = shift_test(inputs(12, 12), built, scale=None, head=3, places=4)
    assert (found.rows, found.queries, found.difference.shape) == ((6, 12), 12, (6, 12))
    monkeypatch.setattr(module, "PIXELS", 5)
    pooled = shift_test(inputs(10, 10), built, scale=None, head=3, places=4)
    assert pooled.difference.shape == (5, 5)
    assert pooled.largest == pytest.approx(np.abs(whole).max())
    block = whole[2:4, 6:8].ravel()
    assert pooled.difference[1, 3] == pytest.approx(block[np.abs(block).argmax()])


def test_what_cannot_be_pooled_stays_nothing() -> None:
    from relpos_viewer.core.extremes import block_extremes

    values = np.array([[1.0, -3.0, math.nan, math.nan, 2.0, -math.inf]])
    np.testing.assert_array_equal(block_extremes(values, 3), [[-3.0, math.nan, -math.inf]])
    np.testing.assert_array_equal(block_extremes(values[:, :2], 9), values[:, :2])
