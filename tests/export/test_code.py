"""Exported code, run as a user would run it: it must give the picture's own numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from relpos_viewer.core.attention import attend, attention
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.document.document import TextSource
from relpos_viewer.export.code import (
    CODE_KINDS,
    Wanted,
    code_kind_for,
    export_code,
    parameters_json,
    python_code,
    score_mod_code,
)
from relpos_viewer.sources.build import inputs_for

from ..core.lively import LIVELY

HEADS, D = 4, 8
SHAPES = [(1, 1), (2, 2), (17, 17), (3, 21)]
OF_PLACES = {name for name, family in FAMILIES.items() if family.toeplitz} | {"swin", "beit", "fire"}


def run(source: str) -> SimpleNamespace:
    """Run a module's source as a file of its own would be."""
    names: dict[str, object] = {}
    exec(compile(source, "exported.py", "exec"), names)
    return SimpleNamespace(**names)


def layer(n_query: int, n_key: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n_key)
    q = torch.randn(HEADS, n_query, D, generator=generator, dtype=torch.float64)
    return q, torch.randn(HEADS, n_key, D, generator=generator, dtype=torch.float64)


def drawn(n_key: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(HEADS, 2 * n_key - 1))


def lively(name: str):
    return encoding(name, heads=HEADS, **LIVELY[name])


def assert_same(mine: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(mine.double(), wanted.double(), atol=tolerance, rtol=1e-6)


# The numbers


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_code_gives_the_numbers_of_the_picture(name: str, edited: bool, shape: tuple[int, int]) -> None:
    n_query, n_key = shape
    q, k = layer(n_query, n_key)
    edit = drawn(n_key) if edited else None
    exact = attention(q, k, encoding=lively(name), edit=edit).positional
    module = run(python_code(Wanted(lively(name), n_key, edit, D)))
    assert_same(module.bias(n_query, n_key, q, k, D**-0.5), exact)
    assert_same(module.bias(n_query, n_key, q, k), exact)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_scale_that_was_chosen_is_the_one_of_the_code(name: str) -> None:
    q, k = layer(5, 9)
    inputs = inputs_from_arrays(q, k)
    wanted = attend(inputs, lively(name), scale=0.7, mask=parse_mask("none"), edit=None).positional
    code = python_code(Wanted.of(inputs, lively(name), scale=0.7))
    assert_same(run(code).bias(5, 9, q, k), wanted)
    assert "add it to 0.7 · q·k before" in " ".join(code.split())


@pytest.mark.parametrize("name", FAMILIES)
def test_single_precision_in_is_single_precision_out(name: str) -> None:
    q, k = (x.float() for x in layer(7, 19))
    exact = attention(q, k, encoding=lively(name)).positional
    mine = run(python_code(Wanted(lively(name), 19, None, D))).bias(7, 19, q, k)
    assert mine.dtype == torch.float32
    assert_same(mine, exact, 4e-6)  # both are rounded on their way


@pytest.mark.parametrize("name", FAMILIES)
def test_the_term_lies_on_the_device_that_is_asked_for(name: str) -> None:
    # "meta" refuses tensors of another device, as an accelerator does.
    module = run(score_mod_code(Wanted(lively(name), 9, drawn(9) if name in OF_PLACES else None, D)))
    if name in OF_PLACES:
        assert module.bias(5, 9, device="meta").device.type == "meta"
        assert module.bias(5, 9).device.type == "cpu"
    else:
        q, k = (x.to("meta") for x in layer(5, 9))
        assert module.bias(5, 9, q, k).device.type == "meta"


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_score_mod_gives_flex_attention_the_weights_of_the_picture(name: str, edited: bool) -> None:
    from torch.nn.attention.flex_attention import flex_attention

    n_query, n_key = 5, 9
    q, k = (x.float() for x in layer(n_query, n_key))
    edit = drawn(n_key, 4) if edited else None
    exact = attention(q, k, torch.eye(n_key).expand(HEADS, -1, -1), encoding=lively(name), edit=edit)
    module = run(score_mod_code(Wanted(lively(name), n_key, edit, D)))
    mod = module.score_mod_for(n_query, n_key) if name in OF_PLACES else module.score_mod_for(q, k, D**-0.5)
    # With the unit vectors as values, the output is the weights.
    values = torch.eye(n_key).expand(1, HEADS, -1, -1)
    mine = flex_attention(q[None], k[None], values, score_mod=mod)[0]
    torch.testing.assert_close(mine, exact.weights, atol=2e-6, rtol=1e-5)


SCRIPT = """
import importlib.util, json, sys
import torch
results = {}
for name, path in json.loads(sys.argv[1]).items():
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    q, k = (torch.tensor(x) for x in json.loads(sys.argv[2]))
    results[name] = module.bias(q.shape[1], k.shape[1], q, k).tolist()
assert not [name for name in sys.modules if name.startswith("relpos")]
print(json.dumps(results))
"""


def test_files_run_in_a_program_of_their_own_that_has_nothing_but_torch(tmp_path: Path) -> None:
    q, k = (x.float() for x in layer(6, 11))
    paths, wanted = {}, {}
    for name in FAMILIES:
        for kind in CODE_KINDS[:2]:
            path = tmp_path / f"{name}{kind.suffix}"
            export_code(Wanted(lively(name), 11, drawn(11), D), path, kind)
            paths[path.name] = str(path)
            wanted[path.name] = attention(q, k, encoding=lively(name), edit=drawn(11)).positional
    arguments = json.dumps(paths), json.dumps([q.tolist(), k.tolist()])
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    for name, values in json.loads(done.stdout).items():
        assert_same(torch.tensor(values), wanted[name], 4e-6)


# What only the document knows


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_typed_text_gives_absolute_positions_that_have_passed_its_projections(kind: str) -> None:
    inputs = inputs_for(TextSource("one two three two", heads=3, dim=6))
    assert inputs.w_q is not None
    family = encoding("absolute", kind=kind)
    exact = attend(inputs, family, scale=None, mask=parse_mask("none"), edit=None).positional
    code = python_code(Wanted.of(inputs, family))
    assert_same(run(code).bias(4, 4, inputs.q, inputs.k), exact, 3e-6)
    assert "passed the projections of the layer" in code


def test_absolute_positions_without_projections_say_what_they_assume() -> None:
    code = python_code(Wanted(encoding("absolute", heads=2), 5, None, 6))
    assert "added to queries and keys themselves" in code


def test_xlnet_takes_the_documents_of_the_tokens_for_segments() -> None:
    q, k = layer(6, 6)
    inputs = inputs_from_arrays(q, k, tokens=Tokens(tuple("abcdef"), documents=(0, 0, 1, 1, 1, 2)))
    exact = attend(inputs, lively("xlnet"), scale=None, mask=parse_mask("none"), edit=None).positional
    module = run(python_code(Wanted.of(inputs, lively("xlnet"))))
    assert_same(module.bias(6, 6, q, k), exact)
    alone = attention(q, k, encoding=lively("xlnet")).positional
    assert_same(module.bias(6, 6, q, k, segment=torch.zeros(6)), alone)


def test_heads_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ViewerError, match="holds 4 heads, the queries 2"):
        Wanted.of(inputs_for(TextSource("a b", heads=2)), encoding("alibi", slopes=np.ones(4)))


# How it reads


@pytest.mark.parametrize("name", FAMILIES)
def test_the_code_is_laid_out_as_people_do(name: str, tmp_path: Path) -> None:
    for kind in CODE_KINDS[:2]:
        path = tmp_path / f"exported{kind.suffix}"
        export_code(Wanted(lively(name), 24, drawn(24), D, mask="causal"), path, kind)
        text = path.read_text(encoding="utf-8")
        longest = max(text.splitlines(), key=len)
        assert len(longest) <= 100, longest
        assert not re.search(r"\n{4}|[ \t]\n|[^\n]\n{2}def |\t", text)
        assert text.endswith("\n") and not text.endswith("\n\n")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=100", "--select=E,F,W,I,B"]
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", FAMILIES)
def test_the_docstring_states_every_convention(name: str) -> None:
    family = lively(name)
    code = python_code(Wanted(family, 9, drawn(9), D, mask="window:3"))
    text = " ".join(code[: code.index('"""', 3)].split())
    for part in (
        family.title,
        family.paper,
        " ".join(family.sign.split()),
        " ".join(family.scaling.split()),
        "δ = key − query, so the past is negative",
        "The queries are the last n_query of the n_key positions",
        "score units, [head, query, key]: add it to q·k/√d before mask and softmax",
        "4 heads",
        "The mask was window:3",
        "EDIT is what was drawn by hand",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("name", "parameters", "any_length"),
    [
        ("alibi", {}, True),
        ("t5", {}, True),
        ("rope", {}, True),
        ("rope", {"scaling_rule": "dynamic", "original": 4}, False),
        ("curve", {"table": np.ones((4, 5))}, False),
        ("music", {}, False),
        ("absolute", {"kind": "learned"}, False),
        ("swin", {"table": np.ones((169, 4))}, False),
    ],
)
def test_code_whose_tables_end_says_so(name: str, parameters: dict, any_length: bool) -> None:
    code = python_code(Wanted(encoding(name, heads=4, **parameters), 9, None, 8))
    assert ("4 heads; any length." in code) is any_length
    assert ("its tables are for 9 keys." in " ".join(code.split())) is not any_length


def test_code_that_would_be_too_large_is_refused_in_one_sentence() -> None:
    with pytest.raises(ViewerError, match="numbers of source code; export its data instead"):
        python_code(Wanted(encoding("music", heads=8), 420, None, 64))


def test_vectors_of_an_unknown_width_are_refused() -> None:
    with pytest.raises(ViewerError, match="only where the width of a head is known"):
        python_code(Wanted(encoding("shaw", heads=2), 5))


# JSON, and names of files


@pytest.mark.parametrize("name", FAMILIES)
def test_the_parameters_are_read_back_as_the_same_encoding(name: str) -> None:
    record = json.loads(parameters_json(Wanted(lively(name), 9)))
    again = encoding(record["encoding"], heads=HEADS, **record["parameters"])
    q, k = layer(9, 9)
    wanted = attention(q, k, encoding=lively(name)).positional
    torch.testing.assert_close(attention(q, k, encoding=again).positional, wanted, atol=1e-6, rtol=1e-6)


def test_json_keeps_the_edit_with_its_first_offset() -> None:
    edit = np.zeros((2, 9), np.float32)
    edit[1, 2], edit[0, 4] = 0.1, -3.0
    record = json.loads(parameters_json(Wanted(encoding("none", heads=2), 5, edit, scale=0.5, mask="causal")))
    assert record["edit"] == {"first_offset": -2, "values": [[0, 0, -3.0, 0, 0], [0.1, 0, 0, 0, 0]]}
    assert (record["scale"], record["mask"], record["heads"]) == (0.5, "causal", 2)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", "python"),
        ("a.mod.py", "score-mod"),
        ("A.MOD.PY", "score-mod"),
        ("a.encoding.json", "json"),
        ("a.json", None),
        ("py", None),
    ],
)
def test_the_name_of_a_file_says_its_kind(name: str, kind: str | None) -> None:
    found = code_kind_for(name)
    assert (None if found is None else found.name) == kind
