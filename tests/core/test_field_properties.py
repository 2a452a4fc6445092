"""Whatever is asked of a ScoreField, of any family, mask, layer and edit, is what attention() says in float64.

`test_score_field` has chosen shapes and ways of editing; here shapes, heads, parameters, masks and spans are drawn, and
families and masks come from their tables, so that new ones are met without a change here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relpos_viewer.core import score_field
from relpos_viewer.core.attention import Attention, attention
from relpos_viewer.core.encodings import FAMILIES, Encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES
from relpos_viewer.core.masks import MASKS
from relpos_viewer.core.pooling import REDUCTIONS, pool
from relpos_viewer.core.score_field import ScoreField

INF = math.inf
KINDS = tuple(kind.name for kind in MASKS)


@dataclass
class Layer:
    """Random queries [head, query, d] and keys [key_head, key, d], float32 numbers; grouped where there are fewer."""

    q: np.ndarray
    k: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many heads, queries and keys."""
        return self.q.shape[0], self.q.shape[1], self.k.shape[1]


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    key_heads, group = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    n_key = draw(st.integers(1, 70))
    n_query = draw(st.one_of(st.just(n_key), st.just(1), st.integers(1, n_key)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    q = rng.normal(size=(key_heads * group, n_query, 8)).astype(np.float32)
    return Layer(q, rng.normal(size=(key_heads, n_key, 8)).astype(np.float32))


@st.composite
def families(draw: st.DrawFn, layer: Layer) -> Encoding:
    """A family with any of its choices; numbers and tables are its own."""
    family = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    values: dict[str, Any] = {}
    for parameter in family.parameters:
        choices = (True, False) if parameter.kind == "bool" else parameter.choices
        if choices and draw(st.booleans()):
            values[parameter.name] = draw(st.sampled_from(choices))
    try:
        made = family(**values)
        attention(layer.q, layer.k, encoding=made)
    except ViewerError:
        assume(False)  # choices that do not go together, or not with this layer
    return made


@st.composite
def masks(draw: st.DrawFn, layer: Layer) -> tuple[object, object]:
    """A mask as the field takes it, and as attention() does."""
    _, n_query, n_key = layer.sizes
    kind = draw(st.sampled_from((*KINDS, "array", "function")))
    if kind in ("array", "function"):
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        cells = rng.random((n_query, n_key)) < draw(st.sampled_from((0.05, 0.5, 0.95)))
        if kind == "array":
            return cells, cells
        return lambda rows, cols: torch.from_numpy(cells[slice(*rows), slice(*cols)]), cells
    if kind == "documents":
        first = draw(st.integers(0, n_key - 1))
        kind = f"documents:{first},{n_key - first}" if first else f"documents:{n_key}"
    elif next(each for each in MASKS if each.name == kind).argument:
        kind = f"{kind}:{draw(st.integers(1, n_key))}"
    return kind, kind


@st.composite
def spans(draw: st.DrawFn, count: int) -> tuple[float, float]:
    start = draw(st.integers(0, count - 1))
    return start, draw(st.integers(start + 1, count))


def close(mine: object, wanted: object, dtype: type, what: str) -> None:
    """Compare with what the precision of the field allows: float32 scores of 30 are 2e-6 apart."""
    wanted = np.asarray(wanted, dtype=np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    size = max(1.0, float(finite.max(initial=0)))
    # Pixels are float32 whatever the field computes with, and `pool` sums in float32.
    tolerance = (1e-5 if dtype is np.float32 else 1e-6) * size
    np.testing.assert_allclose(np.asarray(mine, np.float64), wanted, rtol=0, atol=tolerance, err_msg=what)


def check_pixels(
    field: ScoreField, exact: Attention, head: int, view: tuple[Any, Any, tuple[int, int]], dtype: type
) -> None:
    for stage in STAGES:
        for reduce in REDUCTIONS:
            tile, shown = field.tile(stage, *view, reduce, head=head)
            wanted, seen = pool(getattr(exact, stage)[head], exact.visible[head], *view, reduce)
            np.testing.assert_array_equal(shown, seen)
            close(tile, wanted, dtype, f"{stage} {reduce} {view}")


def check_rows(field: ScoreField, exact: Attention, head: int, query: int, dtype: type) -> None:
    seen = exact.visible[head]  # [query, key]
    row = field.row(query, head)
    np.testing.assert_array_equal(row.visible, seen[query])
    for number, stage in (("content", "content"), ("score", "scores"), ("weight", "weights")):
        close(
            getattr(row, number)[row.visible], getattr(exact, stage)[head, query][seen[query]], dtype, number
        )
    own = exact.positional[head, query] - torch.from_numpy(row.edit).double()  # [key]
    if bool(own.isfinite().all()):  # where an edit has hidden an offset, the sum says nothing of the term
        unedited = (exact.content[head, query] + own).masked_fill(~seen[query], -INF)  # [key]
        close(row.before_weight, unedited.softmax(-1).nan_to_num(0.0), dtype, "weights before the edit")
    assert not np.isnan(row.before_weight).any()
    log = exact.scores[head].masked_fill(~seen, -INF).logsumexp(-1)  # [query]
    close(field.log_normalisers(head), log, dtype, "log-normalisers")
    np.testing.assert_array_equal(field.rows_that_see(head), seen.any(-1))
    for stage in STAGES:
        cells = getattr(exact, stage)[head][seen]  # [cell]
        cells = cells[cells.isfinite()]
        low, high = (float(cells.min()), float(cells.max())) if len(cells) else (0.0, 0.0)
        close(
            field.extent(stage, head), (0.0 if stage == "weights" else low, high), dtype, f"ends of {stage}"
        )


@settings(max_examples=40)
@given(data=st.data())
def test_a_field_answers_as_attention_does_before_and_after_edits(data: st.DataObject) -> None:
    layer = data.draw(layers())
    family, (mine, plain) = data.draw(families(layer)), data.draw(masks(layer))
    heads, n_query, n_key = layer.sizes
    dtype = data.draw(st.sampled_from((np.float32, np.float64)))
    scale = data.draw(st.sampled_from((None, 0.0, -1.5)))
    pixels = st.tuples(st.integers(1, 80), st.integers(1, 80))
    display = data.draw(pixels)
    field = ScoreField(
        layer.q.astype(dtype),
        layer.k.astype(dtype),
        encoding=family,
        scale=scale,
        mask=mine,
        display=display,
        device="cpu",
    )
    head = data.draw(st.integers(0, heads - 1))
    edits = data.draw(st.integers(0, 2))
    for step in range(edits + 1):
        curves = np.stack([field.curve(each) for each in range(heads)])
        exact = attention(
            layer.q.astype(float),
            layer.k.astype(float),
            encoding=family,
            scale=scale,
            mask=plain,
            edit=curves,
        )
        check_pixels(field, exact, head, ((0, n_query), (0, n_key), display), dtype)
        part = data.draw(spans(n_query)), data.draw(spans(n_key)), data.draw(pixels)
        check_pixels(field, exact, head, part, dtype)
        check_rows(field, exact, head, data.draw(st.integers(0, n_query - 1)), dtype)
        if step < edits:
            offsets = data.draw(st.lists(st.integers(1 - n_key, n_key - 1), min_size=1, max_size=9))
            value = st.one_of(st.floats(-40, 40, width=32), st.just(-INF))
            values = data.draw(st.lists(value, min_size=len(offsets), max_size=len(offsets)))
            # From here on the matrix is kept whole, or sums are.
            with mock.patch.object(score_field, "WIDE", data.draw(st.sampled_from((-1, 192)))):
                field.edit(head, offsets, values)
    field.close()
