"""Offsets and rectangles of a plane in words."""

from __future__ import annotations

from relpos_viewer.core.numbers import short
from relpos_viewer.core.plane_brush import Rectangle


def offset_text(dy: int, dx: int) -> str:
    """Write an offset in the plane."""
    return f"dy {short(dy)}, dx {short(dx)}"


def area_text(area: Rectangle, shape: tuple[int, int]) -> str:
    """Write a rectangle of a plane of that shape by its first and last offsets."""
    rows, columns = shape[0] // 2, shape[1] // 2

    def run(first: int, last: int) -> str:
        return short(first) if first == last else f"{short(first)}…{short(last)}"

    return (
        f"dy {run(area.top - rows, area.bottom - rows)}, dx {run(area.left - columns, area.right - columns)}"
    )
