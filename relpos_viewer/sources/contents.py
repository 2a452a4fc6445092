"""What a reader found in a file, before anybody asks what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.text import MAX_TOKENS, check_text

# A text of 64 MiB is twenty long novels; arrays of 2 GiB are one head of 23,000 × 23,000 in float32.
MAX_TEXT_BYTES = 64 * 2**20
MAX_ARRAY_BYTES = 2 * 2**30


class Question(ViewerError):  # noqa: N818  (it is one, and the window asks it)
    """The file can be read in more than one way, and guessing would show something wrong.

    Attributes:
        option_name: the keyword of `load` that settles it; on the command line ``--option-name``.
        options: (value, title) pairs to choose from.
    """

    def __init__(self, text: str, option_name: str, options: list[tuple[str, str]]) -> None:
        super().__init__(text)
        self.option_name = option_name
        self.options = options

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.option_name, self.options)


@dataclass(frozen=True)
class Choices:
    """Answers to questions, None where nothing was asked. The fields are the keywords of `load`."""

    column: str | None = None
    order: str | None = None
    role: str | None = None
    mask_true: str | None = None
    batch: str | int | None = None
    array: str | None = None
    labels: str | None = None

    def settle(self, option_name: str, text: str, options: list[tuple[str, str]]) -> str:
        """Return the answer to a question that has come up.

        Raises:
            Question: nobody answered it yet.
            ViewerError: the answer is none of the options.
        """
        answer = getattr(self, option_name)
        if answer is None:
            raise Question(text, option_name, options)
        values = [value for value, _ in options]
        if str(answer).lower() not in [value.lower() for value in values]:
            raise ViewerError(
                f"{option_name} cannot be “{answer}” here; choose one of {', '.join(values[:12])}."
            )
        return next(value for value in values if value.lower() == str(answer).lower())


@dataclass(frozen=True)
class Stored:
    """One array in a file; its values are read only when they are wanted.

    Attributes:
        shape: as it stands in the file.
        dtype: the type's name for people: f16, bf16, f32, f64, i64, bool, text …
        nbytes: size in memory once read.
        read: returns the values; bfloat16 and 8-bit floats come as float32.
    """

    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    read: Callable[[], np.ndarray]


@dataclass(frozen=True)
class Contents:
    """A file's text, or its tokens and arrays.

    Attributes:
        text: set for plain text alone.
        tokens: labels that came with the file.
        arrays: every array of the file by its name; one without a name is called "array".
        notes: what a reader should know, one sentence each.
    """

    text: str | None = None
    tokens: Tokens | None = None
    arrays: Mapping[str, Stored] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def in_memory(values: np.ndarray) -> Stored:
    """Return an array that is already read."""
    return Stored(values.shape, dtype_name(values.dtype), values.nbytes, lambda: values)


def dtype_name(dtype: np.dtype) -> str:
    """Return the short name of a numpy type: f32, i64, bool, text."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "US":
        return "text"
    return f"{dtype.kind}{dtype.itemsize * 8}" if dtype.kind in "iuf" else str(dtype)


def size_of(shape: tuple[int, ...], itemsize: int) -> int:
    """Return bytes of an array; Python integers, so a hostile shape cannot wrap round to a small number."""
    return math.prod(shape) * itemsize


def tokens_from(values: object, name: str) -> Tokens:
    """Return a list of texts, or a list of whole numbers (token ids), as tokens.

    Raises:
        ViewerError: an empty list, or anything else in it; the place is named, counted from 0.
    """
    if not isinstance(values, list) or not values:
        raise ViewerError(f"{name} holds no tokens; give a list of texts or of token ids.")
    if len(values) > MAX_TOKENS:
        raise ViewerError(f"{name} holds more than {MAX_TOKENS:,} tokens; keep a shorter part of it.")
    numbers = isinstance(values[0], int)
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int if numbers else str):
            wanted = "a whole number" if numbers else "text"
            raise ViewerError(
                f"{name}[{index}] is {_kind_of(value)}, not {wanted}; give only one kind of token."
            )
        if numbers and abs(value) >= 2**63:
            raise ViewerError(
                f"{name}[{index}] is too large for a token id; give numbers of at most 64 bits."
            )
        if not numbers:
            check_text(value, f"{name}[{index}]")
    if numbers:
        return Tokens(tuple(map(str, values)), ids=tuple(values))
    return Tokens(tuple(values))


def _kind_of(value: object) -> str:
    names = {str: "text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")
