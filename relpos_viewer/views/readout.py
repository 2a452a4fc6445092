"""One cell in one line, for the status bar."""

from __future__ import annotations

import math

from relpos_viewer.core.field import CellValues
from relpos_viewer.core.numbers import MINUS, logarithm, short


def cell_line(
    cell: CellValues, query: str, key: str, *, edited: bool, plane: tuple[int, int] | None = None
) -> str:
    """Return ``query 5 “cat” → key 2 “the”   δ = −3   content 1.2 + position −1.5 = −0.3 → 0.04``.

    `query` and `key` are the tokens' labels; `edited` says whether there is an edit to speak of. A query is called
    by its position in the sequence, also where queries are only the last of its positions. `plane` is the offset in
    rows and columns where tokens lie in a plane.
    """
    place = f"query {cell.key - cell.offset} “{query}” → key {cell.key} “{key}”   {offset_words(cell.offset, plane)}"
    if not cell.visible:
        return f"{place}   masked"
    position = short(cell.positional + cell.edit)
    terms = f"content {short(cell.content)} + position {position} = {short(cell.score)}"
    return f"{place}   {terms} → {weight_text(cell, edited=edited)}"


def offset_words(offset: int, plane: tuple[int, int] | None) -> str:
    """Return ``δ = −7``, with ``dy −2 dx 3`` after it where tokens lie in a plane."""
    words = f"δ = {short(offset)}"
    return words if plane is None else f"{words}   dy {short(plane[0])} dx {short(plane[1])}"


def weight_text(cell: CellValues, *, edited: bool) -> str:
    """Return the weight, its logarithm where it is too small for a number, and what it was before the edit."""
    text = short(cell.weight)
    if cell.weight == 0 and math.isfinite(cell.log_weight):
        text = f"10^{logarithm(cell.log_weight)} (underflow)"
    if edited:
        text += f" (was {short(cell.before_weight)})"
    return text


def pixel_line(
    reduce: str, rows: tuple[int, int], cols: tuple[int, int], strongest: tuple[int, int], weight: float
) -> str:
    """Return ``   pixel: max of 8 × 8 cells, largest weight 1 at query 1234 → key 3210``.

    `strongest` is a cell by its positions in the sequence.
    """
    size = f"{rows[1] - rows[0]} × {cols[1] - cols[0]}"
    query, key = strongest
    return f"   pixel: {reduce} of {size} cells, largest weight {short(weight)} at query {query} → key {key}"


def plane_line(dy: int, dx: int, value: float) -> str:
    """Return ``dy −2, dx 3 (key 2 above, 3 to the right)   b = −1.25`` for a cell of a plane."""
    rows = "in the query's row" if dy == 0 else f"{abs(dy)} {'above' if dy < 0 else 'below'}"
    columns = "in its column" if dx == 0 else f"{abs(dx)} to the {'left' if dx < 0 else 'right'}"
    return f"dy {short(dy)}, dx {short(dx)} (key {rows}, {columns})   b = {short(value)}"


def offset_line(offset: int, family: float, edit: float) -> str:
    """Return ``δ = −17   b = 7.72 (0.22 +7.5)   ×2250`` for a point of the curve.

    `family` is NaN where no visible cell has the offset and the curve is a mean over cells.
    """
    own, total = ("no cell", edit) if math.isnan(family) else (short(family), family + edit)
    sides = (
        "the key is the query itself" if offset == 0 else f"{abs(offset)} {'back' if offset < 0 else 'ahead'}"
    )
    parts = f" ({own} {short(edit, signed=True)} edit)" if edit else ""
    if math.isnan(family):
        factor = "   no visible cell"
    elif not math.isfinite(total) or abs(total) > 700:
        factor = ""
    else:
        factor = f"   weight factor ×{short(math.exp(total))}"
    return f"δ = {short(offset)} ({sides})   b = {short(total)}{parts}{factor}".replace("-", MINUS)
