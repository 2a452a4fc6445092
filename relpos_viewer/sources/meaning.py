"""What numbers say about themselves: probabilities, masks in disguise, values that are no numbers."""

from __future__ import annotations

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import shape_text
from relpos_viewer.core.numbers import short
from relpos_viewer.sources.contents import Choices

# Additive masks are −10,000 (BERT), −65,504 (float16), −1e9 or the smallest float32; no score comes near.
MASK_LIMIT = -1e4
# How far a row of probabilities may be off 1: rounding of the stored type over a few thousand keys.
SUM_TOLERANCE = {"f16": 2e-2, "bf16": 2e-2}
DEFAULT_TOLERANCE = 1e-3

_ROLES = [
    ("weights", "weights: after the softmax"),
    ("scores", "scores: before the softmax"),
    ("bias", "bias: a positional term that is added to scores"),
    ("mask", "mask: which keys a query may see"),
]
_MASK_TRUE = [("masked", "True or 1 means masked"), ("attend", "True or 1 means may attend")]


def count_nonfinite(array: np.ndarray, name: str) -> str | None:
    """Return "3 NaN and 1 −inf in q." or None when all values are finite."""
    if array.dtype.kind != "f":
        return None
    kinds = (("NaN", np.isnan(array)), ("+inf", np.isposinf(array)), ("−inf", np.isneginf(array)))
    parts = [f"{count} {kind}" for kind, where in kinds if (count := int(where.sum()))]
    if not parts:
        return None
    return f"{', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]} in {name}."


def lone_role(array: np.ndarray, dtype: str, choices: Choices, file: str) -> tuple[str, str | None]:
    """Return the role of an array without a telling name, and a note where its values decided.

    Args:
        array: bool or float, 1 to 4 axes.
        dtype: its type in the file.
        choices: the answer for ``role``.
        file: its name, for messages.

    Raises:
        Question: weights, scores, bias or mask.
    """
    if choices.role is not None:
        return choices.settle("role", "", _ROLES), None
    if array.dtype.kind == "b":
        return "mask", None
    if is_additive_mask(array) and (array <= MASK_LIMIT).any():
        return "mask", "Recognised as an additive mask: all values are 0 or at most −10,000."
    if is_probabilities(array, dtype):
        return "weights", "Recognised as weights: no value is negative and rows sum to 1."
    text = (
        f"{file} holds one array {shape_text(array)} whose name and values do not say what it is; say which."
    )
    return choices.settle("role", text, _ROLES), None


def is_probabilities(array: np.ndarray, dtype: str) -> bool:
    """True when no value is negative and rows sum to 1; fully masked rows of zeros may stand among them."""
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all() or (array < 0).any():
        return False
    sums = array.sum(axis=-1, dtype=np.float64)  # [..., query]
    filled = sums[sums != 0]
    return bool(filled.size) and bool((abs(filled - 1) <= SUM_TOLERANCE.get(dtype, DEFAULT_TOLERANCE)).all())


def is_additive_mask(array: np.ndarray) -> bool:
    """True when every value is 0 or so low that it can only mean "masked"."""
    return array.dtype.kind == "f" and bool(((array == 0) | (array <= MASK_LIMIT)).all())


def row_sum_note(weights: np.ndarray, dtype: str) -> str | None:
    """Return "row sums 0.75 and 1.25: dropout or not probabilities", or None when rows sum to 1.

    `weights` is `[head, query, key]`. Fully masked rows are left out.
    """
    sums = np.unique(weights.sum(axis=-1, dtype=np.float64))  # ascending
    sums = sums[np.isfinite(sums) & (sums != 0)]
    if not sums.size or (abs(sums - 1) <= SUM_TOLERANCE.get(dtype, DEFAULT_TOLERANCE)).all():
        return None
    written = list(dict.fromkeys(short(float(value)) for value in sums))
    joined = (
        written[0]
        if len(written) == 1
        else f"{written[0]} {'and' if len(written) == 2 else 'to'} {written[-1]}"
    )
    return f"row sums {joined}: dropout or not probabilities"


def softmaxed_note(scores: np.ndarray, dtype: str) -> str | None:
    """Return a sentence when `scores` [head, query, key] are probabilities, which a second softmax would flatten."""
    if scores.shape[-1] == 1 or not is_probabilities(scores, dtype):
        return None
    return "The scores look like weights, as rows sum to 1; call them weights, or the softmax is taken twice."


def check_weights(weights: np.ndarray, file: str) -> None:
    """Raise ViewerError when a weight is negative: its logarithm would be no number."""
    if (weights < 0).any():
        lowest = short(float(np.nanmin(weights)))
        raise ViewerError(
            f"{file} has weights down to {lowest}, and a weight is never negative; open it as scores."
        )


def visible_from(mask: np.ndarray, polarity_known: bool, choices: Choices, file: str) -> np.ndarray:
    """Return a mask in any form as bool, True = visible.

    Args:
        mask: booleans, 0 and 1, or an additive mask of 0 and very low values.
        polarity_known: True or 1 is known to mean "may attend".
        choices: the answer for ``mask_true``.
        file: its name, for messages.

    Raises:
        Question: what True means.
        ViewerError: other values.
    """
    if is_additive_mask(mask):
        return mask > MASK_LIMIT
    if mask.dtype.kind != "b" and not np.isin(mask, (0, 1)).all():
        raise ViewerError(
            f"the mask in {file} holds other values than 0 and 1, or 0 and −inf; open it as bias."
        )
    allowed = mask.astype(bool)
    if polarity_known:
        return allowed
    text = f"The mask {shape_text(mask)} in {file} does not say what True means: masked or may attend."
    return allowed if choices.settle("mask_true", text, _MASK_TRUE) == "attend" else ~allowed


def split_mask(values: np.ndarray, role: str) -> tuple[np.ndarray, np.ndarray | None, str | None]:
    """Part a mask from the numbers it was added to.

    A mask is data of its own here: as numbers, −10,000 would be drawn as a score, and two such masks add up to
    −inf. In a bias −inf is a mask as well; a score of −inf is shown as what it is.

    Args:
        values: `[head, query, key]` bias or scores.
        role: "bias" or "scores".

    Returns:
        The values, with 0 for masked cells of a bias; which cells are visible, or None when all are; a note.
    """
    hidden = values <= MASK_LIMIT
    if role != "bias":
        hidden &= np.isfinite(values)
    if not hidden.any():
        return values, None, None
    lowest = float(values[hidden].max())
    cells = f"{int(hidden.sum())} cell{'s' if hidden.sum() > 1 else ''}"
    note = f"{cells} of {role} at {short(lowest)} or less read as a mask."
    return (np.where(hidden, np.float32(0), values) if role == "bias" else values), ~hidden, note
