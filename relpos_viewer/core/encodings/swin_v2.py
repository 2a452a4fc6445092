"""Swin v2's continuous bias and cosine attention. Liu et al. 2021, arXiv 2111.09883."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import normalize

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Parameter,
    Span,
    Variant,
    check_table,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.encodings.relative import drawn
from relpos_viewer.core.encodings.swin import Swin
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs

SEED, HIDDEN = 31, 512
LARGEST_SCALE = 100.0  # the reference clamps e^logit_scale there


@dataclass(frozen=True, eq=False, kw_only=True)
class SwinV2(PlaneEncoding):
    """score = min(e^logit_scale, 100)·cos(q_i, k_j) + 16·σ(MLP(g(dy), g(dx))), g(x) = sign(x)·log2(1 + |x|)/3.

    x is 8 · (query − key) / (window − 1). What cosine attention differs from scale · q·k by counts as positional, so
    that content and position still add up to the score.
    """

    name = "swin-v2"
    title = "Swin v2 continuous bias"
    paper = "Liu et al. 2021, arXiv 2111.09883"
    summary = "A small network of the log-offset in the plane gives the bias, so windows may grow; scores are cosines."
    toeplitz = False
    sign = "The network sees query − key, row offset first; the plane shows it by key − query."
    scaling = "No 1/√d: cosines times min(e^logit_scale, 100); the bias lies in 0 … 16."
    parameters = (
        Parameter("width", "int", 8, "Tokens in a row of the window; rows are as many as it takes.", 2, 4096),
        Parameter("trained", "int", 0, "Width of the window in training; 0 for the same.", 0, 4096),
        Parameter("cosine", "bool", True, "Whether scores are scaled cosines; otherwise scale · q·k stays."),
        Parameter(
            "logit_scale",
            "table",
            None,
            "Logarithm of the factor on cosines [head]; ln 10 when empty.",
            when=("cosine", (True,)),
        ),
        Parameter("w1", "table", None, "First layer's weights [hidden, 2]; seeded when empty."),
        Parameter("b1", "table", None, "First layer's biases [hidden]."),
        Parameter("w2", "table", None, "Second layer's weights [head, hidden]."),
        Parameter(
            "table",
            "table",
            None,
            "The bias itself [(2h − 1)·(2w − 1), head], within 0 … 16, over the network.",
        ),
    )
    head_axes: ClassVar = {"logit_scale": 0, "w2": 0, "table": 1}
    plane_range: ClassVar[tuple[float, float]] = (1e-3, 16 - 1e-3)  # 16·σ never gets to its ends

    width: int = 8
    trained: int = 0
    cosine: bool = True
    logit_scale: Tensor | None = None
    w1: Tensor | None = None
    b1: Tensor | None = None
    w2: Tensor | None = None
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the tables' axes and the domain of the bias."""
        axes = {"logit_scale": "[head]", "w1": "[hidden, 2]", "b1": "[hidden]", "w2": "[head, hidden]"}
        for name, text in axes.items():
            table = getattr(self, name)
            if table is not None:
                check_table(table, f"swin-v2 {name}", text, text.count(",") + 1)
        if self.table is not None:
            Swin(width=self.width, table=self.table)  # the same axes
            if not bool(((self.table > 0) & (self.table < 16)).all()):
                raise ViewerError("the swin-v2 bias must lie between 0 and 16, both excluded.")

    def layers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return w1 [hidden, 2], b1 [hidden], w2 [head, hidden], float64.

        Raises:
            ViewerError: when they do not fit each other.
        """
        given = {"w1": 0, "b1": 0, "w2": 1}
        sizes = {
            name: table.shape[axis]
            for name, axis in given.items()
            if (table := getattr(self, name)) is not None
        }
        if len(set(sizes.values())) > 1:
            raise ViewerError(f"the swin-v2 layers do not fit each other: {sizes}.")
        hidden = next(iter(sizes.values()), HIDDEN)
        heads = self.heads or 1
        w1 = drawn(SEED, 1, 0, hidden, 2)[0] if self.w1 is None else self.w1.double()
        b1 = drawn(SEED + 1, 1, 0, hidden)[0] / 2 if self.b1 is None else self.b1.double()
        w2 = (
            drawn(SEED + 2, heads, self.first_head, hidden) * (1.5 / hidden**0.5)
            if self.w2 is None
            else self.w2.double()
        )
        return w1, b1, w2.expand(heads, -1)

    def for_blocks(self, inputs: AttentionInputs) -> Self:
        """Return the encoding with the network's answers made."""
        return replace(self, table=self.with_heads(inputs.heads)._swin(inputs.n_key).table)

    def height(self, n: int) -> int:
        """Return the rows of the window for n tokens."""
        return self._swin(n).height(n)

    def _swin(self, n: int) -> Swin:
        """Return the table of biases as Swin reads it."""
        if self.table is not None:
            return Swin(width=self.width, table=self.table, heads=self.heads)
        height = max(math.ceil(n / self.width), 1)
        window = (self.trained or height, self.trained or self.width)
        steps = [
            8.0 * torch.arange(1 - side, side, dtype=torch.float64) / max(whole - 1, 1)
            for side, whole in zip((height, self.width), window, strict=True)
        ]
        bent = [
            step.sign() * (1 + step.abs()).log2() / 3 for step in steps
        ]  # [2h − 1], [2w − 1], query − key
        pairs = torch.cartesian_prod(*bent).view(-1, 2)  # [(2h − 1)(2w − 1), 2]
        w1, b1, w2 = self.layers()
        bias = 16 * ((pairs @ w1.T + b1).relu() @ w2.T).sigmoid()  # [(2h − 1)(2w − 1), head]
        return Swin(width=self.width, table=bias, heads=self.heads or 1)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the bias, and what cosines differ from content by, [head, rows, cols]."""
        family = self.with_heads(inputs.heads)
        bias = family._swin(inputs.n_key).positional(inputs, scale, rows, cols)  # [head, rows, cols]
        if not self.cosine:
            return bias
        q, k = needs_queries(self.title, inputs)
        q, k = q[:, slice(*(rows or (0, inputs.n_query)))], k[:, slice(*(cols or (0, inputs.n_key)))]
        cosines = normalize(q, dim=-1) @ normalize(k, dim=-1).mT  # [head, rows, cols]
        return bias + family.cosine_scale().to(q)[:, None, None] * cosines - scale * (q @ k.mT)

    def cosine_scale(self) -> Tensor:
        """Return the factor on cosines, float64 [head]."""
        heads = self.heads or 1
        if self.logit_scale is None:
            return torch.full((heads,), 10.0, dtype=torch.float64)
        return self.logit_scale.double().exp().clamp_max(LARGEST_SCALE).expand(heads)

    def plane(self, head: int, n: int) -> Tensor:
        """Return the head's bias by key − query, [2h − 1, 2w − 1]."""
        return self._swin(n).plane(head, n)

    def planes(self, n: int) -> Tensor:
        """Return every head's bias by key − query, [head, 2h − 1, 2w − 1]; the network is asked once."""
        return self._swin(n).planes(n)

    def with_plane(self, head: int, plane: Tensor, n: int) -> Self:
        """Return the encoding with the head's plane replaced: what is new in it is brought into 0 … 16."""
        swin = self._swin(n)
        kept = plane == swin.plane(head, n)  # [2h − 1, 2w − 1]
        within = torch.where(kept, plane, plane.clamp(*self.plane_range))
        return replace(self, table=swin.with_plane(head, within, n).table)

    def trained_length(self) -> int | None:
        """Return the tokens of the window in training."""
        return self.trained**2 or None

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the bias read by key − query, and dot products where cosines belong."""
        table = self._swin(inputs.n_key).table  # [row, head]
        assert table is not None, "the network has just been asked"
        help = "The bias read by key − query: left and right, up and down change places."
        found = [Variant("key − query", help, replace(self, table=table.flip(0)))]
        if self.cosine:
            help = "scale · q·k in place of scaled cosines, as in the first Swin."
            found.append(Variant("dot products", help, replace(self, cosine=False)))
        return tuple(found)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return what the network is asked."""
        if self.table is not None:
            return "The table is for one window: a longer sequence has no rows in it, and is refused."
        return (
            "The network is asked for log-offsets past those of training: they grow slowly, and its answer stays "
            "within 0 … 16."
        )

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the look-up in the plane, and the cosines."""
        whole = self._swin(n_key).python(n_key, head_dim)
        if not self.cosine:
            return whole
        table = whole.replace("def bias(", "def plane_bias(")
        return f"""{constant("FACTOR", self.cosine_scale(), "[head], on cosines")}
{table}

{BIAS_OF_VECTORS}
    normalize = torch.nn.functional.normalize
    cosines = normalize(q, dim=-1) @ normalize(k, dim=-1).mT  # [head, query, key]
    # Content is scale · q·k; the cosine takes its place.
    own = plane_bias(n_query, n_key, device=q.device).to(q)  # [head, query, key]
    return own + FACTOR.to(q)[:, None, None] * cosines - scale * (q @ k.mT)
"""
