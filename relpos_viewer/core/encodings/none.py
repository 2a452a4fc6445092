"""NoPE: no positional term. Kazemnejad et al. 2023, arXiv 2305.19466."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import Encoding


@dataclass(frozen=True, eq=False, kw_only=True)
class NoEncoding(Encoding):
    """Order enters through the mask alone."""

    name = "none"
    title = "None (NoPE)"
    paper = "Kazemnejad et al. 2023, arXiv 2305.19466"
    summary = "No positional term: order enters through the causal mask alone."
    toeplitz = True

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return zeros [head, 2n−1]."""
        return torch.zeros(self.heads or 1, 2 * n - 1, dtype=dtype)

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that nothing can go wrong."""
        return "There is no positional term to leave its range; every row only has more keys to share its weight among."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return zeros."""
        return f"""def curve(offset):
    return torch.zeros({self.heads or 1}, len(offset), dtype=torch.float64)  # [head, count]
"""
