"""One cell in one line, for the status bar."""

from __future__ import annotations

import math

from relpos_viewer.core.field import CellValues
from relpos_viewer.core.numbers import MINUS, logarithm, short


def cell_line(cell: CellValues, query: str, key: str, *, edited: bool) -> str:
    """Return ``query 5 “cat” → key 2 “the”   δ = −3   content 1.2 + position −1.5 = −0.3 → 0.04``.

    `query` and `key` are the tokens' labels; `edited` says whether there is an edit to speak of. A query is called
    by its position in the sequence, also where queries are only the last of its positions.
    """
    place = f"query {cell.key - cell.offset} “{query}” → key {cell.key} “{key}”   δ = {short(cell.offset)}"
    if not cell.visible:
        return f"{place}   masked"
    position = short(cell.positional + cell.edit)
    terms = f"content {short(cell.content)} + position {position} = {short(cell.score)}"
    return f"{place}   {terms} → {weight_text(cell, edited=edited)}"


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
