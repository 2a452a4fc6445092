"""Fitting a family to any curve: least squares over the visible offsets, up to a constant that softmax cannot see.

Searches look at a few hundred offsets, each standing for its neighbours, then at a few thousand; what is linear is
solved for over every offset in the end.

Tall matrices are torch's here, and NumPy and SciPy see small ones only: torch can be told to compute in one thread,
while the threads of NumPy's linear algebra wait for each other through whole time slices on a busy machine (a fit of
2 s took 15 s beside two busy programs, measured).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.crew import CancelLike, Silent, alone
from relpos_viewer.core.encodings import FAMILIES, Encoding, encoding
from relpos_viewer.core.encodings.base import Knob
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.errors import ViewerError

# Random starts of a search over several numbers; the present ones and what the family suggests come before them.
STARTS = 6
SEED = 0
# A single number is tried at so many places before the search begins, and no number is sought farther than this
# factor beyond where it usually lies: past it families have become steps or straight lines.
TRIED, BEYOND = 192, 1e6
# From how many of those places a search goes on.
VALLEYS = 3
# How many offsets a search looks at, first and in the end, and how many of the best go on to the end.
COARSE, FINE, POLISHED = 256, 2048, 2
# Directions of the linear knobs that say less than this share of the strongest are left as they are.
LEAST_SHARE = 1e-5
# What a linear knob adds spans no more than so many times what the target spans: kernels that all but cancel fit where
# one looks, and are huge where nobody does.
MOST_SPANS = 10.0
# What is smaller than this share of the target is what arithmetic leaves of 0.
ROUNDING = 1e-12
# A number so near to an end of where it is sought, as a share of the number or on a logarithmic scale, lies there.
AT_END = 1e-6


@dataclass(frozen=True, eq=False)
class Fit:
    """A family's best approximation of a curve.

    Attributes:
        encoding: the family with the numbers found, for all heads; only those of the fitted head have changed, and
            those that all heads share.
        curve: float64 [2n−1], its curve with `constant` added, as it lies over the target.
        constant: score units; the same for every offset, so softmax does not see it.
        rms: root mean square of the residual over the visible offsets, score units.
        worst: largest magnitude of the residual, score units.
        worst_offset: δ where that is.
        numbers: (name, value) of every knob.
        ends: (name, lowest, highest) of those that lie at an end of where they are sought while something is left:
            a better one may lie beyond.
    """

    encoding: Encoding
    curve: np.ndarray
    constant: float
    rms: float
    worst: float
    worst_offset: int
    numbers: tuple[tuple[str, float], ...]
    ends: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Explanation:
    """How well a family can explain the curves of some heads, or why it cannot.

    Attributes:
        encoding: the family, with the numbers found for all those heads at once.
        fits: by head; empty when it cannot be fitted.
        reason: a sentence for people then.
    """

    encoding: Encoding
    fits: Mapping[int, Fit] = field(default_factory=dict)
    reason: str = ""

    @property
    def rms(self) -> float:
        """Root mean square of the residuals of all heads, score units; infinite without a fit."""
        squares = [each.rms**2 for each in self.fits.values()]
        return math.sqrt(sum(squares) / len(squares)) if squares else math.inf

    @property
    def count(self) -> int:
        """How many numbers the family has for one head."""
        return max((len(each.numbers) for each in self.fits.values()), default=0)

    @property
    def worst_head(self) -> int:
        """The head with the largest residual."""
        return max(self.fits, key=lambda head: self.fits[head].worst)


def fit(
    family: Encoding | str,
    target: np.ndarray,
    visible: np.ndarray | None = None,
    head: int = 0,
    cancel: CancelLike | None = None,
    seed: int = SEED,
) -> Fit:
    """Return the fit of one head of `family` to `target`, up to a constant that softmax cannot see.

    Args:
        family: where the search begins, for as many heads as it should keep; or the name of one.
        target: float [2n−1] over δ = key − query = −(n−1) … n−1, score units.
        visible: bool [2n−1], the offsets that count; those where the target is no finite number do not. All when None.
        head: index.
        cancel: asked between searches.
        seed: of the random starts.

    Raises:
        ViewerError: when the family has no curve to fit, or no offset counts. Whatever `cancel` raises.
    """
    chosen = encoding(family, heads=head + 1) if isinstance(family, str) else family
    return fit_heads(chosen, {head: target}, visible, cancel, seed)[head]


@alone()
def fit_heads(
    family: Encoding,
    targets: Mapping[int, np.ndarray],
    visible: np.ndarray | None = None,
    cancel: CancelLike | None = None,
    seed: int = SEED,
    rounding: float = ROUNDING,
) -> dict[int, Fit]:
    """Return the fits of several heads of one family at once, by head; they all hold the same encoding.

    Numbers that all heads share are chosen for all of `targets` together.

    Args:
        family: as for `fit`.
        targets: a curve [2n−1] for each head.
        visible: as for `fit`.
        cancel: as for `fit`.
        seed: as for `fit`.
        rounding: what is smaller than this share of a target is told as 0, as the target itself is no more exact.

    Raises:
        ViewerError: as `fit` does.
    """
    cancel = cancel or Silent()
    wanted = {head: _counted(target, visible) for head, target in targets.items()}  # [2n−1] each
    shared = any(knob.shared for head in wanted for knob in family.knobs(head))
    groups = [tuple(wanted)] if shared else [(head,) for head in wanted]
    for group in groups:
        cancel.check()
        family = _nearest(family, {head: wanted[head] for head in group}, cancel, seed, rounding)
    return {head: _measured(family, head, target, rounding) for head, target in wanted.items()}


@alone()
def survey(
    heads: int,
    targets: Mapping[int, np.ndarray],
    visible: np.ndarray | None = None,
    cancel: CancelLike | None = None,
    present: Sequence[Encoding] = (),
    rounding: float = ROUNDING,
) -> list[Explanation]:
    """Return what every family makes of some curves: the best first, and in the end those that cannot be fitted.

    The free curve is left out, since it explains everything.

    Args:
        heads: how many the fitted families should have.
        targets: a curve [2n−1] for each head that counts.
        visible: as for `fit`.
        cancel: asked between searches, and told how far they are.
        present: replace families of the registry by ones with other settings, such as the document's own.
        rounding: as for `fit_heads`.

    Raises:
        ViewerError: when no offset counts. Whatever `cancel` raises.
    """
    cancel = cancel or Silent()
    for target in targets.values():
        _counted(target, visible)  # says what is wrong with them, before each family would
    given = {each.name: each for each in present}
    names = [name for name in FAMILIES if name != "curve"]
    explanations = []
    for place, name in enumerate(names):
        cancel.check()
        cancel.progress(place / len(names))
        family = given.get(name) or encoding(name, heads=heads)
        try:
            fits = fit_heads(family, targets, visible, cancel, rounding=rounding)
        except ViewerError as error:
            explanations.append(Explanation(family, reason=str(error)))
        else:
            explanations.append(Explanation(next(iter(fits.values())).encoding, fits))
    # Of families that explain it alike, the one with the fewest numbers says most.
    return sorted(explanations, key=lambda each: (each.rms, each.count))


def explain(
    target: np.ndarray,
    visible: np.ndarray | None = None,
    head: int = 0,
    heads: int | None = None,
    cancel: CancelLike | None = None,
    present: Sequence[Encoding] = (),
) -> list[Fit]:
    """Return the fit of every family that has a curve, the best first: which one explains the target best?

    Arguments as for `fit` and `survey`; without `heads` the families have no more than `head` asks for.

    Raises:
        ViewerError: when no offset counts. Whatever `cancel` raises.
    """
    explanations = survey(heads or head + 1, {head: target}, visible, cancel, present)
    return [each.fits[head] for each in explanations if each.fits]


def _counted(target: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    """Return the target as float64 [2n−1], NaN where it does not count.

    Raises:
        ViewerError: when it is no curve, or none of it counts.
    """
    target = np.asarray(target, np.float64)
    if target.ndim != 1 or len(target) % 2 == 0:
        raise ViewerError(
            f"a curve has the shape [2n − 1] with δ = 0 in the middle, not {list(target.shape)}."
        )
    counted = np.isfinite(target)  # [2n−1]
    if visible is not None:
        shape = np.shape(visible)
        if shape != target.shape:
            raise ViewerError(
                f"visible has the shape {list(shape)}, the curve {list(target.shape)}; they must agree."
            )
        counted = counted & np.asarray(visible, bool)
    if not counted.any():
        raise ViewerError("there is nothing to fit: no visible offset has a value.")
    return np.where(counted, target, np.nan)


def _nearest(
    family: Encoding, wanted: Mapping[int, np.ndarray], cancel: CancelLike, seed: int, rounding: float
) -> Encoding:
    """Return the encoding nearest to `wanted` [2n−1] of some heads that are fitted together.

    Raises:
        ViewerError: when the family has no curve to fit.
    """
    for head, target in wanted.items():
        found = family.fitted(head, target)
        if found is not None:
            family = found
        elif family.fit_at(torch.zeros(1, dtype=torch.int64), head) is None:
            plane = isinstance(family, PlaneEncoding)
            cause = "rows and columns of an image" if plane else "queries and keys"
            raise ViewerError(f"{family.title} depends on {cause}, so no curve of δ alone can be fitted.")
    knobs = family.knobs(next(iter(wanted)))
    if not knobs:
        return family
    values = family.knob_values(next(iter(wanted)))  # [knob]
    free = [place for place, knob in enumerate(knobs) if not knob.linear]
    if free:
        values[free] = _searched(family, wanted, free, cancel, seed)
    for head, target in wanted.items():
        mine = family.knob_values(head)  # [knob]
        mine[free] = values[free]
        family = _Sample.of(head, target, len(target)).settled(family, mine, rounding)
    return family


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some offsets of a target, each standing for its neighbours.

    Attributes:
        head: index.
        delta: δ, int64 [place], ascending.
        wanted: the target there, float64 [place].
        share: square root of how many offsets each stands for, float64 [place].
        span: largest less least value of the whole target.
        size: largest magnitude of the whole target.
    """

    head: int
    delta: Tensor
    wanted: Tensor
    share: Tensor
    span: float
    size: float

    @classmethod
    def of(cls, head: int, target: np.ndarray, most: int) -> _Sample:
        """Return about `most` offsets where `target` [2n−1] is finite: near ones each, far ones by growing groups."""
        delta = np.flatnonzero(np.isfinite(target)) - len(target) // 2  # [offset]
        past, future = delta[delta <= 0][::-1], delta[delta > 0]  # [offset] each, the nearest first
        sides = []
        for side, turned in ((past, True), (future, False)):
            edges = _edges(len(side), max(most * len(side) // len(delta), 2))  # [group + 1]
            middles, counts = side[(edges[:-1] + edges[1:] - 1) // 2], np.diff(edges)  # [group] each
            sides.append((middles[::-1], counts[::-1]) if turned else (middles, counts))
        places, counts = (np.concatenate(each) for each in zip(*sides, strict=True))  # [place] each
        return cls(
            head,
            torch.from_numpy(places.copy()),  # [place]
            torch.from_numpy(target[places + len(target) // 2]),  # [place]
            torch.from_numpy(np.sqrt(counts)),  # [place]
            float(np.nanmax(target) - np.nanmin(target)),
            float(np.nanmax(np.abs(target))),
        )

    def solved(self, family: Encoding, values: np.ndarray) -> _Solution:
        """Return the best linear knobs where the others are as in `values` [knob].

        Of linear knobs that the places say nothing about, or several answers for, the smallest change is taken.
        """
        family = family.with_knobs(self.head, values)
        knobs = family.knobs(self.head)
        linear = np.array([place for place, knob in enumerate(knobs) if knob.linear], int)
        slopes, curve = self._columns(family, values, linear)  # [place, linear], [place]
        low, high = self._ends(family, [knobs[place] for place in linear], slopes)  # [linear] each
        begun = np.clip(values[linear], low, high)  # [linear]
        columns = self.weighted(family, slopes)  # [place, linear]
        rest = self.weighted(family, self.wanted - curve)  # [place]
        rest = rest - columns @ torch.from_numpy(begun - values[linear])  # [place]
        if not (columns.isfinite().all() and rest.isfinite().all()):
            return _Solution(family, torch.full_like(rest, 1e6), columns[:, :0])
        basis, factor = torch.linalg.qr(columns)  # [place, k], [k, linear]
        asked = (basis.T @ rest).numpy()  # [k]
        change, reached = _least(factor.numpy(), asked, low - begun, high - begun)  # [linear], [k, r]
        better = values.copy()  # [knob]
        better[linear] = np.clip(begun + change, low, high)
        rest = rest - columns @ torch.from_numpy(better[linear] - begun)  # [place]
        return _Solution(family.with_knobs(self.head, better), rest, basis @ torch.from_numpy(reached))

    def settled(self, family: Encoding, values: np.ndarray, rounding: float) -> Encoding:
        """Return the family solved for as by `solved`, with 0 for linear knobs that are but rounding."""
        family = self.solved(family, values).family
        found, knobs = family.knob_values(self.head), family.knobs(self.head)  # [knob], [knob]
        linear = np.array([place for place, knob in enumerate(knobs) if knob.linear], int)
        slopes, _ = self._columns(family, found, linear)  # [place, linear]
        sizes = np.abs(found[linear]) * slopes.abs().amax(0).numpy()  # [linear], of what each adds
        zero_is_allowed = np.array([knobs[place].low <= 0 <= knobs[place].high for place in linear], bool)
        found[linear[zero_is_allowed & (sizes > 0) & (sizes <= rounding * self.size)]] = 0.0
        return family.with_knobs(self.head, found)

    def jacobian(self, solution: _Solution, free: Sequence[int]) -> Tensor:
        """Return how the residual changes with the knobs that are searched, [place, free], after Kaufman 1975."""
        slopes = self._slopes_of_free(solution.family, free)  # [place, free]
        slopes = self.weighted(solution.family, slopes)  # [place, free]
        return solution.basis @ (solution.basis.T @ slopes) - slopes

    def weighted(self, family: Encoding, values: Tensor) -> Tensor:
        """Return values [place, …] by how much they count, without what a constant takes up."""
        if not family.own_constant:
            counts = self.share**2  # [place]
            values = values - counts @ values / counts.sum()  # [place, …]
        return (values.T * self.share).T if values.ndim > 1 else values * self.share

    def _ends(self, family: Encoding, knobs: Sequence[Knob], slopes: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Return between what linear knobs may lie, [linear] each: their domain, and MOST_SPANS of the target.

        Args:
            family: whose they are.
            knobs: they.
            slopes: how the curve changes with each, float64 [place, linear].
        """
        if family.own_constant:  # which may be as large as the target's own
            reach, size = slopes.abs().amax(0), self.size  # [linear]
        else:
            reach, size = slopes.amax(0) - slopes.amin(0), self.span  # [linear]
        tallest = np.array([knob.tallest for knob in knobs])  # [linear]
        said = reach.numpy() > 0  # [linear]
        reach = np.maximum(reach.numpy(), tallest)  # [linear]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(said, MOST_SPANS * size / reach, math.inf)  # [linear]
        low, high = (
            np.array([getattr(knob, end) for knob in knobs]) for end in ("low", "high")
        )  # [linear] each
        return np.clip(-most, low, high), np.clip(most, low, high)

    def _columns(self, family: Encoding, values: np.ndarray, linear: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return how the curve changes with each linear knob, [place, linear], and the curve, [place]."""
        known = family.slopes_of_knobs(self.head, self.delta)  # [linear, place]
        if known is not None:
            slopes = torch.from_numpy(known).T  # [place, linear]
            return slopes, slopes @ torch.from_numpy(values[linear])
        base = _values(family, self.delta, self.head)  # [place]
        return self._moved(family, linear, np.ones(len(linear)), base), base

    def _slopes_of_free(self, family: Encoding, free: Sequence[int]) -> Tensor:
        """Return how the curve changes with each knob that is searched, [place, free]."""
        known = family.slopes_of_bent_knobs(self.head, self.delta)  # [free, place]
        if known is not None:
            return torch.from_numpy(known).T
        steps = 1e-7 * np.maximum(np.abs(family.knob_values(self.head)[list(free)]), 1e-5)  # [free]
        base = _values(family, self.delta, self.head)  # [place]
        return self._moved(family, free, steps, base) / torch.from_numpy(steps)

    def _moved(
        self, family: Encoding, places: Sequence[int] | np.ndarray, steps: np.ndarray, base: Tensor
    ) -> Tensor:
        """Return by how much the curve leaves `base` [place] when each of some knobs is moved, [place, knob]."""
        columns = base.new_empty(len(base), len(places))  # [place, knob]
        for column, (place, step) in enumerate(zip(places, steps, strict=True)):
            moved = family.knob_values(self.head)  # [knob]
            moved[place] += step
            columns[:, column] = _values(family.with_knobs(self.head, moved), self.delta, self.head) - base
        return columns


@dataclass(frozen=True, eq=False)
class _Solution:
    """A family with its linear knobs solved for.

    Attributes:
        family: it.
        rest: the weighted residual, float64 [place].
        basis: what the linear knobs reach of it, orthonormal, float64 [place, k].
    """

    family: Encoding
    rest: Tensor
    basis: Tensor


def _least(
    factor: np.ndarray, asked: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of linear knobs nearest to `asked`, [linear], and what they reach then, orthonormal [k, r].

    A knob at an end of its domain reaches nothing: it does not follow the others.

    Args:
        factor: what each knob does, [k, linear].
        asked: what all of them shall do, [k].
        low, high: between what the changes may lie, [linear] each; 0 is between.
    """
    change, reached = _smallest(factor, asked)
    if ((low <= change) & (change <= high)).all():
        return change, reached
    if len(low) == 1:
        return np.clip(change, low, high), reached[:, :0]
    from scipy.optimize import lsq_linear

    movable = low < high  # [linear]
    change = np.zeros(len(low))  # [linear]
    if movable.any():
        found = lsq_linear(factor[:, movable], asked, (low[movable], high[movable]), "bvls", tol=1e-12)
        change[movable] = found.x
        movable[movable] = found.active_mask == 0
    return change, _smallest(factor[:, movable], asked)[1]


def _smallest(factor: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest change, [linear], that does what is `asked` [k] best, and what can be reached, [k, r]."""
    basis, sizes, turn = np.linalg.svd(factor, full_matrices=False)  # [k, r], [r], [r, linear]
    said = sizes > LEAST_SHARE * sizes.max(initial=0.0)  # [r]
    basis, sizes, turn = basis[:, said], sizes[said], turn[said]
    return turn.T @ (basis.T @ asked / sizes), basis


def _edges(count: int, most: int) -> np.ndarray:
    """Return where groups of `count` things begin and end, about `most` of them: half of one thing, then growing."""
    if count <= most:
        return np.arange(count + 1)
    alone = most // 2
    growing = np.geomspace(max(alone, 1), count, most - alone + 1).round().astype(int)
    return np.unique(np.concatenate((np.arange(alone), growing)))


def _searched(
    family: Encoding, wanted: Mapping[int, np.ndarray], free: Sequence[int], cancel: CancelLike, seed: int
) -> np.ndarray:
    """Return the best values of the `free` knobs, [free].

    Knobs that the curve is linear in are solved for at every step (variable projection, Golub & Pereyra 1973), so a
    search is about the others alone.
    """
    from scipy.optimize import least_squares  # a third of a second to import, and only a search needs it

    first = next(iter(wanted))
    knobs = [family.knobs(first)[place] for place in free]
    low, high = _bounds(knobs)
    seen = np.concatenate([np.flatnonzero(np.isfinite(each)) - len(each) // 2 for each in wanted.values()])
    offsets = np.array([knob.is_offset for knob in knobs])
    # A kernel beyond what is seen could be of any height there, and all that shows is its tail.
    low[offsets] = np.maximum(low[offsets], seen.min() - 1e-3)
    high[offsets] = np.minimum(high[offsets], seen.max() + 1e-3)

    def searched(samples: Sequence[_Sample], start: np.ndarray, **limits: float) -> tuple[float, np.ndarray]:
        problem = _Problem(family, samples, knobs, free, cancel)
        margin = 1e-9 * np.maximum(1.0, np.abs(start))  # a search must not begin at an end
        start = np.clip(start, low + margin, high - margin)
        near = least_squares(
            problem.rest, start, problem.jacobian, bounds=(low, high), x_scale="jac", **limits
        )
        return near.cost, near.x

    def valleys(samples: Sequence[_Sample]) -> list[np.ndarray]:
        problem = _Problem(family, samples, knobs, free, cancel)
        tried = _starts(family, knobs, free, samples, seed)
        low = _valleys([(problem.cost(start), start) for start in tried])
        return [searched(samples, start, ftol=1e-9, max_nfev=25)[1] for start in low]

    coarse = [_Sample.of(head, target, COARSE) for head, target in wanted.items()]
    fine = [_Sample.of(head, target, FINE) for head, target in wanted.items()]
    if len(free) == 1:
        # A curve with ripples says roughly what its number is only where few of them are in sight.
        close = [_Sample.of(head, _close(target), COARSE) for head, target in wanted.items()]
        starts = valleys(coarse)
        if any(len(near.wanted) < len(far.wanted) for near, far in zip(close, coarse, strict=True)):
            starts += valleys(close)
    else:
        starts = _starts(family, knobs, free, coarse, seed)
    near = sorted(
        (searched(coarse, start, ftol=1e-6, max_nfev=25) for start in starts), key=lambda each: each[0]
    )
    exact = 1e-20 * (1.0 + sum(float(sample.wanted.square().sum()) for sample in fine))
    best, least = near[0][1], math.inf
    for _, start in near[:POLISHED]:
        cost, place = searched(fine, start, xtol=1e-12, ftol=1e-9, gtol=1e-13, max_nfev=30)
        if cost < least:
            best, least = place, cost
        if least < exact:
            break  # no other start can be better
    return _off_scale(knobs, best)


@dataclass(eq=False)
class _Problem:
    """What a search asks: residual and Jacobian at a point [free] on the scale that it steps along."""

    family: Encoding
    samples: Sequence[_Sample]
    knobs: Sequence[Knob]
    free: Sequence[int]
    cancel: CancelLike
    _point: np.ndarray | None = None
    _solutions: Sequence[_Solution] = ()
    _factor: np.ndarray | None = None

    def cost(self, point: np.ndarray) -> float:
        """Return the sum of the squares of the weighted residuals."""
        return sum(float(solution.rest.square().sum()) for solution in self._solved(point))

    def rest(self, point: np.ndarray) -> np.ndarray:
        """Return the weighted residuals of all samples, turned to where the knobs and they lie: [free + 1]."""
        return self._turned(point)[:, -1]

    def jacobian(self, point: np.ndarray) -> np.ndarray:
        """Return how they change, turned likewise: [free + 1, free].

        A search asks only for lengths and angles of these, never for single places.
        """
        return self._turned(point)[:, :-1]

    def _turned(self, point: np.ndarray) -> np.ndarray:
        """Return Jacobian and residual side by side, [free + 1, free + 1], turned so that the rest is zeros."""
        solved = self._solved(point)
        if self._factor is None:
            pairs = list(zip(self.samples, solved, strict=True))
            slopes = torch.cat([sample.jacobian(each, self.free) for sample, each in pairs])  # [place, free]
            on_scale = [math.exp(x) if knob.log else 1.0 for knob, x in zip(self.knobs, point, strict=True)]
            slopes = slopes * torch.tensor(on_scale, dtype=torch.float64)  # [place, free]
            rest = torch.cat([each.rest for each in solved])[:, None]  # [place, 1]
            self._factor = torch.linalg.qr(torch.cat((slopes, rest), 1), mode="r").R.numpy()
        return self._factor

    def _solved(self, point: np.ndarray) -> Sequence[_Solution]:
        if self._point is None or not np.array_equal(point, self._point):
            self.cancel.check()
            self._point, self._factor = point.copy(), None
            self._solutions = [self._solution(each, point) for each in self.samples]
        return self._solutions

    def _solution(self, sample: _Sample, point: np.ndarray) -> _Solution:
        values = self.family.knob_values(sample.head)  # [knob]
        values[list(self.free)] = _off_scale(self.knobs, point)
        return sample.solved(self.family, values)


def _close(target: np.ndarray) -> np.ndarray:
    """Return `target` [2n−1] without what lies beyond the nearest offsets, unless nothing would be left."""
    delta = np.arange(len(target)) - len(target) // 2  # [2n−1]
    near = np.where(np.abs(delta) < COARSE // 2, target, np.nan)  # [2n−1]
    return near if np.isfinite(near).any() else target


def _bounds(knobs: Sequence[Knob]) -> tuple[np.ndarray, np.ndarray]:
    """Return between what the knobs are sought, on the scale of the search, [free] each."""
    low = [max(knob.low, knob.starts[0] / BEYOND) if knob.log else knob.low for knob in knobs]
    high = [min(knob.high, knob.starts[1] * BEYOND) if knob.log else knob.high for knob in knobs]
    return _on_scale(knobs, low), _on_scale(knobs, high)


def _starts(
    family: Encoding, knobs: Sequence[Knob], free: Sequence[int], samples: Sequence[_Sample], seed: int
) -> list[np.ndarray]:
    """Return where to begin, on the scale of the search, [free] each; for a single number, where to try it."""
    present = _on_scale(knobs, family.knob_values(samples[0].head)[list(free)])  # [free]
    if len(free) == 1:
        low, high = _bounds(knobs)  # [1] each
        line = np.linspace(low, high, TRIED)  # [try, 1]
        return list(np.sort(np.concatenate((line, np.clip(present, low, high)[None])), 0))
    suggested = [
        _on_scale(knobs, values[list(free)])
        for sample in samples
        for values in family.suggestions(sample.head, sample.delta.numpy(), sample.wanted.numpy())
    ]
    ends = [_on_scale(knobs, [knob.starts[end] for knob in knobs]) for end in (0, 1)]  # [free] each
    drawn = np.random.default_rng(seed).uniform(*ends, size=(STARTS, len(free)))
    return [present, *suggested, *drawn]


def _valleys(tried: Sequence[tuple[float, np.ndarray]]) -> list[np.ndarray]:
    """Return the best few places of a row of (cost, place) that cost no more than their neighbours."""
    costs = [math.inf, *(cost for cost, _ in tried), math.inf]
    low = [each for at, each in enumerate(tried) if costs[at] >= costs[at + 1] <= costs[at + 2]]
    return [place for _, place in sorted(low, key=lambda each: each[0])[:VALLEYS]]


def _on_scale(knobs: Sequence[Knob], values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return numbers of knobs on the scale that a search steps along."""
    with np.errstate(divide="ignore"):
        return np.array(
            [np.log(value) if knob.log else value for knob, value in zip(knobs, values, strict=True)]
        )


def _off_scale(knobs: Sequence[Knob], point: np.ndarray) -> np.ndarray:
    """Return what `_on_scale` was given."""
    return np.array([np.exp(each) if knob.log else each for knob, each in zip(knobs, point, strict=True)])


def _values(family: Encoding, delta: Tensor, head: int) -> Tensor:
    """Return a head's curve at δ int64 [place], float64 [place]."""
    values = family.fit_at(delta, head)  # [place]
    assert values is not None
    return values.double().cpu()


def _measured(family: Encoding, head: int, wanted: np.ndarray, rounding: float) -> Fit:
    """Return a fit with its residual over the finite places of `wanted` [2n−1]."""
    n = (len(wanted) + 1) // 2
    curve = _values(family, torch.arange(1 - n, n), head).numpy()  # [2n−1]
    rest = wanted - curve  # [2n−1]
    least = rounding * float(np.nanmax(np.abs(wanted)))
    constant = 0.0 if family.own_constant else float(np.nanmean(rest))
    constant = constant if abs(constant) > least else 0.0
    rest = rest - constant  # [2n−1]
    rest[np.abs(rest) <= least] = 0.0
    worst = int(np.nanargmax(np.abs(rest)))
    values, knobs = family.knob_values(head), family.knobs(head)
    return Fit(
        encoding=family,
        curve=curve + constant,
        constant=constant,
        rms=float(np.sqrt(np.nanmean(rest**2))),
        worst=float(abs(rest[worst])),
        worst_offset=worst - (n - 1),
        numbers=tuple((knob.name, float(value)) for knob, value in zip(knobs, values, strict=True)),
        ends=_at_ends(knobs, values) if rest[worst] else (),
    )


def _at_ends(knobs: Sequence[Knob], values: np.ndarray) -> tuple[tuple[str, float, float], ...]:
    """Return (name, lowest, highest) of those of the knobs, with their `values` [knob], that lie at an end."""
    scaled = _on_scale(knobs, values)  # [knob]
    bounds = _bounds(knobs)  # [knob] each
    nearest = np.minimum(*(np.abs(scaled - end) for end in bounds))  # [knob], infinite where there is no end
    near = nearest <= AT_END * np.maximum(1.0, np.abs(scaled))  # [knob]
    ends = (_off_scale(knobs, end) for end in bounds)
    found = zip(knobs, near, *ends, strict=True)
    return tuple((knob.name, float(low), float(high)) for knob, at_end, low, high in found if at_end)
