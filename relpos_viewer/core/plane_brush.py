"""What a hand does to a bias plane: which offsets it reaches, and what can be done to a rectangle of them at once.

A plane is float64 [row, column] in score units; its middle cell stands for key = query. Every function is pure: it
returns a new array and never changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.brush import Reach, profile
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.formula import evaluate
from relpos_viewer.core.numbers import parse_number
from relpos_viewer.core.reshape import KERNEL, flattened, turned

Shape = tuple[int, int]


@dataclass(frozen=True)
class Rectangle:
    """The cells between two corners of a plane, all four sides among them; rows and columns count from 0."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def between(cls, one: tuple[int, int], other: tuple[int, int]) -> Rectangle:
        """Return the rectangle with these cells (row, column) in opposite corners."""
        (top, bottom), (left, right) = (sorted(pair) for pair in zip(one, other, strict=True))
        return cls(top, left, bottom, right)

    @property
    def shape(self) -> Shape:
        """Rows and columns."""
        return self.bottom - self.top + 1, self.right - self.left + 1

    @property
    def cells(self) -> tuple[slice, slice]:
        """The index of its cells in the last two axes of an array."""
        return slice(self.top, self.bottom + 1), slice(self.left, self.right + 1)

    def holds(self, row: int, column: int) -> bool:
        """Whether a cell lies in it."""
        return self.top <= row <= self.bottom and self.left <= column <= self.right


def shares(shape: Shape, rectangle: Rectangle, radius: int, form: str) -> np.ndarray:
    """Return how much of a motion of `rectangle` each cell of a plane takes, float32 [row, column] in [0, 1].

    1 in the rectangle; outside it falls with the distance to its nearest cell, as `core.brush.profile` does along the
    line, and is 0 from radius + 1 on.

    Raises:
        KeyError: `form` is none of `core.brush.SHAPES`.
    """
    row, column = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    down = np.maximum(np.maximum(rectangle.top - row, row - rectangle.bottom), 0)  # [row, 1]
    across = np.maximum(np.maximum(rectangle.left - column, column - rectangle.right), 0)  # [1, column]
    return profile(np.hypot(down, across), radius, form)


def reach(shape: Shape, rectangle: Rectangle, radius: int, form: str) -> Reach:
    """Return what moves with `rectangle`, for `core.brush.move` over planes laid out as [head, row · column]."""
    weights = shares(shape, rectangle, radius, form).ravel()  # [row · column]
    columns = np.flatnonzero(weights)
    return Reach(columns, weights[columns])


def changed(
    planes: np.ndarray,
    rectangle: Rectangle,
    heads: tuple[int, ...],
    change: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return `planes` [head, row, column] with `change` done to the rectangle [rows, columns] of each of `heads`."""
    result = planes.copy()
    for head in heads:
        result[head][rectangle.cells] = change(planes[head][rectangle.cells])
    return result


def mirrored(planes: np.ndarray, rectangle: Rectangle, heads: tuple[int, ...]) -> np.ndarray:
    """Return `planes` [head, row, column] with each cell of the rectangle of `heads` as its opposite (−dy, −dx) is."""
    result = planes.copy()
    for head in heads:
        result[head][rectangle.cells] = planes[head, ::-1, ::-1][rectangle.cells]
    return result


def smoothed(values: np.ndarray) -> np.ndarray:
    """Return each value as the mean of itself and its neighbours, weighted 1 2 1 along rows and columns.

    At the rim the neighbours that are there count. A rectangle that is flat stays so.
    """
    for axis in (0, 1):
        sums = np.apply_along_axis(np.convolve, axis, values, KERNEL, "full")  # two longer along the axis
        counts = np.apply_along_axis(np.convolve, axis, np.ones_like(values), KERNEL, "full")
        values = np.take(sums / counts, np.arange(1, values.shape[axis] + 1), axis)
    return values


def mirrored_sideways(values: np.ndarray) -> np.ndarray:
    """Return left and right in each other's place."""
    return values[:, ::-1].copy()


def mirrored_upright(values: np.ndarray) -> np.ndarray:
    """Return above and below in each other's place."""
    return values[::-1].copy()


def turned_round(values: np.ndarray) -> np.ndarray:
    """Return the values turned by half a circle: about the middle of a plane, query and key change places."""
    return values[::-1, ::-1].copy()


OPERATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Flatten": flattened,
    "Smooth": smoothed,
    "Turn": turned,
    "Mirror left–right": mirrored_sideways,
    "Mirror up–down": mirrored_upright,
    "Reverse": turned_round,
}
"""What needs no number, by the name it has in menus and in the list of undo."""


def by_formula(text: str, planes: np.ndarray, rectangle: Rectangle, heads: tuple[int, ...]) -> np.ndarray:
    """Return `planes` [head, row, column] with the rectangle of `heads` set to a formula's values.

    The formula may name dy and dx (key − query in rows and columns), b (the value as it is), h and H (head, heads).

    Raises:
        ViewerError: as `core.formula.evaluate`.
    """
    rows, columns = planes.shape[1:]
    dy = np.arange(rows)[:, None] - rows // 2  # [row, 1]
    dx = np.arange(columns)[None, :] - columns // 2  # [1, column]
    inside_rows, inside_columns = rectangle.cells
    result = planes.copy()
    for head in heads:
        result[head][rectangle.cells] = evaluate(
            text,
            dy=dy[inside_rows],
            dx=dx[:, inside_columns],
            b=planes[head][rectangle.cells],
            h=head,
            H=len(planes),
        )
    return result


def write_block(values: np.ndarray) -> str:
    """Return values [row, column] as lines of numbers with tabs between them, which read back exactly."""
    return "".join("\t".join(repr(float(value)) for value in row) + "\n" for row in values)


def read_block(text: str) -> np.ndarray:
    """Return lines of numbers, apart by tabs, semicolons or spaces, as float64 [row, column].

    Raises:
        ViewerError: for what is no number, or lines of unequal length.
    """
    lines = [line.replace(";", " ").split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ViewerError("The clipboard holds no numbers; copy lines of them, with tabs in between.")
    if len({len(line) for line in lines}) > 1:
        raise ViewerError("The lines on the clipboard differ in length; each row needs as many numbers.")
    return np.array([[parse_number(cell) for cell in line] for line in lines])


def pasted(
    planes: np.ndarray, rectangle: Rectangle, heads: tuple[int, ...], block: np.ndarray
) -> tuple[np.ndarray, Rectangle]:
    """Return `planes` [head, row, column] with a block in `heads`, and where it lies now.

    One number fills the rectangle; any other block begins at its first cell, or fills the plane when it has its shape.

    Raises:
        ViewerError: when the block is too large for its place.
    """
    if block.size == 1:
        place = rectangle
    elif block.shape == planes.shape[1:]:
        place = Rectangle(0, 0, block.shape[0] - 1, block.shape[1] - 1)
    else:
        corner = rectangle.top + block.shape[0] - 1, rectangle.left + block.shape[1] - 1
        if corner[0] >= planes.shape[1] or corner[1] >= planes.shape[2]:
            raise ViewerError(
                f"The clipboard holds {block.shape[0]} × {block.shape[1]} numbers, more than fit from here to the end "
                "of the plane; select the cell where they are to begin."
            )
        place = Rectangle.between((rectangle.top, rectangle.left), corner)
    return changed(planes, place, heads, lambda old: np.broadcast_to(block, old.shape)), place
