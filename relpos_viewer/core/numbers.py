"""How numbers are written for people, and how people's numbers are read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relpos_viewer.core.errors import ViewerError

MINUS = "\N{MINUS SIGN}"


def short(value: float, *, signed: bool = False) -> str:
    """Write `value` with three significant digits; a number other than zero never reads as zero.

    >>> short(1 / 512), short(-17.0), short(1.5, signed=True)
    ('0.00195', '−17', '+1.5')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return ("+" if signed else "") + "∞" if value > 0 else MINUS + "∞"
    if value == 0:
        return "0"
    size = abs(value)
    # Three significant digits, but whole numbers below 100,000 are written out: 1,234 is not "1.23e+03".
    text = f"{size:.0f}" if 100 <= size < 99_999.5 else f"{size:.3g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    sign = MINUS if value < 0 else "+" if signed else ""
    return sign + text


def digits(value: float, most: int) -> str:
    """Write `value` with at most so many significant digits: where three, as `short` gives, are too few.

    >>> digits(-0.123456, 4), digits(1e-7, 4), digits(2.0, 4)
    ('−0.1235', '1e−07', '2')
    """
    return f"{value:.{most}g}".replace("-", MINUS)


def logarithm(natural: float) -> str:
    """Write a natural logarithm to base 10 with two decimals: close to 1, where there is none, as `short` does.

    >>> logarithm(-200.0), logarithm(-0.001)
    ('−86.86', '−0.000434')
    """
    value = natural / math.log(10)
    if not 1 <= abs(value) < math.inf:
        return short(value)
    return f"{value:.2f}".replace("-", MINUS)


def number_texts(values: Sequence[float]) -> list[str]:
    """Write neighbouring ticks: short, but never two alike, and 0.00195 never as 0.00."""
    texts = [short(value) for value in values]
    for most in range(4, 17):
        if len(set(texts)) == len(set(values)):
            break
        texts = [digits(value, most) for value in values]
    return texts


def parse_number(text: str) -> float:
    """Read a finite number typed by a person: comma or point, ASCII or typographic minus.

    Raises:
        ViewerError: when `text` is no finite number.
    """
    plain = text.strip().replace(MINUS, "-").replace("\N{EN DASH}", "-")
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    try:
        # float() would take "1_000"; people who type it meant something else.
        value = float(plain) if "_" not in plain else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ViewerError(f"“{text.strip()}” is not a number; type one like −1.25.")
    return value
