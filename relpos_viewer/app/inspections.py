"""What the tools that explain an encoding compute, in a worker thread: conventions, other readings, a shift.

A request holds what one frame was made from, so that tools and picture speak of the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from relpos_viewer.app.frames import Frame
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import Convention, Variant
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.numbers import short
from relpos_viewer.core.readings import Comparison, compare, readings
from relpos_viewer.core.shift import ShiftTest, shift_test
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import Document, EncodingSpec

TOEPLITZ_SHARE = (
    "The share of the positional term's variance that a function of key − query explains: 1 for a bias b(j − i), less "
    "where the term depends on content or on places too."
)


@dataclass(frozen=True, eq=False)
class InspectionRequest:
    """One head of a document as a frame has it.

    Attributes:
        document: whose encoding, mask, scale, edit and head count.
        inputs: of its source.
        encoding: built from the document's.
        chosen: names of the readings to compare.
    """

    document: Document
    inputs: AttentionInputs
    encoding: Encoding
    chosen: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Frame, chosen: tuple[str, ...] = ()) -> InspectionRequest:
        """Return the request about what a frame shows."""
        return cls(frame.document, frame.inputs, frame.encoding, chosen)

    def asks_the_same(self, other: InspectionRequest | None) -> bool:
        """Return whether another request would be answered alike; an edit counts only where something is compared."""
        if other is None or self.inputs is not other.inputs or self.chosen != other.chosen:
            return False
        mine, its = self._key(), other._key()
        return same(mine, its)

    def _key(self) -> tuple[object, ...]:
        document = self.document
        compared = (document.mask, document.scale, document.edit, document.head) if self.chosen else ()
        return (document.encoding, document.scale, *compared)


@dataclass(frozen=True, eq=False)
class Reading:
    """A family read by another convention.

    Attributes:
        variant: its name, a sentence, and the encoding it becomes.
        spec: how a document would hold it; None where it cannot.
        comparison: what it changes; None where nobody asked.
        problem: why it cannot be compared, one sentence.
    """

    variant: Variant
    spec: EncodingSpec | None
    comparison: Comparison | None = None
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Inspection:
    """The answer to an `InspectionRequest`; `problem` says why there are no readings."""

    request: InspectionRequest
    conventions: tuple[Convention, ...]
    readings: tuple[Reading, ...]
    problem: str = ""


@dataclass
class Inspector:
    """Answers requests, keeping what the last one can lend to the next. Used by one worker thread only."""

    _key: tuple[object, ...] = ()
    _kept: tuple[tuple[Convention, ...], tuple[Reading, ...], str] = field(default=((), (), ""))

    def __call__(self, request: InspectionRequest, cancel: Cancel) -> Inspection:
        """Return conventions and readings, compared where that was asked for.

        Raises:
            Cancelled: when nobody waits any more.
        """
        key = (request.inputs, request.document.encoding, request.document.scale)
        if not same(key, self._key):
            self._key, self._kept = key, _explained(request)
        conventions, found, problem = self._kept
        return Inspection(
            request,
            conventions,
            tuple(
                _compared(each, request, cancel) if each.variant.name in request.chosen else each
                for each in found
            ),
            problem,
        )


@dataclass(frozen=True, eq=False)
class ShiftRequest:
    """One head of a document, to be moved by `places` positions."""

    subject: InspectionRequest
    places: int

    def asks_the_same(self, other: ShiftRequest | None) -> bool:
        """Return whether another request would be answered alike; an edit moves with the tokens."""
        if other is None or self.subject.inputs is not other.subject.inputs:
            return False
        return same(self._key(), other._key())

    def _key(self) -> tuple[object, ...]:
        document = self.subject.document
        return (document.encoding, document.scale, document.mask, document.head, self.places)


def shifted(request: ShiftRequest, cancel: Cancel) -> ShiftTest:
    """Return what a shift changes.

    Raises:
        ViewerError: when the encoding does not reach so far.
        Cancelled: when nobody waits any more.
    """
    subject = request.subject
    return shift_test(
        subject.inputs,
        subject.encoding,
        scale=subject.document.scale,
        head=subject.document.head,
        places=request.places,
        mask=parse_mask(subject.document.mask),
        cancel=cancel,
    )


def as_markdown(inspection: Inspection, share: float | None) -> str:
    """Return all that was found as a Markdown text: a heading and a paragraph or table each.

    Args:
        inspection: conventions and readings.
        share: the head's Toeplitz share; None where it is not known.
    """
    family = inspection.request.encoding
    parts = [f"# {family.title}", f"{family.paper}"]
    for each in inspection.conventions:
        parts.append(f"## {each.title}")
        if each.text:
            parts.append(each.text)
        if each.rows:
            parts.append(_table(each.columns, each.rows))
    if share is not None:
        head = inspection.request.document.head
        parts += ["## Toeplitz share", f"{short(share)} of head {head}. {TOEPLITZ_SHARE}"]
    if inspection.readings:
        parts.append("## Read by another convention")
        columns = ("reading", "what it is", "max |Δ bias|", "max |Δ weight|")
        parts.append(_table(columns, tuple(_reading_cells(each) for each in inspection.readings)))
    return "\n\n".join(parts) + "\n"


def _reading_cells(reading: Reading) -> tuple[str, ...]:
    found = reading.comparison
    numbers = ("", "") if found is None else (short(found.bias), short(found.weight))
    return (reading.variant.name, reading.problem or reading.variant.help, *numbers)


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    lines = (columns, tuple("---" for _ in columns), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def row_of_offset(convention: Convention, offset: int) -> int | None:
    """Return the row of a table by δ that holds an offset; None where there is none."""
    if convention.columns[:1] != ("δ",):
        return None
    for place, row in enumerate(convention.rows):
        low, _, high = row[0].partition("…")
        if int(low) <= offset <= int(high or low):
            return place
    return None


def _explained(request: InspectionRequest) -> tuple[tuple[Convention, ...], tuple[Reading, ...], str]:
    inputs = request.inputs
    family = request.encoding.with_heads(inputs.heads)
    conventions = family.conventions(inputs.n_key, inputs.head_dim)
    try:
        variants = readings(family, inputs, request.document.scale)
    except ViewerError as error:
        return conventions, (), str(error)
    return conventions, tuple(Reading(variant, _spec(variant.encoding)) for variant in variants), ""


def _spec(encoding: Encoding) -> EncodingSpec | None:
    """Return an encoding as a document holds it; None where its parameters lie outside their domains."""
    spec = EncodingSpec.of(encoding)
    try:
        spec.build()
    except ViewerError:
        return None
    return spec


def _compared(reading: Reading, request: InspectionRequest, cancel: Cancel) -> Reading:
    document, inputs = request.document, request.inputs
    edit: np.ndarray | None = None
    if not document.edit.is_zero:
        edit = document.edit.at(inputs.heads, inputs.n_key)  # [head, 2·key−1]
    try:
        comparison = compare(
            inputs,
            request.encoding,
            reading.variant.encoding,
            scale=document.scale,
            mask=parse_mask(document.mask),
            edit=edit,
            head=document.head,
            cancel=cancel,
        )
    except ViewerError as error:
        return replace(reading, problem=str(error))
    return replace(reading, comparison=comparison)
