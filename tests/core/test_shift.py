"""Moving the sequence: relative families do not notice."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.shift import shift_test

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
    torch.testing.assert_close(found.difference, torch.from_numpy(wanted))


def test_learned_positions_end() -> None:
    with pytest.raises(ViewerError, match="ends at 12 positions and the sequence has 13"):
        shift_test(inputs(), encoding("absolute", table=np.zeros((12, 8))), scale=None, head=0, places=1)
