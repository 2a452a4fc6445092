"""Reads .json and .jsonl: tokens, token ids, or an object of arrays. NaN and Infinity are read too."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.contents import Contents, Stored, in_memory, tokens_from
from relpos_viewer.sources.decoding import decode
from relpos_viewer.sources.roles import role_of

ENCODING_FORMAT = "relpos-viewer encoding"  # what `export.code` calls its JSON

_WANTED = "give a list of tokens or ids, or an object with tokens, q, k, v, bias, scores or weights"


def read_json(data: bytes, name: str) -> Contents:
    """Return what one JSON value holds.

    Raises:
        ViewerError: bad JSON (line and column are named), ragged arrays, or something that is neither.
    """
    return _contents(parse_json(decode(data, name), name), name)


def read_json_lines(data: bytes, name: str) -> Contents:
    """Return what a file with one JSON value a line holds: tokens, or documents of tokens.

    Raises:
        ViewerError: bad JSON in a line, which is named.
    """
    lines = decode(data, name).split("\n")
    values = [parse_json(line, f"{name}, line {n}") for n, line in enumerate(lines, start=1) if line.strip()]
    if not values:
        raise ViewerError(f"{name} holds no lines; {_WANTED}.")
    if len(values) == 1:
        return _contents(values[0], name)
    if all(isinstance(value, dict) for value in values):
        records = [{key.lower(): item for key, item in value.items()} for value in values]
        key = next(
            (key for key in ("token", "tokens", "text", "ids") if all(key in record for record in records)),
            None,
        )
        if key is None:
            raise ViewerError(f"{name} holds {len(values)} records of arrays; keep one record in the file.")
        values = [record[key] for record in records]
        if key == "text":
            return _paragraphs(values, name)
    return _contents(values, name)


def parse_json(text: str, name: str) -> object:
    """Return the value of a JSON text; `name` says whose it is.

    Raises:
        ViewerError: bad JSON, by line and column.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ViewerError(
            f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}; mend it there."
        ) from None
    except RecursionError:
        raise ViewerError(f"{name} nests too deeply; {_WANTED}.") from None
    except ValueError as error:  # a number of thousands of digits
        raise ViewerError(f"{name} cannot be read: {error}.") from None


def _paragraphs(texts: list[object], name: str) -> Contents:
    if not all(isinstance(text, str) for text in texts):
        raise ViewerError(f"{name} has a text that is no text; give a string in every line.")
    return Contents(text="\n\n".join(texts))  # type: ignore[arg-type]


def _contents(value: object, name: str) -> Contents:
    if isinstance(value, str):
        return Contents(text=value)
    if isinstance(value, list):
        return _from_list(value, name)
    if isinstance(value, dict):
        return _from_object(value, name)
    raise ViewerError(f"{name} holds a single value; {_WANTED}.")


def _from_list(values: list[object], name: str) -> Contents:
    if values and all(isinstance(value, list) for value in values):
        if all(isinstance(item, str) for value in values for item in value):  # type: ignore[attr-defined]
            return Contents(tokens=_packed(values, name))  # type: ignore[arg-type]
        return Contents(arrays={"array": _array(values, "the list", name)})
    if values and all(isinstance(value, float) for value in values):
        return Contents(arrays={"array": _array(values, "the list", name)})
    if values and all(isinstance(value, dict) and "token" in value for value in values):
        values = [value["token"] for value in values]  # type: ignore[index]
    return Contents(tokens=tokens_from(values, name))


def _packed(documents: list[list[object]], name: str) -> Tokens:
    tokens = tokens_from(list(chain.from_iterable(documents)), name)
    ids = tuple(n for n, document in enumerate(filter(None, documents)) for _ in document)
    return Tokens(tokens.texts, ids=tokens.ids, documents=ids if ids[-1] else None)


def _from_object(record: dict[str, object], name: str) -> Contents:
    if record.get("format") == ENCODING_FORMAT:
        raise ViewerError(
            f"{name} is an encoding without a sequence; let its name end in .encoding.json to open it."
        )
    tokens: Tokens | None = None
    text: str | None = None
    arrays: dict[str, Stored] = {}
    for key, value in record.items():
        if value is None:
            continue  # a field that was left out
        role = role_of(key)
        if role in ("tokens", "ids") and isinstance(value, list):
            nested = value and all(isinstance(item, list) for item in value)
            found = _packed(value, key) if nested else tokens_from(value, key)
            # Texts and ids side by side belong together.
            if tokens is None or len(tokens) != len(found):
                tokens = found
            elif role == "ids":
                tokens = Tokens(tokens.texts, ids=found.ids, documents=tokens.documents)
            else:
                tokens = Tokens(found.texts, ids=tokens.ids, documents=found.documents)
        elif isinstance(value, str) and (role == "tokens" or key.lower() == "text"):
            text = value
        elif isinstance(value, list) and (role is not None or _looks_like_array(value)):
            arrays[key] = _array(value, key, name)
    if tokens is None and not arrays:
        if text is None:
            raise ViewerError(f"{name} names nothing that can be drawn; {_WANTED}.")
        return Contents(text=text)
    if tokens is None and text is not None:
        return Contents(
            arrays=arrays, notes=("The text beside the arrays is not used: its tokens are unknown.",)
        )
    return Contents(tokens=tokens, arrays=arrays)


def _looks_like_array(value: list[object]) -> bool:
    return bool(value) and isinstance(value[0], list | int | float)


def _array(values: list[object], name: str, file: str) -> Stored:
    try:
        array = np.array(values)
        if array.dtype.kind not in "biuf":
            # null and the strings "NaN", "Infinity" stand for numbers that strict JSON cannot write.
            array = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise ViewerError(
            f"{name} in {file} is no array of numbers; give nested lists whose rows have equal lengths."
        ) from None
    return in_memory(array)
