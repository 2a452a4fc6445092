"""Fitting a family to any curve: least squares over the visible offsets, up to a constant that softmax cannot see."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.encodings import FAMILIES, Encoding, encoding
from relpos_viewer.core.encodings.base import Knob
from relpos_viewer.core.errors import ViewerError

# Random starts of a search; the present numbers are one more.
STARTS = 12
SEED = 0
# A search over more offsets than this takes evenly spaced ones: the families are smooth, and it stays under a second.
SAMPLED = 4096


@dataclass(frozen=True, eq=False)
class Fit:
    """A family's best approximation of a curve.

    Attributes:
        encoding: the family with the numbers found, for all heads; only the fitted head's have changed.
        curve: float64 [2n−1], its curve with `constant` added, as it lies over the target.
        constant: score units; the same for every offset, so softmax does not see it.
        rms: root mean square of the residual over the visible offsets, score units.
        worst: largest magnitude of the residual, score units.
        worst_offset: δ where that is.
        numbers: (name, value) of every knob.
    """

    encoding: Encoding
    curve: np.ndarray
    constant: float
    rms: float
    worst: float
    worst_offset: int
    numbers: tuple[tuple[str, float], ...]


def fit(
    family: Encoding,
    target: np.ndarray,
    visible: np.ndarray,
    head: int = 0,
    cancel: CancelLike | None = None,
    seed: int = SEED,
) -> Fit:
    """Return the fit of one head of `family` to `target`.

    Args:
        family: where the search begins, for as many heads as it should keep.
        target: float [2n−1] over δ = −(n−1) … n−1, score units.
        visible: bool [2n−1], the offsets that count; those where the target is no finite number do not.
        head: index.
        cancel: asked between searches.
        seed: of the random starts.

    Raises:
        ViewerError: when the family has no curve to fit, or no offset counts. Whatever `cancel` raises.
    """
    cancel = cancel or Silent()
    target = np.asarray(target, np.float64)
    counted = np.asarray(visible, bool) & np.isfinite(target)  # [2n−1]
    if not counted.any():
        raise ViewerError("there is nothing to fit: no visible offset has a value.")
    n = (len(target) + 1) // 2
    wanted = np.where(counted, target, np.nan)  # [2n−1]
    found = family.fitted(head, wanted)
    if found is not None:
        return _measured(found, head, n, wanted)
    if family.fit_curve(n, head) is None:
        raise ViewerError(
            f"{family.title} depends on queries and keys, so no curve of δ alone can be fitted."
        )
    knobs = family.knobs(head)
    if not knobs:
        return _measured(family, head, n, wanted)
    search = _linear if family.linear else _nonlinear
    return _measured(search(family, head, n, wanted, knobs, cancel, seed), head, n, wanted)


def explain(
    heads: int,
    target: np.ndarray,
    visible: np.ndarray,
    head: int = 0,
    cancel: CancelLike | None = None,
    present: Sequence[Encoding] = (),
) -> list[Fit]:
    """Return the fit of every family that has a curve, the best first; arguments as for `fit`.

    The free curve is left out, since it explains everything. `present` replaces families of the registry by ones
    with other settings, such as the document's own.
    """
    cancel = cancel or Silent()
    given = {each.name: each for each in present}
    fits = []
    for place, name in enumerate(FAMILIES):
        cancel.check()
        cancel.progress(place / len(FAMILIES))
        family = given.get(name) or encoding(name, heads=heads)
        if name != "curve" and (family.toeplitz or family.knobs(head)):
            fits.append(fit(family, target, visible, head, cancel))
    return sorted(fits, key=lambda each: each.rms)


def _linear(
    family: Encoding,
    head: int,
    n: int,
    wanted: np.ndarray,
    knobs: tuple[Knob, ...],
    _cancel: CancelLike,
    _seed: int,
) -> Encoding:
    """Return the exact answer of a family whose curve is linear in its knobs; what nothing asks for stays."""
    counted = np.isfinite(wanted)
    start = family.knob_values(head)  # [knob]
    base = _curve(family, head, n)[counted]  # [offset]
    columns = []
    for place in range(len(knobs)):
        moved = start.copy()
        moved[place] += 1.0
        columns.append(_curve(family.with_knobs(head, moved), head, n)[counted] - base)
    matrix, rest = np.stack(columns, 1), wanted[counted] - base  # [offset, knob], [offset]
    if not family.own_constant:
        matrix, rest = matrix - matrix.mean(0), rest - rest.mean()
    change = np.linalg.lstsq(matrix, rest, rcond=None)[0]  # [knob], the smallest one where several serve
    low, high = (np.array([getattr(knob, end) for knob in knobs]) for end in ("low", "high"))
    return family.with_knobs(head, np.clip(start + change, low, high))


def _nonlinear(
    family: Encoding,
    head: int,
    n: int,
    wanted: np.ndarray,
    knobs: tuple[Knob, ...],
    cancel: CancelLike,
    seed: int,
) -> Encoding:
    """Return the best of several searches, from the present numbers and from random ones."""
    from scipy.optimize import least_squares  # a third of a second to import, and only a fit needs it

    places = np.flatnonzero(np.isfinite(wanted))
    places = places[np.linspace(0, len(places) - 1, min(len(places), SAMPLED)).round().astype(int)]
    aim = wanted[places]  # [offset]
    to_search, from_search = _scales(knobs)
    low, high = (to_search(np.array([getattr(knob, end) for knob in knobs])) for end in ("low", "high"))

    def residual(point: np.ndarray) -> np.ndarray:
        cancel.check()
        rest = _curve(family.with_knobs(head, from_search(point)), head, n)[places] - aim  # [offset]
        rest = rest if family.own_constant else rest - rest.mean()
        return np.nan_to_num(rest, nan=1e6, posinf=1e6, neginf=-1e6)

    rng = np.random.default_rng(seed)
    first = to_search(family.knob_values(head))
    starts = [np.clip(first, low, high)]
    for _ in range(STARTS):
        ends = np.array([_on_scale(knob, knob.starts) for knob in knobs])  # [knob, 2]
        starts.append(np.clip(rng.uniform(ends[:, 0], ends[:, 1]), low, high))
    best, least = first, math.inf
    for start in starts:
        inside = np.clip(start, low + 1e-9 * np.maximum(1, abs(low)), high - 1e-9 * np.maximum(1, abs(high)))
        inside = np.where(np.isfinite(inside), inside, start)
        found = least_squares(
            residual, inside, bounds=(low, high), x_scale="jac", max_nfev=400, xtol=1e-12, ftol=1e-12
        )
        if found.cost < least:
            best, least = found.x, found.cost
        if least < 1e-16 * (1 + aim.var() * len(aim)):
            break  # exact: no other start can be better
    return family.with_knobs(head, from_search(best))


def _on_scale(knob: Knob, values: Sequence[float]) -> np.ndarray:
    """Return numbers of a knob on the scale that a search steps along."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values, float)) if knob.log else np.asarray(values, float)


def _scales(
    knobs: tuple[Knob, ...],
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    logarithmic = np.array([knob.log for knob in knobs])

    def to_search(values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(logarithmic, np.log(values), values)

    def from_search(point: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.where(logarithmic, np.exp(np.where(logarithmic, point, 0.0)), point)

    return to_search, from_search


def _curve(family: Encoding, head: int, n: int) -> np.ndarray:
    """Return a head's curve, float64 [2n−1]."""
    curve = family.fit_curve(n, head)  # [2n−1]
    assert curve is not None
    return curve.double().cpu().numpy()


def _measured(family: Encoding, head: int, n: int, wanted: np.ndarray) -> Fit:
    """Return a fit with its residual over the finite places of `wanted` [2n−1]."""
    curve = _curve(family, head, n)
    rest = wanted - curve  # [2n−1]
    constant = 0.0 if family.own_constant else float(np.nanmean(rest))
    rest = rest - constant
    worst = int(np.nanargmax(np.abs(rest)))
    values = family.knob_values(head)
    return Fit(
        encoding=family,
        curve=curve + constant,
        constant=constant,
        rms=float(np.sqrt(np.nanmean(rest**2))),
        worst=float(abs(rest[worst])),
        worst_offset=worst - (n - 1),
        numbers=tuple(
            (knob.name, float(value)) for knob, value in zip(family.knobs(head), values, strict=True)
        ),
    )
