"""The charts of the extrapolation window, from numbers to places on their axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.extrapolation import Measured, Scaling
from relpos_viewer.core.numbers import MINUS
from relpos_viewer.views.curve_scale import SymlogScale
from relpos_viewer.views.line_chart import Chart, Line, thinned
from relpos_viewer.views.theme import Theme

AXIS = SymlogScale()
SCALING_COLOURS = {
    "none": "#8a93a3",
    "linear": "#d9822b",
    "ntk": "#2a9d6f",
    "dynamic": "#9b6bdf",
    "yarn": "#d9506a",
    "llama3": "#3f83e8",
}


def curve_chart(curves: CurveSet, n_trained: int, theme: Theme) -> Chart:
    """Return the head's curve over δ = −(n−1) … 0, what lies past the trained length shaded."""
    n = curves.n
    past = np.arange(1 - n, 1)  # [n]
    x = AXIS.forward(past)  # [n]
    places, values = thinned(x, curves.family[curves.head, :n].astype(np.float64))
    band = None
    title = "Curve b(δ)"
    if curves.low is not None and curves.high is not None:
        low, high = (thinned(x, each[:n].astype(np.float64)) for each in (curves.low, curves.high))
        band = (low[0], low[1], high[1])
        title = f"Mean and 10–90 % spread of the term at each offset, from {curves.sampled} queries"
    return Chart(
        title,
        [Line(places, values, theme.accent, width=2.0 if curves.exact else 1.2)],
        _past_range(n),
        _past_ticks(n),
        "← past · offset δ = key − query",
        band=band,
        **_past_training(n, n_trained),
    )


def scaling_chart(rows: Sequence[Scaling], distances: np.ndarray, n: int, n_trained: int) -> Chart:
    """Return every rule's mean rotation over the same axis."""
    x = AXIS.forward(-distances[::-1])  # [distance], ascending
    lines = [Line(x, row.curve[::-1], SCALING_COLOURS[row.rule], width=1.1) for row in rows]
    return Chart(
        "Mean rotation: average over pairs of cos(δθ)",
        lines,
        _past_range(n),
        _past_ticks(n),
        "← past · offset δ",
        **_past_training(n, n_trained),
    )


def growth_charts(
    found: Iterable[Measured], longest: int, n_trained: int, theme: Theme, refused: str
) -> tuple[Chart, Chart]:
    """Return mean distance and entropy against n, up to `longest`; `refused` says where no figures are."""
    rows = sorted(found, key=lambda each: each.n)
    x = np.log2([row.n for row in rows]) if rows else np.zeros(0)  # [row]
    ends = (6.0, max(math.log2(longest), 7.0))
    ticks = [(float(k), f"{2**k:,}") for k in range(6, int(ends[1]) + 1, 1 if ends[1] < 10 else 2)]
    mark = math.log2(n_trained)
    shaded = (max(mark, ends[0] - 0.15), ends[1] + 0.15) if mark < ends[1] else None
    charts = []
    for title, values in (
        ("Mean distance, tokens", [row.mean_distance for row in rows]),
        ("Entropy of a row, bits", [row.entropy_bits for row in rows]),
    ):
        line = Line(x, np.array(values, np.float64), theme.accent, dots=True)
        charts.append(
            Chart(
                title,
                [line] if rows else [],
                (ends[0] - 0.15, ends[1] + 0.15),
                ticks,
                "length n",
                shaded=shaded,
                mark=mark if ends[0] <= mark < ends[1] else None,
                note=refused,
            )
        )
    return charts[0], charts[1]


def _past_range(n: int) -> tuple[float, float]:
    low = float(AXIS.forward(1 - n))
    return low, -0.02 * low


def _past_ticks(n: int) -> list[tuple[float, str]]:
    distances = [10**k for k in range(1, len(str(n - 1)))]
    ticks = [(float(AXIS.forward(-d)), f"{MINUS}{d:,}") for d in reversed(distances)]
    return [*ticks, (0.0, "0")]


def _past_training(n: int, n_trained: int) -> dict[str, object]:
    """Return what is shaded and marked of the axis."""
    if n <= n_trained:
        return {}
    mark = float(AXIS.forward(-(n_trained - 0.5)))
    return {"shaded": (float(AXIS.forward(1 - n)), mark), "mark": mark}
