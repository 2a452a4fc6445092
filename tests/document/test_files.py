"""Session files: the same document comes back, a bad file is one sentence, and a kill leaves the old file."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import (
    ArraySource,
    Document,
    EditCurve,
    EncodingSpec,
    TextSource,
    View,
    replace,
)
from relpos_viewer.document.files import VERSION, load_session, save_session

RNG = np.random.default_rng(7)
FIRST = Document.default()
# Every bit pattern that floats treat specially: both zeros, infinities, NaNs with payload, subnormals.
ODD_BITS = np.array(
    [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 1, 0x807FFFFF, 0x3DCCCCCD], np.uint32
)
ODD = ODD_BITS.view(np.float32).reshape(1, 3, 3)


def table(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


ARRAYS = ArraySource(
    path="/data/attention.npz",
    label="layer 3",
    arrays={
        "q": table(4, 3, 8),
        "k": table(2, 3, 8, dtype="float16"),
        "v": table(2, 3, 8, dtype="float64"),
        "bias": np.repeat(ODD, 4, axis=0),
        "visible": np.tri(3, dtype=bool),
        "documents": np.array([0, 0, 1], np.int64),
    },
    tokens=("", "👨‍👩‍👧", 'quote " and \\ and \x00'),
    spans=((0, 0), (0, 5), (5, 30)),
    ids=(0, 50256, -1),
    notes=("row sums 0.75",),
)

DOCUMENTS = {
    "the first": FIRST,
    "text": replace(
        FIRST,
        source=TextSource("e\u0301 עברית 𝔸\n\t\x7f", tokenizer="characters", heads=1, dim=7, seed=-(2**70)),
        scale=0.1 + 0.2,
        mask="documents:4,2",
    ),
    "arrays": Document(ARRAYS, EncodingSpec("none"), mask=np.tri(3, dtype=bool)),
    "a mask by head": Document(ARRAYS, mask=np.ones((4, 3, 3), bool)),
    "a table": replace(FIRST, encoding=EncodingSpec("curve", {"table": table(4, 51)})),
    "a table drawn on": replace(
        FIRST, encoding=EncodingSpec("curve", {"table": table(4, 51)}, {"table": table(4, 51) + 0.5})
    ),
    "the family's own drawn on": replace(
        FIRST, encoding=EncodingSpec("curve", {"table": table(4, 51)}, {"table": None})
    ),
    "parameters": replace(
        FIRST, encoding=EncodingSpec("t5", {"num_buckets": 8, "bidirectional": True, "table": None})
    ),
    "an edit": replace(FIRST, edit=EditCurve(table(4, 51))),
    "a view": replace(
        FIRST,
        view=View(
            head=3,
            layout="weights",
            terms_map="crameri:berlin",
            weights_map="bids:magma",
            levels="typed",
            low=-1e-12,
            high=3.0,
            weights_low=0.0019,
            weights_high=0.002,
            locked=(("content", -1.0, 1.0), ("weights", 0.0, 0.25)),
            weights_scale="log",
            hide_first_key=True,
            labels=False,
            reduce="sample",
            curve_axis="symlog",
            inspector=False,
            term="content-position",
        ),
    ),
    "tokens alone": Document(ArraySource("a.fasta", "a", {}, tokens=("M", "K"))),
    "empty arrays": Document(ArraySource("", "", {"q": np.zeros((0, 0, 4), np.float32)})),
}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "work.relpos"


# --- there and back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_saved_document_comes_back_equal_in_every_bit(path, document):
    save_session(document, path)
    assert load_session(path) == document


@pytest.mark.parametrize(
    ("of", "part"),
    [
        (TextSource, lambda document: document.source),
        (ArraySource, lambda document: document.source),
        (EncodingSpec, lambda document: document.encoding),
        (EditCurve, lambda document: document.edit),
        (View, lambda document: document.view),
        (Document, lambda document: document),
    ],
)
def test_the_documents_tried_here_differ_in_every_field_that_there_is(of, part):
    parts = [part(document) for document in DOCUMENTS.values() if isinstance(part(document), of)]
    for field in of.__struct_fields__:
        first, *others = (getattr(one, field) for one in parts)
        assert any(not same(first, other) for other in others), f"{of.__name__}.{field} is the same in all"


def test_the_same_document_makes_the_same_bytes(path, tmp_path):
    save_session(DOCUMENTS["arrays"], path)
    save_session(load_session(path), tmp_path / "again.relpos")
    assert path.read_bytes() == (tmp_path / "again.relpos").read_bytes()


def test_arrays_come_back_read_only_and_in_their_own_type(path):
    save_session(DOCUMENTS["arrays"], path)
    arrays = load_session(path).source.arrays
    assert {name: array.dtype for name, array in arrays.items()} == {
        name: array.dtype for name, array in ARRAYS.arrays.items()
    }
    assert not any(array.flags.writeable for array in arrays.values())
    assert arrays["bias"][0].tobytes() == ODD_BITS.tobytes()


def test_a_session_opens_without_the_file_that_its_arrays_came_from(path):
    save_session(DOCUMENTS["arrays"], path)
    assert not Path(ARRAYS.path).exists()
    assert load_session(path).source == ARRAYS


def test_a_session_is_one_zip_of_json_and_safetensors(path):
    save_session(DOCUMENTS["arrays"], path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["document.json", "arrays.safetensors"]
        # The time of saving would make equal documents different files.
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        head = json.loads(archive.read("document.json"))
        assert (head["format"], head["version"]) == ("relpos", VERSION)
        assert "q" in head["document"]["source"]["arrays"]
        assert set(safetensors.numpy.load(archive.read("arrays.safetensors"))) == {
            *(f"source.{name}" for name in ARRAYS.arrays),
            "mask",
            "edit",
        }


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (replace(FIRST, source=TextSource("\ud800")), "surrogates"),
        (replace(FIRST, scale=float("inf")), "scale is inf"),
        (replace(FIRST, encoding=EncodingSpec("rope", {"base": float("nan")})), "base is nan"),
        (replace(FIRST, view=View(low=float("nan"))), "low"),
        (replace(FIRST, view=View(locked=(("content", float("-inf"), 1.0),))), "locked"),
        (replace(FIRST, view=View(layout="spiral")), "spiral"),
        (replace(FIRST, view=View(head=object())), "a file cannot hold object"),
    ],
)
def test_what_could_not_be_read_back_does_not_replace_a_file_that_can(path, document, words):
    save_session(FIRST, path)
    with pytest.raises(ViewerError, match=words):
        save_session(document, path)
    assert load_session(path) == FIRST
    assert list(path.parent.iterdir()) == [path]


def test_numbers_of_numpy_in_a_view_are_saved_as_numbers(path):
    save_session(replace(FIRST, view=View(head=np.int64(2), low=np.float32(-2))), path)
    assert load_session(path).view == View(head=2, low=-2.0)


# --- the old file or the new one -----------------------------------------------------------------------

# Each is a moment of writing: the program dies just before or just after it.
MOMENTS = {
    "while the zip is written": ("zipfile.ZipFile.writestr", "after"),
    "before it is on the disk": ("os.fsync", "before"),
    "when it is on the disk": ("os.fsync", "after"),
    "before it takes its place": ("os.replace", "before"),
    "when it has taken its place": ("os.replace", "after"),
}


@pytest.mark.skipif(os.name != "posix", reason="this system cannot kill without warning")
@pytest.mark.parametrize(("function", "when"), MOMENTS.values(), ids=MOMENTS.keys())
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(path, function, when):
    save_session(FIRST, path)
    module, _, name = function.rpartition(".")
    program = f"""
        import importlib, os, pathlib, signal, sys, zipfile
        from relpos_viewer.document.document import Document, TextSource, replace
        from relpos_viewer.document.files import save_session

        owner = zipfile.ZipFile if "ZipFile" in {module!r} else importlib.import_module({module!r})
        real = getattr(owner, {name!r})

        def dies(*arguments, **named):
            if {when!r} == "after":
                real(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, {name!r}, dies)
        save_session(replace(Document.default(), source=TextSource("new")), sys.argv[1])
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        timeout=60,
    )
    assert ended.returncode < 0, "the moment never came"
    expected = "new" if (function, when) == ("os.replace", "after") else FIRST.source.text
    assert load_session(path).source.text == expected


@pytest.mark.parametrize("function", ["os.fsync", "os.replace", "os.open", "zipfile.ZipFile.writestr"])
def test_a_failing_disk_is_one_sentence_and_the_old_file_stays(path, monkeypatch, function):
    save_session(FIRST, path)

    def fails(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(function, fails)
    with pytest.raises(ViewerError, match="No space left"):
        save_session(replace(FIRST, mask="none"), path)
    monkeypatch.undo()
    assert load_session(path) == FIRST
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions are posix")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_permissions_of_an_old_file_are_kept(path, mode):
    save_session(FIRST, path)
    path.chmod(mode)
    save_session(replace(FIRST, mask="none"), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need no rights here")
def test_a_link_stays_a_link_and_its_target_is_written(path, tmp_path):
    link = tmp_path / "link.relpos"
    save_session(FIRST, path)
    link.symlink_to(path)
    save_session(replace(FIRST, mask="none"), link)
    assert link.is_symlink()
    assert load_session(path).mask == "none"


def _a_folder(path: Path) -> None:
    path.mkdir()


def _no_folder(path: Path) -> None:
    path.parent.rmdir()


def _read_only(path: Path) -> None:
    save_session(FIRST, path)
    path.chmod(0o444)


@pytest.mark.parametrize("prepare", [_a_folder, _no_folder, _read_only])
def test_an_unwritable_target_is_one_sentence(tmp_path, prepare):
    path = tmp_path / "folder" / "work.relpos"
    path.parent.mkdir()
    prepare(path)
    with pytest.raises(ViewerError, match=r"work\.relpos") as caught:
        save_session(replace(FIRST, mask="none"), path)
    assert "\n" not in str(caught.value)


# --- bad files ------------------------------------------------------------------------------------------


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def members(document: Document = FIRST) -> dict[str, bytes]:
    """The members of a good session file."""
    folder = Path(os.environ["XDG_STATE_HOME"])
    folder.mkdir(parents=True, exist_ok=True)
    save_session(document, folder / "good.relpos")
    with zipfile.ZipFile(folder / "good.relpos") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_json(change, document: Document = FIRST) -> bytes:
    """A session file whose document.json was changed by `change(dict)`."""
    parts = members(document)
    record = json.loads(parts["document.json"])
    change(record)
    parts["document.json"] = json.dumps(record).encode()
    return packed(parts)


def with_arrays(arrays: dict[str, np.ndarray], document: Document = FIRST) -> bytes:
    parts = members(document)
    parts["arrays.safetensors"] = safetensors.numpy.save(arrays)
    return packed(parts)


def setting(*keys: str, value):
    """A change that sets one nested value of document.json."""

    def change(record: dict) -> None:
        for key in keys[:-1]:
            record = record[key]
        record[keys[-1]] = value

    return change


def bfloat16_arrays() -> bytes:
    header = json.dumps({"edit": {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0\0"


def with_directory(offset: int, value: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    """A session file with other bytes in the entry of its first member in the zip's directory."""
    content = bytearray(packed(members(), compression))
    at = content.index(b"PK\1\2") + offset
    content[at : at + len(value)] = value
    return bytes(content)


def damaged_stream() -> bytes:
    """A session file, packed again, whose first member begins with a block of a type that is none."""
    content = bytearray(packed(members(), zipfile.ZIP_DEFLATED))
    content[30 + len("document.json")] = 0b111
    return bytes(content)


def past_the_end() -> bytes:
    """A session file whose first member has, in its own header, a longer extra field than there is file."""
    content = bytearray(packed(members()))
    content[28:30] = b"\xff\xff"
    return bytes(content)


def encrypted() -> bytes:
    """The flag of encryption set in both headers of the first member."""
    content = bytearray(packed(members()))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    return bytes(content)


BAD = {
    "nothing": (lambda: b"", "damaged or cut short"),
    "text": (lambda: b"It is a truth", "damaged or cut short"),
    "a pickle": (lambda: b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94.", "damaged or cut short"),
    "another zip": (lambda: packed({"word/document.xml": b"<x/>"}), "no document.json"),
    "a torch zip": (lambda: packed({"archive/data.pkl": b"\x80\x02."}), "no document.json"),
    "arrays missing": (lambda: packed({"document.json": members()["document.json"]}), "no arrays.safetensors"),
    "no json": (lambda: packed({**members(), "document.json": b"{"}), "truncated"),
    "json of another kind": (lambda: packed({**members(), "document.json": b"[1]"}), "Expected `object`"),
    "json that is not utf-8": (lambda: packed({**members(), "document.json": b'{"format": "\xff"}'}), "document.json"),
    "json without end": (lambda: packed({**members(), "document.json": b'{"a":' * 10**6}), "document.json"),
    "another format": (lambda: with_json(setting("format", value="relp")), "not a session of this program"),
    "a newer version": (lambda: with_json(setting("version", value=VERSION + 1)), f"format {VERSION + 1}.*up to {VERSION}"),
    "version zero": (lambda: with_json(setting("version", value=0)), "never existed"),
    "a version that is no number": (lambda: with_json(setting("version", value="1")), "version"),
    "no document": (lambda: with_json(lambda record: record.pop("document")), "document"),
    "an unknown source": (lambda: with_json(setting("document", "source", "kind", value="video")), "video"),
    "text that is a list": (lambda: with_json(setting("document", "source", "text", value=["a"])), "text"),
    "an unknown tokenizer": (lambda: with_json(setting("document", "source", "tokenizer", value="bpe")), "bpe"),
    "no heads": (lambda: with_json(setting("document", "source", "heads", value=0)), "heads"),
    "an unknown encoding": (lambda: with_json(setting("document", "encoding", "name", value="t6")), "did you mean t5"),
    "a bad parameter": (
        lambda: with_json(setting("document", "encoding", "parameters", "num_buckets", value="many")),
        "num_buckets",
    ),
    "a nested parameter": (
        lambda: with_json(setting("document", "encoding", "parameters", "parameters", value=[[1]])),
        "parameters",
    ),
    "an unknown mask": (lambda: with_json(setting("document", "mask", value="casual")), "causal"),
    "a scale that is text": (lambda: with_json(setting("document", "scale", value="1")), "scale"),
    "an unknown layout": (lambda: with_json(setting("document", "view", "layout", value="spiral")), "spiral"),
    "a head that is half": (lambda: with_json(setting("document", "view", "head", value=0.5)), "head"),
    "an array that is no reference": (lambda: with_json(setting("document", "edit", value=[[0.0]])), "edit"),
    "an array that is missing": (lambda: with_arrays({"other": np.zeros((1, 1), np.float32)}), "lacks the array 'edit'"),
    "an edit of a wrong shape": (lambda: with_arrays({"edit": np.zeros((1, 2), np.float32)}), "2m−1"),
    "an edit with a NaN": (lambda: with_arrays({"edit": np.full((1, 1), np.nan, np.float32)}), "no finite number"),
    "a mask of numbers": (
        lambda: with_arrays(
            {"edit": np.zeros((1, 1), np.float32), "mask": np.zeros((3, 3), np.float32)},
            replace(FIRST, mask=np.tri(3, dtype=bool)),
        ),
        "mask array must be bool",
    ),
    "an unknown array of a source": (
        lambda: with_json(
            setting("document", "source", "arrays", "secret", value={"array": "edit"}), DOCUMENTS["arrays"]
        ),
        "secret",
    ),
    "arrays that are noise": (lambda: packed({**members(), "arrays.safetensors": b"\xff" * 64}), "arrays in"),
    "arrays cut short": (
        lambda: packed({**members(), "arrays.safetensors": members()["arrays.safetensors"][:-1]}),
        "arrays in",
    ),
    "arrays of a kind that numpy lacks": (
        lambda: packed({**members(), "arrays.safetensors": bfloat16_arrays()}),
        "arrays in",
    ),
    "a pickle for arrays": (lambda: packed({**members(), "arrays.safetensors": b"\x80\x04K\x01."}), "arrays in"),
    "a damaged stream": (damaged_stream, "damaged or cut short"),
    "a member that begins past the end": (past_the_end, "ends too early"),
    "a zip of a later kind": (lambda: with_directory(6, b"\xff"), "damaged or cut short: zip file version"),
    "a checksum that does not fit": (lambda: with_directory(16, b"\0\0\0\0"), "Bad CRC"),
    "encrypted": (encrypted, "encrypted"),
    "packed unusually": (lambda: packed(members(), zipfile.ZIP_LZMA), "unusual way"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_one_sentence_that_names_it(path, make, words):
    path.write_bytes(make())
    with pytest.raises(ViewerError, match=words) as caught:
        load_session(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value)[-1] in ".?"


def test_a_file_cut_anywhere_is_one_sentence(path):
    save_session(DOCUMENTS["arrays"], path)
    whole = path.read_bytes()
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        with pytest.raises(ViewerError, match=path.name):
            load_session(path)


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: None], ids=["a folder", "nothing there"])
def test_a_file_that_cannot_be_opened_is_one_sentence(path, make):
    make(path)
    with pytest.raises(ViewerError, match=r"Could not read .*work\.relpos"):
        load_session(path)


@pytest.mark.parametrize("name", ["document.json", "arrays.safetensors"])
def test_a_bomb_is_refused_before_it_is_unpacked(path, name):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members().items():
            if member != name:
                archive.writestr(member, content)
        with archive.open(name, "w") as file:
            for _ in range(80):
                file.write(b" " * 2**20)
    path.write_bytes(bomb.getvalue())
    tracemalloc.start()
    with pytest.raises(ViewerError, match="far more than the file"):
        load_session(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**23


def test_a_bomb_that_lies_about_its_size_is_cut_at_what_it_declared(path):
    content = bytearray(packed({**members(), "document.json": b" " * 2**20}, zipfile.ZIP_DEFLATED))
    at = content.index(b"PK\1\2") + 24  # the size in the directory, which is the one believed
    content[at : at + 4] = struct.pack("<I", 100)
    path.write_bytes(bytes(content))
    with pytest.raises(ViewerError, match="damaged"):
        load_session(path)


def test_a_session_packed_again_by_hand_opens(path):
    path.write_bytes(packed(members(DOCUMENTS["arrays"]), zipfile.ZIP_DEFLATED))
    assert load_session(path) == DOCUMENTS["arrays"]


def test_names_that_lead_out_of_the_folder_are_never_unpacked(path, tmp_path):
    path.write_bytes(packed({**members(), "../outside": b"x", "/outside": b"x"}))
    before = sorted(tmp_path.rglob("*"))
    assert load_session(path) == FIRST
    assert sorted(tmp_path.rglob("*")) == before


UNKNOWN = [
    setting("later", value=[1, {"deep": None}]),
    setting("document", "later", value="x"),
    setting("document", "source", "later", value="x"),
    setting("document", "view", "later", value="x"),
    setting("document", "encoding", "later", value="x"),
]


@pytest.mark.parametrize("change", UNKNOWN)
def test_fields_of_a_later_program_in_the_same_version_are_left_unread(path, change):
    path.write_bytes(with_json(change))
    assert load_session(path) == FIRST


@pytest.mark.parametrize("field", ["view", "edit", "scale"])
def test_an_optional_field_that_is_missing_takes_its_default(path, field):
    path.write_bytes(with_json(lambda record: record["document"].pop(field)))
    assert load_session(path) == FIRST


@settings(max_examples=200)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 255)),
        min_size=1,
        max_size=8,
    )
)
def test_a_file_with_changed_bytes_opens_or_is_refused_in_a_sentence(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("mutated") / "work.relpos"
    save_session(DOCUMENTS["arrays"], path)
    content = bytearray(path.read_bytes())
    for position, value in changes:
        content[position % len(content)] = value
    path.write_bytes(bytes(content))
    try:
        load_session(path)
    except ViewerError as error:
        assert path.name in str(error)
