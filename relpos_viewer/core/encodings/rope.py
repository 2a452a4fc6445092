"""RoPE, rotary position embedding. Su et al. 2021, arXiv 2104.09864; scalings by the papers named at each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from relpos_viewer.core.encodings.base import (
    BIAS_OF_VECTORS,
    Convention,
    Encoding,
    Handle,
    Parameter,
    Span,
    Variant,
    constant,
    needs_queries,
)
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.numbers import digits

SCALINGS = ("none", "linear", "ntk", "dynamic", "yarn", "llama3")


@dataclass(frozen=True, eq=False, kw_only=True)
class Rope(Encoding):
    """q and k are turned by angles p·θ_m; the score depends on their difference δ·θ_m, and on q and k.

    positional = score with rotation − score without, so without YaRN's attention factor it is zero at δ = 0.
    """

    name = "rope"
    title = "RoPE rotary"
    paper = "Su et al. 2021, arXiv 2104.09864"
    summary = "Pairs of query and key dimensions are rotated by position; what remains depends on j − i."
    toeplitz = False
    sign = "Angles grow with position: query and key are turned by i·θ and j·θ, the score depends on δ·θ."
    scaling = (
        "Content and rotation share 1/√d; YaRN puts its factor on cos and sin, so the score has it squared."
    )
    parameters = (
        Parameter("base", "float", 10000.0, "Base of the frequencies θ_m = base^(−2m/d).", 1.000001, 1e12),
        Parameter(
            "layout",
            "choice",
            "half",
            "Which dimensions pair up: half (m, m + d/2: Llama, NeoX) or interleaved (2m, 2m + 1: GPT-J).",
            choices=("half", "interleaved"),
        ),
        Parameter(
            "fraction", "float", 1.0, "Share of the head's dimensions that rotate, from the first.", 0.0, 1.0
        ),
        Parameter(
            "scaling_rule",
            "choice",
            "none",
            "How frequencies are stretched for contexts longer than trained: linear, NTK, dynamic NTK, YaRN, Llama 3.",
            choices=SCALINGS,
        ),
        Parameter(
            "factor",
            "float",
            4.0,
            "How many times longer the context becomes, by the scaling.",
            1.0,
            1e6,
            when=("scaling_rule", SCALINGS[1:]),
        ),
        Parameter(
            "original",
            "int",
            8192,
            "Length that was trained before the scaling.",
            1,
            2**30,
            when=("scaling_rule", ("dynamic", "yarn", "llama3")),
        ),
        Parameter(
            "low",
            "float",
            1.0,
            "Turns within the original length below which a pair is stretched.",
            1e-6,
            1e6,
            when=("scaling_rule", ("yarn", "llama3")),
        ),
        Parameter(
            "high",
            "float",
            4.0,
            "Turns above which a pair is left alone: 4 in Llama 3, 32 in YaRN.",
            1e-6,
            1e6,
            when=("scaling_rule", ("yarn", "llama3")),
        ),
        Parameter(
            "attention_factor",
            "float",
            0.0,
            "YaRN's factor on cos and sin; 0 takes 0.1 ln(factor) + 1.",
            0.0,
            1e3,
            when=("scaling_rule", ("yarn",)),
        ),
    )

    base: float = 10000.0
    layout: str = "half"
    fraction: float = 1.0
    scaling_rule: str = "none"
    factor: float = 4.0
    original: int = 8192
    low: float = 1.0
    high: float = 4.0
    attention_factor: float = 0.0

    def __post_init__(self) -> None:
        """Check that the two ends of a blend are in order."""
        if self.scaling_rule in ("yarn", "llama3") and self.low >= self.high:
            raise ViewerError(f"low must lie below high ({self.high:g}), not at {self.low:g}.")

    def rotary_dim(self, head_dim: int) -> int:
        """Return the number of dimensions that rotate: an even number, as they turn in pairs.

        Raises:
            ViewerError: when the fraction asks for an odd number.
        """
        dim = int(head_dim * self.fraction)
        if dim % 2:
            raise ViewerError(
                f"rope rotates pairs, but {dim} of {head_dim} dimensions is an odd number; change fraction or dim."
            )
        return dim

    def frequencies(self, head_dim: int, n: int = 0) -> Tensor:
        """Return θ_m in radians per position for a sequence of n, float64 [rotary_dim / 2]."""
        dim = self.rotary_dim(head_dim)
        if dim == 0:
            return torch.empty(0, dtype=torch.float64)
        return _STRETCHED[self.scaling_rule](self, dim, n)

    @property
    def amplitude(self) -> float:
        """The factor on cos and sin, which the score sees squared; 1 but for YaRN."""
        if self.scaling_rule != "yarn":
            return 1.0
        return self.attention_factor or 0.1 * math.log(self.factor) + 1.0

    def rotate(self, x: Tensor, positions: Tensor, n: int) -> Tensor:
        """Turn x [head, count, d] by its positions [count] in a sequence of n."""
        angles = positions.double()[:, None] * self.frequencies(x.shape[-1], n).to(x.device)  # [count, pair]
        cos, sin = (
            (self.amplitude * wave).to(x.dtype) for wave in (angles.cos(), angles.sin())
        )  # [count, pair]
        dim = 2 * angles.shape[1]
        turning, passing = x[..., :dim], x[..., dim:]  # [head, count, dim], [head, count, d−dim]
        if self.layout == "half":
            first, second = turning.chunk(2, dim=-1)  # [head, count, pair] each
        else:
            first, second = turning[..., 0::2], turning[..., 1::2]  # [head, count, pair] each
        turned = (first * cos - second * sin, first * sin + second * cos)  # [head, count, pair] each
        joined = torch.cat(turned, -1) if self.layout == "half" else torch.stack(turned, -1).flatten(-2)
        return torch.cat((joined, passing), dim=-1)  # [head, count, d]

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Return R q and R k."""
        q, k = needs_queries(self.title, inputs)
        keys = torch.arange(inputs.n_key, device=k.device)  # [key]
        n = inputs.n_key
        return self.rotate(q, keys[inputs.query_start :], n), self.rotate(k, keys, n)

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return scale · (R q · R k − q · k), [head, rows, cols]."""
        q, k = needs_queries(self.title, inputs)
        rows, cols = rows or (0, inputs.n_query), cols or (0, inputs.n_key)
        q, k = q[:, slice(*rows)], k[:, slice(*cols)]  # [head, rows, d], [head, cols, d]
        start, n = inputs.query_start, inputs.n_key
        turned_q = self.rotate(q, torch.arange(*rows, device=q.device) + start, n)  # [head, rows, d]
        turned_k = self.rotate(k, torch.arange(*cols, device=k.device), n)  # [head, cols, d]
        positional = turned_q @ turned_k.mT * scale - q @ k.mT * scale  # [head, rows, cols]
        if self.amplitude == 1.0:
            # At δ = 0 nothing turns; the two products differ there by rounding alone.
            positional.diagonal(start + rows[0] - cols[0], dim1=-2, dim2=-1).zero_()
        return positional

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return one handle a pair whose half turn lies within the sequence, at that distance; all move the base."""
        if head_dim is None:
            return ()
        plain = replace(self, scaling_rule="none")
        half_turns = math.pi / plain.frequencies(head_dim)  # [pair], in positions
        handles = [
            Handle(
                f"pair {pair}",
                -half_turn,
                0.0,
                None,
                "offset",
                f"Pair {pair} turns once in {digits(2 * half_turn, 4)} positions; base {digits(self.base, 6)}",
            )
            for pair, half_turn in enumerate(half_turns.tolist())
            if pair and half_turn <= n - 1  # pair 0 turns by 1 radian whatever the base
        ]
        return tuple(reversed(handles))

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with the base for which the pair's half turn is −offset."""
        assert head_dim is not None, "without a width there are no handles"
        pair = int(handle.name.removeprefix("pair "))
        # π / θ = |δ| with θ = base^(−2·pair/dim)
        power = self.rotary_dim(head_dim) / (2 * pair)
        wanted = power * math.log(max(-offset, math.pi) / math.pi)
        domain = self.parameters[0]
        assert domain.minimum is not None and domain.maximum is not None
        low, high = math.log(domain.minimum), math.log(domain.maximum)
        return replace(self, base=math.exp(min(max(wanted, low), high)))

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the frequency of each pair, and the position at which it has turned once."""
        if head_dim is None:
            return ()
        thetas = self.frequencies(head_dim, n).tolist()
        rows = tuple(
            (str(pair), f"{theta:.6g}", f"{2 * math.pi / theta:.6g}") for pair, theta in enumerate(thetas)
        )
        pairs = "m and m + d/2" if self.layout == "half" else "2m and 2m + 1"
        text = f"Pair m holds dimensions {pairs}. Factor on cos and sin: {self.amplitude:.7g}."
        return (Convention("Frequencies", text, ("pair", "radians a position", "wavelength"), rows),)

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return the other pairing of dimensions, and YaRN's factor on one of q and k alone."""
        other = "interleaved" if self.layout == "half" else "half"
        help = f"Weights of a model with {self.layout} pairs read as {other}: other dimensions turn together."
        found = [Variant(f"{other} pairs", help, replace(self, layout=other))]
        if self.scaling_rule == "yarn":
            help = "The factor taken once, as if it stood on the score; it stands on cos and sin, so it is squared."
            once = replace(self, attention_factor=math.sqrt(self.amplitude))
            found.append(Variant("factor once", help, once))
        return tuple(found)

    def trained_length(self) -> int | None:
        """Return the length before the scaling."""
        return None if self.scaling_rule == "none" else self.original

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return how many pairs turned in training, and how many see angles that they never saw."""
        if head_dim is None or not self.rotary_dim(head_dim):
            return "No pair of dimensions turns, so no angle is new."
        trained = _plain(self.base, self.rotary_dim(head_dim))  # [pair]
        turned = int((n_trained * trained >= 2 * math.pi).sum())
        new = int(self.new_angles(n_trained, n, head_dim).sum())
        words = f"{turned} of {len(trained)} pairs turned at least once in training; "
        seen = (
            f"{new} slow ones see angles they never saw" if new else "no slow one sees an angle it never saw"
        )
        rules = {
            "none": "",
            "linear": f", as every position is divided by {self.factor:g}",
            "ntk": f", with the base raised for {self.factor:g} times the length",
            "dynamic": ", with the base raised by the length itself",
            "yarn": f", as slow pairs are slowed down by {self.factor:g} and fast ones left alone",
            "llama3": f", as slow pairs are slowed down by {self.factor:g} and fast ones left alone",
        }
        return f"{words}{seen}{rules[self.scaling_rule]}."

    def new_angles(self, n_trained: int, n: int, head_dim: int) -> Tensor:
        """Return which pairs are turned by angles that no sequence of n_trained turned them by, bool [pair].

        Training is taken to know the plain frequencies; a pair that turned once there has seen every angle.
        """
        whole = 2 * math.pi
        seen = n_trained * _plain(
            self.base, self.rotary_dim(head_dim)
        )  # [pair], the largest angle of training
        now = n * self.frequencies(head_dim, n)  # [pair]
        # Dividing by the factor and multiplying by the length need not meet to the last bit.
        return (seen < whole) & (now > seen * (1 + 1e-9))

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return the rotation, for sequences of n_key."""
        head_dim = self.written_width(head_dim)
        if self.layout == "half":
            split, join = "turning.chunk(2, dim=-1)", "torch.cat(turned, -1)"
        else:
            split, join = "(turning[..., 0::2], turning[..., 1::2])", "torch.stack(turned, -1).flatten(-2)"
        dim = self.rotary_dim(head_dim)
        amplitude = "" if self.amplitude == 1.0 else f"{self.amplitude!r} * "
        return f"""{constant("THETA", self.frequencies(head_dim, n_key), "[pair], radians a position")}


def rotate(x, positions):
    angles = positions[:, None] * THETA  # [count, pair]
    cos, sin = ({amplitude}angles.cos()).to(x), ({amplitude}angles.sin()).to(x)
    turning, passing = x[..., :{dim}], x[..., {dim}:]
    first, second = {split}
    turned = (first * cos - second * sin, first * sin + second * cos)
    return torch.cat(({join}, passing), dim=-1)


{BIAS_OF_VECTORS}
    keys = torch.arange(n_key)
    turned = rotate(q, keys[n_key - n_query :]) @ rotate(k, keys).mT
    return scale * (turned - q @ k.mT)  # [head, query, key]
"""


def _plain(base: float, dim: int) -> Tensor:
    """Return base^(−2m/dim), float64 [dim / 2]."""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)  # [pair]


def _linear(rope: Rope, dim: int, _n: int) -> Tensor:
    """Position interpolation. Chen et al. 2023, arXiv 2306.15595: θ / factor."""
    return _plain(rope.base, dim) / rope.factor


def _ntk(rope: Rope, dim: int, _n: int) -> Tensor:
    """NTK-aware: base · factor^(d/(d−2)), so the slowest pair is stretched by the factor and the fastest stays."""
    return _plain(rope.base * _power(rope.factor, dim), dim)


def _dynamic(rope: Rope, dim: int, n: int) -> Tensor:
    """Dynamic NTK: as NTK, with the factor growing once the sequence is longer than the original length."""
    grown = rope.factor * max(n, rope.original) / rope.original - (rope.factor - 1)
    return _plain(rope.base * _power(grown, dim), dim)


def _yarn(rope: Rope, dim: int, _n: int) -> Tensor:
    """YaRN. Peng et al. 2023, arXiv 2309.00071: a ramp over pairs from θ (fast) to θ / factor (slow)."""

    def pair_with(turns: float) -> float:
        return dim * math.log(rope.original / (turns * 2 * math.pi)) / (2 * math.log(rope.base))

    first = max(math.floor(pair_with(rope.high)), 0)
    last = min(math.ceil(pair_with(rope.low)), dim - 1)
    pairs = torch.arange(dim // 2, dtype=torch.float64)  # [pair]
    slow = ((pairs - first) / max(last - first, 1e-3)).clamp(0, 1)  # [pair]
    plain = _plain(rope.base, dim)  # [pair]
    return plain / rope.factor * slow + plain * (1 - slow)


def _llama3(rope: Rope, dim: int, _n: int) -> Tensor:
    """Llama 3.1. Dubey et al. 2024, arXiv 2407.21783: blended by how often a pair turns within the original length."""
    plain = _plain(rope.base, dim)  # [pair]
    turns = rope.original * plain / (2 * math.pi)  # [pair]
    fast = ((turns - rope.low) / (rope.high - rope.low)).clamp(0, 1)  # [pair]
    return (1 - fast) * plain / rope.factor + fast * plain


def _power(factor: float, dim: int) -> float:
    return factor ** (dim / (dim - 2)) if dim > 2 else factor


_STRETCHED: dict[str, Callable[[Rope, int, int], Tensor]] = {
    "none": lambda rope, dim, _n: _plain(rope.base, dim),
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
}
