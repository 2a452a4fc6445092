"""Recognises by their first bytes the files that cannot be opened here, and by their names those of encodings."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from relpos_viewer.core.errors import ViewerError

# How much of a file is looked at: GGUF files keep their architecture in the first few entries.
HEAD_BYTES = 65_536

ENCODING_SUFFIX, CONFIG = ".encoding.json", "config.json"

PICKLE = "{name} is a Python pickle, which can run code when it is opened; save the arrays as .npz or .safetensors."
_TORCH = "{name} is a PyTorch checkpoint made of pickles, which can run code; save it as .safetensors."
_COMPRESSED = "{name} is compressed with {what}; unpack it first."
_PICTURE = "{name} is a {what} picture; open the arrays it was drawn from."


@dataclass(frozen=True)
class Signature:
    """First bytes and the sentence about them; `sure` may ask for more than the first bytes."""

    magic: bytes
    message: str
    sure: Callable[[bytes], bool] = lambda head: True


def _is_pickle(head: bytes) -> bool:
    return len(head) > 1 and 2 <= head[1] <= 5  # protocols; older ones are plain text and harmless as such


def _is_gguf(head: bytes) -> bool:
    # A text may begin with these letters; a GGUF file goes on with a small version number, never with text.
    return len(head) < 8 or 0 in head[4:8]


_SIGNATURES = (
    Signature(b"\x80", PICKLE, _is_pickle),
    Signature(
        b"version https://git-lfs",
        "{name} is a Git LFS pointer, not weights; fetch the file with git lfs pull.",
    ),
    Signature(b"\x1f\x8b", _COMPRESSED.replace("{what}", "gzip")),
    Signature(b"BZh", _COMPRESSED.replace("{what}", "bzip2"), lambda head: head[4:10] == b"1AY&SY"),
    Signature(b"\xfd7zXZ\0", _COMPRESSED.replace("{what}", "xz")),
    Signature(b"\x28\xb5\x2f\xfd", _COMPRESSED.replace("{what}", "Zstandard")),
    Signature(b"7z\xbc\xaf\x27\x1c", _COMPRESSED.replace("{what}", "7-Zip")),
    Signature(b"%PDF-", "{name} is a PDF document; save its text as .txt."),
    Signature(b"\x89PNG\r\n", _PICTURE.replace("{what}", "PNG")),
    Signature(b"\xff\xd8\xff", _PICTURE.replace("{what}", "JPEG")),
    Signature(b"GIF8", _PICTURE.replace("{what}", "GIF"), lambda head: head[4:6] in (b"7a", b"9a")),
    Signature(b"\x89HDF\r\n", "{name} is an HDF5 file; save its arrays as .npz or .safetensors."),
    Signature(b"PAR1", "{name} is a Parquet table; save its column as .csv.", lambda head: 0x15 in head[4:5]),
    Signature(b"SQLite format 3\0", "{name} is an SQLite database; save its column as .csv."),
    Signature(b"\x7fELF", "{name} is a program; open a text or arrays."),
)


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise ViewerError when the first bytes of file `name` are those of something else.

    The sentence says what it is and what to do. Never raises anything else, whatever the bytes.
    """
    if head.startswith(b"GGUF") and _is_gguf(head):
        architecture = gguf_architecture(head)
        known = f", architecture {architecture}" if architecture else ""
        raise ViewerError(f"{name} is GGUF{known}: not supported here, use the safetensors folder.")
    for signature in _SIGNATURES:
        if head.startswith(signature.magic) and signature.sure(head):
            raise ViewerError(signature.message.format(name=name))
    start = head[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise ViewerError(
            f"{name} is a web page (HTML), perhaps of a failed download; fetch the file itself."
        )


def refuse_zip(names: list[str], name: str) -> None:
    """Raise ViewerError when a zip archive with these entries is a PyTorch checkpoint."""
    if any(entry == "data.pkl" or entry.endswith("/data.pkl") for entry in names):
        raise ViewerError(_TORCH.format(name=name))


# Sizes of GGUF's plain values by type number; 8 is a string, 9 an array.
_GGUF_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def gguf_architecture(head: bytes) -> str | None:
    """Return general.architecture of a GGUF file, or None when it is not among the entries at hand."""
    try:
        entries = struct.unpack_from("<Q", head, 16)[0]
        at = 24
        for _ in range(min(entries, 64)):
            key, at = _gguf_string(head, at)
            (kind,) = struct.unpack_from("<I", head, at)
            at += 4
            if kind == 8:
                value, at = _gguf_string(head, at)
                if key == b"general.architecture":
                    text = value.decode("utf-8")
                    return text if text.isprintable() and 0 < len(text) <= 64 else None
            elif kind in _GGUF_SIZES:
                at += _GGUF_SIZES[kind]
            else:
                return None  # an array: the architecture stands before any of them
    except (struct.error, UnicodeDecodeError):
        pass
    return None


def _gguf_string(head: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", head, at)
    stop = at + 8 + length
    if stop > len(head):
        raise struct.error("string ends beyond the bytes at hand")
    return head[at + 8 : stop], stop


def is_encoding_file(path: str | Path) -> bool:
    """Return whether a file's name says that it holds an encoding: an exported one, or a model's config."""
    name = Path(path).name.lower()
    return name.endswith(ENCODING_SUFFIX) or name == CONFIG
