"""Opens a file: text, tokens, or arrays. Whatever the bytes, only `ViewerError` comes out.

The first bytes decide before the name does, nothing is ever unpickled, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources.arrange import arrange
from relpos_viewer.sources.axes import extent_of
from relpos_viewer.sources.contents import MAX_ARRAY_BYTES, MAX_TEXT_BYTES, Choices, Contents, Question
from relpos_viewer.sources.decoding import decode
from relpos_viewer.sources.fasta import is_fasta, read_fasta
from relpos_viewer.sources.jsonfile import read_json, read_json_lines
from relpos_viewer.sources.labels import fit_labels
from relpos_viewer.sources.meaning import count_nonfinite, row_sum_note
from relpos_viewer.sources.numpyfile import read_npy, read_npz
from relpos_viewer.sources.safetensorsfile import is_safetensors, read_safetensors
from relpos_viewer.sources.signatures import HEAD_BYTES, PICKLE, is_encoding_file, refuse_foreign
from relpos_viewer.sources.tables import read_table

__all__ = ["FILE_KINDS", "Loaded", "Question", "attach_tokens", "describe", "load"]

T = TypeVar("T")

_NPY, _ZIP = b"\x93NUMPY", (b"PK\x03\x04", b"PK\x05\x06")
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".ckpt")


@dataclass(frozen=True)
class FileKind:
    """One kind of file, as dialogs and help list it."""

    title: str
    suffixes: tuple[str, ...]


FILE_KINDS = (
    FileKind("Text", (".txt", ".md")),
    FileKind("Table with a column of tokens", (".csv", ".tsv")),
    FileKind("JSON", (".json", ".jsonl")),
    FileKind("NumPy arrays", (".npy", ".npz")),
    FileKind("Safetensors", (".safetensors",)),
    FileKind("Protein sequences", (".fasta", ".fa", ".faa", ".fna")),
    FileKind("Encoding alone, or a model's rotary settings", (".encoding.json", "config.json")),
    FileKind("Session", (".relpos",)),
)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a file holds, ready for a document.

    Attributes:
        kind: "text" (tokenize `text`), "arrays" (`arrays` and `tokens`; without arrays the content comes from the
            tokens' spelling), "session" (open `path` with `document.files`), or "encoding" (with
            `sources.encoding_file`).
        path: the file.
        text: for kind "text".
        tokens: one a key, or None: number them.
        arrays: q, k, v `[head, position, d]`; bias, scores, weights `[head, query, key]`; visible bool
            `[query, key]` or `[head, query, key]`, True = visible; documents int `[position]`. Floats are float32.
        notes: what a reader should know, one sentence each.
    """

    kind: Literal["text", "arrays", "session", "encoding"]
    path: Path
    text: str | None = None
    tokens: Tokens | None = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def load(
    path: str | Path,
    *,
    column: str | None = None,
    order: str | None = None,
    role: str | None = None,
    mask_true: str | None = None,
    batch: str | int | None = None,
    array: str | None = None,
    labels: str | None = None,
) -> Loaded:
    """Open a file. Any thread.

    Args:
        path: the file.
        column: name of a table's token column, or its number counted from 1.
        order: axes of q, k, v: "bhsd", "bshd", or "bsd" (one head).
        role: what an array without a telling name is: "weights", "scores", "bias", "mask".
        mask_true: what True means in a mask: "masked" or "attend".
        batch: which entry of the batch (or layer) axis, counted from 0.
        array: which array, where no name tells.
        labels: how fewer tokens than positions go together: "cls+eos", "cls", "eos", "crop", "numbers".

    Raises:
        Question: the file can be read in more than one way; one of the keywords settles it.
        ViewerError: the file cannot be read; one sentence names it and the mend.
    """
    choices = Choices(column, order, role, mask_true, batch, array, labels)
    path = Path(path)
    contents = _guarded(path, lambda: _read(path, choices))
    if contents is None:
        return Loaded("encoding" if is_encoding_file(path) else "session", path)
    if contents.text is not None:
        if not contents.text.strip():
            raise ViewerError(f"{path.name} holds nothing but blanks; give at least one token.")
        return Loaded("text", path, text=contents.text, notes=contents.notes)
    arranged = _guarded(path, lambda: arrange(contents, choices, path.name))
    return _settled(
        Loaded("arrays", path, tokens=arranged.tokens, arrays=arranged.arrays, notes=arranged.notes)
    )


def attach_tokens(loaded: Loaded, tokens: Tokens, *, labels: str | None = None) -> Loaded:
    """Return arrays with the tokens of another file, such as the residues of a protein.

    Raises:
        Question: "labels", when the arrays have a start or end position that the tokens lack.
        ViewerError: the counts differ otherwise, or `loaded` has no arrays.
    """
    drawn = {name: array for name, array in loaded.arrays.items() if name != "documents"}
    if not drawn:
        raise ViewerError(
            f"{loaded.path.name} holds no arrays that tokens could stand beside; open the tokens alone."
        )
    arrays = {name: array[None] if array.ndim == 2 else array for name, array in drawn.items()}
    n_key = extent_of(arrays, loaded.path.name).n_key
    tokens, arrays = fit_labels(tokens, arrays, n_key, Choices(labels=labels))
    notes = loaded.notes
    # Without its ends a row may lose what they held; it is shown as it is, never made to sum to 1 again.
    if "weights" in arrays and (note := row_sum_note(arrays["weights"], "f32")) and note not in notes:
        notes = (*notes, note)
    return _settled(replace(loaded, tokens=tokens, arrays=arrays, notes=notes))


def describe(path: str | Path, *, column: str | None = None) -> dict[str, object]:
    """Return what a file holds before anything is asked, as plain values for JSON. Any thread.

    Keys: file, kind ("text", "tokens", "arrays", "session", "encoding"), characters, tokens (their number), arrays
    (name → shape, dtype as stored, and where it holds any the count of values that are not finite), notes.

    Args:
        path: the file.
        column: of a table's tokens, as in `load`.

    Raises:
        ViewerError: as `load`; Question only for the column of a table.
    """
    path = Path(path)
    contents = _guarded(path, lambda: _read(path, Choices(column=column)))
    if contents is None:
        return {"file": path.name, "kind": "encoding" if is_encoding_file(path) else "session"}
    about: dict[str, object] = {"file": path.name, "kind": "arrays" if contents.arrays else "tokens"}
    if contents.text is not None:
        about |= {"kind": "text", "characters": len(contents.text)}
    if contents.tokens is not None:
        about["tokens"] = len(contents.tokens)
    if contents.arrays:
        arrays: dict[str, dict[str, object]] = {}
        for name, stored in contents.arrays.items():
            arrays[name] = {"shape": list(stored.shape), "dtype": stored.dtype}
            # Values are read only where that is cheap.
            if stored.nbytes <= MAX_TEXT_BYTES and stored.dtype != "text":
                counts = count_nonfinite(_guarded(path, stored.read), name)
                arrays[name] |= {"not_finite": counts.removesuffix(f" in {name}.")} if counts else {}
        about["arrays"] = arrays
    return about | {"notes": list(contents.notes)}


def _guarded(path: Path, work: Callable[[], T]) -> T:
    """Turn the failures of disk and memory into sentences; each reader does so for what its parser raises."""
    try:
        return work()
    except FileNotFoundError:
        raise ViewerError(f"{path} does not exist; check its name.") from None
    except PermissionError:
        raise ViewerError(f"{path.name} may not be read by you; change its permissions.") from None
    except OSError as error:
        raise ViewerError(
            f"{path.name} cannot be read: {error.strerror or error}; check its disk."
        ) from error
    except MemoryError:
        raise ViewerError(f"{path.name} does not fit into memory; save fewer heads or positions.") from None


def _read(path: Path, choices: Choices) -> Contents | None:
    """Return a file's contents, or None for a session or an encoding."""
    if not path.name:
        raise ViewerError("the name of the file to open is empty or a folder; give the name of a file.")
    if "\0" in str(path):
        raise ViewerError("a file name cannot hold U+0000; check it.")
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise ViewerError(f"{path.name or path} is a folder; open one of the files in it.")
    if not stat.S_ISREG(about.st_mode):  # reading a pipe or a device could wait for ever
        raise ViewerError(f"{path.name} is no ordinary file; save it to disk first.")
    if not about.st_size:
        raise ViewerError(f"{path.name} is empty; give at least one token.")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    refuse_foreign(head, path.name)
    if is_encoding_file(path):
        return None
    suffix = path.suffix.lower()
    if suffix in _PICKLE_SUFFIXES and not head.startswith(_ZIP):
        raise ViewerError(PICKLE.format(name=path.name))
    if head.startswith(_NPY):
        return read_npy(path)
    if head.startswith(_ZIP):
        return None if suffix == ".relpos" or _is_session(path) else read_npz(path)
    if suffix == ".safetensors" or is_safetensors(head, about.st_size):
        return read_safetensors(path)
    if suffix in (".npy", ".npz", ".relpos"):
        raise ViewerError(
            f"{path.name} does not begin like a {suffix} file; it is damaged or something else."
        )
    if about.st_size > MAX_TEXT_BYTES:
        raise ViewerError(
            f"{path.name} has {about.st_size / 2**20:,.0f} MiB and text may have {MAX_TEXT_BYTES // 2**20}; shorten it."
        )
    data = path.read_bytes()
    if suffix in (".csv", ".tsv", ".tab"):
        return read_table(data, path.name, choices)
    if suffix == ".json":
        return read_json(data, path.name)
    if suffix in (".jsonl", ".ndjson"):
        return read_json_lines(data, path.name)
    if suffix in (".fasta", ".fa", ".faa", ".fna"):
        return read_fasta(decode(data, path.name), path.name)
    text = decode(data, path.name)
    if is_fasta(text):
        read = read_fasta(text, path.name)
        return replace(read, notes=("Recognised as FASTA: its residues are the tokens.", *read.notes))
    return Contents(text=text)


def _is_session(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "document.json" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # read_npz says what is wrong with it


def _settled(loaded: Loaded) -> Loaded:
    """Return `loaded` as a document keeps it: one mask for all heads as `[query, key]`, documents as an array."""
    arrays = dict(loaded.arrays)
    visible = arrays.get("visible")
    if visible is not None and visible.ndim == 3 and (visible == visible[:1]).all():
        arrays["visible"] = visible[0]
    if sum(array.nbytes for array in arrays.values()) > MAX_ARRAY_BYTES:
        raise ViewerError(
            f"{loaded.path.name} needs more than {MAX_ARRAY_BYTES // 2**30} GiB; save fewer heads."
        )
    if loaded.tokens is not None and loaded.tokens.documents is not None:
        # As an array it goes into the document and its session file with the others.
        arrays["documents"] = np.array(loaded.tokens.documents)
    return replace(loaded, arrays=arrays)
