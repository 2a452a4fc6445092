"""What a figure shows: one head's stages, its bias curves, and the words about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.crew import CancelLike
from relpos_viewer.core.curves import CurveSet, curve_set
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import PlainField
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.planes import PlaneSet, plane_formula, plane_set
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.export.cells import Cells, cells_of, long_curves


@dataclass(frozen=True, eq=False)
class Picture:
    """One head, ready to be drawn.

    Attributes:
        field: the cells of the head.
        tokens: one a key; the queries are the last of them.
        curves: see `core.curves`.
        head: which head, counted from 0.
        encoding: title of the encoding, for the caption.
        formula: what the positional term is, for its panel.
        scale: how the content is scaled, for its panel.
        mask: the mask in words.
        plane: the bias of a two-dimensional family, drawn in place of the curve; None for others.
    """

    field: Cells
    tokens: Tokens
    curves: CurveSet
    head: int
    encoding: str
    formula: str
    scale: str
    mask: str
    plane: PlaneSet | None = None

    @property
    def heads(self) -> int:
        """How many heads the layer has."""
        return self.curves.family.shape[0]

    @property
    def caption(self) -> str:
        """One line that says what was drawn."""
        return _joined(self.encoding, self.mask, self.head)


def picture(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    edit: object,
    head: int,
    past: np.ndarray | None = None,
    field: Cells | None = None,
    curves: CurveSet | None = None,
    cancel: CancelLike | None = None,
) -> Picture:
    """Compute one head of `inputs` and gather what a figure says about it; arguments as in `attend`.

    `past` is that of `CurveSet.with_edit`. `field` and `curves` are used as they are where the caller has them
    already (a window does). `cancel` is asked while a long sequence's picture is made, here and when it is drawn, and
    told how far that is. Any thread.

    Raises:
        ViewerError: when head, encoding, mask or edit do not fit the inputs.
    """
    check_head(head, inputs.heads)

    def computed(index: int) -> PlainField:
        return PlainField.of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=index)

    if field is None:
        field = cells_of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=head, cancel=cancel)
    if curves is None and isinstance(field, PlainField):
        curves = _edited(curve_set(inputs, encoding, field, head, computed), edit, past)
    elif curves is None:
        curves = _edited(long_curves(inputs, encoding, field, head), edit, past)
    return Picture(
        field=field,
        tokens=inputs.tokens,
        curves=curves,
        head=head,
        encoding=encoding.title,
        formula=plane_formula(encoding) or ("b(j − i)" if encoding.toeplitz else "from q, k and position"),
        scale=_scale_words(inputs, scale),
        mask=_mask_words(inputs, mask),
        plane=plane_set(inputs, encoding),
    )


def caption(inputs: AttentionInputs, encoding: Encoding, mask: Mask, head: int) -> str:
    """Return the caption that a picture of these would have, without computing it."""
    return _joined(encoding.title, _mask_words(inputs, mask), head)


def _joined(encoding: str, mask: str, head: int) -> str:
    return " · ".join(part for part in (encoding, mask, f"head {head}") if part)


def check_head(head: int, heads: int) -> None:
    """Raise ViewerError unless `head` (from 0) is one of `heads`."""
    if not 0 <= head < heads:
        known = "there is one head, 0" if heads == 1 else f"heads are 0 … {heads - 1}"
        raise ViewerError(f"There is no head {head}: {known}.")


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
        "padding": f"padding of {mask.argument}",
        "left-padding": f"causal, left padding of {mask.argument}",
        "documents": "causal within documents",
        "custom": "own mask",
    }[mask.kind]
    return words if inputs.visible is None else " and ".join(filter(None, (words, "mask from the file")))


def _edited(curves: CurveSet, edit: object, past: np.ndarray | None) -> CurveSet:
    if edit is None:
        return curves
    return curves.with_edit(np.broadcast_to(np.asarray(edit, np.float32), curves.family.shape), past)
