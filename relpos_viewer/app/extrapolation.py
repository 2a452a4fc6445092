"""What the extrapolation window asks for, and what comes back: a longer sequence under the document's encoding.

Frozen values both; an `ExtrapolationMaker` answers in the worker thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.curves import SAMPLED_QUERIES, CurveSet, sampled_curve_set
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.extrapolation import (
    Measured,
    measured,
    random_vectors,
    repeated,
    sequence_of,
)
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import score_limits, view_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.quantise import quantise
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import EncodingSpec, View

# Width of a head where only scores are known.
HEAD_DIM = 64


@dataclass(frozen=True, eq=False)
class Subject:
    """What is made longer.

    Attributes:
        encoding: of the document.
        head: index among `heads`.
        heads: how many share the encoding.
        head_dim: width of a query.
        scale: content scale; 1/√d when None.
        text: the inputs that are repeated; None for random queries and keys.
        view: how weights are coloured.
        device: where it is computed.
    """

    encoding: EncodingSpec
    head: int
    heads: int
    head_dim: int
    scale: float | None
    text: AttentionInputs | None
    view: View
    device: str

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but the colours: what figures and scores depend on."""
        return (
            self.encoding,
            self.head,
            self.heads,
            self.head_dim,
            self.scale,
            id(self.text),
            self.device,
        )

    def built(self) -> Encoding:
        """Return the encoding for its heads.

        Raises:
            ViewerError: when a table holds another number of heads.
        """
        return self.encoding.build().with_heads(self.heads)


@dataclass(frozen=True, eq=False)
class PictureRequest:
    """The picture of weights at a length, [h, w] pixels; `quick` takes a sampled one where an exact one is slow."""

    subject: Subject
    n: int
    shape: tuple[int, int]
    quick: bool


@dataclass(frozen=True, eq=False)
class MeasureRequest:
    """The figures of the weights at a length."""

    subject: Subject
    n: int


@dataclass(frozen=True, eq=False)
class Longer:
    """A longer sequence.

    Attributes:
        request: what was asked for.
        codes: uint8 [h, w] weights, see `core.quantise`.
        levels: the numbers at the ends of the colours.
        curves: the head's curve over all offsets.
        exact: False for sampled pixels.
    """

    request: PictureRequest
    codes: np.ndarray
    levels: Levels
    curves: CurveSet
    exact: bool

    @property
    def complete(self) -> bool:
        """Whether a request that is not quick would show no more."""
        return self.exact and not 0 < self.curves.sampled < SAMPLED_QUERIES


@dataclass(frozen=True, eq=False)
class MeasuredAt:
    """The answer to a `MeasureRequest`."""

    request: MeasureRequest
    measured: Measured


# Up to here an exact picture comes while a hand moves.
AT_ONCE = 4096
# Queries that speak for all while a hand moves: each costs a row of scores.
FEW_QUERIES = 8


class ExtrapolationMaker:
    """Answers requests, keeping the field of the last length. Used by one worker thread only."""

    def __init__(self) -> None:
        self._field: ScoreField | None = None
        self._field_key: tuple[object, ...] = ()
        self._curves: CurveSet | None = None
        self._vectors: tuple[Tensor, Tensor] | None = None

    def __call__(self, request: PictureRequest | MeasureRequest, cancel: Cancel) -> Longer | MeasuredAt:
        """Return the answer.

        Raises:
            ViewerError: when the encoding refuses such a length, in one sentence.
            Cancelled: when nobody waits for it any more.
        """
        if isinstance(request, PictureRequest):
            return self._picture(request, cancel)
        subject = request.subject
        inputs = self._inputs(subject, request.n)
        found = measured(inputs, subject.built(), subject.head, subject.scale, cancel)
        return MeasuredAt(request, found)

    def close(self) -> None:
        """Let the threads and sums of the last field go."""
        if self._field is not None:
            self._field.close()
        self._field, self._curves, self._field_key = None, None, ()

    def _picture(self, request: PictureRequest, cancel: Cancel) -> Longer:
        subject, n = request.subject, request.n
        key = (*subject.key, n, request.shape)
        if not same(key, self._field_key):
            self.close()
            encoding, inputs = subject.built(), self._inputs(subject, n)
            cancel.check()
            field = ScoreField.of(
                inputs,
                encoding,
                scale=subject.scale,
                mask=parse_mask("causal"),
                head=subject.head,
                display=request.shape,
            )
            self._field, self._field_key = field, key
        field, curves = self._field, self._curves
        assert field is not None
        whole = (0, n)
        exact = field.ready or not request.quick or n <= AT_ONCE
        samples = FEW_QUERIES if request.quick else SAMPLED_QUERIES
        if curves is None or 0 < curves.sampled < samples:
            curves = sampled_curve_set(field.inputs, field.encoding, field, subject.head, samples)
            self._curves = curves
        if exact:
            field.prepare(cancel=cancel)
            values, shown = field.tile("weights", whole, whole, request.shape, "mean", cancel=cancel)
        else:
            values, shown = field.preview("weights", whole, whole, request.shape)
        automatic = score_limits(field, subject.view, request.shape, cancel)
        levels = view_levels(automatic, subject.view, ("weights",))["weights"]
        return Longer(request, quantise(values, shown, levels), levels, curves, exact)

    def _inputs(self, subject: Subject, n: int) -> AttentionInputs:
        """Return n positions of which only those past a shorter length are new."""
        if subject.text is not None:
            return repeated(subject.text, subject.head, n).to(subject.device)
        kept = self._vectors
        if kept is None or len(kept[0]) < n or kept[0].shape[1] != subject.head_dim:
            # Room to grow, so that a moving hand does not draw them anew at every step.
            self._vectors = kept = random_vectors(1 << (n - 1).bit_length(), subject.head_dim)
        q, k = (vectors[:n].to(torch.device(subject.device)) for vectors in kept)  # [n, d] each
        return sequence_of(q, k, subject.heads)
