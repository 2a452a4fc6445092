from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from relpos_viewer.core.attention import attend
from relpos_viewer.core.encodings import parse_encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs, inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.export import arrays
from relpos_viewer.export.arrays import (
    COLUMNS,
    EXPORTERS,
    STAGES,
    Data,
    data,
    digits,
    exporter_for,
    save_data,
)

TOKENS = ('a,b"c"', "d\ne\r\nf", "👨‍👩‍👧", "=1+1")
ODD = np.array([1.785e-08, 0.1, -np.inf, np.nan], np.float32)


def inputs(n_query: int = 4) -> AttentionInputs:
    generator = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, n_query, 8, generator=generator), torch.randn(1, 4, 8, generator=generator)
    return inputs_from_arrays(q, k, tokens=Tokens(TOKENS))


def numbers(n_query: int = 4, encoding: str = "t5", mask: str = "causal") -> Data:
    edit = np.arange(14, dtype=np.float32).reshape(2, 7) / 3
    return data(inputs(n_query), parse_encoding(encoding), scale=None, mask=parse_mask(mask), edit=edit)


@pytest.fixture
def odd() -> Data:
    """Numbers whose first row of scores is X01's."""
    made = numbers()
    made.scores[0, 0] = ODD
    return made


def strict(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    nan = np.isnan(one)
    return bool((nan == np.isnan(other)).all() and (one.view(np.uint32) == other.view(np.uint32))[~nan].all())


def test_a_table_writes_the_shortest_digits_that_give_the_same_bits(odd, tmp_path) -> None:
    save_data(odd, tmp_path / "a.csv")
    rows = table(tmp_path / "a.csv")
    assert [row["score"] for row in rows[:4]] == ["1.785e-08", "0.1", "-inf", "nan"]
    for name in ("content", "positional", "score", "weight"):
        stage = {"score": "scores", "weight": "weights"}.get(name, name)
        read = np.array([row[name] for row in rows], np.float32).reshape(2, 4, 4)
        assert same_bits(read, getattr(odd, stage)), name


def test_json_is_strict_and_gives_the_same_bits(odd, tmp_path) -> None:
    save_data(odd, tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    read = strict(text)
    assert '[1.785e-08,0.1,"-inf","nan"]' in text
    for name in (*STAGES, "curve", "edit"):
        assert same_bits(np.array(read[name], np.float32), getattr(odd, name)), name
    assert read["tokens"] == list(TOKENS) and read["offsets"] == [-3, -2, -1, 0, 1, 2, 3]
    assert np.array_equal(np.array(read["visible"]), odd.visible) and read["visible"][0][0][1] is False


def test_npz_needs_no_pickle_and_gives_the_same_bits(odd, tmp_path) -> None:
    save_data(odd, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        for name in (*STAGES, "curve", "edit"):
            assert read[name].dtype == np.float32 and same_bits(read[name], getattr(odd, name)), name
        assert read["scores"].shape == (2, 4, 4) and read["curve"].shape == (2, 7)
        assert read["tokens"].tolist() == list(TOKENS)
        assert read["visible"].dtype == bool and read["offsets"].tolist() == [-3, -2, -1, 0, 1, 2, 3]


def test_the_curve_alone_is_a_table_or_an_array(tmp_path) -> None:
    made = numbers()
    save_data(made, tmp_path / "a.curve.csv")
    save_data(made, tmp_path / "a.npy")
    rows = table(tmp_path / "a.curve.csv")
    assert list(rows[0]) == ["head", "offset", "curve", "edit"] and len(rows) == 14
    assert same_bits(np.array([row["curve"] for row in rows], np.float32).reshape(2, 7), made.curve)
    assert [row["offset"] for row in rows[:3]] == ["-3", "-2", "-1"]
    assert same_bits(np.load(tmp_path / "a.npy", allow_pickle=False), made.curve)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
@example([0x49750000])  # 1.00352e+06 is longer than 1003520.0, though it has fewer figures
def test_digits_give_back_any_float32(bits) -> None:
    values = np.array(bits, np.uint32).view(np.float32)
    texts = digits(values)
    assert same_bits(np.array(texts, np.float32), values)
    significant = [text.partition("e")[0].replace(".", "").strip("-0") for text in texts]
    assert all(len(figures) <= 9 for figures in significant)  # no float32 needs more


def test_the_rows_of_a_table_name_their_cells(tmp_path) -> None:
    made = numbers(n_query=2)
    save_data(made, tmp_path / "a.csv")
    rows = table(tmp_path / "a.csv")
    assert tuple(rows[0]) == COLUMNS and len(rows) == 2 * 2 * 4
    for row in rows:
        head, query, key = int(row["head"]), int(row["query"]), int(row["key"])
        assert query in (2, 3)  # the queries are the last positions
        assert int(row["offset"]) == key - query
        assert (row["query_token"], row["key_token"]) == (TOKENS[query], TOKENS[key])
        assert row["visible"] == str(int(key <= query))
        assert np.float32(row["weight"]) == made.weights[head, query - 2, key]


def test_the_stages_are_those_of_the_plain_path() -> None:
    made = numbers()
    edit = np.arange(14, dtype=np.float32).reshape(2, 7) / 3
    expected = attend(inputs(), parse_encoding("t5"), scale=None, mask=parse_mask("causal"), edit=edit)
    for name in STAGES:
        assert torch.equal(torch.from_numpy(getattr(made, name)), getattr(expected, name))
    # The curve holds the edit, and every cell of the term lies on it.
    for query in range(4):
        for key in range(4):
            assert np.allclose(made.positional[:, query, key], made.curve[:, key - query + 3], atol=1e-6)


def test_a_term_without_a_curve_gives_the_mean_of_each_visible_diagonal() -> None:
    made = numbers(encoding="rope")
    assert not made.exact and np.isnan(made.curve[:, 4:]).all()  # the future is masked
    expected = [np.diagonal(made.positional[1], -distance).mean() for distance in (3, 2, 1, 0)]
    assert made.curve[1, :4] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "exporter"),
    [
        ("a.npz", "npz"),
        ("A.CSV", "csv"),
        ("a.json", "json"),
        ("a.curve.csv", "curve-csv"),
        ("a.Curve.CSV", "curve-csv"),
        ("curve.csv", "csv"),
        ("a.npy", "curve-npy"),
        ("a.png", None),
        ("csv", None),
    ],
)
def test_the_name_of_a_file_chooses_its_kind(name, exporter) -> None:
    found = exporter_for(name)
    assert (found and found.name) == exporter


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, exporter) -> None:
    target = tmp_path / f"a{exporter.suffix}"
    save_data(numbers(), target)
    before = target.read_bytes()
    made = numbers()
    object.__setattr__(made, "curve", None)  # fails when it is written
    object.__setattr__(made, "edit", None)
    if exporter.name == "csv":
        object.__setattr__(made, "weights", None)
    if exporter.name in ("npz", "curve-npy"):
        monkeypatch.setattr(np, "savez", lambda *_, **__: 1 / 0)
        monkeypatch.setattr(np, "save", lambda *_, **__: 1 / 0)
    with pytest.raises((TypeError, AttributeError, ZeroDivisionError)):
        save_data(made, target)
    assert target.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_a_table_that_would_be_too_long_names_the_way_out(tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(arrays, "MOST_TEXT_CELLS", 31)
    with pytest.raises(ViewerError, match=r"32 cells are too many .* choose \.npz"):
        save_data(numbers(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suffix_names_the_known_ones(tmp_path) -> None:
    with pytest.raises(ViewerError, match=r"\.npz, \.csv, \.json, \.curve\.csv, \.npy"):
        save_data(numbers(), tmp_path / "a.xlsx")
