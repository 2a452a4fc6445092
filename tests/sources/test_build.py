from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.attention import attend
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import ArraySource, TextSource
from relpos_viewer.sources.build import inputs_for


def arrays(tokens: tuple[str, ...] = (), **values: object) -> ArraySource:
    return ArraySource("", "a file", {name: np.asarray(value) for name, value in values.items()}, tokens)


def test_text_becomes_queries_and_keys_of_the_size_asked_for() -> None:
    inputs = inputs_for(TextSource("a b\n\nc", heads=3, dim=5))
    assert inputs.q.shape == inputs.k.shape == inputs.v.shape == (3, 3, 5)
    assert inputs.tokens.documents == (0, 0, 1)


def test_tokens_alone_have_the_content_of_typed_text() -> None:
    source = arrays(("the", "cat", "the"))
    inputs = inputs_for(source)
    typed = inputs_for(TextSource("the cat the"))
    assert inputs.heads == source.heads
    assert torch.equal(inputs.q, typed.q)


def test_given_weights_are_what_the_softmax_shows() -> None:
    weights = np.array([[[0, 0.25, 0.5], [0, 0, 0]]], np.float32)
    inputs = inputs_for(arrays(weights=weights))
    assert inputs.given[0, 0, 0] == -torch.inf
    assert inputs.row_sums.squeeze().tolist() == [0.75, 0]
    result = attend(inputs, encoding("none"), mask=parse_mask("none"))
    assert torch.allclose(result.weights, torch.from_numpy(weights))


def test_given_scores_stand_for_content_with_their_bias_apart() -> None:
    scores, bias = np.array([[1.0, 2], [3, 4]]), np.array([[[0.0, 10], [20, 30]], [[1, 2], [3, 5]]])
    inputs = inputs_for(arrays(scores=np.stack((scores, scores)), bias=bias))
    result = attend(inputs, encoding("none"), mask=parse_mask("none"))
    assert result.positional.tolist() == bias.tolist()
    assert result.scores.tolist() == (scores + bias).tolist()


def test_one_bias_serves_all_heads() -> None:
    inputs = inputs_for(
        arrays(q=np.ones((2, 3, 4)), k=np.ones((1, 3, 4)), bias=np.arange(9.0).reshape(1, 3, 3))
    )
    assert inputs.bias.shape == (2, 3, 3)
    assert torch.equal(inputs.bias[0], inputs.bias[1])


@pytest.mark.parametrize("name", ["bias", "visible"])
def test_a_bias_or_a_mask_alone_has_no_content_and_says_so(name: str) -> None:
    value = np.array([[True, False], [True, True]])
    inputs = inputs_for(arrays(**{name: value if name == "visible" else value[None].astype(float)}))
    assert inputs.q is None
    assert inputs.given.tolist() == [[[0, 0], [0, 0]]]
    assert any("Content is 0" in note for note in inputs.notes)
    assert getattr(inputs, name).squeeze().tolist() == value.tolist()


def test_documents_reach_the_mask() -> None:
    inputs = inputs_for(arrays(scores=np.zeros((1, 6, 6)), documents=[0, 0, 0, 0, 1, 1]))
    for mask, cells, row in (("documents", 13, [0, 0, 0, 0, 1, 0]), ("causal", 21, [0.2] * 5 + [0])):
        result = attend(inputs, encoding("none"), mask=parse_mask(mask))
        assert int(result.visible.sum()) == cells
        assert result.weights[0, 4].tolist() == pytest.approx(row)


def test_a_read_only_array_is_copied_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    inputs_for(arrays(q=np.ones((1, 2, 2)), k=np.ones((1, 2, 2))))
    assert not recwarn.list


BAD = {
    "k missing": (arrays(q=np.ones((1, 2, 2))), "only one of q and k"),
    "nothing": (arrays(), "neither tokens nor arrays"),
    "tokens": (arrays(("a",), scores=np.zeros((1, 2, 2))), "1 tokens for 2 keys"),
    "bias": (arrays(scores=np.zeros((1, 2, 2)), bias=np.zeros((1, 3, 3))), r"bias \[1, 3, 3\]"),
    "tall": (arrays(scores=np.zeros((1, 3, 2))), "3 queries and 2 keys"),
    "documents": (arrays(scores=np.zeros((1, 2, 2)), documents=[0]), "one for each of 2 tokens"),
}


@pytest.mark.parametrize(("source", "message"), BAD.values(), ids=BAD)
def test_a_source_that_does_not_fit_together_is_refused(source: ArraySource, message: str) -> None:
    with pytest.raises(ViewerError, match=message):
        inputs_for(source)
