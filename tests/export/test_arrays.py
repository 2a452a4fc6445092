from __future__ import annotations

import csv
import json
from dataclasses import replace
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
from relpos_viewer.export import arrays, cells
from relpos_viewer.export.arrays import (
    COLUMNS,
    EXPORTERS,
    STAGES,
    Data,
    Wanted,
    data,
    digits,
    export_numbers,
    exporter_for,
    save_data,
)
from relpos_viewer.export.pixels import Part

TOKENS = ('a,b"c"', "d\ne\r\nf", "👨‍👩‍👧", "=1+1")
ODD = np.array([1.785e-08, 0.1, -np.inf, np.nan], np.float32)


def inputs(n_query: int = 4) -> AttentionInputs:
    generator = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, n_query, 8, generator=generator), torch.randn(1, 4, 8, generator=generator)
    return inputs_from_arrays(q, k, tokens=Tokens(TOKENS))


def numbers(n_query: int = 4, encoding: str = "t5", mask: str = "causal") -> Data:
    edit = np.arange(14, dtype=np.float32).reshape(2, 7) / 3
    return data(inputs(n_query), parse_encoding(encoding), scale=None, mask=parse_mask(mask), edit=edit)


def wanted(n_query: int = 4, **changes: object) -> Wanted:
    edit = np.arange(14, dtype=np.float32).reshape(2, 7) / 3
    asked = Wanted(inputs(n_query), parse_encoding("t5"), None, parse_mask("causal"), edit)
    return replace(asked, **changes)


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
        ("a.pixels.npz", "pixels"),
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
    export_numbers(wanted(), target, exporter)
    before = target.read_bytes()
    made = exporter.gather(wanted())
    if exporter.name in ("npz", "curve-npy", "pixels"):
        monkeypatch.setattr(np, "savez", lambda *_, **__: 1 / 0)
        monkeypatch.setattr(np, "save", lambda *_, **__: 1 / 0)
    else:
        object.__setattr__(made, "curve", None)  # fails when it is written
        object.__setattr__(made, "edit", None)
        object.__setattr__(made, "weights", None)
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
    with pytest.raises(ViewerError, match=r"\.npz, \.pixels\.npz, \.csv, \.json, \.curve\.csv, \.npy"):
        save_data(numbers(), tmp_path / "a.xlsx")


# --- sequences too long for matrices ------------------------------------------------------------------


def long(n_query: int = 60, n_key: int = 60, encoding: str = "rope") -> Wanted:
    generator = torch.Generator().manual_seed(5)
    q, k = torch.randn(2, n_query, 8, generator=generator), torch.randn(2, n_key, 8, generator=generator)
    edit = torch.randn(2, 2 * n_key - 1, generator=generator).numpy()
    return Wanted(inputs_from_arrays(q, k), parse_encoding(encoding), None, parse_mask("causal"), edit)


@pytest.mark.parametrize("largest", [1000, 0], ids=["short", "long"])
@pytest.mark.parametrize(
    ("part", "edges"),
    [
        (Part(1, shape=(12, 15)), (np.arange(0, 61, 5), np.arange(0, 61, 4))),
        (Part(0, (9.5, 21), (3, 7.2), (5, 50), "max"), (np.array([9, 11, 13, 16, 18, 21]), np.arange(3, 9))),
    ],
)
def test_pixels_are_those_of_the_cells_that_their_edges_name(
    part, edges, largest, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(cells, "LARGEST", largest)
    asked = replace(long(), part=part)
    export_numbers(asked, tmp_path / "a.pixels.npz", exporter_for("a.pixels.npz"))
    exact = attend(asked.inputs, asked.encoding, scale=None, mask=asked.mask, edit=asked.edit)
    with np.load(tmp_path / "a.pixels.npz") as file:
        assert int(file["head"]) == part.head and int(file["query_start"]) == 0
        rows, cols = file["row_edges"], file["col_edges"]
        np.testing.assert_array_equal(rows, edges[0])
        np.testing.assert_array_equal(cols, edges[1])
        for stage in STAGES:
            way = str(file[f"{stage}_reduce"])
            assert way == ("max" if stage == "weights" or part.reduce == "max" else "mean")
            for y, x in np.ndindex(len(rows) - 1, len(cols) - 1):
                block = slice(rows[y], rows[y + 1]), slice(cols[x], cols[x + 1])
                seen = exact.visible[part.head][block].numpy()
                assert file["visible"][y, x] == seen.any()
                values = getattr(exact, stage)[part.head][block].numpy()[seen]
                if seen.any():
                    value = values[np.abs(values).argmax()] if way == "max" else values.mean()
                    assert file[stage][y, x] == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("encoding", ["t5", "alibi"])
def test_the_curve_of_a_long_sequence_is_that_of_a_short_one(encoding, tmp_path, monkeypatch) -> None:
    export_numbers(long(encoding=encoding), tmp_path / "short.npy", exporter_for("a.npy"))
    export_numbers(long(encoding=encoding), tmp_path / "short.curve.csv", exporter_for("a.curve.csv"))
    for module in (arrays, cells):
        monkeypatch.setattr(module, "LARGEST", 0)
    export_numbers(long(encoding=encoding), tmp_path / "long.npy", exporter_for("a.npy"))
    export_numbers(long(encoding=encoding), tmp_path / "long.curve.csv", exporter_for("a.curve.csv"))
    for name in ("npy", "curve.csv"):
        assert (tmp_path / f"long.{name}").read_bytes() == (tmp_path / f"short.{name}").read_bytes()


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.json"])
def test_matrices_that_would_fill_a_disk_are_refused_with_their_size_and_a_way_out(name, tmp_path) -> None:
    tokens = Tokens(tuple(map(str, range(32_768))))
    asked = replace(
        long(),
        inputs=AttentionInputs(tokens, q=torch.zeros(2, 32_768, 1), k=torch.zeros(2, 32_768, 1)),
        edit=None,
    )
    with pytest.raises(
        ViewerError, match=r"32,768 tokens would be 36\.5 GB.*pixels\.npz.*curve\.csv"
    ) as error:
        export_numbers(asked, tmp_path / name, exporter_for(name))
    assert "\n" not in str(error.value) and list(tmp_path.iterdir()) == []


def test_one_query_of_a_long_sequence_is_written_whole(tmp_path) -> None:
    export_numbers(replace(long(1, 4000), edit=None), tmp_path / "a.npz", exporter_for("a.npz"))
    with np.load(tmp_path / "a.npz") as file:
        assert file["weights"].shape == (2, 1, 4000)
        assert file["weights"].sum(-1) == pytest.approx(1, abs=1e-5)


class Stop(Exception):  # noqa: N818
    pass


class Stopped:
    """Stops whatever asks."""

    def check(self) -> None:
        raise Stop

    def progress(self, _fraction: float) -> None:
        """Nobody hears it."""


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_what_is_stopped_writes_nothing(exporter, tmp_path) -> None:
    with pytest.raises(Stop):
        export_numbers(wanted(cancel=Stopped()), tmp_path / f"a{exporter.suffix}", exporter)
    assert list(tmp_path.iterdir()) == []
