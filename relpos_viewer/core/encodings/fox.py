"""FoX, the Forgetting Transformer. Lin et al. 2025, arXiv 2503.02130."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from relpos_viewer.core.encodings.base import (
    Encoding,
    Handle,
    Parameter,
    Span,
    Variant,
    check_table,
    check_width,
    constant,
    needs_queries,
)
from relpos_viewer.core.encodings.relative import drawn
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import digits

SEED = 29


@dataclass(frozen=True, eq=False, kw_only=True)
class FoX(Encoding):
    """bias = Σ_{l=j+1}^{i} ln σ(f_l): each token after the key makes it fade; nothing is added to the future.

    The model computes f_l from the layer's input. Here it is w_h·k_l + gate_bias, or what is given for each token.
    """

    name = "fox"
    title = "FoX forgetting gates"
    paper = "Lin et al. 2025, arXiv 2503.02130"
    summary = (
        "Every token may close a gate a little: what lies before it fades, by how much depends on content."
    )
    toeplitz = False
    sign = "The sum runs from the key's successor to the query, so δ = 0 has none."
    scaling = "Content is scaled, the gates are added as they are."
    parameters = (
        Parameter(
            "gate_bias",
            "float",
            3.0,
            "What is added to every gate; large keeps all, small forgets.",
            -50.0,
            50.0,
        ),
        Parameter("w", "table", None, "Weights w [head, d] of the gates on keys; seeded when empty."),
        Parameter("gates", "table", None, "The gates f themselves [head, key], in place of the two above."),
    )
    head_axes: ClassVar = {"w": 0, "gates": 0}

    gate_bias: float = 3.0
    w: Tensor | None = None
    gates: Tensor | None = None

    def __post_init__(self) -> None:
        """Check the tables' axes."""
        if self.w is not None:
            check_table(self.w, f"{self.name} w", "[head, d]", 2)
        if self.gates is not None:
            check_table(self.gates, f"{self.name} gates", "[head, key]", 2)

    def logits(self, inputs: AttentionInputs) -> Tensor:
        """Return f [head, key].

        Raises:
            ViewerError: when a table does not fit the keys.
        """
        if self.gates is not None:
            if self.gates.shape[1] != inputs.n_key:
                raise ViewerError(
                    f"the {self.name} gates hold {self.gates.shape[1]} tokens, the sequence {inputs.n_key}; "
                    "they must agree."
                )
            return self.gates.double().expand(inputs.heads, -1).to(inputs.device)
        _, k = needs_queries(self.title, inputs)
        return (
            torch.einsum("hkd,hd->hk", k.double(), self._weights(k.shape[2], inputs.heads).to(k.device))
            + self.gate_bias
        )

    def _weights(self, head_dim: int, heads: int) -> Tensor:
        """Return w, float64 [head, d]."""
        if self.w is None:
            return drawn(SEED, heads, self.first_head, head_dim) / head_dim**0.5
        return check_width(self.w, f"{self.name} w", head_dim, "a key").double().expand(heads, -1)

    def fading(self, logits: Tensor) -> Tensor:
        """Return what each gate adds, at most 0: ln σ(f)."""
        return logsigmoid(logits)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return the sums of fading, [head, rows, cols]."""
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        start = inputs.query_start
        faded = self.fading(self.logits(inputs)).cumsum(-1)  # float64 [head, key], as long sums lose digits
        queries = faded[:, start + rows[0] : start + rows[1], None]  # [head, rows, 1]
        sums = queries - faded[:, None, slice(*cols)]  # [head, rows, cols]
        place = torch.arange(inputs.n_key, device=inputs.device)  # [key]
        future = place[None, slice(*cols)] > place[start + rows[0] : start + rows[1], None]  # [rows, cols]
        return sums.masked_fill(future, 0.0).to(inputs.content_dtype)

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the handle of the gate bias: where a line of gates with w = 0 would be.

        The mean that is drawn lies elsewhere, as the content of keys bends it, and n does not say what they are.
        """
        if self.gates is not None:
            return ()
        far = max(n // 3, 1)
        value = far * float(self.fading(torch.tensor(self.gate_bias, dtype=torch.float64)))
        help = f"Gate bias {digits(self.gate_bias, 4)}, on the line of gates without content, not on the mean drawn"
        return (Handle("gate bias", -far, value, None, "value", help),)

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with the gate bias for which the line passes through the pointer."""
        low, high = self.parameters[0].minimum, self.parameters[0].maximum
        wanted = min(value, -1e-9) / abs(handle.offset)
        rising = self.fading(torch.tensor(1.0)) > self.fading(torch.tensor(-1.0))
        for _ in range(60):  # bisection: fading is monotone in the bias
            middle = (low + high) / 2
            above = float(self.fading(torch.tensor(middle, dtype=torch.float64))) > wanted
            low, high = (low, middle) if above == bool(rising) else (middle, high)
        return replace(self, gate_bias=(low + high) / 2)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the gates read with the other sign, which is the sister family."""
        from relpos_viewer.core.encodings.cable import Cable  # which is made from this one

        other = FoX if isinstance(self, Cable) else Cable
        given = {name: getattr(self, name) for name in ("gate_bias", "w", "gates", "heads", "first_head")}
        help = f"The gates read as {other(**given).title} has them: −softplus(f) is ln σ(−f)."
        return (Variant("other sign of the gates", help, other(**given)),)

    def _fading_code(self) -> str:
        return "torch.nn.functional.logsigmoid(f)"

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return that the sums go on."""
        return "The sums over the tokens between go on: a far key fades further with each, by what they say."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the sums of fading."""
        if self.gates is not None:
            table = constant("GATES", self.gates, "[head, key]")
            logits = "GATES.to(q)"
        else:
            weights = self._weights(self.written_width(head_dim), self.heads or 1)
            table = constant("W", weights, "[head, d]")
            logits = f'torch.einsum("hkd,hd->hk", k, W.to(k)) + {self.gate_bias!r}'
        return f"""{table}


def bias(n_query, n_key, q, k, scale=None):
    f = {logits}  # [head, key]
    # Summed as float64, as long sums lose digits.
    faded = {self._fading_code()}.double().cumsum(-1)  # [head, key]
    sums = faded[:, n_key - n_query :, None] - faded[:, None, :]  # [head, query, key]
    return sums.masked_fill(offsets(n_query, n_key, q.device) > 0, 0.0).to(q)
"""
