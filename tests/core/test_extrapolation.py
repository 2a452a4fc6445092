"""Longer sequences than those of training, against closed formulas and tables counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from relpos_viewer.core import extrapolation, measures
from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.encodings.rope import SCALINGS, Rope
from relpos_viewer.core.inputs import inputs_from_arrays


def test_a_longer_random_sequence_begins_with_the_same_vectors() -> None:
    short, long = extrapolation.random_vectors(70, 12), extrapolation.random_vectors(900, 12)
    for near, far in zip(short, long, strict=True):
        assert torch.equal(near, far[:70])
    q, k = long
    assert abs(float((q * k).sum(1).mean())) < 0.5, "queries and keys are independent"
    assert float(torch.stack(long).std()) == pytest.approx(1, abs=0.03)


def test_a_repeated_text_says_the_same_over_and_over_in_every_head() -> None:
    rng = np.random.default_rng(3)
    inputs = inputs_from_arrays(rng.normal(size=(4, 5, 6)), rng.normal(size=(2, 5, 6)))
    made = extrapolation.repeated(inputs, 2, 13)
    assert (made.heads, made.n_query, made.n_key) == (4, 13, 13)
    for head in range(4):
        assert torch.equal(made.q[head], inputs.q[2][[0, 1, 2, 3, 4] * 2 + [0, 1, 2]])
        assert torch.equal(made.keys_per_head()[head], inputs.k[1][[0, 1, 2, 3, 4] * 2 + [0, 1, 2]])


@pytest.mark.parametrize(
    ("name", "parameters"), [("alibi", {}), ("rope", {"base": 500.0}), ("t5", {"bidirectional": False})]
)
def test_figures_at_a_length_are_those_of_whole_matrices(name: str, parameters: dict[str, object]) -> None:
    family = encoding(name, heads=3, **parameters)
    q, k = extrapolation.random_vectors(128, 16)
    found = extrapolation.measured(extrapolation.sequence_of(q, k, 3), family, 1, None)
    whole = attention(q.expand(3, -1, -1), k.expand(3, -1, -1), encoding=family, mask="causal")
    assert found.n == 128
    assert found.mean_distance == pytest.approx(measures.mean_distance(whole.weights[1].double()), rel=1e-4)
    assert found.entropy_bits == pytest.approx(measures.entropy_bits(whole.weights[1].double()), rel=1e-4)


@pytest.mark.parametrize(
    ("n", "lengths"),
    [(64, (64,)), (127, (64,)), (600, (64, 128, 256, 512)), (131_072, tuple(64 << s for s in range(8)))],
)
def test_lengths_double_up_to_the_longest_that_is_measured(n: int, lengths: tuple[int, ...]) -> None:
    assert extrapolation.measured_lengths(n) == lengths


def test_the_mean_rotation_is_the_score_of_a_key_that_equals_its_query() -> None:
    rope, n, dim = Rope(base=700.0), 40, 8
    # All pairs of the query have the same length, so the score over |q|² is the mean of cosines.
    q = torch.ones(1, n, dim, dtype=torch.float64)
    whole = attention(q, q, encoding=rope, scale=1 / dim).scores[0]  # [query, key]
    got = extrapolation.mean_rotation(rope, n, dim, np.arange(n))
    assert got == pytest.approx(whole[-1].flip(0).numpy(), abs=1e-6)


def test_scalings_side_by_side_follow_their_formulas() -> None:
    rope, trained, n, dim = Rope(base=10_000.0, scaling_rule="linear", factor=99.0), 512, 2048, 32
    distances = np.array([0, 1, 7, 300, 2047])
    rows = {row.rule: row for row in extrapolation.scalings(rope, trained, n, dim, distances)}
    assert tuple(rows) == SCALINGS
    theta = np.array([10_000.0 ** (-2 * m / dim) for m in range(dim // 2)])
    slowest = 2 * math.pi / theta[-1]
    # 512 θ ≥ 2π as long as 10⁴^(m/16) ≤ 81.5: pairs 0 … 7 of 16 have turned.
    assert {rule: (row.pairs, row.new) for rule, row in rows.items()} == {
        "none": (16, 8),
        "linear": (16, 0),
        "ntk": (16, 7),  # the slowest pair alone is stretched by the whole factor
        "dynamic": (16, 1),  # its factor is 13 here: pair 8 is stretched by 13^(16/30) = 3.9
        "yarn": (16, 0),
        "llama3": (16, 0),
    }
    assert rows["none"].longest == pytest.approx(slowest)
    for rule in ("linear", "ntk", "llama3", "yarn"):
        assert rows[rule].longest == pytest.approx(4 * slowest), rule
    grown = 4 * 2048 / 512 - 3  # 13
    assert rows["dynamic"].longest == pytest.approx(slowest * grown)
    for rule, angles in (("none", theta), ("linear", theta / 4)):
        expected = [np.mean([math.cos(d * angle) for angle in angles]) for d in distances]
        assert rows[rule].curve == pytest.approx(expected, abs=1e-9), rule
    assert rows["yarn"].curve[0] == pytest.approx((0.1 * math.log(4) + 1) ** 2)


def test_within_the_trained_length_no_pair_sees_a_new_angle() -> None:
    for row in extrapolation.scalings(Rope(), 4096, 4096, 64, np.arange(3)):
        assert (row.new, row.share) == (0, 0), row.rule


BEYOND = [
    ("none", {}, 8192, "no positional term"),
    ("curve", {"table": np.arange(19.0), "rule": "extend"}, 64, "|δ| = 9; beyond that it goes on"),
    ("curve", {"table": np.arange(19.0), "rule": "zero"}, 64, "it is 0"),
    ("t5", {"max_distance": 200}, 512, "from |δ| = 134 on"),
    ("alibi", {}, 1025, "2 times the largest penalty"),
    ("kerple-log", {}, 1025, "logarithm"),
    ("kerple-power", {}, 1025, "power"),
    ("sandwich", {}, 1025, "keeps falling"),
    ("tisa", {}, 1025, "flat at 0"),
    ("fire", {"threshold": 600}, 1025, "past position 600 see the curve stretched"),
    ("fire", {"threshold": 2000}, 1025, "No query stands past the threshold 2,000"),
    (
        "rope",
        {},
        1025,
        "8 of 16 pairs turned at least once in training; 8 slow ones see angles they never saw",
    ),
    (
        "rope",
        {"scaling_rule": "linear", "factor": 4, "original": 513},
        1025,
        "no slow one sees an angle it never saw, as every position is divided by 4",
    ),
    ("xpos", {}, 1025, "the slowest has decayed to 0."),
    ("shaw", {"clip": 12}, 1025, "clipped at ±12"),
    ("music", {}, 1025, "learned table has no vector"),
    ("music", {"table": np.zeros((1, 700, 32))}, 1025, "ends at 700 positions"),
    ("transformer-xl", {"clamp": 300}, 1025, "from 300 on"),
    ("xlnet", {}, 1025, "go on to any distance"),
    ("deberta", {}, 1025, "from |δ| = 512 on"),
    ("cope", {}, 1025, "saturate at 63"),
    ("fox", {}, 1025, "fades further"),
    ("cable", {}, 1025, "fades further"),
    ("swin", {"table": np.zeros((169, 1))}, 1025, "window of 49 tokens"),
    ("swin-v2", {"trained": 8}, 1025, "within 0 … 16"),
    ("beit", {}, 1025, "grows with the window"),
    ("absolute", {"kind": "learned"}, 1025, "ends at 512 positions"),
    ("absolute", {}, 1025, "go on to any position"),
]


@pytest.mark.parametrize(("name", "parameters", "n", "words"), BEYOND)
def test_each_family_says_what_becomes_of_longer_sequences(
    name: str, parameters: dict[str, object], n: int, words: str
) -> None:
    family = encoding(name, **parameters)
    trained = family.trained_length() or 513
    assert words in extrapolation.statement(family, min(trained, n - 1), n, 32)
    assert "nothing is new" in extrapolation.statement(family, n, n, 32)


def test_no_family_is_without_a_sentence() -> None:
    assert {name for name, *_ in BEYOND} == set(FAMILIES)


def test_log_distances_keep_every_near_one_and_both_ends() -> None:
    got = extrapolation.log_distances(131_072)
    assert got[0] == 0 and got[-1] == 131_071 and (np.diff(got) > 0).all()
    assert got[:20].tolist() == list(range(20)) and len(got) <= 500
