"""AttentionInputs: everything one layer's attention is computed from, apart from encoding, mask and edit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens


@dataclass(frozen=True, eq=False)
class AttentionInputs:
    """Queries, keys and what came with them. Tensors are float32 unless the caller chose float64.

    Either `q` and `k` are set, or `given`: scores that stand for content when no queries and keys are known.

    Attributes:
        tokens: one for each key; the queries are the last n_query of them.
        q: [head, query, d].
        k: [key_head, key, d], key_head divides head (grouped queries).
        v: [key_head, key, d_v].
        given: [head, query, key] content in score units.
        weights: [head, query, key] when weights were given: rows that nothing is added to show them bit for bit.
        row_sums: [head, query, 1] when `given` is the logarithm of given weights: weights = row_sums · softmax.
        bias: [head, query, key] positional term that came with the file, score units.
        visible: bool [query, key] or [head, query, key] that came with the file, True = visible.
        w_q: [head, D, d] query projection, where it is known; absolute positions pass through it.
        w_k: [head, D, d] key projection.
        origin: where this came from, for people.
        notes: what a reader should know about it, one sentence each.
    """

    tokens: Tokens
    q: Tensor | None = None
    k: Tensor | None = None
    v: Tensor | None = None
    given: Tensor | None = None
    weights: Tensor | None = None
    row_sums: Tensor | None = None
    bias: Tensor | None = None
    visible: Tensor | None = None
    w_q: Tensor | None = None
    w_k: Tensor | None = None
    origin: str = ""
    notes: tuple[str, ...] = ()

    @property
    def _shaped(self) -> Tensor:
        shaped = self.q if self.q is not None else self.given
        assert shaped is not None, "inputs hold either q and k, or given scores"
        return shaped

    @property
    def heads(self) -> int:
        """Number of query heads."""
        return self._shaped.shape[0]

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self._shaped.shape[1]

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.k.shape[1] if self.k is not None else self._shaped.shape[2]

    @property
    def head_dim(self) -> int | None:
        """Width of a query, or None when only scores are known."""
        return self.q.shape[2] if self.q is not None else None

    @property
    def query_start(self) -> int:
        """Position of the first query: the queries are the last rows of the sequence."""
        return self.n_key - self.n_query

    @property
    def content_dtype(self) -> torch.dtype:
        """float32, or float64 when the caller gave that."""
        return self._shaped.dtype

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self._shaped.device

    def keys_per_head(self) -> Tensor:
        """Return k as [head, key, d]: head h reads key head ⌊h · key_heads / heads⌋."""
        assert self.k is not None
        return repeat_heads(self.k, self.heads)  # [head, key, d]

    def to(self, device: torch.device | str) -> AttentionInputs:
        """Return the same inputs on `device`."""
        moved = {
            name: value.to(device)
            for name in ("q", "k", "v", "given", "weights", "row_sums", "bias", "visible", "w_q", "w_k")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **moved)

    def head(self, head: int) -> AttentionInputs:
        """Return the inputs of one head alone, each tensor with a head axis of length 1 (views)."""
        one = slice(head, head + 1)

        def pick(value: Tensor | None) -> Tensor | None:
            if value is None:
                return None
            if value.shape[0] == self.heads:
                return value[one]
            key_head = head * value.shape[0] // self.heads  # grouped queries
            return value[key_head : key_head + 1]

        visible = self.visible
        return replace(
            self,
            **{
                name: pick(getattr(self, name))
                for name in ("q", "k", "v", "given", "weights", "row_sums", "bias", "w_q", "w_k")
            },
            visible=visible[one] if visible is not None and visible.ndim == 3 else visible,
        )


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """Return grouped keys or values [key_head, n, d] as [head, n, d], each repeated for its queries."""
    groups = heads // x.shape[0]
    return x if groups == 1 else x.repeat_interleave(groups, dim=0)


def as_tensor(array: object, name: str) -> Tensor:
    """Return `array` as a floating tensor: float64 stays, everything else becomes float32.

    Raises:
        ViewerError: when `array` holds no numbers.
    """
    if isinstance(array, Tensor):
        tensor = array.detach()
        if tensor.layout != torch.strided or tensor.is_meta:
            raise ViewerError(f"{name} is a sparse tensor or one without values; give a dense one.")
    else:
        try:
            values = np.asarray(array)
        except (TypeError, ValueError) as error:  # rows of unequal length, tensors on another device
            reason = str(error).partition(".")[0]
            raise ViewerError(f"{name} is no array of numbers ({reason}); give a float array.") from None
        if values.dtype.kind not in "biuf":
            raise ViewerError(f"{name} holds {values.dtype}, not real numbers; give a float array.")
        # torch knows neither long doubles nor foreign byte orders.
        native = np.dtype(np.float64) if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
        values = values.astype(native, copy=False)
        # A document's arrays are read-only, which torch cannot express: it gets a copy of those.
        tensor = torch.from_numpy(np.require(values, requirements=["C", "W"]))
    if tensor.is_complex():
        raise ViewerError(f"{name} holds complex numbers; give a float array.")
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def inputs_from_arrays(
    q: object, k: object, v: object = None, *, tokens: Tokens | None = None, origin: str = "arrays"
) -> AttentionInputs:
    """Check that queries, keys and values fit together.

    Args:
        q: [head, query, d] or [query, d] (one head).
        k: [key_head, key, d] or [key, d].
        v: [key_head, key, d_v] or [key, d_v], optional.
        tokens: labels of the keys; numbered when missing.
        origin: where the arrays came from, for people.

    Raises:
        ViewerError: naming the shapes that do not fit.
    """
    tensors = {"q": as_tensor(q, "q"), "k": as_tensor(k, "k")}
    if v is not None:
        tensors["v"] = as_tensor(v, "v")
    dtype = torch.float64 if any(t.dtype == torch.float64 for t in tensors.values()) else torch.float32
    for name, tensor in tensors.items():
        if tensor.ndim not in (2, 3):
            raise ViewerError(f"{name} has shape {shape_text(tensor)}; give [head, n, d] or [n, d].")
        tensors[name] = (tensor if tensor.ndim == 3 else tensor[None]).to(dtype)
    q_, k_, v_ = tensors["q"], tensors["k"], tensors.get("v")
    shapes = f"q {shape_text(q_)} and k {shape_text(k_)}"
    if 0 in q_.shape or 0 in k_.shape:
        raise ViewerError(f"{shapes} hold nothing; give at least one token and one dimension.")
    if q_.shape[2] != k_.shape[2]:
        raise ViewerError(f"{shapes} differ in their last axis, the head size; it must be the same.")
    if q_.shape[0] % k_.shape[0]:
        raise ViewerError(f"{shapes}: the number of key heads must divide the number of query heads.")
    if q_.shape[1] > k_.shape[1]:
        raise ViewerError(
            f"{shapes}: there are more queries than keys; the queries must be the last positions."
        )
    if v_ is not None and v_.shape[:2] != k_.shape[:2]:
        raise ViewerError(
            f"v {shape_text(v_)} does not fit k {shape_text(k_)}; heads and positions must agree."
        )
    n_key = k_.shape[1]
    if tokens is None:
        tokens = Tokens(tuple(map(str, range(n_key))))
    if len(tokens) != n_key:
        raise ViewerError(f"there are {len(tokens)} tokens for {n_key} keys; give one token a key.")
    return AttentionInputs(tokens, q_, k_, v_, origin=origin)


def shape_text(array: Tensor | np.ndarray) -> str:
    """Write a shape as people read it: [4, 12, 32]."""
    return "[" + ", ".join(map(str, array.shape)) + "]"
