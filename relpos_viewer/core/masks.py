"""Masks: which keys a query may see. Bool, True = visible; never a large negative number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.inputs import shape_text
from relpos_viewer.core.offsets import offset_matrix

Kind = Literal["none", "causal", "window", "prefix", "padding", "left-padding", "documents", "custom"]


@dataclass(frozen=True)
class MaskKind:
    """A row of the table of masks: what a form and the command line need to offer it."""

    name: str
    title: str
    argument: str  # name of its number, "" when it has none
    default: int | None
    help: str


MASKS: tuple[MaskKind, ...] = (
    MaskKind("none", "none", "", None, "Every query sees every key."),
    MaskKind("causal", "causal", "", None, "A query sees itself and the past."),
    MaskKind("window", "sliding window", "width", 8, "A query sees itself and the width − 1 keys before it."),
    MaskKind(
        "prefix", "prefix", "length", 4, "The first keys are seen by all; after them the mask is causal."
    ),
    MaskKind(
        "padding", "padding", "length", 4, "The last keys are padding, seen by nobody; no key is future."
    ),
    MaskKind(
        "left-padding",
        "left padding",
        "length",
        4,
        "Causal, and the first keys are padding, seen by nobody, as when a decoder works on a batch.",
    ),
    MaskKind("documents", "documents", "", None, "Causal, and only inside the query's own document."),
)

_ARGUMENTS = {kind.name: kind.argument for kind in MASKS}


@dataclass(frozen=True, eq=False)
class Mask:
    """One mask, ready to be laid over any number of queries and keys.

    Attributes:
        kind: the row of `MASKS`, or "custom" for a bool array.
        argument: window width, or length of the prefix or padding.
        lengths: lengths of the packed documents, when they were given with the mask.
        array: bool [query, key] or [head, query, key] of a custom mask.
    """

    kind: Kind = "none"
    argument: int = 0
    lengths: tuple[int, ...] = ()
    array: Tensor | None = None

    @property
    def spec(self) -> str:
        """The text that `parse_mask` reads back ("custom" for an array)."""
        if _ARGUMENTS.get(self.kind):
            return f"{self.kind}:{self.argument}"
        if self.kind == "documents" and self.lengths:
            return f"documents:{','.join(map(str, self.lengths))}"
        return self.kind

    def visible(
        self,
        n_query: int,
        n_key: int,
        documents: tuple[int, ...] | None = None,
        device: torch.device | str = "cpu",
    ) -> Tensor:
        """Return the visible cells, bool [query, key] (or [head, query, key] for such an array).

        Args:
            n_query: number of queries, the last of the n_key positions.
            n_key: number of keys.
            documents: the document of each key, used when the mask itself carries no lengths.
            device: where the answer lies.

        Raises:
            ViewerError: when a custom array or document lengths do not fit.
        """
        if self.kind == "none":
            return torch.ones(n_query, n_key, dtype=torch.bool, device=device)
        if self.array is not None:
            if self.array.shape[-2:] != (n_query, n_key):
                raise ViewerError(
                    f"the mask is {shape_text(self.array)}, the scores are [{n_query}, {n_key}]; they must agree."
                )
            return self.array.to(device)
        if self.kind == "padding":
            return (torch.arange(n_key, device=device) < n_key - self.argument).expand(n_query, -1)
        offset = offset_matrix(n_query, n_key, device)  # [query, key]
        causal = offset <= 0  # [query, key]
        if self.kind == "window":
            return causal & (offset > -self.argument)
        if self.kind == "prefix":
            return causal | (torch.arange(n_key, device=device) < self.argument)
        if self.kind == "left-padding":
            return causal & (torch.arange(n_key, device=device) >= self.argument)
        if self.kind == "documents":
            document = torch.tensor(self.document_of_each(n_key, documents), device=device)  # [key]
            return causal & (document[n_key - n_query :, None] == document[None, :])
        return causal

    def document_of_each(self, n_key: int, documents: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the document of each key; `documents` holds when the mask carries no lengths of its own."""
        if not self.lengths:
            return documents if documents is not None else (0,) * n_key
        if sum(self.lengths) != n_key:
            raise ViewerError(
                f"the documents of the mask add up to {sum(self.lengths)} tokens, the sequence has {n_key}; "
                "mend their lengths."
            )
        return tuple(index for index, length in enumerate(self.lengths) for _ in range(length))


def parse_mask(mask: str | np.ndarray | Tensor | Mask | None) -> Mask:
    """Read a mask: "none", "causal", "window:W", "prefix:P", "padding:P", "left-padding:P", "documents",
    "documents:4,2" or a bool array.

    Raises:
        ViewerError: for an unknown name, a bad number, or an array that is not bool.
    """
    if mask is None:
        return Mask()
    if isinstance(mask, Mask):
        return mask
    if not isinstance(mask, str):
        # Writeable, since torch warns about arrays it could not write to; those of a document are read-only.
        array = mask if isinstance(mask, Tensor) else _array(mask)
        if array.dtype != torch.bool or array.ndim not in (2, 3):
            raise ViewerError(
                f"a mask array must be bool [query, key] with True = visible; this one is {array.dtype} "
                f"{shape_text(array)}."
            )
        return Mask("custom", array=array)
    name, colon, argument = mask.strip().lower().partition(":")
    known = {kind.name: kind for kind in MASKS}
    if name not in known:
        raise ViewerError(f"unknown mask “{name}”{nearest(name, known)}")
    if name == "documents" and colon:
        return Mask("documents", lengths=tuple(_whole(part, mask, 1) for part in argument.split(",")))
    if known[name].argument:
        default = known[name].default
        assert default is not None
        return Mask(name, argument=_whole(argument, mask, 1) if colon else default)  # type: ignore[arg-type]
    if colon:
        raise ViewerError(f"the mask “{name}” takes no number; write {name}.")
    return Mask(name)  # type: ignore[arg-type]


def _array(mask: object) -> Tensor:
    try:
        return torch.from_numpy(np.require(mask, requirements=["C", "W"]))
    except (TypeError, ValueError):  # rows of unequal length, or values that are no numbers
        raise ViewerError("a mask array must be bool [query, key] with True = visible.") from None


def _whole(text: str, mask: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= 2**31:
        raise ViewerError(f"“{text}” in the mask “{mask}” must be a whole number of at least {least}.")
    return value
