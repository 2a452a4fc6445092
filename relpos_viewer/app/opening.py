"""From a file on disk to a document, with the answers to what the file leaves open. No Qt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    replace,
)
from relpos_viewer.document.files import load_session
from relpos_viewer.sources.build import inputs_for
from relpos_viewer.sources.encoding_file import read_encoding_file, with_encoding
from relpos_viewer.sources.files import Loaded, attach_tokens, load
from relpos_viewer.sources.text import tokenize

# Answers that may be about the file of tokens, where there is one.
TOKEN_ANSWERS = ("column", "labels")


def open_document(
    path: str | os.PathLike[str],
    base: Document,
    answers: Mapping[str, str],
    tokens: str | os.PathLike[str] | None = None,
) -> Document:
    """Return `base` with the sequence or the encoding of a file, or the document of a session file. Any thread.

    Args:
        path: a text, a table, arrays, an encoding or a session.
        base: gives encoding, mask, scale and view, and the tokenizer of a text.
        answers: by keyword of `sources.files.load`.
        tokens: a file whose tokens are to stand beside the arrays of the first, see `with_tokens`.

    Raises:
        Question: a file can be read in more than one way, and `answers` does not settle it.
        ViewerError: the file cannot be used.
    """
    opened = _opened(path, base, answers)
    if tokens is None:
        return opened
    return with_tokens(opened, tokens, {name: answers[name] for name in TOKEN_ANSWERS if name in answers})


def _opened(path: str | os.PathLike[str], base: Document, answers: Mapping[str, str]) -> Document:
    loaded = load(path, **answers)
    if loaded.kind == "session":
        return load_session(path)
    if loaded.kind == "encoding":
        return with_encoding(base, read_encoding_file(path))
    opened = replace(base, source=source_of(loaded, base), edit=EditCurve.none())
    if loaded.kind == "arrays":
        inputs_for(opened.source)  # what does not fit is said now, while the old document still stands
        if set(loaded.arrays) - {"documents"}:
            # Arrays are shown as they are: nothing is added, scaled or hidden that nobody asked for.
            opened = replace(opened, encoding=EncodingSpec("none"), mask="none", scale=None)
    return opened


def with_tokens(document: Document, path: str | os.PathLike[str], answers: Mapping[str, str]) -> Document:
    """Return `document`, whose source is arrays, with the tokens of another file beside them. Any thread.

    Raises:
        Question: "labels", when there are fewer tokens than positions.
        ViewerError: the document has no arrays, or the file no tokens that fit them.
    """
    source = document.source
    if not isinstance(source, ArraySource):
        raise ViewerError("tokens can stand beside arrays only; open a file of arrays first.")
    other = load(path, **{name: value for name, value in answers.items() if name != "labels"})
    tokens = tokenize(other.text, "words") if other.text is not None else other.tokens
    if tokens is None:
        raise ViewerError(
            f"{Path(path).name} holds no tokens; choose a text, a table of tokens or a FASTA file."
        )
    arrays = {name: np.asarray(array) for name, array in source.arrays.items()}
    loaded = Loaded("arrays", Path(source.path or source.label), arrays=arrays, notes=source.notes)
    labelled = attach_tokens(loaded, tokens, labels=answers.get("labels"))
    return replace(
        document, source=replace(source_of(labelled, document), path=source.path, label=source.label)
    )


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
