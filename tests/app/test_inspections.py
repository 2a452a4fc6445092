"""What the tools that explain an encoding ask for, and what they get."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app.frames import FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.inspections import (
    InspectionRequest,
    Inspector,
    ShiftRequest,
    as_markdown,
    row_of_offset,
    shifted,
)
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.encodings.base import Convention
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, replace

TEXT = TextSource("the cat sat on the mat and the cats sat down", heads=3, dim=8)
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal")


@pytest.fixture
def ask():
    maker = FrameMaker()

    def make(document: Document = START, chosen: tuple[str, ...] = ()) -> InspectionRequest:
        viewport = Viewport((0, 11), (0, 11), (22, 22))
        return InspectionRequest.of(maker(FrameRequest(document, viewport), Cancel()), chosen)

    yield make
    maker.close()


def with_encoding(name: str, **parameters) -> Document:
    return replace(START, encoding=EncodingSpec(name, parameters))


def test_only_what_is_chosen_is_compared(ask) -> None:
    found = Inspector()(ask(chosen=("uniform slopes", "nothing of this name")), Cancel())
    compared = [each.variant.name for each in found.readings if each.comparison is not None]
    assert compared == ["uniform slopes"]
    assert [each.title for each in found.conventions] == ["Offset sign", "Scales", "Slopes"]


def test_a_chosen_reading_takes_the_edit_of_the_head_that_is_shown(ask) -> None:
    values = np.zeros((3, 21), np.float32)
    values[1, 5:10] = [4, -3, 5, -2, 6]
    edited = replace(START, edit=EditCurve(values))
    numbers = []
    for document in (START, edited):
        for head in (0, 1):
            shown = replace(document, view=replace(document.view, head=head))
            found = Inspector()(ask(shown, ("scale on the bias too",)), Cancel())
            numbers.append(found.readings[-1].comparison.weight)
    assert numbers[0] == numbers[2]  # the edit is another head's
    assert len(set(numbers)) == 3


def test_a_request_is_new_only_when_its_answer_is(ask) -> None:
    edit = replace(START, edit=EditCurve(np.ones((3, 21), np.float32)))
    other_head = replace(START, view=replace(START.view, head=2))
    plain, chosen = ask(), ask(chosen=("symmetric",))
    assert plain.asks_the_same(ask())
    assert plain.asks_the_same(ask(edit)) and plain.asks_the_same(ask(other_head))  # nothing is compared
    assert not plain.asks_the_same(None) and not plain.asks_the_same(chosen)
    for changed in (edit, other_head, replace(START, mask="none")):
        assert not chosen.asks_the_same(ask(changed, ("symmetric",)))
    assert not plain.asks_the_same(ask(replace(START, scale=1.0)))
    assert not plain.asks_the_same(ask(with_encoding("alibi", form="symmetric")))
    assert not plain.asks_the_same(ask(replace(START, source=replace(TEXT, text="the cat"))))


def test_a_shift_is_asked_for_anew_for_its_own_reasons(ask) -> None:
    first = ShiftRequest(ask(), 3)
    assert first.asks_the_same(
        ShiftRequest(ask(replace(START, edit=EditCurve(np.ones((3, 21), np.float32)))), 3)
    )
    for other in (ShiftRequest(ask(), 4), ShiftRequest(ask(replace(START, mask="none")), 3), None):
        assert not first.asks_the_same(other)


def test_readings_that_a_document_can_hold_have_a_spec(ask) -> None:
    found = {
        each.variant.name: each.spec for each in Inspector()(ask(with_encoding("xpos")), Cancel()).readings
    }
    assert found["powers swapped"] is None  # a base below 0
    assert found["without decay"].name == "rope"
    found = {each.variant.name: each.spec for each in Inspector()(ask(), Cancel()).readings}
    assert found["symmetric"] == EncodingSpec("alibi", {"form": "symmetric"})
    assert found["query − key"].name == "curve"


@pytest.mark.parametrize("name", ["t5", "alibi", "shaw", "deberta", "absolute", "swin-v2", "fox", "xlnet"])
def test_a_document_with_a_readings_spec_computes_that_reading(ask, name: str) -> None:
    request = ask(with_encoding(name))
    for each in Inspector()(request, Cancel()).readings:
        inputs = request.inputs
        direct, stored = (
            family.with_heads(inputs.heads).positional(inputs, 0.4)
            for family in (each.variant.encoding, each.spec.build())
        )
        np.testing.assert_allclose(stored, direct, atol=2e-5)


def test_a_family_that_cannot_be_applied_says_why(ask) -> None:
    request = ask()
    scores = request.inputs.__class__(request.inputs.tokens, given=request.inputs.q @ request.inputs.k.mT)
    shaw = with_encoding("shaw")
    found = Inspector()(InspectionRequest(shaw, scores, shaw.encoding.build()), Cancel())
    assert found.readings == () and found.problem.startswith(
        "Shaw clipped relative keys needs queries and keys"
    )
    assert found.conventions


def test_a_shift_takes_head_and_mask_of_the_document(ask) -> None:
    document = with_encoding("absolute")
    shown = replace(document, view=replace(document.view, head=2))
    first, second = (
        shifted(ShiftRequest(ask(document), 3), Cancel()),
        shifted(ShiftRequest(ask(shown), 3), Cancel()),
    )
    assert np.isnan(first.difference[0, 1]) and not np.isnan(first.difference[1, 0])
    assert abs(first.difference[5, 2] - second.difference[5, 2]) > 1e-4
    short = with_encoding("absolute", table=np.ones((12, 128)))
    with pytest.raises(ViewerError, match="ends at 12 positions"):
        shifted(ShiftRequest(ask(short), 3), Cancel())


def test_everything_is_copied_as_markdown(ask) -> None:
    found = Inspector()(ask(with_encoding("t5", num_buckets=8), ("causal",)), Cancel())
    text = as_markdown(found, 0.871)
    assert text.startswith("# T5 log buckets\n\nRaffel et al. 2019")
    assert "| δ | bucket |\n| --- | --- |\n" in text
    assert "0.871 of head 0." in text
    causal = next(line for line in text.splitlines() if line.startswith("| causal |"))
    assert causal.count("|") == 5 and not causal.endswith("|  |  |")
    # In the text of a bucket rule there are bars; only those of a table are kept from being columns.
    assert "ln(|δ| / exact)" in text
    assert "max \\|Δ bias\\|" in text
    assert "Toeplitz" not in as_markdown(found, None)


@pytest.mark.parametrize(
    ("offset", "row"),
    [(-128, 0), (-91, 0), (-90, 1), (-46, 1), (-45, None), (0, 2), (3, 3), (9, 3), (10, None)],
)
def test_the_row_of_an_offset_is_found_in_runs(offset: int, row: int | None) -> None:
    rows = (("-128…-91", "15"), ("-90…-46", "14"), ("0", "0"), ("1…9", "17"))
    assert row_of_offset(Convention("Buckets", "", ("δ", "bucket"), rows), offset) == row
    assert row_of_offset(Convention("Heads", "", ("head", "bucket"), (("0", "1"),)), 0) is None
