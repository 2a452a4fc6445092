"""CurveSet: the bias of every head by offset, as the curve editor and figures show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.measures import diagonal_summary, visible_offsets

# Below this many cells the other heads' terms are summed up too, where they have no curve, to be drawn faintly.
OTHER_HEADS_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class CurveSet:
    """Curves over the offsets δ = −(n−1) … n−1, the last axis.

    Attributes:
        family: float32 [head, 2n−1], the encoding's own term; the mean along each diagonal when not `exact`
            (NaN where nothing is visible, or for heads that were not computed).
        low, high: float32 [2n−1], mean ∓ one standard deviation for the selected head, when not `exact`.
        edit: float32 [head, 2n−1].
        exact: whether `family` is the term itself.
        buckets: int64 [2n−1], offsets that share a bias; None when each is its own.
        beyond: bool [2n−1], offsets past what was drawn or trained; None without such a limit.
        beyond_rule: what holds there, a word such as "hold"; "" where the family names none.
        visible: bool [2n−1], offsets with a visible cell.
        head: the selected head.
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
    n = inputs.n_key
    full = encoding.with_heads(inputs.heads)
    curve = full.curve(n) if inputs.bias is None else None  # [head, 2n−1]
    low = high = None
    if curve is not None:
        family = curve.cpu().numpy().astype(np.float32)  # [head, 2n−1]
    else:
        family = np.full((inputs.heads, 2 * n - 1), np.nan, np.float32)  # [head, 2n−1]
        if inputs.heads * n * n <= OTHER_HEADS_CELLS:
            for index in range(inputs.heads):
                one = other(index)
                family[index] = diagonal_summary(one.own, one.visible)[0]
        family[head], low, high = diagonal_summary(field.own, field.visible)
    buckets, beyond = full.buckets(n), full.beyond(n)
    return CurveSet(
        family=family,
        low=low,
        high=high,
        edit=np.zeros_like(family),
        exact=curve is not None,
        buckets=None if buckets is None else buckets.numpy(),
        beyond=None if beyond is None else beyond.numpy(),
        visible=visible_offsets(field.visible),
        head=head,
        beyond_rule="" if beyond is None else str(encoding.values.get("rule", "")),
    )
