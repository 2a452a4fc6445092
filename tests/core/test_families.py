"""Families against values computed elsewhere, and against their formulas written out cell by cell in float64."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.encodings.deberta import log_bucket
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.tokens import Tokens

from .lively import LIVELY

RNG = np.random.default_rng(21)
HEADS, D = 4, 8


def assert_close(mine: torch.Tensor, wanted: object, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(
        mine.double(), torch.as_tensor(np.asarray(wanted)).double(), atol=tolerance, rtol=tolerance
    )


def layer(n: int, n_query: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(HEADS, n_query or n, D)), rng.normal(size=(HEADS, n, D))


# The formulas of papers, as a table


@pytest.mark.parametrize(
    ("name", "parameters", "wanted"),
    [
        ("kerple-log", {"p": "kerple_log_p", "a": "kerple_log_a"}, "kerple_log"),
        ("kerple-power", {"a": "kerple_power_a", "p": "kerple_power_p"}, "kerple_power"),
        ("sandwich", {}, "sandwich"),
        ("sandwich", {"first": "0"}, "sandwich_t0"),
        (
            "tisa",
            {"amplitude": "tisa_amplitude", "sharpness": "tisa_sharpness", "centre": "tisa_offset"},
            "tisa",
        ),
    ],
)
def test_a_closed_formula_gives_the_reference_curve(
    shared: Path, name: str, parameters: dict[str, str], wanted: str
) -> None:
    table = np.load(shared / "vectors" / "formulas.npz")
    given = {key: table.get(value, value) for key, value in parameters.items()}
    assert_close(encoding(name, heads=4, **given).curve(129, torch.float64), table[wanted])


@pytest.mark.parametrize("n", [1, 2, 17, 512])
@pytest.mark.parametrize("name", ["kerple-log", "kerple-power", "sandwich", "tisa"])
def test_a_closed_formula_holds_at_any_length(name: str, n: int) -> None:
    numbers = {
        "kerple-log": {"p": [0.3, 1.7], "a": [2.0, 0.05]},
        "kerple-power": {"a": [0.3, 1.7], "p": [1.9, 0.4]},
        "sandwich": {"width": 10, "base": 700.0},
        "tisa": {"amplitude": [[1.0, -2.0]], "sharpness": [[-0.3, 0.01]], "centre": [[-3.0, 2.5]]},
    }[name]

    def value(head: int, delta: int) -> float:
        g = {key: np.asarray(each, float) for key, each in numbers.items()}
        if name == "kerple-log":
            return -g["p"][head] * math.log(1 + g["a"][head] * abs(delta))
        if name == "kerple-power":
            return -g["a"][head] * abs(delta) ** g["p"][head]
        if name == "sandwich":
            waves = sum(math.cos(delta / 700.0 ** (2 * t / 10)) for t in range(1, 6))
            return (waves - 5) / (8 * (head + 1) / 2)
        return g["amplitude"][0][head] * math.exp(
            -abs(g["sharpness"][0][head]) * (delta - g["centre"][0][head]) ** 2
        )

    wanted = [[value(head, delta) for delta in range(1 - n, n)] for head in range(2)]
    assert_close(encoding(name, heads=2, **numbers).curve(n, torch.float64), wanted)


# Families that meet queries and keys, cell by cell


def test_shaw_gives_the_reference_term(shared: Path) -> None:
    table = np.load(shared / "vectors" / "formulas.npz")
    mine = attention(
        table["shaw_q"],
        np.zeros_like(table["shaw_q"]),
        encoding=encoding("shaw", clip=4, table=table["shaw_table"]),
    )
    assert_close(mine.positional[0], table["shaw_term"], 1e-6)


@pytest.mark.parametrize("n", [1, 2, 17, 512])
def test_shaw_clips_the_offset_and_meets_queries_and_keys(n: int) -> None:
    q, k = layer(n)
    w = RNG.normal(size=(7, D))
    delta = np.arange(n)[None, :] - np.arange(n)[:, None]
    vectors = w[np.clip(delta, -3, 3) + 3]  # [query, key, d]
    of_queries, of_keys = np.einsum("hid,ijd->hij", q, vectors), np.einsum("hjd,ijd->hij", k, vectors)
    for side, wanted in (("queries", of_queries), ("both", of_queries + of_keys)):
        mine = attention(q, k, encoding=encoding("shaw", clip=3, side=side, table=w)).positional
        assert_close(mine, wanted * D**-0.5)


def test_shaw_values_are_added_to_the_output() -> None:
    q, k = layer(9)
    v = RNG.normal(size=(HEADS, 9, 5))
    w = RNG.normal(size=(7, 5))
    family = encoding("shaw", clip=3, value_table=w)
    mine = attention(q, k, v, encoding=family, mask="causal")
    delta = np.arange(9)[None, :] - np.arange(9)[:, None]
    added = np.einsum("hij,ijd->hid", mine.weights.numpy(), w[np.clip(delta, -3, 3) + 3])
    assert_close(mine.output, mine.weights.numpy() @ v + added)


@pytest.mark.parametrize("n", [1, 2, 17])
def test_music_meets_one_vector_a_distance_and_nothing_in_the_future(n: int) -> None:
    q, k = layer(n)
    table = RNG.normal(size=(HEADS, 20, D))
    wanted = np.zeros((HEADS, n, n))
    for i in range(n):
        for j in range(i + 1):
            wanted[:, i, j] = np.einsum("hd,hd->h", q[:, i], table[:, j - i + 19])
    assert_close(attention(q, k, encoding=encoding("music", table=table)).positional, wanted * D**-0.5)


@pytest.mark.parametrize("n", [1, 2, 17, 130])
@pytest.mark.parametrize("name", ["transformer-xl", "xlnet"])
def test_transformer_xl_and_xlnet_add_their_terms(name: str, n: int) -> None:
    q, k = layer(n)
    u, v = RNG.normal(size=(2, HEADS, D))
    w_r = RNG.normal(size=(HEADS, 10, D))
    rates = 10000.0 ** (-np.arange(0, 10, 2) / 10)
    angles = (np.arange(n)[:, None] - np.arange(n)[None, :])[..., None] * rates  # D = i − j
    vectors = np.einsum("ijw,hwd->hijd", np.concatenate((np.sin(angles), np.cos(angles)), -1), w_r)
    wanted = (u[:, None] * k).sum(-1)[:, None, :] + np.einsum("hid,hijd->hij", q + v[:, None], vectors)
    given = {"u": u, "v": v, "w_r": w_r}
    documents = tuple(int(place >= n // 3) for place in range(n))
    if name == "xlnet":
        r_s, segments = RNG.normal(size=(HEADS, D)), RNG.normal(size=(2, HEADS, D))
        given |= {"r_s": r_s, "segments": segments}
        other = np.array(documents)[:, None] != np.array(documents)[None, :]
        both = np.einsum("hid,shd->shi", q + r_s[:, None], segments)  # [2, head, query]
        wanted = wanted + np.where(other, both[1][..., None], both[0][..., None])
    family = encoding(name, **given)
    tokens = Tokens(tuple("x" * n), documents=documents)
    inputs = inputs_from_arrays(q, k, tokens=tokens)
    assert_close(family.positional(inputs, 0.5), 0.5 * wanted)
    terms = family.terms(inputs, 0.5)
    assert_close(sum(terms.values()), 0.5 * (q @ k.transpose(0, 2, 1) + wanted))
    assert {"content", "key bias", "content-position", "position bias"} <= set(terms)


def test_transformer_xl_clamps_its_distance_on_both_sides() -> None:
    q, k = layer(12)
    tables = {
        "u": RNG.normal(size=(HEADS, D)),
        "v": RNG.normal(size=(HEADS, D)),
        "w_r": RNG.normal(size=(HEADS, 6, D)),
    }
    family = encoding("transformer-xl", clamp=3, **tables)
    rates = 10000.0 ** (-np.arange(0, 6, 2) / 6)
    distance = np.clip(np.arange(12)[:, None] - np.arange(12)[None, :], -3, 3)
    angles = distance[..., None] * rates
    vectors = np.einsum("ijw,hwd->hijd", np.concatenate((np.sin(angles), np.cos(angles)), -1), tables["w_r"])
    wanted = (tables["u"][:, None] * k).sum(-1)[:, None, :] + np.einsum(
        "hid,hijd->hij", q + tables["v"][:, None], vectors
    )
    assert_close(attention(q, k, encoding=family).positional, wanted * D**-0.5)


def test_the_position_bias_of_transformer_xl_alone_is_a_function_of_the_offset() -> None:
    q, k = layer(12)
    family = encoding(
        "transformer-xl",
        u=np.zeros((HEADS, D)),
        v=RNG.normal(size=(HEADS, D)),
        w_r=RNG.normal(size=(HEADS, 6, D)),
    )
    whole = attention(np.zeros_like(q), k, encoding=family).positional
    curve = family.with_heads(HEADS).fit_curve(12, 2)
    for i in range(12):
        assert_close(whole[2, i], curve[11 - i : 23 - i])


def test_deberta_gives_the_terms_of_the_model(shared: Path) -> None:
    from safetensors.torch import load_file

    model = np.load(shared / "vectors" / "deberta_v2_shared.npz")
    weights = load_file(shared / "models" / "deberta_v2_shared" / "model.safetensors")
    relative = torch.nn.functional.layer_norm(
        weights["encoder.rel_embeddings.weight"],
        (32,),
        weights["encoder.LayerNorm.weight"],
        weights["encoder.LayerNorm.bias"],
        1e-7,
    )
    for place in range(2):
        own = f"encoder.layer.{place}.attention.self."
        k_r, q_r = (
            (relative @ weights[f"{own}{name}_proj.weight"].T + weights[f"{own}{name}_proj.bias"])
            .view(32, 4, 8)
            .transpose(0, 1)
            for name in ("key", "query")
        )
        family = encoding("deberta", span=16, num_buckets=16, max_distance=64, k_r=k_r, q_r=q_r)
        for batch in range(2):
            q, k = model["q"][place, batch], model["k"][place, batch]
            mine = attention(q, k, encoding=family, scale=(3 * 8) ** -0.5, mask=model["allowed"][0, 0])
            assert_close(mine.content, model["content"][place, batch], 1e-5)
            assert_close(mine.positional, model["positional"][place, batch], 1e-5)
            assert_close(mine.weights, model["attn"][place, batch], 1e-5)
            terms = family.terms(inputs_from_arrays(q, k), (3 * 8) ** -0.5)
            assert_close(terms["content-position"], model["c2p"][place, batch], 1e-5)
            assert_close(terms["position-content"], model["p2c"][place, batch], 1e-5)
    delta = torch.arange(48)[:, None] - torch.arange(48)[None, :]  # i − j
    places = (log_bucket(delta, 16, 64) + 16).clamp(0, 31)
    assert np.array_equal(places, model["rel_index"])


def test_deberta_v1_takes_the_distance_itself() -> None:
    q, k = layer(7)
    k_r, q_r = RNG.normal(size=(2, HEADS, 10, D))
    family = encoding("deberta", span=5, num_buckets=0, k_r=k_r, q_r=q_r)
    place = np.clip(np.arange(7)[:, None] - np.arange(7)[None, :] + 5, 0, 9)
    wanted = np.einsum("hid,hijd->hij", q, k_r[:, place]) + np.einsum("hjd,hijd->hij", k, q_r[:, place])
    assert_close(attention(q, k, encoding=family, scale=0.3).positional, 0.3 * wanted)


@pytest.mark.parametrize("n", [1, 2, 17])
def test_cope_counts_gates_back_from_the_query(n: int) -> None:
    q, k = layer(n)
    e = RNG.normal(size=(5, D))
    mine = attention(q, k, encoding=encoding("cope", table=e), mask="causal").positional
    for head in range(HEADS):
        for i in range(n):
            gates = 1 / (1 + np.exp(-(k[head, : i + 1] @ q[head, i]) * D**-0.5))
            for j in range(i + 1):
                p = min(gates[j:].sum(), 4.0)
                low, high = math.floor(p), math.ceil(p)
                vector = e[low] + (p - low) * (e[high] - e[low])
                assert mine[head, i, j].item() == pytest.approx(q[head, i] @ vector, abs=1e-9)


@pytest.mark.parametrize(("name", "sign"), [("fox", 1.0), ("cable", -1.0)])
@pytest.mark.parametrize("n", [1, 2, 17, 512])
def test_gates_add_up_between_key_and_query(name: str, sign: float, n: int) -> None:
    q, k = layer(n)
    w = RNG.normal(size=(HEADS, D))
    mine = attention(q, k, encoding=encoding(name, w=w, gate_bias=0.4), mask="causal").positional
    logits = np.einsum("hkd,hd->hk", k, w) + 0.4
    steps = -np.log1p(np.exp(-sign * logits))  # ln σ(f), and −softplus(h) = ln σ(−h)
    for i, j in {(n - 1, 0), (n // 2, 0), (n - 1, n // 2), (n // 2, n // 2)}:
        assert_close(mine[:, i, j], steps[:, j + 1 : i + 1].sum(1))


@pytest.mark.parametrize("n", [1, 2, 17, 512])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_xpos_decays_every_pair_of_the_rotated_product(n: int, layout: str) -> None:
    q, k = layer(n)
    mine = attention(q, k, encoding=encoding("xpos", layout=layout, scale_base=40.0, base=100.0)).positional
    pairs = [(m, m + 4) if layout == "half" else (2 * m, 2 * m + 1) for m in range(4)]
    for i, j in {(n - 1, 0), (n // 2, n // 3), (0, 0), (n // 3, n // 2)}:
        rotated = np.zeros(HEADS)
        for m, (a, b) in enumerate(pairs):
            theta, zeta = 100.0 ** (-2 * m / D), (2 * m + 0.4 * D) / (1.4 * D)
            even = q[:, i, a] * k[:, j, a] + q[:, i, b] * k[:, j, b]
            odd = q[:, i, b] * k[:, j, a] - q[:, i, a] * k[:, j, b]
            angle = (j - i) * theta
            rotated += zeta ** ((i - j) / 40.0) * (even * np.cos(angle) + odd * np.sin(angle))
        assert_close(mine[:, i, j], (rotated - (q[:, i] * k[:, j]).sum(-1)) * D**-0.5)


@pytest.mark.parametrize("n", [1, 2, 17, 512])
def test_fire_is_stretched_after_its_threshold(n: int) -> None:
    w1, b1 = RNG.normal(size=(2, 6))
    w2, b2 = RNG.normal(size=(HEADS, 6)), RNG.normal(size=HEADS)
    family = encoding("fire", c=0.3, threshold=9.0, w1=w1, b1=b1, w2=w2, b2=b2)
    mine = attention(*layer(n), encoding=family).positional

    def psi(x: float) -> float:
        return math.log(1 + abs(0.3 * x))

    for i, j in {(n - 1, 0), (n // 2, n // 3), (min(9, n - 1), 0), (min(10, n - 1), 0), (0, n - 1)}:
        share = psi(i - j) / (psi(max(i, 9)) + 1e-6)
        assert_close(mine[:, i, j], w2 @ np.maximum(w1 * share + b1, 0) + b2)


# Planes


@pytest.mark.parametrize("stage", ["swin_s0b0", "swin_s0b1"])
def test_swin_gives_the_bias_of_the_model(shared: Path, stage: str) -> None:
    model = np.load(shared / "vectors" / f"{stage}.npz")
    family = encoding("swin", width=4, table=model["bias_table"])
    for window in range(4):
        mine = attention(
            model["q"][0, window], model["k"][0, window], encoding=family, mask=model["allowed"][window, 0]
        )
        assert_close(mine.positional, model["positional"][0, window], 1e-5)
        assert_close(mine.weights, model["attn"][0, window], 1e-5)


@pytest.mark.parametrize("width", [4, 7, 8])
def test_swin_indexes_its_table_as_the_reference_does(shared: Path, width: int) -> None:
    wanted = np.load(shared / "vectors" / "tables_swin.npz")[f"index_w{width}"]
    place = torch.arange(width * width)
    assert np.array_equal(encoding("swin", width=width).index(place[:, None], place[None, :], width), wanted)


@pytest.mark.parametrize(("name", "first"), [("swin", 0), ("beit", 1), ("swin-v2", 0)])
def test_a_plane_is_the_bias_by_key_minus_query(name: str, first: int) -> None:
    extra = {"swin-v2": {"cosine": False}}.get(name, {})
    family = encoding(name, width=3, heads=HEADS, **extra)
    n = 12 + first
    bias = attention(*layer(n), encoding=family).positional
    plane = family.plane(2, n)
    assert plane.shape == (7, 5)
    for i in range(12):
        for j in range(12):
            cell = plane[j // 3 - i // 3 + 3, j % 3 - i % 3 + 2]
            assert bias[2, first + i, first + j].item() == pytest.approx(cell.item(), abs=1e-12)
    drawn = torch.rand(7, 5, dtype=torch.float64) + 1
    moved = family.with_plane(2, drawn, n)
    torch.testing.assert_close(moved.plane(2, n), drawn)
    torch.testing.assert_close(moved.plane(1, n), family.plane(1, n))


def test_beit_has_three_numbers_for_its_class_token() -> None:
    table = np.zeros((7 * 5 + 3, 1))
    table[-3:, 0] = 1.0, 2.0, 3.0  # class → patch, patch → class, class → class
    bias = attention(
        np.zeros((1, 13, 4)), np.zeros((1, 13, 4)), encoding=encoding("beit", width=3, table=table)
    )
    assert bias.positional[0, 0, 1:].tolist() == [1.0] * 12
    assert bias.positional[0, 1:, 0].tolist() == [2.0] * 12
    assert bias.positional[0, 0, 0].item() == 3.0
    assert bias.positional[0, 1:, 1:].abs().max() == 0


@pytest.mark.parametrize(("width", "trained"), [(4, 0), (7, 0), (16, 8)])
def test_swin_v2_sees_the_coordinates_of_the_reference(shared: Path, width: int, trained: int) -> None:
    wanted = np.load(shared / "vectors" / "tables_swin.npz")[f"swinv2_coords_w{width}_pw{trained}"][0]
    # One hidden unit each way, so that the network shows its coordinates: 16 σ(w · relu(±x)).
    for axis in range(2):
        w1 = np.zeros((2, 2))
        w1[:, axis] = 1.0, -1.0
        family = encoding(
            "swin-v2",
            width=width,
            trained=trained,
            heads=1,
            cosine=False,
            w1=w1,
            b1=np.zeros(2),
            w2=[[1.0, -1.0]],
        )
        plane = family.plane(0, width * width).flip(0, 1)  # by query − key, as the reference
        assert_close(torch.special.logit(plane / 16), wanted[..., axis], 1e-6)


def test_swin_v2_takes_cosines_for_content() -> None:
    q, k = layer(9)
    family = encoding("swin-v2", width=3, logit_scale=[0.5, 2.0, 9.0, 1.0], heads=HEADS)
    scores = attention(q, k, encoding=family).scores.numpy()
    cosines = np.einsum("hid,hjd->hij", q, k) / (
        np.linalg.norm(q, axis=-1)[:, :, None] * np.linalg.norm(k, axis=-1)[:, None, :]
    )
    factor = np.minimum(np.exp([0.5, 2.0, 9.0, 1.0]), 100.0)  # e^9 is clamped
    bias = attention(q, k, encoding=encoding("swin-v2", width=3, cosine=False, heads=HEADS)).positional
    assert_close(torch.from_numpy(scores), factor[:, None, None] * cosines + bias.numpy())


# RoPE's scalings


@pytest.mark.parametrize(
    ("table", "parameters"),
    [
        ("default_10k_d128", {}),
        ("default_500k_d128", {"base": 5e5}),
        ("linear4_10k_d128", {"scaling_rule": "linear", "factor": 4}),
        ("dynamic2_10k_d128_at_init", {"scaling_rule": "dynamic", "factor": 2}),
        ("llama31_8b", {"base": 5e5, "scaling_rule": "llama3", "factor": 8}),
        (
            "yarn4_1m_d128_orig32k",
            {"base": 1e6, "scaling_rule": "yarn", "factor": 4, "original": 32768, "high": 32},
        ),
    ],
)
def test_rope_frequencies_are_those_of_the_reference(shared: Path, table: str, parameters: dict) -> None:
    wanted = np.load(shared / "vectors" / "tables_rope_inv_freq.npz")
    family = encoding("rope", **parameters)
    np.testing.assert_allclose(family.frequencies(128, 100), wanted[table], rtol=1e-12)
    assert family.amplitude == pytest.approx(float(wanted[f"{table}_af"]), abs=1e-12)


def test_dynamic_scaling_grows_with_the_sequence_and_ntk_keeps_the_fastest_pair() -> None:
    dynamic = encoding("rope", scaling_rule="dynamic", factor=2.0, original=100)
    base = 10000.0 * (2 * 300 / 100 - 1) ** (8 / 6)
    np.testing.assert_allclose(dynamic.frequencies(8, 300), base ** (-np.arange(4) / 4), rtol=1e-12)
    ntk = encoding("rope", scaling_rule="ntk", factor=4.0).frequencies(8)
    plain = encoding("rope").frequencies(8)
    assert ntk[0] == plain[0]
    assert float(plain[3] / ntk[3]) == pytest.approx(4.0)


@pytest.mark.parametrize(("given", "factor"), [(0.0, 1.2772588722239782), (1.0, 1.0)])
def test_yarn_multiplies_the_rotated_score_by_its_factor_squared(given: float, factor: float) -> None:
    # E01: factor 16 gives 0.1 ln 16 + 1; a config that says 1 means 1.
    q, k = layer(6)
    family = encoding("rope", scaling_rule="yarn", factor=16, original=256, high=32, attention_factor=given)
    assert family.amplitude == pytest.approx(factor, abs=1e-12)
    scores = attention(q, k, encoding=family).scores
    assert_close(scores.diagonal(dim1=1, dim2=2), factor**2 * (q * k).sum(-1) * D**-0.5)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("kerple-power", {"p": [2.5]}, "kerple-power p must lie between 0.01 and 2."),
        ("kerple-log", {"a": [0.0]}, "kerple-log a must lie at or above 0.01."),
        ("alibi", {"slopes": [-1.0]}, "alibi slopes must lie at or above 0."),
        ("rope", {"scaling_rule": "yarn", "low": 5, "high": 4}, "low must lie below high (4), not at 5."),
        ("rope", {"factor": 0.5}, "factor must lie between 1 and 1000000, not 0.5."),
        ("sandwich", {"base": 1.0}, "base must lie between 1.000001 and 1e+12, not 1.0."),
        (
            "tisa",
            {"centre": [[1.0]]},
            "tisa needs amplitude, sharpness and centre together, or none of them.",
        ),
        ("shaw", {"clip": 3, "table": np.zeros((6, 8))}, "the shaw table holds 6 vectors; clip 3 needs 7."),
        (
            "deberta",
            {"num_buckets": 2},
            "num_buckets must be 0, or at least 4 with max_distance above 2, not 2.",
        ),
        (
            "swin",
            {"table": np.zeros((10, 1))},
            "the swin table holds 10 rows; width 7 needs (2h − 1)·13 of them.",
        ),
        (
            "swin-v2",
            {"width": 2, "table": [[17.0]] * 9},
            "the swin-v2 bias must lie between 0 and 16, both excluded.",
        ),
        ("fire", {"w1": [1.0], "b1": [1.0, 2.0]}, "the fire layers do not fit each other: w1 1, b1 2."),
    ],
)
def test_parameters_outside_their_domain_are_refused_with_the_domain(
    name: str, parameters: dict, message: str
) -> None:
    with pytest.raises(ViewerError) as refused:
        encoding(name, **parameters)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("name", "parameters", "part"),
    [
        ("shaw", {"clip": 1, "table": np.zeros((3, 5))}, "5 wide, a query 8"),
        ("music", {"table": np.zeros((4, 5, 8))}, "ends at 5 positions and the sequence has 9"),
        ("transformer-xl", {"u": np.zeros((4, 5))}, "u is 5 wide, a query 8"),
        ("deberta", {"span": 2, "k_r": np.zeros((4, 4, 5))}, "5 wide, a query 8"),
        ("cope", {"table": np.zeros((4, 5))}, "5 wide, a query 8"),
        ("fox", {"gates": np.zeros((4, 5))}, "hold 5 tokens, the sequence 9"),
        ("swin", {"width": 2, "table": np.zeros((9, 4))}, "a window of 2 × 2 = 4 tokens, and there are 9"),
        ("tisa", {key: np.ones((1, 3)) for key in ("amplitude", "sharpness", "centre")}, "holds 3 heads"),
    ],
)
def test_a_table_that_does_not_fit_the_layer_is_refused(name: str, parameters: dict, part: str) -> None:
    with pytest.raises(ViewerError, match=r"agree|shorten") as refused:
        attention(*layer(9), encoding=encoding(name, **parameters))
    assert part in str(refused.value)


def _tables() -> list[tuple[str, str]]:
    return [
        (name, key) for name, given in LIVELY.items() for key, value in given.items() if np.ndim(value) > 0
    ]


@pytest.mark.parametrize(("name", "key"), _tables())
def test_a_table_that_holds_no_number_somewhere_is_refused(name: str, key: str) -> None:
    table = np.array(LIVELY[name][key], np.float64)
    table.flat[-1] = np.nan
    with pytest.raises(ViewerError, match=rf"^(the )?{name}.*(nan|must lie)"):
        encoding(name, **{**LIVELY[name], key: table})
