"""Which limits each stage's colours get, by the choices of a view: the one rule of window and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np

from relpos_viewer.core.crew import CancelLike
from relpos_viewer.core.field import TERMS, PlainField, Stage
from relpos_viewer.core.levels import Levels, choose_levels, shared_levels
from relpos_viewer.core.score_field import ScoreField

# A weight of 1 comes out of float32 sums that close.
ROUNDING = 1e-6


class ViewLike(Protocol):
    """What is asked of a `document.View`."""

    @property
    def levels(self) -> str: ...
    @property
    def weights_scale(self) -> Literal["linear", "log"]: ...
    @property
    def hide_first_key(self) -> bool: ...

    def locked_limits(self, stage: str) -> tuple[float, float] | None: ...
    def typed_limits(self, stage: str) -> tuple[float, float]: ...


def plain_limits(field: PlainField, view: ViewLike) -> Callable[[Stage], Levels]:
    """Return what gives the automatic limits of a stage from all its visible cells."""
    mode: Literal["full", "percentile"] = "percentile" if view.levels == "percentile" else "full"

    def of(stage: Stage) -> Levels:
        values, visible = field.stage(stage), field.visible
        if stage != "weights":
            return choose_levels(values, visible, mode=mode, symmetric=True)
        if view.hide_first_key and field.n_key > 1:
            values, visible = values[:, 1:], visible[:, 1:]
        return choose_levels(values, visible, mode=mode, scale=view.weights_scale)

    return of


def score_limits(
    field: ScoreField, view: ViewLike, sampled: tuple[int, int], cancel: CancelLike | None = None
) -> Callable[[Stage], Levels]:
    """Return what gives the automatic limits of a stage of a long sequence.

    They are exact where row sums are known; before that, and for percentiles, they are those of `sampled` [h, w] cells.
    """
    mode: Literal["full", "percentile"] = "percentile" if view.levels == "percentile" else "full"

    def of(stage: Stage) -> Levels:
        weights = stage == "weights"
        hide = weights and view.hide_first_key
        if mode == "full" and field.ready:
            cells, shown = np.array(field.extent(stage, without_first_key=hide, cancel=cancel)), None
            if weights and 0 < 1 - cells[1] < ROUNDING:
                cells[1] = 1.0  # the weight of a query that sees one key, whose colour bar is to end in 1
        else:
            cells, shown = field.preview(stage, (0, field.n_query), (0, field.n_key), sampled)
            if hide:
                cells, shown = cells[:, 1:], shown[:, 1:]
        scale = view.weights_scale if weights else "linear"
        return choose_levels(cells, shown, mode=mode, symmetric=not weights, scale=scale)

    return of


def view_levels(
    automatic: Callable[[Stage], Levels], view: ViewLike, stages: Sequence[Stage]
) -> dict[Stage, Levels]:
    """Return the limits of `stages`: automatic ones, shared among the terms, typed or locked as `view` says."""
    terms = [stage for stage in TERMS if stage in stages]
    if view.levels == "shared" and terms:
        levels = dict.fromkeys(terms, shared_levels([automatic(stage) for stage in TERMS]))
    else:
        levels = {stage: automatic(stage) for stage in terms}
    if "weights" in stages:
        levels["weights"] = automatic("weights")
    for stage in stages:
        limits = view.locked_limits(stage)
        if limits is None and view.levels == "typed":
            limits = view.typed_limits(stage)
        if limits is not None:
            scale = view.weights_scale if stage == "weights" else "linear"
            # A logarithm has no colour for 0: the floor of the automatic limits takes its place.
            low = levels[stage].low if scale == "log" and limits[0] <= 0 else limits[0]
            levels[stage] = Levels(low, limits[1], scale)
    return levels
