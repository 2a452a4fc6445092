"""Which limits each stage's colours get, by the choices of a view: the one rule of window and figures."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Return the colour limits of `stages`, by the rules of `document.View`. Any thread."""
    mode: Literal["full", "percentile"] = "percentile" if view.levels == "percentile" else "full"
    terms = [stage for stage in TERMS if stage in stages]
    shared = view.levels == "shared" and bool(terms)
    levels = {
        stage: choose_levels(field.stage(stage), field.visible, mode=mode, symmetric=True)
        for stage in (TERMS if shared else terms)
    }
    if shared:
        levels = dict.fromkeys(terms, shared_levels(list(levels.values())))
    if "weights" in stages:
        weights, visible = field.weights, field.visible
        if view.hide_first_key and field.n_key > 1:
            weights, visible = weights[:, 1:], visible[:, 1:]
        levels["weights"] = choose_levels(weights, visible, mode=mode, scale=view.weights_scale)
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
