"""ScoreCells: the exact numbers of single cells, rows, columns and diagonals under one edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.field import CellValues, LineValues, Stage, cell_in_row
from relpos_viewer.core.head_terms import HeadTerms, Span, curve_on
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.row_statistics import COLS, ROWS, Writer, parts
from relpos_viewer.core.visibility import Visibility

# Cells along a diagonal are read from square blocks of this size.
SQUARE = 64


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Reads cells under the edit `curve`; nothing in it changes, so any thread may ask.

    Attributes:
        terms: the head.
        visibility: its visible cells.
        curve: the edit, [2·key−1].
        row_sums: [query] for given weights, else None.
        normaliser, before: of all rows, with the edit and without; called only for columns and diagonals.
    """

    terms: HeadTerms
    visibility: Visibility
    curve: Tensor
    row_sums: Tensor | None
    normaliser: Callable[[], Normaliser]
    before: Callable[[], Normaliser]

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.terms.n_query

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.terms.n_key

    def strongest(self, stage: Stage, rows: Span, cols: Span) -> tuple[int, int] | None:
        """Return (query, key) of the visible cell of largest magnitude in a block, the first NaN before all.

        None when no cell of the block is visible. Weights wait for the rows' sums if they are not known yet.
        """
        best: tuple[bool, float, int, int] | None = None
        for span in runs(rows, ROWS):
            for part in runs(cols, COLS):
                seen = self.visibility.block(span, part, self.curve.device)  # [span, part]
                block = self._stage(stage, span, part).abs()  # [span, part]
                if seen is not None:
                    if not bool(seen.any()):
                        continue
                    block.masked_fill_(~seen, -1.0)
                odd = block.isnan()
                has_nan = bool(odd.any())
                place = int(odd.to(torch.uint8).argmax() if has_nan else block.argmax())
                row, col = divmod(place, block.shape[1])
                value = 0.0 if has_nan else float(block[row, col])
                # Among equals the first row's first, as if the block had been read whole.
                found = has_nan, value, -(span[0] + row), -(part[0] + col)
                best = found if best is None else max(best, found)
        return None if best is None else (-best[2], -best[3])

    def values(self, query: int, key: int) -> CellValues:
        """Return the exact numbers of one cell, O(key · d)."""
        return cell_in_row(self.row(query), key, self.terms.start)

    def row(self, query: int) -> LineValues:
        """Return one query's numbers over all keys, O(key · d)."""
        keys = np.arange(self.terms.n_key)
        queries = np.full_like(keys, query)
        content, own = self._pair(lambda write: self._block(write, (query, query + 1), (0, len(keys)))[0])
        line = self._line(queries, keys, content, own, self.visibility.grid(queries[:1], keys)[0])
        weight = self._row_weights(line.score, line.visible, query)
        unedited = (
            line.content + line.positional
        )  # [key]; score − edit is not a number where an edit hides an offset
        before = self._row_weights(unedited, line.visible, query) if line.edit.any() else weight
        return _with_weights(line, weight, before)

    def column(self, key: int) -> LineValues:
        """Return one key's numbers over all queries; waits for the rows' sums if they are not known yet."""
        queries = np.arange(self.terms.n_query)
        content, own = self._pair(lambda write: self._block(write, (0, len(queries)), (key, key + 1))[:, 0])
        keys = np.full_like(queries, key)
        return self._weighed(
            self._line(queries, keys, content, own, self.visibility.grid(queries, keys[:1])[:, 0])
        )

    def diagonal(self, offset: int) -> LineValues:
        """Return the numbers of all cells with key − query = offset; waits as `column` does."""
        first = max(0, -offset - self.terms.start)
        stop = min(self.terms.n_query, self.terms.n_key - offset - self.terms.start)
        queries = np.arange(first, max(stop, first))
        shift = self.terms.start + offset
        keys = queries + shift

        def read(write: Writer) -> Tensor:
            squares = runs((first, first + len(queries)), SQUARE)
            pieces = [self._block(write, run, (run[0] + shift, run[1] + shift)).diagonal() for run in squares]
            return torch.cat(pieces) if pieces else self.curve[:0]

        content, own = self._pair(read)
        return self._weighed(self._line(queries, keys, content, own, self.visibility.at(queries, keys)))

    def _pair(self, read: Callable[[Writer], Tensor]) -> tuple[Tensor, Tensor]:
        return read(self.terms.content), read(self.terms.own)

    def _block(self, write: Writer, rows: Span, cols: Span) -> Tensor:
        """Return a block [rows, cols], rows in their order."""
        return write(rows, cols, self.curve.new_empty(rows[1] - rows[0], cols[1] - cols[0])).flip(0)

    def _stage(self, stage: Stage, rows: Span, cols: Span) -> Tensor:
        """Return a block of one stage [rows, cols], masked cells and all."""
        write = {"content": self.terms.content, "positional": self.terms.own}.get(stage, self.terms.base)
        block = write(rows, cols, self.curve.new_empty(rows[1] - rows[0], cols[1] - cols[0]))
        if stage != "content":
            block += curve_on(self.curve, self.terms.start, rows, cols)  # [rows turned round, cols]
        block = block.flip(0)  # [rows, cols]
        if stage == "weights":
            norm, part = self.normaliser(), slice(*rows)
            block.sub_(norm.reference[part, None]).exp_().mul_(norm.inverse[part, None])
            if self.row_sums is not None:
                block.mul_(self.row_sums[part, None])
        return block

    def _line(
        self, queries: np.ndarray, keys: np.ndarray, content: Tensor, own: Tensor, visible: np.ndarray
    ) -> LineValues:
        places = torch.from_numpy(keys - queries - self.terms.start + self.terms.n_key - 1)  # [cell]
        edit = self.curve[places.to(self.curve.device)]  # [cell]
        score = content + own + edit if bool(edit.any()) else content + own  # [cell]
        empty = np.zeros(0, np.float32)
        return LineValues(
            queries,
            keys,
            *(part.cpu().numpy() for part in (content, own, edit, score)),
            empty,
            empty,
            visible,
        )

    def _row_weights(self, score: np.ndarray, visible: np.ndarray, query: int) -> np.ndarray:
        masked = np.where(visible, score, -np.inf)
        top = masked.max()
        with np.errstate(invalid="ignore", over="ignore"):
            exponentials = np.exp(masked - (top if top > -np.inf else 0))
            total = exponentials.sum()
            weights = exponentials / (total if total != 0 else 1)
        return weights if self.row_sums is None else weights * float(self.row_sums[query])

    def _weighed(self, line: LineValues) -> LineValues:
        weight = self._weights(line.score, line, self.normaliser())
        before = weight
        if bool(self.curve.any()):
            with np.errstate(invalid="ignore"):
                before = self._weights(line.content + line.positional, line, self.before())
        return _with_weights(line, weight, before)

    def _weights(self, score: np.ndarray, line: LineValues, norm: Normaliser) -> np.ndarray:
        queries = torch.from_numpy(line.queries).to(self.curve.device)
        scores = torch.from_numpy(score).to(self.curve.device)
        weights = (scores - norm.reference[queries]).exp() * norm.inverse[queries]  # [cell]
        if self.row_sums is not None:
            weights = weights * self.row_sums[queries]
        return weights.masked_fill(torch.from_numpy(~line.visible).to(weights.device), 0.0).cpu().numpy()


def runs(span: Span, size: int) -> list[Span]:
    """Return runs of `size` that cover a half-open range."""
    return [(span[0] + a, span[0] + b) for a, b in parts(span[1] - span[0], size)]


def _with_weights(line: LineValues, weight: np.ndarray, before: np.ndarray) -> LineValues:
    return LineValues(
        line.queries,
        line.keys,
        line.content,
        line.positional,
        line.edit,
        line.score,
        weight,
        before,
        line.visible,
    )
