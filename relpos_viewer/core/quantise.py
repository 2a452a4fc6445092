"""Turn pooled numbers into one byte a pixel: a colour index, or a mark that says why there is no colour.

A picture of bytes with a 256-entry colour table paints thirty times faster than floats, and three hundred
times faster than floats with NaN (pitfalls of pyqtgraph's ImageItem); and *masked*, *too small to show*,
*infinite* and *not a number* each keep a look of their own instead of all being blank (abTEM#372).
"""

from __future__ import annotations

import numpy as np

from relpos_viewer.core.levels import Levels

LAST_VALUE = 246
"""Codes 0…246 are values: an odd number of them, so that on symmetric limits zero has the middle one."""

ZERO_CODE = LAST_VALUE // 2

BELOW = 248  # log scale: the value is 0 or under the floor (underflow)
NO_KEY = 250  # the query has no visible key at all: its weights are all zero
BEYOND = 251  # the offset lies past what the encoding was made for
NEG_INF = 252
POS_INF = 253
NAN = 254
MASKED = 255

MARKS: dict[int, str] = {
    BELOW: "below the floor",
    NO_KEY: "query without any key",
    BEYOND: "beyond the range of the encoding",
    NEG_INF: "−∞",
    POS_INF: "+∞",
    NAN: "not a number",
    MASKED: "masked",
}
"""Every code that is no value, with the words for legends and tooltips."""


def quantise(
    values: np.ndarray,
    visible: np.ndarray | None,
    levels: Levels,
    *,
    no_key: np.ndarray | None = None,
    beyond: np.ndarray | None = None,
) -> np.ndarray:
    """Codes uint8 [h, w] of `values` float [h, w]; values past the limits take the colour of the nearer end.

    visible: bool [h, w], False is masked (None: all visible); no_key: bool [h], the queries that see no key;
    beyond: bool [h, w]. Masked wins over everything but no_key, not-a-number over the rest. Any thread.
    """
    values = np.asarray(values)
    # The step from value to code is one multiplication in float32 wherever that is exact enough for 247
    # codes.
    if levels.scale == "linear" and 1e-30 < levels.high - levels.low < 1e30 and values.dtype == np.float32:
        gain = np.float32(LAST_VALUE / (levels.high - levels.low))
        with np.errstate(over="ignore", invalid="ignore"):
            place = (values - np.float32(levels.low)) * gain
    else:
        place = levels.fraction(values) * LAST_VALUE
    finite = np.isfinite(values)
    all_finite = bool(finite.all())
    if levels.scale == "log" or not all_finite:
        place = np.where(np.isnan(place), 0, place)  # infinities are clipped, NaN would be an undefined byte
    codes = np.rint(np.clip(place, 0, LAST_VALUE)).astype(np.uint8)  # [h, w]

    if levels.scale == "log":
        codes[values < levels.low] = BELOW
    if beyond is not None:
        codes[beyond] = BEYOND
    if not all_finite:
        codes[values == np.inf] = POS_INF
        codes[values == -np.inf] = NEG_INF
        codes[np.isnan(values)] = NAN
    if visible is not None:
        codes[~visible] = MASKED
    if no_key is not None:
        codes[no_key] = NO_KEY
    return codes
