"""PlainField: every stage of one head kept whole, and asked for tiles, rows and single cells.

The straightforward way, for sequences short enough that a few [query, key] matrices fit; views never see more of
it than the questions below, so a field that keeps less can take its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.attention import (
    content_scores,
    edit_curve,
    positional_scores,
    visible_cells,
    weights_of,
)
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.offsets import toeplitz
from relpos_viewer.core.pooling import Span, pool, strongest_cell

Stage = Literal["content", "positional", "scores", "weights"]
STAGES: tuple[Stage, ...] = ("content", "positional", "scores", "weights")
TERMS: tuple[Stage, ...] = STAGES[:3]

# A head keeps some ten [query, key] matrices; at 2,048 they take 160 MB and a picture a few dozen ms. Longer ones
# are asked of a `ScoreField`, which keeps none.
LARGEST = 2048


@dataclass(frozen=True)
class CellValues:
    """The exact numbers of one cell; `before_weight` is its weight without the edit."""

    query: int
    key: int
    offset: int
    content: float
    positional: float
    edit: float
    score: float
    weight: float
    before_weight: float
    log_weight: float
    visible: bool
    row_sees_a_key: bool


@dataclass(frozen=True, eq=False)
class LineValues:
    """The numbers along one row, column or diagonal, float32 [cell] each; `visible` is bool."""

    queries: np.ndarray
    keys: np.ndarray
    content: np.ndarray
    positional: np.ndarray
    edit: np.ndarray
    score: np.ndarray
    weight: np.ndarray
    before_weight: np.ndarray
    visible: np.ndarray


def cell_in_row(row: LineValues, key: int, query_start: int) -> CellValues:
    """Return one cell of a row that `row` gave, without reading the row again.

    Args:
        row: all keys of one query.
        key: the cell's key.
        query_start: position of the first query.
    """
    query = int(row.queries[key])
    scores = np.where(row.visible, row.score, -np.inf).astype(np.float64)  # [key]
    log_weight = -math.inf
    if row.visible[key]:
        top = scores.max()
        # A row of softmax sums to 1; one of given weights keeps its own sum.
        with np.errstate(divide="ignore", invalid="ignore"):
            normaliser = top + np.log(np.exp(scores - top).sum()) if np.isfinite(top) else top
            log_weight = float(scores[key] - normaliser + np.log(row.weight.sum(dtype=np.float64)))
    return CellValues(
        query=query,
        key=key,
        offset=key - (query + query_start),
        content=float(row.content[key]),
        positional=float(row.positional[key]),
        edit=float(row.edit[key]),
        score=float(row.score[key]),
        weight=float(row.weight[key]),
        before_weight=float(row.before_weight[key]),
        log_weight=log_weight,
        visible=bool(row.visible[key]),
        row_sees_a_key=bool(row.visible.any()),
    )


@dataclass(frozen=True, eq=False)
class PlainField:
    """One head's attention, all [query, key].

    Attributes:
        content: scale · q·k.
        own: positional term without the edit.
        edit: the edit curve [2·key−1].
        positional: own + edit.
        scores: content + positional.
        weights: softmax over visible keys.
        visible: bool.
        row_sums: [query, 1] for given weights, see `AttentionInputs`.
        given: those weights, where they are still those of `content`.
    """

    content: Tensor
    own: Tensor
    edit: Tensor
    positional: Tensor
    scores: Tensor
    weights: Tensor
    visible: Tensor
    row_sums: Tensor | None
    given: Tensor | None = None

    @classmethod
    def of(
        cls,
        inputs: AttentionInputs,
        encoding: Encoding,
        *,
        scale: float | None,
        mask: Mask,
        edit: object,
        head: int,
    ) -> PlainField:
        """Compute head `head`; arguments as in `attention`.

        Raises:
            ViewerError: when encoding, mask or edit do not fit the inputs.
        """
        one = inputs.head(head)
        full = encoding.with_heads(inputs.heads)  # a table is checked against all heads, then one is taken
        content = content_scores(one, scale)[0]  # [query, key]
        own = _own_positional(inputs, one, full, scale, head)  # [query, key]
        visible = visible_cells(inputs, mask)  # [query, key] or [head, query, key]
        visible = visible[head] if visible.ndim == 3 else visible  # [query, key]
        curve = torch.zeros(2 * inputs.n_key - 1).to(content)  # [2·key−1]
        if edit is not None:
            curve = edit_curve(edit, inputs)[head].to(content)  # [2·key−1]
        sums = None if one.row_sums is None else one.row_sums[0]  # [query, 1]
        given = None if one.weights is None or scale is not None else one.weights[0]  # [query, key]
        empty = content.new_empty(0)
        return cls(content, own, curve, empty, empty, empty, visible, sums, given).with_edit(curve)

    def with_edit(self, edit: Tensor) -> PlainField:
        """Return the same head under another edit curve [2·key−1]; content and own term are shared."""
        n_query, n_key = self.content.shape
        touched = bool(edit.any())
        positional = self.own + toeplitz(edit, n_query, n_key) if touched else self.own  # [query, key]
        scores = self.content + positional  # [query, key]
        weights = weights_of(scores, self.visible, positional, self.row_sums, self.given)  # [query, key]
        return replace(self, edit=edit, positional=positional, scores=scores, weights=weights)

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.content.shape[0]

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.content.shape[1]

    def stage(self, stage: Stage) -> Tensor:
        """Return the whole of one stage, [query, key]."""
        return {
            "content": self.content,
            "positional": self.positional,
            "scores": self.scores,
            "weights": self.weights,
        }[stage]

    def tile(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int], reduce: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells of a viewport pooled to pixels, and which pixels hold a visible cell; see `pool`."""
        return pool(self.stage(stage), self.visible, rows, cols, shape, reduce)

    def rows_that_see(self) -> np.ndarray:
        """Return which queries see a key, bool [query]."""
        return self.visible.any(dim=1).cpu().numpy()

    def strongest(self, stage: Stage, rows: tuple[int, int], cols: tuple[int, int]) -> tuple[int, int] | None:
        """Return (query, key) of the visible cell of largest magnitude in a block; None when none is visible."""
        return strongest_cell(self.stage(stage), self.visible, rows, cols)

    def values(self, query: int, key: int) -> CellValues:
        """Return the exact numbers of one cell."""
        return cell_in_row(self.row(query), key, self.n_key - self.n_query)

    def row(self, query: int) -> LineValues:
        """Return one query's numbers over all keys."""
        keys = torch.arange(self.n_key)
        return self._line(torch.full_like(keys, query), keys, self._before(query))

    def column(self, key: int) -> LineValues:
        """Return one key's numbers over all queries."""
        queries = torch.arange(self.n_query)
        return self._line(queries, torch.full_like(queries, key), self._before_weights()[:, key])

    def diagonal(self, offset: int) -> LineValues:
        """Return the numbers of all cells with key − query = offset."""
        queries = torch.arange(self.n_query)
        keys = queries + self.n_key - self.n_query + offset
        inside = (keys >= 0) & (keys < self.n_key)
        queries, keys = queries[inside], keys[inside]  # [cell]
        return self._line(queries, keys, self._before_weights()[queries, keys])

    def _line(self, queries: Tensor, keys: Tensor, before: Tensor) -> LineValues:
        offset_places = keys - queries - (self.n_key - self.n_query) + self.n_key - 1  # [cell]

        def pick(matrix: Tensor) -> np.ndarray:
            return matrix[queries, keys].cpu().numpy()

        return LineValues(
            queries=queries.numpy(),
            keys=keys.numpy(),
            content=pick(self.content),
            positional=pick(self.own),
            edit=self.edit[offset_places].cpu().numpy(),
            score=pick(self.scores),
            weight=pick(self.weights),
            before_weight=before.cpu().numpy(),
            visible=pick(self.visible),
        )

    def _before(self, query: int) -> Tensor:
        """Return a row's weights without the edit, [key]."""
        if not self.edit.any():
            return self.weights[query]
        own, visible = self.own[query], self.visible[query]  # [key] each
        sums = None if self.row_sums is None else self.row_sums[query]  # [1]
        given = None if self.given is None else self.given[query]  # [key]
        return weights_of(self.content[query] + own, visible, own, sums, given)  # [key]

    def _before_weights(self) -> Tensor:
        return self.weights if not self.edit.any() else self.with_edit(torch.zeros_like(self.edit)).weights


def _own_positional(
    inputs: AttentionInputs, one: AttentionInputs, encoding: Encoding, scale: float | None, head: int
) -> Tensor:
    """Return one head's positional term without the edit, [query, key]."""
    curve = encoding.curve(inputs.n_key, one.content_dtype) if encoding.toeplitz else None  # [head, 2·key−1]
    if curve is None:
        # Families that depend on q and k have nothing of their own that differs by head.
        return positional_scores(one, encoding.for_one_head(head), scale)[0]  # [query, key]
    own = toeplitz(curve[head].to(one.device), inputs.n_query, inputs.n_key)  # [query, key]
    return own if one.bias is None else own + one.bias[0]
