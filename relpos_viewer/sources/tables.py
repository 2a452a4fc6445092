"""Reads .csv and .tsv: a column of tokens, or a table of numbers as one array."""

from __future__ import annotations

import csv
import io
import re
from pathlib import PurePath

import numpy as np

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.sources.contents import Choices, Contents, Question, in_memory, tokens_from
from relpos_viewer.sources.decoding import decode

# Names under which a column of tokens is found without asking.
TOKEN_COLUMNS = ("token", "tokens", "text", "word", "words", "label", "residue")

_ID = re.compile(r"[0-9]{1,18}\Z")

Rows = list[list[str]]


def read_table(data: bytes, name: str, choices: Choices) -> Contents:
    """Return the tokens of a table's token column.

    The column is the one `choices.column` names (or numbers, counted from 1), one called *token*, or the only
    one. A table of numbers alone with several columns is an array.

    Raises:
        Question: which column.
        ViewerError: no text, broken quoting, or no such column.
    """
    rows = _parse(decode(data, name), name)
    width = max(map(len, rows))
    if width > 1 and choices.column is None and (numbers := _numbers(rows)) is not None:
        return Contents(arrays={"array": in_memory(numbers)})
    headed = _is_header(rows, choices.column)
    index = _column(rows, width, headed, name, choices)
    body = rows[1:] if headed else rows
    tokens = [row[index] if index < len(row) else "" for row in body]
    if not tokens:
        raise ViewerError(f"{name} has a first row of names and nothing below it; give at least one token.")
    title = rows[0][index].strip() if headed and index < len(rows[0]) else f"column {index + 1}"
    left_out = f"{width - 1} other column{'s' if width > 2 else ''} left out" if width > 1 else ""
    notes = (f"Tokens from “{title}”; {left_out}.",) if left_out else ()
    ids = all(_ID.match(token) for token in tokens)  # a table has no types: a column of whole numbers is ids
    return Contents(tokens=tokens_from(list(map(int, tokens)) if ids else tokens, title), notes=notes)


def _parse(text: str, name: str) -> Rows:
    first = text.lstrip().split("\n", 1)[0]
    tabbed = PurePath(name).suffix.lower() in (".tsv", ".tab") or ("\t" in first and "," not in first)
    # Spreadsheets of countries with a decimal comma part their columns by semicolons.
    mark = "\t" if tabbed else ";" if first.count(";") > first.count(",") else ","
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True))
    except csv.Error as error:
        if not tabbed:
            raise ViewerError(
                f"{name} has broken quoting ({error}); write a quote inside quotes twice."
            ) from None
        # Files of tokens with tabs seldom quote anything, and a quote is a token like any other.
        rows = [line.split("\t") for line in text.split("\n")]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise ViewerError(f"{name} holds no rows; give at least one token.")
    return rows


def _numbers(rows: Rows) -> np.ndarray | None:
    if len({len(row) for row in rows}) != 1:
        return None
    try:
        return np.array([[float(cell) for cell in row] for row in rows])  # [row, column]
    except ValueError:
        return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_header(rows: Rows, column: str | None) -> bool:
    cells = [cell.strip().lower() for cell in rows[0]]
    if any(cell in TOKEN_COLUMNS for cell in cells) or (
        column is not None and column.strip().lower() in cells
    ):
        # One column whose first word is "text" and is all there is: that word is the token.
        return len(rows) > 1 or len(cells) > 1
    # Names above numbers.
    named = len(cells) > 1 and all(cell and not _is_number(cell) for cell in cells)
    return named and any(_is_number(cell) for row in rows[1:] for cell in row)


def _column(rows: Rows, width: int, headed: bool, name: str, choices: Choices) -> int:
    cells = [cell.strip().lower() for cell in rows[0]] if headed else []
    wanted = choices.column
    if wanted is not None:
        if wanted.strip().lower() in cells:
            return cells.index(wanted.strip().lower())
        if wanted.strip().isdecimal() and 1 <= int(wanted) <= width:
            return int(wanted) - 1
        known = [cell.strip() for cell in rows[0]] if headed else [str(i + 1) for i in range(width)]
        raise ViewerError(f"{name} has no column “{wanted}”{nearest(wanted, known)}")
    for title in TOKEN_COLUMNS:
        if title in cells:
            return cells.index(title)
    if width == 1:
        return 0
    options = []
    for index in range(min(width, 50)):
        sample = ", ".join(row[index] for row in rows[headed : headed + 3] if index < len(row))
        value = rows[0][index].strip() if headed and index < len(rows[0]) else str(index + 1)
        options.append((value, f"{value}: {sample[:60]}"))
    raise Question(f"{name} has {width} columns; say which one holds the tokens.", "column", options)
