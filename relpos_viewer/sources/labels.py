"""Puts tokens beside arrays. Start and end tokens shift every label by one, so a count that differs is asked about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.contents import Choices

_ENDS = {"cls+eos": (1, 1), "cls": (1, 0), "eos": (0, 1)}


def numbered(n: int) -> Tokens:
    """Return the labels 0, 1, … for arrays that came without any."""
    return Tokens(tuple(map(str, range(n))))


def fit_labels(
    tokens: Tokens, arrays: dict[str, np.ndarray], n_key: int, choices: Choices
) -> tuple[Tokens, dict[str, np.ndarray]]:
    """Return tokens and arrays of one length.

    Args:
        tokens: as many as there happen to be.
        arrays: vectors `[head, position, d]`, matrices `[head, query, key]`.
        n_key: number of keys in the arrays.
        choices: the answer for ``labels``: "cls+eos", "cls" or "eos" add tokens at the ends, "crop" leaves the
            ends out of the arrays, "numbers" drops the labels.

    Raises:
        Question: the arrays have one or two positions more than there are tokens.
        ViewerError: any other difference.
    """
    count, extra = len(tokens), n_key - len(tokens)
    if extra == 0:
        return tokens, arrays
    square = all(array.shape[1] in (1, n_key) for array in arrays.values())
    options = {
        2: [("cls+eos", f"CLS + {count} + EOS")],
        1: [("cls", f"CLS + {count}"), ("eos", f"{count} + EOS")],
    }.get(extra, [])
    if extra == 2 and square:
        options.append(("crop", f"leave out the first and the last position, keep {count}"))
    options.append(("numbers", f"number the positions 0…{n_key - 1} instead"))
    counts = f"there are {count} tokens for {n_key} positions"
    if len(options) == 1 and choices.labels != "numbers":
        raise ViewerError(f"{counts}; give one token a position, or drop the tokens.")
    answer = choices.settle("labels", f"{counts[0].upper()}{counts[1:]}; say how they go together.", options)
    if answer == "numbers":
        return numbered(n_key), arrays
    if answer == "crop":
        return tokens, {name: _cropped(name, array) for name, array in arrays.items()}
    before, after = _ENDS[answer]
    documents = tokens.documents
    return (
        replace(
            tokens,
            texts=("CLS",) * before + tokens.texts + ("EOS",) * after,
            # The ends stand nowhere in the source.
            spans=tokens.spans and ((0, 0),) * before + tokens.spans + ((tokens.spans[-1][1],) * 2,) * after,
            ids=None,
            documents=documents and (documents[0],) * before + documents + (documents[-1],) * after,
        ),
        arrays,
    )


def _cropped(name: str, array: np.ndarray) -> np.ndarray:
    """Leave out the first and last of every axis of positions that is not broadcast."""
    axes = (1,) if name in ("q", "k", "v") else (1, 2)
    index = [
        slice(1, -1) if axis in axes and array.shape[axis] > 1 else slice(None) for axis in range(array.ndim)
    ]
    return array[tuple(index)]
