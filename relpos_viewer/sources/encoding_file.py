"""Reads an encoding from JSON: what `export.code` writes, or a model's config with rotary settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.encodings.base import read_parameters
from relpos_viewer.core.encodings.rope_config import KEYS, rope_parameters
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, replace
from relpos_viewer.sources.contents import MAX_TEXT_BYTES
from relpos_viewer.sources.decoding import decode
from relpos_viewer.sources.jsonfile import ENCODING_FORMAT, parse_json

VERSION = 1  # the newest that is understood
MOST_HEADS = 4096


@dataclass(frozen=True, eq=False)
class EncodingFile:
    """What such a file holds.

    Attributes:
        spec: the encoding.
        edit: what was drawn on top.
        notes: what a reader should know, one sentence each.
    """

    spec: EncodingSpec
    edit: EditCurve
    notes: tuple[str, ...] = ()


def read_encoding_file(path: str | Path) -> EncodingFile:
    """Return the encoding of a file. Any thread.

    Raises:
        ViewerError: one sentence that names the file and what is wrong with it.
    """
    path = Path(path)
    try:
        if not path.is_file():
            reason = "is no file" if path.exists() else "does not exist"
            raise ViewerError(f"{path} {reason}; give a file that holds an encoding.")
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise ViewerError(f"{path.name} is too large to hold an encoding; save it again.")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, ViewerError):
            raise
        raise ViewerError(
            f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from None
    record = parse_json(decode(data, path.name), path.name)
    if not isinstance(record, dict):
        raise ViewerError(f"{path.name} holds no encoding; give a file that was exported as one.")
    try:
        if record.get("format") == ENCODING_FORMAT:
            return _own(record)
        if any(record.get(key) is not None for key in KEYS):
            parameters, notes = rope_parameters(record)
            return EncodingFile(_checked("rope", parameters), EditCurve.none(), notes)
    except ViewerError as error:
        raise ViewerError(f"{path.name}: {error}") from None
    raise ViewerError(
        f"{path.name} holds no encoding: neither an exported one nor a model's config with rotary settings."
    )


def with_encoding(document: Document, read: EncodingFile) -> Document:
    """Return the document with the encoding and the edit of a file.

    Raises:
        ViewerError: when the encoding's tables are for another number of heads.
    """
    read.spec.build().with_heads(document.heads)
    return replace(document, encoding=read.spec, edit=read.edit)


def _own(record: Mapping[str, Any]) -> EncodingFile:
    version = record.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ViewerError(f"its version is “{version}”, which never was; export the encoding again.")
    if version > VERSION:
        raise ViewerError(f"it is of version {version} and this program reads up to {VERSION}; update it.")
    name, parameters = record.get("encoding"), record.get("parameters", {})
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise ViewerError("it lacks the name of an encoding or its parameters; export the encoding again.")
    return EncodingFile(_checked(name, parameters), _edit(record.get("edit")))


def _checked(name: str, parameters: Mapping[str, Any]) -> EncodingSpec:
    """Return the spec, every value read by the registry's own table."""
    family = type(encoding(name))  # an unknown one is refused with the nearest
    tables = {each.name for each in family.parameters if each.kind == "table"}
    values = {
        key: _table(value, key) if key in tables and value is not None else _single(value, key)
        for key, value in parameters.items()
    }
    read_parameters(family, values)  # "heads" is a word of `encoding`, but no parameter
    return EncodingSpec.of(encoding(name, **values))


def _single(value: Any, name: str) -> Any:
    if isinstance(value, list | dict):
        raise ViewerError(f"{name} must be one value, not a list or an object.")
    return value


def _table(values: Any, name: str) -> np.ndarray:
    try:
        return np.array(values, np.float32)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ViewerError(f"{name} is no table of numbers; its rows must have equal lengths.") from None


def _edit(record: Any) -> EditCurve:
    if record is None:
        return EditCurve.none()
    if not isinstance(record, dict):
        raise ViewerError("its edit must be an object of first_offset and values.")
    values, first = _table(record.get("values"), "the edit"), record.get("first_offset")
    heads_by_offsets = values.ndim == 2 and 1 <= values.shape[0] <= MOST_HEADS and values.shape[1] % 2 == 1
    if not heads_by_offsets or first != -(values.shape[1] // 2):
        raise ViewerError("its edit must be rows, one a head, from −first_offset to first_offset.")
    if not np.isfinite(values).all():
        raise ViewerError("its edit holds values that are no finite number.")
    return EditCurve(values)
