"""Where the parts of a matrix card go.

The matrix is square by computation: a locked aspect ratio would fight the linked ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRect

MARGIN = 12
_TITLE_GAP = 8
_BAR_GAP = 8
_BAR_BELOW = 27  # height of a lying colour bar with its numbers
_BAR_BESIDE = 58  # width of a standing one
_LEAST_KEY_AXIS = 17
_LEAST_QUERY_AXIS = 16
_AXIS_SHARE = 0.24
"""Labels of queries take no more than this share of the card's width."""


@dataclass(frozen=True)
class Places:
    """The rectangles of the parts, in the card's pixels."""

    title: QRect
    matrix: QRect
    query_axis: QRect
    key_axis: QRect
    bar: QRect
    bar_orientation: Literal["horizontal", "vertical"]


def arrange(size: tuple[int, int], *, title: int, query_axis: int, key_axis: int) -> Places:
    """Places in a card of `size` (width, height); `title` high, axes that would like so many pixels across.

    The colour bar lies below or stands at the right, whichever leaves the larger matrix.
    """
    width, height = size
    inner, top = width - 2 * MARGIN, MARGIN - 2 + title + _TITLE_GAP
    left = min(max(query_axis, _LEAST_QUERY_AXIS), max(round(inner * _AXIS_SHARE), _LEAST_QUERY_AXIS))
    below = height - top - MARGIN
    lying = min(inner - left, below - _BAR_GAP - _BAR_BELOW - _LEAST_KEY_AXIS)
    standing = min(inner - left - _BAR_GAP - _BAR_BESIDE, below - _LEAST_KEY_AXIS)
    side = max(lying, standing, 8)
    title_rect = QRect(MARGIN, MARGIN - 2, inner, title)
    if lying >= standing:
        room = below - side - _BAR_GAP - _BAR_BELOW
        axis = min(max(key_axis, _LEAST_KEY_AXIS), max(room, _LEAST_KEY_AXIS))
        x = MARGIN + left + max(inner - left - side, 0) // 2
        # Height that nothing needs goes above and below the whole block alike.
        y = top + max(room - axis, 0) // 3
        matrix = QRect(x, y, side, side)
        bar = QRect(x, y + side + axis + _BAR_GAP, side, _BAR_BELOW)
        orientation: Literal["horizontal", "vertical"] = "horizontal"
    else:
        room = below - side
        axis = min(max(key_axis, _LEAST_KEY_AXIS), max(room, _LEAST_KEY_AXIS))
        spare = inner - left - side - _BAR_GAP - _BAR_BESIDE
        x = MARGIN + left + max(spare, 0) // 2
        matrix = QRect(x, top, side, side)
        bar = QRect(x + side + _BAR_GAP + 4, top, _BAR_BESIDE - 4, side)
        orientation = "vertical"
    return Places(
        title=title_rect,
        matrix=matrix,
        query_axis=QRect(matrix.left() - left, matrix.top(), left, side),
        key_axis=QRect(matrix.left(), matrix.top() + side, side, axis),
        bar=bar,
        bar_orientation=orientation,
    )
