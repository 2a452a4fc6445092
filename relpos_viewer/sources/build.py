"""Makes the inputs of one attention layer from the source of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs, inputs_from_arrays, shape_text
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.embeddings import text_inputs
from relpos_viewer.sources.labels import numbered
from relpos_viewer.sources.text import tokenize


class TextLike(Protocol):
    """A typed sequence; `document.TextSource` is one."""

    kind: str  # "text"
    text: str
    tokenizer: str
    heads: int
    dim: int
    seed: int


class ArraysLike(Protocol):
    """Arrays with their tokens; `document.ArraySource` is one."""

    kind: str  # "arrays"
    label: str
    arrays: Mapping[str, np.ndarray]
    tokens: tuple[str, ...]
    ids: tuple[int, ...] | None
    notes: tuple[str, ...]
    heads: int


def inputs_for(source: TextLike | ArraysLike) -> AttentionInputs:
    """Return queries, keys and all that came with them, on the CPU. Any thread.

    * typed text: content from the spelling of its tokens;
    * tokens alone: likewise;
    * q and k: themselves;
    * scores: they stand for content;
    * weights: their logarithm stands for content (−inf for 0) and `row_sums` keeps what rows summed to, so the
      weights shown are the weights given;
    * a bias or a mask alone: content is 0.

    Raises:
        ViewerError: no tokens, or arrays that do not fit each other.
    """
    if source.kind == "text":
        return text_inputs(tokenize(source.text, source.tokenizer), source.heads, source.dim, source.seed)
    return _from_arrays(source)


def _from_arrays(source: ArraysLike) -> AttentionInputs:
    arrays = dict(source.arrays)
    documents = arrays.pop("documents", None)
    tokens = None
    if source.tokens:
        # Spans point into a text that is not kept, so they are left out.
        tokens = Tokens(source.tokens, ids=source.ids)
    bias, visible = _tensor(arrays.get("bias")), _tensor(arrays.get("visible"))
    notes = list(source.notes)
    if "q" in arrays or "k" in arrays:
        if "q" not in arrays or "k" not in arrays:
            raise ViewerError(f"{source.label} holds only one of q and k; give both.")
        inputs = inputs_from_arrays(
            arrays["q"], arrays["k"], arrays.get("v"), tokens=tokens, origin=source.label
        )
    elif not arrays:
        if tokens is None:
            raise ViewerError(f"{source.label} holds neither tokens nor arrays; open another file.")
        inputs = text_inputs(tokens, source.heads)
        notes += inputs.notes
    else:
        given, weights, note = _given(arrays)
        notes += [note] if note else []
        tokens = tokens or numbered(given.shape[2])
        sums = None if weights is None else weights.sum(dim=-1, keepdim=True)  # [head, query, 1]
        inputs = AttentionInputs(tokens, given=given, weights=weights, row_sums=sums)
    shape = (inputs.heads, inputs.n_query, inputs.n_key)
    if len(inputs.tokens) != shape[2]:
        raise ViewerError(
            f"{source.label} has {len(inputs.tokens)} tokens for {shape[2]} keys; give one token a key."
        )
    if shape[1] > shape[2]:
        raise ViewerError(
            f"{source.label} has {shape[1]} queries and {shape[2]} keys; it must not have more queries."
        )
    return AttentionInputs(
        _in_documents(inputs.tokens, documents, source.label),
        q=inputs.q,
        k=inputs.k,
        v=inputs.v,
        given=inputs.given,
        weights=inputs.weights,
        row_sums=inputs.row_sums,
        bias=_spread(bias, shape, "bias", source.label),
        visible=_spread(visible, shape, "visible", source.label),
        w_q=inputs.w_q,
        w_k=inputs.w_k,
        origin=source.label,
        notes=tuple(notes),
    )


def _in_documents(tokens: Tokens, documents: np.ndarray | None, label: str) -> Tokens:
    if documents is None:
        return tokens
    if documents.shape != (len(tokens),):
        raise ViewerError(
            f"documents of {label} must name one for each of {len(tokens)} tokens; save it again."
        )
    return replace(tokens, documents=tuple(documents.tolist()))


def _tensor(array: np.ndarray | None) -> Tensor | None:
    if array is None:
        return None
    # torch takes neither read-only nor reversed arrays without a copy or a warning.
    tensor = torch.from_numpy(np.array(array, copy=True, order="C"))
    return tensor if tensor.dtype in (torch.bool, torch.float64) else tensor.float()


def _given(arrays: Mapping[str, np.ndarray]) -> tuple[Tensor, Tensor | None, str | None]:
    """Return scores that stand for content, given weights, both `[head, query, key]`, and a note."""
    if (scores := _tensor(arrays.get("scores"))) is not None:
        return _matrices(scores), None, None
    if (weights := _tensor(arrays.get("weights"))) is not None:
        weights = _matrices(weights)
        return weights.log(), weights, None
    for name in ("bias", "visible"):
        if name in arrays:
            shape = arrays[name].shape
            zeros = torch.zeros(shape if len(shape) == 3 else (1, *shape))  # [head, query, key]
            return zeros, None, "Content is 0: the file holds no queries, keys or scores."
    raise ViewerError(
        f"nothing to draw among {', '.join(arrays)}; give q and k, scores, weights, bias or visible."
    )


def _matrices(tensor: Tensor) -> Tensor:
    return tensor if tensor.ndim == 3 else tensor[None]  # [head, query, key]


def _spread(tensor: Tensor | None, shape: tuple[int, int, int], name: str, label: str) -> Tensor | None:
    """Return `tensor` for every head as a view; a mask `[query, key]` stays as it is."""
    if tensor is None or (name == "visible" and tensor.ndim == 2 and tuple(tensor.shape) == shape[1:]):
        return tensor
    try:
        return tensor.expand(shape)
    except RuntimeError:
        raise ViewerError(
            f"{name} {shape_text(tensor)} of {label} does not fit {list(shape)}, [head, query, key]; save it again."
        ) from None
