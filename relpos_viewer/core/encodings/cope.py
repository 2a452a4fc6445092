"""CoPE, contextual position encoding. Golovneva et al. 2024, arXiv 2405.18719."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Encoding,
    Handle,
    Parameter,
    Span,
    check_table,
    check_width,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.reach import far_end, reached
from relpos_viewer.core.encodings.relative import drawn, waves
from relpos_viewer.core.inputs import AttentionInputs

SEED = 23
MOST = 2**20  # positions


@dataclass(frozen=True, eq=False, kw_only=True)
class CoPE(Encoding):
    """Gates g_il = σ(s·q_i·k_l) are counted from the key to the query: p_ij = Σ_{l=j}^{i} g_il, at most positions − 1.

    The bias is q_i · e[p], interpolated between whole positions, unscaled. Keys after the query count nothing.
    """

    name = "cope"
    title = "CoPE contextual positions"
    paper = "Golovneva et al. 2024, arXiv 2405.18719"
    summary = (
        "Positions are counted by gates that depend on content: only tokens that matter move the count on."
    )
    toeplitz = False
    sign = "Positions count back from the query, both ends included."
    scaling = "Gates see the scaled score; the bias q·e[p] is added unscaled."
    parameters = (
        Parameter("positions", "int", 64, "Number of positions; farther ones share the last.", 2, MOST),
        Parameter("table", "table", None, "Vectors e [position, d] of every head; seeded when empty."),
    )

    positions: int = 64
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the table."""
        if self.table is not None:
            check_table(self.table, "cope", "[position, d]", 2)
            object.__setattr__(self, "positions", self.table.shape[0])

    def vectors(self, head_dim: int) -> Tensor:
        """Return e [position, d].

        Raises:
            ViewerError: when the table is of another width.
        """
        if self.table is None:
            mixing = drawn(SEED, 1, 0, 32, head_dim)[0] / 4  # [32, d]
            return waves(torch.arange(self.positions), 32) @ mixing / head_dim**0.5  # [position, d]
        return check_width(self.table, "cope table", head_dim)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return q_i · e[p_ij], [head, rows, cols]."""
        q, k = needs_queries(self.title, inputs)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        start = inputs.query_start
        # Counts run from the query back to the key, so keys between the block and its last query are needed too.
        stop = min(max(cols[1], rows[1] + start), inputs.n_key)
        q = q[:, slice(*rows)]  # [head, rows, d]
        gates = (scale * q @ k[:, cols[0] : stop].mT).sigmoid()  # [head, rows, cols and beyond]
        future = torch.arange(cols[0], stop, device=q.device)[None, :] > (
            torch.arange(*rows, device=q.device)[:, None] + start
        )  # [rows, cols and beyond]
        gates = gates.masked_fill(future, 0.0)
        counts = gates.flip(-1).cumsum(-1).flip(-1)[..., : cols[1] - cols[0]]  # [head, rows, cols]
        counts = counts.clamp_max(self.positions - 1)
        products = q @ self.vectors(q.shape[2]).to(q).mT  # [head, rows, position]
        low = counts.floor()
        below = products.gather(-1, low.long())
        above = products.gather(-1, counts.ceil().long())
        return below + (above - below) * (counts - low)  # [head, rows, cols]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the nearest offset that can reach the last position: a gate counts less than one."""
        cut = "" if self.table is None else "; a table that was given can only be cut"
        help = f"{self.positions} positions: no nearer key can reach the last of them{cut}"
        return far_end("positions", self.positions - 1, n, help)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with another number of positions; a table that was given loses its last ones."""
        most = MOST if self.table is None else self.positions
        positions = reached(handle, offset, 1, most - 1) + 1
        table = None if self.table is None else self.table[:positions]  # [position, d]
        return replace(self, positions=positions, table=table)

    def trained_length(self) -> int | None:
        """Return the number of positions."""
        return self.positions

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that counts saturate."""
        return (
            f"Counts saturate at {self.positions - 1}: keys with more open gates between them and the query all share "
            "the last position, wherever they stand."
        )

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the counting of gates."""
        head_dim = self.written_width(head_dim)
        return f"""{constant("TABLE", self.vectors(head_dim), "[position, d]")}


{BIAS_OF_VECTORS}
    past = offsets(n_query, n_key, q.device) <= 0  # [query, key]
    gates = torch.sigmoid(scale * q @ k.mT) * past  # [head, query, key]
    counts = gates.flip(-1).cumsum(-1).flip(-1).clamp_max({self.positions - 1})  # [head, query, key]
    products = q @ TABLE.to(q).T  # [head, query, position]
    low = counts.floor()
    below = products.gather(-1, low.long())
    above = products.gather(-1, counts.ceil().long())
    return below + (above - below) * (counts - low)  # [head, query, key]
"""
