"""DeBERTa's disentangled attention. He et al. 2020, arXiv 2006.03654; log buckets since v2: 2111.09543."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Convention,
    Encoding,
    Handle,
    Parameter,
    Span,
    Variant,
    check_table,
    check_width,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.reach import ends, reached
from relpos_viewer.core.encodings.relative import drawn, key_products, query_products, waves
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.offsets import offsets

SEED = 19
MOST, FARTHEST = 2**20, 2**30  # places or buckets, and distance


@dataclass(frozen=True, eq=False, kw_only=True)
class Deberta(Encoding):
    """score = s·[q_i·k_j + q_i·Kr[place] + k_j·Qr[place]], place = clip(β(i − j) + span, 0, 2·span − 1).

    β is the identity (v1) or a logarithmic bucket (v2, v3). Both terms use the place of i − j, as the code of both
    Microsoft and Hugging Face does; the paper writes j − i for the second.
    """

    name = "deberta"
    title = "DeBERTa disentangled"
    paper = "He et al. 2020, arXiv 2006.03654"
    summary = "Content meets relative position twice: the query with a key of the offset, the key with a query of it."
    toeplitz = False
    sign = "Indexed by query − key, for both terms; the paper's text swaps them for position-to-content."
    scaling = "All terms share 1/√(3d): choose that scale, as content alone would have 1/√d."
    parameters = (
        Parameter("span", "int", 256, "Places on each side: 512 in v1, 256 in v2 and v3.", 1, MOST),
        Parameter(
            "num_buckets",
            "int",
            256,
            "Buckets of both sides, logarithmic beyond half of them; 0 for v1.",
            0,
            MOST,
        ),
        Parameter("max_distance", "int", 512, "Distance at which the buckets end.", 2, FARTHEST),
        Parameter(
            "side",
            "choice",
            "both",
            "Which terms: c2p (query meets position), p2c (key meets position), or both.",
            choices=("both", "c2p", "p2c"),
        ),
        Parameter("k_r", "table", None, "Kr, projected relative keys [head, 2·span, d]; seeded when empty."),
        Parameter(
            "q_r", "table", None, "Qr, projected relative queries [head, 2·span, d]; seeded when empty."
        ),
    )
    head_axes: ClassVar = {"k_r": 0, "q_r": 0}

    span: int = 256
    num_buckets: int = 256
    max_distance: int = 512
    side: str = "both"
    k_r: Tensor | None = None
    q_r: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the tables hold a row for each place, and the buckets exist."""
        half = self.num_buckets // 2
        if self.num_buckets and (half < 2 or self.max_distance - 1 <= half):
            raise ViewerError(
                f"num_buckets must be 0, or at least 4 with max_distance above {half + 1}, not {self.num_buckets}."
            )
        for name in ("k_r", "q_r"):
            table = getattr(self, name)
            if table is not None:
                check_table(table, f"deberta {name}", "[head, 2·span, d]", 3)
                if table.shape[1] != 2 * self.span:
                    raise ViewerError(
                        f"the deberta {name} holds {table.shape[1]} places; span {self.span} needs {2 * self.span}."
                    )

    def place(self, offset: Tensor) -> Tensor:
        """Return the row of the tables for each δ, int64."""
        return (log_bucket(-offset, self.num_buckets, self.max_distance) + self.span).clamp(
            0, 2 * self.span - 1
        )

    def _vectors(self, name: str, offset: Tensor, head_dim: int) -> Tensor:
        """Return the vectors of a table at δ [count], [head, count, d].

        Raises:
            ViewerError: when it is of another width.
        """
        table, heads = getattr(self, name), self.heads or 1
        place = self.place(offset)  # [count]
        if table is None:
            return self._seeded(name, place, head_dim)
        return check_width(table, f"deberta {name}", head_dim).expand(heads, -1, -1)[:, place]

    def _seeded(self, name: str, place: Tensor, head_dim: int) -> Tensor:
        """Return the illustration of a table at places [count], [head, count, d]."""
        seed = SEED + (name == "q_r")
        mixing = drawn(seed, self.heads or 1, self.first_head, 64, head_dim) / 4  # [head, 64, d]
        return waves(self.span - place, 64) @ mixing

    def terms(self, inputs: AttentionInputs, scale: float) -> dict[str, Tensor]:
        """Return content-content, content-position and position-content, each [head, query, key]."""
        q, k = needs_queries(self.title, inputs)
        everything = (0, inputs.n_query), (0, inputs.n_key)
        return {
            "content-content": q @ k.mT * scale,
            **self.with_heads(inputs.heads)._terms(inputs, scale, *everything),
        }

    def positional_terms(self) -> tuple[str, ...]:
        """Return the terms that `side` leaves."""
        both = ("content-position", "position-content")
        return {"both": both, "c2p": both[:1], "p2c": both[1:]}[self.side]

    def _terms(self, inputs: AttentionInputs, scale: float, rows: Span, cols: Span) -> dict[str, Tensor]:
        q, k = needs_queries(self.title, inputs)
        start, d = inputs.query_start, q.shape[2]
        terms = {}
        if self.side != "p2c":
            terms["content-position"] = scale * query_products(
                q, lambda offset: self._vectors("k_r", offset, d), start, rows, cols
            )
        if self.side != "c2p":
            terms["position-content"] = scale * key_products(
                k, lambda offset: self._vectors("q_r", offset, d), start, rows, cols
            )
        return terms  # [head, rows, cols] each

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the terms with a position in them, summed: [head, rows, cols]."""
        family = self.with_heads(inputs.heads)
        terms = family._terms(inputs, scale, rows or (0, inputs.n_query), cols or (0, inputs.n_key))
        return sum(terms.values(), start=torch.zeros(()))

    def buckets(self, n: int) -> Tensor:
        """Return the place of each offset, int64 [2n−1]."""
        return self.place(offsets(n))

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return, on both sides, up to where offsets have places of their own and where the buckets end.

        Without buckets both are the span. Where they end shows only when they can end within the sequence.
        """
        if not self.num_buckets:
            loaded = self.k_r is not None or self.q_r is not None
            cut = "; tables that were given can only be cut" if loaded else ""
            return ends("span", self.span, n, f"Span {self.span}: all farther offsets share a place{cut}")
        half = self.num_buckets // 2
        found = ends("own places", half, n, f"{self.num_buckets} buckets, logarithmic past half of them")
        if half + 2 < n:
            help = f"max_distance {self.max_distance}, where bucket {self.num_buckets - 1} ends"
            found += ends("max distance", self.max_distance, n, help)
        return tuple(sorted(found, key=lambda handle: handle.offset))

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with another span, number of buckets or largest distance, as the others allow.

        Tables that were given lose their outer places. Without them the span goes with the number of buckets where
        the two are equal, as they are in models.
        """
        half = self.num_buckets // 2
        loaded = self.k_r is not None or self.q_r is not None
        if handle.name.endswith("own places"):
            buckets = 2 * reached(handle, offset, 2, min(self.max_distance - 2, MOST // 2))
            together = self.span == self.num_buckets and not loaded
            return replace(self, num_buckets=buckets, span=buckets if together else self.span)
        if handle.name.endswith("max distance"):
            return replace(self, max_distance=reached(handle, offset, half + 2, FARTHEST))
        span = reached(handle, offset, 1, self.span if loaded else MOST)

        def cut(table: Tensor | None) -> Tensor | None:
            return (
                None if table is None else table[:, self.span - span : self.span + span]
            )  # [head, 2·span, d]

        return replace(self, span=span, k_r=cut(self.k_r), q_r=cut(self.q_r))

    def trained_length(self) -> int | None:
        """Return the length from which on the farthest offsets share a place; None where no bucket fills the span."""
        if not self.num_buckets or self.span <= self.num_buckets // 2:
            return self.span
        half = self.num_buckets // 2
        power = (self.span - 1 - half) / (half - 1)
        if power * math.log((self.max_distance - 1) / half) + math.log(half) > math.log(FARTHEST):
            return None
        near = int(half * ((self.max_distance - 1) / half) ** power)  # to one or two, as it is rounded
        distance = torch.arange(max(near - 2, half), near + 3)  # [5 or fewer]
        bucket = log_bucket(distance, self.num_buckets, self.max_distance)
        return int(distance[bucket >= self.span][0])

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return which place each offset has."""
        place = self.buckets(n).tolist()  # [2n−1]
        rows, first = [], 0
        for at in range(1, 2 * n):
            if at == 2 * n - 1 or place[at] != place[first]:
                low, high = first - n + 1, at - n
                rows.append((str(low) if low == high else f"{low}…{high}", str(place[first])))
                first = at
        return (Convention("Places", "Row of both tables.", ("δ", "place"), tuple(rows)),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return both tables read as key − query, and the second alone, as the paper writes it."""
        q, _ = needs_queries(self.title, inputs)

        def turned(name: str) -> Tensor:
            table = getattr(self, name)  # [head, 2·span, d]
            if table is None:
                table = self._seeded(name, torch.arange(2 * self.span), q.shape[2])
            # Place p of i − j becomes place 2·span − p; place 0 has no partner and keeps the farthest.
            return torch.cat((table[:, -1:], table[:, 1:].flip(1)), 1)

        found = []
        if self.side != "c2p":
            help = (
                "The paper's reading: position-to-content at j − i, where all code has i − j for both terms."
            )
            found.append(Variant("p2c at (j, i)", help, replace(self, q_r=turned("q_r"))))
        help = "Past and future swapped: the places of key − query on tables of query − key."
        both = replace(self, k_r=turned("k_r"), q_r=turned("q_r"))
        return (*found, Variant("key − query", help, both))

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return what the last place holds."""
        last = self.trained_length()
        if last is None:
            return super().beyond_words(n_trained, n, head_dim)
        return f"The last place of the tables holds every offset from |δ| = {last:,} on: all farther keys share it."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the products with the vectors of n_key positions."""
        head_dim = self.written_width(head_dim)
        delta = f"[head, offset, d], δ = {1 - n_key} … {n_key - 1}"
        tables, terms = [], []
        if self.side != "p2c":
            tables.append(constant("K_R", self._vectors("k_r", offsets(n_key), head_dim), delta))
            terms.append('torch.einsum("hid,hijd->hij", q, K_R.to(q)[:, place])')
        if self.side != "c2p":
            tables.append(constant("Q_R", self._vectors("q_r", offsets(n_key), head_dim), delta))
            terms.append('torch.einsum("hjd,hijd->hij", k, Q_R.to(q)[:, place])')
        written, summed = "\n".join(tables), "\n    term = term + ".join(terms)
        return f"""{written}


{BIAS_OF_VECTORS}
    place = offsets(n_query, n_key, q.device) + {n_key - 1}  # [query, key]
    term = {summed}
    return scale * term  # [head, query, key]
"""


def log_bucket(distance: Tensor, num_buckets: int, max_distance: int) -> Tensor:
    """Return DeBERTa v2's signed bucket of query − key, int64; the distance itself without buckets."""
    if not num_buckets:
        return distance
    half = num_buckets // 2
    size = distance.abs().clamp_min(half).double()
    grown = torch.log(size / half) / math.log((max_distance - 1) / half) * (half - 1)
    # Rounding could lift an exact whole number to the next: the reference divides in the same order.
    far = torch.ceil(grown).long() + half
    return torch.where(distance.abs() <= half, distance, distance.sign() * far)
