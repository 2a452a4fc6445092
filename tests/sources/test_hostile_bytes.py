"""Whatever the bytes, only ViewerError comes out, and what opens can be drawn."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import ArraySource
from relpos_viewer.sources.build import inputs_for
from relpos_viewer.sources.contents import Question
from relpos_viewer.sources.files import describe, load


def packed(writer, *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    file = io.BytesIO()
    writer(file, *arrays, **named)
    return file.getvalue()


Q, K = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), np.ones((2, 5, 4), np.float32)
SEEDS = {
    ".npy": [packed(np.save, Q[0]), packed(np.save, np.array(["a", "b"]))],
    ".npz": [packed(np.savez_compressed, q=Q, k=K), packed(np.savez, mask=np.eye(3) > 0, bias=np.ones((2, 3, 3)))],
    ".safetensors": [save({"q": Q, "k": K}), save({"ids": np.arange(5), "scores": np.eye(5)})],
    ".json": [b'{"tokens": ["a", "b"], "q": [[1, 2], [3, 4]], "k": [[1, NaN], [3, 4]], "positions": [0, 0]}'],
    ".jsonl": [b'{"token": "a"}\n{"token": "b"}\n', b'["a"]\n["b", "c"]\n'],
    ".csv": [b'token,weight\n"a\nb",1\nc,2\n', b"1,2\n3,4\n"],
    ".tsv": [b'token\tx\n"\t1\n'],
    ".fasta": [b">x\nMKT\nAY\n>y\nAA\n"],
    ".txt": ["i ⭢ j\n\nzwei".encode(), "añb".encode("utf-16")],
    ".relpos": [packed(np.savez, a=Q)],
}  # fmt: skip
PIECES = [
    b"\0",
    b'"',
    b"[",
    b"{",
    b",",
    b"\xff",
    b"PK\x03\x04",
    b"1e999",
    b"null",
    b"true",
    b"9" * 25,
    b"[[[[",
    b"O",
    b"<U4",
]


@st.composite
def mutations(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        stop = at + draw(st.sampled_from([0, 0, 1, 4, 20, 10_000]))
        data[at:stop] = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=4) | st.just(b""))
    return bytes(data)


def open_and_build(path: Path) -> None:
    """Answer every question with its last option, then make the inputs."""
    with contextlib.suppress(ViewerError):
        describe(path)
    answers: dict[str, str] = {}
    for _ in range(8):
        try:
            loaded = load(path, **answers)
            break
        except Question as question:
            assert question.options
            assert question.option_name not in answers, "a question that was answered came again"
            answers[question.option_name] = question.options[-1][0]
        except ViewerError as error:
            assert str(error)
            assert "\n" not in str(error)
            return
    if loaded.kind != "arrays":
        return
    tokens = loaded.tokens
    source = ArraySource(
        "", path.name, loaded.arrays, tokens.texts if tokens else (), None, tokens and tokens.ids
    )
    assert inputs_for(source).heads == source.heads


@pytest.mark.parametrize("suffix", SEEDS)
@settings(max_examples=60)
@given(data=st.data())
def test_changed_bytes_open_or_are_refused_with_a_sentence(
    tmp_path: Path, suffix: str, data: st.DataObject
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data.draw(mutations(SEEDS[suffix])))
    open_and_build(path)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["a", "NaN", "", "b c", 10**400])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=12)
MATRICES = st.lists(
    st.lists(st.floats(-3, 3) | st.integers(-1, 1), min_size=2, max_size=2), min_size=2, max_size=2
)
NAMES = st.sampled_from(
    ["q", "k", "v", "bias", "scores", "weights", "mask", "visible", "tokens", "ids", "positions", "x"]
)


@settings(max_examples=150)
@given(value=VALUES | st.dictionaries(NAMES, MATRICES | VALUES, max_size=5))
def test_json_of_any_shape_opens_or_is_refused_with_a_sentence(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    open_and_build(path)
