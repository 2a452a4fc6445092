"""Palettes: every code has a colour, marks cannot be mistaken for values, and every offered map exists."""

from __future__ import annotations

import numpy as np
import pytest

from relpos_viewer.app.palettes import TERMS_MAPS, WEIGHTS_MAPS, marks, palette, palettes
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES
from relpos_viewer.core.quantise import BELOW, LAST_VALUE, MARKS, MASKED, NAN, ZERO_CODE

THEMES = ("light", "dark")
CARDS = {"light": (255, 255, 255), "dark": (0x1D, 0x21, 0x27)}


def lightness(colours: np.ndarray) -> np.ndarray:
    """CIE L* 0…100 of sRGB bytes [.., 3]."""
    channels = np.asarray(colours, float)[..., :3] / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    y = linear @ [0.2126, 0.7152, 0.0722]
    return np.where(y > 216 / 24389, 116 * np.cbrt(y) - 16, y * 24389 / 27)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("stage", "name"),
    [("scores", name) for name, _ in TERMS_MAPS] + [("weights", name) for name, _ in WEIGHTS_MAPS],
)
def test_every_map_of_the_menus_gives_256_opaque_colours(stage, name, theme):
    colours = palette(stage, name, theme)
    assert colours.shape == (256, 4) and colours.dtype == np.uint8
    assert (colours[..., 3] == 255).all()
    assert len(np.unique(colours[: LAST_VALUE + 1], axis=0)) > 100


@pytest.mark.parametrize("theme", THEMES)
def test_zero_of_a_term_is_near_the_card_and_the_ends_are_far_from_it(theme):
    light = lightness(palette("scores", "auto", theme))
    card = float(lightness(np.asarray(CARDS[theme])))
    assert abs(light[ZERO_CODE] - card) < 12
    assert min(abs(light[0] - card), abs(light[LAST_VALUE] - card)) > 55


@pytest.mark.parametrize("theme", THEMES)
def test_weights_start_near_the_card_and_never_turn_back_in_lightness(theme):
    light = lightness(palette("weights", "auto", theme))[: LAST_VALUE + 1]
    assert abs(light[0] - float(lightness(np.asarray(CARDS[theme])))) < 12
    steps = np.diff(light) * (1 if theme == "dark" else -1)
    assert steps.min() > -0.6  # one byte of rounding


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("stage", STAGES)
def test_underflow_masked_and_not_a_number_have_three_looks(stage, theme):
    colours, patterns = palette(stage, "auto", theme), marks(theme)
    assert (colours[BELOW] == colours[0]).all()  # the floor's own colour
    assert patterns[MASKED].hatch and patterns[NAN].hatch
    looks = [tuple(colours[code, :3]) for code in (BELOW, MASKED, NAN)]
    assert len(set(looks)) == 3


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_marks_look_the_same(theme):
    patterns = marks(theme)
    assert set(patterns) == set(MARKS) - {BELOW}
    assert len({(mark.ground, mark.ink, mark.hatch) for mark in patterns.values()}) == len(patterns)


def test_terms_and_weights_have_their_own_maps():
    chosen = palettes("crameri:vik", "bids:magma", "light")
    assert set(chosen) == set(STAGES)
    assert (chosen["content"] == chosen["scores"]).all()
    assert (chosen["weights"] == palette("weights", "bids:magma", "light")).all()
    assert (chosen["weights"][:LAST_VALUE] != chosen["scores"][:LAST_VALUE]).any()


def test_an_unknown_map_is_named():
    with pytest.raises(ViewerError, match="virids"):
        palette("weights", "virids", "light")
