"""From a file on disk to a document, with the answers to what the file leaves open. No Qt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from relpos_viewer.document.document import ArraySource, Document, EditCurve, TextSource, replace
from relpos_viewer.document.files import load_session
from relpos_viewer.sources.build import inputs_for
from relpos_viewer.sources.files import Loaded, load


def open_document(path: str | os.PathLike[str], base: Document, answers: Mapping[str, str]) -> Document:
    """Return `base` with the sequence of a file, or the document of a session file. Any thread.

    Args:
        path: a text, a table, arrays or a session.
        base: gives encoding, mask, scale and view, and the tokenizer of a text.
        answers: by keyword of `sources.files.load`.

    Raises:
        Question: the file can be read in more than one way, and `answers` does not settle it.
        ViewerError: the file cannot be used.
    """
    loaded = load(path, **answers)
    if loaded.kind == "session":
        return load_session(path)
    opened = replace(base, source=source_of(loaded, base), edit=EditCurve.none())
    if loaded.kind == "arrays":
        inputs = inputs_for(
            opened.source
        )  # what does not fit is said now, while the old document still stands
        if inputs.visible is not None or inputs.row_sums is not None:
            opened = replace(
                opened, mask="none"
            )  # the file's own mask, or the one its weights were made with
        if inputs.given is not None:
            opened = replace(opened, scale=None)
    return opened


def source_of(loaded: Loaded, base: Document) -> TextSource | ArraySource:
    """Return a loaded file as the source of a document; a text keeps the settings of the typed one before it."""
    if loaded.kind == "text":
        before = base.source if isinstance(base.source, TextSource) else TextSource("")
        tokenizer = "words" if before.tokenizer == "integers" else before.tokenizer
        return replace(before, text=loaded.text or "", tokenizer=tokenizer)
    tokens = loaded.tokens
    return ArraySource(
        path=str(Path(loaded.path).resolve()),
        label=Path(loaded.path).name,
        arrays=loaded.arrays,
        tokens=() if tokens is None else tokens.texts,
        spans=None if tokens is None else tokens.spans,
        ids=None if tokens is None else tokens.ids,
        notes=loaded.notes,
    )
