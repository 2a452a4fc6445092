"""Exported code, run as a user would run it: it must give the picture's own numbers."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.export.code import parameters_json, python_code, score_mod_code

from ..core.lively import LIVELY

HEADS, D = 4, 8


def run(source: str) -> SimpleNamespace:
    """Run a module's source as a file of its own would be."""
    names: dict[str, object] = {}
    exec(compile(source, "exported.py", "exec"), names)
    return SimpleNamespace(**names)


def layer(n_query: int, n_key: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n_key)
    q = torch.randn(HEADS, n_query, D, generator=generator, dtype=torch.float64)
    return q, torch.randn(HEADS, n_key, D, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (17, 17), (3, 21)])
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_code_gives_the_numbers_of_the_picture(name: str, edited: bool, shape: tuple[int, int]) -> None:
    n_query, n_key = shape
    q, k = layer(n_query, n_key)
    built = encoding(name, heads=HEADS, **LIVELY[name])
    edit = np.random.default_rng(3).normal(size=(HEADS, 2 * n_key - 1)) if edited else None
    exact = attention(q, k, encoding=built, edit=edit).positional
    mine = run(python_code(built, n_key, edit, D)).bias(n_query, n_key, q, k, D**-0.5)
    torch.testing.assert_close(mine.double(), exact, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_score_mod_gives_flex_attention_the_weights_of_the_picture(name: str) -> None:
    from torch.nn.attention.flex_attention import flex_attention

    n_query, n_key = 5, 9
    q, k = (x.float() for x in layer(n_query, n_key))
    built = encoding(name, heads=HEADS, **LIVELY[name])
    edit = np.random.default_rng(4).normal(size=(HEADS, 2 * n_key - 1))
    exact = attention(q, k, torch.eye(n_key).expand(HEADS, -1, -1), encoding=built, edit=edit)
    module = run(score_mod_code(built, n_key, edit, D))
    mod = module.score_mod_for(n_query, n_key) if built.toeplitz else module.score_mod_for(q, k, D**-0.5)
    # With the unit vectors as values, the output is the weights.
    values = torch.eye(n_key).expand(1, HEADS, -1, -1)
    mine = flex_attention(q[None], k[None], values, score_mod=mod)[0]
    torch.testing.assert_close(mine, exact.weights, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_parameters_are_read_back_as_the_same_encoding(name: str) -> None:
    built = encoding(name, heads=HEADS, **LIVELY[name])
    record = json.loads(parameters_json(built, None))
    again = encoding(record["encoding"], heads=HEADS, **record["parameters"])
    q, k = layer(9, 9)
    wanted = attention(q, k, encoding=built).positional
    torch.testing.assert_close(attention(q, k, encoding=again).positional, wanted, atol=1e-6, rtol=1e-6)
