"""Fitting: a family's own curve gives its numbers back, and a foreign one the least residual."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.crew import alone
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.fit import explain, fit, fit_heads, survey

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
    fits = explain(target, visible)
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


VECTORS, PLANE = "depends on queries and keys", "depends on rows and columns of an image"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rope", VECTORS),
        ("shaw", VECTORS),
        ("cope", VECTORS),
        ("absolute", VECTORS),
        ("swin", PLANE),
        ("swin-v2", PLANE),
        ("beit", PLANE),
    ],
)
def test_a_family_without_a_curve_says_why_it_cannot_be_fitted(name: str, why: str) -> None:
    with pytest.raises(ViewerError, match=why):
        fit(encoding(name, heads=1), np.zeros(9), np.ones(9, bool))


def test_nothing_to_fit_is_a_sentence() -> None:
    with pytest.raises(ViewerError, match="nothing to fit"):
        fit(encoding("alibi", heads=1), np.full(9, np.nan), np.ones(9, bool))


FOREIGN = {
    "a hill": (300, lambda d: 2.2 * np.exp(-(((d - 30) / 9) ** 2)) - 0.9 * np.sqrt(d)),
    "far away": (6000, lambda d: np.sin(d / 900) - 0.02 * np.sqrt(d) - 0.5 * (d > 4000)),
    "too weak for the least strength": (300, lambda d: -0.004 * np.log1p(3 * d)),
}


@pytest.mark.parametrize("curve", FOREIGN)
def test_a_foreign_curve_is_fitted_at_least_as_well_as_by_a_dense_grid(curve: str) -> None:
    n, formula = FOREIGN[curve]
    delta = np.arange(1 - n, n)
    past = delta <= 0
    distance = -delta[past].astype(float)
    y = formula(distance)
    target = np.where(past, 0.0, 5.0)
    target[past] = y

    def least(shape: np.ndarray) -> float:
        """The smallest rms of a strength of at least 0.01 of a shape [offset], and a constant."""
        shape, rest = shape - shape.mean(), y - y.mean()
        strength = max(shape @ rest / (shape @ shape), 0.01)
        return float(np.sqrt(((rest - strength * shape) ** 2).mean()))

    logs = min(least(-np.log1p(steepness * distance)) for steepness in np.geomspace(0.01, 1e4, 1000))
    powers = min(least(-(distance**power)) for power in np.linspace(0.01, 2, 1000))
    assert fit("kerple-log", target, past).rms <= logs * (1 + 1e-6)
    assert fit("kerple-power", target, past).rms <= powers * (1 + 1e-6)


def test_a_number_that_all_heads_share_weighs_what_they_want() -> None:
    n = 100
    bases = {0: 500.0, 1: 900.0, 2: 2000.0}
    targets = {
        head: encoding("sandwich", heads=3, base=base).fit_curve(n, head).numpy()
        for head, base in bases.items()
    }

    def rms(base: float) -> float:
        made = encoding("sandwich", heads=3, base=base)
        rests = [target - made.fit_curve(n, head).numpy() for head, target in targets.items()]
        return float(np.sqrt(np.mean([rest.var() for rest in rests])))

    fits = fit_heads(encoding("sandwich", heads=3), targets)
    found = float(np.sqrt(np.mean([each.rms**2 for each in fits.values()])))
    with alone():
        least = min(rms(base) for base in np.geomspace(400, 2500, 400))
    assert found <= least * (1 + 1e-9)


def test_kernels_fit_a_foreign_curve_at_least_as_well_as_searches_from_random_starts() -> None:
    from scipy.optimize import least_squares

    n = 96
    delta = np.arange(1 - n, n)
    y = 1.5 * np.cos(delta / 17.0) - 0.03 * np.abs(delta) + 0.8 * (np.abs(delta + 20) < 6)
    rng = np.random.default_rng(4)

    def rest(numbers: np.ndarray) -> np.ndarray:
        height, sharp, centre = numbers[:-1].reshape(3, 5, 1)
        return (height * np.exp(-np.exp(sharp) * (delta - centre) ** 2)).sum(0) + numbers[-1] - y

    costs = []
    most = np.concatenate(
        (np.full(10, np.inf), np.full(5, n - 1.0), [np.inf])
    )  # centres lie where the curve is seen
    for _ in range(4):
        start = np.concatenate(
            (rng.normal(size=5), rng.uniform(-7, 0, 5), rng.uniform(2 - n, n - 2, 5), rng.normal(size=1))
        )
        found = least_squares(rest, start, bounds=(-most, most), max_nfev=300)
        costs.append(np.sqrt((found.fun**2).mean()))
    assert fit(encoding("tisa", heads=1), y, np.ones(2 * n - 1, bool)).rms <= min(costs) * 1.001


@pytest.mark.parametrize("name", ["kerple-log", "kerple-power", "fire", "sandwich", "alibi", "t5"])
def test_a_long_curve_of_a_family_is_recovered_from_a_few_of_its_offsets(name: str) -> None:
    n = 9000
    own = encoding(name, heads=HEADS, **OWN[name][0])
    target = own.fit_curve(n, 2).numpy() - 3.1
    visible = np.arange(1 - n, n) <= 0
    knobs = own.knobs(2)
    start = own.with_knobs(2, np.array([np.random.default_rng(3).uniform(*knob.starts) for knob in knobs]))
    found = fit(start, target, visible, 2)
    assert found.rms < 1e-6
    assert found.constant == pytest.approx(0.0 if own.own_constant else -3.1)


@pytest.mark.parametrize("name", ["fire", "sandwich"])
def test_a_number_that_all_heads_share_is_chosen_for_all_of_them(name: str) -> None:
    parameters, n = OWN[name]
    own = encoding(name, heads=HEADS, **parameters)
    targets = {head: own.fit_curve(n, head).numpy() for head in (3, 1)}
    knob = own.knobs(0)[0]
    start = own.with_knobs(0, np.array([knob.starts[1], *own.knob_values(0)[1:]]))
    fits = fit_heads(start, targets, np.ones(2 * n - 1, bool))
    assert fits[3].encoding is fits[1].encoding
    for head in (1, 3):
        assert fits[head].numbers[0] == (knob.name, pytest.approx(own.knob_values(0)[0], rel=1e-4))
        assert fits[head].rms < 1e-6


def test_every_head_is_fitted_on_its_own() -> None:
    n = 30
    delta = np.arange(1 - n, n)
    slopes = {0: 0.3, 2: 0.07}
    fits = fit_heads(
        encoding("alibi", heads=3), {head: slope * delta for head, slope in slopes.items()}, delta <= 0
    )
    assert {head: each.numbers[0][1] for head, each in fits.items()} == pytest.approx(slopes)
    untouched = encoding("alibi", heads=3).knob_values(1)
    assert fits[0].encoding.knob_values(1) == pytest.approx(untouched)
    assert fits[0].encoding.knob_values(2) == pytest.approx([0.07])


def test_a_survey_says_of_every_family_what_it_makes_of_the_curve_or_why_it_cannot() -> None:
    n = 24
    delta = np.arange(1 - n, n)
    targets = {0: -0.2 * np.abs(delta), 1: -0.5 * np.log1p(np.abs(delta))}
    found = survey(2, targets, delta <= 0)
    assert {each.encoding.name for each in found} == set(FAMILIES) - {"curve"}
    fitted = [each for each in found if each.fits]
    assert found[: len(fitted)] == fitted
    assert [each.rms for each in fitted] == sorted(each.rms for each in fitted)
    for each in fitted:
        assert each.rms == pytest.approx(np.sqrt(np.mean([each.fits[head].rms ** 2 for head in (0, 1)])))
        assert each.fits[each.worst_head].worst == max(one.worst for one in each.fits.values())
    for each in found[len(fitted) :]:
        why = PLANE if each.encoding.name in ("swin", "swin-v2", "beit") else VECTORS
        assert why in each.reason, each.encoding.name
    alibi = next(each for each in fitted if each.encoding.name == "alibi")
    past = delta[delta <= 0].astype(float)
    for head, target in targets.items():
        y = target[delta <= 0]
        rest = y - np.polyval(np.polyfit(past, y, 1), past)
        assert alibi.fits[head].rms == pytest.approx(np.sqrt((rest**2).mean()), abs=1e-12)


def test_a_survey_begins_with_the_settings_that_are_present_and_can_be_stopped() -> None:
    class Stop(Exception):  # noqa: N818
        pass

    class Impatient:
        def __init__(self, patience: int) -> None:
            self.patience, self.told = patience, []

        def check(self) -> None:
            self.patience -= 1
            if self.patience < 0:
                raise Stop

        def progress(self, fraction: float) -> None:
            self.told.append(fraction)

    target = np.linspace(0, 1, 15)
    eight = encoding("t5", heads=1, num_buckets=8, max_distance=20)
    found = survey(1, {0: target}, np.ones(15, bool), present=[eight])
    assert next(each for each in found if each.encoding.name == "t5").encoding.num_buckets == 8
    impatient = Impatient(40)
    with pytest.raises(Stop):
        survey(1, {0: target}, np.ones(15, bool), impatient)
    assert impatient.told == sorted(impatient.told)
    assert impatient.told[0] == 0 < impatient.told[-1] < 1


def test_from_python_a_name_and_a_curve_are_enough() -> None:
    import relpos_viewer as rv

    delta = np.arange(-19, 20)
    target = np.where(delta <= 0, 0.25 * delta, np.nan).tolist()
    found = rv.fit("alibi", target)
    assert found.numbers == (("slope", pytest.approx(0.25)),)
    assert rv.fit("alibi", target, head=2).encoding.knob_values(2) == pytest.approx([0.25])
    assert {each.encoding.name for each in rv.explain(target) if each.rms < 1e-9} >= {"alibi", "kerple-power"}


def test_what_is_no_curve_is_a_sentence() -> None:
    with pytest.raises(ViewerError, match=r"\[2n − 1\]"):
        fit("alibi", np.zeros(8))
    with pytest.raises(ViewerError, match=r"\[5\].*\[9\]"):
        fit("alibi", np.zeros(9), np.ones(5, bool))


@pytest.mark.parametrize("seed", range(6))
def test_kernels_stay_where_the_curve_is_seen(seed: int) -> None:
    n = 26
    rng = np.random.default_rng(seed)
    ragged = rng.normal(size=2 * n - 1) if seed % 2 else 0.3 * rng.normal(size=2 * n - 1).cumsum()
    found = fit(encoding("tisa", heads=1), ragged, np.arange(1 - n, n) <= 0)
    assert float(found.encoding.centre.min()) >= 0.99 - n
    assert float(found.encoding.centre.max()) <= 0.01


RAGGED = [(seed, causal) for seed in (1, 3, 6, 7) for causal in (False, True)]


@pytest.mark.parametrize(("seed", "causal"), RAGGED)
def test_kernels_of_a_ragged_curve_never_cancel_and_fit_as_well_as_others_of_their_height(
    seed: int, causal: bool
) -> None:
    from scipy.optimize import least_squares

    n = 26
    y = np.random.default_rng(seed).normal(size=2 * n - 1)
    delta = np.arange(1 - n, n)
    visible = delta <= 0 if causal else np.ones(2 * n - 1, bool)
    found = fit(encoding("tisa", heads=1), y, visible)
    span = np.ptp(y[visible])
    assert float(found.encoding.amplitude.abs().max()) <= 10 * span * (1 + 1e-9)

    x, wanted = delta[visible], y[visible]

    def rest(numbers: np.ndarray) -> np.ndarray:
        height, sharp, centre = numbers[:-1].reshape(3, 5, 1)
        return (height * np.exp(-np.exp(sharp) * (x - centre) ** 2)).sum(0) + numbers[-1] - wanted

    rng = np.random.default_rng(0)
    least = [np.repeat(each, 5) for each in (-10 * span, np.log(1e-12), float(x[0]))]
    most = [np.repeat(each, 5) for each in (10 * span, np.log(10), float(x[-1]))]
    bounds = (np.append(least, -np.inf), np.append(most, np.inf))
    costs = []
    for _ in range(6):
        start = np.concatenate(
            (rng.normal(size=5), rng.uniform(-7, 1, 5), rng.uniform(x[0], x[-1], 5), rng.normal(size=1))
        )
        costs.append(2 * least_squares(rest, start, bounds=bounds, max_nfev=200).cost)
    assert found.rms <= 1.05 * np.sqrt(min(costs) / len(x))


def test_sinusoids_of_a_ragged_curve_never_cancel_and_fit_as_well_as_that_allows() -> None:
    from scipy.optimize import lsq_linear

    n = 26
    rng = np.random.default_rng(2)
    family = encoding("transformer-xl", v=rng.normal(size=(1, 16)), w_r=rng.normal(size=(1, 16, 16)))
    y = rng.normal(size=2 * n - 1)
    seen = torch.arange(1 - n, 1)
    found = fit(family, y, np.arange(1 - n, n) <= 0)

    waves = family.slopes_of_knobs(0, seen).T  # [offset, d]
    most = 10 * np.ptp(y[:n]) / np.ptp(waves, axis=0)
    mine = found.encoding.knob_values(0)
    assert (np.abs(mine) <= most * (1 + 1e-9)).all()
    shapes, rest = waves - waves.mean(0), y[:n] - y[:n].mean()
    best = lsq_linear(shapes, rest, (-most, most), tol=1e-14, max_iter=2000)
    assert found.rms <= np.sqrt(2 * best.cost / n) * 1.005
    unbound = np.linalg.lstsq(shapes, rest, rcond=1e-6)[0]
    assert np.abs(unbound / most).max() > 3


def test_kernels_that_cancelled_before_come_down() -> None:
    n = 26
    heights = np.array([[1e6], [-1e6], [3.0]])
    huge = encoding(
        "tisa", amplitude=heights, sharpness=[[0.1], [0.1], [0.5]], centre=[[-8.0], [-8.0001], [-3.0]]
    )
    y = np.random.default_rng(4).normal(size=2 * n - 1)
    visible = np.arange(1 - n, n) <= 0
    found = fit(huge, y, visible)
    assert float(found.encoding.amplitude.abs().max()) <= 10 * np.ptp(y[visible]) * (1 + 1e-9)


def test_a_fit_computes_in_one_thread_and_leaves_the_threads_as_they_were() -> None:
    class Counting:
        def __init__(self) -> None:
            self.threads: set[int] = set()

        def check(self) -> None:
            self.threads.add(torch.get_num_threads())

        def progress(self, fraction: float) -> None:
            self.check()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        one, all_of_them = Counting(), Counting()
        fit("fire", np.linspace(0, 1, 15), cancel=one)
        survey(1, {0: np.linspace(0, 1, 15)}, cancel=all_of_them)
        assert one.threads == all_of_them.threads == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


ENDS = {
    "a slope that would have to rise": ("alibi", lambda d: 0.3 * d, ["slope"]),
    "a strength below the least": ("kerple-log", lambda d: -0.004 * np.log1p(3 * d), ["p"]),
    "a line for a logarithm": ("kerple-log", lambda d: -0.4 * d, ["a"]),
    "a square for a power": ("kerple-power", lambda d: -0.1 * d**3.0, ["p"]),
    "a power inside": ("kerple-power", lambda d: -0.1 * d**1.5 + 0.01 * (d > 4), []),
    "a curve that a slope of 0 explains": ("alibi", lambda d: 2.0 + 0 * d, []),
}


@pytest.mark.parametrize("case", ENDS)
def test_numbers_at_an_end_of_their_domain_are_told_while_something_is_left(case: str) -> None:
    name, formula, wanted = ENDS[case]
    n = 40
    delta = np.arange(1 - n, n)
    target = formula(np.abs(delta).astype(float))
    found = fit(name, target, delta <= 0)
    assert [end[0] for end in found.ends] == wanted
    values = dict(found.numbers)
    for knob, low, high in found.ends:
        assert values[knob] == pytest.approx(low, rel=1e-5) or values[knob] == pytest.approx(high, rel=1e-5)


def test_what_arithmetic_leaves_of_nothing_is_nothing() -> None:
    n = 33
    delta = np.arange(1 - n, n)
    bell = 1.1 * np.exp(-0.3 * (delta + 5.0) ** 2) + 1 / 3
    found = fit("tisa", bell, delta <= 0)
    heights = sorted(abs(value) for name, value in found.numbers if name.startswith("amplitude"))
    assert heights == [0, 0, 0, 0, pytest.approx(1.1)]
    assert found.rms == found.worst == 0
    line = fit("alibi", 0.1 * delta, delta <= 0)
    assert (line.constant, line.rms, line.worst) == (0, 0, 0)


def test_of_families_that_explain_a_curve_alike_the_one_with_the_fewest_numbers_is_first() -> None:
    n = 20
    delta = np.arange(1 - n, n)
    fits = explain(0.25 * delta, delta <= 0)
    assert [each.encoding.name for each in fits[:2]] == ["alibi", "kerple-power"]
    assert fits[0].rms == fits[1].rms == 0
    flat = [each.encoding.name for each in explain(np.full(2 * n - 1, 3.0), delta <= 0)]
    assert flat[:2] == ["none", "alibi"]
