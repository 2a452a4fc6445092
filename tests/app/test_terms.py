"""One term of the position shown alone: the numbers stay, one panel's picture changes."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app import terms as module
from relpos_viewer.app.frames import Frame, FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.attention import content_scores, positional_scores
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.quantise import quantise
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, replace

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
TERMS = {
    "absolute": ("content-position", "position-content", "position-position"),
    "transformer-xl": ("key bias", "content-position", "position bias"),
    "xlnet": ("key bias", "content-position", "position bias", "segment"),
    "deberta": ("content-position", "position-content"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_name_the_terms_that_they_have(name: str) -> None:
    assert encoding(name).positional_terms() == TERMS.get(name, ())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [*((name, {}) for name in TERMS), ("deberta", {"side": "c2p"}), ("deberta", {"side": "p2c"})],
)
def test_terms_add_up(name: str, parameters: dict) -> None:
    rng = np.random.default_rng(4)
    inputs = inputs_from_arrays(rng.normal(size=(3, 9, 8)), rng.normal(size=(3, 14, 8)))
    built = encoding(name, heads=3, **parameters)
    parts = built.terms(inputs, 0.3)
    positional = positional_scores(inputs, built, 0.3)
    wanted = sum(parts[each] for each in built.positional_terms())
    np.testing.assert_allclose(wanted, positional, atol=1e-9)
    np.testing.assert_allclose(sum(parts.values()), content_scores(inputs, 0.3) + positional, atol=1e-9)
    assert all(float(part.abs().max()) > 0.01 for part in parts.values())


@pytest.fixture
def frame_of():
    maker = FrameMaker()

    def make(
        name: str = "absolute", term: str = "", text: TextSource = TEXT, shape=(11, 11), **view
    ) -> Frame:
        document = Document(source=text, encoding=EncodingSpec(name), mask="causal")
        document = replace(document, view=replace(document.view, term=term, head=2, **view))
        n = len(text.text.split())
        return maker(FrameRequest(document, Viewport((0, n), (0, n), shape)), Cancel())

    yield make
    maker.close()


def wanted_term(frame: Frame, name: str) -> np.ndarray:
    built = frame.encoding.with_heads(3)
    return built.terms(frame.inputs, frame.inputs.head_dim**-0.5)[name][2].numpy()


@pytest.mark.parametrize(("name", "term"), [(name, term) for name in TERMS for term in TERMS[name]])
def test_the_positional_panel_shows_the_term_and_nothing_else_changes(frame_of, name: str, term: str) -> None:
    plain, found = frame_of(name, levels="auto"), frame_of(name, term, levels="auto")
    assert (plain.term, found.term) == ("", term)
    for stage in ("content", "scores", "weights"):
        np.testing.assert_array_equal(found.tiles[stage].codes, plain.tiles[stage].codes)
    assert found.figures == plain.figures
    assert found.field.values(7, 3) == plain.field.values(7, 3)
    values, seen = wanted_term(found, term), np.tri(11, dtype=bool)
    tile = found.tiles["positional"]
    assert tile.levels.high == pytest.approx(np.abs(values[seen]).max(), rel=1e-5)
    assert tile.levels.low == -tile.levels.high
    np.testing.assert_array_equal(tile.codes, quantise(values, seen, tile.levels))


def test_shared_limits_hold_the_term_that_is_shown(frame_of) -> None:
    alone = {
        stage: frame_of("absolute", "content-position", levels="auto").tiles[stage].levels.high
        for stage in ("content", "positional", "scores")
    }
    found = frame_of("absolute", "content-position", levels="shared")
    assert {found.tiles[stage].levels.high for stage in alone} == {max(alone.values())}


@pytest.mark.parametrize(("name", "term"), [("alibi", "content-position"), ("deberta", "position-position")])
def test_a_family_without_the_term_shows_all(frame_of, name: str, term: str) -> None:
    found = frame_of(name, term)
    assert found.term == ""
    np.testing.assert_array_equal(found.tiles["positional"].codes, frame_of(name).tiles["positional"].codes)


def test_a_term_of_a_long_sequence_is_pooled_and_a_longer_one_shows_all(frame_of, monkeypatch) -> None:
    words = np.random.default_rng(0).integers(0, 99, 500)
    long = TextSource(" ".join(map(str, words)), heads=3, dim=8)
    found = frame_of("absolute", "position-position", long, (50, 50), reduce="max", levels="auto")
    assert found.term == "position-position"
    values = np.where(np.tri(500, dtype=bool), wanted_term(found, "position-position"), 0)
    block = values[200:210, 30:40].ravel()
    tile = found.tiles["positional"]
    largest = block[np.abs(block).argmax()]
    place = (largest - tile.levels.low) / (tile.levels.high - tile.levels.low) * 246
    assert abs(int(tile.codes[20, 3]) - place) <= 0.51
    monkeypatch.setattr(module, "LARGEST", 499)
    assert frame_of("absolute", "position-position", long, (50, 50)).term == ""


def test_an_edit_is_none_of_the_terms(frame_of) -> None:
    maker = FrameMaker()
    document = Document(source=TEXT, encoding=EncodingSpec("absolute"), mask="causal")
    document = replace(document, view=replace(document.view, term="position-position", levels="auto"))
    codes = []
    for edit in (EditCurve.none(), EditCurve(np.full((3, 21), 9.0, np.float32))):
        request = FrameRequest(replace(document, edit=edit), Viewport((0, 11), (0, 11), (11, 11)))
        codes.append(maker(request, Cancel()).tiles["positional"].codes)
    maker.close()
    np.testing.assert_array_equal(*codes)


def test_another_term_is_another_picture(frame_of) -> None:
    codes = [frame_of("deberta", term).tiles["positional"].codes for term in (*TERMS["deberta"], "")]
    assert all(not np.array_equal(a, b) for a, b in zip(codes, codes[1:] + codes[:1], strict=True))
