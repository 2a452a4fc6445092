"""Which matrix cells an offset in the plane stands for."""

from __future__ import annotations

import numpy as np

from relpos_viewer.app.frames import Frame


def plane_cells(frame: Frame, offset: tuple[int, int]) -> tuple[int, np.ndarray]:
    """Return the diagonal δ that holds an offset of the plane, and which queries have a key there, bool [query]."""
    positions = np.arange(frame.n_query) + frame.inputs.query_start  # [query]
    return frame.plane.line_offset(*offset), frame.plane.queries(*offset, positions)
