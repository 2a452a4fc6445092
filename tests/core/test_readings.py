"""The same encoding read by another convention: each reading differs where it should, and agrees where it must."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from relpos_viewer.core import readings as module
from relpos_viewer.core.attention import attend
from relpos_viewer.core.crew import Silent
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.inputs import AttentionInputs, inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.readings import compare, readings
from relpos_viewer.core.tokens import Tokens

from .lively import LIVELY

N = 25  # a whole window of 5 × 5
RNG = np.random.default_rng(3)
Q, K = RNG.normal(size=(2, 4, N, 8))
SHORT = {**LIVELY, "music": {"table": RNG.normal(size=(4, N, 8))}}
T5 = {"table": RNG.normal(size=(32, 4))}

CURVES = ["query − key", "scale on the bias too"]
NAMES = {
    "none": [],
    "curve": CURVES,
    "t5": ["query − key", "causal", "scale on the bias too"],
    "alibi": ["symmetric", "uniform slopes", *CURVES],
    "kerple-log": CURVES,
    "kerple-power": CURVES,
    "sandwich": ["t from 0", *CURVES],
    "tisa": ["i − j − 1", *CURVES],
    "fire": [],
    "rope": ["half pairs"],
    "xpos": ["half pairs", "scale base 24", "powers swapped", "without decay"],
    "shaw": ["query − key"],
    "music": ["first row first"],
    "transformer-xl": ["key − query", "interleaved waves"],
    "xlnet": ["key − query", "interleaved waves"],
    "deberta": ["p2c at (j, i)", "key − query"],
    "cope": [],
    "fox": ["other sign of the gates"],
    "cable": ["other sign of the gates"],
    "swin": ["key − query"],
    "swin-v2": ["key − query", "dot products"],
    "beit": ["key − query"],
    "absolute": [],
}
# A function of |δ| is its own mirror; slopes of a power of two are the same by both rules.
SAME = {
    ("kerple-log", "query − key"),
    ("kerple-power", "query − key"),
    ("sandwich", "query − key"),
    ("alibi", "uniform slopes"),
}


def inputs(q=Q, k=K):
    return inputs_from_arrays(q, k)


def reading_of(built, name: str, given=None):
    found = {variant.name: variant.encoding for variant in readings(built, given or inputs(), None)}
    return found[name]


def term(built, q=Q, k=K, scale: float = 0.5) -> torch.Tensor:
    given = inputs(q, k)
    return built.with_heads(given.heads).positional(given, scale)


def offset() -> torch.Tensor:
    place = torch.arange(N)
    return place[None, :] - place[:, None]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_readings(name: str) -> None:
    found = readings(encoding(name, **SHORT[name]), inputs(), None)
    assert [variant.name for variant in found] == NAMES[name]
    assert all(variant.help.endswith(".") for variant in found)


@pytest.mark.parametrize("name", FAMILIES)
def test_illustrations_have_the_readings_of_tables(name: str) -> None:
    rng = np.random.default_rng(1)
    long = inputs_from_arrays(*rng.normal(size=(2, 3, 30, 12)))
    built = encoding(name)
    for variant in readings(built, long, None):
        before, after = (each.with_heads(3).positional(long, 0.3) for each in (built, variant.encoding))
        assert after.shape == (3, 30, 30)
        # Three heads are no power of two, and a free curve is flat until it is drawn.
        same = name == "curve" or (name, variant.name) in SAME - {("alibi", "uniform slopes")}
        assert torch.allclose(before, after, atol=1e-6) == same, variant.name


@pytest.mark.parametrize(("name", "reading"), [(name, each) for name in FAMILIES for each in NAMES[name]])
def test_a_reading_differs_unless_it_cannot(name: str, reading: str) -> None:
    built = encoding(name, **SHORT[name])
    moved = (term(reading_of(built, reading)) - term(built)).abs().amax((1, 2))  # [head]
    if (name, reading) in SAME:
        assert float(moved.max()) < 1e-9
    else:
        assert float(moved.min()) > 1e-3


@pytest.mark.parametrize(
    ("name", "reading"),
    [
        ("curve", "query − key"),
        ("t5", "query − key"),
        ("alibi", "query − key"),
        ("tisa", "query − key"),
        ("shaw", "query − key"),
        ("transformer-xl", "key − query"),
        ("xlnet", "key − query"),
        ("deberta", "key − query"),
        ("swin", "key − query"),
    ],
)
def test_a_swapped_offset_is_the_sequence_read_backwards(name: str, reading: str) -> None:
    built = encoding(name, **SHORT[name])
    if name == "deberta":
        built = encoding(name, **{**SHORT[name], "max_distance": 200})  # no place is clipped
    backwards = term(built, Q[:, ::-1].copy(), K[:, ::-1].copy()).flip(1, 2)
    torch.testing.assert_close(term(reading_of(built, reading)), backwards)


def test_the_bias_is_scaled_with_content_where_code_adds_it_before() -> None:
    built = encoding("t5", **T5)
    torch.testing.assert_close(
        term(reading_of(built, "scale on the bias too")), term(built) / math.sqrt(8), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize(("bidirectional", "reading"), [(True, "causal"), (False, "bidirectional")])
def test_buckets_of_the_other_stack_agree_for_near_keys_alone(bidirectional: bool, reading: str) -> None:
    built = encoding("t5", bidirectional=bidirectional, **T5)
    same = (term(built) == term(reading_of(built, reading))).all(0)  # [query, key]
    delta = offset()
    assert same[(delta <= 0) & (delta >= -7)].all()
    assert not same[(delta > 0) | (delta == -20)].any()


def test_buckets_that_cannot_be_read_otherwise_are_not() -> None:
    odd = encoding("t5", num_buckets=7, bidirectional=False)
    assert [each.name for each in readings(odd, inputs(), None)] == CURVES
    near = encoding("t5", num_buckets=8, max_distance=4)
    assert "causal" not in [each.name for each in readings(near, inputs(), None)]


def test_symmetric_alibi_is_causal_alibi_in_the_past() -> None:
    built = encoding("alibi")
    same = (term(built) == term(reading_of(built, "symmetric"))).all(0)  # [query, key]
    assert torch.equal(same, offset() <= 0)


@pytest.mark.parametrize("heads", [1, 2, 8, 16, 3, 6, 12])
def test_the_rules_of_slopes_agree_for_powers_of_two(heads: int) -> None:
    given = inputs_from_arrays(*RNG.normal(size=(2, heads, 5, 4)))
    other = reading_of(encoding("alibi"), "uniform slopes", given).with_heads(heads)
    wanted = [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
    np.testing.assert_allclose(other.slope_of_each(), wanted)
    power = heads & (heads - 1) == 0
    assert torch.equal(encoding("alibi", heads=heads).slope_of_each(), other.slope_of_each()) == power


def test_given_slopes_follow_no_rule() -> None:
    given = readings(encoding("alibi", slopes=[0.1, 0.2, 0.3, 0.4]), inputs(), None)
    assert [each.name for each in given] == ["symmetric", *CURVES]


def test_interleaved_pairs_are_half_pairs_of_permuted_dimensions() -> None:
    built = encoding("rope")
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # pair m holds m and m + 4; interleaved, 2m and 2m + 1
    back = np.argsort(order)
    other = reading_of(built, "interleaved pairs")
    torch.testing.assert_close(term(other), term(built, Q[..., back], K[..., back]))


def test_yarns_factor_taken_once_is_not_squared() -> None:
    built = encoding("rope", scaling_rule="yarn", factor=8.0, original=16, low=1.0, high=32.0)
    factor = 0.1 * math.log(8) + 1
    content = torch.from_numpy(0.5 * (Q * K).sum(-1))  # [head, place], cells with δ = 0
    for each, power in ((built, 2), (reading_of(built, "factor once"), 1)):
        at_zero = term(each).diagonal(dim1=1, dim2=2)  # [head, place]
        torch.testing.assert_close(at_zero, (factor**power - 1) * content)


def test_xpos_without_decay_is_rope_and_swapped_powers_grow() -> None:
    built = encoding("xpos", scale_base=12.0)
    rope = encoding("rope", layout="interleaved")
    torch.testing.assert_close(term(reading_of(built, "without decay")), term(rope))
    one = np.zeros((1, N, 8))
    one[..., 6] = 1.0  # the first dimension of pair 3, of which ζ = (6 + 3.2) / 11.2
    delta, theta = offset().double(), 10000 ** (-6 / 8)
    for name, sign in (("", -1), ("powers swapped", 1)):
        each = reading_of(built, name, inputs(one, one)) if name else built
        wanted = 0.5 * ((9.2 / 11.2) ** (sign * delta / 12) * torch.cos(delta * theta) - 1)
        torch.testing.assert_close(term(each, one, one)[0], wanted)


def test_the_first_row_first_exchanges_near_and_far() -> None:
    table = RNG.normal(size=(4, N, 8))
    other = term(reading_of(encoding("music", table=table), "first row first"))
    wanted = 0.5 * np.einsum("hd,hd->h", Q[:, 9], table[:, 3])  # δ = −3
    np.testing.assert_allclose(other[:, 9, 6], wanted)


def test_the_papers_p2c_mirrors_one_term_alone() -> None:
    built = encoding("deberta", **{**LIVELY["deberta"], "max_distance": 200}).with_heads(4)
    before = built.terms(inputs(), 0.5)
    after = reading_of(built, "p2c at (j, i)").with_heads(4).terms(inputs(), 0.5)
    assert torch.equal(before["content-position"], after["content-position"])
    backwards = built.terms(inputs(Q[:, ::-1].copy(), K[:, ::-1].copy()), 0.5)["position-content"]
    torch.testing.assert_close(after["position-content"], backwards.flip(1, 2))


def test_the_authors_code_of_tisa_is_mirrored_and_one_place_off() -> None:
    built = encoding("tisa", **LIVELY["tisa"])
    wanted = built.curve(N + 1, torch.float64)  # at −δ − 1
    other = reading_of(built, "i − j − 1").curve(N, torch.float64)
    torch.testing.assert_close(other, wanted.flip(-1)[:, 2:])


def test_sandwich_from_zero_has_one_cosine_in_place_of_another() -> None:
    built = encoding("sandwich", width=12, base=500.0)
    delta, divisor = offset().double(), torch.tensor([2.0, 4.0, 6.0, 8.0], dtype=torch.float64)
    wanted = (torch.cos(delta) - torch.cos(delta / 500.0)) / divisor[:, None, None]
    torch.testing.assert_close(term(reading_of(built, "t from 0")) - term(built), wanted)


def test_other_sinusoids_leave_what_positions_say_to_each_other() -> None:
    # Without projections, products of positions do not care for the order of dimensions, nor where counting begins.
    built = encoding("absolute")
    found = readings(built, inputs(), None)
    assert [each.name for each in found] == ["sines, then cosines", "positions from 2"]
    before = built.terms(inputs(), 0.5)
    for each in found:
        after = each.encoding.with_heads(4).terms(inputs(), 0.5)
        torch.testing.assert_close(after["position-position"], before["position-position"])
        for name in ("content-position", "position-content"):
            assert (after[name] - before[name]).abs().max() > 0.5
    halves = found[0].encoding.vectors(N, 8)
    place = 5 / 10000 ** (np.arange(4) / 4)
    np.testing.assert_allclose(halves[5], [*np.sin(place), *np.cos(place)])
    np.testing.assert_allclose(found[1].encoding.vectors(N, 8)[3, :2], [math.sin(5), math.cos(5)])


@pytest.mark.parametrize(("name", "sign"), [("fox", 1), ("cable", -1)])
def test_the_other_sign_of_gates_is_the_sister_family(name: str, sign: int) -> None:
    gates = RNG.normal(size=(4, N))
    other = term(reading_of(encoding(name, gates=gates), "other sign of the gates"))
    faded = -np.log1p(np.exp(sign * gates))  # ln σ(f) = −ln(1 + e^−f)
    np.testing.assert_allclose(other[2, 7, 4], faded[2, 5:8].sum())


def test_swin_with_dot_products_has_the_bias_alone() -> None:
    built = encoding("swin-v2", width=5)
    bias = term(reading_of(built, "dot products"))
    torch.testing.assert_close(bias, term(encoding("swin-v2", width=5, cosine=False)))


# What a reading changes


def of_both(built, other, given, mask: str, edit=None, scale=None):
    return [attend(given, each, scale=scale, mask=parse_mask(mask), edit=edit) for each in (built, other)]


@pytest.mark.parametrize("mask", ["none", "causal", "window:4"])
@pytest.mark.parametrize("name", ["t5", "shaw", "swin"])
def test_a_comparison_is_the_difference_of_two_computations(name: str, mask: str) -> None:
    given, built = inputs(), encoding(name, **SHORT[name])
    other = readings(built, given, None)[0].encoding
    edit = RNG.normal(size=(4, 2 * N - 1))
    first, second = of_both(built, other, given, mask, edit)
    found = compare(
        given, built, other, scale=None, mask=parse_mask(mask), edit=edit, head=2, cancel=Silent()
    )
    visible = first.visible[2]
    change = (second.weights - first.weights)[2]
    assert found.bias == pytest.approx(float((second.positional - first.positional)[2][visible].abs().max()))
    assert found.weight == pytest.approx(float(change.abs().max()))
    assert found.query == int(change.abs().sum(1).argmax())
    assert found.moved == pytest.approx(float(change.abs().sum(1).max()) / 2)
    np.testing.assert_allclose(found.picture, change.masked_fill(~visible, math.nan), atol=1e-6)
    assert (found.compared, found.sampled) == (N, False)


def test_the_future_that_nobody_sees_does_not_count() -> None:
    built = encoding("alibi")
    other = reading_of(built, "symmetric")
    for mask, differs in (("none", True), ("causal", False)):
        found = compare(
            inputs(), built, other, scale=None, mask=parse_mask(mask), edit=None, head=0, cancel=Silent()
        )
        assert (found.bias > 0, found.weight > 0, found.query is not None) == (differs,) * 3


def test_given_weights_and_a_given_bias_take_part() -> None:
    rng = np.random.default_rng(8)
    weights = torch.from_numpy(rng.random((1, 6, 6)))  # rows with sums of their own
    given = AttentionInputs(
        Tokens(tuple("abcdef")),
        given=weights.log(),
        weights=weights,
        row_sums=weights.sum(-1, keepdim=True),
        bias=torch.from_numpy(rng.normal(size=(1, 6, 6))),
    )
    built, other = encoding("alibi"), encoding("alibi", form="symmetric")
    first, second = of_both(built, other, given, "none")
    found = compare(
        given, built, other, scale=None, mask=parse_mask("none"), edit=None, head=0, cancel=Silent()
    )
    assert found.weight == pytest.approx(float((second.weights - first.weights).abs().max()), rel=1e-4)


def test_a_long_sequence_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 10)
    monkeypatch.setattr(module, "SAMPLED", 4)
    monkeypatch.setattr(module, "PIXELS", 3)
    built = encoding("rope")
    other = reading_of(built, "interleaved pairs")
    found = compare(
        inputs(), built, other, scale=None, mask=parse_mask("none"), edit=None, head=1, cancel=Silent()
    )
    first, second = of_both(built, other, inputs(), "none")
    rows = [0, 8, 16, 24]
    change = (second.weights - first.weights)[1, rows]
    assert (found.compared, found.queries, found.sampled) == (4, N, True)
    assert found.query == rows[int(change.abs().sum(1).argmax())]
    assert found.weight == pytest.approx(float(change.abs().max()))
    blocks = [change[a:b, c:d] for a, b in ((0, 1), (1, 2), (2, 4)) for c, d in ((0, 8), (8, 16), (16, 25))]
    wanted = [float(block.flatten()[block.abs().argmax()]) for block in blocks]
    np.testing.assert_allclose(found.picture.ravel(), wanted, atol=1e-6)
