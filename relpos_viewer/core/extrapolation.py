"""Sequences longer than those of training: what an encoding does to them, in numbers and in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.crew import CancelLike
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.rope import SCALINGS, Rope
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.core.tokens import Tokens

SHORTEST, LONGEST = 64, 131_072
# Weights are summed up for sequences up to here: a pass over the cells of the longest takes half a second.
MOST_MEASURED = 8192
# Turns in training above which a pair is left alone, as the models that use these rules have it.
HIGH_TURNS = {"yarn": 32.0, "llama3": 4.0}
SEED = 5


def statement(encoding: Encoding, n_trained: int, n: int, head_dim: int | None) -> str:
    """Return one sentence about a sequence of n positions, when training saw at most `n_trained`.

    Raises:
        ViewerError: when the encoding cannot be applied to heads of this width.
    """
    if n <= n_trained:
        return f"{n:,} positions lie within the {n_trained:,} of training: nothing is new."
    return encoding.beyond_words(n_trained, n, head_dim)


def random_vectors(n: int, head_dim: int, seed: int = SEED) -> tuple[Tensor, Tensor]:
    """Return queries and keys of independent standard normal numbers, float32 [n, d] each.

    A longer sequence begins with the same vectors, so that only what comes later is new.
    """
    drawn = (
        np.random.default_rng((seed, part)).standard_normal((n, head_dim), dtype=np.float32)
        for part in (0, 1)
    )
    q, k = map(torch.from_numpy, drawn)  # [n, d] each
    return q, k


def sequence_of(q: Tensor, k: Tensor, heads: int) -> AttentionInputs:
    """Return inputs in which each of `heads` heads has the same q and k, [n, d]; no vector is copied."""
    labels = Tokens(tuple(map(str, range(len(q)))))
    return AttentionInputs(labels, q=q.expand(heads, -1, -1), k=k[None], origin="random queries and keys")


def repeated(inputs: AttentionInputs, head: int, n: int) -> AttentionInputs:
    """Return a sequence of n tokens that says what `inputs` say over and over, every head as `head` is.

    Args:
        inputs: with q and k, and a query for every key.
        head: index.
        n: number of tokens.
    """
    one = inputs.head(head)
    assert one.q is not None and one.k is not None, "only texts are repeated"
    place = torch.arange(n, device=one.device) % inputs.n_key  # [n]
    made = sequence_of(one.q[0, place], one.k[0, place], inputs.heads)
    if one.w_q is None or one.w_k is None:
        return made
    w_q, w_k = (table.expand(inputs.heads, -1, -1) for table in (one.w_q, one.w_k))  # [head, D, d] each
    return replace(made, w_q=w_q, w_k=w_k)


@dataclass(frozen=True)
class Measured:
    """What the weights of a head come to at a length: mean |δ| in tokens, and mean entropy of a row in bits."""

    n: int
    mean_distance: float
    entropy_bits: float


def measured(
    inputs: AttentionInputs,
    encoding: Encoding,
    head: int,
    scale: float | None,
    cancel: CancelLike | None = None,
) -> Measured:
    """Return the figures of a head under the causal mask.

    Raises:
        ViewerError: when the encoding cannot be applied. Whatever `cancel` raises.
    """
    field = ScoreField.of(
        inputs, encoding, scale=scale, mask=parse_mask("causal"), head=head, display=(16, 16)
    )
    try:
        found = field.measures(cancel=cancel)
    finally:
        field.close()
    return Measured(inputs.n_key, found.mean_distance, found.entropy_bits)


def measured_lengths(n: int) -> tuple[int, ...]:
    """Return 64, 128 … up to n, at most `MOST_MEASURED`."""
    most = min(n, MOST_MEASURED)
    return tuple(SHORTEST << step for step in range(most.bit_length()) if SHORTEST << step <= most)


@dataclass(frozen=True, eq=False)
class Scaling:
    """A rule of RoPE's frequencies at one length.

    Attributes:
        rule: one of `SCALINGS`.
        longest: wavelength of the slowest pair, in positions.
        pairs: how many there are.
        new: how many see angles that training never showed them.
        curve: the mean rotation, float64 [distance], see `mean_rotation`.
    """

    rule: str
    longest: float
    pairs: int
    new: int
    curve: np.ndarray

    @property
    def share(self) -> float:
        """Share of the pairs that see new angles, 0 … 1."""
        return self.new / self.pairs


def scalings(rope: Rope, n_trained: int, n: int, head_dim: int, distances: np.ndarray) -> tuple[Scaling, ...]:
    """Return every rule side by side, each with the factor n / n_trained.

    Args:
        rope: base, layout and fraction; its own rule does not matter.
        n_trained: length that was trained.
        n: length of the sequence.
        head_dim: width of a query.
        distances: |δ| at which curves are wanted, [distance].

    Raises:
        ViewerError: when pairs do not come out even.
    """
    made = []
    for rule in SCALINGS if rope.rotary_dim(head_dim) else ():
        scaled = replace(
            rope,
            scaling_rule=rule,
            factor=max(n / n_trained, 1.0),
            original=n_trained,
            low=1.0,
            high=HIGH_TURNS.get(rule, 4.0),
            attention_factor=0.0,
        )
        thetas = scaled.frequencies(head_dim, n)  # [pair]
        new = int(scaled.new_angles(n_trained, n, head_dim).sum())
        longest = 2 * math.pi / float(thetas.min())
        made.append(Scaling(rule, longest, len(thetas), new, mean_rotation(scaled, n, head_dim, distances)))
    return tuple(made)


def mean_rotation(rope: Rope, n: int, head_dim: int, distances: np.ndarray) -> np.ndarray:
    """Return what a key that equals its query keeps of its score at each distance: the mean over pairs of cos(δθ).

    float64 [distance]; YaRN's factor on cos and sin is in it, squared, as scores see it.
    """
    thetas = rope.frequencies(head_dim, n).numpy()  # [pair]
    return rope.amplitude**2 * np.cos(np.asarray(distances)[:, None] * thetas).mean(1)  # [distance]


def log_distances(n: int, count: int = 500) -> np.ndarray:
    """Return at most `count` whole distances 0 … n − 1, all of the near ones and ever fewer far ones, ascending."""
    return np.unique(np.rint(np.geomspace(1, n, count)).astype(np.int64)) - 1
