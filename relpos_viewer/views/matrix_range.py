"""MatrixRange: the part of the matrices on show, one object for all four, so that they cannot disagree.

Views never tell each other their ranges (which loops and drifts when sizes differ, pyqtgraph#1348): a
gesture changes this object, and every view follows it.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

Span = tuple[float, float]

FEWEST_CELLS = 4
"""One cannot zoom in further than this many cells."""

EVERYTHING: Span = (0.0, 1e9)
"""Longer than any sequence; what lies outside a matrix is left out of its tiles."""


class MatrixRange(QObject):
    """Rows and columns on show, in cells: 0 is the first cell's near edge, n the last one's far edge."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._counts = (1, 1)
        self._rows: Span = (0.0, 1.0)
        self._cols: Span = (0.0, 1.0)

    @property
    def counts(self) -> tuple[int, int]:
        """(n_query, n_key) of the whole matrix."""
        return self._counts

    @property
    def rows(self) -> Span:
        """Queries on show, half-open."""
        return self._rows

    @property
    def cols(self) -> Span:
        """Keys on show, half-open."""
        return self._cols

    @property
    def asked(self) -> tuple[Span, Span]:
        """(rows, cols) to ask of the next frame: a full view is to show all of it, however long the sequence gets."""
        return (EVERYTHING, EVERYTHING) if self.is_full else (self._rows, self._cols)

    @property
    def query_start(self) -> int:
        """Position of the first query: queries are the last rows of the sequence."""
        return self._counts[1] - self._counts[0]

    @property
    def is_full(self) -> bool:
        """Whether the whole matrix is on show."""
        return self._rows == (0, self._counts[0]) and self._cols == (0, self._counts[1])

    def set_counts(self, n_query: int, n_key: int) -> None:
        """Take a matrix of another size: a full view stays full, a part stays as far as it exists."""
        if (n_query, n_key) == self._counts:
            return
        full = self.is_full
        self._counts = (n_query, n_key)
        if full:
            self._take((0, n_query), (0, n_key))
        else:
            self._take(self._rows, self._cols)

    def set(self, rows: Span, cols: Span) -> None:
        """Show this part, moved inside the matrix and widened to `FEWEST_CELLS` where needed."""
        self._take(rows, cols)

    def reset(self) -> None:
        """Show the whole matrix."""
        self._take((0, self._counts[0]), (0, self._counts[1]))

    def pan(self, rows: float, cols: float) -> None:
        """Move the part on show by so many cells."""
        (a, b), (c, d) = self._rows, self._cols
        self._take((a + rows, b + rows), (c + cols, d + cols))

    def zoom(self, rows: float, cols: float, at: tuple[float, float]) -> None:
        """Multiply the extents by `rows` and `cols` (below 1 zooms in); the point `at` (row, column) stays put."""
        self._take(_zoomed(self._rows, rows, at[0]), _zoomed(self._cols, cols, at[1]))

    def reveal(self, i: int, j: int) -> None:
        """Move as little as needed to show cell (i, j)."""
        self.pan(_step_to(self._rows, i), _step_to(self._cols, j))

    def _take(self, rows: Span, cols: Span) -> None:
        rows, cols = _clamped(rows, self._counts[0]), _clamped(cols, self._counts[1])
        if (rows, cols) != (self._rows, self._cols):
            self._rows, self._cols = rows, cols
            self.changed.emit()


def _clamped(span: Span, count: int) -> Span:
    extent = min(max(span[1] - span[0], min(FEWEST_CELLS, count)), count)
    start = min(max(span[0], 0.0), count - extent)
    return start, start + extent


def _zoomed(span: Span, factor: float, at: float) -> Span:
    # The extent is limited before the start is computed, or the point under the pointer would slip at the
    # limit.
    extent = max((span[1] - span[0]) * factor, FEWEST_CELLS)
    factor = extent / (span[1] - span[0])
    start = at - (at - span[0]) * factor
    return start, start + extent


def _step_to(span: Span, index: int) -> float:
    return min(index - span[0], 0.0) + max(index + 1 - span[1], 0.0)
