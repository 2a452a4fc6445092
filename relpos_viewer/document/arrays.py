"""Arrays that nobody can change, and equality that looks inside them.

Documents are compared (is there anything to undo, anything to save?) and shared between threads,
so every array in one is a private, read-only copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from relpos_viewer.core.errors import ViewerError


def frozen_array(value: Any, name: str, dtype: Any = None) -> np.ndarray:
    """`value` as a read-only array in C order and native byte order, copied unless it already is one.

    `name` says in the error which array was wrong. Raises ViewerError for anything but numbers
    and booleans (objects and strings cannot be saved without pickle). Any thread.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ViewerError(f"{name} is not an array of numbers: {error}.") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ViewerError(f"{name} holds {array.dtype}, not numbers or booleans; convert it to float32.")
    array = array.astype(dtype or array.dtype, copy=False)
    # A read-only view can still change through the array that it looks at, so only an owner is kept.
    owned = array.base is None and not array.flags.writeable and array.flags.c_contiguous
    if owned and array.dtype.isnative:
        return array
    copy = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    copy.setflags(write=False)
    return copy


def frozen_mapping(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A read-only copy of `values`: Python scalars and text stay, anything else becomes a frozen array."""
    return MappingProxyType({str(name): _frozen_value(value, str(name)) for name, value in values.items()})


def _frozen_value(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        return value.item()  # np.float32(0.1) from a slider; files and comparisons want Python's own
    if value is None or type(value) in (bool, int, float, str):
        return value
    return frozen_array(value, name)


def same(one: Any, other: Any) -> bool:
    """Equality that looks into arrays, mappings and tuples.

    Two arrays are the same when dtype, shape and every bit agree, so NaN equals itself and
    0.0 differs from −0.0: what is the same here is the same in a file.
    """
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    # True == 1 == 1.0 in Python, but they are three different values of a parameter.
    return type(one) is type(other) and bool(one == other)


class FrozenStruct(msgspec.Struct, frozen=True, eq=False, kw_only=False):
    """A frozen record compared field by field with `same`. Not hashable, since `__eq__` is its own."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)

    def __ne__(self, other: object) -> bool:
        # msgspec's own comparison would answer otherwise, without looking into arrays.
        return not self == other
