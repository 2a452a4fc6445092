"""What the cursor is on: one cell, pinned or hovered, shown alike in matrices, strip, curve, inspector and status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot

from relpos_viewer.app.frames import Frame
from relpos_viewer.core.curves import query_curve
from relpos_viewer.core.field import cell_in_row
from relpos_viewer.views.curve_item import QueryLine
from relpos_viewer.views.plane_cells import plane_cells
from relpos_viewer.views.readout import cell_line, offset_line, pixel_line

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

Place = tuple[int, int | None]
"""(query, key), or the row of a query with key None."""


class WindowCursor(QObject):
    """The pinned and the hovered cell of one window. GUI thread only; rows are read from the newest frame."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._pinned: Place | None = None
        self._hovered: tuple[int, int] | None = None
        self._query_line: QueryLine | None = None
        self._query_family: np.ndarray | None = None

    def forget_pin(self) -> None:
        """Another sequence is coming; its cells are others."""
        self._pinned = None

    def enter(self, frame: Frame) -> None:
        """Forget the cell under the pointer, which is another in a new sequence, and a pin that it lacks.

        Between the choice of a sequence and its picture, hands still point at cells of the old one.
        """
        query, key = self._pinned or (frame.n_query, None)
        if query >= frame.n_query or (key is not None and key >= frame.n_key):
            # Something to look at: how the last query, which sees everything, spreads its attention.
            self._pinned = (frame.n_query - 1, None)
        self._window.equation.set_cell(None)
        self._hover(None)

    def show(self) -> None:
        """Show the row and the cell that are hovered, or else pinned, as the newest frame has them."""
        window, frame, row = self._window, self._window.frame, self._row
        window.equation.set_pinned(self._pinned)
        self._show_query()
        if frame is None or row is None or row >= frame.n_query:
            window.inspector.set_cell(None)
            window.sequence.set_row(None)
            return
        labels = frame.inputs.tokens.labels
        start = frame.inputs.query_start
        line = frame.field.row(row)
        key = self._key(line.weight)
        cell = cell_in_row(line, key, start)
        window.sequence.set_row(row + start, line.weight, line.visible)
        plane = _plane_offset(frame, (row, key))
        window.inspector.set_cell(cell, labels, line, plane)
        if self._hovered is not None:
            edited = not window.session.document.edit.is_zero
            words = cell_line(cell, labels[row + start], labels[key], edited=edited, plane=plane)
            window.status.show_cell(words + _pixel_words(frame, row, key))

    def _show_query(self) -> None:
        """Draw the pinned query's own term into the curve editor, where each query has another."""
        frame = self._window.frame
        query = None if self._pinned is None else self._pinned[0]
        if frame is None or query is None or query >= frame.n_query or frame.curves.exact:
            self._query_line = None
        else:
            family, position = frame.curves.family, query + frame.inputs.query_start
            line = self._query_line
            # The family is the same object for as long as the terms are: an edit does not change them.
            if line is None or line.position != position or self._query_family is not family:
                own = query_curve(frame.field.row(query), query, frame.inputs.query_start)  # [2n−1]
                self._query_line, self._query_family = QueryLine(position, own), family
        self._window.curve.set_query(self._query_line)

    # Hands

    @Slot(int, int)
    def on_cell_hovered(self, query: int, key: int) -> None:
        """Take the cell under the pointer; (−1, −1) for none."""
        self._hover(None if query < 0 else (query, key))

    @Slot(int, int)
    def on_cell_pinned(self, query: int, key: int) -> None:
        """Keep a cell; (−1, −1) lets it go."""
        self._pin(None if query < 0 else (query, None if key < 0 else key))

    @Slot(int)
    def on_token_clicked(self, token: int) -> None:
        """Keep the row of a token, where it is a query."""
        frame = self._window.frame
        if frame is not None and token >= frame.inputs.query_start:
            self._pin((token - frame.inputs.query_start, None))

    @Slot(int)
    def on_key_hovered(self, key: int) -> None:
        """Take a key of the pinned row; −1 for none."""
        row = None if self._pinned is None else self._pinned[0]
        cell = None if key < 0 or row is None else (row, key)
        self._window.equation.set_cell(cell)
        self._hover(cell)

    @Slot(int)
    def on_key_clicked(self, key: int) -> None:
        """Keep a key of the row that is shown."""
        if self._row is not None:
            self._pin((self._row, key))

    @Slot(object)
    def on_offset_hovered(self, offset: int | None) -> None:
        """Light the diagonal of a point of the curve, and say what it is."""
        window = self._window
        window.equation.set_offset(offset)
        curves = None if window.frame is None else window.frame.curves
        if offset is None or curves is None or abs(offset) >= curves.n:
            window.status.show_cell("")
            return
        place = offset + curves.n - 1
        edit = float(window.curve.edit[curves.head, place])
        window.status.show_cell(offset_line(offset, float(curves.family[curves.head, place]), edit))

    # Within

    @property
    def _row(self) -> int | None:
        if self._hovered is not None:
            return self._hovered[0]
        return None if self._pinned is None else self._pinned[0]

    def _key(self, weight: np.ndarray) -> int:
        for place in (self._hovered, self._pinned):
            if place is not None:
                return place[1] if place[1] is not None else int(np.nan_to_num(weight).argmax())
        return 0

    def _pin(self, place: Place | None) -> None:
        self._pinned = place
        self.show()

    def _hover(self, cell: tuple[int, int] | None) -> None:
        window, frame = self._window, self._window.frame
        self._hovered = cell
        window.sequence.set_current(None if cell is None else cell[1])
        offset = None if cell is None or frame is None else cell[1] - cell[0] - frame.inputs.query_start
        window.curve.set_offset(offset)
        plane_offset = _plane_offset(frame, cell)
        window.plane.set_offset(plane_offset)
        if plane_offset is not None:
            window.equation.set_offset(*plane_cells(frame, plane_offset))
        if cell is None:
            window.status.show_cell("")
        self.show()


def _plane_offset(frame: Frame | None, cell: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the offset of a cell (query, key) in the plane of a two-dimensional family; None without one."""
    if frame is None or frame.plane is None or cell is None:
        return None
    return frame.plane.encoding.plane_offset(cell[0] + frame.inputs.query_start, cell[1])


def _pixel_words(frame: Frame, query: int, key: int) -> str:
    """Say what else lies under the pixel of a cell, where several cells share one."""
    tile = frame.tiles.get("weights")
    # Before a long sequence's row sums are known, its strongest cell could only be found by summing them here.
    if tile is None or max(tile.cells_per_pixel) <= 1 or not frame.exact:
        return ""
    rows, cols = tile.block(query, key)
    strongest = frame.field.strongest("weights", rows, cols)
    if strongest is None:
        return ""
    weight = frame.field.values(*strongest).weight
    place = (strongest[0] + frame.inputs.query_start, strongest[1])
    return pixel_line(tile.reduce, rows, cols, place, weight)
