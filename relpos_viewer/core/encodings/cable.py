"""CABLE, context-aware biases for length extrapolation. Veisi et al. 2025, arXiv 2503.08067."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import softplus

from relpos_viewer.core.encodings.fox import FoX


@dataclass(frozen=True, eq=False, kw_only=True)
class Cable(FoX):
    """bias = −Σ_{l=j+1}^{i} softplus(h_l): FoX with the gates' sign turned, as ln σ(f) = −softplus(−f)."""

    name = "cable"
    title = "CABLE contextual biases"
    paper = "Veisi et al. 2025, arXiv 2503.08067"
    summary = "ALiBi whose slope is a sum over the tokens between, each adding what its content says."
    scaling = "The authors' code leaves content unscaled (choose scale 1); the bias is added as it is."
    parameters = (
        replace(
            FoX.parameters[0],
            default=-3.0,
            help="What is added to every token's step; small keeps, large forgets.",
        ),
        *FoX.parameters[1:],
    )

    gate_bias: float = -3.0

    def fading(self, logits: Tensor) -> Tensor:
        """Return what each token adds, at most 0: −softplus(h)."""
        return -softplus(logits)

    def _fading_code(self) -> str:
        return "-torch.nn.functional.softplus(f)"
