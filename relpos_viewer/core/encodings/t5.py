"""T5 log buckets. Raffel et al. 2019, arXiv 1910.10683."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding, Parameter, check_table, head_spread
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.offsets import offsets, t5_bucket


@dataclass(frozen=True, eq=False, kw_only=True)
class T5(Encoding):
    """b_h(δ) = table[bucket(δ), h], added to unscaled content in T5 itself; here in score units."""

    name = "t5"
    title = "T5 log buckets"
    paper = "Raffel et al. 2019, arXiv 1910.10683"
    summary = "Offsets share a learned bias by bucket: near ones each their own, far ones in growing groups."
    toeplitz = True
    parameters = (
        Parameter("num_buckets", "int", 32, "Number of buckets, both sides together.", 2, 4096),
        Parameter(
            "max_distance", "int", 128, "Distance from which on all offsets share the last bucket.", 2, 2**20
        ),
        Parameter("bidirectional", "bool", True, "Whether past and future have buckets of their own."),
        Parameter("table", "table", None, "Learned bias [bucket, head]; an illustration when empty."),
    )

    num_buckets: int = 32
    max_distance: int = 128
    bidirectional: bool = True
    table: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the buckets exist and the table holds one row each."""
        side = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        if self.bidirectional and self.num_buckets % 2:
            raise ViewerError(f"num_buckets must be even when bidirectional, not {self.num_buckets}.")
        if side < 2:
            raise ViewerError(
                f"num_buckets must be at least {4 if self.bidirectional else 2}, not {self.num_buckets}."
            )
        if self.max_distance <= side // 2:
            raise ViewerError(
                f"max_distance must be above {side // 2}, the offsets with a bucket of their own, "
                f"not {self.max_distance}."
            )
        if self.table is not None:
            table = check_table(self.table, "t5", "[bucket, head]", 2)
            if table.shape[0] != self.num_buckets:
                raise ViewerError(
                    f"the t5 table holds {table.shape[0]} buckets, num_buckets says {self.num_buckets}."
                )

    def _head_table(self) -> int | None:
        return None if self.table is None else self.table.shape[1]

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the table's rows by bucket, [head, 2n−1]."""
        table = self.table if self.table is not None else self.illustration(self.heads or 1)  # [bucket, head]
        table = table.to(dtype).expand(-1, self.heads or table.shape[1])  # [bucket, head]
        return table[self.buckets(n)].T.contiguous()  # [head, 2n−1]

    def buckets(self, n: int) -> Tensor:
        """Return each offset's bucket, int64 [2n−1]."""
        return t5_bucket(offsets(n), self.num_buckets, self.max_distance, bidirectional=self.bidirectional)

    def illustration(self, heads: int) -> Tensor:
        """Return a table like those models learn, [bucket, head]: heads from "previous token" to "far back".

        Head h prefers the log-distance c_h and falls off from it; the future is held lower than the past, so
        that a mistaken sign shows.
        """
        side = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        place = np.arange(self.num_buckets) % side / max(side - 1, 1)  # [bucket], 0 near … 1 far
        preferred = 0.06 + 0.62 * head_spread(heads) ** 1.5  # [head]
        rise = 3.2 * np.exp(-(((place[:, None] - preferred) / 0.16) ** 2))  # [bucket, head]
        fall = 3.0 * place[:, None] * (1.15 - preferred)  # [bucket, head]
        future = 1.5 * (np.arange(self.num_buckets) >= side)[:, None]  # [bucket, 1]
        return torch.from_numpy((rise - fall - future).round(3))  # [bucket, head]
