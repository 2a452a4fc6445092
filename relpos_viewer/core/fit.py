"""Fitting a family to any curve: least squares over the visible offsets, up to a constant that softmax cannot see."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    return _measured(_searched(family, head, n, wanted, knobs, cancel, seed), head, n, wanted)


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


def _searched(
    family: Encoding,
    head: int,
    n: int,
    wanted: np.ndarray,
    knobs: tuple[Knob, ...],
    cancel: CancelLike,
    seed: int,
) -> Encoding:
    """Return the best of several searches, from the present numbers and from random ones.

    Knobs that the curve is linear in are solved for at every step (variable projection, Golub & Pereyra 1973), so a
    search is about the others alone; without others there is nothing to search.
    """
    places = np.flatnonzero(np.isfinite(wanted))
    places = places[np.linspace(0, len(places) - 1, min(len(places), SAMPLED)).round().astype(int)]
    present = family.knob_values(head)  # [knob]
    free = [place for place, knob in enumerate(knobs) if not knob.linear]
    if not free:
        return _solved(family, head, n, wanted, places, knobs, present)[0]
    from scipy.optimize import least_squares  # a third of a second to import, and only a search needs it

    searched = [knobs[place] for place in free]
    low, high = (_on_scale(searched, [getattr(knob, end) for knob in searched]) for end in ("low", "high"))

    def at(point: np.ndarray) -> tuple[Encoding, np.ndarray]:
        cancel.check()
        values = present.copy()
        values[free] = _off_scale(searched, point)
        return _solved(family, head, n, wanted, places, knobs, values)

    rng = np.random.default_rng(seed)
    ends = [_on_scale(searched, [knob.starts[end] for knob in searched]) for end in (0, 1)]  # [free] each
    suggested = [_on_scale(searched, values[free]) for values in family.suggestions(head, wanted)]
    drawn = rng.uniform(*ends, size=(0 if suggested else STARTS, len(free)))
    starts = [_on_scale(searched, present[free]), *suggested, *drawn]
    best, least = starts[0], math.inf
    exact = 1e-20 * (1.0 + float(np.square(wanted[places]).sum()))
    for start in starts:
        margin = 1e-9 * np.maximum(1.0, np.abs(start))
        found = least_squares(
            lambda point: at(point)[1],
            np.clip(start, low + margin, high - margin),
            bounds=(low, high),
            x_scale="jac",
            xtol=1e-13,
            ftol=1e-13,
            gtol=1e-13,
            max_nfev=200,
        )
        if found.cost < least:
            best, least = found.x, found.cost
        if least < exact:
            break  # no other start can be better
    return at(best)[0]


def _solved(
    family: Encoding,
    head: int,
    n: int,
    wanted: np.ndarray,
    places: np.ndarray,
    knobs: tuple[Knob, ...],
    values: np.ndarray,
) -> tuple[Encoding, np.ndarray]:
    """Return the encoding with `values` [knob], its linear ones replaced by the best ones, and the residual [place].

    Of linear knobs that the places say nothing about, or several answers for, the smallest change is taken.
    """
    start = family.with_knobs(head, values)
    base = _curve(start, head, n)[places]  # [place]
    rest = wanted[places] - base  # [place]
    linear = [place for place, knob in enumerate(knobs) if knob.linear]
    columns = _columns(start, head, n, places, linear, values, base)  # [place, linear]
    if not family.own_constant:
        columns, rest = columns - columns.mean(0), rest - rest.mean()
    if linear:
        change = np.linalg.lstsq(columns, rest, rcond=1e-12)[0]  # [linear]
        better = values.copy()
        ends = [np.array([getattr(knobs[place], end) for place in linear]) for end in ("low", "high")]
        better[linear] = np.clip(values[linear] + change, *ends)
        rest = rest - columns @ (better[linear] - values[linear])
        start = family.with_knobs(head, better)
    return start, np.nan_to_num(rest, nan=1e6, posinf=1e6, neginf=-1e6)


def _columns(
    family: Encoding,
    head: int,
    n: int,
    places: np.ndarray,
    linear: Sequence[int],
    values: np.ndarray,
    base: np.ndarray,
) -> np.ndarray:
    """Return how the curve changes at some places with each linear knob, [place, linear]."""
    known = family.slopes_of_knobs(head, n)  # [linear, 2n−1]
    if known is not None:
        return known.T[places]
    columns = np.empty((len(places), len(linear)))  # [place, linear]
    for column, place in enumerate(linear):
        moved = values.copy()
        moved[place] += 1.0
        columns[:, column] = _curve(family.with_knobs(head, moved), head, n)[places] - base
    return columns


def _on_scale(knobs: Sequence[Knob], values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return numbers of knobs on the scale that a search steps along."""
    with np.errstate(divide="ignore"):
        return np.array(
            [np.log(value) if knob.log else value for knob, value in zip(knobs, values, strict=True)]
        )


def _off_scale(knobs: Sequence[Knob], point: np.ndarray) -> np.ndarray:
    """Return what `_on_scale` was given."""
    return np.array([np.exp(each) if knob.log else each for knob, each in zip(knobs, point, strict=True)])


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
