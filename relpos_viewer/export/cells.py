"""The cells of one head that leave the program: matrices of a short sequence, pixels made on demand of a long one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.crew import CancelLike, Silent
from relpos_viewer.core.curves import CurveSet, sampled_curve_set
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import LARGEST, PlainField, Stage
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import ViewLike, plain_limits, score_limits
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.pooling import Span
from relpos_viewer.core.score_field import ScoreField

# Cells whose percentiles stand for those of all.
SAMPLED = (512, 512)


@dataclass(frozen=True, eq=False)
class LongCells:
    """A head whose matrices are never made.

    Attributes:
        field: answers for the head, in one thread.
        cancel: asked between blocks of whatever takes long, and told how far it is.
    """

    field: ScoreField
    cancel: CancelLike

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.field.n_query

    @property
    def n_key(self) -> int:
        """Number of keys."""
        return self.field.n_key

    def tile(
        self, stage: Stage, rows: Span, cols: Span, shape: tuple[int, int], reduce: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels and which of them hold a visible cell, see `ScoreField.tile`."""
        return self.field.tile(stage, rows, cols, shape, reduce, cancel=self.cancel)

    def rows_that_see(self) -> np.ndarray:
        """Return which queries see a key, bool [query]."""
        return self.field.rows_that_see()


Cells = PlainField | LongCells


def cells_of(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    edit: object,
    head: int,
    cancel: CancelLike | None = None,
) -> Cells:
    """Return the cells of a head, in the way that suits its length; arguments as in `attend`.

    Raises:
        ViewerError: when they do not fit each other, or the machine has too little memory.
    """
    if inputs.n_key <= LARGEST:
        return PlainField.of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=head)
    field = ScoreField.of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=head)
    return LongCells(field, cancel or Silent())


def limits_of(cells: Cells, view: ViewLike) -> Callable[[Stage], Levels]:
    """Return what gives the automatic colour limits of a stage."""
    if isinstance(cells, PlainField):
        return plain_limits(cells, view)
    cells.field.prepare(cancel=cells.cancel)  # limits are then exact
    return score_limits(cells.field, view, SAMPLED, cells.cancel)


def long_curves(inputs: AttentionInputs, encoding: Encoding, cells: LongCells, head: int) -> CurveSet:
    """Return the curves of a long head, without its edit."""
    return sampled_curve_set(inputs, encoding, cells.field, head)
