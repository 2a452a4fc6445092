"""The document: everything the user chose and drew, as one immutable value.

A change makes a new document (`replace`), which shares all unchanged parts with the old one: undo
keeps documents, the worker thread reads them, and nothing has to be copied or locked. Any thread
may read a document; only `Session.apply`, on the GUI thread, makes another one current.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.document.arrays import FrozenStruct, frozen_array, frozen_mapping

replace = msgspec.structs.replace

Tokenizer = Literal["words", "characters", "codepoints", "bytes", "integers"]
Stage = Literal["content", "positional", "scores", "weights"]
Layout = Literal["row", "grid", "content", "positional", "scores", "weights"]
LevelMode = Literal["auto", "shared", "percentile", "typed"]
WeightsScale = Literal["linear", "log"]
Reduce = Literal["auto", "mean", "max", "sample"]
CurveAxis = Literal["linear", "symlog"]

ARRAY_NAMES = ("q", "k", "v", "bias", "scores", "weights", "visible", "documents")

FIRST_TEXT = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
    "must be in want of a wife."
)


class TextSource(FrozenStruct, frozen=True, eq=False):
    """A sequence typed by hand; its content terms are computed from the text alone.

    `heads` and `dim` (width of one head) size the projections, `seed` chooses them.
    """

    text: str
    tokenizer: Tokenizer = "words"
    heads: int = 4
    dim: int = 32
    seed: int = 0

    @property
    def kind(self) -> str:
        """Always "text": how `sources.build` tells the two kinds of source apart."""
        return "text"


class ArraySource(FrozenStruct, frozen=True, eq=False):
    """Arrays read from a file, kept whole: a saved session opens without that file.

    `arrays` maps names of `ARRAY_NAMES` to `[head, n, d]` (q, k, v), `[head, query, key]` (bias,
    scores, weights), bool `[query, key]` or `[head, query, key]` (visible), or int `[key]`
    (documents: which one each token belongs to). Tokens alone are drawn like typed text. `path` is
    where they came from, for display only. `spans` are code-point ranges of the tokens in their text.
    """

    path: str
    label: str
    arrays: Mapping[str, np.ndarray]
    tokens: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] | None = None
    ids: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.arrays) - set(ARRAY_NAMES))
        if unknown:
            raise ViewerError(f"Unknown array {unknown[0]!r}; use one of {', '.join(ARRAY_NAMES)}.")
        arrays = {name: np.asarray(value) for name, value in self.arrays.items()}
        msgspec.structs.force_setattr(self, "arrays", frozen_mapping(arrays))

    @property
    def kind(self) -> str:
        """Always "arrays": how `sources.build` tells the two kinds of source apart."""
        return "arrays"

    @property
    def heads(self) -> int:
        """How many heads the arrays show (1 where none of them has a head axis, 4 for tokens alone)."""
        shown = [array for name, array in self.arrays.items() if name not in ("k", "v", "documents")]
        if not shown:
            return 4  # as many as typed text has
        return max((array.shape[0] for array in shown if array.ndim == 3), default=1)


Source = TextSource | ArraySource


class EncodingSpec(FrozenStruct, frozen=True, eq=False):
    """A position encoding by name, with the parameters that differ from its defaults.

    Parameters are scalars (bool, int, float, str) or arrays (a learned table, `[head, …]`). `loaded`
    holds the tables that hands then drew on as they were before, None for the family's own; it is
    itself None where nothing was drawn on.
    """

    name: str = "t5"
    parameters: Mapping[str, bool | int | float | str | np.ndarray | None] = {}
    loaded: Mapping[str, np.ndarray | None] | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "parameters", frozen_mapping(self.parameters))
        if self.loaded is not None:
            msgspec.structs.force_setattr(self, "loaded", frozen_mapping(self.loaded))

    @classmethod
    def of(cls, encoding: Any) -> EncodingSpec:
        """The spec of a `core.encodings.Encoding`: its parameters that differ from the family's defaults."""
        defaults = {parameter.name: parameter.default for parameter in encoding.parameters}
        changed = {}
        for name, value in encoding.values.items():
            if value is None or (not hasattr(value, "cpu") and value == defaults[name]):
                continue
            changed[name] = value.cpu().numpy() if hasattr(value, "cpu") else value
        return cls(encoding.name, changed)

    def drawn(self, encoding: Any, table: str) -> EncodingSpec:
        """The spec of `encoding`, which a hand made of this one by drawing on `table`: it knows the loaded one."""
        loaded = {table: self.parameters.get(table)} if self.loaded is None else self.loaded
        return replace(EncodingSpec.of(encoding), loaded=loaded)

    def as_loaded(self) -> EncodingSpec:
        """This encoding as it was before hands drew on its tables."""
        if self.loaded is None:
            return self
        parameters = {**self.parameters, **self.loaded}
        return EncodingSpec(
            self.name, {name: value for name, value in parameters.items() if value is not None}
        )

    def build(self) -> Any:
        """The `core.encodings.Encoding`. Raises ViewerError for an unknown name or bad parameter."""
        # torch behind it takes most of a second to import; a document must not need it to exist.
        from relpos_viewer.core.encodings import encoding

        return encoding(self.name, **self.parameters)


class EditCurve(FrozenStruct, frozen=True, eq=False):
    """The user's edit Δ_h(δ): score units added to the family's own term, float32 [head, 2m−1].

    Column c stands for the offset δ = c − (m−1). The edit is 0 for offsets and heads it does not
    hold, whatever the length of the sequence; `beyond` tells where a drawn curve breaks off so.
    """

    values: np.ndarray

    def __post_init__(self) -> None:
        values = frozen_array(self.values, "The edit curve", np.float32)
        if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] % 2 != 1:
            raise ViewerError(f"The edit curve must be [head, 2m−1], got shape {list(values.shape)}.")
        msgspec.structs.force_setattr(self, "values", values)

    @classmethod
    def none(cls) -> EditCurve:
        """No edit."""
        return cls(np.zeros((1, 1), np.float32))

    @property
    def is_zero(self) -> bool:
        """True when nothing is added anywhere."""
        return not self.values.any()

    def at(self, heads: int, n: int) -> np.ndarray:
        """A new float32 [heads, 2n−1] for δ = −(n−1)…n−1: cropped, or 0 where nothing was drawn."""
        result = np.zeros((heads, 2 * n - 1), np.float32)
        return _overlay(result, self.values)

    def beyond(self, head: int, n: int) -> np.ndarray | None:
        """Offsets past an end that was drawn at another value than 0, bool [2n−1]; None when there are none."""
        reach = self.values.shape[1] // 2  # largest |δ| that was drawn
        if n - 1 <= reach or head >= self.values.shape[0] or not self.values[head, [0, -1]].any():
            return None
        delta = np.arange(1 - n, n)  # [2n−1]
        low, high = self.values[head, [0, -1]] != 0
        return (low & (delta < -reach)) | (high & (delta > reach))

    def updated(self, values: np.ndarray) -> EditCurve:
        """This edit with its middle replaced by `values` [head, 2n−1].

        Offsets and heads that `values` does not reach keep what was drawn there, so an edit made
        on a long sequence survives work on a short one.
        """
        values = frozen_array(values, "The edit curve", np.float32)
        heads = max(self.values.shape[0], values.shape[0])
        n = (max(self.values.shape[1], values.shape[1]) + 1) // 2
        return EditCurve(_overlay(self.at(heads, n), values))


def _overlay(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Write `source` [a, 2m−1] over `target` [b, 2n−1] where both have heads and offsets; returns target."""
    heads = min(target.shape[0], source.shape[0])
    reach = (min(target.shape[1], source.shape[1]) - 1) // 2  # largest |δ| that both hold
    into, out = target.shape[1] // 2, source.shape[1] // 2  # columns of δ = 0
    target[:heads, into - reach : into + reach + 1] = source[:heads, out - reach : out + reach + 1]
    return target


class View(FrozenStruct, frozen=True, eq=False):
    """How the document is shown. Saved with it, but never a step of undo, and never changing a number.

    `levels` limits the colours of content, position and score: "auto" each panel its own, "shared"
    one zero-centred scale for the three, "percentile" each its own without its extremes, "typed"
    `low`…`high` (and `weights_low`…`weights_high`). `locked` holds (stage, low, high) and wins over
    `levels` for the stages in it: limits that do not follow the data. Colour maps are names of
    `app.palettes`; "auto" is the default of the theme. `hide_first_key` leaves the first key (the
    attention sink) out of the colours of the weights. `term` names the one term of the positional part
    that its panel shows, "" all of them; families without it show all.
    """

    head: int = 0
    layout: Layout = "row"
    terms_map: str = "auto"
    weights_map: str = "auto"
    levels: LevelMode = "shared"
    low: float = -4.0
    high: float = 4.0
    weights_low: float = 0.0
    weights_high: float = 1.0
    locked: tuple[tuple[Stage, float, float], ...] | None = None
    weights_scale: WeightsScale = "linear"
    hide_first_key: bool = False
    labels: bool = True
    reduce: Reduce = "auto"
    curve_axis: CurveAxis = "linear"
    inspector: bool = True
    term: str = ""

    def locked_limits(self, stage: str) -> tuple[float, float] | None:
        """The locked colour limits of a stage, or None when it is free."""
        return next(((low, high) for name, low, high in self.locked or () if name == stage), None)

    def typed_limits(self, stage: str) -> tuple[float, float]:
        """The colour limits typed for a stage, used when `levels` is "typed"."""
        return (self.weights_low, self.weights_high) if stage == "weights" else (self.low, self.high)


class Document(FrozenStruct, frozen=True, eq=False):
    """One sequence, one position encoding, one mask, one edit, and how they are shown.

    `mask` is a spec for `core.masks.parse_mask` or a bool array `[query, key]` or
    `[head, query, key]` (True = visible). `scale` multiplies q·k; None is 1/√d.
    """

    source: Source
    encoding: EncodingSpec = EncodingSpec()
    mask: str | np.ndarray = "causal"
    scale: float | None = None
    edit: EditCurve = EditCurve.none()
    view: View = View()

    def __post_init__(self) -> None:
        if isinstance(self.mask, np.ndarray):
            if self.mask.dtype != np.bool_ or self.mask.ndim not in (2, 3):
                raise ViewerError(
                    f"A mask array must be bool [query, key] or [head, query, key], "
                    f"got {self.mask.dtype} {list(self.mask.shape)}."
                )
            msgspec.structs.force_setattr(self, "mask", frozen_array(self.mask, "The mask"))

    @classmethod
    def default(cls) -> Document:
        """What a new window shows: a sentence that everybody can read, as a T5 decoder would place it."""
        encoding = EncodingSpec("t5", {"bidirectional": False})
        return cls(source=TextSource(FIRST_TEXT), encoding=encoding, mask="causal")

    @property
    def heads(self) -> int:
        """How many heads there are to look at."""
        return self.source.heads

    @property
    def head(self) -> int:
        """The head that is shown: `view.head`, or the last one when there are fewer."""
        return max(0, min(self.view.head, self.heads - 1))

    def same_but_view(self, other: Document) -> bool:
        """True when the two differ at most in how they are shown."""
        return replace(self, view=other.view) == other
