from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from relpos_viewer import __version__, cli, options
from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.document.document import Document, EditCurve, TextSource, replace
from relpos_viewer.document.files import load_session, save_session
from relpos_viewer.sources.text import TOKENIZERS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a file of every kind that the cases name."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    q, k = (random.standard_normal((2, 3, 5, 4)).astype(np.float32) for _ in range(2))
    np.savez("ambiguous.npz", q=q[:1], k=k[:1])
    np.savez("qk.npz", q=q[0], k=k[0], tokens=np.array(list("abcde")))
    np.savez("misfit.npz", q=q[0], k=k[0, ..., :3])
    nan = q[0].copy()
    nan[0, 0, 0] = np.nan
    np.savez("nan.npz", q=nan, k=k[0], tokens=np.array(list("abcde")))
    np.save("mask.npy", np.triu(np.ones((3, 3), bool), 1))
    Path("cut.npz").write_bytes(Path("qk.npz").read_bytes()[:200])
    Path("text.txt").write_text("the cat sat on the mat")
    Path("empty.txt").write_text("")
    Path("blank.txt").write_text(" \n ")
    Path("long.txt").write_text("word " * 4097)
    Path("pickle.npy").write_bytes(b"\x80\x04K\x01.")
    Path("broken.relpos").write_bytes(b"PK\x03\x04 no zip at all")
    edit = np.zeros((4, 11), np.float32)
    edit[1, 3] = 2.5
    save_session(
        replace(Document.default(), source=TextSource("one two three"), edit=EditCurve(edit)), "s.relpos"
    )
    Path("read-only.png").write_text("old")
    Path("read-only.png").chmod(0o444)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    try:
        status = cli.main(list(arguments))
    except SystemExit as leave:  # argparse's own --help and --version
        status = int(leave.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


RENDER = ("render", "-o", "x.png")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")

MISTAKES = [
    # the sequence
    ((*RENDER, "--text", ""), ["text"]),
    ((*RENDER, "--text", "  "), ["text"]),
    ((*RENDER, "--ids", ""), ["token"]),
    ((*RENDER, "--ids", "1,x"), ["x", "number"]),
    ((*RENDER, "--ids", "1,2", "--tokenizer", "bytes"), ["--ids", "--tokenizer"]),
    ((*RENDER, "--text", "a", "--ids", "1"), ["--text", "--ids"]),
    ((*RENDER, "text.txt", "--text", "a"), ["file", "--text"]),
    ((*RENDER, "--text", "a", "--tokenizer", "wrods"), ["wrods", "words"]),
    ((*RENDER, "--text", "a", "--heads", "0"), ["--heads", "at least 1", "0"]),
    ((*RENDER, "--text", "a", "--heads", "-2"), ["--heads", "-2"]),
    ((*RENDER, "--text", "a", "--heads", "many"), ["--heads", "many"]),
    ((*RENDER, "--text", "a", "--heads", "9999"), ["heads", "9999"]),
    ((*RENDER, "--text", "a", "--dim", "1.5"), ["--dim", "1.5"]),
    ((*RENDER, "--text", "a", "--seed", "-1"), ["--seed", "-1"]),
    # files
    ((*RENDER, "missing.txt"), ["missing.txt", "does not exist"]),
    ((*RENDER, "empty.txt"), ["empty.txt", "empty"]),
    ((*RENDER, "blank.txt"), ["blank.txt"]),
    (("render", "long.txt", "-o", "out.npz"), ["4,097 tokens", "1.1 GB", ".pixels.npz", ".curve.csv"]),
    ((*RENDER, "cut.npz"), ["cut.npz"]),
    ((*RENDER, "pickle.npy"), ["pickle", "run code"]),
    ((*RENDER, "broken.relpos"), ["broken.relpos"]),
    ((*RENDER, "misfit.npz"), ["[3, 5, 4]", "[3, 5, 3]"]),
    ((*RENDER, "."), ["folder"]),
    ((*RENDER, "ambiguous.npz"), ["--order", "bhsd", "bshd"]),
    ((*RENDER, "ambiguous.npz", "--order", "dbhs"), ["dbhs", "bhsd"]),
    ((*RENDER, "mask.npy"), ["--mask-true", "masked", "attend"]),
    ((*RENDER, "qk.npz", "--heads", "3"), ["--heads", "qk.npz"]),
    ((*RENDER, "--text", "a", "--column", "token"), ["--column", "file"]),
    ((*RENDER, "text.txt", "--order", "bhsd"), ["--order", "text.txt is a text"]),
    ((*RENDER, ""), ["empty"]),
    # attention
    ((*RENDER, "--text", "a", "--encoding", "t6"), ["t6", "did you mean t5"]),
    ((*RENDER, "--text", "a", "--encoding", "t5:num_bucket=8"), ["num_bucket", "did you mean num_buckets"]),
    ((*RENDER, "--text", "a", "--encoding", "t5:num_buckets=few"), ["num_buckets", "few"]),
    ((*RENDER, "--text", "a", "--encoding", "t5:num_buckets"), ["num_buckets", "value"]),
    ((*RENDER, "--text", "a", "--encoding", ""), ["encoding"]),
    ((*RENDER, "--text", "a", "--encoding", "t5:table=none.npy"), ["none.npy"]),
    ((*RENDER, "--text", "a", "--encoding", "@none.encoding.json"), ["none.encoding.json", "does not exist"]),
    ((*RENDER, "--text", "a", "--encoding", "@text.txt"), ["text.txt", "is not JSON"]),
    (
        ("render", "--text", "a b", "--encoding", "music", "--dim", "512", "-o", "x.py", "--heads", "256"),
        ["source code"],
    ),
    ((*RENDER, "--text", "a", "--title", "a\udcff"), ["--title", "surrogate"]),
    ((*RENDER, "--text", "a", "--scale", "big"), ["--scale", "big"]),
    ((*RENDER, "--text", "a", "--scale", "nan"), ["--scale", "nan"]),
    ((*RENDER, "--text", "a", "--mask", "casual"), ["casual", "did you mean causal"]),
    ((*RENDER, "--text", "a", "--mask", "window:0"), ["window:0"]),
    ((*RENDER, "--text", "a b", "--mask", "documents:4,2"), ["6", "2"]),
    ((*RENDER, "--text", "a", "--head", "4"), ["head 4", "0 … 3"]),
    ((*RENDER, "--text", "a", "--head", "-1"), ["--head", "-1"]),
    ((*RENDER, "qk.npz", "--head", "3"), ["head 3", "0 … 2"]),
    # the figure
    ((*RENDER, "--text", "a", "--panels", "wieghts"), ["wieghts", "did you mean weights"]),
    ((*RENDER, "--text", "a", "--panels", ""), ["panel"]),
    ((*RENDER, "--text", "a", "--size", "large"), ["--size", "large", "1600x900"]),
    ((*RENDER, "--text", "a", "--size", "0x0"), ["above 0"]),
    ((*RENDER, "--text", "a", "--size", "10x10"), ["too small"]),
    ((*RENDER, "--text", "a", "--size", "99999x99999"), ["too large"]),
    ((*RENDER, "--text", "a", "--size", "-600x400"), ["--size", "-600x400"]),
    ((*RENDER, "--text", "a", "--dpi", "0"), ["dpi"]),
    ((*RENDER, "--text", "a", "--cmap", "virdis"), ["virdis", "did you mean viridis"]),
    ((*RENDER, "--text", "a", "--cmap", "a,b,c"), ["--cmap"]),
    ((*RENDER, "--text", "a", "--theme", "dork"), ["dork", "light"]),
    # the target
    (("render", "--text", "a"), ["-o"]),
    (("render", "--text", "a", "-o", "x.jpg"), ["x.jpg", ".png", ".npz"]),
    (("render", "--text", "a", "-o", "no/x.png"), ["no/x.png", "does not exist"]),
    (("render", "--text", "a", "-o", "read-only.png"), ["read-only.png", "read-only"]),
    (("render", "qk.npz", "-o", "qk.npz"), ["qk.npz", "another"]),
    (("render", "--text", "a", "-o", "x.npz", "--size", "600x400"), ["--size", "x.npz"]),
    # words
    (("rendr", "-o", "x.png"), ["rendr", "did you mean the command render"]),
    ((*RENDER, "--text", "a", "--panel", "content"), ["--panel", "did you mean --panels"]),
    ((*RENDER, "text.txt", "more.txt"), ["more.txt"]),
    (("encodings", "alib"), ["alib", "did you mean alibi"]),
    (("info", "missing.npz"), ["missing.npz", "does not exist"]),
    (("info", "pickle.npy"), ["run code"]),
    (("info",), ["FILE"]),
    (("missing.txt",), ["missing.txt"]),
    (("--head", "7"), ["head 7"]),
]


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=lambda each: " ".join(each)[:60])
def test_a_mistake_is_one_sentence_and_status_2(here, capsys, arguments, named) -> None:
    before = sorted((each.name, each.read_bytes()) for each in here.iterdir())
    status, out, err = run(capsys, *arguments)
    assert status == 2 and out == ""
    assert err.startswith("relpos-viewer: ") and err.count("\n") == 1 and "Traceback" not in err
    for words in named:
        assert words in err
    assert sorted((each.name, each.read_bytes()) for each in here.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (("--text", "the cat sat", "--size", "700x500"), (700, 500)),
        (("--text", "the cat sat", "--size", "700"), (700, None)),
        (("--ids", "5 17 3", "--size", "120x80mm", "--dpi", "100"), (472, 315)),
        (("--ids=-1,2", "--size", "4x3in", "--dpi", "200", "--panels", "weights"), (800, 600)),
        (
            (
                "text.txt",
                "--encoding",
                "rope",
                "--mask",
                "none",
                "--head",
                "3",
                "--theme",
                "dark",
                "--size",
                "700",
            ),
            (700, None),
        ),
        (("qk.npz", "--cmap", "magma", "--size", "700", "--scale", "-0.5"), (700, None)),
        (("s.relpos", "--encoding", "alibi", "--size", "700"), (700, None)),
        (("mask.npy", "--mask-true", "masked", "--size", "700"), (700, None)),
        (("--text", "-h is no option here", "--title", "-t", "--size", "700"), (700, None)),
    ],
    ids=lambda each: " ".join(map(str, each))[:60],
)
def test_render_draws_what_was_asked_for(here, capsys, arguments, size) -> None:
    status, out, err = run(capsys, *RENDER, *arguments)
    assert (
        status == 0
        and out == ""
        and all(line.startswith("relpos-viewer: note: ") for line in err.splitlines())
    )
    with Image.open(here / "x.png") as png:
        assert png.size[0] == size[0] and (size[1] is None or png.size[1] == size[1])


def test_a_sequence_too_long_for_matrices_is_drawn_and_written(here, capsys) -> None:
    for name in ("x.png", "x.pixels.npz", "x.npy"):
        status, _, err = run(capsys, "render", "long.txt", "--encoding", "alibi", "-o", name)
        assert status == 0 and "error" not in err, err
    with Image.open("x.png") as png:
        assert png.size[0] == 1600
    with np.load("x.pixels.npz") as pixels:
        assert pixels["weights"].shape == (512, 512) and pixels["row_edges"][-1] == 4097
        assert pixels["weights"][0, 0] == pytest.approx(1, abs=1e-6)  # the first query sees itself alone
    assert np.load("x.npy").shape == (4, 2 * 4097 - 1)


def test_nan_in_a_file_is_drawn_and_counted(here, capsys) -> None:
    status, _, err = run(capsys, *RENDER, "nan.npz", "--size", "700")
    assert status == 0 and "1 NaN in q" in err


def test_the_suffix_chooses_figure_numbers_or_session(here, capsys) -> None:
    for name, first in {
        "x.svg": b"<?xml",
        "x.pdf": b"%PDF",
        "x.tiff": b"II*\0",
        "x.npz": b"PK",
        "x.pixels.npz": b"PK",
        "x.csv": b"head,query,key",
        "x.json": b'{"format"',
        "x.curve.csv": b"head,offset,curve",
        "x.npy": b"\x93NUMPY",
        "x.relpos": b"PK",
    }.items():
        assert run(capsys, "render", "--text", "a b", "-o", name)[0] == 0
        assert (here / name).read_bytes().startswith(first), name


def test_the_numbers_of_arrays_are_the_arrays_own(here, capsys) -> None:
    assert run(capsys, "render", "qk.npz", "-o", "x.npz")[0] == 0
    with np.load("qk.npz") as given, np.load("x.npz") as made:
        expected = given["q"].astype(np.float64) @ given["k"].astype(np.float64).swapaxes(1, 2) / 2
        assert np.allclose(made["scores"], expected, atol=1e-5)  # no encoding, no mask that nobody asked for
        assert not made["positional"].any() and made["visible"].all()
        assert made["tokens"].tolist() == list("abcde")


def test_a_session_written_by_render_shows_the_same_numbers(here, capsys) -> None:
    choices = (
        "--text",
        "a b c d",
        "--encoding",
        "alibi:rule=uniform",
        "--mask",
        "window:2",
        "--heads",
        "3",
        "--scale",
        "0.3",
    )
    assert run(capsys, "render", *choices, "-o", "x.relpos")[0] == 0
    assert run(capsys, "render", *choices, "-o", "direct.npz")[0] == 0
    assert run(capsys, "render", "x.relpos", "-o", "via.npz")[0] == 0
    with np.load("direct.npz") as one, np.load("via.npz") as other:
        for name in one.files:
            assert np.array_equal(one[name], other[name]), name


def test_an_edit_of_a_session_is_in_the_numbers(here, capsys) -> None:
    assert run(capsys, "render", "s.relpos", "-o", "x.npz")[0] == 0
    with np.load("x.npz") as made:
        assert made["edit"][1].tolist() == [2.5, 0, 0, 0, 0]  # at δ = −2
        assert made["scores"][1, 2, 0] == pytest.approx(
            made["content"][1, 2, 0] + made["curve"][1, 0], abs=1e-5
        )


def test_an_encoding_keeps_the_types_of_its_parameters() -> None:
    spec = options.encoding_spec("t5:num_buckets=16,bidirectional=true")
    assert dict(spec.parameters) == {"num_buckets": 16, "bidirectional": True}
    assert type(spec.parameters["num_buckets"]) is int and spec.parameters["bidirectional"] is True
    assert options.encoding_spec("alibi").parameters == {}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1600x900", (1600, 900, "px")),
        ("1600", (1600, None, "px")),
        ("180x120mm", (180, 120, "mm")),
        ("18×12cm", (180, 120, "mm")),
        ("7x3.5 in", (7, 3.5, "in")),
        ("640X480PX", (640, 480, "px")),
    ],
)
def test_sizes_are_read_with_their_unit(text, size) -> None:
    assert options.parse_size(text) == size


@pytest.mark.parametrize(
    ("cmap", "maps"),
    [
        ("viridis", ("auto", "viridis")),
        ("crameri:vik", ("crameri:vik", "auto")),
        ("RdBu, magma", ("RdBu", "magma")),
        ("auto,magma", ("auto", "magma")),
    ],
)
def test_a_colour_map_goes_where_it_belongs(cmap, maps) -> None:
    view = options.document_from_options(
        cli.PARSERS["window"]().parse_args(["--text", "a", "--cmap", cmap])
    ).view
    assert (view.terms_map, view.weights_map) == maps


# --- the other commands ------------------------------------------------------------------------------


def test_info_is_json_for_every_kind_of_file(here, capsys) -> None:
    def about(name: str) -> dict:
        status, out, err = run(capsys, "info", name)
        assert status == 0 and err == ""
        return json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))

    assert about("text.txt") | {"kind": "text", "tokens": 6, "characters": 22} == about("text.txt")
    arrays = about("nan.npz")
    assert arrays["kind"] == "arrays" and arrays["tokens"] == 5
    assert arrays["arrays"]["q"]["shape"] == [3, 5, 4] and arrays["arrays"]["q"]["dtype"] == "f32"
    assert "NaN" in json.dumps(arrays["arrays"]["q"])
    asked = about("ambiguous.npz")
    assert asked["option"] == "--order" and "bhsd" in asked["values"]
    session = about("s.relpos")
    assert session["kind"] == "session" and session["tokens"] == 3 and session["edited"] is True
    assert session["encoding"]["name"] == "t5" and session["mask"] == "causal" and session["heads"] == 4


def test_encodings_come_from_the_registry(capsys) -> None:
    status, out, _ = run(capsys, "encodings")
    assert status == 0
    for family in FAMILIES.values():
        assert f"{family.title} ({family.paper})" in out
        for parameter in family.parameters:
            assert f"{parameter.name} = " in out
    status, out, _ = run(capsys, "encodings", "--json")
    assert [family["name"] for family in json.loads(out)] == list(FAMILIES)
    status, out, _ = run(capsys, "encodings", "rope")
    assert "RoPE" in out and "ALiBi" not in out


def test_the_tokenizers_offered_are_those_that_exist() -> None:
    action = next(each for each in cli.PARSERS["window"]()._actions if each.dest == "tokenizer")
    assert set(action.choices) == set(TOKENIZERS)


def test_the_window_opens_on_the_same_options(here, monkeypatch) -> None:
    opened: list[tuple[Document, object]] = []
    monkeypatch.setattr(
        "relpos_viewer.views.app.run",
        lambda document, path=None, asked=False, **_: opened.append((document, path)) or 0,
    )
    assert (
        cli.main(["--text", "a b", "--encoding", "alibi", "--mask", "none", "--head", "2", "--scale", "2"])
        == 0
    )
    assert cli.main(["s.relpos"]) == 0
    assert cli.main([]) == 0
    (typed, _), (session, path), (default, _) = opened
    assert typed.source.text == "a b" and typed.encoding.name == "alibi" and typed.mask == "none"
    assert typed.view.head == 2 and typed.scale == 2.0
    assert session == load_session("s.relpos") and path == "s.relpos"
    assert default == Document.default()


@pytest.mark.parametrize("arguments", [["config.json"], ["--encoding", "@config.json"]])
def test_what_a_config_leaves_out_is_said_in_the_window_too(here, monkeypatch, arguments) -> None:
    Path("config.json").write_text(json.dumps({"rope_scaling": {"factor": 8}}))
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        "relpos_viewer.views.app.run", lambda document, notes=(), **_: told.append(notes) or 0
    )
    assert cli.main(arguments) == 0
    assert [note[:40] for notes in told for note in notes] == ["The factor 8 comes without a rope_type, "]


def test_a_file_named_like_a_command_is_given_with_its_folder(here, monkeypatch) -> None:
    Path("render").write_text("a b c")
    opened: list[Document] = []
    monkeypatch.setattr(
        "relpos_viewer.views.app.run",
        lambda document, path=None, asked=False, **_: opened.append(document) or 0,
    )
    assert cli.main(["./render"]) == 0 and opened[0].source.text == "a b c"


# --- endings -----------------------------------------------------------------------------------------


def ending_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(options: Namespace) -> int:
        raise error

    monkeypatch.setitem(cli.RUN, "encodings", fail)


def test_ctrl_c_is_quiet_and_130(monkeypatch, capsys) -> None:
    ending_with(monkeypatch, KeyboardInterrupt())
    assert run(capsys, "encodings") == (130, "", "")


def test_a_fault_in_the_program_is_one_sentence_and_a_traceback_only_on_demand(monkeypatch, capsys) -> None:
    ending_with(monkeypatch, ZeroDivisionError("no"))
    monkeypatch.delenv("RELPOS_DEBUG", raising=False)
    status, _, err = run(capsys, "encodings")
    assert status == 1 and err.count("\n") == 1 and "ZeroDivisionError" in err and "RELPOS_DEBUG=1" in err
    monkeypatch.setenv("RELPOS_DEBUG", "1")
    status, _, err = run(capsys, "encodings")
    assert status == 1 and "Traceback" in err


def program(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "relpos_viewer", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **settings,
    )


def test_the_program_itself_ends_with_the_status(tmp_path) -> None:
    assert program("--version").stdout == f"relpos-viewer {__version__}\n"
    wrong = program("render", "--text", "a", "--encoding", "t6", "-o", str(tmp_path / "x.png"))
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.count("\n") == 1
    # No display, no Qt, no numpy warnings: nothing but the file.
    bare = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "QT_QPA_PLATFORM")}
    right = program("render", "--text", "a b", "-o", str(tmp_path / "x.png"), "--size", "500", env=bare)
    assert (right.returncode, right.stdout, right.stderr) == (0, "", "")


def test_version_help_and_render_do_not_import_what_they_do_not_need() -> None:
    code = (
        "import sys\nfrom relpos_viewer.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'numpy', 'PySide6', 'matplotlib', 'msgspec'} & set(sys.modules)))"
    )

    def loaded(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()[-1]

    assert loaded("--version") == "[]"
    assert loaded("--help") == "[]"
    assert loaded("render", "--help") == "[]"
    assert "PySide6" not in loaded("render", "--text", "a", "-o", "/nonexistent/x.png")


def test_a_reader_that_stops_early_is_no_error() -> None:
    code = f"{shlex.quote(sys.executable)} -m relpos_viewer encodings --json | head -c 10; echo ${{PIPESTATUS[0]}} 1>&2"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    # Short enough, everything may have been written before the reader left.
    assert done.stderr.strip() in ("141", "0")


def test_a_file_that_leaves_something_open_is_asked_about_in_the_window(here, monkeypatch) -> None:
    np.savez("open.npz", q=np.ones((1, 2, 2, 2), np.float32), k=np.ones((1, 2, 2, 2), np.float32))
    opened: list[tuple[Document, object, bool]] = []
    monkeypatch.setattr(
        "relpos_viewer.views.app.run",
        lambda document, path=None, asked=False, **_: opened.append((document, path, asked)) or 0,
    )
    assert cli.main(["open.npz", "--encoding", "alibi"]) == 0
    assert cli.main(["open.npz", "--order", "bshd"]) == 0
    (document, path, asked), (settled, _, not_asked) = opened
    assert asked and path == "open.npz" and document.encoding.name == "alibi"
    assert not not_asked and settled.source.arrays["q"].shape == (2, 2, 2)


def test_tokens_of_another_file_stand_beside_arrays_only_as_told(here, capsys) -> None:
    # I08: 10 residues for 12 positions.
    Path("protein.fasta").write_text(">sp|T\nMKTAY\nIAKQR\n")
    np.save("attention.npy", np.full((12, 12), 1 / 12, np.float32))
    command = ["render", "attention.npy", "--tokens-from", "protein.fasta", "-o", "out.json"]
    assert cli.main(command) == 2
    assert "choose with --labels one of cls+eos" in capsys.readouterr().err
    assert cli.main([*command, "--labels", "cls+eos"]) == 0
    assert json.loads(Path("out.json").read_text())["tokens"] == ["CLS", *"MKTAYIAKQR", "EOS"]
    assert cli.main(["render", "--text", "a", "--tokens-from", "protein.fasta", "-o", "out.json"]) == 2
    assert "--tokens-from has nothing to act on" in capsys.readouterr().err


def test_a_table_of_an_encoding_is_read_from_a_file(here) -> None:
    np.save("bias.npy", np.arange(8 * 4, dtype=np.float32).reshape(8, 4))
    command = ["render", "--text", "one two three", "--encoding", "t5:table=bias.npy", "-o", "out.npz"]
    assert cli.main(command) == 0
    with np.load("out.npz") as numbers:
        assert numbers["curve"][2, 2] == 2  # δ = 0 lies in bucket 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_or_a_closed_stream_under_the_answer_is_one_sentence() -> None:
    for redirection in (">/dev/full", ">&-"):
        code = f"{shlex.quote(sys.executable)} -m relpos_viewer encodings {redirection}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.startswith("relpos-viewer: standard output"), done.stderr
        assert done.stderr.count("\n") == 1


def test_a_terminal_that_knows_ascii_alone_reads_help_and_writes_utf8_texts(tmp_path: Path) -> None:
    poor = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def program(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "relpos_viewer", *arguments]
        return subprocess.run(command, capture_output=True, env=poor, check=False)

    assert program("render", "--help").returncode == 0
    out = tmp_path / "out.json"
    done = program("render", "--text", "日本 é", "-o", str(out))
    assert (done.returncode, json.loads(out.read_text("utf-8"))["tokens"]) == (0, ["日", "本", "é"]), (
        done.stderr
    )


def test_without_a_display_the_window_says_so() -> None:
    bare = {name: each for name, each in os.environ.items() if name not in DISPLAYS}
    command = [sys.executable, "-m", "relpos_viewer", "--text", "a"]
    done = subprocess.run(command, capture_output=True, text=True, env=bare, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "there is no display" in done.stderr


def test_info_takes_the_column_that_it_asks_for(here, capsys) -> None:
    Path("two.csv").write_text("a,b\nc,d\n")
    assert run(capsys, "info", "two.csv")[0] == 2
    status, out, _ = run(capsys, "info", "two.csv", "--column", "2")
    assert (status, json.loads(out)["tokens"]) == (0, 2)


def test_an_encoding_is_written_as_code_and_read_back(here, capsys) -> None:
    for name, telling in (
        ("a.py", "def bias("),
        ("a.mod.py", "def score_mod_for("),
        ("a.encoding.json", '"kerple-log"'),
    ):
        assert run(capsys, "render", "--encoding", "kerple-log", "-o", name) == (0, "", "")
        assert telling in Path(name).read_text(encoding="utf-8")
    for arguments in (("a.encoding.json",), ("--encoding", "@a.encoding.json")):
        assert run(capsys, "render", *arguments, "-o", "s2.relpos")[0] == 0
        document = load_session("s2.relpos")
        assert document.encoding.name == "kerple-log"
        assert isinstance(document.source, TextSource)
    about = json.loads(run(capsys, "info", "a.encoding.json")[1])
    assert about["encoding"] == {"name": "kerple-log", "parameters": {}}
    assert about["edited"] is False


def test_the_edit_of_a_session_goes_with_the_code(here, capsys) -> None:
    assert run(capsys, "render", "s.relpos", "-o", "e.encoding.json")[0] == 0
    record = json.loads(Path("e.encoding.json").read_text(encoding="utf-8"))
    assert record["edit"]["values"][1] == [2.5, 0, 0, 0, 0]
    assert record["edit"]["first_offset"] == -2
    assert run(capsys, "render", "--encoding", "@e.encoding.json", "-o", "e.relpos")[0] == 0
    assert load_session("e.relpos").edit.at(4, 3)[1].tolist() == [2.5, 0, 0, 0, 0]


def test_what_a_config_leaves_out_is_noted(here, capsys) -> None:
    Path("config.json").write_text(json.dumps({"rope_theta": 5e5, "rope_scaling": {"factor": 8}}))
    for arguments in (("config.json",), ("--encoding", "@config.json")):
        status, _, said = run(capsys, "render", *arguments, "-o", "c.encoding.json")
        assert status == 0
        assert "note: The factor 8 comes without a rope_type" in said
        assert json.loads(Path("c.encoding.json").read_text())["parameters"]["base"] == 5e5
