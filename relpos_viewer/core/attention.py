"""The plain exact path: every stage kept apart. Short and obviously right; the reference for all else."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings import encoding as build_encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs, as_tensor, inputs_from_arrays, repeat_heads, shape_text
from relpos_viewer.core.masks import Mask, parse_mask
from relpos_viewer.core.offsets import toeplitz

# Seven arrays of this size are alive at once: 14 GiB in float32.
MAX_CELLS = 2**29


@dataclass(frozen=True, eq=False)
class Attention:
    """One layer's attention, every stage as [head, query, key].

    Attributes:
        content: scale · q·k, score units.
        positional: the encoding's term, a bias that came with the file, and the edit; score units.
        scores: content + positional, unmasked.
        weights: softmax over the visible keys; a row without any is all zeros.
        output: weights · V as [head, query, d_v], with what the encoding adds to it; None without values.
        visible: bool [head, query, key].
    """

    content: Tensor
    positional: Tensor
    scores: Tensor
    weights: Tensor
    output: Tensor | None
    visible: Tensor


def attention(
    q: object,
    k: object,
    v: object = None,
    *,
    encoding: str | Encoding = "none",
    scale: float | None = None,
    mask: str | np.ndarray | Tensor = "none",
    edit: object = None,
) -> Attention:
    """Compute attention with its content and positional parts apart.

    Args:
        q: queries [head, query, d] or [query, d]; torch or numpy. They are the last of the key positions.
        k: keys [key_head, key, d] or [key, d]; fewer heads mean grouped queries.
        v: values [key_head, key, d_v], optional.
        encoding: a name of the registry or an `Encoding`.
        scale: content scale; 1/√d when None.
        mask: a name as `parse_mask` reads it, such as "causal" or "window:8", or bool [query, key], True = visible.
        edit: additive curve [head or 1, 2·key−1] over δ = key − query, score units.

    Raises:
        ViewerError: when shapes, names or values do not fit.
    """
    inputs = inputs_from_arrays(q, k, v)
    check_cells(inputs)
    family = encoding if isinstance(encoding, Encoding) else build_encoding(encoding)
    return attend(inputs, family, scale=scale, mask=parse_mask(mask), edit=edit)


def attend(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None = None,
    mask: Mask,
    edit: object = None,
) -> Attention:
    """Compute every stage of `inputs`; arguments as in `attention`."""
    content = content_scores(inputs, scale)  # [head, query, key]
    positional = positional_scores(inputs, encoding, scale)  # [head, query, key]
    if edit is not None:
        curve = edit_curve(edit, inputs).to(positional)  # [head, 2·key−1]
        positional = positional + toeplitz(curve, inputs.n_query, inputs.n_key)  # [head, query, key]
    scores = content + positional  # [head, query, key]
    visible = visible_cells(inputs, mask).expand_as(scores)  # [head, query, key]
    given = inputs.weights if scale is None else None
    weights = weights_of(scores, visible, positional, inputs.row_sums, given)  # [head, query, key]
    output = None
    if inputs.v is not None:
        output = weights @ repeat_heads(inputs.v, inputs.heads).to(weights)  # [head, query, d_v]
        added = encoding.with_heads(inputs.heads).output(inputs, weights)  # [head, query, d_v]
        output = output if added is None else output + added
    return Attention(content, positional, scores, weights, output, visible)


def check_cells(inputs: AttentionInputs) -> None:
    """Raise ViewerError when a stage would be so large that computing it could exhaust the memory."""
    heads, rows, cols = inputs.heads, inputs.n_query, inputs.n_key
    if heads * rows * cols > MAX_CELLS:
        raise ViewerError(
            f"{heads} × {rows:,} × {cols:,} are {heads * rows * cols:,} cells a stage, and the limit is "
            f"{MAX_CELLS:,}; give fewer heads or positions."
        )


def content_scale(inputs: AttentionInputs, scale: float | None) -> float:
    """Return the factor on q·k: 1/√d unless `scale` says otherwise.

    Raises:
        ViewerError: when `scale` is no finite number.
    """
    if scale is None:
        return 1.0 if inputs.head_dim is None else 1.0 / math.sqrt(inputs.head_dim)
    try:
        factor = float(scale)
    except (TypeError, ValueError, OverflowError):
        factor = math.nan
    if not math.isfinite(factor):
        raise ViewerError(f"the scale must be a finite number, not {scale}.")
    return factor


def content_scores(inputs: AttentionInputs, scale: float | None) -> Tensor:
    """Return scale · q·k, [head, query, key]; given scores stand for it where there are no queries."""
    if inputs.q is None:
        assert inputs.given is not None
        return inputs.given if scale is None else inputs.given * content_scale(inputs, scale)
    return inputs.q @ inputs.keys_per_head().mT * content_scale(inputs, scale)  # [head, query, key]


def positional_scores(inputs: AttentionInputs, encoding: Encoding, scale: float | None) -> Tensor:
    """Return the encoding's term and the file's own bias, without any edit: [head, query, key]."""
    family = encoding.with_heads(inputs.heads)
    positional = family.positional(inputs, content_scale(inputs, scale))  # [head, query, key]
    return positional if inputs.bias is None else positional + inputs.bias


def edit_curve(edit: object, inputs: AttentionInputs) -> Tensor:
    """Return the edit as [head, 2·key−1].

    Raises:
        ViewerError: when its shape does not fit.
    """
    curve = torch.atleast_2d(as_tensor(edit, "edit"))  # [head or 1, 2·key−1]
    width = 2 * inputs.n_key - 1
    if curve.ndim != 2 or curve.shape[1] != width or curve.shape[0] not in (1, inputs.heads):
        raise ViewerError(
            f"edit has shape {shape_text(curve)}; give [{inputs.heads}, {width}], one value an offset."
        )
    return curve.expand(inputs.heads, -1).to(inputs.device)  # [head, 2·key−1]


def visible_cells(inputs: AttentionInputs, mask: Mask) -> Tensor:
    """Return which cells both the mask and the file leave visible, bool [query, key] or [head, query, key]."""
    visible = mask.visible(inputs.n_query, inputs.n_key, inputs.tokens.documents, inputs.device)
    if visible.ndim == 3:  # a mask array with one matrix a head, or one for all
        if visible.shape[0] not in (1, inputs.heads):
            raise ViewerError(
                f"the mask is {shape_text(visible)}, one matrix for each of {visible.shape[0]} heads, and there are "
                f"{inputs.heads}; they must agree."
            )
        visible = visible.expand(inputs.heads, -1, -1)  # [head, query, key]
    return visible if inputs.visible is None else visible & inputs.visible


def masked_softmax(scores: Tensor, visible: Tensor) -> Tensor:
    """Return softmax over the last axis among visible cells; rows without a finite visible score are zero.

    Args:
        scores: [..., query, key]; NaN stays NaN in its row, +∞ makes a row NaN.
        visible: bool, same shape.
    """
    masked = scores.masked_fill(~visible, -math.inf)  # [..., query, key]
    top = masked.amax(dim=-1, keepdim=True)  # [..., query, 1]
    top = top.masked_fill(top == -math.inf, 0.0)  # a row without a key: exp(−∞ − 0) = 0 everywhere
    exponentials = (masked - top).exp()  # [..., query, key]
    sums = exponentials.sum(dim=-1, keepdim=True)  # [..., query, 1]
    return exponentials / sums.masked_fill(sums == 0, 1.0)  # [..., query, key]


def weights_of(
    scores: Tensor,
    visible: Tensor,
    positional: Tensor,
    row_sums: Tensor | None = None,
    given: Tensor | None = None,
) -> Tensor:
    """Return the softmax of scores [..., query, key]; of given weights, what a positional term makes of them.

    Args:
        scores, visible, positional: [..., query, key].
        row_sums: [..., query, 1] when scores came from the logarithm of given weights; rows keep their sums.
        given: those weights; a row to which nothing is added, and of which nothing is hidden, stays bit for bit.
    """
    weights = masked_softmax(scores, visible)  # [..., query, key]
    if row_sums is None:
        return weights
    weights = weights * row_sums  # [..., query, key]
    if given is None:
        return weights
    untouched = ((positional == 0) & (visible | (given == 0))).all(dim=-1, keepdim=True)  # [..., query, 1]
    return torch.where(untouched, given, weights)  # [..., query, key]
