"""Figures that sum up a head: how much of it is position, how far it looks, how spread it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.offsets import offset_matrix

# A variance that is less than this part of the square of the values is rounding.
CONSTANT = 1e-12
# Which shares of a diagonal's cells lie below the two ends of its spread.
SPREAD = (0.1, 0.9)
# Diagonals sorted together: enough to keep numpy busy, few enough to be of nearly the same length.
BLOCK = 64


@dataclass(frozen=True)
class HeadMeasures:
    """What the functions below say of one head; NaN where a figure is not defined.

    Attributes:
        toeplitz_share: see the function of that name.
        position_share: likewise.
        mean_distance: in tokens.
        entropy_bits: of a row of weights, the mean.
        document_leak: the largest of all queries; None where all keys belong together.
    """

    toeplitz_share: float
    position_share: float
    mean_distance: float
    entropy_bits: float
    document_leak: float | None = None


def skew(matrix: Tensor) -> Tensor:
    """Return a matrix [query, key] with its diagonals as columns, [query, 2·key−1]; rows in reverse order.

    Column δ + n_key − 1 holds the cells with key − query = δ, and zeros (False) where the diagonal has left the
    matrix. The trick of Huang et al. 2018 (arXiv 1809.04281): pad every row, and read the memory with rows one
    shorter.
    """
    n_query, n_key = matrix.shape
    padded = torch.nn.functional.pad(matrix.flip(0), (0, n_query))  # [query, key + query]
    width = n_query + n_key - 1
    diagonals = padded.flatten()[: n_query * width].view(n_query, width)  # [query, query + key − 1]
    return torch.nn.functional.pad(diagonals, (0, n_key - n_query))  # [query, 2·key−1]


def diagonal_means(values: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of each diagonal's finite visible cells and their number, float64 [2·key−1] each."""
    counted = visible & values.isfinite()  # [query, key]
    sums = skew(torch.where(counted, values, 0)).sum(0, dtype=torch.float64)  # [2·key−1]
    counts = skew(counted).sum(0, dtype=torch.float64)  # [2·key−1]
    return sums / counts.clamp_min(1), counts


def visible_offsets(visible: Tensor) -> np.ndarray:
    """Return which offsets have a visible cell, bool [2·key−1], for visible [query, key]."""
    return skew(visible).any(0).cpu().numpy()


def diagonal_mean(values: Tensor, visible: Tensor) -> np.ndarray:
    """Return the mean along each diagonal, float32 [2·key−1], NaN where nothing is visible; arguments as below."""
    mean, counts = diagonal_means(values, visible)
    return mean.masked_fill(counts == 0, math.nan).float().cpu().numpy()


def diagonal_summary(values: Tensor, visible: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean along each diagonal and the `SPREAD` quantiles of its finite visible cells.

    Args:
        values: [query, key].
        visible: bool [query, key].

    Returns:
        Mean, lower and upper quantile, float32 [2·key−1] each, NaN where nothing is visible.
    """
    n_query, n_key = values.shape
    plain = values.cpu().numpy()  # [query, key]
    # With a margin, a diagonal that leaves the matrix within a block of offsets finds NaN there.
    padded = np.full((n_query, n_key + 2 * BLOCK), math.nan, plain.dtype)  # [query, key + 2·BLOCK]
    # In numpy: torch takes ten times as long to ask what is finite.
    np.copyto(padded[:, BLOCK:-BLOCK], plain, where=visible.cpu().numpy() & np.isfinite(plain))
    down, across = padded.strides
    start = n_key - n_query
    summary = np.full((3, 2 * n_key - 1), math.nan, np.float32)  # [mean low high, 2·key−1]
    for first in range(1 - n_key, n_key, BLOCK):
        last = min(first + BLOCK, n_key)  # offsets first … last − 1
        low, high = (
            max(0, 1 - last - start),
            min(n_query, n_key - first - start),
        )  # queries on these diagonals
        if low < high:
            corner = padded[low:, BLOCK + low + start + first :]
            diagonals = np.lib.stride_tricks.as_strided(
                corner, (last - first, high - low), (across, down + across), writeable=False
            )  # [offset, query]
            summary[:, first + n_key - 1 : last + n_key - 1] = row_summary(diagonals)
    return summary[0], summary[1], summary[2]


def row_summary(values: np.ndarray) -> np.ndarray:
    """Return the mean of each row [row, cell] and its `SPREAD` quantiles, cells that are NaN left out.

    Returns:
        float64 [3, row]: mean, lower and upper quantile, interpolated as `numpy.quantile` does; NaN for empty rows.
    """
    ascending = np.sort(values, axis=1)  # [row, cell], NaN last
    unknown = np.isnan(ascending)  # [row, cell]
    counts = values.shape[1] - unknown.sum(axis=1)  # [row]
    summary = np.full((3, len(values)), math.nan)  # [mean low high, row]
    some = np.flatnonzero(counts)  # [some], rows with a cell
    if not len(some):
        return summary
    counts = counts[some]
    for place, share in enumerate(SPREAD, start=1):
        at = share * (counts - 1)  # [some], between two cells
        below = at.astype(np.int64)
        left = ascending[some, below].astype(np.float64)  # [some]
        right = ascending[some, np.minimum(below + 1, counts - 1)]  # [some]
        summary[place, some] = left + (right - left) * (at - below)
    np.copyto(ascending, 0, where=unknown)
    summary[0, some] = ascending.sum(axis=1, dtype=np.float64)[some] / counts
    return summary


def toeplitz_share(values: Tensor, visible: Tensor) -> float:
    """Return how much of the variance of `values` [query, key] over visible cells is a function of δ alone.

    1 for a Toeplitz term, NaN for a constant one.
    """
    counted = visible & values.isfinite()
    plain = values[counted].double()  # [cell]
    if plain.numel() == 0:
        return math.nan
    total = plain.var(correction=0)
    mean, counts = diagonal_means(values, visible)
    # Σ (x − mean of its diagonal)² = Σ (x − mean)² − Σ counts · (mean of the diagonal − mean)²
    between = (counts * (mean - plain.mean()) ** 2).sum() / plain.numel()
    # A term that is constant up to float32 rounding has no variance to share out.
    if total <= CONSTANT * max(1.0, float(plain.abs().max()) ** 2):
        return math.nan
    return float(between / total)


def position_share(content: Tensor, positional: Tensor, visible: Tensor) -> float:
    """Return the positional term's share of the score's variance within rows, 0 … 1; NaN when nothing varies.

    Row means are taken out first, as the softmax does not see them: share = var(positional) /
    (var(content) + var(positional)).
    """

    def spread(term: Tensor) -> float:
        counted = visible & term.isfinite()
        plain = torch.where(counted, term, 0).double()  # [query, key]
        count = counted.sum(-1, keepdim=True).clamp_min(1)  # [query, 1]
        centred = torch.where(counted, plain - plain.sum(-1, keepdim=True) / count, 0)  # [query, key]
        return float((centred**2).sum())

    own, other = spread(positional), spread(content)
    return own / (own + other) if own + other > 0 else math.nan


def mean_distance(weights: Tensor) -> float:
    """Return the mean of |δ| under the weights [query, key], averaged over rows that see a key; in tokens."""
    distance = offset_matrix(*weights.shape, weights.device).abs()  # [query, key]
    rows = weights.sum(-1)  # [query]
    seen = rows > 0
    if not seen.any():
        return math.nan
    return float(((weights * distance).sum(-1)[seen] / rows[seen]).mean())


def entropy_bits(weights: Tensor) -> float:
    """Return the mean entropy of the rows of weights [query, key] that see a key, in bits."""
    seen = weights.sum(-1) > 0
    if not seen.any():
        return math.nan
    return float(-torch.special.xlogy(weights, weights).sum(-1)[seen].mean() / math.log(2))


def document_leak(weights: Tensor, documents: tuple[int, ...]) -> Tensor:
    """Return the weight each query gives to keys of other documents, [query].

    Args:
        weights: [query, key].
        documents: the document of each key.
    """
    document = torch.tensor(documents, device=weights.device)  # [key]
    other = document[None, :] != document[weights.shape[1] - weights.shape[0] :, None]  # [query, key]
    return (weights * other).sum(-1)  # [query]
