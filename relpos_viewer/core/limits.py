"""Which limits each stage's colours get, by the choices of a view: the one rule of window and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from relpos_viewer.core.field import STAGES, TERMS, PlainField, Stage
from relpos_viewer.core.levels import Levels, choose_levels, shared_levels


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


def stage_levels(field: PlainField, view: ViewLike, stages: Sequence[Stage] = STAGES) -> dict[Stage, Levels]:
    """Return the colour limits of `stages` of a field, by the rules of `document.View`. Any thread."""
    return view_levels(plain_limits(field, view), view, stages)


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
