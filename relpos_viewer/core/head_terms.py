"""HeadTerms: the two terms of one head's score, block by block, from the factors they are made of.

Rows of a block are turned round: row r of a block over the queries [a, b) is query b − 1 − r. A curve over
δ = key − query then lies on a block with both strides 1, as a view of the curve itself; no gather, no copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relpos_viewer.core.attention import content_scale
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.inputs import AttentionInputs

Span = tuple[int, int]


def line_on(curve: Tensor, query_start: int, rows: Span, cols: Span) -> Tensor:
    """Return the part of `curve` [2·key−1] that lies on a block, smallest offset first, [rows + cols − 1]."""
    # Row 0 is query rows[1] − 1: its first cell has the smallest offset of the block.
    first = cols[0] - (rows[1] - 1 + query_start) + curve.shape[0] // 2
    return curve[first : first + (rows[1] - rows[0]) + (cols[1] - cols[0]) - 1]


def laid_on(line: Tensor, rows: Span, cols: Span) -> Tensor:
    """Return a view of `line` [rows + cols − 1] over a block, [rows turned round, cols]."""
    return line.as_strided((rows[1] - rows[0], cols[1] - cols[0]), (1, 1), line.storage_offset())


def curve_on(curve: Tensor, query_start: int, rows: Span, cols: Span) -> Tensor:
    """Return a view of `curve` [2·key−1] over a block, [rows turned round, cols]."""
    return laid_on(line_on(curve, query_start, rows, cols), rows, cols)


@dataclass(frozen=True, eq=False)
class HeadTerms:
    """One head, ready to be asked for blocks. Nothing here is ever changed.

    Attributes:
        inputs: the head alone, each tensor with a head axis of length 1.
        encoding: the family of this head, for pairwise families without factors.
        scale: content scale.
        q: [query, d] times the scale, last query first; None when scores were given.
        k: [key, d].
        curve: own term of a Toeplitz family, [2·key−1]; None for other families.
        turned: (q′ last query first [query, d], k′ [key, d]) of a family with factors, scale inside q′.
    """

    inputs: AttentionInputs
    encoding: Encoding
    scale: float | None
    q: Tensor | None
    k: Tensor | None
    curve: Tensor | None
    turned: tuple[Tensor, Tensor] | None

    @classmethod
    def of(cls, inputs: AttentionInputs, encoding: Encoding, scale: float | None, head: int) -> HeadTerms:
        """Return the terms of head `head` of `inputs`.

        Raises:
            ViewerError: when the encoding or the scale does not fit the inputs.
        """
        one = inputs.head(head)
        full = encoding.with_heads(inputs.heads)  # a table is checked against all heads, then one is taken
        factor = content_scale(inputs, scale)
        alone = full.for_one_head(head).for_blocks(one)
        q = k = curve = turned = None
        if one.q is not None and one.k is not None:
            q, k = (one.q[0] * factor).flip(0), one.k[0].contiguous()  # [query, d], [key, d]
        if full.toeplitz:
            curve = full.curve(inputs.n_key, inputs.content_dtype)[head].to(inputs.device).contiguous()
        else:
            factors = alone.factors(one)
            if factors is not None:
                turned = ((factors[0][0] * factor).flip(0), factors[1][0].contiguous())
        return cls(one, alone, scale, q, k, curve, turned)

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.inputs.n_query

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.inputs.n_key

    @property
    def start(self) -> int:
        """Position of the first query."""
        return self.inputs.query_start

    @property
    def dtype(self) -> torch.dtype:
        """float32, or float64 when the caller gave that."""
        return self.inputs.content_dtype

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.inputs.device

    @property
    def own_is_toeplitz(self) -> bool:
        """Whether the own term is a function of the offset alone."""
        return self.curve is not None and self.inputs.bias is None

    @property
    def products(self) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """What content + own term is the product of: [query, d] last query first, [key, d], and a curve to be added.

        None where it is more than a product and a curve.
        """
        if self.inputs.bias is not None or self.q is None or self.k is None:
            return None
        if self.turned is not None:
            return *self.turned, None
        return None if self.curve is None else (self.q, self.k, self.curve)

    def content(self, rows: Span, cols: Span, out: Tensor) -> Tensor:
        """Write the content of a block into `out` [rows turned round, cols] and return it."""
        if self.q is None:
            given = self.inputs.given
            assert given is not None and self.k is None
            out.copy_(given[0, rows[0] : rows[1], cols[0] : cols[1]].flip(0))
            return out if self.scale is None else out.mul_(self.scale)
        return self._product(self.q, self.k, rows, cols, out)

    def add_own(self, rows: Span, cols: Span, out: Tensor) -> Tensor:
        """Add the own term to a block of content, in place."""
        if self.curve is not None:
            out.add_(curve_on(self.curve, self.start, rows, cols))
        elif self.turned is not None:
            self._product(*self.turned, rows, cols, out)  # content + own, at the price of content
        else:
            out.add_(self._pairwise(rows, cols))
        return self._add_bias(rows, cols, out)

    def base(self, rows: Span, cols: Span, out: Tensor) -> Tensor:
        """Write content + own term of a block into `out` and return it."""
        if self.turned is None:
            self.content(rows, cols, out)
        return self.add_own(rows, cols, out)

    def own(self, rows: Span, cols: Span, out: Tensor) -> Tensor:
        """Write the own term of a block into `out` and return it."""
        if self.curve is not None:
            out.copy_(curve_on(self.curve, self.start, rows, cols))
        elif self.turned is not None:
            self._product(*self.turned, rows, cols, out)
            assert self.q is not None and self.k is not None
            a, b = self.n_query - rows[1], self.n_query - rows[0]
            out.addmm_(self.q[a:b], self.k[cols[0] : cols[1]].t(), alpha=-1)
        else:
            out.copy_(self._pairwise(rows, cols))
        return self._add_bias(rows, cols, out)

    def _product(self, q: Tensor, k: Tensor | None, rows: Span, cols: Span, out: Tensor) -> Tensor:
        assert k is not None
        a, b = self.n_query - rows[1], self.n_query - rows[0]
        return torch.mm(q[a:b], k[cols[0] : cols[1]].t(), out=out)

    def _pairwise(self, rows: Span, cols: Span) -> Tensor:
        factor = content_scale(self.inputs, self.scale)
        return self.encoding.positional(self.inputs, factor, rows, cols)[0].flip(0)  # [rows, cols]

    def _add_bias(self, rows: Span, cols: Span, out: Tensor) -> Tensor:
        bias = self.inputs.bias
        return out if bias is None else out.add_(bias[0, rows[0] : rows[1], cols[0] : cols[1]].flip(0))
