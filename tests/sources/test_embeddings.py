from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.sources import embeddings
from relpos_viewer.sources.embeddings import EMBEDDING_DIM, embed, text_inputs
from relpos_viewer.sources.text import tokenize

CAT = "-+0--0-+-+0+0-+-0+-+++0+-0+0-0+-"
# One row of the projections of head 1, seed 5, width 8.
W_Q = [-0.146499, 0.092951, -0.004311, 0.077685]
W_K = [-0.163286, -0.03527, 0.041915, -0.013449]
PASSAGE = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want "
    "of a wife. However little known the feelings or views of such a man may be on his first entering a "
    "neighbourhood, this truth is so well fixed in the minds of the surrounding families, that he is considered "
    "the rightful property of some one or other of their daughters."
)


def cosine(one: str, other: str) -> float:
    a, b = embed((one, other)).astype(np.float64)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize(
    ("one", "alike", "unlike"),
    [
        ("cat", "cats", "dog"),
        ("Cat", "cat", "dog"),
        ("walking", "walked", "blue"),
        ("café", "cafe\u0301", "tea"),
    ],
)
def test_words_that_share_letters_are_alike(one: str, alike: str, unlike: str) -> None:
    assert cosine(one, alike) > 0.4
    assert abs(cosine(one, unlike)) < 0.25
    assert cosine(one, alike) > abs(cosine(one, unlike)) + 0.3


def test_vectors_are_the_same_everywhere() -> None:
    """Signs written down once: a change of hash, of n-grams or of summing would move saved documents."""
    vector = embed(("cat",))[0]
    assert vector.shape == (EMBEDDING_DIM,)
    assert "".join("+" if x > 0 else "-" if x < 0 else "0" for x in vector[:32]) == CAT
    assert np.isclose((vector**2).sum(), EMBEDDING_DIM)


def test_projections_are_the_same_everywhere() -> None:
    inputs = text_inputs(Tokens(("a",)), heads=2, dim=8, seed=5)
    assert inputs.w_q[1, 3, :4].tolist() == pytest.approx(W_Q, abs=1e-6)
    assert inputs.w_k[1, 3, :4].tolist() == pytest.approx(W_K, abs=1e-6)


def test_position_plays_no_part() -> None:
    inputs = text_inputs(tokenize("b a c a b a"))
    for x in (inputs.q, inputs.k, inputs.v):
        assert x.shape == (4, 6, 32)
        assert torch.equal(x[:, 1], x[:, 3])
        assert torch.equal(x[:, 1], x[:, 5])
        assert not torch.equal(x[:, 1], x[:, 0])


def test_heads_differ_and_do_not_depend_on_their_number() -> None:
    few, many = (text_inputs(tokenize(PASSAGE), heads) for heads in (2, 5))
    assert torch.equal(few.w_q, many.w_q[:2])
    assert torch.allclose(few.q, many.q[:2], atol=1e-5)
    assert not torch.allclose(many.q[0], many.q[1], atol=0.1)


def test_the_seed_chooses_other_projections() -> None:
    one, other = (text_inputs(tokenize(PASSAGE), seed=seed) for seed in (0, 1))
    assert not torch.allclose(one.q, other.q, atol=0.1)


def test_projections_lead_from_embedding_to_queries_and_keys() -> None:
    inputs = text_inputs(tokenize("cat dog"), heads=3, dim=8)
    assert inputs.w_q.shape == inputs.w_k.shape == (3, EMBEDDING_DIM, 8)
    e = torch.from_numpy(embed(("cat", "dog")))  # [2, D]
    assert torch.allclose(e @ inputs.w_q, inputs.q, atol=1e-5)
    assert torch.allclose(e @ inputs.w_k, inputs.k, atol=1e-5)


@pytest.mark.parametrize("dim", [4, 16, 32, 64, 128])
def test_scores_are_lively_and_a_token_knows_itself(dim: int) -> None:
    tokens = tokenize(PASSAGE)
    inputs = text_inputs(tokens, dim=dim)
    content = inputs.q @ inputs.k.mT / dim**0.5  # [head, query, key]
    same = torch.tensor([[one == other for other in tokens.texts] for one in tokens.texts])  # [query, key]
    assert 1.0 < content[:, ~same].std() < 1.6
    assert (content[:, same].mean() - content[:, ~same].mean()) > 1.5


def test_bytes_and_numbers_are_told_apart_by_value_alone() -> None:
    q = text_inputs(tokenize("⭢⭢", "bytes")).q
    assert torch.equal(q[:, :3], q[:, 3:])
    assert not torch.allclose(q[:, 0], q[:, 1], atol=0.1)
    ids = text_inputs(tokenize("170 171 170", "integers")).q
    assert torch.equal(ids[:, 0], ids[:, 2])
    a, b = ids[0, 0], ids[0, 1]
    assert abs(float(torch.cosine_similarity(a, b, dim=0))) < 0.5


def test_a_spelling_that_is_known_is_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokenize(" ".join(f"word{index % 700}" for index in range(2048)))
    first = text_inputs(tokens)
    hashed: list[object] = []
    blake = embeddings.hashlib.blake2b
    monkeypatch.setattr(embeddings.hashlib, "blake2b", lambda *a, **k: (hashed.append(a), blake(*a, **k))[1])
    again = text_inputs(tokens)
    assert torch.equal(first.q, again.q)
    assert hashed == []
    text_inputs(tokenize("a spelling nobody typed before"))
    assert hashed


@pytest.mark.parametrize(
    ("tokens", "heads", "dim"), [((), 4, 32), (("a",), 0, 32), (("a",), 4, 0), (("a",), 10_000, 32)]
)
def test_sizes_out_of_range_are_refused(tokens: tuple[str, ...], heads: int, dim: int) -> None:
    with pytest.raises(ViewerError):
        text_inputs(Tokens(tokens), heads, dim)
