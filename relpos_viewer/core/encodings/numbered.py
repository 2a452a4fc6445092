"""What families have in common whose curve is a closed formula of a few numbers for each head."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Convention, Encoding, Knob, check_table
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import digits
from relpos_viewer.core.offsets import offsets


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberedEncoding(Encoding):
    """A Toeplitz family b_h(δ) = formula(δ, numbers of head h).

    `numbers` names its tables and their domains. Each table is [head], or None for the values of `stand_in`.
    """

    toeplitz = True
    numbers: ClassVar[tuple[Knob, ...]]

    def __post_init__(self) -> None:
        """Check every table.

        Raises:
            ViewerError: naming the table and its domain.
        """
        for knob in self.numbers:
            table = getattr(self, knob.name)
            if table is None:
                continue
            check_table(table, f"{self.name} {knob.name}", "[head]", 1)
            if not bool(((table >= knob.low) & (table <= knob.high)).all()):
                wanted = (
                    f"at or above {digits(knob.low, 6)}"
                    if np.isinf(knob.high)
                    else f"between {digits(knob.low, 6)} and {digits(knob.high, 6)}"
                )
                raise ViewerError(f"{self.name} {knob.name} must lie {wanted}.")

    @abstractmethod
    def stand_in(self, heads: int) -> dict[str, np.ndarray]:
        """Return values for tables that were not given, [head] each: an illustration in which every head differs."""

    @abstractmethod
    def formula(self, delta: Tensor, **numbers: Tensor) -> Tensor:
        """Return the bias at δ, float64 [head, offset], for numbers float64 [head, 1] each."""

    def number_of_each(self) -> dict[str, Tensor]:
        """Return every number of every head, float64 [head] each."""
        given = [table for knob in self.numbers if (table := getattr(self, knob.name)) is not None]
        heads = self.heads or max((len(table) for table in given), default=1)
        stand_in = self.stand_in(heads)
        tables = {}
        for knob in self.numbers:
            table = getattr(self, knob.name)
            tables[knob.name] = (
                torch.from_numpy(stand_in[knob.name]) if table is None else table.double().expand(heads)
            )
        return tables

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the formula at every offset, [head, 2n−1]."""
        numbers = {name: table[:, None] for name, table in self.number_of_each().items()}  # [head, 1] each
        return self.formula(offsets(n).double(), **numbers).to(dtype)  # [head, 2n−1]

    def fit_at(self, delta: Tensor, head: int) -> Tensor:
        """Return the formula of one head at some offsets, float64 [place]."""
        numbers = {
            name: table[head, None, None] for name, table in self.number_of_each().items()
        }  # [1, 1] each
        return self.formula(delta.double(), **numbers)[0]  # [place]

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return the numbers of a head."""
        return self.numbers

    def knob_values(self, head: int) -> np.ndarray:
        """Return the head's numbers, float64 [number]."""
        return np.array([float(table[head]) for table in self.number_of_each().values()])

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with the head's numbers replaced, brought into their domains."""
        tables = {}
        for (name, table), knob, value in zip(
            self.number_of_each().items(), self.numbers, values, strict=True
        ):
            tables[name] = table.clone()  # [head]
            tables[name][head] = min(max(float(value), knob.low), knob.high)
        return replace(self, **tables)

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the numbers of each head."""
        tables = self.number_of_each()
        rows = tuple(
            (str(head), *(f"{number:.6g}" for number in numbers))
            for head, numbers in enumerate(zip(*(table.tolist() for table in tables.values()), strict=True))
        )
        return (Convention("Numbers of each head", "", ("head", *tables), rows),)
