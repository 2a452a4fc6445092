from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from relpos_viewer.core.encodings import parse_encoding
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.export import canvas
from relpos_viewer.export.drawing import draw
from relpos_viewer.export.figures import FigureOptions
from relpos_viewer.export.picture import Picture, picture

from .drawn_figures import Drawn

WORDS = [
    "It",
    "is",
    "a",
    "truth",
    "universally",
    "acknowledged",
    ",",
    "that",
    "a",
    "single",
    "man",
    "in",
    "possession",
    "of",
    "a",
    "good",
    "fortune",
]

MakePicture = Callable[..., Picture]


@pytest.fixture
def make_picture() -> MakePicture:
    """Pictures of random, asymmetric heads."""

    def make(
        n: int = 12,
        *,
        words: list[str] | None = None,
        encoding: str = "t5",
        mask: str = "causal",
        heads: int = 3,
        head: int = 1,
        n_query: int | None = None,
        bump: float = 0.0,
    ) -> Picture:
        generator = torch.Generator().manual_seed(n)
        words = words or [WORDS[index % len(WORDS)] for index in range(n)]
        n = len(words)
        q = torch.randn(heads, n_query or n, 16, generator=generator)
        k = torch.randn(heads, n, 16, generator=generator)
        edit = np.zeros((heads, 2 * n - 1), np.float32)
        edit[head, n - 2] = bump  # at δ = −1
        return picture(
            inputs_from_arrays(q, k, tokens=Tokens(tuple(words))),
            parse_encoding(encoding),
            scale=None,
            mask=parse_mask(mask),
            edit=edit,
            head=head,
        )

    return make


@pytest.fixture
def drawn() -> Iterator[Callable[..., Drawn]]:
    """Draw a picture on screen pixels and keep the artists."""

    def make(made: Picture, **options: Any) -> Drawn:
        with canvas.settings():
            result = draw(made, FigureOptions(**options), vector=False)
            result.figure.canvas.draw()
            pixels = np.asarray(result.figure.canvas.buffer_rgba())[..., :3].copy()
        return Drawn(result.figure, pixels)

    yield make
