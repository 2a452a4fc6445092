"""The plain path against the definition, written out in plain Python, and against what users get wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.attention import attention, masked_softmax
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, PlainField, cell_in_row
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask


def definition(q, k, v, curve, edit, visible, scale):
    """Attention with an additive curve, cell by cell, in Python floats."""
    heads, n_query, d = q.shape
    n_key = k.shape[1]
    weights = np.zeros((heads, n_query, n_key))
    output = np.zeros((heads, n_query, v.shape[2]))
    for h in range(heads):
        key_head = h * k.shape[0] // heads
        for i in range(n_query):
            exponentials = {}
            for j in range(n_key):
                if visible[i, j]:
                    delta = j - (i + n_key - n_query)
                    content = scale * sum(float(q[h, i, x]) * float(k[key_head, j, x]) for x in range(d))
                    bias = float(curve[h, delta + n_key - 1]) + float(edit[h, delta + n_key - 1])
                    exponentials[j] = math.exp(content + bias)
            for j, exponential in exponentials.items():
                weights[h, i, j] = exponential / sum(exponentials.values())
                output[h, i] += weights[h, i, j] * np.asarray(v[key_head, j])
    return weights, output


@pytest.mark.parametrize("mask", ["none", "causal", "window:3", "prefix:2", "documents:4,3"])
@pytest.mark.parametrize(("n_query", "heads", "key_heads"), [(7, 4, 4), (7, 4, 2), (3, 2, 1), (1, 1, 1)])
def test_attention_is_its_definition(mask: str, n_query: int, heads: int, key_heads: int) -> None:
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(heads, n_query, 5)), rng.normal(size=(key_heads, 7, 5))
    v = rng.normal(size=(key_heads, 7, 3))
    curve, edit = rng.normal(size=(heads, 13)), rng.normal(size=(heads, 13))
    mine = attention(q, k, v, encoding=encoding("curve", table=curve), mask=mask, edit=edit)
    visible = parse_mask(mask).visible(n_query, 7)
    weights, output = definition(q, k, v, curve, edit, visible, 1 / math.sqrt(5))
    np.testing.assert_allclose(mine.weights, weights, atol=1e-12)
    np.testing.assert_allclose(mine.output, output, atol=1e-12)
    assert np.array_equal(mine.visible, np.broadcast_to(visible, mine.visible.shape))


def test_float32_is_within_1e_6_of_float64() -> None:
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(2, 300, 64)), rng.normal(size=(2, 300, 64))
    edit = rng.normal(size=(2, 599))
    exact = attention(q, k, encoding="alibi", mask="causal", edit=edit)
    single = attention(q.astype(np.float32), k.astype(np.float32), encoding="alibi", mask="causal", edit=edit)
    assert single.scores.dtype == torch.float32 and exact.scores.dtype == torch.float64
    assert (single.weights - exact.weights).abs().max() < 1e-6


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 2**31),
    st.floats(0, 1),
    st.sampled_from([1.0, 100.0, 1e4]),
)
def test_rows_sum_to_one_or_to_nothing(rows: int, cols: int, seed: int, share: float, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, cols, generator=generator) * size
    visible = torch.rand(rows, cols, generator=generator) < share
    weights = masked_softmax(scores, visible)
    assert (weights >= 0).all() and not weights.isnan().any()
    assert not weights[~visible].any()
    torch.testing.assert_close(weights.sum(-1), visible.any(-1).float(), atol=1e-6, rtol=0)


def test_a_row_constant_changes_no_weight() -> None:
    scores = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    visible = torch.ones(4, 6, dtype=torch.bool)
    torch.testing.assert_close(
        masked_softmax(scores, visible), masked_softmax(scores + torch.arange(4)[:, None] * 50, visible)
    )


def test_underflow_is_zero_but_its_logarithm_is_known() -> None:
    # P05: scores 0, −50, −200 and a masked cell.
    field = field_of_scores(torch.tensor([[0.0, -50.0, -200.0, 5.0]]), np.array([[True, True, True, False]]))
    assert field.weights[0].tolist() == pytest.approx([1, 1.9287e-22, 0, 0], rel=1e-4)
    assert field.values(0, 2).weight == 0
    assert field.values(0, 2).log_weight / math.log(10) == pytest.approx(-86.86, abs=0.005)
    assert not field.values(0, 3).visible


def field_of_scores(scores: torch.Tensor, visible: np.ndarray) -> PlainField:
    """A field whose content is `scores` [query, key]: q is the scores themselves, k the unit vectors."""
    inputs = inputs_from_arrays(scores[None], torch.eye(scores.shape[1])[None])
    return PlainField.of(inputs, encoding("none"), scale=1.0, mask=parse_mask(visible), edit=None, head=0)


@pytest.mark.parametrize("name", ["none", "curve", "t5", "alibi", "rope", "absolute"])
@pytest.mark.parametrize("mask", ["none", "causal", "window:3"])
def test_the_field_of_a_head_is_that_head_of_attention(name: str, mask: str) -> None:
    rng = np.random.default_rng(7)
    q, k = rng.normal(size=(4, 5, 8)), rng.normal(size=(2, 9, 8))
    edit = rng.normal(size=(4, 17))
    whole = attention(q, k, encoding=name, mask=mask, edit=edit)
    before = attention(q, k, encoding=name, mask=mask)
    for head in range(4):
        field = PlainField.of(
            inputs_from_arrays(q, k), encoding(name), scale=None, mask=parse_mask(mask), edit=edit, head=head
        )
        for stage in STAGES:
            torch.testing.assert_close(field.stage(stage), getattr(whole, stage)[head], atol=1e-12, rtol=0)
        for i, j in [(0, 0), (4, 8), (2, 3), (3, 1)]:
            cell = field.values(i, j)
            delta = j - i - 4
            assert cell.offset == delta
            assert cell.edit == pytest.approx(edit[head, delta + 8])
            assert cell.content + cell.positional + cell.edit == pytest.approx(cell.score)
            assert cell.before_weight == pytest.approx(float(before.weights[head, i, j]), abs=1e-12)
            again = cell_in_row(field.row(i), j, 4)
            assert vars(again) == pytest.approx(vars(cell), abs=1e-12)
        np.testing.assert_allclose(field.row(2).before_weight, before.weights[head, 2], atol=1e-12)
        np.testing.assert_allclose(field.column(3).weight, whole.weights[head, :, 3], atol=1e-12)
        diagonal = field.diagonal(-2)
        assert [(i, j) for i, j in zip(diagonal.queries, diagonal.keys, strict=True)] == [
            (i, i + 4 - 2) for i in range(5)
        ]
        np.testing.assert_allclose(diagonal.score, [whole.scores[head, i, i + 2] for i in range(5)])


def test_undoing_an_edit_gives_the_same_bits() -> None:
    rng = np.random.default_rng(8)
    inputs = inputs_from_arrays(
        rng.normal(size=(1, 40, 8)).astype("f"), rng.normal(size=(1, 40, 8)).astype("f")
    )
    field = PlainField.of(inputs, encoding("t5"), scale=None, mask=parse_mask("causal"), edit=None, head=0)
    edited = field.with_edit(torch.randn(79))
    assert not torch.equal(edited.weights, field.weights)
    assert torch.equal(edited.with_edit(torch.zeros(79)).weights, field.weights)


@pytest.mark.parametrize(
    ("q", "k", "message"),
    [
        (np.ones((4, 3, 8)), np.ones((4, 3, 6)), "q [4, 3, 8] and k [4, 3, 6] differ in their last axis, the head size; it must be the same."),
        (np.ones((4, 3, 8)), np.ones((3, 3, 8)), "q [4, 3, 8] and k [3, 3, 8]: the number of key heads must divide the number of query heads."),
        (np.ones((1, 5, 8)), np.ones((1, 3, 8)), "q [1, 5, 8] and k [1, 3, 8]: there are more queries than keys; the queries must be the last positions."),
        (np.ones((1, 0, 8)), np.ones((1, 0, 8)), "q [1, 0, 8] and k [1, 0, 8] hold nothing; give at least one token and one dimension."),
        (np.ones(3), np.ones((3, 3)), "q has shape [3]; give [head, n, d] or [n, d]."),
        (np.array([["a"]]), np.ones((1, 1)), "q holds <U1, not real numbers; give a float array."),
        (np.ones((1, 1), complex), np.ones((1, 1)), "q holds complex128, not real numbers; give a float array."),
    ],
)  # fmt: skip
def test_queries_and_keys_that_do_not_fit_are_named(q: np.ndarray, k: np.ndarray, message: str) -> None:
    with pytest.raises(ViewerError) as refusal:
        attention(q, k)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edit": np.zeros(4)}, "edit has shape [1, 4]; give [2, 5], one value an offset."),
        ({"scale": math.nan}, "the scale must be a finite number, not nan."),
        ({"mask": np.ones((3, 4), bool)}, "the mask is [3, 4], the scores are [3, 3]; they must agree."),
        ({"mask": np.ones((3, 3))}, "a mask array must be bool [query, key] with True = visible; this one is torch.float64 [3, 3]."),
        ({"mask": "documents:2,2"}, "the documents of the mask add up to 4 tokens, the sequence has 3; mend their lengths."),
        ({"v": np.ones((2, 4, 1))}, "v [2, 4, 1] does not fit k [2, 3, 5]; heads and positions must agree."),
    ],
)  # fmt: skip
def test_what_else_does_not_fit_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(ViewerError) as refusal:
        attention(np.ones((2, 3, 5)), np.ones((2, 3, 5)), **arguments)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"q": [[1.0, 2.0], [3.0]]}, "q is no array of numbers"),
        ({"q": torch.eye(4).to_sparse()}, "q is a sparse tensor"),
        ({"q": torch.zeros(4, 4, device="meta")}, "q is a sparse tensor or one without values"),
        ({"scale": "wide"}, "the scale must be a finite number, not wide"),
        ({"scale": np.ones(3)}, "the scale must be a finite number"),
        ({"encoding": 3}, "unknown encoding “3”"),
        ({"mask": [[True], [True, False]]}, "a mask array must be bool"),
        (
            {"mask": np.ones((3, 4, 4), bool)},
            r"the mask is \[3, 4, 4\], one matrix for each of 3 heads, and there are 1",
        ),
    ],
)
def test_what_is_no_array_number_or_mask_is_refused_in_one_sentence(wrong: dict, message: str) -> None:
    with pytest.raises(ViewerError, match=message):
        attention(**{"q": np.eye(4), "k": np.eye(4)} | wrong)


@pytest.mark.parametrize("dtype", [">f4", ">i2", np.longdouble])
def test_numbers_that_torch_does_not_know_are_read_all_the_same(dtype) -> None:
    values = np.arange(8.0).reshape(2, 4)
    assert torch.equal(attention(values.astype(dtype), values).scores, attention(values, values).scores)


def test_one_mask_matrix_is_that_of_every_head() -> None:
    inputs = inputs_from_arrays(np.ones((2, 3, 4)), np.ones((2, 3, 4)))
    mask = parse_mask(np.tri(3, dtype=bool)[None])
    field = PlainField.of(inputs, encoding("none"), scale=None, mask=mask, edit=None, head=1)
    assert torch.equal(field.visible, torch.ones(3, 3).tril().bool())


def test_stages_that_would_exhaust_the_memory_are_refused_before_they_are_computed() -> None:
    with pytest.raises(ViewerError, match=r"3,600,000,000 cells a stage.*fewer heads or positions"):
        attention(np.zeros((60_000, 1), np.float32), np.zeros((60_000, 1), np.float32))
