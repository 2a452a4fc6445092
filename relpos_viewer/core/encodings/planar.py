"""What the families over an image have in common: tokens lie in a grid, and a table gives the bias over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneEncoding(Encoding):
    """A family whose bias is a table over the offset in the plane; a sequence fills the grid row by row.

    Attributes of the class:
        plane_range: the smallest and largest value that the plane may hold; None without such limits.
        first_patch: how many tokens come before the grid.
        beside: names of the numbers of a head that are not about two tokens of the grid.
    """

    plane_range: ClassVar[tuple[float, float] | None] = None
    first_patch: ClassVar[int] = 0
    beside: ClassVar[tuple[str, ...]] = ()

    width: int = 8
    table: Tensor | None = None

    def height(self, n: int) -> int:
        """Return the rows of the grid for n tokens."""
        raise NotImplementedError(f"{self.name} has no grid")

    def plane(self, head: int, n: int) -> Tensor:
        """Return a head's bias by key − query, [2h − 1, 2w − 1]."""
        raise NotImplementedError(f"{self.name} has no plane")

    def with_plane(self, head: int, plane: Tensor, n: int) -> Self:
        """Return the encoding with a head's `plane` replaced.

        Raises:
            ViewerError: for values that the family cannot take.
        """
        raise NotImplementedError(f"{self.name} has no plane")

    def planes(self, n: int) -> Tensor:
        """Return every head's bias by key − query, [head, 2h − 1, 2w − 1]."""
        return torch.stack([self.plane(head, n) for head in range(self.heads or 1)])

    def plane_offset(self, query: int, key: int) -> tuple[int, int] | None:
        """Return key − query as (rows, columns) for two positions; None where one of them is not in the grid."""
        if min(query, key) < self.first_patch:
            return None
        row, column = divmod(query - self.first_patch, self.width)
        key_row, key_column = divmod(key - self.first_patch, self.width)
        return key_row - row, key_column - column

    def beside_plane(self, head: int, n: int) -> Tensor:
        """Return the numbers named by `beside`, [number]."""
        return torch.empty(0)

    def with_beside_plane(self, head: int, numbers: Tensor, n: int) -> Self:
        """Return the encoding with a head's numbers of `beside` replaced, [number]."""
        raise NotImplementedError(f"{self.name} has no numbers beside its plane")
