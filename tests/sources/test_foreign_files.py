"""Files that are something else, or are not there: one sentence that names it and the mend."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources import files
from relpos_viewer.sources.files import load
from relpos_viewer.sources.signatures import gguf_architecture


def gguf(architecture: bytes = b"llama") -> bytes:
    def string(text: bytes) -> bytes:
        return struct.pack("<Q", len(text)) + text

    plain = string(b"general.quantization_version") + struct.pack("<II", 4, 2)
    named = string(b"general.architecture") + struct.pack("<I", 8) + string(architecture)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + plain + named


FOREIGN = {
    "pickle as npy": ("a.npy", pickle.dumps([1, 2]), "Python pickle, which can run code"),
    "pickle as text": ("a.txt", pickle.dumps("x", protocol=2), "Python pickle, which can run code"),
    "an old pickle by its name": ("a.pkl", pickle.dumps([1], protocol=0), "Python pickle"),
    "GGUF": ("m.gguf", gguf(), "GGUF, architecture llama: not supported here, use the safetensors folder"),
    "GGUF as safetensors": ("m.safetensors", gguf(b"qwen2"), "GGUF, architecture qwen2"),
    "GGUF cut short": ("m.gguf", b"GGUF\3\0\0\0", "GGUF: not supported here"),
    "LFS": ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS pointer, not weights"),
    "gzip": ("a.txt", gzip.compress(b"hello"), "compressed with gzip; unpack it first"),
    "PDF": ("a.txt", b"%PDF-1.7\n%\xe2\xe3", "PDF document"),
    "HTML": ("a.json", b"\n<!DOCTYPE html><html>", "web page"),
    "PNG": ("a.npy", b"\x89PNG\r\n\x1a\n\0\0", "PNG picture"),
    "JPEG": ("a.csv", b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG picture"),
    "HDF5": ("a.npz", b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    "text as npy": ("a.npy", b"hello", "does not begin like a .npy file"),
    "text as safetensors": ("a.safetensors", b"hello there", "not a safetensors file"),
    "text as a session": ("a.relpos", b"hello", "does not begin like a .relpos file"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data", "message"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_recognised_by_its_first_bytes(write, name, data, message) -> None:
    with pytest.raises(ViewerError, match=message) as error:
        load(write(name, data))
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_torch_checkpoint_is_named_and_never_unpickled(tmp_path: Path, legacy: bool) -> None:
    path = tmp_path / "model.bin"
    torch.save({"q": torch.zeros(2, 2)}, path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(ViewerError, match="can run code"):
        load(path)


def test_text_about_a_format_is_text(write) -> None:
    for text in ("GGUF is a file format.", "PAR1 and BZh are marks.", "GIF89 or not"):
        assert load(write("a.txt", text)).text == text


@pytest.mark.parametrize("cut", range(0, 90, 7))
def test_a_gguf_header_cut_anywhere_is_no_architecture(cut: int) -> None:
    assert gguf_architecture(gguf()[:cut]) is None
    assert gguf_architecture(gguf()) == "llama"


def test_a_session_is_recognised_by_name_and_by_content(tmp_path: Path) -> None:
    for name in ("a.relpos", "renamed.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("document.json", "{}")
        assert load(tmp_path / name).kind == "session"


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ViewerError, match=r"nowhere\.txt does not exist"):
        load(tmp_path / "nowhere.txt")
    with pytest.raises(ViewerError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(ViewerError, match="cannot be read"):
        load(tmp_path / ("x" * 5000))
    with pytest.raises(ViewerError, match=r"U\+0000"):
        load("a\0b")


def test_a_file_without_permission_is_named(write, monkeypatch) -> None:
    path = write("secret.txt", "hello")

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may read everything, so the refusal is played.
    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ViewerError, match=r"secret.txt may not be read by you"):
        load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ViewerError, match="no ordinary file"):
        load(tmp_path / "pipe.txt")


def test_a_text_beyond_the_limit_is_refused_unread(write, monkeypatch) -> None:
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 10)
    path = write("long.txt", "a" * 11)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read although too long"))
    with pytest.raises(ViewerError, match=r"long\.txt has"):
        load(path)
