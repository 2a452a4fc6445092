"""The registry, walked once; and each family against values that were computed independently."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from relpos_viewer.core.attention import attention
from relpos_viewer.core.curves import curve_set
from relpos_viewer.core.encodings import FAMILIES, encoding, encodings, parse_encoding
from relpos_viewer.core.encodings.alibi import alibi_slopes
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import PlainField
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.offsets import offsets, t5_bucket

from .lively import LIVELY


def random_inputs(n_query: int = 9, n_key: int = 12, heads: int = 4, key_heads: int = 2, d: int = 8):
    generator = torch.Generator().manual_seed(n_key)
    q = torch.randn(heads, n_query, d, generator=generator, dtype=torch.float64)
    k = torch.randn(key_heads, n_key, d, generator=generator, dtype=torch.float64)
    return q, k


@pytest.mark.parametrize("n", [1, 2, 17])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_keeps_the_promises_of_the_registry(name: str, n: int) -> None:
    family = FAMILIES[name]
    assert family.title and family.summary and (family.paper or name == "curve")
    built = encoding(name, **LIVELY[name])
    q, k = random_inputs(n, n)
    result = attention(q.float(), k.float(), encoding=built, mask="causal")

    assert result.scores.shape == (4, n, n)
    assert torch.equal(result.content + result.positional, result.scores)
    curve = built.with_heads(4).curve(n)
    # FIRE is one curve where no query stands past its threshold.
    assert (curve is not None) == (family.toeplitz or (name == "fire" and n - 1 <= built.threshold))
    if curve is not None:
        assert curve.shape == (4, 2 * n - 1)
        for i in range(n):
            for j in range(n):
                assert torch.equal(result.positional[:, i, j], curve[:, j - i + n - 1]), (i, j)


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.toeplitz])
def test_a_toeplitz_family_does_not_notice_that_the_sequence_was_shifted(name: str) -> None:
    built = encoding(name, **LIVELY[name])
    q, k = random_inputs(20, 20, key_heads=4)
    whole = attention(q, k, encoding=built).scores  # [4, 20, 20]
    moved = attention(q[:, 7:], k[:, 7:], encoding=built).scores  # [4, 13, 13]
    torch.testing.assert_close(whole[:, 7:, 7:], moved, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_block_of_the_term_is_that_part_of_the_whole(name: str) -> None:
    built = encoding(name, **LIVELY[name]).with_heads(4)
    inputs = inputs_from_arrays(*random_inputs())
    whole = built.positional(inputs, 0.5)
    block = built.positional(inputs, 0.5, (2, 5), (3, 11))
    torch.testing.assert_close(block, whole[:, 2:5, 3:11], atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_decode_step_is_the_last_row_of_the_whole_picture(name: str) -> None:
    built = encoding(name, **LIVELY[name])
    q, k = random_inputs(12, 12)
    whole = attention(q, k, encoding=built)
    step = attention(q[:, -1:], k, encoding=built)
    torch.testing.assert_close(step.positional[:, 0], whole.positional[:, -1], atol=1e-12, rtol=0)


def test_the_registry_describes_every_parameter_and_its_default_is_allowed() -> None:
    rows = encodings()
    assert [row["name"] for row in rows] == list(FAMILIES)
    for row in rows:
        for parameter in row["parameters"]:
            assert parameter["help"].endswith("."), parameter
            default = getattr(FAMILIES[row["name"]], parameter["name"])
            assert default == parameter["default"], (row["name"], parameter["name"])
            if parameter["default"] is not None:
                encoding(row["name"], **{parameter["name"]: parameter["default"]})


# T5


@pytest.mark.parametrize("side", ["bi", "causal"])
@pytest.mark.parametrize(
    ("buckets", "distance"),
    [(32, 128), (16, 32), (32, 256), (64, 256), (64, 512), (8, 20), (32, 1000), (128, 1024)],
)
def test_t5_buckets_are_those_of_the_reference_table(
    shared: Path, buckets: int, distance: int, side: str
) -> None:
    table = np.load(shared / "vectors" / "tables_t5_buckets.npz")
    offset = torch.from_numpy(table["offsets"])
    mine = t5_bucket(offset, buckets, distance, bidirectional=side == "bi")
    assert np.array_equal(mine, table[f"nb{buckets}_md{distance}_{side}"])


def test_t5_buckets_written_down_so_that_they_hold_without_the_reference() -> None:
    # x-transformers#10: causal δ = −20 gave 10 instead of 17; |δ| = 64 at 32/128 is 14 (both directions).
    causal = t5_bucket(torch.tensor([0, -1, -15, -16, -20, -127, -500, 3]), 32, 128, bidirectional=False)
    assert causal.tolist() == [0, 1, 15, 16, 17, 31, 31, 0]
    both = t5_bucket(torch.tensor([-64, 64, -7, 8, 12, -200, 1]), 32, 128, bidirectional=True)
    assert both.tolist() == [14, 30, 7, 24, 25, 15, 17]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 16), (64, 40)])
@pytest.mark.parametrize("n", [1, 7, 41, 129, 700])
def test_the_runs_of_t5_buckets_are_those_of_every_offset(n, buckets, distance, both) -> None:
    family = encoding("t5", num_buckets=buckets, max_distance=distance, bidirectional=both)
    each = np.concatenate([np.full(high - low + 1, bucket) for bucket, (low, high) in family.runs(n)])
    assert np.array_equal(each, family.buckets(n).numpy())
    spans = [span for _bucket, span in family.runs(n)]
    assert all(one[1] + 1 == other[0] for one, other in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (1 - n, n - 1)


def test_a_cached_t5_decoding_step_keeps_its_place() -> None:
    # E04: five cached keys and a query at position 5 see buckets 4, 4, 3, 2, 1, 0.
    table = torch.arange(8.0)[:, None]  # bucket b has bias b
    step = encoding("t5", num_buckets=8, max_distance=16, bidirectional=False, table=table)
    q, k = torch.zeros(1, 1, 4), torch.zeros(1, 6, 4)
    assert attention(q, k, encoding=step).positional[0, 0].tolist() == [4, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("stack", "both"), [("t5_encoder", True), ("t5_decoder", False)])
def test_t5_attention_is_that_of_the_model(shared: Path, stack: str, both: bool) -> None:
    model = np.load(shared / "vectors" / f"{stack}.npz")
    mask = model["allowed"][0, 0]
    for layer in range(model["q"].shape[0]):
        for batch in range(model["q"].shape[1]):
            mine = attention(
                model["q"][layer, batch],
                model["k"][layer, batch],
                encoding=encoding("t5", max_distance=32, bidirectional=both, table=model["table"][layer]),
                scale=1.0,
                mask=mask,
            )
            assert_close(mine.content, model["content"][layer, batch])
            assert_close(mine.positional, model["positional"][layer, batch])
            assert_close(mine.weights, model["attn"][layer, batch])


def test_mpnet_adds_its_unscaled_bucket_bias_to_scaled_content(shared: Path) -> None:
    model = np.load(shared / "vectors" / "mpnet.npz")
    for layer in range(model["q"].shape[0]):
        mine = attention(
            model["q"][layer, 0], model["k"][layer, 0], encoding=encoding("t5", table=model["table"])
        )
        assert_close(mine.positional, model["positional"][layer, 0])
        assert_close(mine.weights, model["attn"][layer, 0])


# ALiBi


def test_alibi_slopes_of_a_power_of_two_and_of_other_head_counts() -> None:
    assert alibi_slopes(8, "interleaved") == [2.0**-h for h in range(1, 9)]
    # Press et al.'s code for 6 heads: the four of H = 4, then the 1st and 3rd of H = 8.
    assert alibi_slopes(6, "interleaved") == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    assert alibi_slopes(6, "uniform") == pytest.approx([2 ** (-8 * h / 6) for h in range(1, 7)])
    for heads in range(1, 130):
        assert len(alibi_slopes(heads, "interleaved")) == heads


@pytest.mark.parametrize("form", ["causal", "symmetric"])
def test_alibi_lines_are_those_of_the_formula_table(shared: Path, form: str) -> None:
    table = np.load(shared / "vectors" / "formulas.npz")
    assert alibi_slopes(6, "interleaved") == pytest.approx(table["alibi_slopes6"].tolist(), rel=1e-12)
    curve = encoding("alibi", form=form, heads=6).curve(129, torch.float64)
    past = slice(None, 129) if form == "causal" else slice(None)
    assert_close(curve[:, past], table[f"alibi_{form}"][:, past], 1e-12)


def test_alibi_rewards_what_is_near() -> None:
    curve = encoding("alibi", heads=2).curve(4)
    assert (curve[:, 1:4] > curve[:, 0:3]).all()  # δ = −2, −1, 0 above δ = −3, −2, −1


def test_bloom_attention_is_that_of_the_model(shared: Path) -> None:
    model = np.load(shared / "vectors" / "bloom.npz")
    for layer in range(2):
        for batch in range(2):
            real = model["attention_mask"][batch] > 0  # padded keys have no position of their own
            rows = np.ix_(np.arange(6), real, real)
            mine = attention(
                model["q"][layer, batch][:, real],
                model["k"][layer, batch][:, real],
                encoding="alibi",
                mask="causal",
            )
            assert_close(mine.weights, model["attn"][layer, batch][rows])


# RoPE


@pytest.mark.parametrize(("base", "name"), [(1e4, "default_10k_d128"), (5e5, "default_500k_d128")])
def test_rope_frequencies_are_those_of_the_reference_table(shared: Path, base: float, name: str) -> None:
    table = np.load(shared / "vectors" / "tables_rope_inv_freq.npz")
    assert_close(encoding("rope", base=base).frequencies(128), table[name], 1e-12)


@pytest.mark.parametrize(("model_name", "fraction"), [("llama", 1.0), ("gpt_neox", 0.25)])
def test_rotary_attention_is_that_of_the_model(shared: Path, model_name: str, fraction: float) -> None:
    model = np.load(shared / "vectors" / f"{model_name}.npz")
    for layer in range(model["q"].shape[0]):
        for batch in range(model["q"].shape[1]):
            mine = attention(
                model["q"][layer, batch],
                model["k"][layer, batch],
                encoding=encoding("rope", fraction=fraction),
                mask=model["allowed"][0, 0],
            )
            assert_close(mine.content, model["content"][layer, batch])
            assert_close(mine.positional, model["positional"][layer, batch])
            assert_close(mine.weights, model["attn"][layer, batch])


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rope_is_the_textbook_sum_over_pairs(layout: str) -> None:
    """Score = s Σ_m A_m cos(δ θ_m) + S_m sin(δ θ_m), with A = q1k1 + q2k2 and S = q2k1 − q1k2 (Su et al., eq. 16)."""
    q, k = random_inputs(6, 6, heads=1, key_heads=1)
    scores = attention(q, k, encoding=encoding("rope", layout=layout), scale=0.7).scores[0]
    for i in range(6):
        for j in range(6):
            total = 0.0
            for m in range(4):
                first, second = (m, m + 4) if layout == "half" else (2 * m, 2 * m + 1)
                q1, q2, k1, k2 = (
                    float(x) for x in (q[0, i, first], q[0, i, second], k[0, j, first], k[0, j, second])
                )
                angle = (j - i) * 10000.0 ** (-2 * m / 8)
                total += (q1 * k1 + q2 * k2) * math.cos(angle) + (q2 * k1 - q1 * k2) * math.sin(angle)
            assert float(scores[i, j]) == pytest.approx(0.7 * total, abs=1e-12)


@pytest.mark.parametrize(("n_query", "n_key"), [(40, 40), (3, 40), (1, 7)])
def test_rope_adds_nothing_at_all_to_a_token_and_itself(n_query: int, n_key: int) -> None:
    q, k = random_inputs(n_query, n_key)
    positional = attention(q.float(), k.float(), encoding="rope").positional
    for i in range(n_query):
        assert not positional[:, i, i + n_key - n_query].any()
    assert n_key == 7 or positional[:, -1, 0].all()


def test_interleaved_rope_is_half_rope_of_permuted_dimensions() -> None:
    q, k = random_inputs(7, 7)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    half = attention(q[..., order], k[..., order], encoding=encoding("rope", layout="half"))
    interleaved = attention(q, k, encoding=encoding("rope", layout="interleaved"))
    torch.testing.assert_close(half.positional, interleaved.positional, atol=1e-12, rtol=0)


# Absolute


def test_sinusoids_are_those_of_the_paper() -> None:
    vectors = encoding("absolute").vectors(50, 6)
    for p in range(50):
        for t in range(3):
            angle = p / 10000 ** (2 * t / 6)
            assert vectors[p, 2 * t].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert vectors[p, 2 * t + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_the_four_absolute_terms_are_the_expanded_product() -> None:
    generator = torch.Generator().manual_seed(3)
    e, p = (torch.randn(5, 10, generator=generator, dtype=torch.float64) for _ in range(2))
    w_q, w_k = (torch.randn(2, 10, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    inputs = inputs_from_arrays(e @ w_q, e @ w_k)
    inputs = type(inputs)(**{**inputs.__dict__, "w_q": w_q, "w_k": w_k})
    learned = encoding("absolute", table=p)
    terms = learned.terms(inputs, 0.5)
    expected = ((e + p) @ w_q) @ ((e + p) @ w_k).mT * 0.5
    torch.testing.assert_close(sum(terms.values()), expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(terms["content-position"], (e @ w_q) @ (p @ w_k).mT * 0.5, atol=1e-12, rtol=0)
    torch.testing.assert_close(terms["position-content"], (p @ w_q) @ (e @ w_k).mT * 0.5, atol=1e-12, rtol=0)


def test_a_learned_table_refuses_positions_it_does_not_have() -> None:
    with pytest.raises(ViewerError, match=r"ends at 3 positions and the sequence has 4"):
        attention(torch.ones(4, 2), torch.ones(4, 2), encoding=encoding("absolute", table=torch.ones(3, 2)))


# Free curve


def test_a_curve_is_held_extended_or_dropped_past_its_table() -> None:
    # E05: drawn on |δ| ≤ 8 as 0.5·δ, then n = 16.
    table = 0.5 * np.arange(-8, 9)
    beyond = {"hold": -4.0, "extend": -7.5, "zero": 0.0}
    for rule, value in beyond.items():
        curve = encoding("curve", table=table, rule=rule)
        assert curve.curve(16)[0, 0].item() == value, rule  # δ = −15
        assert curve.curve(16)[0, 15 - 8 : 15 + 9].tolist() == table.tolist()
        assert curve.beyond(16).tolist() == (offsets(16).abs() > 8).tolist()
    assert encoding("curve", table=table).beyond(9) is None


@given(st.integers(1, 6), st.integers(1, 9), st.sampled_from(["hold", "extend", "zero"]))
def test_a_curve_shorter_than_its_table_is_its_middle(reach: int, n: int, rule: str) -> None:
    table = np.random.default_rng(reach).normal(size=(2, 2 * reach - 1)).astype(np.float32)
    curve = encoding("curve", table=table, rule=rule).curve(n)
    assert curve.shape == (2, 2 * n - 1)
    inner = min(n, reach) - 1
    assert np.array_equal(curve[:, n - 1 - inner : n + inner], table[:, reach - 1 - inner : reach + inner])


# What a user can get wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rop", "unknown encoding “rop”; did you mean rope?"),
        ("t5:bukets=3", "t5 has no parameter “bukets”; did you mean num_buckets?"),
        ("t5:num_buckets=abc", "num_buckets must be a number, not “abc”."),
        ("t5:num_buckets=2.5", "num_buckets must be a whole number, not 2.5."),
        ("t5:num_buckets=7", "num_buckets must be even when bidirectional, not 7."),
        ("t5:num_buckets=2", "num_buckets must be at least 4, not 2."),
        ("t5:max_distance=8", "max_distance must be above 8, the offsets with a bucket of their own, not 8."),
        ("t5:num_buckets", "“num_buckets” in the encoding “t5:num_buckets” has no value; write name=value."),
        ("alibi:rule=inter", "rule cannot be “inter”; did you mean interleaved?"),
        ("rope:base=1", "base must lie between 1.000001 and 1e+12, not 1."),
        ("rope:fraction=nan", "fraction must be a number, not “nan”."),
        ("t5:bidirectional=perhaps", "bidirectional must be true or false, not “perhaps”."),
        ("none:x=1", "none has no parameter “x”; it has none"),
    ],
)
def test_a_bad_encoding_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ViewerError) as refusal:
        parse_encoding(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("t5", np.zeros((32, 3)), "the t5 table holds 3 heads, the queries 4; they must agree."),
        ("t5", np.zeros(32), "the t5 table has shape [32]; give [bucket, head]."),
        ("curve", np.zeros((4, 8)), "the curve table has 8 offsets; give an odd number, 2n − 1, with δ = 0 in the middle."),
        ("absolute", np.zeros((40, 5)), "the absolute table is 5 wide, the model 8; they must agree."),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit_is_refused_in_one_sentence(
    name: str, table: np.ndarray, message: str
) -> None:
    q, k = random_inputs()
    with pytest.raises(ViewerError) as refusal:
        attention(q, k, encoding=encoding(name, table=table))
    assert str(refusal.value) == message


def test_odd_rotary_dimensions_are_refused() -> None:
    with pytest.raises(ViewerError, match="3 of 3 dimensions is an odd number"):
        attention(torch.ones(4, 3), torch.ones(4, 3), encoding="rope")


def test_text_and_python_values_build_the_same_encoding() -> None:
    assert (
        parse_encoding("t5:num_buckets=8,bidirectional=no").values
        == encoding("t5", num_buckets=8, bidirectional=False).values
    )


def assert_close(mine: torch.Tensor, reference: np.ndarray, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(mine, dtype=np.float64), reference, atol=atol, rtol=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t5:heads=3", "t5 has no parameter “heads”; known: num_buckets, max_distance, bidirectional, table"),
        ("t5:name=x", "t5 has no parameter “name”; known: num_buckets, max_distance, bidirectional, table"),
        (
            "t5:num_buckets=8,num_buckets=4",
            "num_buckets stands twice in the encoding “t5:num_buckets=8,num_buckets=4”; give it once.",
        ),
        ("t5:max_distance=1", "max_distance must lie between 2 and 1048576, not 1."),
    ],
)
def test_what_is_no_parameter_of_the_family_is_never_taken_for_one(text: str, message: str) -> None:
    with pytest.raises(ViewerError) as refusal:
        parse_encoding(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize("heads", [0, -1, 2.0, "2"])
def test_heads_must_be_a_whole_number(heads) -> None:
    with pytest.raises(ViewerError, match="heads must be a whole number of at least 1"):
        encoding("alibi", heads=heads)


# Handles of whole distances

# Family, parameters, handle, where it is dropped, and the parameters that this changes.
DROPPED = [
    ("shaw", {"clip": 9}, "past clip", -4.4, {"clip": 4}),
    ("shaw", {"clip": 9}, "future clip", 40.0, {"clip": 40}),
    ("shaw", {"clip": 9}, "past clip", 3.0, {"clip": 1}),
    ("shaw", {"clip": 9}, "past clip", -1e9, {"clip": 2**20}),
    ("music", {}, "length", -7.0, {"length": 8}),
    ("music", {"length": 5}, "length", 2.0, {"length": 1}),
    ("music", {"length": 5}, "length", -99.0, {"length": 0}),
    ("transformer-xl", {}, "future clamp", 12.0, {"clamp": 12}),
    ("transformer-xl", {"clamp": 5}, "past clamp", 3.0, {"clamp": 1}),
    ("xlnet", {"clamp": 5}, "past clamp", -99.0, {"clamp": 0}),
    ("deberta", {}, "past own places", -10.0, {"num_buckets": 20, "span": 20}),
    ("deberta", {"span": 64}, "past own places", -10.0, {"num_buckets": 20}),
    ("deberta", {"max_distance": 200}, "future own places", 500.0, {"num_buckets": 396, "span": 396}),
    ("deberta", {}, "future own places", -5.0, {"num_buckets": 4, "span": 4}),
    ("deberta", {"num_buckets": 8}, "future max distance", 12.0, {"max_distance": 12}),
    ("deberta", {"num_buckets": 8}, "past max distance", -1.0, {"max_distance": 6}),
    ("deberta", {"num_buckets": 0}, "past span", -12.0, {"span": 12}),
    ("cope", {}, "positions", -7.0, {"positions": 8}),
    ("cope", {}, "positions", 3.0, {"positions": 2}),
]


@pytest.mark.parametrize(("name", "parameters", "handle", "offset", "changed"), DROPPED)
def test_a_handle_of_a_distance_sets_its_parameter_within_its_domain(
    name: str, parameters: dict, handle: str, offset: float, changed: dict
) -> None:
    n = 20
    family = encoding(name, heads=2, **parameters)
    one = next(each for each in family.handles(1, n, 8) if each.name == handle)
    moved = family.dragged(one, 1, offset, 3.0, n, 8)
    assert moved.values == {**family.values, **changed}
    encoding(name, heads=2, **moved.values)  # which refuses what lies outside the domain
    (again,) = (each for each in moved.handles(1, n, 8) if each.name == handle)
    side = -1 if "past" in handle or name in ("music", "cope") else 1
    distance = {
        "clip": moved.values.get("clip"),
        "length": (moved.values.get("length") or n) - 1,
        "clamp": moved.values.get("clamp") or n,
        "places": moved.values.get("num_buckets", 0) // 2,
        "distance": moved.values.get("max_distance"),
        "span": moved.values.get("span"),
        "positions": moved.values.get("positions", 0) - 1,
    }[handle.split()[-1]]
    assert again.offset == side * min(distance, n - 1)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_handles_ascend_lie_on_the_axis_and_stay_where_they_are_dropped_on_themselves(
    name: str, n: int
) -> None:
    family = encoding(name, **LIVELY[name]).with_heads(4)
    found = family.handles(2, n, 8)
    assert [one.offset for one in found] == sorted(one.offset for one in found)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert name == "tisa" or abs(one.offset) <= max(n - 1, 1), one
        same = family.dragged(one, 2, one.offset, one.value, n, 8)
        again = {each.name: each for each in same.handles(2, n, 8)}[one.name]
        near = (
            0.05 if name == "sandwich" else 1e-6
        )  # of whose rippling curve the nearest of 400 bases is taken
        assert (again.offset, again.value) == pytest.approx((one.offset, one.value), abs=near)


def test_where_a_table_is_given_a_clip_cuts_it_and_never_makes_vectors_up() -> None:
    rng = np.random.default_rng(8)
    table, values = torch.from_numpy(rng.normal(size=(2, 15, 8)))
    family = encoding("shaw", clip=7, table=table, value_table=values)
    past = family.handles(0, 20, 8)[0]
    cut = family.dragged(past, 0, -3.0, 0.0, 20, 8)
    assert torch.equal(cut.table, table[4:11]) and torch.equal(cut.value_table, values[4:11])
    assert family.dragged(past, 0, -12.0, 0.0, 20, 8).clip == 7

    e = torch.from_numpy(rng.normal(size=(9, 8)))
    cope = encoding("cope", table=e)
    (far,) = cope.handles(0, 20, 8)
    assert torch.equal(cope.dragged(far, 0, -3.0, 0.0, 20, 8).table, e[:4])
    assert torch.equal(cope.dragged(far, 0, -15.0, 0.0, 20, 8).table, e)

    k_r = torch.from_numpy(rng.normal(size=(4, 14, 8)))
    deberta = encoding("deberta", heads=4, span=7, num_buckets=0, k_r=k_r)
    cut = deberta.dragged(deberta.handles(0, 20, 8)[0], 0, -3.0, 0.0, 20, 8)
    assert cut.span == 3 and torch.equal(cut.k_r, k_r[:, 4:10]) and cut.q_r is None
    for delta in (-2, 0, 3):  # near offsets keep their vectors
        at = torch.tensor([delta])
        assert torch.equal(cut._vectors("k_r", at, 8), deberta._vectors("k_r", at, 8)), delta


@pytest.mark.parametrize(
    ("name", "parameter"), [("shaw", "clip"), ("cope", "positions"), ("music", "length")]
)
def test_another_distance_leaves_the_illustration_of_nearer_offsets_alone(name: str, parameter: str) -> None:
    q, k = random_inputs(20, 20)
    short, long = (attention(q, k, encoding=encoding(name, **{parameter: far})).positional for far in (6, 15))
    for i in range(20):
        near = slice(max(i - 5, 0), i + 1)
        if name == "cope":  # where a query counts fewer gates than the last position
            near = slice(max(i - 4, 0), i + 1)
        torch.testing.assert_close(short[:, i, near], long[:, i, near], atol=1e-12, rtol=0)
    assert not torch.equal(short, long)


def test_music_adds_nothing_from_its_length_on() -> None:
    q, k = random_inputs(12, 12)
    table = torch.randn(4, 7, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    family = encoding("music", table=table, length=5)
    term = attention(q, k, encoding=family).positional
    for i in range(12):
        for j in range(12):
            wanted = (q[:, i] * table[:, j - i + 6]).sum(-1) * 8**-0.5 if -5 < j - i <= 0 else torch.zeros(4)
            torch.testing.assert_close(term[:, i, j], wanted.double(), atol=1e-12, rtol=0)
    assert family.beyond(12).nonzero().ravel().tolist() == list(range(7))  # δ = −11 … −5
    assert encoding("music").beyond(12) is None and family.trained_length() == 5
    with pytest.raises(ViewerError, match="holds 7 distances, length says 8"):
        encoding("music", table=table, length=8)


# FIRE below its threshold


@pytest.mark.parametrize(("threshold", "exact"), [(11.0, True), (10.0, False), (10.5, False), (400.0, True)])
def test_fire_has_its_exact_curve_where_no_query_is_past_the_threshold(threshold: float, exact: bool) -> None:
    inputs = inputs_from_arrays(*random_inputs(12, 12))
    family = encoding("fire", **{**LIVELY["fire"], "threshold": threshold})

    def field(head: int) -> PlainField:
        return PlainField.of(inputs, family, scale=1.0, mask=parse_mask("none"), edit=None, head=head)

    curves = curve_set(inputs, family, field(1), 1, field)
    assert curves.exact == exact
    if exact:
        term = family.positional(inputs, 1.0)  # [head, query, key]
        for delta in range(-11, 12):
            for cells in term.diagonal(delta, dim1=1, dim2=2):
                assert float(cells.max() - cells.min()) < 1e-12
            wanted = term.diagonal(delta, dim1=1, dim2=2)[:, 0]
            np.testing.assert_allclose(curves.family[:, delta + 11], wanted, rtol=1e-6, atol=1e-6)
    else:
        assert curves.low is not None


# T5 past training


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 20), (4, 3), (64, 40)])
@pytest.mark.parametrize(("trained", "n"), [(20, 21), (12, 60), (64, 128), (200, 900), (2, 3), (90, 91)])
def test_t5_says_which_buckets_training_never_filled(
    buckets: int, distance: int, both: bool, trained: int, n: int
) -> None:
    family = encoding("t5", num_buckets=buckets, max_distance=distance, bidirectional=both)
    past = family.buckets(n)[:n].flip(0)  # [n], by distance
    last = (buckets // 2 if both else buckets) - 1
    words = family.beyond_words(trained, n)
    new = sorted(set(past.tolist()) - set(past[:trained].tolist()))
    if new:
        named = f"bucket {new[0]}," if len(new) == 1 else f"buckets {new[0]} … {new[-1]},"
        assert named in words and f"past {past[trained - 1]}" in words
    elif past[-1] < last:
        assert words.startswith(f"Bucket {past[-1]} grows")
    else:
        assert f"from |δ| = {int((past == last).nonzero()[0])} on" in words


# DeBERTa past its last place


@pytest.mark.parametrize(
    ("span", "buckets", "distance"),
    [(256, 256, 512), (8, 8, 20), (6, 8, 20), (9, 8, 20), (3, 8, 20), (40, 0, 2), (24, 20, 40), (16, 4, 5)],
)
def test_deberta_says_from_where_on_all_offsets_share_a_place(span: int, buckets: int, distance: int) -> None:
    family = encoding("deberta", span=span, num_buckets=buckets, max_distance=distance)
    places = family.place(torch.arange(1, 100_000))  # of the future, whose last place is 0
    assert family.trained_length() == int((places == 0).nonzero()[0]) + 1
    assert f"from |δ| = {family.trained_length():,} on" in family.beyond_words(2, 10**6)


def test_deberta_whose_buckets_never_fill_the_span_has_no_such_length() -> None:
    family = encoding("deberta", span=256, num_buckets=20, max_distance=40)
    assert family.trained_length() is None
    assert "goes on" in family.beyond_words(100, 200)
