"""The figures of a long head against those of whole matrices in float64."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch

from relpos_viewer.core import field_measures, measures
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.field import PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.measures import HeadMeasures
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.core.tokens import Tokens

INF = math.inf
EDITS = {"no edit": lambda n: np.zeros(2 * n - 1), "edit": lambda n: np.sin(np.arange(2 * n - 1) * 0.7) * 3}


def of_matrices(inputs: AttentionInputs, family, mask: str, edit: np.ndarray) -> HeadMeasures:
    """The figures of the first head, from float64 matrices."""
    field = PlainField.of(inputs.to("cpu"), family, scale=None, mask=parse_mask(mask), edit=edit, head=0)
    documents = inputs.tokens.documents
    leak = None if documents is None else float(measures.document_leak(field.weights, documents).max())
    return HeadMeasures(
        measures.toeplitz_share(field.positional, field.visible),
        measures.position_share(field.content, field.positional, field.visible),
        measures.mean_distance(field.weights),
        measures.entropy_bits(field.weights),
        leak,
    )


def inputs_of(
    dtype: torch.dtype,
    n_query: int = 100,
    n_key: int = 130,
    *,
    documents: bool = False,
    **given: torch.Tensor,
) -> AttentionInputs:
    """Random queries and keys of one head, unless scores are given."""
    generator = torch.Generator().manual_seed(n_key)
    of_each = tuple(key // 30 % 3 for key in range(n_key)) if documents else None
    tokens = Tokens(tuple(map(str, range(n_key))), documents=of_each)
    if "given" not in given:
        given["q"] = torch.randn(1, n_query, 8, generator=generator, dtype=torch.float64)
        given["k"] = torch.randn(1, n_key, 8, generator=generator, dtype=torch.float64)
    # float32 numbers in both, so that only the arithmetic differs.
    return AttentionInputs(tokens, **{name: each.float().to(dtype) for name, each in given.items()})


def agree(mine: HeadMeasures, wanted: HeadMeasures, rel: float) -> None:
    assert (mine.document_leak is None) == (wanted.document_leak is None)
    ours, theirs = (
        {name: value for name, value in asdict(each).items() if value is not None} for each in (mine, wanted)
    )
    assert ours == pytest.approx(theirs, rel=rel, nan_ok=True)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("mask", ["none", "causal", "window:7", "prefix:9", "documents"])
@pytest.mark.parametrize("name", FAMILIES)
def test_figures_are_those_of_whole_matrices(name, mask, edit, monkeypatch):
    monkeypatch.setattr(field_measures, "ROWS", 32)
    monkeypatch.setattr(field_measures, "COLS", 64)
    curve = EDITS[edit](130)
    # A float32 term that is small beside its content loses digits when it is added to it.
    for dtype, rel in ((torch.float32, 5e-6), (torch.float64, 1e-9)):
        inputs = inputs_of(dtype, documents=True)
        field = ScoreField.of(inputs, encoding(name), mask=mask, edit=curve, display=(8, 8))
        exact = of_matrices(
            inputs_of(torch.float64, documents=True), encoding(name), mask, curve.astype(np.float32)
        )
        if dtype == torch.float64:
            exact = of_matrices(inputs, encoding(name), mask, curve)
        agree(field.measures(), exact, rel)


def test_figures_follow_the_edit_and_need_no_documents():
    inputs = inputs_of(torch.float32, 60, 60)
    field = ScoreField.of(inputs, encoding("t5"), mask="causal", display=(8, 8))
    field.prepare()
    curve = np.zeros(119)
    for value in (4.0, -INF, 0.0):
        field.edit(0, [-3, -2, 5], value)
        curve[[56, 57, 64]] = value
        exact = of_matrices(inputs_of(torch.float64, 60, 60), encoding("t5"), "causal", curve)
        assert exact.document_leak is None
        agree(field.measures(), exact, 1e-6)


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_odd(value: float) -> torch.Tensor:
    scores = random(1, 70, 70)
    scores[0, 40, 3], scores[0, 9, 9] = value, value
    return scores


CASES = {
    "a bias of the file": {"q": random(1, 70, 8), "k": random(1, 70, 8), "bias": random(1, 70, 70, seed=4)},
    "a bias far from 0": {"q": random(1, 70, 8), "k": random(1, 70, 8), "bias": 300 + random(1, 70, 70)},
    "scores far from 0": {"given": 5000 + random(1, 70, 70)},
    "weights that sum to 2": {"given": random(1, 70, 70), "row_sums": torch.full((1, 70, 1), 2.0)},
    "a score that is no number": {"given": with_odd(math.nan)},
    "an infinite score": {"given": with_odd(INF)},
    "an impossible cell": {"given": with_odd(-INF)},
    "an infinite bias": {"q": random(1, 70, 8), "k": random(1, 70, 8), "bias": with_odd(-INF)},
    "nothing but zeros": {"given": torch.zeros(1, 70, 70)},
}


@pytest.mark.parametrize("name", ["none", "alibi"])
@pytest.mark.parametrize("case", CASES)
def test_figures_of_what_files_hold_are_those_of_whole_matrices(case, name, monkeypatch):
    monkeypatch.setattr(field_measures, "ROWS", 16)
    monkeypatch.setattr(field_measures, "COLS", 32)
    visible = torch.rand(70, 70, generator=torch.Generator().manual_seed(5)) < 0.7
    visible[33] = False  # a row without any key
    for mask in ("none", "causal"):
        both = []
        for dtype in (torch.float32, torch.float64):
            inputs = inputs_of(dtype, 70, 70, **CASES[case])
            both.append(AttentionInputs(**{**vars(inputs), "visible": visible}))
        field = ScoreField.of(both[0], encoding(name), mask=mask, display=(8, 8))
        exact = of_matrices(both[1], encoding(name), mask, np.zeros(139))
        agree(field.measures(), exact, 1e-6)


def test_a_term_of_offsets_alone_is_all_toeplitz_and_a_constant_one_has_no_share():
    inputs = inputs_of(torch.float32, 40, 40)
    assert ScoreField.of(inputs, encoding("alibi"), mask="causal").measures().toeplitz_share == 1
    nothing = ScoreField.of(inputs, encoding("none"), mask="causal").measures()
    assert math.isnan(nothing.toeplitz_share) and nothing.position_share == 0


class Stop(Exception):  # noqa: N818
    pass


class Watch:
    """Is told how far the work is, and stops it after some checks."""

    def __init__(self, checks: float) -> None:
        self.left, self.told = checks, []

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stop

    def progress(self, fraction: float) -> None:
        self.told.append(fraction)


def test_the_pass_can_be_stopped_and_says_how_far_it_is():
    field = ScoreField.of(inputs_of(torch.float32, 3000, 3000), encoding("rope"), mask="causal")
    field.prepare()
    watch = Watch(INF)
    whole = field.measures(cancel=watch)
    assert watch.told == sorted(watch.told) and watch.told[-1] == 1
    with pytest.raises(Stop):
        field.measures(cancel=Watch(0))
    assert field.measures() == whole, "what was stopped has left nothing behind"
