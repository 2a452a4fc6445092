"""CurveSet: the bias of every head by offset, as the curve editor and figures show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import LineValues, PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.measures import diagonal_mean, diagonal_summary, row_summary, visible_offsets

# Below this many cells the other heads' terms are summed up too, where they have no curve, to be drawn faintly.
OTHER_HEADS_CELLS = 1_000_000
# Queries that speak for a long sequence; at 131,072 keys they take some 0.2 s.
SAMPLED_QUERIES = 64
# Offsets whose samples are sorted together.
PART = 8192


@dataclass(frozen=True, eq=False)
class CurveSet:
    """Curves over the offsets δ = −(n−1) … n−1, the last axis.

    Attributes:
        family: float32 [head, 2n−1], the encoding's own term; the mean along each diagonal when not `exact`
            (NaN where nothing is visible, or for heads that were not computed).
        low, high: float32 [2n−1], the `SPREAD` quantiles of the selected head's cells along each diagonal, when not
            `exact`.
        edit: float32 [head, 2n−1].
        exact: whether `family` is the term itself.
        buckets: int64 [2n−1], offsets that share a bias; None when each is its own.
        beyond: bool [2n−1], offsets past what was drawn or trained; None without such a limit.
        beyond_rule: what holds there, a word such as "hold"; "" where the family names none.
        visible: bool [2n−1], offsets with a visible cell.
        head: the selected head.
        sampled: how many queries mean and quantiles were taken from; 0 for all of them.
    """

    family: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    edit: np.ndarray
    exact: bool
    buckets: np.ndarray | None
    beyond: np.ndarray | None
    visible: np.ndarray
    head: int
    beyond_rule: str = ""
    sampled: int = 0

    @property
    def n(self) -> int:
        """Number of keys."""
        return (self.family.shape[1] + 1) // 2

    def with_edit(self, edit: np.ndarray, past: np.ndarray | None = None) -> CurveSet:
        """Return the same curves under another edit, float32 [head, 2n−1].

        `past` marks offsets, bool [2n−1], at which a drawn edit has broken off and is 0.
        """
        if past is None:
            return replace(self, edit=edit)
        if self.beyond is not None:
            return replace(self, edit=edit, beyond=self.beyond | past)
        return replace(self, edit=edit, beyond=past, beyond_rule="zero")


def curve_set(
    inputs: AttentionInputs,
    encoding: Encoding,
    field: PlainField,
    head: int,
    other: Callable[[int], PlainField],
) -> CurveSet:
    """Return the curves of all heads, without an edit. Any thread.

    Args:
        inputs: what the field was computed from.
        encoding: the same.
        field: the selected head.
        head: its index.
        other: gives the field of another head; called only where heads have no exact curve.
    """
    family = _exact_curves(inputs, encoding)  # [head, 2n−1]
    low = high = None
    exact = family is not None
    if family is None:
        n = inputs.n_key
        family = np.full((inputs.heads, 2 * n - 1), np.nan, np.float32)  # [head, 2n−1]
        if inputs.heads * n * n <= OTHER_HEADS_CELLS:
            for index in (each for each in range(inputs.heads) if each != head):
                one = other(index)
                family[index] = diagonal_mean(one.own, one.visible)
        family[head], low, high = diagonal_summary(field.own, field.visible)
    return _curve_set(inputs, encoding, family, low, high, exact, visible_offsets(field.visible), head)


class RowsOf(Protocol):
    """What is asked of a `ScoreField`."""

    def row(self, query: int) -> LineValues: ...
    def visible_offsets(self) -> np.ndarray: ...


def sampled_curve_set(
    inputs: AttentionInputs, encoding: Encoding, field: RowsOf, head: int, samples: int = SAMPLED_QUERIES
) -> CurveSet:
    """Return the curves of a sequence too long to sum every diagonal; arguments as for `curve_set`.

    Where no exact curve exists, mean and quantiles come from `samples` evenly spaced queries, and the other
    heads are left out.
    """
    family = _exact_curves(inputs, encoding)  # [head, 2n−1]
    low = high = None
    exact = family is not None
    sampled = 0
    if family is None:
        width = 2 * inputs.n_key - 1
        queries = np.unique(np.linspace(0, inputs.n_query - 1, samples).astype(int))  # [sample]
        lines = np.full((width, len(queries)), np.nan, np.float32)  # [2n−1, sample]
        for place, query in enumerate(queries):
            lines[:, place] = query_curve(field.row(int(query)), int(query), inputs.query_start)
        parts = [
            row_summary(lines[first : first + PART]) for first in range(0, width, PART)
        ]  # [3, part] each
        mean, low, high = np.concatenate(parts, axis=1).astype(np.float32)  # [2n−1] each
        family = np.full((inputs.heads, width), np.nan, np.float32)  # [head, 2n−1]
        family[head] = mean
        sampled = len(queries)
    curves = _curve_set(inputs, encoding, family, low, high, exact, field.visible_offsets(), head)
    return replace(curves, sampled=sampled)


def query_curve(line: LineValues, query: int, query_start: int) -> np.ndarray:
    """Return a query's own positional term over the offsets, float32 [2·key−1]; NaN where it sees nothing.

    Args:
        line: the query's row, see `PlainField.row`.
        query: its index.
        query_start: position of the first query.
    """
    n = len(line.positional)
    curve = np.full(2 * n - 1, np.nan, np.float32)  # [2·key−1]
    first = n - 1 - (query + query_start)  # place of the first key's offset
    counted = line.visible & np.isfinite(line.positional)  # [key]
    curve[first : first + n] = np.where(counted, line.positional, np.nan)
    return curve


def _exact_curves(inputs: AttentionInputs, encoding: Encoding) -> np.ndarray | None:
    """Return every head's own curve, float32 [head, 2n−1]; None where the term is no function of δ."""
    if inputs.bias is not None:
        return None
    curve = encoding.with_heads(inputs.heads).curve(inputs.n_key)  # [head, 2n−1]
    return None if curve is None else curve.cpu().numpy().astype(np.float32)


def _curve_set(
    inputs: AttentionInputs,
    encoding: Encoding,
    family: np.ndarray,
    low: np.ndarray | None,
    high: np.ndarray | None,
    exact: bool,
    visible: np.ndarray,
    head: int,
) -> CurveSet:
    full = encoding.with_heads(inputs.heads)
    buckets, beyond = full.buckets(inputs.n_key), full.beyond(inputs.n_key)
    return CurveSet(
        family=family,
        low=low,
        high=high,
        edit=np.zeros_like(family),
        exact=exact,
        buckets=None if buckets is None else buckets.numpy(),
        beyond=None if beyond is None else beyond.numpy(),
        visible=visible,
        head=head,
        beyond_rule="" if beyond is None else str(encoding.values.get("rule", "")),
    )
