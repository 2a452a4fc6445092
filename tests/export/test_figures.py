from __future__ import annotations

import io
import logging
import re
import time
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from relpos_viewer.app.frames import FrameMaker, FrameRequest, Viewport
from relpos_viewer.app.runner import Cancel, Cancelled
from relpos_viewer.core.encodings import parse_encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, PlainField
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.limits import plain_limits, view_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import Document, View
from relpos_viewer.document.document import replace as changed
from relpos_viewer.export import cells
from relpos_viewer.export.figures import (
    FORMATS,
    PANELS,
    FigureOptions,
    figure_bytes,
    parse_panels,
    save_figure,
)
from relpos_viewer.export.picture import picture

from .drawn_figures import Drawn, with_scores, with_weights

MATRICES = ("content", "positional", "scores", "weights")
TITLES = ["content", "position", "score", "weights", "bias curve"]


def image(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


# --- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "pixels"),
    [
        ({"width": 600}, (600, None)),
        ({"width": 1601, "height": 901}, (1601, 901)),
        ({"width": 777, "height": 778, "dpi": 150}, (777, 778)),
        ({"width": 402, "height": 406, "dpi": 100}, (402, 406)),
        ({"width": 635, "height": 612}, (635, 612)),
        ({"width": 180, "height": 120, "unit": "mm", "dpi": 100}, (709, 472)),
        ({"width": 7, "height": 4.5, "unit": "in"}, (2100, 1350)),
    ],
)
def test_a_png_has_exactly_the_pixels_and_the_dpi_that_were_asked_for(
    make_picture, tmp_path, size, pixels
) -> None:
    options = FigureOptions(**size)
    save_figure(make_picture(), options, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as png:
        assert png.format == "PNG" and png.size[0] == pixels[0]
        assert pixels[1] is None or png.size[1] == pixels[1]
        assert png.info["dpi"][0] == pytest.approx(options.resolution, rel=0.01)
        assert np.asarray(png.convert("RGBA"))[..., 3].min() == 255  # opaque


def test_inches_that_a_float_cannot_hold_lose_no_pixel(make_picture, drawn) -> None:
    # 4.02 · 100 is 401.99999999999994, which must not be cut off.
    assert drawn(make_picture(), width=402, height=406, dpi=100).pixels.shape[:2] == (406, 402)


def test_a_tiff_holds_the_same_pixels_as_the_png(make_picture, tmp_path) -> None:
    options = FigureOptions(width=700, dpi=200)
    for name in ("a.png", "a.tif"):
        save_figure(make_picture(), options, tmp_path / name)
    with Image.open(tmp_path / "a.tif") as tiff, Image.open(tmp_path / "a.png") as png:
        assert tiff.format == "TIFF" and float(tiff.info["dpi"][0]) == 200
        assert np.array_equal(np.asarray(tiff.convert("RGB")), np.asarray(png.convert("RGB")))


def test_a_pdf_has_its_size_on_paper(make_picture, tmp_path) -> None:
    save_figure(make_picture(), FigureOptions(width=180, height=120, unit="mm"), tmp_path / "a.pdf")
    data = (tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    box = [float(each) for each in re.search(rb"/MediaBox \[ ?([\d. ]+)\]", data)[1].split()]
    assert box == pytest.approx([0, 0, 180 / 25.4 * 72, 120 / 25.4 * 72], abs=0.5)
    assert b"/Subtype /Type3" not in data  # fonts are TrueType, which journals ask for


def test_an_svg_holds_its_words_as_text(make_picture, tmp_path) -> None:
    words = ["alpha", "<beta>", "$x_1$", "שלום", "a&b"]
    save_figure(make_picture(words=words), FigureOptions(title="My ‹title›"), tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    texts = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {*words, *TITLES, "My ‹title›", "key →", "← query", "+", "=", "offset δ = key − query"}


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_the_same_figure_gives_the_same_bytes(make_picture, kind) -> None:
    made, options = make_picture(), FigureOptions(width=600)
    first = figure_bytes(made, options, kind)
    time.sleep(1.1 if kind.name == "pdf" else 0)  # dates in files have seconds
    assert figure_bytes(made, options, kind) == first


def test_the_clipboard_gets_a_png(make_picture) -> None:
    assert figure_bytes(make_picture(), FigureOptions(width=500)).startswith(b"\x89PNG")


def test_a_figure_that_cannot_be_made_leaves_the_old_file(make_picture, tmp_path) -> None:
    target = tmp_path / "a.png"
    target.write_text("old")
    with pytest.raises(ViewerError, match="unknown colour map “virdis”; did you mean viridis"):
        save_figure(make_picture(), FigureOptions(weights_map="virdis"), target)
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width"),
        ({"width": -5}, "width"),
        ({"width": float("nan")}, "width"),
        ({"width": float("inf")}, "width"),
        ({"height": -1}, "height"),
        ({"dpi": 0}, "dpi"),
        ({"dpi": 6000}, "dpi"),
        ({"width": 20, "height": 20}, "too small"),
        ({"width": 200}, "too few"),
        ({"width": 2000, "height": 70}, "too few"),
        ({"width": 1.2, "unit": "in"}, "too few"),
        ({"width": 20_000, "height": 20_000}, "too large"),
        ({"width": 300, "unit": "in", "dpi": 600}, "too large"),
        ({"theme": "dork"}, "did you mean dark"),
        ({"terms_map": "no such map"}, "colour map"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(make_picture, options, words) -> None:
    with pytest.raises(ViewerError, match=words) as error:
        figure_bytes(make_picture(), FigureOptions(**options))
    assert "\n" not in str(error.value)


def test_an_unknown_suffix_names_the_known_ones(make_picture, tmp_path) -> None:
    with pytest.raises(ViewerError, match=r"\.png, \.svg, \.pdf, \.tiff"):
        save_figure(make_picture(), FigureOptions(), tmp_path / "a.jpg")


# --- cells -------------------------------------------------------------------------------------------


def test_query_0_is_the_top_row_and_key_3_the_right_column(make_picture, drawn) -> None:
    weights = np.zeros((4, 4))
    weights[0, 3], weights[2, 0] = 1, 0.5
    figure: Drawn = drawn(with_weights(make_picture(4, mask="none"), weights), panels=("weights",), width=600)
    darkness = np.array(
        [[255 - figure.cell(0, row, column).mean() for column in range(4)] for row in range(4)]
    )
    order = np.argsort(-darkness.ravel())
    assert list(order[:2]) == [3, 8]  # (0, 3), then (2, 0): the default map of the light theme grows darker


def test_a_masked_cell_is_hatched_and_a_zero_is_plain(make_picture, drawn) -> None:
    made = with_scores(make_picture(5, encoding="none"), np.zeros((5, 5)))
    for theme in ("light", "dark"):
        figure = drawn(made, panels=("content",), width=600, theme=theme)
        zero, masked = figure.cell(0, 2, 1), figure.cell(0, 1, 3)
        assert len(np.unique(zero.reshape(-1, 3), axis=0)) == 1
        assert len(np.unique(masked.reshape(-1, 3), axis=0)) > 3
        assert np.abs(masked.mean((0, 1)) - zero.mean((0, 1))).max() > 3


def test_every_mark_looks_unlike_every_other_and_unlike_any_value(make_picture, drawn) -> None:
    content = np.zeros((6, 6))
    content[0, 0], content[1, 0], content[2, 0], content[4, 0] = np.nan, np.inf, -np.inf, 1.0
    visible = np.ones((6, 6), bool)
    visible[3], visible[5, 0] = False, False
    made = with_scores(make_picture(6, encoding="none", mask="none"), content, visible)
    for theme in ("light", "dark"):
        figure = drawn(made, panels=("content",), width=600, theme=theme)
        looks = {
            name: figure.cell(0, row, 0).reshape(-1, 3)
            for name, row in {"nan": 0, "+inf": 1, "-inf": 2, "no key": 3, "one": 4, "masked": 5}.items()
        }
        looks["zero"] = figure.cell(0, 0, 1).reshape(-1, 3)
        # Sorted, so that two looks are alike only when they have the same colours in the same amounts.
        spectra = {
            name: np.sort(cell.sum(1))[:: max(len(cell) // 50, 1)][:50] for name, cell in looks.items()
        }
        for one, other in combinations(spectra, 2):
            assert np.abs(spectra[one].astype(int) - spectra[other]).max() > 12, (theme, one, other)
        for words in ("masked", "query without any key", "−∞", "+∞", "not a number"):
            assert words in figure.words()


@pytest.mark.parametrize(
    ("mask", "panels", "legend"),
    [
        ("none", MATRICES, []),
        ("causal", MATRICES, ["masked"]),
        ("causal", ("curve",), []),
    ],
)
def test_a_legend_stands_only_where_marks_are_seen(make_picture, drawn, mask, panels, legend) -> None:
    words = drawn(make_picture(mask=mask), panels=panels, width=800).words()
    known = {"masked", "query without any key", "below the floor", "−∞", "+∞", "not a number"}
    assert [each for each in words if each in known] == legend


def test_offsets_past_the_encodings_range_are_hatched_in_the_position_panel_alone(
    make_picture, drawn
) -> None:
    made = make_picture(6, encoding="none", mask="none")
    made = replace(made, curves=replace(made.curves, beyond=np.abs(np.arange(-5, 6)) > 3))
    figure = drawn(made, panels=("content", "positional"), width=1200)
    assert "beyond the range of the encoding" in figure.words()
    for (matrix, row, column), colours in {(1, 0, 5): 2, (1, 5, 0): 2, (1, 0, 3): 1, (0, 0, 5): 1}.items():
        count = len(np.unique(figure.cell(matrix, row, column).reshape(-1, 3), axis=0))
        assert (count > 1) == (colours > 1), (matrix, row, column)


def test_one_strong_weight_among_two_thousand_stays_visible(make_picture, drawn) -> None:
    weights = np.zeros((2048, 2048))
    weights[617, 1605] = 1.0
    figure = drawn(
        with_weights(make_picture(2048, encoding="none", mask="none", heads=1, head=0), weights),
        panels=("weights",),
    )
    axes = figure.matrix(0)
    x, y = axes.transData.transform((1605, 617))
    around = figure.pixels[
        round(figure.pixels.shape[0] - y) - 2 : round(figure.pixels.shape[0] - y) + 3,
        round(x) - 2 : round(x) + 3,
    ]
    assert around.sum(2).min() < 400 < 700 < figure.cell(0, 100, 100).sum()
    said = [words for words in figure.words() if words.startswith("1 pixel =")]
    assert len(said) == 1 and said[0].endswith("(max)")


def test_every_cell_is_as_large_as_the_next(make_picture, drawn) -> None:
    # 7 cells on a number of pixels that 7 does not divide: a checkerboard has equal parts of both colours.
    content = np.where(np.indices((7, 7)).sum(0) % 2, 1.0, -1.0)
    figure = drawn(
        with_scores(make_picture(7, encoding="none", mask="none"), content), panels=("content",), width=613
    )
    axes = figure.matrix(0)
    (x0, _), (x1, _) = axes.transData.transform([(-0.5, 0), (6.5, 0)])
    row = figure.pixels[
        round(figure.pixels.shape[0] - axes.transData.transform((0, 3))[1]), round(x0) : round(x1), 0
    ]
    positive, negative = row[len(row) // 2 // 7], row[len(row) * 3 // 14]
    share = (row.astype(float) - negative) / (float(positive) - negative)
    edges = np.linspace(0, len(row), 8)
    whole = [share[int(np.ceil(a)) + 1 : int(b) - 1].mean() for a, b in pairwise(edges)]
    assert whole == pytest.approx([1, 0, 1, 0, 1, 0, 1])
    assert share[1:-1].sum() / len(share) == pytest.approx(4 / 7, abs=0.01)


# --- numbers -----------------------------------------------------------------------------------------


def test_a_colour_bar_of_small_weights_never_reads_0_00(make_picture, drawn) -> None:
    made = with_weights(make_picture(512, mask="none", heads=1, head=0), np.full((512, 512), 1 / 512))
    figure = drawn(made, panels=("weights",), width=800, labels=False)
    numbers = [words for words in figure.words() if re.fullmatch(r"[\d.e−]+", words)]
    assert {"0.0005", "0.001", "0.0015"} <= set(numbers)
    assert not any(re.fullmatch(r"0\.0+", number) for number in numbers)


def test_a_log_scale_says_where_its_floor_is(make_picture, drawn) -> None:
    weights = np.eye(4) * 0.9 + 1e-4
    weights[0, 3] = 0
    made = with_weights(make_picture(4, mask="none"), weights)
    figure = drawn(made, panels=("weights",), width=600, levels={"weights": Levels(1e-6, 1, "log")})
    assert "below the floor" in figure.words() and "1e−5" in figure.words()


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(levels="auto"),
        View(levels="percentile"),
        View(levels="typed", low=-2, high=5, weights_low=0.1, weights_high=0.4),
        View(levels="shared", locked=(("content", -1.0, 2.0), ("weights", 0.0, 0.2))),
        View(weights_scale="log"),
        View(weights_scale="log", locked=(("weights", 0.0, 0.5),)),
        View(hide_first_key=True),
    ],
)
def test_limits_are_those_of_the_window(view) -> None:
    document = changed(Document.default(), view=view)
    whole = Viewport((0, 25), (0, 25), (100, 100))
    frame = FrameMaker()(FrameRequest(document, whole), Cancel())
    assert view_levels(plain_limits(frame.field, view), view, STAGES) == {
        stage: frame.tiles[stage].levels for stage in STAGES
    }


# --- long sequences ----------------------------------------------------------------------------------


def holes(n: int) -> np.ndarray:
    """A mask with hidden cells and, at the end, queries that see no key."""
    visible = np.random.default_rng(2).random((n, n)) < 0.9
    visible[-n // 10 :] = False
    visible[: n // 5, n // 2 :] = False
    return visible


@pytest.mark.parametrize(
    ("encoding", "mask", "options"),
    [
        ("t5", "causal", {}),
        ("rope", "holes", {"reduce": "sample", "theme": "dark"}),
        ("alibi", "window:40", {"levels": {"weights": Levels(1e-6, 1.0, "log")}, "reduce": "max"}),
        ("absolute", "none", {"panels": ("positional", "curve"), "width": 500}),
    ],
)
def test_a_figure_without_matrices_is_that_of_the_matrices(
    drawn, monkeypatch, encoding, mask, options
) -> None:
    n = 1500
    generator = torch.Generator().manual_seed(n)
    q, k = torch.randn(2, n, 16, generator=generator), torch.randn(2, n, 16, generator=generator)
    edit = np.zeros((2, 2 * n - 1), np.float32)
    edit[1, n - 200 : n - 100] = 1.5
    past = np.abs(np.arange(1 - n, n)) > 1300
    asked = {
        "scale": None,
        "mask": parse_mask(holes(n) if mask == "holes" else mask),
        "edit": edit,
        "head": 1,
        "past": past,
    }
    inputs = inputs_from_arrays(q, k)
    short = picture(inputs, parse_encoding(encoding), **asked)
    monkeypatch.setattr(cells, "LARGEST", 0)
    monkeypatch.setattr(PlainField, "of", None)  # no matrix is made
    long = picture(inputs, parse_encoding(encoding), **asked)
    if not short.curves.exact:
        long = replace(long, curves=short.curves)  # of a long sequence the mean of some queries alone
    one, other = (drawn(made, **{"width": 900, **options}) for made in (short, long))
    assert one.words() == other.words()
    # A colour may be the next one where rounding decides, and nothing else.
    far = np.abs(one.pixels.astype(int) - other.pixels).max(-1)
    assert far.max() <= 8 and (far > 0).mean() < 0.002


@pytest.mark.parametrize("levels", [{}, dict.fromkeys(STAGES, Levels(0, 1))], ids=["limits", "pixels"])
def test_a_figure_that_nobody_waits_for_any_more_is_given_up(levels, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cells, "LARGEST", 0)
    stopper = Cancel()
    q = torch.randn(1, 100, 8, generator=torch.Generator().manual_seed(1))
    made = picture(
        inputs_from_arrays(q, q),
        parse_encoding("t5"),
        scale=None,
        mask=parse_mask("causal"),
        edit=None,
        head=0,
        cancel=stopper,
    )
    stopper.cancel()
    with pytest.raises(Cancelled):
        save_figure(made, FigureOptions(levels=levels), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "view", [View(), View(levels="auto", hide_first_key=True), View(weights_scale="log")]
)
def test_limits_without_matrices_are_those_of_the_matrices(view, monkeypatch) -> None:
    inputs = inputs_from_arrays(*torch.randn(2, 1, 90, 8, generator=torch.Generator().manual_seed(6)))
    asked = {"scale": None, "mask": parse_mask("causal"), "edit": None, "head": 0}
    plain = cells.cells_of(inputs, parse_encoding("rope"), **asked)
    monkeypatch.setattr(cells, "LARGEST", 0)
    long = cells.cells_of(inputs, parse_encoding("rope"), **asked)
    for stage, levels in view_levels(cells.limits_of(long, view), view, STAGES).items():
        wanted = view_levels(plain_limits(plain, view), view, STAGES)[stage]
        assert (levels.low, levels.high) == pytest.approx((wanted.low, wanted.high), rel=1e-5)
        assert levels.scale == wanted.scale


# --- words -------------------------------------------------------------------------------------------


def collisions(figure: Drawn) -> list[str]:
    """Pairs of texts that touch, and texts that leave the figure."""
    height, width = figure.pixels.shape[:2]
    found = []
    texts = figure.texts
    for words, box, _ in texts:
        if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > width + 0.5 or box.y1 > height + 0.5:
            found.append(f"{words!r} leaves the figure: {box}")
    for (one, a, _), (other, b, _) in combinations(texts, 2):
        # Boxes are a little larger than the ink: line heights hold room for accents.
        slack = 0.15 * min(a.height, a.width, b.height, b.width)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack:
            found.append(f"{one!r} touches {other!r}")
    return found


@pytest.mark.parametrize("n", [1, 35, 300])
@pytest.mark.parametrize(
    "options",
    [
        {"width": 700},
        {"width": 1600, "height": 900},
        {"width": 2400, "height": 640},
        {"width": 800, "height": 1400},
        {"width": 3.4, "unit": "in"},
        {"width": 900, "panels": ("weights",)},
        {
            "width": 900,
            "panels": ("positional", "curve"),
            "title": "A title that is far too long for this figure " * 4,
        },
        {"width": 800, "height": 400, "panels": ("curve",), "curve_axis": "symlog"},
        {"width": 900, "panels": ("content", "weights"), "labels": False},
    ],
    ids=lambda options: " ".join(f"{value}"[:24] for value in options.values()),
)
def test_no_text_touches_another_or_leaves_the_figure(make_picture, drawn, n, options) -> None:
    assert collisions(drawn(make_picture(n, bump=4.0), **options)) == []


def test_typed_limits_of_many_digits_do_not_run_into_the_next_bar(make_picture, drawn) -> None:
    levels = {stage: Levels(-1000.0, 1000.0) for stage in MATRICES[:3]}
    assert collisions(drawn(make_picture(), width=1200, levels=levels)) == []


def test_the_remark_about_pooled_cells_has_a_line_of_its_own(make_picture, drawn) -> None:
    figure = drawn(make_picture(300, mask="none"), width=700)
    assert any(words.startswith("1 pixel =") for words in figure.words())
    assert collisions(figure) == []


def test_a_single_query_has_its_band(make_picture, drawn) -> None:
    figure = drawn(make_picture(20, n_query=1), width=1200)
    assert collisions(figure) == []
    bounds = figure.matrix(0).get_window_extent()
    assert bounds.width / bounds.height == pytest.approx(12, rel=0.1)


def test_words_are_thinned_evenly_and_give_way_to_positions(make_picture, drawn) -> None:
    def keys(n: int) -> list[tuple[float, str]]:
        axes = drawn(make_picture(n), panels=("weights",), width=700).matrix(0)
        return [(tick.get_position()[0], tick.get_text()) for tick in axes.get_xticklabels()]

    few, many, crowd = keys(12), keys(90), keys(900)
    assert len(few) == 12
    steps = {after[0] - before[0] for before, after in pairwise(many)}
    assert len(steps) == 1 and 2 <= steps.pop() <= 5
    words = make_picture(90).tokens.texts
    assert all(text == words[int(place)] or text.endswith("…") for place, text in many)
    assert [text for _, text in crowd] == [str(int(place)) for place, _ in crowd]


def test_queries_that_are_the_last_positions_are_labelled_as_such(make_picture, drawn) -> None:
    words = [f"w{index}" for index in range(9)]
    figure = drawn(make_picture(words=words, n_query=3), panels=("content",), width=700)
    assert [tick.get_text() for tick in figure.matrix(0).get_yticklabels()] == ["w6", "w7", "w8"]


STRANGE = [
    "👨‍👩‍👧",
    "🇩🇪",
    "中文",
    "한국",
    "שלום",
    "مرحبا",
    "e\u0301",
    "नमस्ते",
    "$x$",
    "$",
    "\\alpha",
    "\n",
    "\t",
    " ",
    "",
    "\u200b",
    "⭢",
    "%",
    "{",
    "\x00",
]


def test_no_script_breaks_an_axis_or_warns(make_picture, caplog) -> None:
    made = make_picture(words=STRANGE)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        for kind in FORMATS:
            figure_bytes(made, FigureOptions(width=1200, title="$\\frac{1$ 👍 中"), kind)
    assert caplog.records == []


def test_a_character_without_a_font_is_named_by_its_code_point(make_picture, drawn) -> None:
    labels = drawn(
        make_picture(words=["\U000f0000x", "b\U0010fffd\U0010fffd"]), panels=("content",), width=600
    ).words()
    assert "U+F0000x" in labels and "bU+10FFFD…" in labels


@pytest.mark.parametrize("panels", [tuple(PANELS), ("weights",), ("curve",)])
def test_600_and_3000_pixels_look_the_same(make_picture, drawn, panels) -> None:
    # X04
    made = make_picture(20, bump=3.0)
    small, large = (drawn(made, width=width, panels=panels) for width in (600, 3000))
    assert small.words() == large.words()
    for (words, a, _), (_, b, _) in zip(small.texts, large.texts, strict=True):
        assert a.height / 600 == pytest.approx(b.height / 3000, rel=0.05), words
        assert a.x0 / 600 == pytest.approx(b.x0 / 3000, abs=0.004), words
    # And in ink: the title's letters, by the rows that hold any.
    heights = []
    for figure in (small, large):
        box = next(box for words, box, _ in figure.texts if words == made.caption or words == "weights")
        top = figure.pixels.shape[0]
        part = figure.pixels[round(top - box.y1) : round(top - box.y0), round(box.x0) : round(box.x1)].sum(2)
        rows = np.flatnonzero((part < 500).any(1)) if len(part) else np.array([0])
        heights.append((rows[-1] - rows[0] + 1) / figure.pixels.shape[1] if len(rows) else 0)
    assert heights[0] == pytest.approx(heights[1], rel=0.15)  # a pixel of 600 is a tenth of a letter


@pytest.mark.parametrize(
    "size",
    [{"width": 3.4, "unit": "in"}, {"width": 85, "unit": "mm"}, {"width": 7, "unit": "in", "dpi": 100}],
)
def test_no_letter_is_smaller_than_five_points_on_paper(make_picture, drawn, size) -> None:
    points = [text.get_fontsize() for _, _, text in drawn(make_picture(35), **size).texts]
    assert min(points) >= 5 - 1e-6


def test_the_title_is_what_was_drawn_unless_one_is_given(make_picture, drawn) -> None:
    made = make_picture(mask="window:4")
    assert "T5 log buckets · window of 4 · head 1" in drawn(made, width=900).words()
    assert "Mine" in drawn(made, width=900, title="Mine").words()
    assert not any("head 2 of 3" in words for words in drawn(made, width=900, title="").words())


@pytest.mark.parametrize(
    ("panels", "signs"),
    [
        (MATRICES, ["+", "=", "softmax\n→"]),
        (("content", "positional", "scores"), ["+", "="]),
        (("scores", "weights"), ["softmax\n→"]),
        (("positional", "scores"), []),
        (("content", "weights"), []),
    ],
)
def test_signs_stand_only_where_they_are_true(make_picture, drawn, panels, signs) -> None:
    words = drawn(make_picture(), panels=panels, width=1200).words()
    assert [each for each in words if each in ("+", "=", "softmax\n→")] == signs


# --- the curve ---------------------------------------------------------------------------------------


def curve_axes(figure: Drawn):
    return next(axes for axes in figure.figure.axes if axes.lines and not axes.images)


def test_the_curve_panel_shows_the_edit_its_ghost_and_the_other_heads(make_picture, drawn) -> None:
    made = make_picture(10, bump=3.0)
    figure = drawn(made, panels=("curve",), width=900)
    lines = [line for line in curve_axes(figure).lines if len(line.get_xdata()) == 19]
    assert len(lines) == 4  # two other heads, the ghost, the edited head
    ghost, edited = lines[-2], lines[-1]
    offsets = list(edited.get_xdata())
    difference = np.nan_to_num(edited.get_ydata() - ghost.get_ydata())
    assert {offsets[place]: difference[place] for place in np.flatnonzero(difference)} == {
        -1.0: pytest.approx(3.0)
    }
    assert np.isnan(edited.get_ydata()[10:]).all()  # the future is masked, there is no line
    assert {"edited", "before the edit", "other heads", "future: masked", "factor eᵇ", "×10"} <= set(
        figure.words()
    )


def test_without_an_edit_there_is_no_ghost(make_picture, drawn) -> None:
    figure = drawn(make_picture(10), panels=("curve",), width=900)
    assert "before the edit" not in figure.words() and "head 1" in figure.words()  # as the caption counts


def test_a_term_without_a_curve_shows_its_mean_and_spread(make_picture, drawn) -> None:
    figure = drawn(make_picture(10, encoding="rope", mask="none"), panels=("curve",), width=900)
    assert {"mean of the term along each diagonal", "10–90 %"} <= set(figure.words())


def test_factors_stand_at_the_bias_they_belong_to(make_picture, drawn) -> None:
    figure = drawn(make_picture(10, bump=3.0), panels=("curve",), width=900)
    twin = next(axes for axes in figure.figure.axes if not axes.lines and not axes.images)
    for tick in twin.get_yticklabels():
        assert np.exp(tick.get_position()[1]) == pytest.approx(
            float(tick.get_text().removeprefix("×")), rel=1e-6
        )


def test_near_offsets_are_wide_on_the_symmetric_log_axis(make_picture, drawn) -> None:
    widths = {}
    for axis in ("linear", "symlog"):
        line = curve_axes(drawn(make_picture(100, mask="none"), panels=("curve",), curve_axis=axis)).lines[-1]
        x = line.get_xdata()
        widths[axis] = (x[100] - x[99]) / (x[-1] - x[-2])
    assert widths["linear"] == pytest.approx(1) and widths["symlog"] > 10


# --- choices -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "panels"),
    [
        ("weights,content", ("content", "weights")),
        (" Position , score,curve ", ("positional", "scores", "curve")),
        ("content,content", ("content",)),
    ],
)
def test_panels_are_read_in_the_order_of_the_equation(text, panels) -> None:
    assert parse_panels(text) == panels


@pytest.mark.parametrize(
    ("text", "words"), [("", "No panel"), (" , ", "No panel"), ("weihgts", "did you mean weights")]
)
def test_panels_that_are_none_are_refused(text, words) -> None:
    with pytest.raises(ViewerError, match=words):
        parse_panels(text)


def test_colour_maps_are_those_that_were_chosen(make_picture, drawn) -> None:
    made = with_weights(make_picture(4, mask="none"), np.eye(4))
    figure = drawn(made, panels=("weights",), width=600, weights_map="matplotlib:binary")
    assert figure.cell(0, 1, 1).max() == 0 and figure.cell(0, 1, 2).min() == 255


def test_two_thousand_tokens_are_a_small_file(make_picture, tmp_path: Path) -> None:
    made = make_picture(2048, encoding="alibi", heads=1, head=0)
    for name in ("a.png", "a.svg"):
        save_figure(made, FigureOptions(), tmp_path / name)
        assert (tmp_path / name).stat().st_size < 4_000_000, name
