"""Content without a model: tokens become vectors by hashing their spelling, heads are seeded projections.

Words that share letters share features, so *cat* and *cats* are alike; where a token stands plays no part. The
hash is BLAKE2b and the sums are of whole numbers, so vectors are the same on every machine and in every process.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.tokens import Tokens

# Width D of an embedding. Unrelated tokens have cosines of about ±1/√D = ±0.09.
EMBEDDING_DIM = 128
# Standard deviation of q·k/√d between unrelated tokens: a softmax over it is neither flat nor one-hot.
CONTENT_STD = 1.2
# Added on average to q·k/√d where query and key are the same token.
SAME_TOKEN_BONUS = 2.5
# Sizes of the character n-grams that count, beside the whole token.
NGRAMS = (2, 3, 4)
# Letters of one token that are hashed; beyond them only the whole token tells two apart.
LETTERS = 64
MAX_HEADS, MAX_DIM = 256, 1024


def text_inputs(tokens: Tokens, heads: int = 4, dim: int = 32, seed: int = 0) -> AttentionInputs:
    """Make queries, keys and values for `tokens` by hashing alone.

    Args:
        tokens: the sequence, n tokens.
        heads: number of heads; head h does not depend on how many there are.
        dim: width d of one head.
        seed: chooses the projections, not the embeddings.

    Returns:
        Inputs with q, k, v `[head, n, d]` and w_q, w_k `[head, D, d]`, float32 on the CPU. An embedding has
        entries of mean square 1, comparable with sinusoidal positions (mean square 1/2). Any thread.

    Raises:
        ViewerError: no tokens, or a number of heads or a width out of range.
    """
    if not len(tokens):
        raise ViewerError("there are no tokens; give at least one.")
    for name, value, most in (("heads", heads, MAX_HEADS), ("dim", dim, MAX_DIM)):
        if not 1 <= value <= most:
            raise ViewerError(f"{name} must be between 1 and {most}, not {value}.")
    names = _names(tokens)
    distinct = list(dict.fromkeys(names))
    rows = {name: row for row, name in enumerate(distinct)}
    index = torch.tensor([rows[name] for name in names])  # [n]
    e = torch.from_numpy(np.stack([_embedding(name) for name in distinct]))  # [distinct, D]
    w = torch.stack([torch.stack(_projections(head, dim, seed)) for head in range(heads)])  # [head, 3, D, d]
    # Distinct tokens are projected once and then copied: the same token has the same vector to the last bit. One
    # product for all heads, because starting a parallel one costs more than these small sums.
    x = (e @ w.permute(2, 1, 0, 3).flatten(1))[index]  # [n, 3·head·d]
    q, k, v = x.unflatten(1, (3, heads, dim)).permute(1, 2, 0, 3).contiguous()  # [head, n, d] each
    w_q, w_k = w[:, 0].contiguous(), w[:, 1].contiguous()  # [head, D, d]
    return AttentionInputs(
        tokens,
        q=q,
        k=k,
        v=v,
        w_q=w_q,
        w_k=w_k,
        origin="text",
        notes=("Content comes from the spelling of the tokens, without a model.",),
    )


def embed(texts: tuple[str, ...]) -> np.ndarray:
    """Return the vectors of `texts`, float32 `[len(texts), D]`, each of length √D."""
    return np.stack([_embedding(text) for text in texts])


def _names(tokens: Tokens) -> list[str]:
    """What is hashed for each token: its text, or its number where the text says nothing of its own.

    Numbers alone (typed ids) and the bytes of one character are told apart by value and by nothing else.
    """
    if tokens.ids is None:
        return list(tokens.texts)
    spans = tokens.spans or tuple((i, i + 1) for i in range(len(tokens)))
    names = []
    for i, (text, number) in enumerate(zip(tokens.texts, tokens.ids, strict=True)):
        shared = (i > 0 and spans[i - 1] == spans[i]) or (i + 1 < len(spans) and spans[i + 1] == spans[i])
        names.append(f"\0{number}" if shared or text == str(number) else text)
    return names


@lru_cache(maxsize=65_536)
def _embedding(name: str) -> np.ndarray:
    """Return one vector [D] of length √D: a sum of ±1 vectors, one for each feature of the spelling."""
    features = [name.encode("utf-8", "surrogatepass")]
    if not name.startswith("\0"):
        letters = (
            f"\2{unicodedata.normalize('NFC', name).casefold()[:LETTERS]}\3"  # the word's two ends count
        )
        features += [
            letters[at : at + size].encode("utf-8", "surrogatepass")
            for size in NGRAMS
            for at in range(len(letters) - size + 1)
        ]
    digests = b"".join(
        # `person` keeps the whole token "ca" and the n-gram "ca" apart.
        hashlib.blake2b(
            feature, digest_size=EMBEDDING_DIM // 8, person=b"whole" if i == 0 else b"ngram"
        ).digest()
        for i, feature in enumerate(features)
    )
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(len(features), EMBEDDING_DIM)
    signs = bits.astype(np.int64) * 2 - 1  # [feature, D]
    total = signs.sum(axis=0)  # [D], whole numbers: no order of summing matters
    length = np.sqrt(float((total * total).sum()))
    # A sum of signs can be all zeros in theory; then the whole token speaks alone.
    vector = total * (EMBEDDING_DIM**0.5 / length) if length else signs[0].astype(np.float64)
    vector = vector.astype(np.float32)
    vector.setflags(write=False)
    return vector


@lru_cache(maxsize=512)
def _projections(head: int, dim: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return w_q, w_k, w_v of one head, each [D, d]; callers must not write to them."""
    digest = hashlib.blake2b(f"{seed}/{head}".encode(), digest_size=7).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest, "little"))
    # Sums of 12 uniform whole numbers are as good as normal, and exact everywhere; randn may differ by a
    # rounding between processors.
    draws = torch.randint(0, 2**16, (3, 12, EMBEDDING_DIM, dim), generator=generator)
    shared, own, values = (draws.sum(dim=1).double() - 6 * (2**16 - 1)) / 2**16  # [D, d] each, variance 1
    # q and k share a part of their projection: without it a token would not know itself.
    part = min(0.9, SAME_TOKEN_BONUS / (CONTENT_STD * dim**0.5))
    w_q = shared * (CONTENT_STD / EMBEDDING_DIM) ** 0.5
    w_k = (part * shared + (1 - part**2) ** 0.5 * own) * (CONTENT_STD / EMBEDDING_DIM) ** 0.5
    w_v = values * EMBEDDING_DIM**-0.5
    return w_q.float(), w_k.float(), w_v.float()
