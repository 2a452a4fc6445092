"""Masks by name, by number and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.attention import attention
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.masks import MASKS, parse_mask
from relpos_viewer.core.measures import document_leak


@pytest.mark.parametrize(
    ("spec", "n", "cells"),
    [
        ("none", 10, 100),
        ("causal", 10, 55),
        ("window:1", 10, 10),
        ("window:3", 10, 27),
        ("window:99", 10, 55),
        ("prefix:1", 10, 55),  # K03: prefix 1 is causal, prefix 10 is full
        ("prefix:6", 10, 70),
        ("prefix:10", 10, 100),
        ("padding:3", 10, 70),
        ("padding:99", 10, 0),
        ("left-padding:3", 10, 28),  # queries 3 … 9 see 1 … 7 keys, the padding none
        ("documents:4,2", 6, 13),  # K01
        ("causal", 6, 21),
    ],
)
def test_a_mask_leaves_so_many_cells_visible(spec: str, n: int, cells: int) -> None:
    assert int(parse_mask(spec).visible(n, n).sum()) == cells
    assert parse_mask(spec).spec == spec


def test_a_prefix_mask_sees_the_prefix_and_the_past() -> None:
    visible = parse_mask("prefix:6").visible(10, 10)
    assert visible[2].nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5]
    assert visible[6].nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_padding_is_seen_by_nobody_on_the_side_where_it_lies() -> None:
    assert parse_mask("padding:2").visible(4, 4).tolist() == [[True, True, False, False]] * 4
    left = parse_mask("left-padding:2").visible(4, 4)
    assert left.int().tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


def test_packed_documents_do_not_see_each_other_and_a_causal_mask_says_how_much_leaks() -> None:
    zeros = np.zeros((6, 2))
    apart = attention(zeros, zeros, mask="documents:4,2")
    assert apart.weights[0, 4].tolist() == [0, 0, 0, 0, 1, 0]
    leaking = attention(zeros, zeros, mask="causal")
    leak = document_leak(leaking.weights[0], (0, 0, 0, 0, 1, 1))
    assert leak.tolist() == pytest.approx([0, 0, 0, 0, 0.8, 4 / 6])
    assert document_leak(apart.weights[0], (0, 0, 0, 0, 1, 1)).max() == 0


def test_the_documents_of_the_tokens_serve_a_mask_without_lengths() -> None:
    visible = parse_mask("documents").visible(6, 6, (0, 0, 0, 0, 1, 1))
    assert torch.equal(visible, parse_mask("documents:4,2").visible(6, 6))


def test_a_bool_array_means_true_is_visible_and_an_empty_row_gets_no_weight() -> None:
    # K04: triu(1) as "may attend": the last query sees nothing.
    may_attend = np.triu(np.ones((3, 3), bool), 1)
    weights = attention(np.zeros((3, 2)), np.zeros((3, 2)), mask=may_attend).weights[0]
    assert weights.tolist() == [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]
    masked = attention(np.zeros((3, 2)), np.zeros((3, 2)), mask=~may_attend).weights[0]
    np.testing.assert_allclose(masked, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)


def test_queries_are_the_last_rows() -> None:
    for spec in ("causal", "window:2", "prefix:3", "padding:2", "left-padding:2"):
        whole = parse_mask(spec).visible(7, 7)
        assert torch.equal(parse_mask(spec).visible(3, 7), whole[4:])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("casual", "unknown mask “casual”; did you mean causal?"),
        ("window:0", "“0” in the mask “window:0” must be a whole number of at least 1."),
        ("window:x", "“x” in the mask “window:x” must be a whole number of at least 1."),
        ("causal:3", "the mask “causal” takes no number; write causal."),
        ("documents:3,,2", "“” in the mask “documents:3,,2” must be a whole number of at least 1."),
    ],
)
def test_a_bad_mask_is_refused_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(ViewerError) as refusal:
        parse_mask(spec)
    assert str(refusal.value) == message


def test_every_mask_of_the_table_can_be_built_from_its_name() -> None:
    for kind in MASKS:
        assert parse_mask(kind.name).visible(5, 5).shape == (5, 5)
        assert kind.help.endswith(".")
