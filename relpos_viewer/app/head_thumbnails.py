"""Thumbnails of heads: a small picture of each head's weights and its curve, made one by one when nobody waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relpos_viewer.app.frames import FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.pooling import block_edges
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import Document, replace

SIDE = 64  # pixels of a picture
CURVE_POINTS = 48
# Beyond, exact sums of every head would keep the machine busy for minutes: sampled cells do for so small a picture.
LONGEST_EXACT = 32_768


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """One head in small.

    Attributes:
        head: index.
        codes: uint8 [h, w] of its weights, see `core.quantise`; at most `SIDE` each way.
        curve: float32 [point] of its curve over the offsets that are visible somewhere, edit included, at most
            `CURVE_POINTS`; empty where there are none.
        key: what it was made from.
    """

    head: int
    codes: np.ndarray
    curve: np.ndarray
    key: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ThumbnailRequest:
    """A head of a document; `heads` and `n_key` are those of its inputs."""

    document: Document
    head: int
    heads: int
    n_key: int
    device: str = "cpu"


def thumbnail_key(request: ThumbnailRequest) -> tuple[Any, ...]:
    """Return all that a head's thumbnail depends on; two keys are compared by `document.arrays.same`."""
    document, view = request.document, request.document.view
    edit = document.edit.at(request.heads, request.n_key)[request.head]  # [2·key−1]
    looks = (view.reduce, view.weights_scale, view.hide_first_key)
    limits = (view.levels, view.weights_low, view.weights_high, view.locked)
    return (
        document.source,
        document.encoding,
        document.mask,
        document.scale,
        request.head,
        edit,
        looks,
        limits,
    )


@dataclass
class ThumbnailMaker:
    """Makes thumbnails. Used by one worker thread only."""

    _frames: FrameMaker = field(default_factory=FrameMaker)

    def __call__(self, request: ThumbnailRequest, cancel: Cancel) -> Thumbnail:
        """Return the thumbnail.

        Raises:
            ViewerError: when the document cannot be shown.
            Cancelled: when a hand moved.
        """
        document = replace(request.document, view=replace(request.document.view, head=request.head))
        whole = (0.0, float(max(request.n_key, 1)))
        frame = self._frames(
            FrameRequest(
                document,
                Viewport(whole, whole, (SIDE, SIDE)),
                ("weights",),
                request.device,
                detail=False,
                quick=request.n_key > LONGEST_EXACT,
            ),
            cancel,
        )
        curves = frame.curves
        total = (curves.family[request.head] + curves.edit[request.head])[curves.visible]  # [visible offset]
        return Thumbnail(request.head, frame.tiles["weights"].codes, _thinned(total), thumbnail_key(request))

    def close(self) -> None:
        """Let the last head's threads and matrices go; when the worker thread has ended."""
        self._frames.close()


@dataclass
class ThumbnailShelf:
    """The thumbnails made so far. GUI thread only."""

    _made: dict[int, Thumbnail] = field(default_factory=dict)

    def put(self, thumbnail: Thumbnail) -> None:
        """Keep a thumbnail, in place of an older one of its head."""
        self._made[thumbnail.head] = thumbnail

    def missing(self, requests: list[ThumbnailRequest]) -> ThumbnailRequest | None:
        """Return the first request that no thumbnail here answers."""
        for request in requests:
            made = self._made.get(request.head)
            if made is None or not same(made.key, thumbnail_key(request)):
                return request
        return None


def _thinned(values: np.ndarray) -> np.ndarray:
    """Return at most `CURVE_POINTS` of the values [offset], each the one of largest magnitude in its run."""
    if len(values) <= CURVE_POINTS:
        return values.astype(np.float32)
    edges = block_edges(len(values), CURVE_POINTS)[:-1]  # [point]
    high, low = np.fmax.reduceat(values, edges), np.fmin.reduceat(values, edges)  # [point]
    return np.where(-low > high, low, high).astype(np.float32)
