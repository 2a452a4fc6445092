"""What a head's pictures are made from: every stage kept whole, or a field that keeps row sums alone.

Both answer the same questions, so a `FrameMaker` does not care how long the sequence is. Worker thread only; what
`reader` returns may be read by any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch

from relpos_viewer.app.runner import Cancel
from relpos_viewer.core import measures
from relpos_viewer.core.curves import CurveSet, curve_set, sampled_curve_set
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import LARGEST, CellValues, LineValues, PlainField, Stage
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import plain_limits, score_limits
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.measures import HeadMeasures
from relpos_viewer.core.pooling import Span
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.document.document import View

# Up to here whole matrices are as quick as sums (4 ms a picture at 256, 17 against 4 ms at 1,024), and simpler.
PLAIN = 384
# A part of a long matrix with at most so many cells is computed at once; above, a sampled preview comes first.
CELLS_AT_ONCE = 4_000_000
# Figures of a long head take a pass over all cells, of a dozen seconds here on two cores; more are left out.
FIGURE_CELLS = 65_536**2


class Reader(Protocol):
    """Answers questions about single cells; nothing in it changes."""

    @property
    def n_query(self) -> int: ...
    @property
    def n_key(self) -> int: ...

    def values(self, query: int, key: int) -> CellValues: ...
    def row(self, query: int) -> LineValues: ...
    def strongest(
        self, stage: Stage, rows: tuple[int, int], cols: tuple[int, int]
    ) -> tuple[int, int] | None: ...


class HeadPictures(Protocol):
    """One head under the edit that was set last."""

    curves: CurveSet

    def set_edit(self, curve: np.ndarray, cancel: Cancel) -> None:
        """Take the edit curve [2·key−1]."""

    def comes_at_once(self, rows: tuple[int, int], cols: tuple[int, int]) -> bool:
        """Whether exact tiles of these cells need no preview before them."""

    def prepare(self, cancel: Cancel) -> None:
        """Do what exact tiles need; reports progress."""

    def limits(self, view: View) -> Callable[[Stage], Levels]:
        """Return what gives each stage its automatic colour limits."""

    def tile(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int], reduce: str, cancel: Cancel
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return exact pixels, see `PlainField.tile`."""

    def preview(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sampled pixels, at once."""

    def rows_that_see(self) -> np.ndarray:
        """Return which queries see a key, bool [query]."""

    def figures(self, cancel: Cancel) -> dict[str, float]:
        """Return the head's figures by the name the status bar gives them."""

    def refresh(self, cancel: Cancel) -> float:
        """Sum anew what edits only corrected; return the drift, the largest change of a row's log-normaliser."""

    def reader(self) -> Reader:
        """Return the cells as they are now."""

    def close(self) -> None:
        """Let threads and memory go."""


def head_pictures(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    head: int,
    display: tuple[int, int],
) -> HeadPictures:
    """Return the pictures of one head, in the way that suits its length.

    Args:
        inputs, encoding, scale, mask: as for `attend`.
        head: index.
        display: [h, w] pixels of a panel, for which a long sequence keeps its sums.

    Raises:
        ViewerError: when they do not fit each other, or the machine has too little memory.
    """
    # Given weights are shown bit for bit, which takes the matrices themselves.
    whole = LARGEST if inputs.weights is not None else PLAIN
    if inputs.n_key <= whole:
        return PlainPictures(inputs, encoding, scale, mask, head)
    return LongPictures(inputs, encoding, scale, mask, head, display)


class _Quiet:
    """Lets work in the background be stopped without a word about how far it is."""

    def __init__(self, cancel: Cancel) -> None:
        self._cancel = cancel

    def check(self) -> None:
        """Raise Cancelled when the work is no longer wanted."""
        self._cancel.check()

    def progress(self, _fraction: float) -> None:
        """Tell nobody."""
        self._cancel.check()


class PlainPictures:
    """Keeps every stage of the head as a whole matrix."""

    def __init__(
        self, inputs: AttentionInputs, encoding: Encoding, scale: float | None, mask: Mask, head: int
    ) -> None:
        def of_head(index: int) -> PlainField:
            return PlainField.of(inputs, encoding, scale=scale, mask=mask, edit=None, head=index)

        self._inputs = inputs
        self._unedited = self._field = of_head(head)
        self._edit: np.ndarray | None = None
        self.curves = curve_set(inputs, encoding, self._field, head, of_head)

    def set_edit(self, curve: np.ndarray, cancel: Cancel) -> None:
        """Take the edit curve [2·key−1]."""
        cancel.check()
        if self._edit is None or not np.array_equal(curve, self._edit):
            self._field = self._unedited.with_edit(torch.from_numpy(curve).to(self._unedited.content))
            self._edit = curve

    def comes_at_once(self, _rows: tuple[int, int], _cols: tuple[int, int]) -> bool:
        """Return True: everything is there."""
        return True

    def prepare(self, cancel: Cancel) -> None:
        """Do nothing but look whether the picture is still wanted."""
        cancel.check()

    def limits(self, view: View) -> Callable[[Stage], Levels]:
        """Return the limits of whole stages."""
        return plain_limits(self._field, view)

    def tile(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int], reduce: str, _cancel: Cancel
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pooled cells."""
        return self._field.tile(stage, rows, cols, shape, reduce)

    def preview(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one cell a pixel."""
        return self._field.tile(stage, rows, cols, shape, "sample")

    def rows_that_see(self) -> np.ndarray:
        """Return which queries see a key, bool [query]."""
        return self._field.rows_that_see()

    def figures(self, cancel: Cancel) -> dict[str, float]:
        """Return the head's figures."""
        return _named(_measured(self._field, self._inputs, cancel))

    def refresh(self, cancel: Cancel) -> float:
        """Return 0: every edit computes all there is."""
        cancel.check()
        return 0.0

    def reader(self) -> PlainField:
        """Return the field itself; it never changes."""
        return self._field

    def close(self) -> None:
        """Do nothing: there are no threads."""


class LongPictures:
    """Keeps row sums and pooled columns; no matrix of [query, key]."""

    def __init__(
        self,
        inputs: AttentionInputs,
        encoding: Encoding,
        scale: float | None,
        mask: Mask,
        head: int,
        display: tuple[int, int],
    ) -> None:
        def of_head(index: int) -> PlainField:
            return PlainField.of(inputs, encoding, scale=scale, mask=mask, edit=None, head=index)

        self._display = display

        self._field = ScoreField.of(inputs, encoding, scale=scale, mask=mask, head=head, display=display)
        self._cells = inputs.n_query * inputs.n_key
        if (encoding.toeplitz and inputs.bias is None) or inputs.n_key > LARGEST:
            self.curves = sampled_curve_set(inputs, encoding, self._field, head)
        else:
            self.curves = curve_set(inputs, encoding, of_head(head), head, of_head)

    def set_edit(self, curve: np.ndarray, cancel: Cancel) -> None:
        """Take the edit curve [2·key−1]; what differs from the last one is corrected."""
        self._field.set_curve(curve, cancel=cancel)

    def comes_at_once(self, rows: tuple[int, int], cols: tuple[int, int]) -> bool:
        """Return whether row sums are known or quickly made, and the part is the whole (kept pooled) or small."""
        cells = (rows[1] - rows[0]) * (cols[1] - cols[0])
        whole = (rows, cols) == ((0, self._field.n_query), (0, self._field.n_key))
        ready = self._field.ready or self._cells <= CELLS_AT_ONCE
        return ready and (whole or cells <= CELLS_AT_ONCE)

    def prepare(self, cancel: Cancel) -> None:
        """Make the first pass over all cells."""
        self._field.prepare(cancel=cancel)

    def limits(self, view: View) -> Callable[[Stage], Levels]:
        """Return exact ends where row sums are known, those of a sample before, and sampled percentiles."""
        return score_limits(self._field, view, self._display)

    def tile(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int], reduce: str, cancel: Cancel
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pooled cells."""
        return self._field.tile(stage, rows, cols, shape, reduce, cancel=cancel)

    def preview(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return cells of sampled rows and columns."""
        return self._field.preview(stage, rows, cols, shape)

    def rows_that_see(self) -> np.ndarray:
        """Return which queries see a key, bool [query]."""
        return self._field.rows_that_see()

    def figures(self, cancel: Cancel) -> dict[str, float]:
        """Return the head's figures from a pass over all cells; none where that would take a minute."""
        if self._cells > FIGURE_CELLS:
            return {}
        return _named(self._field.measures(cancel=cancel))

    def refresh(self, cancel: Cancel) -> float:
        """Sum everything anew; what is given up leaves all as right as it was."""
        return self._field.refresh(cancel=_Quiet(cancel))

    def reader(self) -> Reader:
        """Return the cells under the present edit."""
        return self._field.cells()

    def close(self) -> None:
        """Let the field's workers go."""
        self._field.close()


def _measured(field: PlainField, inputs: AttentionInputs, cancel: Cancel) -> HeadMeasures:
    """Return a head's figures from its matrices; asks between them whether anybody still waits."""
    asked: list[Callable[[], float]] = [
        lambda: measures.toeplitz_share(field.positional, field.visible),
        lambda: measures.position_share(field.content, field.positional, field.visible),
        lambda: measures.mean_distance(field.weights),
        lambda: measures.entropy_bits(field.weights),
    ]
    documents = inputs.tokens.documents
    if documents is not None and len(set(documents)) > 1:
        asked.append(lambda: float(measures.document_leak(field.weights, documents).max()))
    figures = []
    for measure in asked:
        cancel.check()
        figures.append(measure())
    return HeadMeasures(*figures)


def _named(measured: HeadMeasures) -> dict[str, float]:
    """Return figures by the names that people read, without those that nobody can ask for here."""
    figures = {
        "Toeplitz share": measured.toeplitz_share,
        "position share": measured.position_share,
        "mean distance": measured.mean_distance,
        "entropy (bits)": measured.entropy_bits,
        "leak to other documents": measured.document_leak,
    }
    return {name: value for name, value in figures.items() if value is not None}
