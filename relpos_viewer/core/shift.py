"""The shift test: the same tokens, some places later. Relative encodings leave every score as it was."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.attention import content_scale
from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.extremes import block_extremes
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.pooling import Span
from relpos_viewer.core.readings import term_of_head
from relpos_viewer.core.visibility import Visibility

# A relative family in float32 moves by rounding alone, which grows with the angles of RoPE and the size of the term.
ROUNDING = 1e-4
# Queries of a sequence above `LARGEST` keys that are compared: the last ones, which see most.
LAST = 512
# Queries that are compared at once, and pixels of the picture along each side at most.
ROWS_AT_ONCE, PIXELS = 128, 512

_IN_ROWS = "tokens lie in the rows of a window, and a shift breaks the rows elsewhere"
# Why a family that is not relative notices.
REASONS = {
    "absolute": "absolute positions give every place a vector of its own",
    "fire": "FIRE divides the distance by the query's own position, once that lies beyond its threshold",
    "swin": _IN_ROWS,
    "swin-v2": _IN_ROWS,
    "beit": "BEiT takes the first token for its class token, and lays the others in rows",
    "rope": "dynamic NTK stretches the frequencies with the length of the sequence, which a shift makes longer",
}
OTHERWISE = "the term depends on where the tokens stand"
_WHOLE_ROWS = "the shift is by whole rows of the window"
# Why such a family may happen not to notice.
UNNOTICED = {
    "none": "there is no positional term",
    "fire": "no query comes to lie beyond FIRE's threshold",
    "swin": _WHOLE_ROWS,
    "swin-v2": _WHOLE_ROWS,
}


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """What a shift changed in the positional term of one head, and so in its scores.

    Attributes:
        difference: float64 [h, w], term at the shifted place minus term where it was; of many cells under one pixel
            the one that changed most. NaN where no key is visible.
        largest: largest magnitude of the change among all compared visible cells, score units.
        places: by how many positions.
        size: largest magnitude of the term itself, to judge the change by.
        rows: half-open, the queries that were compared.
        queries: number of queries there are.
    """

    difference: np.ndarray
    largest: float
    places: int
    size: float
    rows: Span
    queries: int

    @property
    def relative(self) -> bool:
        """Whether nothing moved but by rounding."""
        return self.largest <= ROUNDING * max(self.size, 1.0)


def shift_test(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    head: int,
    places: int,
    mask: Mask | None = None,
    cancel: CancelLike | None = None,
) -> ShiftTest:
    """Move the sequence `places` positions to the right, and compare; above `LARGEST` keys its `LAST` queries.

    Args:
        inputs: one layer's.
        encoding: for all heads.
        scale: content scale; 1/√d when None.
        head: index.
        places: at least 1. Empty tokens, which no query of the sequence is asked about, stand before it.
        mask: whose hidden cells do not count; None counts every cell.
        cancel: asked between blocks, and told how far it is.

    Raises:
        ViewerError: when the encoding does not reach so far, such as learned positions.
    """
    cancel = cancel or Silent()
    factor, n = content_scale(inputs, scale), inputs.n_key
    before = term_of_head(encoding, inputs, factor, head)
    after = term_of_head(encoding, later(inputs, places), factor, head)
    seen = None if mask is None else Visibility.of(inputs, mask, head)
    first = 0 if n <= LARGEST else max(inputs.n_query - LAST, 0)
    step = max(min(ROWS_AT_ONCE, LARGEST * ROWS_AT_ONCE // n), 1)  # rows of a longer sequence are longer
    lines, largest, size = [], 0.0, 0.0
    for start in range(first, inputs.n_query, step):
        cancel.progress((start - first) / (inputs.n_query - first))
        rows = (start, min(start + step, inputs.n_query))
        old = before(rows)  # [rows, key]
        change = after(rows)[:, places:] - old  # [rows, key]
        change = torch.where(old.isinf() & change.isnan(), 0.0, change)  # −∞ stayed −∞
        visible = (
            None if seen is None else seen.block(rows, (0, n), inputs.device)
        )  # [rows, key], None for all
        if visible is not None:
            change = change.masked_fill(~visible, math.nan)
            old = old.masked_fill(~visible, 0.0)
        largest = max(largest, _largest(change))
        size = max(size, _largest(old))
        lines.append(block_extremes(change.double().cpu().numpy(), PIXELS))  # [rows, w]
    cancel.progress(1.0)
    grid = np.concatenate(lines)  # [compared, w]
    return ShiftTest(
        difference=block_extremes(grid.T, PIXELS).T,
        largest=largest,
        places=places,
        size=size,
        rows=(first, inputs.n_query),
        queries=inputs.n_query,
    )


def verdict(test: ShiftTest, encoding: Encoding, number: str) -> str:
    """Return what a shift test found, in one sentence.

    Args:
        test: its outcome.
        encoding: which was tested.
        number: the largest change as people read it.
    """
    if not test.relative:
        return f"Scores move by up to {number}: {REASONS.get(encoding.name, OTHERWISE)}."
    content = "" if encoding.toeplitz else ", and on what the tokens are"
    relative = f"the term of {encoding.title} depends on key − query alone{content}"
    return f"Every score stays as it was: {UNNOTICED.get(encoding.name, relative)}."


def _largest(values: Tensor) -> float:
    """Return the largest finite magnitude of a block, 0 without one."""
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def later(inputs: AttentionInputs, places: int) -> AttentionInputs:
    """Return the same queries and keys, `places` positions later, with empty keys before them."""

    def before(value: Tensor | None, axis: int) -> Tensor | None:
        if value is None:
            return None
        shape = list(value.shape)
        shape[axis] = places
        return torch.cat((value.new_zeros(shape), value), axis)

    tokens = inputs.tokens
    documents = None if tokens.documents is None else (tokens.documents[0],) * places + tokens.documents
    return replace(
        inputs,
        tokens=type(tokens)(("",) * places + tokens.texts, documents=documents),
        k=before(inputs.k, 1),
        v=before(inputs.v, 1),
        given=before(inputs.given, 2),
        weights=None,
        row_sums=None,
        bias=None,
        visible=None,
    )
