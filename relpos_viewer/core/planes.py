"""PlaneSet: the bias of every head by the offset in the plane, as the plane editor and figures show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.inputs import AttentionInputs


@dataclass(frozen=True, eq=False)
class PlaneSet:
    """Planes over the offsets key − query.

    Attributes:
        values: float64 [head, 2h−1, 2w−1]; the middle cell stands for key = query.
        beside: float64 [head, number], the numbers of a head outside its plane.
        encoding: the family they are the table of, for these heads.
        n: number of keys.
    """

    values: np.ndarray
    beside: np.ndarray
    encoding: PlaneEncoding
    n: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a plane, both odd."""
        return self.values.shape[1], self.values.shape[2]

    def line_offset(self, dy: int, dx: int) -> int:
        """Return δ of two tokens that lie `dy` rows and `dx` columns apart."""
        return dy * self.encoding.width + dx

    def queries(self, dy: int, dx: int, positions: np.ndarray) -> np.ndarray:
        """Return which of the `positions` have a key `dy` rows and `dx` columns away, bool [position]."""
        patch = positions - self.encoding.first_patch  # [position]
        key = patch + self.line_offset(dy, dx)  # [position]
        column = patch % self.encoding.width + dx  # [position]
        inside = (column >= 0) & (column < self.encoding.width)
        last = self.n - 1 - self.encoding.first_patch
        return inside & (patch >= 0) & (key >= 0) & (key <= last)

    def seen(self, visible: np.ndarray) -> np.ndarray:
        """Return which offsets of the plane can occur, bool [2h−1, 2w−1], from those that do along the line.

        Args:
            visible: bool [2n−1], offsets δ with a visible cell.
        """
        rows, columns = (side // 2 for side in self.shape)
        dy = np.arange(-rows, rows + 1)[:, None]  # [2h−1, 1]
        dx = np.arange(-columns, columns + 1)[None, :]  # [1, 2w−1]
        place = self.line_offset(dy, dx) + len(visible) // 2  # [2h−1, 2w−1]
        return (place >= 0) & (place < len(visible)) & visible[place.clip(0, len(visible) - 1)]


def plane_formula(encoding: Encoding) -> str:
    """Return what the term of a two-dimensional family is, in a few words; "" for any other."""
    if not isinstance(encoding, PlaneEncoding):
        return ""
    return "b(dy, dx), cosines for q·k" if getattr(encoding, "cosine", False) else "b(dy, dx)"


def plane_set(inputs: AttentionInputs, encoding: Encoding) -> PlaneSet | None:
    """Return the planes of a two-dimensional family, None for any other. Any thread.

    Raises:
        ViewerError: when a table fits neither the heads nor the length.
    """
    if not isinstance(encoding, PlaneEncoding):
        return None
    full, n = encoding.with_heads(inputs.heads), inputs.n_key
    values = full.planes(n).double().cpu().numpy()  # [head, 2h−1, 2w−1]
    beside = np.stack([full.beside_plane(head, n).double().cpu().numpy() for head in range(inputs.heads)])
    return PlaneSet(values, beside, full, n)
