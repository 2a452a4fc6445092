"""A viewport as numbers: every stage of one head reduced to pixels, with the cells that each pixel stands for.

For sequences whose matrices would fill a disk: 4 stages of 512 × 512 pixels are 4 MB at any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from relpos_viewer.core.crew import CancelLike
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import STAGES
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import Mask
from relpos_viewer.core.pooling import Span, block_edges, chosen_reduce, whole_cells
from relpos_viewer.export.cells import cells_of
from relpos_viewer.export.picture import check_head


@dataclass(frozen=True)
class Part:
    """What a viewport shows: half-open cells, the most pixels [h, w], and how several cells become one."""

    head: int = 0
    rows: Span = (0, float("inf"))
    cols: Span = (0, float("inf"))
    shape: tuple[int, int] = (512, 512)
    reduce: str = "auto"


@dataclass(frozen=True, eq=False)
class Pixels:
    """One head's stages as pixels.

    Attributes:
        stages: float32 [h, w] by name; visible: bool [h, w], which pixels hold a visible cell.
        row_edges, col_edges: int64 [h + 1] and [w + 1]; pixel y holds the queries row_edges[y] … row_edges[y + 1] − 1.
        reduce: "mean", "max" or "sample" by stage.
        query_start: position of the first query.
    """

    stages: dict[str, np.ndarray]
    visible: np.ndarray
    row_edges: np.ndarray
    col_edges: np.ndarray
    reduce: dict[str, str]
    head: int
    query_start: int


def pixels(
    inputs: AttentionInputs,
    encoding: Encoding,
    *,
    scale: float | None,
    mask: Mask,
    edit: np.ndarray | None,
    part: Part,
    cancel: CancelLike | None = None,
) -> Pixels:
    """Reduce the part of every stage to pixels; other arguments as in `attend`.

    Raises:
        ViewerError: when they do not fit the inputs. Whatever `cancel` raises.
    """
    check_head(part.head, inputs.heads)
    cells = cells_of(inputs, encoding, scale=scale, mask=mask, edit=edit, head=part.head, cancel=cancel)
    rows, cols = whole_cells(part.rows, inputs.n_query), whole_cells(part.cols, inputs.n_key)
    ways = {stage: chosen_reduce(stage, part.reduce) for stage in STAGES}
    tiles = {stage: cells.tile(stage, rows, cols, part.shape, way) for stage, way in ways.items()}
    visible = np.logical_or.reduce([shown for _, shown in tiles.values()])  # [h, w]
    h, w = visible.shape
    return Pixels(
        stages={stage: values for stage, (values, _) in tiles.items()},
        visible=visible,
        row_edges=block_edges(rows[1] - rows[0], h) + rows[0],
        col_edges=block_edges(cols[1] - cols[0], w) + cols[0],
        reduce=ways,
        head=part.head,
        query_start=inputs.query_start,
    )


def write_pixels(made: Pixels, path: Path) -> None:
    """Write a .npz: the attributes of `Pixels` by name, reductions as texts content_reduce, positional_reduce …"""
    with path.open("wb") as file:
        np.savez(
            file,
            **made.stages,
            **{f"{stage}_reduce": np.array(way, dtype=np.str_) for stage, way in made.reduce.items()},
            visible=made.visible,
            row_edges=made.row_edges,
            col_edges=made.col_edges,
            head=np.int64(made.head),
            query_start=np.int64(made.query_start),
        )
