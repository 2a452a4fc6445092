"""Chosen rows and columns only: the picture that can be shown before the exact one is ready."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.crew import Crew
from relpos_viewer.core.head_terms import HeadTerms
from relpos_viewer.core.normaliser import Normaliser
from relpos_viewer.core.row_statistics import parts
from relpos_viewer.core.visibility import Visibility

# Keys that a chunk of chosen rows is computed for at once.
KEYS = 4096


def chosen(terms: HeadTerms, stage: str, queries: np.ndarray, keys: np.ndarray) -> Tensor:
    """Return "content" or "base" (content + own term) of every chosen query with every chosen key, [rows, cols]."""
    q, k = terms.q, terms.k
    if q is None or k is None or (stage == "base" and terms.curve is None and terms.turned is None):
        return _row_by_row(terms, stage, queries, keys)
    turned = torch.from_numpy(terms.n_query - 1 - queries).to(terms.device)  # [rows]
    cols = torch.from_numpy(keys).to(terms.device)  # [cols]
    if stage == "content":
        return q[turned] @ k[cols].t()
    if terms.turned is not None:
        scores = terms.turned[0][turned] @ terms.turned[1][cols].t()  # [rows, cols]
    else:
        assert terms.curve is not None
        scores = q[turned] @ k[cols].t()  # [rows, cols]
        scores += curve_at(terms.curve, terms, queries, keys)
    if terms.inputs.bias is not None:
        rows = torch.from_numpy(queries).to(terms.device)
        scores += terms.inputs.bias[0][rows][:, cols]
    return scores


def curve_at(curve: Tensor, terms: HeadTerms, queries: np.ndarray, keys: np.ndarray) -> Tensor:
    """Return a curve [2·key−1] at every chosen query with every chosen key, [rows, cols]."""
    place = keys[None, :] - queries[:, None] - terms.start + terms.n_key - 1  # [rows, cols]
    return curve[torch.from_numpy(place).to(curve.device)]


def chosen_normaliser(
    terms: HeadTerms, visibility: Visibility, curve: Tensor, queries: np.ndarray, crew: Crew
) -> Normaliser:
    """Return the exact normaliser of the chosen rows, [rows] each; O(rows · key · d)."""
    reference = torch.zeros(len(queries), dtype=terms.dtype, device=terms.device)  # [rows]
    inverse = torch.zeros_like(reference)

    def job(part: tuple[int, int]) -> None:
        some = queries[part[0] : part[1]]
        logs = []
        for a, b in parts(terms.n_key, KEYS):
            keys = np.arange(a, b)
            scores = _chosen_rows(terms, curve, some, (a, b))  # [rows, keys]
            seen = visibility.grid(some, keys)
            if not seen.all():
                scores.masked_fill_(torch.from_numpy(~seen).to(scores.device), -math.inf)
            top = scores.amax(1, keepdim=True)  # [rows, 1]
            top = torch.where(top == -math.inf, 0.0, top)
            logs.append(scores.sub_(top).exp_().sum(1).log() + top[:, 0])  # [rows]
        log = torch.stack(logs).logsumexp(0)  # [rows]
        empty = log == -math.inf
        reference[part[0] : part[1]] = log.masked_fill(empty, 0.0)
        inverse[part[0] : part[1]] = (~empty).to(log) + 0.0 * log.masked_fill(empty, 0.0)  # NaN stays NaN

    crew.run(job, parts(len(queries), 16))
    return Normaliser(reference, inverse)


def _chosen_rows(terms: HeadTerms, curve: Tensor, queries: np.ndarray, cols: tuple[int, int]) -> Tensor:
    """Return the scores of chosen rows under the edit `curve` over a run of keys, [rows, cols]."""
    if terms.q is None or terms.k is None or not terms.own_is_toeplitz:
        keys = np.arange(*cols)
        scores = chosen(terms, "base", queries, keys)
        total = curve
    else:
        turned = torch.from_numpy(terms.n_query - 1 - queries).to(terms.device)  # [rows]
        scores = terms.q[turned] @ terms.k[cols[0] : cols[1]].t()  # [rows, cols]
        assert terms.curve is not None
        total = terms.curve + curve  # [2·key−1]
    for row, query in enumerate(queries.tolist()):
        first = cols[0] - query - terms.start + terms.n_key - 1
        scores[row] += total[first : first + cols[1] - cols[0]]
    return scores


def _row_by_row(terms: HeadTerms, stage: str, queries: np.ndarray, keys: np.ndarray) -> Tensor:
    """The same for scores that were given, and for families without factors."""
    write = terms.content if stage == "content" else terms.base
    span = (int(keys.min()), int(keys.max()) + 1)
    cols = torch.from_numpy(keys - span[0]).to(terms.device)
    rows = []
    for query in queries.tolist():
        out = torch.empty(1, span[1] - span[0], dtype=terms.dtype, device=terms.device)
        rows.append(write((query, query + 1), span, out)[0, cols])
    return torch.stack(rows)  # [rows, cols]
