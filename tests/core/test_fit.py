"""Fitting: a family's own curve gives its numbers back, and a foreign one the least residual."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.fit import explain, fit

from .lively import LIVELY

RNG = np.random.default_rng(8)
HEADS = 4

# Curves that say all there is to say about their family, and where random starts may lie.
OWN = {
    "t5": ({"num_buckets": 8, "max_distance": 20, "table": RNG.normal(size=(8, HEADS))}, 40),
    "alibi": ({"slopes": [0.3, 0.02, 0.9, 0.11]}, 40),
    "kerple-log": ({"p": [0.3, 1.1, 0.05, 1.9], "a": [2.0, 0.4, 0.9, 0.02]}, 64),
    "kerple-power": ({"a": [0.3, 1.1, 0.05, 0.7], "p": [1.7, 0.4, 0.9, 0.2]}, 64),
    "sandwich": ({"base": 700.0}, 128),
    "tisa": ({}, 64),
    "fire": ({"threshold": 512.0, "c": 0.2}, 512),
    "transformer-xl": ({"v": RNG.normal(size=(HEADS, 6)), "w_r": RNG.normal(size=(HEADS, 16, 6))}, 40),
}


def test_every_family_with_numbers_is_in_the_table() -> None:
    fitting = {
        name
        for name in FAMILIES
        if encoding(name, heads=HEADS, **LIVELY[name]).knobs(0) and name != "xlnet"  # a transformer-xl
    }
    assert fitting == set(OWN)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", OWN)
def test_a_fit_of_a_familys_own_curve_recovers_its_numbers(name: str, seed: int) -> None:
    parameters, n = OWN[name]
    own = encoding(name, heads=HEADS, **parameters)
    target = own.fit_curve(n, 1).numpy() + (0.0 if own.own_constant else 1.7)
    visible = np.ones(2 * n - 1, bool)
    rng = np.random.default_rng(seed)
    knobs = own.knobs(1)
    start = own.with_knobs(1, np.array([rng.uniform(*knob.starts) for knob in knobs]))
    found = fit(start, target, visible, 1, seed=seed)

    wanted, mine = own.knob_values(1), found.encoding.knob_values(1)
    if name == "tisa":  # the order of kernels means nothing
        wanted, mine = (
            each.reshape(3, -1)[:, np.argsort(each.reshape(3, -1)[2])].ravel() for each in (wanted, mine)
        )
    if name == "t5":  # δ = 0 is no future, so that side's first bucket holds nothing
        wanted, mine = np.delete(wanted, 4), np.delete(mine, 4)
    np.testing.assert_allclose(mine, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max() * 1e-3)
    assert found.rms < 1e-6
    assert found.constant == pytest.approx(0.0 if own.own_constant else 1.7, abs=1e-6)
    # The other heads stay as they were, but for numbers that all heads share.
    if name not in ("sandwich", "fire"):
        np.testing.assert_array_equal(found.encoding.knob_values(2), start.knob_values(2))


def test_a_fit_looks_only_at_visible_offsets_and_says_what_is_left() -> None:
    n = 20
    delta = np.arange(1 - n, n)
    target = np.where(delta <= 0, 0.25 * delta, 99.0)
    target[n - 1 - 7] += 0.5  # one offset off the line
    found = fit(encoding("alibi", heads=1), target, delta <= 0, 0)
    x, y = delta[delta <= 0].astype(float), target[delta <= 0]
    slope, constant = np.polyfit(x, y, 1)
    assert found.numbers == (("slope", pytest.approx(slope)),)
    assert found.constant == pytest.approx(constant)
    rest = y - (slope * x + constant)
    assert found.rms == pytest.approx(np.sqrt((rest**2).mean()))
    assert found.worst == pytest.approx(np.abs(rest).max())
    assert found.worst_offset == -7


def test_buckets_that_no_visible_offset_touches_keep_their_number() -> None:
    own = encoding("t5", heads=2, num_buckets=8, max_distance=20)
    delta = np.arange(-29, 30)
    found = fit(own, -0.1 * np.abs(delta.astype(float)), delta <= 0, 0)
    assert np.array_equal(found.encoding.knob_values(0)[5:], own.knob_values(0)[5:])  # the future's
    assert found.encoding.knob_values(0)[1] == pytest.approx(-0.1)


def test_the_free_curve_takes_every_visible_value_and_keeps_the_others() -> None:
    own = encoding("curve", heads=2, table=RNG.normal(size=(2, 9)))
    target = np.arange(9.0)
    found = fit(own, target, np.arange(9) < 5, 1)
    curve = found.encoding.curve(5, torch.float64)
    assert curve[1, :5].tolist() == target[:5].tolist()
    assert torch.equal(curve[1, 5:], own.curve(5, torch.float64)[1, 5:])
    assert torch.equal(curve[0], own.curve(5, torch.float64)[0])
    assert found.rms == 0


def test_the_family_that_made_a_curve_explains_it_best() -> None:
    n = 48
    visible = np.arange(1 - n, n) <= 0
    target = encoding("kerple-log", heads=2, p=[1.3, 1.0], a=[0.7, 1.0]).curve(n, torch.float64)[0].numpy()
    fits = explain(2, target, visible)
    assert fits[0].encoding.name == "kerple-log"
    assert [each.rms for each in fits] == sorted(each.rms for each in fits)
    assert {each.encoding.name for each in fits} >= {
        "none",
        "t5",
        "alibi",
        "kerple-power",
        "sandwich",
        "tisa",
        "fire",
    }


@pytest.mark.parametrize("name", ["rope", "shaw", "cope", "absolute", "swin"])
def test_a_family_without_a_curve_says_why_it_cannot_be_fitted(name: str) -> None:
    with pytest.raises(ViewerError, match=r"depends on queries and keys"):
        fit(encoding(name, heads=1), np.zeros(9), np.ones(9, bool))


def test_nothing_to_fit_is_a_sentence() -> None:
    with pytest.raises(ViewerError, match="nothing to fit"):
        fit(encoding("alibi", heads=1), np.full(9, np.nan), np.ones(9, bool))
