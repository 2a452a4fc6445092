"""Which axis of an array is which. What the shapes settle is settled; what they do not is asked, never guessed.

Three axes are the convention of this program, [head, position, d], unless something else in the file contradicts
it; a note then says how to read them otherwise. With a batch axis two conventions are equally common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import shape_text
from relpos_viewer.sources.contents import Choices, Question

Arrays = dict[str, np.ndarray]
VECTORS = ("q", "k", "v")  # [head, position, d]
MATRICES = ("bias", "scores", "weights", "visible")  # [head, query, key]

# What `order` calls the readings of q, k and v, with a batch axis and without.
_TITLES = {"bhsd": "[batch, head, position, d]", "bshd": "[batch, position, head, d]"}
_TITLES_OF_THREE = {
    "bhsd": "[head, position, d]",
    "bshd": "[position, head, d]",
    "bsd": "[batch, position, d], one head",
}


@dataclass(frozen=True)
class Extent:
    """Lengths of the axes that all arrays share."""

    heads: int
    n_query: int
    n_key: int


def order_axes(arrays: Arrays, n_labels: int | None, choices: Choices, file: str) -> tuple[Arrays, list[str]]:
    """Bring vectors to `[head, position, d]` and matrices to `[head, query, key]`.

    Args:
        arrays: by role, as they stand in the file.
        n_labels: how many tokens or positions came along, or None.
        choices: answers for ``order`` (axes of q, k, v) and ``batch`` (which entry of a batch).
        file: its name, for messages.

    Returns:
        The arrays, and notes about what the shapes decided.

    Raises:
        Question: order or batch.
        ViewerError: shapes that fit in no order; q and k are both named.
    """
    for role, array in arrays.items():
        if array.size == 0:
            raise ViewerError(f"{role} {shape_text(array)} in {file} holds nothing; save at least one value.")
        if array.ndim < (2 if role in VECTORS else 1):
            raise ViewerError(
                f"{role} {shape_text(array)} in {file} has too few axes; save [head, position, d]."
            )
    vectors = {role: arrays[role] for role in VECTORS if role in arrays}
    had_batch = any(array.ndim > 3 for array in vectors.values())
    shapes = ", ".join(f"{role} {shape_text(array)}" for role, array in vectors.items())
    arrays = _drop_batch(arrays, choices, file)
    arrays = {role: _at_least_3d(array) if role in MATRICES else array for role, array in arrays.items()}
    if not vectors:
        return arrays, []
    return _order_vectors(arrays, n_labels, had_batch, choices, f"{shapes} in {file}", file)


def _at_least_3d(array: np.ndarray) -> np.ndarray:
    return array.reshape((1,) * (3 - array.ndim) + array.shape) if array.ndim < 3 else array


def _drop_batch(arrays: Arrays, choices: Choices, file: str) -> Arrays:
    """Remove axes before the last three: those of length 1 silently, one longer one by asking which entry."""
    result: Arrays = {}
    batched: dict[str, np.ndarray] = {}
    for role, array in arrays.items():
        squeezed = array.reshape([n for n in array.shape[:-3] if n > 1] + list(array.shape[-3:]))
        if squeezed.ndim > 4:
            raise ViewerError(
                f"{role} {shape_text(array)} in {file} has too many axes; save one example of one layer."
            )
        (batched if squeezed.ndim == 4 else result)[role] = squeezed
    if batched:
        shapes = " and ".join(f"{role} {shape_text(array)}" for role, array in batched.items())
        lengths = {len(array) for array in batched.values()}
        if len(lengths) > 1:
            raise ViewerError(f"{shapes} in {file} differ in their first axis, the batch; save one example.")
        pick = _batch_entry(lengths.pop(), f"The first axis of {shapes} is a batch or a layer", choices)
        result |= {role: array[pick] for role, array in batched.items()}
    return {role: result[role] for role in arrays}


def _batch_entry(length: int, what: str, choices: Choices) -> int:
    options = [(str(i), f"entry {i}") for i in range(length)]
    return int(choices.settle("batch", f"{what} of {length}; say which entry to show.", options))


def order_question() -> Question:
    """Return the question about the axes of q, k and v, for a file that was read in one order already."""
    titles = {order: f"{title} or {_TITLES_OF_THREE[order]}" for order, title in _TITLES.items()}
    return Question("In which order are the axes of q, k and v?", "order", list(titles.items()))


def _order_vectors(
    arrays: Arrays, n_labels: int | None, had_batch: bool, choices: Choices, shapes: str, file: str
) -> tuple[Arrays, list[str]]:
    vectors = {role: array for role, array in arrays.items() if role in VECTORS}
    matrices = {role: array for role, array in arrays.items() if role in MATRICES}
    flat = all(array.ndim == 2 for array in vectors.values())  # one head each: nothing to decide
    placed = {order: {role: _placed(a, order) for role, a in vectors.items()} for order in ("bhsd", "bshd")}
    misfits = {order: misfit(candidate, matrices, file) for order, candidate in placed.items()}
    fitting = [order for order in placed if misfits[order] is None]
    if flat or (not fitting and choices.order is None):
        if misfits["bhsd"]:
            raise ViewerError(misfits["bhsd"])
        return placed["bhsd"] | matrices, []
    titles = _TITLES if had_batch else _TITLES_OF_THREE
    options = list(titles.items())
    notes: list[str] = []
    if choices.order is not None:
        order = Choices(order=_with_batch(choices.order)).settle("order", "", options)
    elif len(left := _plausible(fitting, placed, n_labels)) == 1:
        order = left[0]
        if order != "bhsd":
            other = (
                ", which alone fits" if len(fitting) == 1 else f"; for {titles['bhsd']} choose the order bhsd"
            )
            notes.append(f"Axes read as {titles[order]}{other}.")
    elif not had_batch:
        order = "bhsd"
        notes.append(f"Axes read as {titles[order]}; for {titles['bshd']} choose the order bshd.")
    else:
        text = f"The axes of {shapes} can be read in more than one order; say which."
        order = choices.settle("order", text, options)
    if order == "bsd":
        return _pick_from_batch(vectors, matrices, choices, file), notes
    if misfits[order]:
        raise ViewerError(misfits[order])
    return placed[order] | matrices, notes


def _with_batch(order: str) -> str:
    """Take "hsd" and "shd" for the orders they are within a batch."""
    short = order.strip().lower()
    return "b" + short if short in ("hsd", "shd") else short


def _placed(array: np.ndarray, order: str) -> np.ndarray:
    if array.ndim == 2:
        return array[None]  # [1, position, d]
    return array if order == "bhsd" else array.swapaxes(0, 1)  # [head, position, d]


def _plausible(fitting: list[str], placed: Mapping[str, Arrays], n_labels: int | None) -> list[str]:
    """Leave out orders that contradict the number of labels, or would make a sequence of one position."""
    keys = {order: placed[order]["k"].shape[1] for order in fitting if "k" in placed[order]}
    # Start and end tokens often have no label of their own.
    for missing in (0, 1, 2):
        matching = [
            order for order in fitting if n_labels is not None and keys.get(order) == n_labels + missing
        ]
        if len(matching) == 1:
            return matching
    longer = [order for order in fitting if keys.get(order, 2) > 1]
    return longer or fitting


def _pick_from_batch(vectors: Arrays, matrices: Arrays, choices: Choices, file: str) -> Arrays:
    """Read 3-D vectors as [batch, position, d] with one head."""
    shapes = " and ".join(f"{role} {shape_text(array)}" for role, array in vectors.items())
    lengths = {len(array) for array in vectors.values() if array.ndim == 3}
    if len(lengths) != 1:
        raise ViewerError(f"{shapes} in {file} differ in their first axis, the batch; save one example.")
    length = lengths.pop()
    pick = _batch_entry(length, f"The first axis of {shapes} is a batch", choices)
    one = {role: array[pick][None] if array.ndim == 3 else array[None] for role, array in vectors.items()}
    kept = {
        role: array[pick][None] if len(array) == length > 1 else array for role, array in matrices.items()
    }
    if problem := misfit(one, kept, file):
        raise ViewerError(problem)
    return one | kept


def misfit(vectors: Arrays, matrices: Arrays, file: str) -> str | None:
    """Return a sentence about the first two arrays that do not fit each other, or None.

    Args:
        vectors: q, k, v as `[head, position, d]`.
        matrices: `[head, query, key]`; an axis of length 1 stands for every head, query or key.
        file: its name, for messages.
    """
    q, k, v = (vectors.get(role) for role in VECTORS)
    if q is None or k is None:
        return None
    pair = f"q {shape_text(q)} and k {shape_text(k)} in {file}"
    if q.shape[2] != k.shape[2]:
        return f"{pair} differ in their last axis, the head size; it must be the same."
    if q.shape[0] % k.shape[0]:
        return f"{pair} do not fit: the number of key heads must divide the number of query heads."
    if q.shape[1] > k.shape[1]:
        return f"{pair} do not fit: there are more queries than keys; the queries must be the last positions."
    if v is not None and v.shape[:2] != k.shape[:2]:
        return f"v {shape_text(v)} does not fit k {shape_text(k)} in {file}; heads and positions must agree."
    extent = (q.shape[0], q.shape[1], k.shape[1])
    for role, matrix in matrices.items():
        if any(length not in (1, whole) for length, whole in zip(matrix.shape, extent, strict=True)):
            return f"{role} {shape_text(matrix)} does not fit {pair}; it must be {list(extent)}, [head, query, key]."
    return None


def extent_of(arrays: Arrays, file: str) -> Extent:
    """Return the lengths that ordered arrays share.

    Raises:
        ViewerError: they do not share them, or there are more queries than keys.
    """
    if "q" in arrays:
        return Extent(arrays["q"].shape[0], arrays["q"].shape[1], arrays["k"].shape[1])
    shapes = [arrays[role].shape for role in MATRICES if role in arrays]
    whole = tuple(max(lengths) for lengths in zip(*shapes, strict=True))
    for shape in shapes:
        if any(length not in (1, full) for length, full in zip(shape, whole, strict=True)):
            named = " and ".join(f"{role} {shape_text(arrays[role])}" for role in MATRICES if role in arrays)
            raise ViewerError(f"{named} in {file} do not fit each other; all must be [head, query, key].")
    if whole[1] > whole[2]:
        raise ViewerError(
            f"{file} has more queries than keys, {list(whole)} as [head, query, key]; the queries are the last keys."
        )
    return Extent(*whole)
