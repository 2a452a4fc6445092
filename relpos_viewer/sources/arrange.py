"""Makes of a file's contents what the document keeps: tokens, and arrays with known roles and axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import shape_text
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.axes import Arrays, Extent, extent_of, order_axes
from relpos_viewer.sources.contents import MAX_ARRAY_BYTES, Choices, Contents, Stored, tokens_from
from relpos_viewer.sources.labels import fit_labels
from relpos_viewer.sources.meaning import (
    check_weights,
    count_nonfinite,
    lone_role,
    row_sum_note,
    softmaxed_note,
    split_mask,
    visible_from,
)
from relpos_viewer.sources.roles import SEQUENCES, find_roles


@dataclass(frozen=True)
class Arranged:
    """Tokens (None: number them) and arrays by role, in `[head, …]` order; see `sources.files.Loaded`."""

    tokens: Tokens | None
    arrays: dict[str, np.ndarray]
    notes: tuple[str, ...]


def arrange(contents: Contents, choices: Choices, file: str) -> Arranged:
    """Settle roles, axes, masks and labels of `contents`.

    Raises:
        Question: where more than one reading is possible.
        ViewerError: where none is.
    """
    notes = list(contents.notes)
    names = find_roles(contents.arrays, contents.tokens is not None, choices, file)
    names = _drop_derived(names, notes, file)
    _check_size([contents.arrays[name] for name in names.values()], file)
    sequences = {role: contents.arrays[name] for role, name in names.items() if role in SEQUENCES}
    tokens = _tokens(contents.tokens, sequences)
    values: Arrays = {}
    dtypes: dict[str, str] = {}
    for role, name in names.items():
        if role in SEQUENCES:
            continue
        stored = contents.arrays[name]
        if role == "lone" and _is_id_list(stored):
            tokens = tokens or tokens_from(stored.read().ravel().tolist(), name)
            continue
        values[role] = _read(stored, name, notes, file)
        dtypes[role] = stored.dtype
    if not values:
        return Arranged(_with_documents(tokens, sequences, None, notes), {}, tuple(notes))
    values = _with_roles(values, dtypes, names, choices, notes, file)
    n_labels = (
        len(tokens)
        if tokens is not None
        else next((s.shape[-1] for s in sequences.values() if s.shape), None)
    )
    arrays, decided = order_axes(values, n_labels, choices, file)
    notes += decided
    extent = extent_of(arrays, file)
    arrays = _part_masks(arrays, extent, notes)
    if tokens is not None:
        tokens, arrays = fit_labels(tokens, arrays, extent.n_key, choices)
    if "scores" in arrays and (note := softmaxed_note(arrays["scores"], dtypes.get("scores", "f32"))):
        notes.append(note)
    if "weights" in arrays:
        check_weights(arrays["weights"], file)
        note = row_sum_note(arrays["weights"], dtypes.get("weights", "f32"))
        notes += [note] if note else []
    tokens = _with_documents(tokens, sequences, extent.n_key, notes)
    return Arranged(tokens, arrays, tuple(notes))


def _drop_derived(names: Mapping[str, str], notes: list[str], file: str) -> dict[str, str]:
    """Leave out arrays that are computed from others in the file."""
    roles = dict(names)
    if ("q" in roles) != ("k" in roles):
        have, lack = ("q", "k") if "q" in roles else ("k", "q")
        if not any(role in roles for role in ("content", "scores", "weights")):
            raise ViewerError(f"{file} holds {have} and no {lack}; save both in it.")
        del roles[have]
        notes.append(f"{have} is not used: there is no {lack} beside it.")
    if "v" in roles and len([role for role in roles if role not in SEQUENCES]) == 1:
        raise ViewerError(f"{file} holds v alone; save q and k beside it.")
    if "q" in roles:
        source, derived = "q and k", ("content", "scores", "weights")
    elif "content" in roles:
        source, derived = "content", ("scores", "weights")
    elif "scores" in roles:
        source, derived = "scores", ("weights",)
    else:
        return roles
    unused = [roles.pop(role) for role in derived if role in roles]
    if unused:
        notes.append(f"{' and '.join(unused)} of the file not used: computed from {source}.")
    return roles


def _check_size(chosen: list[Stored], file: str) -> None:
    total = sum(stored.nbytes for stored in chosen)
    if total > MAX_ARRAY_BYTES:
        raise ViewerError(
            f"{file} needs {total / 2**30:,.1f} GiB of memory and the limit is {MAX_ARRAY_BYTES / 2**30:.0f}; "
            "save fewer heads or positions."
        )


def _is_id_list(stored: Stored) -> bool:
    return stored.dtype[0] in "iu" and len(stored.shape) in (1, 2) and stored.shape[:-1] in ((), (1,))


def _read(stored: Stored, name: str, notes: list[str], file: str) -> np.ndarray:
    """Return an array as float32 or bool, with notes about what it holds."""
    values = stored.read()
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind not in "iuf":
        raise ViewerError(f"{name} in {file} holds {stored.dtype}, not real numbers; save it as float32.")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.ascontiguousarray(values, dtype=np.float32)
    if stored.dtype in ("f16", "bf16") or stored.dtype.startswith("f8"):
        notes.append(f"{name} is stored as {stored.dtype}.")
    if values.dtype.itemsize > 4 and (lost := int((np.isinf(numbers) & np.isfinite(values)).sum())):
        notes.append(f"{lost} values of {name} are beyond float32 and became infinite.")
    if note := count_nonfinite(numbers, name):
        notes.append(note)
    return numbers


def _with_roles(
    values: Arrays,
    dtypes: dict[str, str],
    names: Mapping[str, str],
    choices: Choices,
    notes: list[str],
    file: str,
) -> Arrays:
    """Give a lone array its role, content the place of scores, and masks their meaning."""
    values = dict(values)
    if "lone" in values:
        array, dtype = values.pop("lone"), dtypes.pop("lone")
        role, note = lone_role(array, dtype, choices, file)
        values[role], dtypes[role] = array, dtype
        notes += [note] if note else []
    if "content" in values:
        values["scores"] = values.pop("content")
    if "mask" in values:
        mask = visible_from(values.pop("mask"), False, choices, file)
        values["visible"] = (
            mask & visible_from(values["visible"], True, choices, file) if "visible" in values else mask
        )
    elif "visible" in values:
        values["visible"] = visible_from(values["visible"], True, choices, file)
    for role, array in values.items():
        if array.ndim == 0:
            raise ViewerError(f"{names.get(role, role)} in {file} is a single number; save an array.")
        if role != "visible" and array.dtype.kind == "b":
            raise ViewerError(
                f"{role} {shape_text(array)} in {file} holds booleans; call it mask, or save numbers."
            )
    return values


def _part_masks(arrays: Arrays, extent: Extent, notes: list[str]) -> Arrays:
    """Spread matrices over all queries and keys, and part masks from the numbers they were added to."""
    arrays = dict(arrays)
    visible = arrays.pop("visible", None)
    for role in ("bias", "scores"):
        if role not in arrays:
            continue
        arrays[role], seen, note = split_mask(arrays[role], role)
        if seen is not None:
            visible = seen if visible is None else visible & seen
            notes.append(note or "")
        if role == "bias" and seen is not None and not arrays[role].any():
            del arrays[role]
            notes.append("The bias is a mask and nothing else.")
    size = (extent.n_query, extent.n_key)
    for role in ("bias", "scores", "weights"):
        if role in arrays:
            arrays[role] = np.broadcast_to(arrays[role], (arrays[role].shape[0], *size))
    if visible is not None:
        arrays["visible"] = np.broadcast_to(visible, (visible.shape[0], *size))
    return arrays


def _tokens(tokens: Tokens | None, sequences: Mapping[str, Stored]) -> Tokens | None:
    """Return the labels that came with the file, from its own list or from arrays called tokens or ids."""
    for role in ("tokens", "ids"):
        if role not in sequences:
            continue
        values = _one_row(sequences[role], role)
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8", "replace")
        if values.dtype.kind not in "iuU":
            raise ViewerError(f"{role} holds {sequences[role].dtype}; give texts or whole numbers.")
        found = tokens_from(values.tolist(), role)
        if tokens is None:
            tokens = found
        elif tokens.ids is None and found.ids is not None and len(tokens) == len(found):
            tokens = replace(tokens, ids=found.ids)
    return tokens


def _one_row(stored: Stored, name: str) -> np.ndarray:
    """Return a list of one value a position; a batch of one is that one."""
    values = stored.read()
    if values.ndim == 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 1 or not values.size:
        raise ViewerError(f"{name} has shape {shape_text(values)}; give one value a position.")
    return values


def _with_documents(
    tokens: Tokens | None, sequences: Mapping[str, Stored], n_key: int | None, notes: list[str]
) -> Tokens | None:
    """Add the documents that an array of documents or of restarting positions tells apart."""
    role = next((role for role in ("documents", "positions") if role in sequences), None)
    if role is None:
        return tokens
    values = _one_row(sequences[role], role)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ViewerError(f"{role} must be whole numbers, one a position.")
    length = len(tokens) if tokens is not None else n_key if n_key is not None else len(values)
    if len(values) != length:
        raise ViewerError(f"{role} has {len(values)} values for {length} positions; give one a position.")
    if tokens is None:
        tokens = Tokens(tuple(map(str, range(length))))
    steps = np.diff(values)
    # Packed sequences start again at a low position; within one document positions rise.
    starts = steps != 0 if role == "documents" else steps <= 0
    ids = np.concatenate(([0], np.cumsum(starts)))
    if not ids[-1]:
        return replace(tokens, documents=None)
    notes.append(f"{int(ids[-1]) + 1} documents, told apart by {role}.")
    return replace(tokens, documents=tuple(ids.tolist()))
