"""Passes that know their levels beforehand, against the plain path in float64; and the counts that pictures rest on."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from relpos_viewer.core import level_sums, row_statistics, score_field, score_tiles
from relpos_viewer.core.attention import attention
from relpos_viewer.core.encodings import encoding
from relpos_viewer.core.live_weights import GAP, LiveWeights
from relpos_viewer.core.pooling import pool
from relpos_viewer.core.row_statistics import Band
from relpos_viewer.core.score_field import ScoreField
from relpos_viewer.core.visibility import Visibility

INF = math.inf


def layer(n_query: int, n_key: int, size: float, sink: float) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys of width 8; `sink` is how much longer one key is than the others."""
    rng = np.random.default_rng(n_query)
    q, k = rng.normal(size=(n_query, 8)) * size, rng.normal(size=(n_key, 8))
    k[2] *= sink
    return q.astype(np.float32), k.astype(np.float32)


def curve(kind: str, n: int) -> object:
    rng = np.random.default_rng(n)
    offsets = np.arange(1 - n, n)
    values = {
        "gentle": -0.003 * np.abs(offsets) + 0.1 * (offsets > 3),
        "steep": -0.5 * np.abs(offsets),
        "wild": rng.normal(size=2 * n - 1),
    }
    return kind if kind in ("rope", "none") else encoding("curve", table=values[kind][None])


@pytest.mark.parametrize(
    ("kind", "mask", "sizes", "bins", "size", "sink"),
    [
        ("gentle", "none", (1100, 2304), 36, 1.0, 1.0),  # several chunks, pixels alike
        ("gentle", "causal", (2305, 2305), 31, 1.0, 1.0),  # pixels of 74 and 75 keys
        ("none", "window:300", (1500, 1500), 37, 1.0, 1.0),
        ("gentle", "documents:700,450,150", (1300, 1300), 1300, 1.0, 1.0),
        ("steep", "causal", (1300, 1300), 400, 1.0, 1.0),
        ("wild", "prefix:200", (300, 1300), 7, 1.0, 1.0),
        ("rope", "causal", (1290, 1290), 43, 1.0, 1.0),
        ("gentle", "causal", (1300, 1300), 50, 4.0, 1.0),  # lengths bound the content loosely
        ("gentle", "none", (1300, 1300), 50, 1.0, 12.0),  # one key is much longer than the others
        ("rope", "none", (300, 1300), 50, 5.0, 1.0),
    ],
)
def test_passes_give_the_sums_and_ends_of_the_plain_path(kind, mask, sizes, bins, size, sink, monkeypatch):
    def unused(*_):
        raise AssertionError("a block was given up")

    monkeypatch.setattr(row_statistics.Scan, "_rows", unused)
    monkeypatch.setattr(score_field, "WIDE", INF)
    (n_query, n_key), view = sizes, ((0, sizes[0]), (0, sizes[1]), (min(bins, sizes[0]), bins))
    q, k = layer(n_query, n_key, size, sink)
    own = curve(kind, n_key)
    field = ScoreField(q, k, encoding=own, mask=mask, display=view[2], device="cpu")
    for again in (False, True):
        exact = attention(
            torch.from_numpy(q)[None].double(), torch.from_numpy(k)[None].double(), encoding=own, mask=mask,
            edit=field.curve(),
        )  # fmt: skip
        seen = exact.visible[0]
        for stage in ("content", "scores"):
            cells = getattr(exact, stage)[0][seen]
            cells = cells[cells.isfinite()]
            wanted = (float(cells.min()), float(cells.max()))
            assert field.extent(stage) == pytest.approx(wanted, abs=2e-4 * size), (stage, again)
        log = exact.scores[0].masked_fill(~seen, -INF).logsumexp(-1)
        np.testing.assert_allclose(field.log_normalisers(), log, atol=2e-5 * size, rtol=0)
        for reduce in ("mean", "max"):
            tile = field.tile("weights", *view, reduce)[0]
            wanted = pool(exact.weights[0], seen, *view, reduce)[0]
            np.testing.assert_allclose(tile, wanted, atol=2e-5 * size, rtol=1e-3 * size)
        if not again:  # a pass that knows the content's ends from the last, under an edit that hides
            field.edit(0, range(-900 if n_query > 900 else -200, -5), -1.5)
            field.edit(0, [-9, -40, 1 - n_key], -INF)
            field.refresh()


def test_rows_far_below_their_level_are_summed_relative_to_their_own_maxima(monkeypatch):
    n, given_up = 1300, []
    sum_rows = level_sums.LevelSums.rows

    def watched(self, *arguments):
        done = sum_rows(self, *arguments)
        given_up.append(not done)
        return done

    monkeypatch.setattr(level_sums.LevelSums, "rows", watched)
    q, k = layer(n, n, 1.0, 1.0)
    q[::7] *= 200  # their scores reach hundreds, those of their neighbours do not
    field = ScoreField(q, k, encoding="none", mask="none", display=(50, 50), device="cpu")
    exact = attention(
        torch.from_numpy(q)[None].double(), torch.from_numpy(k)[None].double(), encoding="none", mask="none"
    )
    np.testing.assert_allclose(field.log_normalisers(), exact.scores[0].logsumexp(-1), atol=2e-4, rtol=1e-6)
    assert given_up and all(given_up)
    cells = exact.content[0]
    assert field.extent("content") == pytest.approx((float(cells.min()), float(cells.max())), rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_visible_cells_are_counted_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n_query, n_key = int(rng.integers(1, 50)), int(rng.integers(50, 90))
    first = rng.integers(0, n_key + 1, n_query)
    stop = np.maximum(rng.integers(0, n_key + 1, n_query), first)
    rows, cols = (np.unique(rng.integers(0, n + 1, 7)) for n in (n_query + 5, n_key))
    rows = np.unique(np.append(rows[rows < n_query], n_query))
    if len(rows) == 1:
        rows = np.array([0, n_query])
    keys = np.arange(n_key)
    seen = (keys >= first[:, None]) & (keys < stop[:, None])
    wanted = [
        [seen[a:b, c:d].sum() for c, d in itertools.pairwise(cols)] for a, b in itertools.pairwise(rows)
    ]
    counts = Visibility(first, stop, n_key).counts(rows, cols)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("mask", ["causal", "window:30", "prefix:50", "documents:70,45,85"])
@pytest.mark.parametrize("name", ["none", "rope"])
def test_pixels_seen_in_part_are_means_of_the_cells_that_are_seen(name, mask, monkeypatch):
    monkeypatch.setattr(score_tiles, "RUNS", 23)
    monkeypatch.setattr(score_tiles, "COLS", 64)
    n = 200
    q, k = layer(n, n, 1.0, 1.0)
    field = ScoreField(q, k, encoding=name, mask=mask, device="cpu")
    exact = attention(
        torch.from_numpy(q)[None].double(), torch.from_numpy(k)[None].double(), encoding=name, mask=mask
    )
    for view in (((0, n), (0, n), (17, 12)), ((31, 190), (20, 133), (9, 30))):
        for stage in ("content", "positional"):
            tile = field.tile(stage, *view)[0]
            wanted = pool(getattr(exact, stage)[0], exact.visible[0], *view, "mean")[0]
            np.testing.assert_allclose(tile, wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("offsets", "bands", "runs"),
    [
        ([-5], [], [(-5, -4)]),
        ([-5, -4, -2], [], [(-5, -1)]),
        ([0, GAP + 1, 2 * GAP + 3], [], [(0, GAP + 2), (2 * GAP + 3, 2 * GAP + 4)]),
        ([-3, 0, 3], [(-2, -1)], [(-3, -2), (0, 4)]),
        ([-3, 0, 3], [(1, 3)], [(-3, 1), (3, 4)]),
        ([], [(1, 3)], []),
    ],
)
def test_runs_cover_neighbours_but_no_band_that_is_held(offsets, bands, runs):
    class Held:
        def __init__(self, band: tuple[int, int]) -> None:
            self.band = Band(band, torch.empty(0))

    assert LiveWeights._runs(np.array(offsets, np.int64), [Held(band) for band in bands]) == runs
