"""Figures of a head, against cases that can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from relpos_viewer.core import measures
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.offsets import offset_matrix, toeplitz

ALL = torch.ones(4, 4, dtype=torch.bool)
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()


def test_a_toeplitz_matrix_is_all_offset_and_a_key_effect_hardly_so() -> None:
    curve = torch.tensor([5.0, -1.0, 2.0, 0.5, 7.0, -3.0, 1.0])
    assert measures.toeplitz_share(toeplitz(curve, 4, 4), ALL) == pytest.approx(1)
    # 2 × 2 with columns 0 and 1: diagonals (0, 1), (1), (0); variance 1/4, of which 1/8 is left on the diagonal.
    by_key = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert measures.toeplitz_share(by_key, torch.ones(2, 2, dtype=torch.bool)) == pytest.approx(0.5)
    assert math.isnan(measures.toeplitz_share(torch.full((4, 4), 0.1), ALL))


@pytest.mark.parametrize(("n_query", "n_key"), [(7, 7), (90, 131), (131, 131)])
@pytest.mark.parametrize("mask", ["none", "causal", "window:5"])
def test_a_diagonal_is_its_mean_and_the_10_and_90_percent_quantiles_of_what_can_be_seen(
    n_query: int, n_key: int, mask: str
) -> None:
    rng = np.random.default_rng(n_query)
    # Skewed to one side, so that quantiles are nowhere symmetric about the mean; some cells are no numbers.
    values = np.exp(rng.normal(size=(n_query, n_key))).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = -math.inf
    values[rng.random(values.shape) < 0.02] = math.nan
    visible = parse_mask(mask).visible(n_query, n_key)
    got = measures.diagonal_summary(torch.from_numpy(values), visible)
    mean = measures.diagonal_mean(torch.from_numpy(values), visible)
    for place, offset in enumerate(range(1 - n_key, n_key)):
        shift = offset + n_key - n_query
        cells = np.diagonal(values, shift)[np.diagonal(visible.numpy(), shift)].astype(np.float64)
        cells = cells[np.isfinite(cells)]
        if not len(cells):
            assert all(math.isnan(part[place]) for part in (*got, mean)), offset
            continue
        expected = [cells.mean(), *np.quantile(cells, [0.1, 0.9])]
        assert [part[place] for part in got] == pytest.approx(expected, rel=1e-6), offset
        assert mean[place] == pytest.approx(cells.mean(), rel=1e-6)


def test_position_share_compares_the_terms_within_rows() -> None:
    content = torch.tensor([[0.0, 2.0]]).repeat(2, 1) + torch.tensor(
        [[100.0], [0.0]]
    )  # row constants do not count
    positional = torch.tensor([[0.0, 4.0]]).repeat(2, 1)
    both = torch.ones(2, 2, dtype=torch.bool)
    assert measures.position_share(content, positional, both) == pytest.approx(16 / 20)
    assert math.isnan(measures.position_share(torch.ones(2, 2), torch.ones(2, 2), both))


def test_distance_and_entropy_of_uniform_weights() -> None:
    weights = CAUSAL / CAUSAL.sum(-1, keepdim=True)
    assert measures.mean_distance(weights) == pytest.approx(np.mean([0, 0.5, 1, 1.5]))
    assert measures.entropy_bits(weights) == pytest.approx(np.mean([0, 1, math.log2(3), 2]))
    weights[2] = 0  # a row without any key does not count
    assert measures.entropy_bits(weights) == pytest.approx(np.mean([0, 1, 2]))
    assert math.isnan(measures.mean_distance(torch.zeros(2, 2)))


def test_offsets_count_from_the_last_positions() -> None:
    assert offset_matrix(2, 4).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]
