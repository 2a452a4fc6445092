"""What a figure shows: one head's stages, its bias curves, and the words about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.measures import diagonal_means, diagonal_summary
from relpos_viewer.core.tokens import Tokens

# Below this many cells the other heads' terms are summed up too, where they have no curve, to be drawn faintly.
OTHER_HEADS_CELLS = 1_000_000

# A few [query, key] matrices are kept whole; at 2,048 that is some 160 MB.
LARGEST = 2048


class CurvesLike(Protocol):
    """The bias curves of a head and its neighbours over δ = −(n−1) … n−1.

    family, edit: float32 [head, 2n−1], the encoding's own term and what the user added; rows of `family` that are not
    known are NaN. low, high: [2n−1] mean ∓ σ along the diagonals, or None when the curve is exact.
    visible, beyond: bool [2n−1], which offsets have a visible cell; which lie past the range of the encoding.
    """

    @property
    def family(self) -> np.ndarray: ...
    @property
    def edit(self) -> np.ndarray: ...
    @property
    def low(self) -> np.ndarray | None: ...
    @property
    def high(self) -> np.ndarray | None: ...
    @property
    def exact(self) -> bool: ...
    @property
    def visible(self) -> np.ndarray: ...
    @property
    def beyond(self) -> np.ndarray | None: ...


@dataclass(frozen=True, eq=False)
class Curves:
    """`CurvesLike`, made without a window."""

    family: np.ndarray
    edit: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    exact: bool
    visible: np.ndarray
    beyond: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Picture:
    """One head, ready to be drawn.

    Attributes:
        field: every stage of the head, [query, key].
        tokens: one a key; the queries are the last of them.
        curves: see `CurvesLike`.
        head: which head, counted from 0.
        encoding: title of the encoding, for the caption.
        formula: what the positional term is, for its panel.
        scale: how the content is scaled, for its panel.
        mask: the mask in words.
    """

    field: PlainField
    tokens: Tokens
    curves: CurvesLike
    head: int
    encoding: str
    formula: str
    scale: str
    mask: str

    @property
    def heads(self) -> int:
        """How many heads the layer has."""
        return self.curves.family.shape[0]

    @property
    def caption(self) -> str:
        """One line that says what was drawn."""
        parts = [self.encoding, self.mask, f"head {self.head + 1} of {self.heads}"]
        return " · ".join(part for part in parts if part)


def picture(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    edit: object,
    head: int,
    field: PlainField | None = None,
    curves: CurvesLike | None = None,
) -> Picture:
    """Compute one head of `inputs` and gather what a figure says about it; arguments as in `attend`.

    `field` and `curves` are used as they are where the caller has them already (a window does). Any thread.

    Raises:
        ViewerError: when head, encoding, mask or edit do not fit the inputs.
    """
    check_head(head, inputs.heads)

    def computed(index: int) -> PlainField:
        return PlainField.of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=index)

    field = computed(head) if field is None else field
    return Picture(
        field=field,
        tokens=inputs.tokens,
        curves=_curves(inputs, encoding, field, edit, head, computed) if curves is None else curves,
        head=head,
        encoding=encoding.title,
        formula="b(j − i)" if encoding.toeplitz else "from q, k and position",
        scale=_scale_words(inputs, scale),
        mask=_mask_words(inputs, mask),
    )


def check_length(n_key: int) -> None:
    """Raise ViewerError for a sequence longer than is drawn and written yet."""
    if n_key > LARGEST:
        raise ViewerError(
            f"{n_key:,} tokens are more than the {LARGEST:,} that can be exported yet; shorten the sequence."
        )


def check_head(head: int, heads: int) -> None:
    """Raise ViewerError unless `head` (from 0) is one of `heads`."""
    if not 0 <= head < heads:
        known = "there is one head, 0" if heads == 1 else f"heads are 0 … {heads - 1}"
        raise ViewerError(f"There is no head {head}: {known}.")


def _curves(
    inputs: AttentionInputs,
    encoding: Encoding,
    field: PlainField,
    edit: object,
    head: int,
    other: Callable[[int], PlainField],
) -> Curves:
    n = inputs.n_key
    full = encoding.with_heads(inputs.heads)
    curve = full.curve(n) if inputs.bias is None else None  # [head, 2n−1]
    low = high = None
    if curve is not None:
        family = curve.cpu().numpy().astype(np.float32)
    else:
        family = np.full((inputs.heads, 2 * n - 1), np.nan, np.float32)  # [head, 2n−1]
        if inputs.heads * n * n <= OTHER_HEADS_CELLS:
            for index in range(inputs.heads):
                one = other(index)
                family[index] = diagonal_summary(one.own, one.visible)[0]
        family[head], low, high = diagonal_summary(field.own, field.visible)
    _, counts = diagonal_means(field.own, field.visible)
    beyond = full.beyond(n)
    return Curves(
        family=family,
        edit=np.zeros_like(family)
        if edit is None
        else np.broadcast_to(np.asarray(edit, np.float32), family.shape),
        low=low,
        high=high,
        exact=curve is not None,
        visible=(counts > 0).cpu().numpy(),
        beyond=None if beyond is None else beyond.cpu().numpy(),
    )


def _scale_words(inputs: AttentionInputs, scale: float | None) -> str:
    if inputs.q is None:
        return "given"
    return "q·k / √d" if scale is None else f"{scale:g} · q·k"


def _mask_words(inputs: AttentionInputs, mask: Mask) -> str:
    words = {
        "none": "",
        "causal": "causal",
        "window": f"window of {mask.argument}",
        "prefix": f"prefix of {mask.argument}",
        "documents": "causal within documents",
        "custom": "own mask",
    }[mask.kind]
    return words if inputs.visible is None else " and ".join(filter(None, (words, "mask from the file")))
