"""Thumbnails: the weights and the curve of each head in small, and when one has to be made anew."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app.head_thumbnails import (
    CURVE_POINTS,
    SIDE,
    ThumbnailMaker,
    ThumbnailRequest,
    ThumbnailShelf,
)
from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import FAMILIES, encoding
from relpos_viewer.core.levels import choose_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.quantise import LAST_VALUE, quantise
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, TextSource, View, replace
from relpos_viewer.sources.build import inputs_for

TEXT = TextSource("the cat sat on the mat and the cats sat", heads=3, dim=8)  # ten tokens
EDIT = EditCurve(np.random.default_rng(2).normal(size=(3, 19)).astype(np.float32))
START = Document(source=TEXT, encoding=EncodingSpec("alibi"), mask="causal", edit=EDIT)


@pytest.fixture
def maker():
    made = ThumbnailMaker()
    yield made
    made.close()


def request(head: int, document: Document = START, n: int = 10) -> ThumbnailRequest:
    return ThumbnailRequest(document, head, 3, n)


@pytest.mark.parametrize("head", range(3))
def test_a_thumbnail_shows_the_weights_of_its_own_head(maker: ThumbnailMaker, head: int) -> None:
    made = maker(request(head, replace(START, view=View(head=1))), Cancel())
    inputs = inputs_for(TEXT)
    exact = attention(
        inputs.q.double(), inputs.k.double(), encoding="alibi", mask="causal", edit=EDIT.at(3, 10)
    )
    weights, visible = exact.weights[head].numpy(), exact.visible[head].numpy()
    expected = quantise(weights, visible, choose_levels(weights, visible))
    assert made.head == head
    assert made.codes.shape == (10, 10)
    near = abs(made.codes.astype(int) - expected)
    assert near.max() <= 1  # the byte next to it, where float32 rounds the other way
    assert (made.codes > LAST_VALUE).sum() == 45  # the future of ten tokens


def test_its_curve_is_the_family_with_the_edit_over_the_visible_offsets(maker: ThumbnailMaker) -> None:
    made = maker(request(2), Cancel())
    family = encoding("alibi", heads=3).curve(10)[2].numpy()
    np.testing.assert_allclose(made.curve, (family + EDIT.values[2])[:10], atol=1e-6)


def test_a_long_sequence_has_no_more_pixels_and_points_than_a_thumbnail(maker: ThumbnailMaker) -> None:
    source = TextSource(" ".join(f"w{place}" for place in range(500)), heads=3, dim=8)
    edit = np.zeros((3, 999), np.float32)
    edit[1, 400] = 9.0  # one offset among ten of its point
    document = replace(START, source=source, edit=EditCurve(edit))
    made = maker(request(1, document, 500), Cancel())
    assert made.codes.shape == (SIDE, SIDE)
    assert len(made.curve) == CURVE_POINTS
    slope = -float(encoding("alibi", heads=3).curve(500)[1][0]) / 499
    assert made.curve.max() == pytest.approx(9.0 - 99 * slope, abs=1e-4)  # a peak is not thinned away


CHANGES = {
    "another encoding": {"encoding": EncodingSpec("t5")},
    "another mask": {"mask": "none"},
    "another scale": {"scale": 0.5},
    "another text": {"source": replace(TEXT, text="a dog sat on the mat and the cats sat")},
    "another way to pool": {"view": View(reduce="mean")},
    "a logarithmic scale": {"view": View(weights_scale="log")},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_a_picture_makes_it_wanted_again(maker: ThumbnailMaker, change: str) -> None:
    shelf = ThumbnailShelf()
    shelf.put(maker(request(0), Cancel()))
    assert shelf.missing([request(0)]) is None
    assert shelf.missing([request(0, replace(START, **CHANGES[change]))]) is not None


def test_an_edit_of_one_head_makes_only_that_one_wanted(maker: ThumbnailMaker) -> None:
    shelf = ThumbnailShelf()
    for head in range(3):
        shelf.put(maker(request(head), Cancel()))
    values = EDIT.values.copy()
    values[1, 4] += 1
    edited = replace(START, edit=EditCurve(values), view=View(head=2, layout="grid", labels=False))
    wanted = [head for head in range(3) if shelf.missing([request(head, edited)]) is not None]
    assert wanted == [1]


def test_it_is_given_up_when_a_hand_moves(maker: ThumbnailMaker) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        maker(request(0), cancel)


def test_every_family_and_mask_has_thumbnails(maker: ThumbnailMaker) -> None:
    for name in FAMILIES:
        for mask in ("none", "causal", "window:3"):
            parse_mask(mask)
            document = replace(START, encoding=EncodingSpec(name), mask=mask)
            assert maker(request(1, document), Cancel()).codes.shape == (10, 10)
