"""Planes of the two-dimensional families, met cell by cell in their matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.planes import plane_set
from relpos_viewer.document.document import TextSource
from relpos_viewer.sources.build import inputs_for

N, HEADS, WIDTH = 11, 2, 4  # the last row of tokens is short


@pytest.fixture(scope="module")
def inputs() -> AttentionInputs:
    return inputs_for(TextSource("a b c d e f g h i j k", heads=HEADS, dim=8))


@pytest.mark.parametrize("name", ["swin", "swin-v2", "beit"])
def test_the_cell_of_two_tokens_is_the_one_of_their_rows_and_columns(
    name: str, inputs: AttentionInputs
) -> None:
    family = encoding(name, width=WIDTH, **({"cosine": False} if name == "swin-v2" else {}))
    planes = plane_set(inputs, family)
    first = 1 if name == "beit" else 0
    bias = family.with_heads(HEADS).positional(inputs, 1.0).double().numpy()  # [head, query, key]
    middle = planes.shape[0] // 2, planes.shape[1] // 2
    every = np.arange(N)
    for query in range(N):
        for key in range(N):
            offset = planes.encoding.plane_offset(query, key)
            if min(query, key) < first:
                assert offset is None
                continue
            dy = (key - first) // WIDTH - (query - first) // WIDTH
            dx = (key - first) % WIDTH - (query - first) % WIDTH
            assert offset == (dy, dx)
            found = planes.values[:, middle[0] + dy, middle[1] + dx]
            assert np.allclose(found, bias[:, query, key], atol=1e-6)
            assert planes.queries(dy, dx, every)[query]
            assert planes.line_offset(dy, dx) == key - query


@pytest.mark.parametrize("name", ["swin", "beit"])
def test_every_pair_with_an_offset_is_found_and_no_other(name: str, inputs: AttentionInputs) -> None:
    planes = plane_set(inputs, encoding(name, width=WIDTH))
    first = 1 if name == "beit" else 0
    place = {token: divmod(token - first, WIDTH) for token in range(first, N)}
    for dy in range(-3, 4):
        for dx in range(-3, 4):
            wanted = [
                any(
                    token in place and place[key] == (place[token][0] + dy, place[token][1] + dx)
                    for key in place
                )
                for token in range(N)
            ]
            assert planes.queries(dy, dx, np.arange(N)).tolist() == wanted, (dy, dx)


def test_offsets_that_never_occur_are_known(inputs: AttentionInputs) -> None:
    planes = plane_set(inputs, encoding("swin", width=WIDTH))
    causal = np.arange(2 * N - 1) <= N - 1  # δ ≤ 0
    seen = planes.seen(causal)
    for row, dy in enumerate(range(-2, 3)):
        for column, dx in enumerate(range(-3, 4)):
            assert seen[row, column] == (-(N - 1) <= dy * WIDTH + dx <= 0)


def test_the_numbers_of_the_class_token_are_those_of_its_row_and_column(inputs: AttentionInputs) -> None:
    family = encoding("beit", width=WIDTH).with_heads(HEADS)
    numbers = torch.tensor([0.75, -1.5, 2.25])
    family = family.with_beside_plane(1, numbers, N)
    assert plane_set(inputs, family).beside[1].tolist() == numbers.tolist()
    bias = family.positional(inputs, 1.0)  # [head, query, key]
    assert torch.all(bias[1, 0, 1:] == 0.75)
    assert torch.all(bias[1, 1:, 0] == -1.5)
    assert bias[1, 0, 0] == 2.25
    before = encoding("beit", width=WIDTH).with_heads(HEADS)
    assert torch.equal(bias[0], before.positional(inputs, 1.0)[0]), "the other head keeps its numbers"
    assert torch.equal(family.plane(1, N), before.plane(1, N))


def test_a_value_that_nobody_touched_stays_as_a_file_gave_it() -> None:
    # Nearer to the end of the range than a hand may go.
    table = torch.full((9, 1), 0.0004, dtype=torch.float32)
    family = encoding("swin-v2", width=2, table=table).with_heads(1)
    plane = family.plane(0, 4).clone()
    plane[0, 1], plane[2, 2] = -3.0, 40.0
    after = family.with_plane(0, plane, 4).plane(0, 4)
    low, high = family.plane_range
    assert float(after[0, 1]) == pytest.approx(low)
    assert float(after[2, 2]) == pytest.approx(high)
    after[0, 1] = after[2, 2] = table[0, 0]
    assert torch.equal(after, family.plane(0, 4))


def test_a_table_that_is_too_small_says_two_ways_out() -> None:
    family = encoding("swin", width=2, table=torch.zeros(9, 1))
    with pytest.raises(
        ViewerError, match=r"2 × 2 = 4 tokens, and there are 5; shorten the sequence, or reset"
    ):
        family.height(5)


def test_a_family_along_the_line_has_no_plane(inputs: AttentionInputs) -> None:
    assert plane_set(inputs, encoding("t5")) is None
