"""Formulas of the offset that people type, such as ``-0.5*abs(d)**0.7``: parsed by hand, never run as Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relpos_viewer.core.errors import ViewerError, nearest

# A formula longer or deeper than this was not typed by a hand.
LONGEST, DEEPEST = 500, 50

FUNCTIONS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "abs": (1, np.abs),
    "sign": (1, np.sign),
    "sqrt": (1, np.sqrt),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "log2": (1, np.log2),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "tanh": (1, np.tanh),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "where": (3, lambda condition, yes, no: np.where(condition != 0, yes, no)),
}
"""Name to (number of arguments, function)."""

VARIABLES: dict[str, str] = {
    "d": "offset δ = key − query",
    "b": "the curve as it is now",
    "n": "number of positions",
    "h": "head, from 0",
    "H": "number of heads",
    "pi": "3.14159…",
    "e": "2.71828…",
}
"""What a formula may name, and what it is."""

_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-zδ_]\w*)|(\*\*|<=|>=|==|!=|[-+*/^%(),<>]))"
)
_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def evaluate(text: str, **variables: float | np.ndarray) -> np.ndarray:
    """Return a formula's value, float64, broadcast over the variables that it names.

    Powers are ``**`` or ``^``; comparisons give 1 or 0; ``δ`` may stand for ``d``.

    Args:
        text: the formula.
        **variables: by the names of `VARIABLES`; `pi` and `e` need not be given.

    Raises:
        ViewerError: in one sentence, for what cannot be read or named, or gives no finite number.
    """
    if len(text) > LONGEST:
        raise ViewerError(f"the formula has {len(text)} signs, and the limit is {LONGEST}.")
    known = {"pi": math.pi, "e": math.e, **variables}
    parser = _Parser(_tokens(text), {name: np.asarray(value, np.float64) for name, value in known.items()})
    with np.errstate(all="ignore"):
        value = parser.whole()
    if not np.isfinite(value).all():
        raise ViewerError(f"the formula {text.strip()} is no finite number everywhere; mind log(0) and 1/0.")
    return value


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name" or "sign"
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise ViewerError(f"the formula has “{text[at:].strip()[0]}” where no such sign can stand.")
        kind = ("number", "name", "sign")[found.lastindex - 1]  # type: ignore[operator]
        tokens.append(_Token(kind, found[found.lastindex], at))  # type: ignore[index]
        at = found.end()
    return tokens


class _Parser:
    """Recursive descent: comparison < sum < product < sign < power < atom."""

    def __init__(self, tokens: list[_Token], variables: dict[str, np.ndarray]) -> None:
        self._tokens, self._variables = tokens, variables
        self._at = self._depth = 0

    def whole(self) -> np.ndarray:
        if not self._tokens:
            raise ViewerError("the formula is empty; write one such as -0.5*abs(d)**0.7.")
        value = self._comparison()
        if self._at < len(self._tokens):
            raise ViewerError(f"the formula has “{self._tokens[self._at].text}” where it should end.")
        return value

    def _next(self, *signs: str) -> str | None:
        """Step over the next token if it is one of the signs, and return it."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "sign" and token.text in signs:
                self._at += 1
                return token.text
        return None

    def _comparison(self) -> np.ndarray:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ViewerError(f"the formula is nested more than {DEEPEST} deep; write a simpler one.")
        value = self._sum()
        while sign := self._next(*_COMPARE):
            value = _COMPARE[sign](value, self._sum()).astype(np.float64)
        self._depth -= 1
        return value

    def _sum(self) -> np.ndarray:
        value = self._product()
        while sign := self._next("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> np.ndarray:
        value = self._signed()
        while sign := self._next("*", "/", "%"):
            other = self._signed()
            value = value * other if sign == "*" else value / other if sign == "/" else np.mod(value, other)
        return value

    def _signed(self) -> np.ndarray:
        minus = False
        while sign := self._next("+", "-"):
            minus ^= sign == "-"
        value = self._power()
        return -value if minus else value

    def _power(self) -> np.ndarray:
        value = self._atom()
        if self._next("**", "^"):
            self._depth += 1
            if self._depth > DEEPEST:
                raise ViewerError(f"the formula is nested more than {DEEPEST} deep; write a simpler one.")
            value = np.power(value, self._signed())  # binds to the right: 2**3**2 = 2**9
            self._depth -= 1
        return value

    def _atom(self) -> np.ndarray:
        if self._at >= len(self._tokens):
            raise ViewerError("the formula ends too early; something is missing at its end.")
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "number":
            return np.float64(token.text)
        if token.text == "(":
            value = self._comparison()
            self._close()
            return value
        if token.kind == "name":
            return self._called(token.text) if self._next("(") else self._named(token.text)
        raise ViewerError(f"the formula has “{token.text}” where a number or a name should stand.")

    def _close(self) -> None:
        if not self._next(")"):
            raise ViewerError("the formula has a bracket that is not closed.")

    def _named(self, name: str) -> np.ndarray:
        name = "d" if name == "δ" else name
        if name not in self._variables:
            if name in FUNCTIONS:
                raise ViewerError(f"{name} is a function; write {name}(…).")
            raise ViewerError(f"the formula names “{name}”{nearest(name, self._variables)}")
        return self._variables[name]

    def _called(self, name: str) -> np.ndarray:
        if name not in FUNCTIONS:
            raise ViewerError(f"there is no function “{name}”{nearest(name, FUNCTIONS)}")
        count, function = FUNCTIONS[name]
        arguments = [self._comparison()]
        while self._next(","):
            arguments.append(self._comparison())
        self._close()
        if len(arguments) != count:
            raise ViewerError(f"{name} takes {count} value{'s' if count > 1 else ''}, not {len(arguments)}.")
        return np.asarray(function(*arguments), np.float64)
