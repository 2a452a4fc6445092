"""BEiT: Swin's table over image patches, and three numbers for the class token. Bao et al. 2021, arXiv 2106.08254."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import BIAS_OF_PLACES, constant
from relpos_viewer.core.encodings.swin import Swin


@dataclass(frozen=True, eq=False, kw_only=True)
class Beit(Swin):
    """Token 0 is the class token; the others are patches, row by row.

    The table's last three rows: class → patch, patch → class, class → class (query → key).
    """

    name = "beit"
    title = "BEiT patch bias"
    paper = "Bao et al. 2021, arXiv 2106.08254"
    summary = (
        "A class token and a grid of patches: a table over the offset in the plane, and three numbers more."
    )
    parameters = (
        replace(
            Swin.parameters[0],
            default=14,
            help="Patches in a row of the image; rows are as many as it takes.",
        ),
        replace(
            Swin.parameters[1], help="Learned bias [(2h − 1)·(2w − 1) + 3, head]; an illustration when empty."
        ),
    )
    extra: ClassVar[int] = 3
    first_patch: ClassVar[int] = 1
    beside: ClassVar[tuple[str, ...]] = ("class → patch", "patch → class", "class → class")

    width: int = 14

    def height(self, n: int) -> int:
        """Return the rows of patches; the class token is none of them."""
        return super().height(max(n - 1, 1))

    def index(self, query: Tensor, key: Tensor, height: int) -> Tensor:
        """Return the row of the table, int64."""
        rows = (2 * height - 1) * (2 * self.width - 1)
        place = super().index((query - 1).clamp_min(0), (key - 1).clamp_min(0), height)
        place = torch.where(query == 0, rows, place)
        place = torch.where(key == 0, torch.where(query == 0, rows + 2, rows + 1), place)
        return place

    def trained_length(self) -> int | None:
        """Return the patches of the image that a table is for, and the class token."""
        patches = super().trained_length()
        return None if patches is None else patches + 1

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the look-up in the plane, with the class token first."""
        height = self.height(n_key)
        rows = (2 * height - 1) * (2 * self.width - 1)
        return f"""{constant("TABLE", self.table_for(n_key), "[row, head]")}


{BIAS_OF_PLACES}
    key = torch.arange(n_key)[None, :]
    query = torch.arange(n_key - n_query, n_key)[:, None]
    y_q, x_q = (query - 1).clamp_min(0) // {self.width}, (query - 1).clamp_min(0) % {self.width}
    y_k, x_k = (key - 1).clamp_min(0) // {self.width}, (key - 1).clamp_min(0) % {self.width}
    place = (y_q - y_k + {height - 1}) * {2 * self.width - 1} + x_q - x_k + {self.width - 1}
    place = torch.where(query == 0, {rows}, place)  # the class token asks
    place = torch.where(key == 0, torch.where(query == 0, {rows + 2}, {rows + 1}), place)  # it is asked
    return TABLE[place].permute(2, 0, 1).to(device, torch.float32)  # [head, query, key]
"""
