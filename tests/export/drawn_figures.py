"""Pictures with chosen numbers, and what a drawn figure looks like from outside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.text import Text

from relpos_viewer.core.attention import masked_softmax
from relpos_viewer.core.field import PlainField
from relpos_viewer.export.picture import Picture


def with_scores(made: Picture, content: np.ndarray, visible: np.ndarray | None = None) -> Picture:
    """`made` with content [query, key] and mask replaced, everything after them computed anew."""
    values = torch.from_numpy(content.astype(np.float32))
    seen = made.field.visible if visible is None else torch.from_numpy(visible)
    scores = values + made.field.own
    field = replace(
        made.field, content=values, scores=scores, visible=seen, weights=masked_softmax(scores, seen)
    )
    return replace(made, field=field)


def with_weights(made: Picture, weights: np.ndarray) -> Picture:
    """`made` with weights [query, key] replaced."""
    field: PlainField = replace(made.field, weights=torch.from_numpy(weights.astype(np.float32)))
    return replace(made, field=field)


@dataclass
class Drawn:
    """A figure as matplotlib has it, and its pixels."""

    figure: Any
    pixels: np.ndarray  # uint8 [height, width, 3]

    @property
    def texts(self) -> list[tuple[str, Any, Text]]:
        """Every text that is drawn, with its box in pixels."""
        renderer = self.figure.canvas.get_renderer()
        found = self.figure.findobj(Text)
        return [
            (text.get_text(), text.get_window_extent(renderer), text)
            for text in found
            if text.get_visible() and text.get_text().strip()
        ]

    def words(self) -> list[str]:
        return [words for words, _, _ in self.texts]

    def matrix(self, index: int) -> Axes:
        """The axes of the matrix with that place among the matrices."""
        # A matrix is the only image whose extent is in cells.
        return [axes for axes in self.figure.axes if axes.images and axes.get_ylim()[1] == -0.5][index]

    def cell(self, matrix: int, row: int, column: int) -> np.ndarray:
        """The pixels of the inner part of a cell, uint8 [h, w, 3]."""
        axes = self.matrix(matrix)
        height = self.pixels.shape[0]
        (x0, y0), (x1, y1) = axes.transData.transform([(column - 0.3, row - 0.3), (column + 0.3, row + 0.3)])
        return self.pixels[round(height - y0) : round(height - y1), round(x0) : round(x1)]
