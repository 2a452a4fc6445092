"""Session files, `*.relpos`: one zip with `document.json` and `arrays.safetensors`.

Rules of the format
-------------------
* `document.json` is `{"format": "relpos", "version": 1, "document": {…}}`. An array in it stands as
  `{"array": NAME}` and lies in `arrays.safetensors` under that name, bit for bit.
* `VERSION` rises whenever an older program would show something else than what was saved. A newer
  version is refused. Fields that this program does not know, in a version that it does, are
  left unread: they may be added when missing them does no harm.
* Missing optional fields take the defaults of `Document`.
* Both members are stored, not compressed (random floats do not shrink). A file compressed again by
  hand is read as long as it unpacks to at most `MOST_EXPANSION` times its own size.
* Members are read by name, nothing is ever unpacked to disk, and there is no pickle.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    Tokenizer,
    View,
)

FORMAT = "relpos"
VERSION = 1
SUFFIX = ".relpos"

DOCUMENT_MEMBER = "document.json"
ARRAYS_MEMBER = "arrays.safetensors"

# 16 is far above what deflate does to float arrays and far below what a bomb needs.
MOST_EXPANSION = 16
SMALL_BYTES = 64 * 2**20  # members up to this size are read whatever their expansion
# A fixed date makes the same document the same bytes; it is the earliest that a zip can hold.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)


# --- what document.json looks like ------------------------------------------------------------------
# Private records, apart from Document: the file keeps its shape when the program's own types change.


class _Array(msgspec.Struct, frozen=True):
    array: str


class _Text(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    text: str
    tokenizer: Tokenizer = "words"
    heads: int = 4
    dim: int = 32
    seed: int = 0


class _Arrays(msgspec.Struct, frozen=True, tag_field="kind", tag="arrays"):
    path: str
    label: str
    arrays: dict[str, _Array]
    tokens: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] | None = None
    ids: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()


class _Encoding(msgspec.Struct, frozen=True):
    name: str
    parameters: dict[str, bool | int | float | str | _Array | None] = {}
    loaded: dict[str, _Array | None] | None = None


class _Document(msgspec.Struct, frozen=True):
    source: _Text | _Arrays
    encoding: _Encoding
    mask: str | _Array = "causal"
    scale: float | None = None
    edit: _Array | None = None
    view: View = View()


class _Head(msgspec.Struct, frozen=True):
    """What every version of the format has: read first, to say why the rest cannot be read."""

    format: str = ""
    version: int = 0


class _File(msgspec.Struct, frozen=True):
    format: str
    version: int
    document: _Document


# --- writing ----------------------------------------------------------------------------------------


def save_session(document: Document, path: str | os.PathLike[str]) -> None:
    """Write `document` to `path`, in one step: on any failure the old file stays as it was.

    Raises ViewerError when the target cannot be written or the document holds something that no
    file can hold. Any thread.
    """
    arrays: dict[str, np.ndarray] = {}
    text = _to_json(document, arrays)
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(DOCUMENT_MEMBER, ZIP_DATE), text)
        archive.writestr(zipfile.ZipInfo(ARRAYS_MEMBER, ZIP_DATE), safetensors.numpy.save(arrays))


def _to_json(document: Document, arrays: dict[str, np.ndarray]) -> bytes:
    """`document.json`; every array that it refers to is put into `arrays`."""

    def put(name: str, value: np.ndarray) -> _Array:
        arrays[name] = value
        return _Array(name)

    source = document.source
    kept: _Text | _Arrays
    if isinstance(source, TextSource):
        kept = _Text(source.text, source.tokenizer, source.heads, source.dim, source.seed)
    else:
        named = {name: put(f"source.{name}", value) for name, value in source.arrays.items()}
        kept = _Arrays(
            source.path, source.label, named, source.tokens, source.spans, source.ids, source.notes
        )
    parameters = {
        name: put(f"encoding.{name}", value) if isinstance(value, np.ndarray) else _finite(value, name)
        for name, value in document.encoding.parameters.items()
    }
    loaded = document.encoding.loaded
    kept_tables = loaded and {
        name: None if table is None else put(f"encoding.loaded.{name}", table)
        for name, table in loaded.items()
    }
    mask = put("mask", document.mask) if isinstance(document.mask, np.ndarray) else document.mask
    record = _Document(
        source=kept,
        encoding=_Encoding(document.encoding.name, parameters, kept_tables),
        mask=mask,
        scale=_finite(document.scale, "scale"),
        edit=put("edit", document.edit.values),
        view=document.view,
    )
    try:
        text = msgspec.json.encode(_File(FORMAT, VERSION, record), enc_hook=_python_scalar)
        # What cannot be read again must not replace a file that can (NaN in a colour limit, say).
        msgspec.json.decode(text, type=_File)
    except (UnicodeEncodeError, TypeError, msgspec.MsgspecError) as error:
        raise ViewerError(f"This document cannot be saved: {error}.") from error
    return msgspec.json.format(text, indent=1)


def _python_scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a file cannot hold {type(value).__name__}")


def _finite(value: Any, name: str) -> Any:
    """`value`, unless it is an infinity or NaN, which JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ViewerError(f"{name} is {value}, which cannot be saved; give it a finite number.")
    return value


# --- reading ----------------------------------------------------------------------------------------


def load_session(path: str | os.PathLike[str]) -> Document:
    """Read the document in `path`. Its parts are checked here, so a bad file fails now or never.

    Raises ViewerError naming the file and what is wrong with it. Any thread.
    """
    label = Path(path).name
    try:
        with Path(path).open("rb") as file:
            return _read(file, label)
    except OSError as error:
        raise ViewerError(f"Could not read {path}: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        # EOFError has no text; NotImplementedError is a zip that asks for what zipfile cannot do.
        raise ViewerError(f"{label} is damaged or cut short: {str(error) or 'it ends too early'}.") from error


def _read(file: BinaryIO, label: str) -> Document:
    limit = max(SMALL_BYTES, MOST_EXPANSION * os.fstat(file.fileno()).st_size)
    with zipfile.ZipFile(file) as archive:
        text = _member(archive, DOCUMENT_MEMBER, limit, label)
        record = _from_json(text, label)
        packed = _member(archive, ARRAYS_MEMBER, limit, label)
    try:
        arrays = safetensors.numpy.load(packed)
    except (SafetensorError, KeyError) as error:
        # KeyError: a format of numbers that numpy does not have (bfloat16, float8).
        raise ViewerError(f"The arrays in {label} cannot be read: {error}.") from error

    def get(reference: _Array) -> np.ndarray:
        if reference.array not in arrays:
            raise ViewerError(f"{label} lacks the array {reference.array!r}; the file is incomplete.")
        return arrays[reference.array]

    try:
        return _to_document(record.document, get)
    except ViewerError as error:
        raise ViewerError(f"{label}: {error}") from error


def _member(archive: zipfile.ZipFile, name: str, limit: int, label: str) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ViewerError(f"{label} is not a session file: it has no {name} in it.") from None
    if info.flag_bits & 1:
        raise ViewerError(f"{label} is encrypted; save it again without a password.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ViewerError(f"{name} in {label} is packed in an unusual way; pack it again as a plain zip.")
    # zipfile stops at the size declared here, so the declaration is the limit of what is unpacked.
    if info.file_size > limit:
        raise ViewerError(
            f"{name} in {label} would unpack to {info.file_size:,} bytes, far more than the file; not opened."
        )
    return archive.read(info)


def _from_json(text: bytes, label: str) -> _File:
    try:
        head = msgspec.json.decode(text, type=_Head)
        if head.format != FORMAT:
            raise ViewerError(f"{label} is not a session of this program (its format is {head.format!r}).")
        if head.version > VERSION:
            raise ViewerError(
                f"{label} has session format {head.version}, and this program reads up to {VERSION}; "
                "open it with a newer relpos-viewer."
            )
        if head.version < 1:
            raise ViewerError(f"{label} has session format {head.version}, which never existed.")
        return msgspec.json.decode(text, type=_File)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ViewerError(f"{DOCUMENT_MEMBER} in {label} cannot be read: {error}.") from error


def _to_document(record: _Document, get: Callable[[_Array], np.ndarray]) -> Document:
    kept = record.source
    source: TextSource | ArraySource
    if isinstance(kept, _Text):
        if kept.heads < 1 or kept.dim < 1:
            raise ViewerError(f"heads and dim must be at least 1, got {kept.heads} and {kept.dim}.")
        source = TextSource(kept.text, kept.tokenizer, kept.heads, kept.dim, kept.seed)
    else:
        named = {name: get(reference) for name, reference in kept.arrays.items()}
        source = ArraySource(kept.path, kept.label, named, kept.tokens, kept.spans, kept.ids, kept.notes)
    loaded = record.encoding.loaded
    encoding = EncodingSpec(
        record.encoding.name,
        _parameters(record.encoding.parameters, get),
        None if loaded is None else _parameters(loaded, get),
    )
    encoding.build()
    encoding.as_loaded().build()
    if isinstance(record.mask, str):
        # Imported late with torch; see EncodingSpec.build.
        from relpos_viewer.core.masks import parse_mask

        parse_mask(record.mask)
    edit = EditCurve.none() if record.edit is None else EditCurve(get(record.edit))
    if not np.isfinite(edit.values).all():
        raise ViewerError("the edit curve holds values that are no finite number.")
    return Document(
        source=source,
        encoding=encoding,
        mask=record.mask if isinstance(record.mask, str) else get(record.mask),
        scale=record.scale,
        edit=edit,
        view=record.view,
    )


def _parameters(values: Mapping[str, Any], get: Callable[[_Array], np.ndarray]) -> dict[str, Any]:
    return {name: get(value) if isinstance(value, _Array) else value for name, value in values.items()}
