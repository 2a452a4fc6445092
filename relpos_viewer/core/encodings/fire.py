"""FIRE, functional interpolation for relative positions. Li et al. 2023, arXiv 2310.04418."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_PLACES,
    Convention,
    Encoding,
    Handle,
    Knob,
    Parameter,
    Span,
    check_table,
    constant,
)
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import short
from relpos_viewer.core.offsets import toeplitz_block

HIDDEN, TINY = 32, 1e-6  # the reference's width, and what it adds to the denominator
POINTS = 5  # control points of the editor


@dataclass(frozen=True, eq=False, kw_only=True)
class Fire(Encoding):
    """b_h(i, j) = f_h(ψ(|δ|) / ψ(max(i, L))), ψ(x) = ln(1 + |c·x|), f an MLP 1 → 32 → heads with ReLU.

    A function of the offset alone for queries up to the threshold L; later ones see the curve stretched.
    """

    name = "fire"
    title = "FIRE interpolation"
    paper = "Li et al. 2023, arXiv 2310.04418"
    summary = "A small network of log-distance, normalised by the query's own position once that passes a threshold."
    toeplitz = False
    of_places = True
    sign = "A function of query − key ≥ 0; here of |δ|, so the future mirrors the past."
    scaling = "Content is scaled, the bias is not."
    parameters = (
        Parameter("c", "float", 0.1, "How soon the logarithm bends.", 1e-6, 1e6),
        Parameter("threshold", "float", 512.0, "Position L up to which nothing is stretched.", 1.0, 1e9),
        Parameter("w1", "table", None, "First layer's weights [hidden]; evenly spaced bends when empty."),
        Parameter("b1", "table", None, "First layer's biases [hidden]."),
        Parameter("w2", "table", None, "Second layer's weights [head, hidden]; an illustration when empty."),
        Parameter("b2", "table", None, "Second layer's biases [head]."),
    )
    own_constant = True
    head_axes: ClassVar = {"w2": 0, "b2": 0}

    c: float = 0.1
    threshold: float = 512.0
    w1: Tensor | None = None
    b1: Tensor | None = None
    w2: Tensor | None = None
    b2: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the layers fit each other."""
        for name, axes, ndim in (
            ("w1", "[hidden]", 1),
            ("b1", "[hidden]", 1),
            ("w2", "[head, hidden]", 2),
            ("b2", "[head]", 1),
        ):
            table = getattr(self, name)
            if table is not None:
                check_table(table, f"fire {name}", axes, ndim)
        hidden = {
            name: table.shape[-1] for name in ("w1", "b1", "w2") if (table := getattr(self, name)) is not None
        }
        if len(set(hidden.values())) > 1:
            sizes = ", ".join(f"{name} {size}" for name, size in hidden.items())
            raise ViewerError(f"the fire layers do not fit each other: {sizes}.")

    def layers(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return w1 [hidden], b1 [hidden], w2 [head, hidden], b2 [head], float64."""
        given = (self.w1, self.b1, self.w2)
        hidden = next((table.shape[-1] for table in given if table is not None), HIDDEN)
        heads = self.heads or next((len(table) for table in (self.w2, self.b2) if table is not None), 1)
        w1 = torch.ones(hidden, dtype=torch.float64) if self.w1 is None else self.w1.double()
        # Bends at 0, 1/hidden, …: together they make any curve that is straight between them.
        bends = -torch.arange(hidden, dtype=torch.float64) / hidden
        b1 = bends if self.b1 is None else self.b1.double()
        if self.w2 is None:
            # By the head's own index, so that a head taken alone is the same; 0.618 spreads any number of them.
            index = torch.arange(self.first_head, self.first_head + heads, dtype=torch.float64)  # [head]
            spread = (0.3 + 0.618 * index)[:, None] % 1  # [head, 1]
            place = torch.arange(hidden, dtype=torch.float64) / hidden  # [hidden]
            w2 = 1.5 * torch.cos(9 * place + 5 * spread + 1.2) - 0.5  # [head, hidden], changes of slope
        else:
            w2 = self.w2.double().expand(heads, -1)
        b2 = torch.zeros(heads, dtype=torch.float64) if self.b2 is None else self.b2.double().expand(heads)
        return w1, b1, w2, b2

    def psi(self, x: Tensor) -> Tensor:
        """Return ln(1 + |c·x|)."""
        return (self.c * x).abs().log1p()

    def curve_at(self, share: Tensor) -> Tensor:
        """Return f at shares ψ(|δ|) / ψ(…) [*], float64 [head, *]."""
        bends, slopes, levels = self._pieces()
        piece = torch.bucketize(share, bends)  # [*]
        return slopes[:, piece] * share + levels[:, piece]

    def _pieces(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the network as straight pieces: bends [unit], and slope and level of each piece [head, unit + 1].

        One look-up and one line a number, where the units themselves would be `HIDDEN` of each.
        """
        w1, b1, w2, b2 = self.layers()
        flat = w1 == 0
        bend, order = torch.where(flat, math.inf, -b1 / torch.where(flat, 1.0, w1)).sort()  # [unit]
        w1, b1, w2 = w1[order], b1[order], w2[:, order]
        pieces = torch.arange(len(bend) + 1)[:, None]  # [piece, 1]
        after = pieces > torch.arange(len(bend))  # [piece, unit], whether the piece lies past the unit's bend
        on = torch.where(w1 > 0, after, ~after)  # [piece, unit]
        on = torch.where(w1 == 0, b1 > 0, on).double()  # a unit without slope is on or off everywhere
        slopes = w2 @ (on * w1).T  # [head, piece]
        return bend, slopes, w2 @ (on * b1).T + b2[:, None]

    def fit_at(self, delta: Tensor, head: int) -> Tensor:
        """Return the head's curve for queries up to the threshold, float64 [place]."""
        return self.curve_at(self._shares(delta.double()))[head]  # [place]

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor | None:
        """Return the curves [head, 2n−1] where no query stands past the threshold; None where one is stretched."""
        return self._curves(n).to(dtype) if n - 1 <= self.threshold else None

    def _curves(self, n: int) -> Tensor:
        """Return the curves below the threshold, float64 [head, 2n−1]."""
        share = self._shares(torch.arange(n, dtype=torch.float64))  # [n]
        past = self.curve_at(share)  # [head, n], by distance
        return torch.cat((past.flip(1), past[:, 1:]), 1)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the term of a block, [head, rows, cols]."""
        family = self.with_heads(inputs.heads)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        start = inputs.query_start
        if rows[1] - 1 + start <= self.threshold:
            curves = family._curves(inputs.n_key).to(inputs.content_dtype)  # [head, 2·key−1]
            return toeplitz_block(curves, start, rows, cols).to(inputs.device)
        query = torch.arange(*rows, dtype=torch.float64)[:, None] + start  # [rows, 1]
        distance = query - torch.arange(*cols, dtype=torch.float64)  # [rows, cols]
        share = self.psi(distance) / (self.psi(query.clamp_min(self.threshold)) + TINY)  # [rows, cols]
        return family.curve_at(share).to(inputs.content_dtype).to(inputs.device)

    def _shares(self, delta: Tensor) -> Tensor:
        """Return ψ(|δ|) / ψ(L), the network's argument below the threshold."""
        return self.psi(delta) / (self.psi(torch.tensor(self.threshold, dtype=torch.float64)) + TINY)

    def _control_offsets(self, n: int) -> list[int]:
        """Return distances that lie evenly on the bent axis, ascending."""
        top = float(self.psi(torch.tensor(n - 1, dtype=torch.float64)))
        shares = np.linspace(0, top, POINTS)
        return sorted({round(math.expm1(share) / self.c) for share in shares})

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return control points: each moves the second layer so that the others stay."""
        distances = self._control_offsets(n)[::-1]
        values = self.fit_at(-torch.tensor(distances), head).tolist()  # [point]
        return tuple(
            Handle(
                f"point {distance}",
                -distance,
                value,
                None,
                "value",
                f"Control point at δ = {short(-distance)}; moves the second layer",
            )
            for distance, value in zip(distances, values, strict=True)
        )

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding whose curve passes through the pointer and the other control points.

        Of all second layers that do, the one that differs least.
        """
        w1, b1, w2, b2 = self.layers()
        distances = self._control_offsets(n)
        share = self._shares(torch.tensor(distances, dtype=torch.float64))  # [point]
        units = (share[:, None] * w1 + b1).relu()  # [point, hidden]
        units = torch.cat(
            (units, torch.ones(len(distances), 1, dtype=torch.float64)), 1
        )  # [point, hidden + 1]
        wanted = torch.zeros(len(distances), dtype=torch.float64)  # [point]
        wanted[distances.index(round(-handle.offset))] = value - handle.value
        change = torch.linalg.lstsq(units, wanted, driver="gelsd").solution  # [hidden + 1]
        w2, b2 = w2.clone(), b2.clone()
        w2[head] += change[:-1]
        b2[head] += change[-1]
        return replace(self, w2=w2, b2=b2)

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return c, which all heads share, and the head's second layer."""
        hidden = len(self.layers()[0])
        return (
            Knob("c", 1e-6, 1e6, (1e-3, 10.0), log=True, shared=True),
            *(Knob(f"w2 {unit}", -np.inf, np.inf, (-1.0, 1.0), linear=True) for unit in range(hidden)),
            Knob("b2", -np.inf, np.inf, (-1.0, 1.0), linear=True),
        )

    def knob_values(self, head: int) -> np.ndarray:
        """Return c and the head's second layer, float64 [hidden + 2]."""
        _, _, w2, b2 = self.layers()
        return np.concatenate(([self.c], w2[head].numpy(), [float(b2[head])]))

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with c and the head's second layer replaced."""
        _, _, w2, b2 = (table.clone() for table in self.layers())
        w2[head] = torch.from_numpy(np.array(values[1:-1], np.float64))
        b2[head] = float(values[-1])
        return replace(self, c=min(max(float(values[0]), 1e-6), 1e6), w2=w2, b2=b2)

    def slopes_of_knobs(self, head: int, delta: Tensor) -> np.ndarray:
        """Return the first layer's units along the curve, and the constant, float64 [hidden + 1, place]."""
        w1, b1, _, _ = self.layers()
        share = self._shares(delta.double())  # [place]
        units = (w1[:, None] * share + b1[:, None]).relu()  # [hidden, place]
        return torch.cat((units, torch.ones(1, len(delta), dtype=torch.float64))).numpy()

    def trained_length(self) -> int | None:
        """Return the position after which the curve is stretched."""
        return int(self.threshold)

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the curve's argument at control points."""
        whole = float(self.psi(torch.tensor(self.threshold, dtype=torch.float64)))
        rows = tuple(
            (str(-distance), f"{math.log1p(self.c * distance) / whole:.6g}")
            for distance in self._control_offsets(n)
        )
        return (
            Convention("Argument of the network", f"L = {self.threshold:g}", ("δ", "ψ(|δ|) / ψ(L)"), rows),
        )

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return how the curve is stretched."""
        threshold = int(self.threshold)
        if n - 1 <= threshold:
            return f"No query stands past the threshold {threshold:,}: the curve is read farther, not yet stretched."
        return (
            f"Queries past position {threshold:,} see the curve stretched over all their keys: the network is never "
            "asked for more than the value 1, whatever the length."
        )

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the network."""
        names, shapes = ("W1", "B1", "W2", "B2"), ("[hidden]", "[hidden]", "[head, hidden]", "[head]")
        layers = "\n".join(map(constant, names, self.layers(), shapes))
        return f"""{layers}


def psi(x):
    return torch.log1p(({self.c!r} * x).abs())


{BIAS_OF_PLACES}
    query = torch.arange(n_key - n_query, n_key, dtype=torch.float64)[:, None]  # [query, 1]
    distance = -offsets(n_query, n_key).double()  # [query, key]
    share = psi(distance) / (psi(query.clamp_min({self.threshold!r})) + {TINY!r})  # [query, key]
    hidden = torch.relu(share[..., None] * W1 + B1)  # [query, key, hidden]
    return (hidden @ W2.T + B2).permute(2, 0, 1).to(device, torch.float32)  # [head, query, key]
"""
