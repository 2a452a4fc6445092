"""Swin's two-dimensional bias table. Liu et al. 2021, arXiv 2103.14030."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_PLACES,
    Convention,
    Parameter,
    Span,
    Variant,
    check_table,
    constant,
    head_spread,
)
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class Swin(PlaneEncoding):
    """b_h(i, j) = table[(y_i − y_j + h − 1)·(2w − 1) + x_i − x_j + w − 1, head], tokens row by row in a window h × w.

    A function of the offset in the plane; along the line δ = key − query it is none.
    """

    name = "swin"
    title = "Swin window bias"
    paper = "Liu et al. 2021, arXiv 2103.14030"
    summary = "Tokens lie in a window of rows; the bias is a learned table over the offset in the plane."
    toeplitz = False
    sign = "The table is indexed by query − key, row offset first; the plane shows it by key − query."
    scaling = "Content is scaled by 1/√d, the bias is not."
    parameters = (
        Parameter("width", "int", 7, "Tokens in a row of the window; rows are as many as it takes.", 1, 4096),
        Parameter(
            "table", "table", None, "Learned bias [(2h − 1)·(2w − 1), head]; an illustration when empty."
        ),
    )
    head_axes: ClassVar = {"table": 1}
    extra: ClassVar[int] = 0  # rows of the table that are not about offsets in the plane

    width: int = 7
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the table holds whole rows of the plane."""
        if self.table is not None:
            check_table(self.table, self.name, "[(2h − 1)·(2w − 1), head]", 2)
            rows, rest = divmod(self.table.shape[0] - self.extra, 2 * self.width - 1)
            if rest or rows % 2 == 0:
                raise ViewerError(
                    f"the {self.name} table holds {self.table.shape[0]} rows; width {self.width} needs "
                    f"(2h − 1)·{2 * self.width - 1}{f' + {self.extra}' if self.extra else ''} of them."
                )

    def height(self, n: int) -> int:
        """Return the rows of the window for n tokens.

        Raises:
            ViewerError: when the table's window is too small.
        """
        needed = max(math.ceil(n / self.width), 1)
        if self.table is None:
            return needed
        height = ((self.table.shape[0] - self.extra) // (2 * self.width - 1) + 1) // 2
        if needed > height:
            raise ViewerError(
                f"the {self.name} table is for a window of {height} × {self.width} = {height * self.width} tokens, and "
                f"there are {n}; shorten the sequence, or reset the table."
            )
        return height

    def table_for(self, n: int) -> Tensor:
        """Return the table of every head, [(2h − 1)·(2w − 1) (+ extra), head]."""
        heads = self.heads or 1
        if self.table is not None:
            return self.table.expand(-1, self.heads or self.table.shape[1])
        tables = [self._illustration(self.height(n), self.first_head + head) for head in range(heads)]
        return torch.from_numpy(np.stack(tables, 1))

    def _illustration(self, height: int, head: int) -> np.ndarray:
        """Return a head's column of the table: a hill beside the query, at another place in each head."""
        dy, dx = np.mgrid[1 - height : height, 1 - self.width : self.width]  # key − query
        angle = 2.4 * head + 0.7
        away = (dy - 1.4 * math.sin(angle)) ** 2 + (dx - 1.4 * math.cos(angle)) ** 2
        plane = 2.5 * np.exp(-away / 4) - 0.25 * np.sqrt(away)  # [2h − 1, 2w − 1]
        column = plane[::-1, ::-1].ravel()  # by query − key
        return np.concatenate((column, 0.5 - head_spread(self.extra))) if self.extra else column

    def for_blocks(self, inputs: AttentionInputs) -> Self:
        """Return the encoding with its table made."""
        return replace(self, table=self.with_heads(inputs.heads).table_for(inputs.n_key))

    def index(self, query: Tensor, key: Tensor, height: int) -> Tensor:
        """Return the row of the table for tokens at positions query and key (broadcast), int64."""
        dy = query // self.width - key // self.width
        dx = query % self.width - key % self.width
        return (dy + height - 1) * (2 * self.width - 1) + dx + self.width - 1

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the bias of a block, [head, rows, cols]."""
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        table = self.with_heads(inputs.heads).table_for(inputs.n_key)  # [row, head]
        query = torch.arange(*rows)[:, None] + inputs.query_start  # [rows, 1]
        place = self.index(query, torch.arange(*cols)[None, :], self.height(inputs.n_key))  # [rows, cols]
        return table.to(inputs.content_dtype).T[:, place].to(inputs.device)  # [head, rows, cols]

    def plane(self, head: int, n: int) -> Tensor:
        """Return the head's bias by key − query, [2h − 1, 2w − 1]."""
        column = self.table_for(n)[:, head]  # [row]
        whole = len(column) - self.extra
        return column[:whole].view(-1, 2 * self.width - 1).flip(0, 1)

    def with_plane(self, head: int, plane: Tensor, n: int) -> Self:
        """Return the encoding with the head's plane replaced, exactly."""
        table = self.table_for(n).clone()  # [row, head]
        table[: len(table) - self.extra, head] = plane.to(table).flip(0, 1).reshape(-1)
        return replace(self, table=table)

    def beside_plane(self, head: int, n: int) -> Tensor:
        """Return what the head's column holds after the plane, [number]."""
        column = self.table_for(n)[:, head]  # [row]
        return column[len(column) - self.extra :]

    def with_beside_plane(self, head: int, numbers: Tensor, n: int) -> Self:
        """Return the encoding with the head's numbers after the plane replaced, exactly."""
        table = self.table_for(n).clone()  # [row, head]
        table[len(table) - self.extra :, head] = numbers.to(table)
        return replace(self, table=table)

    def trained_length(self) -> int | None:
        """Return the tokens of the window that a table is for."""
        if self.table is None:
            return None
        return ((self.table.shape[0] - self.extra) // (2 * self.width - 1) + 1) // 2 * self.width

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the layout of the table."""
        height = self.height(n)
        text = (
            f"{height} × {self.width} tokens, {2 * height - 1} × {2 * self.width - 1} offsets in the plane."
        )
        return (Convention("Window", text),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the table read as key − query."""
        table = self.table_for(inputs.n_key)  # [row, head]
        whole = table.shape[0] - self.extra
        turned = torch.cat((table[:whole].flip(0), table[whole:]))  # [row, head]
        help = "The table read by key − query: left and right, up and down change places."
        return (Variant("key − query", help, replace(self, table=turned)),)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return where the table ends."""
        known = self.trained_length()
        if known is None:
            return "The illustration grows with the window; a learned table has no rows for a larger one."
        return f"The table is for a window of {known:,} tokens: a longer sequence has no rows in it, and is refused."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the look-up in the plane."""
        height = self.height(n_key)
        return f"""{constant("TABLE", self.table_for(n_key), "[row, head]")}


{BIAS_OF_PLACES}
    key = torch.arange(n_key)[None, :]
    query = torch.arange(n_key - n_query, n_key)[:, None]
    dy = query // {self.width} - key // {self.width}
    dx = query % {self.width} - key % {self.width}
    place = (dy + {height - 1}) * {2 * self.width - 1} + dx + {self.width - 1}  # [query, key]
    return TABLE[place].permute(2, 0, 1).to(device, torch.float32)  # [head, query, key]
"""
