"""Reads .fasta: residues become tokens, one letter each; records become documents."""

from __future__ import annotations

import re

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.contents import Contents
from relpos_viewer.sources.text import MAX_TOKENS

# Beside letters: "*" is a stop, "-" and "." are gaps of alignments.
_MARKS = frozenset("*-.")


_RESIDUES = re.compile(r"[A-Z*.-]+")


def is_fasta(text: str) -> bool:
    """Tell by its lines, whatever the file is called: a header, then nothing but headers and capital letters."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not re.match(r">\S", lines[0]) or lines[1].startswith(">"):
        return False  # "> " begins a quotation
    return all(line.startswith(">") or _RESIDUES.fullmatch(line) for line in lines)


def read_fasta(text: str, name: str) -> Contents:
    """Return the residues of every record: headers dropped, wrapped lines joined.

    Raises:
        ViewerError: no residues, or a character that is none (line and column are named).
    """
    records: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith((">", ";")):  # ";" starts a comment in old files
            if line.startswith(">") or not records:
                records.append("")
            continue
        residues = "".join(line.split())
        for char in residues:
            if not (char.isascii() and char.isalpha()) and char not in _MARKS:
                raise ViewerError(
                    f"{name}: “{char}” in line {number}, column {line.index(char) + 1} is no residue; use letters."
                )
        if not records:
            records.append("")  # a bare sequence without a header
        records[-1] += residues
    records = [record for record in records if record]
    if not records:
        raise ViewerError(f"{name} holds no residues; give at least one below its > line.")
    source = "".join(records)
    if len(source) > MAX_TOKENS:
        raise ViewerError(f"{name} holds more than {MAX_TOKENS:,} residues; keep a shorter part of it.")
    documents = (
        tuple(index for index, record in enumerate(records) for _ in record) if len(records) > 1 else None
    )
    spans = tuple((i, i + 1) for i in range(len(source)))
    notes = (f"{len(records)} records, each its own document.",) if documents else ()
    return Contents(
        tokens=Tokens(tuple(source), spans=spans, source=source, documents=documents), notes=notes
    )
