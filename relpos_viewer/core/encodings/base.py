"""The protocol every family of position encodings follows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.inputs import AttentionInputs, as_tensor, shape_text
from relpos_viewer.core.numbers import MINUS, digits
from relpos_viewer.core.offsets import offsets, toeplitz_block

Span = tuple[int, int]

COLUMNS = 100  # how wide the source is that `Encoding.python` writes
# Source that holds more numbers than this is no longer read by people, nor opened by editors with pleasure.
MOST_NUMBERS = 200_000
BIAS_OF_PLACES = "def bias(n_query, n_key, q=None, k=None, scale=None, device=None):"
BIAS_OF_VECTORS = (
    "def bias(n_query, n_key, q, k, scale=None):\n    scale = q.shape[-1] ** -0.5 if scale is None else scale"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family: forms, the command line and documentation are made from it.

    Attributes:
        name: keyword in Python, on the command line and in session files.
        kind: what values it takes; a table is an array, or None for the family's own illustration.
        default: value when nothing is said.
        help: one sentence for people.
        minimum: smallest number allowed.
        maximum: largest number allowed.
        choices: the words allowed, for kind "choice".
        when: another parameter and its values with which this one matters; None when it always does.
    """

    name: str
    kind: Literal["int", "float", "bool", "choice", "table"]
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    when: tuple[str, tuple[Any, ...]] | None = None

    def matters(self, values: Mapping[str, Any]) -> bool:
        """Return whether it changes anything beside these values of the family's parameters, by name."""
        return self.when is None or values[self.when[0]] in self.when[1]

    def read(self, value: Any) -> Any:
        """Return `value` (a Python value, or text from the command line) as this parameter's type.

        Raises:
            ViewerError: naming the parameter and what it allows.
        """
        readers = {"int": self._int, "float": self._float, "bool": self._bool, "choice": self._choice}
        if self.kind == "table":
            return None if value is None else as_tensor(value, f"the {self.name}")
        return readers[self.kind](value)

    def _float(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ViewerError(f"{self.name} must be a number, not “{value}”.")
        low, high = self.minimum, self.maximum
        if (low is not None and number < low) or (high is not None and number > high):
            raise ViewerError(f"{self.name} must lie {self._domain()}, not {value}.")
        return number

    def _int(self, value: Any) -> int:
        number = self._float(value)
        if number != int(number):
            raise ViewerError(f"{self.name} must be a whole number, not {value}.")
        return int(number)

    def _domain(self) -> str:
        if self.maximum is None:
            return f"at or above {digits(self.minimum, 7)}"
        if self.minimum is None:
            return f"at or below {digits(self.maximum, 7)}"
        return f"between {digits(self.minimum, 7)} and {digits(self.maximum, 7)}"

    def _bool(self, value: Any) -> bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        word = str(value).strip().lower()
        if word not in words:
            raise ViewerError(f"{self.name} must be true or false, not “{value}”.")
        return words[word]

    def _choice(self, value: Any) -> str:
        word = str(value).strip().lower()
        if word not in self.choices:
            raise ViewerError(f"{self.name} cannot be “{value}”{nearest(word, self.choices)}")
        return word


@dataclass(frozen=True)
class Handle:
    """A native handle: a point of the curve editor that moves parameters of the family, never the edit.

    Attributes:
        name: stable among the handles of one head: "slope", "bucket 5", "kernel 2".
        offset: δ where it stands; may lie between offsets.
        value: its height, score units.
        span: first and last offset that move with it; None when the whole curve does.
        moves: in which directions it can be dragged.
        help: which parameter moves, for the status line.
    """

    name: str
    offset: float
    value: float
    span: Span | None
    moves: Literal["value", "offset", "both"]
    help: str


@dataclass(frozen=True)
class Knob:
    """One real number of a head's curve, as a fit sees it.

    Attributes:
        name: for tables: "slope", "a", "bucket 5".
        low, high: where it may lie.
        starts: range from which a fit draws its starting points.
        log: whether those are drawn, and steps taken, on a logarithmic scale (low > 0 then).
        linear: whether the curve is a linear function of it while the others stay; it is then solved for exactly.
        shared: whether all heads have it in common.
        is_offset: whether it is a δ, which a fit seeks only where the target is given.
        tallest: of a linear one, the largest magnitude that it adds anywhere when it is 1; 0 where only the offsets
            at hand tell.
    """

    name: str
    low: float
    high: float
    starts: tuple[float, float]
    log: bool = False
    linear: bool = False
    shared: bool = False
    is_offset: bool = False
    tallest: float = 0.0


@dataclass(frozen=True)
class Convention:
    """One fact about how a family is computed: a sentence, or a table.

    Attributes:
        title: "Offset sign", "Slopes", "Frequencies".
        text: the sentence, or what stands above the table.
        columns: heads of the table's columns.
        rows: its cells. A table whose first column is "δ" has one row for each offset or run of offsets ("8…11").
    """

    title: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Variant:
    """The same family read by another convention that is found in code, to see what goes wrong."""

    name: str
    help: str
    encoding: Encoding


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoding:
    """A position encoding with its parameters, ready to give its term for any inputs.

    A family is a frozen dataclass whose fields are its parameters, `heads` and `first_head`. It overrides `curve`
    when it is Toeplitz (its term depends on the offset alone), otherwise `positional`.

    Attributes of the class:
        sign: how papers or common code index the offset, and how it is converted to δ = key − query.
        scaling: which factor stands on content, bias and anything else.
        head_axes: tables with an axis of heads, and which axis it is; None in a table stands for an illustration.
        own_constant: whether the knobs can already add a constant to the whole curve.
        of_places: whether the term is one of i and j, the two positions, though not of δ alone.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    toeplitz: ClassVar[bool]
    sign: ClassVar[str] = "The term is a function of δ = key − query; the past is negative."
    scaling: ClassVar[str] = "Content is scaled, the positional term is added as it is."
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    head_axes: ClassVar[Mapping[str, int]] = {}
    own_constant: ClassVar[bool] = False
    of_places: ClassVar[bool] = False

    heads: int | None = None
    """Number of heads, or None until the inputs say it."""
    first_head: int = 0
    """Index of the first of these heads: illustrations differ by head, also where one head is taken alone."""

    def curve(self, n: int, dtype: torch.dtype = torch.float32) -> Tensor | None:
        """Return the bias at δ = −(n−1) … n−1 as [head, 2n−1] in score units; None where no single curve exists."""
        return None

    def positional(
        self, inputs: AttentionInputs, scale: float, rows: Span | None = None, cols: Span | None = None
    ) -> Tensor:
        """Return this family's term in score units, [head, rows, cols] of the full [head, query, key].

        Args:
            inputs: what the scores are computed from.
            scale: the content scale; families whose term depends on q or k multiply by it.
            rows: half-open range of queries, all when None.
            cols: half-open range of keys, all when None.

        Raises:
            ViewerError: when the family cannot be applied to these inputs.
        """
        curve = self.with_heads(inputs.heads).curve(inputs.n_key, inputs.content_dtype)  # [head, 2·key−1]
        assert curve is not None, f"{self.name} has no curve, so it must override positional"
        return toeplitz_block(
            curve.to(inputs.device),
            inputs.query_start,
            rows or (0, inputs.n_query),
            cols or (0, inputs.n_key),
        )  # [head, rows, cols]

    def factors(self, inputs: AttentionInputs) -> tuple[Tensor, Tensor] | None:
        """Return (q′ [head, query, d], k′ [head, key, d]) where content + positional = scale · q′·k′; else None.

        Such a family costs a long sequence no more than its content does.
        """
        return None

    def terms(self, inputs: AttentionInputs, scale: float) -> dict[str, Tensor] | None:
        """Return the named parts whose sum is content + positional, each [head, query, key]; None without parts."""
        return None

    def positional_terms(self) -> tuple[str, ...]:
        """Return the names of those `terms` whose sum is positional; none without parts."""
        return ()

    def output(self, inputs: AttentionInputs, weights: Tensor) -> Tensor | None:
        """Return what the encoding adds to weights · V, [head, query, d_v], for weights [head, query, key]."""
        return None

    def buckets(self, n: int) -> Tensor | None:
        """Return the group each offset shares its bias with, int64 [2n−1]; None when every offset is its own."""
        return None

    def beyond(self, n: int) -> Tensor | None:
        """Return which offsets lie past what was drawn or trained, bool [2n−1]; None when there is no such limit."""
        return None

    def handles(self, head: int, n: int, head_dim: int | None = None) -> tuple[Handle, ...]:
        """Return the native handles of a head's curve over n positions, by ascending offset.

        Args:
            head: index.
            n: number of keys.
            head_dim: width of a query where it is known.
        """
        return ()

    def dragged(
        self, handle: Handle, head: int, offset: float, value: float, n: int, head_dim: int | None = None
    ) -> Self:
        """Return the encoding with one of its `handles` moved to (offset, value), as near as its domain allows."""
        raise NotImplementedError(f"{self.name} has no handle {handle.name}")

    def knobs(self, head: int) -> tuple[Knob, ...]:
        """Return the numbers that shape a head's curve; none when it cannot be fitted."""
        return ()

    def knob_values(self, head: int) -> np.ndarray:
        """Return the present numbers, float64 [knob]."""
        return np.empty(0)

    def with_knobs(self, head: int, values: np.ndarray) -> Self:
        """Return the encoding with a head's numbers replaced, float64 [knob]."""
        return self

    def fit_curve(self, n: int, head: int) -> Tensor | None:
        """Return the part of a head's term that is a function of δ alone, float64 [2n−1]; None without one."""
        return self.fit_at(offsets(n), head)

    def fit_at(self, delta: Tensor, head: int) -> Tensor | None:
        """Return `fit_curve` at some offsets alone: for δ int64 [place] float64 [place]."""
        n = int(delta.abs().max()) + 1
        curve = self.curve(n, torch.float64)  # [head, 2n−1]
        return None if curve is None else curve[head, delta + n - 1]

    def slopes_of_knobs(self, head: int, delta: Tensor) -> np.ndarray | None:
        """Return how the curve changes with each linear knob, float64 [linear, place]; None to find out by trying.

        The curve must be the sum of these, each times its knob.

        Args:
            head: index.
            delta: offsets δ, int64 [place].
        """
        return None

    def slopes_of_bent_knobs(self, head: int, delta: Tensor) -> np.ndarray | None:
        """Return how the curve changes with each other knob, float64 [knob, place]; None to find out by trying.

        Arguments as for `slopes_of_knobs`.
        """
        return None

    def suggestions(self, head: int, delta: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
        """Return numbers of knobs from which a search for `target` may well begin, float64 [knob] each.

        Args:
            head: index.
            delta: offsets δ, int64 [place], ascending.
            target: what is wanted there, float64 [place].
        """
        return []

    def fitted(self, head: int, target: np.ndarray) -> Self | None:
        """Return the encoding whose curve is nearest to `target`, where a family needs no search; else None.

        Args:
            head: index.
            target: float64 [2n−1], NaN where nothing is wanted.
        """
        return None

    def tables(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return the family's own tables (buckets, slopes, frequencies) for n positions."""
        return ()

    def conventions(self, n: int, head_dim: int | None = None) -> tuple[Convention, ...]:
        """Return everything that two implementations could do differently."""
        return (
            Convention("Offset sign", self.sign),
            Convention("Scales", self.scaling),
            *self.tables(n, head_dim),
        )

    def variants(self, inputs: AttentionInputs) -> tuple[Variant, ...]:
        """Return what this encoding, of as many heads as `inputs`, becomes under conventions that code mixes up.

        Raises:
            ViewerError: when the family cannot be applied to these inputs.
        """
        return ()

    def trained_length(self) -> int | None:
        """Return the length beyond which the family was not trained or changes its rule; None without one."""
        return None

    def beyond_words(self, n_trained: int, n: int, head_dim: int | None = None) -> str:
        """Return one sentence about what the family does to a sequence longer than those of training.

        Args:
            n_trained: the trained length, `trained_length()` where the family has one.
            n: the length of the sequence, above it.
            head_dim: width of a query where it is known.
        """
        if self.toeplitz:
            return f"The formula goes on: offsets past δ = {MINUS}{n_trained} get values that training never saw."
        return f"The rule goes on to offsets past δ = {MINUS}{n_trained}, which training never saw."

    def python(self, n_key: int, head_dim: int | None = None) -> str:
        """Return Python source of the term in score units, for `export.code`.

        A Toeplitz family defines `curve(offset)`: δ as int64 [count] to float64 [head, count]. Any other defines
        `bias`, [head, query, key]: with the arguments of `BIAS_OF_PLACES` where places alone decide, made on the CPU
        and then brought to `device`; else with those of `BIAS_OF_VECTORS`, q and k [head, n, d], in q's type and on
        q's device. The source may use math, torch and `offsets(n_query, n_key)`, δ as int64 [query, key], which are
        defined above it. Tables are written by `constant` before the functions, numbers by `literal`.

        Raises:
            ViewerError: when the family cannot be written down.
        """
        raise ViewerError(f"{self.title} cannot be written as code yet.")

    def python_for(self, inputs: AttentionInputs) -> str:
        """Return `python` of the term as it is for these inputs, with what only they know written down.

        Raises:
            ViewerError: as `python` does.
        """
        return self.with_heads(inputs.heads).python(inputs.n_key, inputs.head_dim)

    def written_width(self, head_dim: int | None) -> int:
        """Return the width of a head, which code that holds tables of vectors cannot do without.

        Raises:
            ViewerError: when it is not known.
        """
        if head_dim is None:
            raise ViewerError(f"{self.title} can be written as code only where the width of a head is known.")
        return head_dim

    def with_heads(self, heads: int) -> Self:
        """Return the same encoding for `heads` heads.

        Raises:
            ViewerError: when a table holds another number of heads.
        """
        if self.heads == heads:
            return self
        for name, axis in self.head_axes.items():
            table = getattr(self, name)
            if table is not None and table.shape[axis] not in (1, heads):
                raise ViewerError(
                    f"the {self.name} {name} holds {table.shape[axis]} heads, the queries {heads}; they must agree."
                )
        return replace(self, heads=heads)

    def for_blocks(self, inputs: AttentionInputs) -> Self:
        """Return the same encoding with what it would work out anew for each block of `inputs` written down once."""
        return self

    def for_one_head(self, head: int) -> Self:
        """Return the encoding of head `head` alone: each table keeps one head."""
        taken = {}
        for name, axis in self.head_axes.items():
            table = getattr(self, name)
            if table is not None and table.shape[axis] > 1:
                taken[name] = table.narrow(axis, head, 1)
        return replace(self, heads=1, first_head=self.first_head + head, **taken)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters by name, without `heads` and `first_head`."""
        own = ("heads", "first_head")
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in own}


def needs_queries(name: str, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
    """Return q [head, query, d] and k [head, key, d] for a family whose term depends on them.

    Raises:
        ViewerError: when only scores are known.
    """
    if inputs.q is None or inputs.k is None:
        raise ViewerError(
            f"{name} needs queries and keys, and this file gives only scores; choose a bias family."
        )
    return inputs.q, inputs.keys_per_head()


def check_table(table: Tensor, name: str, axes: str, ndim: int) -> Tensor:
    """Return `table` when it has `ndim` axes, none of them empty, and numbers in it; −inf is one.

    Raises:
        ViewerError: naming the axes that were expected.
    """
    if table.ndim != ndim or 0 in table.shape:
        raise ViewerError(f"the {name} table has shape {shape_text(table)}; give {axes}.")
    if bool(table.isnan().any()):
        raise ViewerError(f"the {name} table holds values that are no numbers (nan); replace them.")
    return table


def check_width(table: Tensor, name: str, width: int, of: str = "a query") -> Tensor:
    """Return `table` when its vectors, along the last axis, are as wide as what they meet.

    Raises:
        ViewerError: naming both widths; `of` says what has the other.
    """
    if table.shape[-1] != width:
        raise ViewerError(f"the {name} is {table.shape[-1]} wide, {of} {width}; they must agree.")
    return table


def read_parameters(family: type[Encoding], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters of a family by its table.

    Raises:
        ViewerError: for an unknown parameter (with the nearest name) or a value outside its domain.
    """
    known = {parameter.name: parameter for parameter in family.parameters}
    for name in given:
        if name not in known:
            hint = nearest(name, known) if known else "; it has none"
            raise ViewerError(f"{family.name} has no parameter “{name}”{hint}")
    return {name: known[name].read(value) for name, value in given.items()}


def literal(number: float | np.generic) -> str:
    """Return a number as Python source, with the shortest digits that read back as the same float32 or float64."""
    value = float(str(number))
    return (
        repr(value)
        if math.isfinite(value)
        else f"math.{value}"
        if value >= 0 or value != value
        else "-math.inf"
    )


def constant(name: str, table: Tensor | np.ndarray, shape: str) -> str:
    """Return `NAME = torch.tensor(…)  # shape` as lines of at most `COLUMNS` columns.

    Raises:
        ViewerError: for more than `MOST_NUMBERS` numbers.
    """
    numbers = np.asarray(table)
    if numbers.size > MOST_NUMBERS:
        raise ViewerError(
            f"{name} would take {numbers.size:,} numbers of source code; export its data instead."
        )
    texts = np.array([literal(number) for number in numbers.ravel()], object).reshape(numbers.shape)
    if numbers.size < COLUMNS:
        line = f"{name} = torch.tensor({_nested(texts)}, dtype=torch.float64)  # {shape}"
        if len(line) <= COLUMNS:
            return line
    rows = "\n".join(_rows(texts, "    "))
    return f"{name} = torch.tensor(\n{rows},\n    dtype=torch.float64,\n)  # {shape}"


def _nested(texts: np.ndarray) -> str:
    parts = texts if texts.ndim == 1 else map(_nested, texts)
    return f"[{', '.join(parts)}]"


def _rows(texts: np.ndarray, indent: str) -> list[str]:
    """Return a nested list of numbers as lines, each list on a line of its own where it fits."""
    if texts.ndim == 1:
        text = _nested(texts)
        if len(indent) + len(text) < COLUMNS:
            return [indent + text]
        inner = indent + "    "
        wrapped = textwrap.wrap(text[1:-1] + ",", COLUMNS, initial_indent=inner, subsequent_indent=inner)
        return [f"{indent}[", *wrapped, f"{indent}]"]
    lines = [f"{indent}["]
    for part in texts:
        lines += _rows(part, indent + "    ")
        lines[-1] += ","
    return [*lines, f"{indent}]"]


def head_spread(heads: int) -> np.ndarray:
    """Return `heads` numbers evenly spread over 0 … 1, for illustrations in which every head differs. [head]"""
    return (np.arange(heads) + 0.5) / heads
