"""T5 log buckets. Raffel et al. 2019, arXiv 1910.10683."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    Convention,
    Encoding,
    Handle,
    Knob,
    Parameter,
    Span,
    Variant,
    check_table,
    constant,
    head_spread,
)
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import short
from relpos_viewer.core.offsets import offsets, t5_bucket


@dataclass(frozen=True, eq=False, kw_only=True)
class T5(Encoding):
    """b_h(δ) = table[bucket(δ), h], added to unscaled content in T5 itself; here in score units."""

    name = "t5"
    title = "T5 log buckets"
    paper = "Raffel et al. 2019, arXiv 1910.10683"
    summary = "Offsets share a learned bias by bucket: near ones each their own, far ones in growing groups."
    toeplitz = True
    sign = "Indexed by δ = key − query (the paper's memory − query); the past is negative."
    scaling = "T5 itself does not scale content (choose scale 1); MPNet scales it by 1/√d. The bias is added as it is."
    own_constant = True
    head_axes: ClassVar = {"table": 1}
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

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the table's rows by bucket, [head, 2n−1]."""
        return self._full_table().to(dtype)[self.buckets(n)].T.contiguous()  # [head, 2n−1]

    def buckets(self, n: int) -> Tensor:
        """Return each offset's bucket, int64 [2n−1]."""
        return t5_bucket(offsets(n), self.num_buckets, self.max_distance, bidirectional=self.bidirectional)

    def _full_table(self) -> Tensor:
        """Return the table with a column for every head, [bucket, head]."""
        table = self.table if self.table is not None else self.illustration(self.heads or 1)  # [bucket, head]
        return table.expand(-1, self.heads or table.shape[1])  # [bucket, head]

    def runs(self, n: int) -> list[tuple[int, Span]]:
        """Return every run of offsets that share a bucket: (bucket, (first δ, last δ)), ascending."""
        # Past the largest distance no bucket changes any more: long sequences need no look at every offset.
        near = min(n, max(self.max_distance, self.num_buckets) + 1)
        bucket = self.buckets(near).numpy()  # [2·near−1]
        edges = [0, *(np.flatnonzero(np.diff(bucket)) + 1), len(bucket)]
        runs = [[int(bucket[a]), int(a) - near + 1, int(b) - near] for a, b in pairwise(edges)]
        runs[0][1], runs[-1][2] = 1 - n, n - 1
        return [(bucket, (low, high)) for bucket, low, high in runs]

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return one handle a bucket, in the middle of its offsets."""
        table = self._full_table()[:, head]  # [bucket]
        return tuple(
            Handle(
                f"bucket {bucket}",
                (low + high) / 2,
                float(table[bucket]),
                (low, high),
                "value",
                f"Bucket {bucket}: δ = {short(low)}" + (f" … {short(high)}" if high > low else ""),
            )
            for bucket, (low, high) in self.runs(n)
        )

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with one number of the table replaced."""
        values = self.knob_values(head)  # [bucket]
        values[int(handle.name.removeprefix("bucket "))] = value
        return self.with_knobs(head, values)

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return one knob a bucket."""
        return tuple(
            Knob(f"bucket {b}", -np.inf, np.inf, (-4.0, 4.0), linear=True) for b in range(self.num_buckets)
        )

    def knob_values(self, head: int) -> np.ndarray:
        """Return the head's column of the table, float64 [bucket]."""
        return self._full_table()[:, head].double().numpy().copy()

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with the head's column replaced, float64 [bucket]."""
        table = self._full_table().clone()  # [bucket, head]
        table[:, head] = torch.from_numpy(np.asarray(values))
        return replace(self, table=table)

    def slopes_of_knobs(self, head: int, delta: Tensor) -> np.ndarray:
        """Return which offsets each bucket holds, float64 [bucket, place]."""
        bucket = t5_bucket(
            delta, self.num_buckets, self.max_distance, bidirectional=self.bidirectional
        )  # [place]
        return (bucket.numpy() == np.arange(self.num_buckets)[:, None]).astype(np.float64)

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return which offsets each bucket holds."""
        rows = tuple(
            (f"{low}…{high}" if high > low else str(low), str(bucket)) for bucket, (low, high) in self.runs(n)
        )
        text = "ln(|δ| / exact) / ln(max / exact) · (side − exact): the division comes first."
        return (Convention("Buckets", text, ("δ", "bucket"), rows),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the table read as query − key, and by the other stack's rule of buckets."""
        table = self._full_table()  # [bucket, head]
        if not self.bidirectional:
            if self.num_buckets < 4 or self.num_buckets % 2:
                return ()
            help = (
                "A decoder's table read as an encoder's: the past has half of the buckets, and grows coarser."
            )
            return (Variant("bidirectional", help, replace(self, table=table, bidirectional=True)),)
        swapped = table.roll(self.num_buckets // 2, 0)  # [bucket, head]
        swapped[0] = table[0]  # δ = 0 is its own mirror, and counts as past
        help = "Past and future swapped: the buckets of query − key on a table of key − query."
        found = [Variant("query − key", help, replace(self, table=swapped))]
        if self.max_distance > self.num_buckets // 2:
            help = (
                "An encoder's table read as a decoder's: the far past falls into the future's buckets, and the "
                "future into bucket 0."
            )
            found.append(Variant("causal", help, replace(self, table=table, bidirectional=False)))
        return tuple(found)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return what the last bucket holds, and which buckets training never filled."""
        ends = torch.tensor([n_trained - 1, n - 1])  # the farthest distance of training, and of the sequence
        trained, now = self._bucket_of_past(ends).tolist()
        if trained < now:
            which = f"bucket {now}" if now == trained + 1 else f"buckets {trained + 1} … {now}"
            return (
                f"Training filled no bucket past {trained}: far keys ask for {which}, which it never learned."
            )
        first = self._last_begins()
        if n - 1 < first:
            return f"Bucket {now} grows: the farthest keys share its bias with offsets of training."
        return (
            f"The last bucket holds every offset from |δ| = {first:,} on: all farther keys share its bias, "
            "so nothing new is asked of the table."
        )

    def _bucket_of_past(self, distance: Tensor) -> Tensor:
        """Return the buckets of −distance, int64 [count]."""
        return t5_bucket(
            -distance, self.num_buckets, self.max_distance, bidirectional=self.bidirectional
        )  # [count]

    def _last_begins(self) -> int:
        """Return the smallest distance into the past whose bucket is the last one."""
        # Past the largest distance, or where no offset has company, nothing changes any more.
        bucket = self._bucket_of_past(
            torch.arange(max(self.max_distance, self.num_buckets) + 1)
        )  # [distance]
        return int((bucket == bucket[-1]).nonzero()[0])

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the bucket function and its table."""
        side = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        exact = side // 2
        whole = math.log(self.max_distance / exact)
        distance, base = (
            ("offset.abs()", f"(offset > 0).long() * {side}")
            if self.bidirectional
            else (
                "(-offset).clamp_min(0)",
                "0",
            )
        )
        return f"""{constant("TABLE", self._full_table(), "[bucket, head]")}


def bucket(offset):
    distance = {distance}
    growth = torch.log(distance.clamp_min(1).float() / {exact}) / {whole!r} * {side - exact}
    far = ({exact} + growth.long()).clamp_max({side - 1})
    return {base} + torch.where(distance < {exact}, distance, far)


def curve(offset):
    return TABLE[bucket(offset)].T  # [head, count]
"""

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
