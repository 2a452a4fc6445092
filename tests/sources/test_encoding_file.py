"""An exported encoding is opened again; a hostile file is answered with one sentence; a model's config is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.encodings.rope_config import rope_parameters
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import Document, EncodingSpec
from relpos_viewer.export.code import CODE_KINDS, Wanted, export_code
from relpos_viewer.sources.encoding_file import read_encoding_file, with_encoding

from ..core.lively import LIVELY

JSON = CODE_KINDS[2]
ONE = {"format": "relpos-viewer encoding", "version": 1, "encoding": "alibi", "parameters": {}}


def written(folder: Path, record: object, name: str = "x.encoding.json") -> Path:
    path = folder / name
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_exported_is_opened_as_the_same_encoding_and_edit(name: str, tmp_path: Path) -> None:
    built = encoding(name, heads=4, **LIVELY[name])
    edit = np.random.default_rng(2).normal(size=(4, 7)).astype(np.float32)
    export_code(Wanted(built, 4, edit), tmp_path / "x.encoding.json", JSON)
    read = read_encoding_file(tmp_path / "x.encoding.json")
    wanted = EncodingSpec.of(built)
    assert read.spec.name == wanted.name
    assert set(read.spec.parameters) == set(wanted.parameters)
    for key, value in wanted.parameters.items():
        if isinstance(value, str):
            assert read.spec.parameters[key] == value
        else:
            np.testing.assert_allclose(read.spec.parameters[key], value, rtol=1e-6)
    np.testing.assert_array_equal(read.edit.values, edit)


def test_a_file_without_an_edit_takes_the_edit_away(tmp_path: Path) -> None:
    read = read_encoding_file(written(tmp_path, ONE))
    assert with_encoding(Document.default(), read).edit.is_zero
    assert with_encoding(Document.default(), read).encoding.name == "alibi"


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "holds no encoding"),
        ("{", "is not JSON"),
        ("[" * 100_000, "nests too deeply"),
        ({"a": 1}, "neither an exported one nor a model's config"),
        ({**ONE, "version": 2}, "reads up to 1"),
        ({**ONE, "version": True}, "never was"),
        ({**ONE, "version": "1"}, "never was"),
        ({**ONE, "encoding": "alibby"}, "did you mean alibi"),
        ({**ONE, "encoding": ["t5"]}, "lacks the name"),
        ({**ONE, "parameters": [1]}, "lacks the name"),
        ({**ONE, "parameters": {"rule": {"a": 1}}}, "must be one value"),
        ({**ONE, "parameters": {"rule": "steep"}}, "rule cannot be"),
        ({**ONE, "parameters": {"slopes": [[1], [2, 3]]}}, "no table of numbers"),
        ({**ONE, "parameters": {"slopes": ["x"]}}, "no table of numbers"),
        ({**ONE, "parameters": {"slopes": ["nan"]}}, "slopes table holds values that are no numbers"),
        ({**ONE, "parameters": {"heads": 3}}, "no parameter “heads”"),
        ({**ONE, "edit": [1, 2]}, "must be an object"),
        ({**ONE, "edit": {"first_offset": -1, "values": [[1, 2]]}}, "rows, one a head"),
        ({**ONE, "edit": {"first_offset": 0, "values": [[1, 2, 3]]}}, "rows, one a head"),
        ({**ONE, "edit": {"first_offset": -1, "values": [[1, "inf", 3]]}}, "no finite number"),
        ({**ONE, "edit": {"first_offset": -1}}, "rows, one a head"),
        ({"rope_scaling": 5}, "must be an object"),
        ({"rope_theta": "fast"}, "base must be a number"),
    ],
)
def test_a_hostile_file_is_answered_with_one_sentence(record: object, part: str, tmp_path: Path) -> None:
    with pytest.raises(ViewerError) as refused:
        read_encoding_file(written(tmp_path, record))
    assert part in str(refused.value)
    assert "x.encoding.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_file_is_answered_with_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.encoding.json", tmp_path / "a\0b"):
        with pytest.raises(ViewerError):
            read_encoding_file(path)
    path = tmp_path / "bytes.encoding.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(ViewerError, match=r"bytes\.encoding\.json"):
        read_encoding_file(path)


def test_tables_of_another_number_of_heads_are_refused(tmp_path: Path) -> None:
    read = read_encoding_file(written(tmp_path, {**ONE, "parameters": {"slopes": [1.0, 2.0, 3.0]}}))
    with pytest.raises(ViewerError, match="holds 3 heads, the queries 4"):
        with_encoding(Document.default(), read)


# E01, E03: rotary settings of models' configs


YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 256}


@pytest.mark.parametrize(
    ("config", "amplitude"),
    [
        ({"rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "rope_theta": 1e6}}, 1.0),
        ({"rope_parameters": {**YARN, "rope_theta": 1e6}}, 1.2772588722239782),
        ({"rope_scaling": {**YARN, "attention_factor": 1.1}}, 1.1),
        (
            {"rope_scaling": {**YARN, "mscale": 0.707, "mscale_all_dim": 1.0}},
            1.1960220226624 / 1.2772588722239782,
        ),
    ],
)
def test_e01_yarn_takes_its_factor_from_the_config(config: dict, amplitude: float) -> None:
    parameters, notes = rope_parameters(config)
    family = encoding("rope", **parameters)
    assert family.amplitude == pytest.approx(amplitude, abs=1e-12)
    assert (family.original, family.low, family.high) == (256, 1.0, 32.0)
    assert notes == ()


def test_e01_deepseek_says_both_of_its_factors() -> None:
    config = {"model_type": "deepseek_v3", "rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}}
    _, notes = rope_parameters(config)
    assert "have the factor 1;" in notes[0]
    assert "by 1.63139 besides" in notes[0]


@pytest.mark.parametrize(
    ("config", "first", "parts"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 8}}, 0.125, ()),
        ({"rope_theta": 1e6, "rope_scaling": None}, 1.0, ()),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, 1.0, ()),
        ({"rope_scaling": {"factor": 8}}, 1.0, ("ignores it: no scaling",)),
        ({"rope_scaling": {"rope_type": "longrope", "long_factor": [1.0]}}, 1.0, ("shown without scaling",)),
    ],
)
def test_e03_configs_old_and_new_are_opened(config: dict, first: float, parts: tuple[str, ...]) -> None:
    parameters, notes = rope_parameters(config)
    frequencies = encoding("rope", **parameters).frequencies(128)
    assert float(frequencies[0]) == pytest.approx(first)
    base = (config.get("rope_parameters") or config).get("rope_theta", 10000.0)
    assert float(frequencies[1] / frequencies[0]) == pytest.approx(base ** (-2 / 128))
    assert len(notes) == len(parts)
    for note, part in zip(notes, parts, strict=True):
        assert part in note


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"rope_scaling": {"type": "su", "factor": 4}}, "the scaling “su” of rotary positions is not known"),
        ({"rope_scaling": {"type": "linear"}}, "“linear” of rotary positions lacks its factor"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8}}, "lacks its low_freq_factor"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "“yarn” of rotary positions lacks its factor"),
    ],
)
def test_e03_a_scaling_that_cannot_be_drawn_is_named(config: dict, part: str) -> None:
    with pytest.raises(ViewerError, match=part):
        rope_parameters(config)


def test_a_config_is_opened_whole(tmp_path: Path) -> None:
    config = {
        "model_type": "gptj",
        "rope_theta": 5e5,
        "partial_rotary_factor": 0.25,
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 4096,
        },
    }
    read = read_encoding_file(written(tmp_path, config, "config.json"))
    assert read.spec.name == "rope"
    assert dict(read.spec.parameters) == {
        "base": 5e5,
        "layout": "interleaved",
        "fraction": 0.25,
        "scaling_rule": "llama3",
        "factor": 8.0,
        "original": 4096,
    }
