"""Reads .safetensors through torch, because numpy has no bfloat16. The header is checked before the library sees it."""

from __future__ import annotations

import json
import struct
from functools import partial
from pathlib import Path

import numpy as np
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.contents import Contents, Stored, size_of
from relpos_viewer.sources.numpyfile import damaged

# The format's own limit on the header.
MAX_HEADER = 100_000_000


def is_safetensors(head: bytes, size: int) -> bool:
    """Tell by the first bytes: the length of a JSON object that fits into the file."""
    if len(head) < 10 or head[8:9] != b"{":
        return False
    return 2 <= struct.unpack_from("<Q", head)[0] <= min(size - 8, MAX_HEADER)


def read_safetensors(path: Path) -> Contents:
    """Return the tensors of a file by name; their values are read when they are wanted.

    Raises:
        ViewerError: truncated, damaged, or not this format at all.
    """
    from safetensors import safe_open

    _check_header(path)
    arrays: dict[str, Stored] = {}
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118  (the handle is no mapping)
                part = file.get_slice(name)
                shape, dtype = tuple(part.get_shape()), str(part.get_dtype()).lower()
                nbytes = size_of(shape, 8 if dtype in ("f64", "i64", "u64") else 4)
                arrays[name] = Stored(shape, dtype, nbytes, partial(_values, path, name))
    except Exception as error:  # SafetensorError, and torch's own over unknown types
        raise damaged(path.name, error) from error
    if not arrays:
        raise ViewerError(f"{path.name} holds no tensors; save at least one.")
    return Contents(arrays=arrays)


def _check_header(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise ViewerError(
                f"{path.name} is truncated: {size} bytes are no safetensors file; fetch it again."
            )
        (length,) = struct.unpack("<Q", start)
        if length > MAX_HEADER:
            raise ViewerError(
                f"{path.name} is not a safetensors file; check what it really is, or fetch it again."
            )
        if 8 + length > size:
            raise ViewerError(
                f"{path.name} is truncated: its header needs {length:,} bytes, {size - 8:,} are there; fetch it again."
            )
        header = file.read(length)
    try:
        entries = json.loads(header)
        end = max(
            (entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"), default=0
        )
        short = 8 + length + end > size
    except Exception as error:  # anything may stand where the offsets should
        raise damaged(path.name, error) from error
    if short:
        raise ViewerError(
            f"{path.name} is truncated: its tensors need {end:,} bytes, {size - 8 - length:,} are there; fetch it."
        )


def _values(path: Path, name: str) -> np.ndarray:
    from safetensors import safe_open

    try:
        with safe_open(path, framework="pt") as file:
            tensor = file.get_tensor(name)
        if tensor.is_complex():
            raise ViewerError(f"{name} holds complex numbers; save it as float32.")
        if tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
            tensor = tensor.float()  # exact: float32 holds every value of the shorter types
        return tensor.numpy()
    except ViewerError:
        raise
    except Exception as error:
        raise damaged(f"{path.name}, tensor “{name}”", error) from error
