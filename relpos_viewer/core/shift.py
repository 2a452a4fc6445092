"""The shift test: the same tokens, some places later. Relative encodings leave every score as it was."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from relpos_viewer.core.attention import content_scale
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.inputs import AttentionInputs

# A relative family in float32 moves by rounding alone, which grows with the angles of RoPE and the size of the term.
ROUNDING = 1e-4


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """What a shift changed in the positional term of one head, and so in its scores.

    Attributes:
        difference: [query, key], term at the shifted place minus term where it was.
        places: by how many positions.
        size: largest magnitude of the term itself, to judge the difference by.
    """

    difference: Tensor
    places: int
    size: float

    @property
    def largest(self) -> float:
        """The largest magnitude of the difference, score units."""
        return float(self.difference.abs().max())

    @property
    def relative(self) -> bool:
        """Whether nothing moved but by rounding."""
        return self.largest <= ROUNDING * max(self.size, 1.0)


def shift_test(
    inputs: AttentionInputs, encoding: Encoding, *, scale: float | None, head: int, places: int
) -> ShiftTest:
    """Move the sequence `places` positions to the right, and compare.

    Args:
        inputs: one layer's.
        encoding: for all heads.
        scale: content scale; 1/√d when None.
        head: index.
        places: at least 1. Empty tokens, which no query of the sequence is asked about, stand before it.

    Raises:
        ViewerError: when the encoding does not reach so far, such as learned positions.
    """
    factor = content_scale(inputs, scale)
    whole, picked = encoding.with_heads(inputs.heads), head
    if not encoding.toeplitz:  # a curve costs no more for all heads
        whole, inputs, picked = whole.for_one_head(head), inputs.head(head), 0
    before = whole.positional(inputs, factor)[picked]  # [query, key]
    after = whole.positional(later(inputs, places), factor)[picked, :, places:]  # [query, key]
    finite = before[before.isfinite()]
    return ShiftTest(after - before, places, float(finite.abs().max()) if finite.numel() else 0.0)


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
