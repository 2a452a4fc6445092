"""Text, tables, JSON and FASTA: what becomes of their bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.contents import Question
from relpos_viewer.sources.files import attach_tokens, describe, load

CSV = "token,weight\nthe,0.5\n"
ENCODINGS = {
    "UTF-8": CSV.encode(),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + CSV.encode(),
    "UTF-16 LE with a mark": b"\xff\xfe" + CSV.encode("utf-16-le"),
    "UTF-16 BE with a mark": b"\xfe\xff" + CSV.encode("utf-16-be"),
    "UTF-16 LE without": CSV.encode("utf-16-le"),
    "UTF-16 BE without": CSV.encode("utf-16-be"),
}


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_tables_of_spreadsheets_open_in_every_encoding(write, data: bytes) -> None:
    loaded = load(write("a.csv", data))
    assert loaded.tokens.texts == ("the",)
    assert "\ufeff" not in "".join(loaded.notes)
    assert "“token”" in loaded.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("text", ["It is.\nTwo", "naïve שלום 你好 👨‍👩‍👧 and then"])
def test_text_comes_out_as_it_was_written(write, text: str, encoding: str) -> None:
    loaded = load(write("a.txt", text.replace("\n", "\r\n").encode(encoding)))
    assert (loaded.kind, loaded.text) == ("text", text)


BAD_TEXT = {
    "Latin-1": (b"abc\ncaf\xe9 x", r"byte 7 \(line 2\) is 0xE9"),
    "cut in a character": ("abc é".encode()[:-1], r"byte 4 \(line 1\) is 0xC3"),
    "a NUL": (b"abc\0def ghi", "byte 3 is 0x00"),
    "UTF-16 cut in two": (b"\xff\xfea\0b", "not UTF-16: byte 4"),
    "blanks": (b" \n\t", "nothing but blanks"),
    "nothing": (b"", "is empty"),
}


@pytest.mark.parametrize(("data", "message"), BAD_TEXT.values(), ids=BAD_TEXT)
def test_bytes_that_are_no_text_are_named_with_their_place(write, data: bytes, message: str) -> None:
    with pytest.raises(ViewerError, match=message):
        load(write("a.md", data))


TABLES = {
    "one column without a name": ("a.csv", "the\ncat\n", None, ["the", "cat"]),
    "one column called token": ("a.csv", "Token\nthe\ncat\n", None, ["the", "cat"]),
    "a column by name": ("a.csv", "id,piece\n1,the\n2,cat\n", "piece", ["the", "cat"]),
    "a column by number": ("a.csv", "1,the\n2,cat\n", "2", ["the", "cat"]),
    "names above numbers": ("a.csv", "n,piece\n1,the\n2,cat\n", "2", ["the", "cat"]),
    "quoted line ends and quotes": ("a.csv", '"a\nb"\n"say ""hi"""\n', None, ["a\nb", 'say "hi"']),
    "semicolons": ("a.csv", "token;w\nthe;0,5\n", None, ["the"]),
    "tabs": ("a.tsv", "token\tw\nthe\t1\n", None, ["the"]),
    "a lone quote between tabs": ("a.tsv", 'token\tw\n"\t1\n,\t2\n', None, ['"', ","]),
    "blank lines": ("a.csv", "the\n\ncat\n", None, ["the", "cat"]),
    "short rows": ("a.csv", "n,token\n1,the\n2\n", None, ["the", ""]),
    "identical tokens stay apart": ("a.csv", "the\nthe\n", None, ["the", "the"]),
}


@pytest.mark.parametrize(("name", "text", "column", "tokens"), TABLES.values(), ids=TABLES)
def test_a_table_gives_its_column_of_tokens(write, name, text, column, tokens) -> None:
    assert list(load(write(name, text), column=column).tokens.texts) == tokens


def test_a_column_of_whole_numbers_is_token_ids(write) -> None:
    assert load(write("a.csv", "5\n17\n3\n")).tokens.ids == (5, 17, 3)


def test_a_table_with_several_columns_asks_which(write) -> None:
    path = write("a.csv", "a,b\nc,d\n")
    with pytest.raises(Question) as asked:
        load(path)
    assert asked.value.option_name == "column"
    assert [value for value, _ in asked.value.options] == ["1", "2"]
    assert load(path, column="2").tokens.texts == ("b", "d")


def test_a_table_of_numbers_is_an_array(write) -> None:
    assert load(write("a.csv", "0.9,0.1\n0.2,0.8\n")).arrays["weights"].shape == (1, 2, 2)


BAD_TABLES = {
    "open quote": ("a.csv", 'token\n"the\n', None, "broken quoting"),
    "unknown column": ("a.csv", "token,w\nthe,1\n", "tokne", "did you mean token"),
    "a heading alone": ("a.csv", "token,weight\n", None, "nothing below it"),
}


@pytest.mark.parametrize(("name", "text", "column", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_is_explained(write, name, text, column, message) -> None:
    with pytest.raises(ViewerError, match=message):
        load(write(name, text), column=column)


JSONS = {
    "texts": ("a.json", '["a", "b", "a"]', ("a", "b", "a"), None, None),
    "ids": ("a.json", "[5, 17, 3]", ("5", "17", "3"), (5, 17, 3), None),
    "lists of lists are documents": ("a.json", '[["a", "b"], ["c"]]', ("a", "b", "c"), None, (0, 0, 1)),
    "texts with ids": ("a.json", '{"tokens": ["a", "b"], "ids": [1, 2]}', ("a", "b"), (1, 2), None),
    "input ids of a batch of one": ("a.json", '{"input_ids": [[7, 8]]}', ("7", "8"), (7, 8), None),
    "positions that start again": (
        "a.json",
        '{"tokens": ["a", "b", "c", "d", "e", "f"], "positions": [0, 1, 2, 3, 0, 1]}',
        ("a", "b", "c", "d", "e", "f"),
        None,
        (0, 0, 0, 0, 1, 1),
    ),
    "documents by name": ("a.json", '{"tokens": ["a", "b"], "documents": [3, 9]}', ("a", "b"), None, (0, 1)),
    "positions in one run": ("a.json", '{"tokens": ["a", "b"], "positions": [4, 5]}', ("a", "b"), None, None),
    "a text a line": ("a.jsonl", '"a"\n"b"\n', ("a", "b"), None, None),
    "a list a line": ("a.jsonl", '["a", "b"]\n["c"]\n', ("a", "b", "c"), None, (0, 0, 1)),
    "an object a line": ("a.jsonl", '{"token": "a"}\n\n{"token": "b"}\n', ("a", "b"), None, None),
    "joined halves of an emoji": ("a.json", r'["\ud83d\ude00"]', ("😀",), None, None),
}


@pytest.mark.parametrize(("name", "text", "texts", "ids", "documents"), JSONS.values(), ids=JSONS)
def test_json_gives_tokens(write, name, text, texts, ids, documents) -> None:
    tokens = load(write(name, text)).tokens
    assert (tokens.texts, tokens.ids, tokens.documents) == (texts, ids, documents)


def test_json_of_text_alone_is_text(write) -> None:
    assert load(write("a.json", '{"text": "a b"}')).text == "a b"
    assert load(write("a.jsonl", '{"text": "a b"}\n{"text": "c"}\n')).text == "a b\n\nc"


BAD_JSON = {
    "syntax": ("a.json", '{"q": [1,\n2', "line 2, column 2"),
    "syntax in a line": ("a.jsonl", '"a"\n{"token"\n', "line 2"),
    "ragged": ("a.json", '{"q": [[1, 2], [3]], "k": [[1, 2]]}', "q in a.json is no array of numbers"),
    "mixed tokens": ("a.json", '["a", 5]', r"\[1\] is a whole number"),
    "booleans are no ids": ("a.json", "[1, true]", r"\[1\] is true or false"),
    "no tokens": ("a.json", '{"tokens": []}', "no tokens"),
    "nothing known": ("a.json", '{"name": "x"}', "nothing that can be drawn"),
    "half a surrogate pair": ("a.json", r'["a", "\ud83d"]', r"\[1\] holds half a surrogate pair"),
    "too deep": ("a.json", "[" * 100_000, "nests too deeply"),
    "a number": ("a.json", "7", "single value"),
    "documents of another length": ("a.json", '{"tokens": ["a"], "documents": [1, 2]}', "2 values for 1"),
    "an endless integer": ("a.json", "[" + "9" * 5000 + "]", "cannot be read"),
}


@pytest.mark.parametrize(("name", "text", "message"), BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_is_explained(write, name, text, message) -> None:
    with pytest.raises(ViewerError, match=message):
        load(write(name, text))


def test_fasta_gives_residues_without_header_and_with_lines_joined(write) -> None:
    loaded = load(write("a.fasta", ">sp|T\nMKTAY\nIAKQR\n"))
    assert loaded.kind == "arrays"  # no text tokenizer cuts it again
    assert loaded.tokens.labels == tuple("MKTAYIAKQR")


def test_fasta_records_are_documents(write) -> None:
    assert load(write("a.fa", ">one\nMK\n\n>two\nA\n")).tokens.documents == (0, 0, 1)


def test_fasta_names_what_is_no_residue(write) -> None:
    with pytest.raises(ViewerError, match="“7” in line 3, column 2"):
        load(write("a.faa", ">x\nMK\nA7\n"))


def attention_of_twelve() -> np.ndarray:
    weights = np.full((12, 12), 1 / 12)
    weights[3] = [0.3, 0.5, 0.1, 0, 0, 0, 0, 0, 0, 0, 0, 0.1]
    return weights


def test_labels_are_never_shifted_silently(write) -> None:
    tokens = load(write("a.fasta", ">sp|T\nMKTAY\nIAKQR\n")).tokens
    loaded = load(write("a.npy", attention_of_twelve()))
    with pytest.raises(Question) as asked:
        attach_tokens(loaded, tokens)
    assert asked.value.option_name == "labels"
    assert ("cls+eos", "CLS + 10 + EOS") in asked.value.options
    ended = attach_tokens(loaded, tokens, labels="cls+eos")
    assert ended.tokens.labels == ("CLS", *"MKTAYIAKQR", "EOS")
    assert attach_tokens(loaded, tokens, labels="numbers").tokens.texts[:2] == ("0", "1")


def test_rows_without_their_ends_are_shown_as_they_are(write) -> None:
    tokens = load(write("a.fasta", ">x\nMKTAYIAKQR\n")).tokens
    cropped = attach_tokens(load(write("a.npy", attention_of_twelve())), tokens, labels="crop")
    assert cropped.tokens.texts == tuple("MKTAYIAKQR")
    assert cropped.arrays["weights"].shape == (1, 10, 10)
    assert cropped.arrays["weights"][0, 2, :2].tolist() == pytest.approx([0.5, 0.1])
    assert any("row sums 0.6" in note for note in cropped.notes)


@pytest.mark.parametrize("count", [3, 9, 13])
def test_any_other_number_of_labels_is_an_error(write, count: int) -> None:
    path = write("a.json", {"tokens": ["x"] * count, "weights": attention_of_twelve().tolist()})
    with pytest.raises(ViewerError, match=f"there are {count} tokens for 12 positions") as error:
        load(path)
    assert not isinstance(error.value, Question)


def test_describe_says_what_is_there_before_anything_is_asked(write) -> None:
    about = describe(write("a.npz", {"one": np.array([[1.0, np.nan]]), "two": np.zeros((2, 3), np.float16)}))
    assert about["arrays"] == {
        "one": {"shape": [1, 2], "dtype": "f64", "not_finite": "1 NaN"},
        "two": {"shape": [2, 3], "dtype": "f16"},
    }
    assert describe(write("a.txt", "a b"))["characters"] == 3


def test_samples_of_the_program_open(repository: Path) -> None:
    for path in sorted((repository / "resources" / "samples").glob("*.txt")):
        assert load(path).text


FASTA_OR_NOT = {
    "I08 a record": (">sp|T\nMKTAY\nIAKQR\n", "arrays"),
    "records of Windows": (">a\r\nMKT\r\n\r\n>b\r\nACGT-\r\n", "arrays"),
    "a quotation": ("> WHO SAID\nTHAT\n", "text"),
    "headers alone": (">a\n>b\n", "text"),
    "small letters": (">a\nhello\n", "text"),
    "words": (">a\nMKT AY\n", "text"),
}


@pytest.mark.parametrize(("text", "kind"), FASTA_OR_NOT.values(), ids=FASTA_OR_NOT)
def test_residues_are_recognised_whatever_their_file_is_called(write, text, kind) -> None:
    assert load(write("a.txt", text)).kind == kind


def test_a_stray_nul_does_not_turn_latin_letters_into_chinese_ones(write) -> None:
    with pytest.raises(ViewerError, match="byte 14 is 0x00"):
        load(write("a.txt", b"the cat sat on\0the mat "))
