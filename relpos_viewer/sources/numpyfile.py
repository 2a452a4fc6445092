"""Reads .npy and .npz without ever unpickling. Shapes are checked against the bytes before memory is taken."""

from __future__ import annotations

import io
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.contents import Contents, Stored, dtype_name, size_of
from relpos_viewer.sources.signatures import refuse_zip

OBJECT_ARRAY = "object array needs pickle, which can run code; save as .npz with one name per array."
MAX_ENTRIES = 4096


def read_npy(path: Path) -> Contents:
    """Return the one array of an .npy file.

    Raises:
        ViewerError: object arrays, other kinds than numbers, booleans and text, truncated or damaged files.
    """
    with path.open("rb") as file:
        stored = _stored(file, path.name, path.stat().st_size, partial(path.open, "rb"))
    return Contents(arrays={"array": stored})


def read_npz(path: Path) -> Contents:
    """Return the arrays of an .npz file by name; their bytes are inflated when they are wanted.

    Raises:
        ViewerError: as `read_npy`, and zip archives that hold no arrays or inflate beyond the limit.
    """
    arrays: dict[str, Stored] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            refuse_zip([entry.filename for entry in entries], path.name)
            found = [entry for entry in entries if entry.filename.endswith(".npy")]
            if not found:
                raise ViewerError(
                    f"{path.name} is a zip archive without arrays; open an .npz or unpack it first."
                )
            if len(found) > MAX_ENTRIES:
                raise ViewerError(
                    f"{path.name} holds more than {MAX_ENTRIES} arrays; keep the ones to be drawn."
                )
            for entry in found:
                name = entry.filename.removesuffix(".npy")
                if name in arrays:
                    raise ViewerError(
                        f"{path.name} holds two arrays called “{name}”; give each its own name."
                    )
                with archive.open(entry) as file:
                    arrays[name] = _stored(
                        file,
                        f"{path.name}, array “{name}”",
                        entry.file_size,
                        partial(_entry, path, entry.filename),
                    )
    except ViewerError:
        raise
    except Exception as error:  # zipfile, zlib and the codecs raise a dozen kinds over bad bytes
        raise damaged(path.name, error) from error
    return Contents(arrays=arrays)


def damaged(name: str, error: Exception) -> ViewerError:
    """Return the sentence for bytes that a parser gave up on."""
    reason = (str(error).splitlines() or [""])[0].rstrip(".")[:120]
    return ViewerError(
        f"{name} is damaged or truncated ({reason or type(error).__name__}); save or fetch it again."
    )


def _entry(path: Path, entry: str) -> BinaryIO:
    with zipfile.ZipFile(path) as archive:
        # At most the stated size is inflated, and that was checked against the header.
        return io.BytesIO(archive.read(entry))


def _stored(file: BinaryIO, name: str, size: int, reopen: partial[BinaryIO]) -> Stored:
    """Read the header at the start of `file`, `size` bytes long in all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2 are read just as well
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0), (3, 0)):
                raise ViewerError(
                    f"{name} has the unknown .npy version {version[0]}.{version[1]}; save it again."
                )
            # 1.0 and 2.0 differ in the width of one length only; 3.0 is 2.0 with UTF-8 names of fields.
            reader = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = reader(file)
    except ViewerError:
        raise
    except Exception as error:  # the header is a Python literal; bad ones fail in every way a parser can
        raise damaged(name, error) from error
    if dtype.hasobject:
        raise ViewerError(f"{name}: {OBJECT_ARRAY}")
    if dtype.kind not in "biufUS":
        raise ViewerError(f"{name} holds {dtype}, not real numbers; save it as float32.")
    shape = tuple(map(int, shape))
    nbytes = size_of(shape, dtype.itemsize)
    if any(length < 0 for length in shape) or file.tell() + nbytes > size:
        raise ViewerError(
            f"{name} is truncated: {shape_text_of(shape)} needs {nbytes:,} bytes and {size - file.tell():,} are there; "
            "save or fetch it again."
        )
    return Stored(shape, dtype_name(dtype), nbytes, partial(_values, reopen, name))


def shape_text_of(shape: tuple[int, ...]) -> str:
    """Write a shape as people read it: [4, 12, 32]."""
    return "[" + ", ".join(map(str, shape)) + "]"


def _values(reopen: partial[BinaryIO], name: str) -> np.ndarray:
    try:
        with reopen() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = np.lib.format.read_array(file, allow_pickle=False)
            if values.dtype.kind == "U":
                # numpy takes any 32 bits for a character; Python fails on the first use of an impossible one.
                numbers = np.frombuffer(values.tobytes(), values.dtype.str[0].replace("|", "=") + "u4")
                if (numbers > 0x10FFFF).any():
                    raise ValueError("text beyond U+10FFFF")
            return values
    except OSError:
        raise
    except Exception as error:
        raise damaged(name, error) from error
