"""What a field needs in memory, said before it starts."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.live_weights import BRUSH, HELD, HELD_BYTES
from relpos_viewer.core.whole_weights import WHOLE_CELLS

# Code of kernels, thread stacks, blocks of the workers, and pictures in float64.
FIXED = 112 << 20


@dataclass(frozen=True)
class FieldCost:
    """Bytes that one head's live pictures need, and the cells that a first pass visits at most."""

    memory: int
    cells: int


def estimate(
    n_query: int, n_key: int, head_dim: int = 64, display: tuple[int, int] = (512, 512), item: int = 4
) -> FieldCost:
    """Return what a field of one head needs.

    Args:
        n_query: number of queries.
        n_key: number of keys.
        head_dim: width of a query.
        display: largest [h, w] of its picture of the whole matrix.
        item: bytes of a number.
    """
    bins = min(display[1], n_key)
    sums = 2 * n_query * bins * item  # sums and peaks of every row
    # As given, and turned round; keys also spread over the pixel columns.
    factors = (2 * n_query + 4 * n_key) * head_dim * item
    # Scores and exponentials of what is held, and four int64 for each run of cells in one pixel column.
    held = max(BRUSH * n_query * item, min(HELD_BYTES, HELD * n_query * item))
    held = min(held, n_query * n_key * item)
    tables = 4 * 8 * n_query * (held // (n_query * item) * bins // n_key + 2 * HELD // BRUSH)
    curves = 12 * (2 * n_key - 1) * item
    cells = n_query * n_key
    live = sums + 2 * held + tables
    if cells <= WHOLE_CELLS:
        live = max(live, 2 * cells * item)  # scores and weights, while edits move much
    return FieldCost(live + factors + curves + FIXED, cells)


def check_memory(cost: FieldCost, device: torch.device) -> None:
    """Refuse what does not fit.

    Raises:
        ViewerError: with what is needed and what there is.
    """
    free = free_memory(device)
    if free is not None and cost.memory > free:
        raise ViewerError(
            f"this sequence needs {gigabytes(cost.memory)} of memory and {gigabytes(free)} are free; shorten it, or "
            "close other programs."
        )


def free_memory(device: torch.device) -> int | None:
    """Return the bytes that are free on a device; None where that cannot be known."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu":
        return None
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123  no file of anyone's
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def gigabytes(count: int) -> str:
    """Write bytes for people: 0.3 GB."""
    return f"{count / 1e9:.1f} GB"
