"""The words beside the pointer, and the table that goes through the clipboard. Plain text, no widgets."""

from __future__ import annotations

import math

import numpy as np

from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import parse_number, short
from relpos_viewer.views.curve_item import LabelPart


def point_label(
    curves: CurveSet, edit: np.ndarray, offset: int, *, fine: bool = False, snap_step: float | None = None
) -> tuple[LabelPart, ...]:
    """Return the parts of ``δ = −17  b = +7.72 (+0.22 +7.5)`` with what else there is to know.

    Args:
        curves: what is shown.
        edit: Δ [head, 2n−1] as it stands.
        offset: which point.
        fine: whether a fine drag is under way.
        snap_step: distance of the round values a drag snaps to.
    """
    column = offset + curves.n - 1
    family, added = float(curves.family[curves.head, column]), float(edit[curves.head, column])
    total = (0.0 if math.isnan(family) else family) + added
    parts = [(f"δ = {short(offset)}", "strong"), (f"   b = {short(total, signed=True)}", "plain")]
    own = "no cell" if math.isnan(family) else short(family, signed=True)
    mean = "" if curves.exact or math.isnan(family) else "mean "
    if added or mean:
        parts.append((f" ({mean}{own}{' ' + short(added, signed=True) if added else ''})", "muted"))
    notes = []
    if curves.buckets is not None:
        notes.append(f"bucket {curves.buckets[column]}")
    if not curves.visible[column]:
        notes.append("masked")
    elif curves.beyond is not None and curves.beyond[column]:
        notes.append("beyond drawn range")
    if snap_step is not None:
        notes.append(f"round to {short(snap_step)}")
    if fine:
        notes.append("fine ×0.1")
    if notes:
        parts.append(("   " + " · ".join(notes), "muted"))
    return tuple(parts)


def write_table(offsets: np.ndarray, totals: np.ndarray) -> str:
    """Return one line for each offset: δ, a tab, b; digits that give the same float32 back."""
    lines = [f"{offset}\t{total!s}" for offset, total in zip(offsets, totals.astype(np.float32), strict=True)]
    return "\n".join(lines) + "\n"


def read_table(text: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Read lines of two numbers, δ and b, apart by tabs, semicolons or spaces; a first line of words is skipped.

    Returns:
        offsets int64 [m], values float64 [m].

    Raises:
        ViewerError: a line is no such pair, an offset is no whole number or lies outside −(n−1) … n−1.
    """
    offsets, values = [], []
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        where = f"Line {number} of the clipboard, “{line.strip()[:40]}”,"
        try:
            offset, value = (parse_number(cell) for cell in line.replace(";", " ").split())
        except ValueError:
            if number == 1 and len(lines) > 1:
                continue
            raise ViewerError(f"{where} is not an offset and a value; copy lines like “−3  1.25”.") from None
        if offset != int(offset) or abs(offset) > n - 1:
            raise ViewerError(f"{where} has no whole offset from {short(1 - n)} to {n - 1}.")
        offsets.append(int(offset))
        values.append(value)
    if not offsets:
        raise ViewerError("The clipboard holds no offsets and values; copy lines like “−3  1.25”.")
    return np.array(offsets, np.int64), np.array(values)
