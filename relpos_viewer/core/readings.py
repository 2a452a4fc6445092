"""The same encoding read by another convention: which readings there are, and what each does to the weights.

Nothing of it changes an encoding: a reading is computed beside what is shown, and the difference is the answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.attention import content_scale, edit_curve, masked_softmax
from relpos_viewer.core.crew import CancelLike
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import Variant
from relpos_viewer.core.encodings.curve import Curve
from relpos_viewer.core.extremes import block_extremes
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.offsets import toeplitz_block
from relpos_viewer.core.pooling import Span
from relpos_viewer.core.visibility import Visibility

# Queries of a long sequence that are compared, evenly spread, and rows of a short one that are compared at once.
SAMPLED, ROWS_AT_ONCE = 256, 256
# Pixels of the picture of differences, along each side at most.
PIXELS = 160


@dataclass(frozen=True, eq=False)
class Comparison:
    """What another reading does to one head.

    Attributes:
        bias: largest magnitude of the change of the positional term among visible cells, score units.
        weight: largest magnitude of the change of a weight.
        query: index of the query whose weights change most, by the sum of magnitudes; None when none changes.
        moved: the weight that this query gives to other keys, half of that sum: 0 … 1.
        picture: float32 [h, w], the change of largest magnitude in each block of queries and keys; NaN where no key
            is visible.
        compared: number of queries that were compared.
        queries: number of queries there are.
    """

    bias: float
    weight: float
    query: int | None
    moved: float
    picture: np.ndarray
    compared: int
    queries: int

    @property
    def sampled(self) -> bool:
        """Whether some queries were left out."""
        return self.compared < self.queries


def readings(encoding: Encoding, inputs: AttentionInputs, scale: float | None) -> tuple[Variant, ...]:
    """Return how code may read this encoding otherwise: the family's own mistakes, then those of any curve.

    Args:
        encoding: for all heads.
        inputs: one layer's.
        scale: content scale; 1/√d when None.

    Raises:
        ViewerError: when the family cannot be applied to these inputs.
    """
    family = encoding.with_heads(inputs.heads)
    own = family.variants(inputs)
    curve = family.curve(inputs.n_key, torch.float64) if family.toeplitz else None  # [head, 2·key−1]
    if curve is None or family.name == "none":
        return own
    factor = content_scale(inputs, scale)
    general = (
        Variant(
            "query − key",
            "The curve mirrored: past and future change places.",
            Curve(table=curve.flip(-1), heads=inputs.heads),
        ),
        Variant(
            "scale on the bias too",
            f"The bias multiplied by the content scale, {factor:.4g}, as where it is added to q·k before scaling.",
            Curve(table=curve * factor, heads=inputs.heads),
        ),
    )
    taken = {variant.name for variant in own}
    return (*own, *(variant for variant in general if variant.name not in taken))


def compare(
    inputs: AttentionInputs,
    encoding: Encoding,
    reading: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    edit: object,
    head: int,
    cancel: CancelLike,
) -> Comparison:
    """Compute what `reading` changes in one head, on whole rows; above `LARGEST` keys on `SAMPLED` queries.

    Args:
        inputs: one layer's.
        encoding: as it is.
        reading: as it is read otherwise.
        scale: content scale; 1/√d when None.
        mask: which keys are visible.
        edit: curve [head or 1, 2·key−1] that both have added; None for none.
        head: index.
        cancel: asked between blocks, and told how far it is.

    Raises:
        ViewerError: when one of them cannot be applied to these inputs.
    """
    one, n = inputs.head(head), inputs.n_key
    factor = content_scale(inputs, scale)
    before, after = (term_of_head(each, inputs, factor, head) for each in (encoding, reading))
    added = None if edit is None else edit_curve(edit, inputs)[head]  # [2·key−1]
    seen = Visibility.of(inputs, mask, head)
    spans = list(_compared(inputs))
    # Pooled along keys as they come, along queries at the end: no matrix of [query, key] is kept.
    lines, moved = [], []
    bias = weight = 0.0
    for done, rows in enumerate(spans):
        cancel.progress(done / len(spans))
        visible = seen.block(rows, (0, n), inputs.device)  # [rows, key], None for all
        if visible is None:
            visible = torch.ones(rows[1] - rows[0], n, dtype=torch.bool, device=inputs.device)
        first, second = before(rows), after(rows)  # [rows, key] each
        common = _content(one, factor, rows, scale)  # [rows, key]
        if one.bias is not None:
            common = common + one.bias[0, slice(*rows)]
        if added is not None:
            common = common + toeplitz_block(added.to(common), inputs.query_start, rows, (0, n))
        sums = 1.0 if one.row_sums is None else one.row_sums[0, slice(*rows)]  # [rows, 1]
        change = masked_softmax(common + second, visible) - masked_softmax(common + first, visible)
        change = (change * sums).masked_fill(~visible, 0.0)  # [rows, key]
        both = visible & (first != second)  # [rows, key]; where both are −∞ nothing has changed
        if both.any():
            bias = max(bias, float((second - first)[both].abs().max()))
        weight = max(weight, float(change.abs().max()))
        moved.append(change.abs().sum(1).cpu().numpy() / 2)  # [rows]
        lines.append(block_extremes(change.masked_fill(~visible, math.nan).cpu().numpy(), PIXELS))
    cancel.progress(1.0)
    queries = np.concatenate([np.arange(*rows) for rows in spans])  # [compared]
    most = np.concatenate(moved)  # [compared]
    place = int(np.argmax(most))
    grid = np.concatenate(lines)  # [compared, w]
    return Comparison(
        bias=bias,
        weight=weight,
        query=int(queries[place]) if most[place] > 0 else None,
        moved=float(most[place]),
        picture=block_extremes(grid.T, PIXELS).T.astype(np.float32),
        compared=len(queries),
        queries=inputs.n_query,
    )


def term_of_head(
    encoding: Encoding, inputs: AttentionInputs, scale: float, head: int
) -> Callable[[Span], Tensor]:
    """Return what gives a head's positional term for some queries and all keys, [rows, key].

    Args:
        encoding: for all heads.
        inputs: one layer's.
        scale: the content scale.
        head: index.
    """
    family, n = encoding.with_heads(inputs.heads), inputs.n_key
    curve = family.curve(n, inputs.content_dtype) if family.toeplitz else None  # [head, 2·key−1]
    if curve is not None:
        own = curve[head].to(inputs.device)  # [2·key−1]
        return lambda rows: toeplitz_block(own, inputs.query_start, rows, (0, n))
    one = inputs.head(head)
    alone = family.for_one_head(head).for_blocks(one)
    factors = alone.factors(one)
    if factors is not None:  # what depends on keys alone is worked out once, not for every block of queries
        assert one.q is not None, "factors are made from queries"
        q, k = one.q[0], one.keys_per_head()[0]  # [query, d], [key, d]
        turned_q, turned_k = factors[0][0], factors[1][0]  # [query, d], [key, d]

        def turned(rows: Span) -> Tensor:
            chosen = slice(*rows)
            return scale * (turned_q[chosen] @ turned_k.mT - q[chosen] @ k.mT)  # [rows, key]

        return turned
    return lambda rows: alone.positional(one, scale, rows, (0, n))[0]


def _compared(inputs: AttentionInputs) -> Iterator[Span]:
    """Return the queries to compare, as runs."""
    count = inputs.n_query
    if inputs.n_key <= LARGEST or count <= SAMPLED:
        step = max(min(ROWS_AT_ONCE, LARGEST * ROWS_AT_ONCE // max(inputs.n_key, 1)), 1)
        edges = [*range(0, count, step), count]
        return itertools.pairwise(edges)
    return ((int(row), int(row) + 1) for row in np.linspace(0, count - 1, SAMPLED).round())


def _content(one: AttentionInputs, factor: float, rows: Span, scale: float | None) -> Tensor:
    """Return a head's content for some queries, [rows, key]."""
    if one.q is None:
        assert one.given is not None, "inputs hold either q and k, or given scores"
        given = one.given[0, slice(*rows)]  # [rows, key]
        return given if scale is None else given * factor
    return one.q[0, slice(*rows)] @ one.keys_per_head()[0].mT * factor
