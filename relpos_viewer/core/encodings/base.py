"""The protocol every family of position encodings follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.inputs import AttentionInputs, as_tensor, shape_text
from relpos_viewer.core.offsets import toeplitz_block

Span = tuple[int, int]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family: forms, the command line and documentation are made from it.

    Attributes:
        name: keyword in Python, on the command line and in session files.
        kind: what values it takes; a table is an array, or None for the family's own illustration.
        default: value when nothing is said.
        help: one sentence for people.
        minimum: smallest number allowed.
        maximum: largest number allowed.
        choices: the words allowed, for kind "choice".
    """

    name: str
    kind: Literal["int", "float", "bool", "choice", "table"]
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> Any:
        """Return `value` (a Python value, or text from the command line) as this parameter's type.

        Raises:
            ViewerError: naming the parameter and what it allows.
        """
        readers = {"int": self._int, "float": self._float, "bool": self._bool, "choice": self._choice}
        if self.kind == "table":
            return None if value is None else as_tensor(value, f"the {self.name}")
        return readers[self.kind](value)

    def _float(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ViewerError(f"{self.name} must be a number, not “{value}”.")
        low, high = self.minimum, self.maximum
        if (low is not None and number < low) or (high is not None and number > high):
            raise ViewerError(f"{self.name} must lie {self._domain()}, not {value}.")
        return number

    def _int(self, value: Any) -> int:
        number = self._float(value)
        if number != int(number):
            raise ViewerError(f"{self.name} must be a whole number, not {value}.")
        return int(number)

    def _domain(self) -> str:
        if self.maximum is None:
            return f"at or above {self.minimum:.7g}"
        if self.minimum is None:
            return f"at or below {self.maximum:.7g}"
        return f"between {self.minimum:.7g} and {self.maximum:.7g}"

    def _bool(self, value: Any) -> bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        word = str(value).strip().lower()
        if word not in words:
            raise ViewerError(f"{self.name} must be true or false, not “{value}”.")
        return words[word]

    def _choice(self, value: Any) -> str:
        word = str(value).strip().lower()
        if word not in self.choices:
            raise ViewerError(f"{self.name} cannot be “{value}”{nearest(word, self.choices)}")
        return word


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoding:
    """A position encoding with its parameters, ready to give its term for any inputs.

    A family is a frozen dataclass whose fields are its parameters and `heads`. It overrides `curve` when it is
    Toeplitz (its term depends on the offset alone), otherwise `positional`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    toeplitz: ClassVar[bool]
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    heads: int | None = None
    """Number of heads, or None until the inputs say it."""

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor | None:
        """Return the bias at δ = −(n−1) … n−1 as [head, 2n−1] in score units; None where no single curve exists."""
        return None

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return this family's term in score units, [head, rows, cols] of the full [head, query, key].

        Args:
            inputs: what the scores are computed from.
            scale: the content scale; families whose term depends on q or k multiply by it.
            rows: half-open range of queries, all when None.
            cols: half-open range of keys, all when None.

        Raises:
            ViewerError: when the family cannot be applied to these inputs.
        """
        curve = self.with_heads(inputs.heads).curve(inputs.n_key, inputs.content_dtype)  # [head, 2·key−1]
        assert curve is not None, f"{self.name} has no curve, so it must override positional"
        return toeplitz_block(
            curve.to(inputs.device),
            inputs.query_start,
            rows or (0, inputs.n_query),
            cols or (0, inputs.n_key),
        )  # [head, rows, cols]

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor] | None:
        """Return (q′ [head, query, d], k′ [head, key, d]) where content + positional = scale · q′·k′; else None.

        Such a family costs a long sequence no more than its content does.
        """
        return None

    def terms(self, inputs: AttentionInputs, scale: float) -> dict[str, Tensor] | None:
        """Return the named parts whose sum is content + positional, each [head, query, key]; None without parts."""
        return None

    def buckets(self, n: int) -> Tensor | None:
        """Return the group each offset shares its bias with, int64 [2n−1]; None when every offset is its own."""
        return None

    def beyond(self, n: int) -> Tensor | None:
        """Return which offsets lie past what was drawn or trained, bool [2n−1]; None when there is no such limit."""
        return None

    def with_heads(self, heads: int) -> Self:
        """Return the same encoding for `heads` heads.

        Raises:
            ViewerError: when a table holds another number of heads.
        """
        if self.heads == heads:
            return self
        table = self._head_table()
        if table is not None and table not in (1, heads):
            raise ViewerError(
                f"the {self.name} table holds {table} heads, the queries {heads}; they must agree."
            )
        return replace(self, heads=heads)

    def for_one_head(self, head: int) -> Self:
        """Return the encoding of head `head` alone; families whose parameters differ by head override it."""
        return replace(self, heads=1)

    def _head_table(self) -> int | None:
        """Return the number of heads that a table of this family fixes, None when none does."""
        return None

    @property
    def values(self) -> dict[str, Any]:
        """The parameters by name, without `heads`."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "heads"}


def needs_queries(name: str, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
    """Return q [head, query, d] and k [head, key, d] for a family whose term depends on them.

    Raises:
        ViewerError: when only scores are known.
    """
    if inputs.q is None or inputs.k is None:
        raise ViewerError(
            f"{name} needs queries and keys, and this file gives only scores; choose a bias family."
        )
    return inputs.q, inputs.keys_per_head()


def check_table(table: Tensor, name: str, axes: str, ndim: int) -> Tensor:
    """Return `table` when it has `ndim` axes, none of them empty.

    Raises:
        ViewerError: naming the axes that were expected.
    """
    if table.ndim != ndim or 0 in table.shape:
        raise ViewerError(f"the {name} table has shape {shape_text(table)}; give {axes}.")
    return table


def read_parameters(family: type[Encoding], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters of a family by its table.

    Raises:
        ViewerError: for an unknown parameter (with the nearest name) or a value outside its domain.
    """
    known = {parameter.name: parameter for parameter in family.parameters}
    for name in given:
        if name not in known:
            hint = nearest(name, known) if known else "; it has none"
            raise ViewerError(f"{family.name} has no parameter “{name}”{hint}")
    return {name: known[name].read(value) for name, value in given.items()}


def head_spread(heads: int) -> np.ndarray:
    """Return `heads` numbers evenly spread over 0 … 1, for illustrations in which every head differs. [head]"""
    return (np.arange(heads) + 0.5) / heads
