"""Handles of whole distances on the offset axis: where an encoding clips, clamps or ends."""

from __future__ import annotations

from relpos_viewer.core.encodings.base import Handle

SIDES = {"past": -1, "future": 1}


def ends(name: str, distance: int | None, n: int, help: str) -> tuple[Handle, ...]:
    """Return handles at −distance and +distance, "past NAME" and "future NAME"; none where n leaves no room.

    Args:
        name: of the parameter.
        distance: None for none; past the axis, or without one, the handles wait at its ends.
        n: number of keys.
        help: which parameter moves.
    """
    if n < 2:
        return ()
    at = n - 1 if distance is None else min(distance, n - 1)
    return tuple(
        Handle(f"{side} {name}", float(sign * at), 0.0, None, "offset", help) for side, sign in SIDES.items()
    )


def far_end(name: str, distance: int | None, n: int, help: str) -> tuple[Handle, ...]:
    """Return the one handle of a family that counts into the past alone; arguments as for `ends`."""
    return tuple(
        Handle(name, one.offset, one.value, one.span, one.moves, one.help)
        for one in ends(name, distance, n, help)[:1]
    )


def reached(handle: Handle, offset: float, least: int, most: int) -> int:
    """Return the whole distance, from `least` to `most`, of a handle that was moved to `offset` on its own side."""
    side = 1 if handle.offset > 0 else -1
    return round(min(max(side * offset, least), most))
