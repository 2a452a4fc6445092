"""The fit of families to curves, in the worker thread; and the document that a fit becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.fit import Explanation, survey
from relpos_viewer.core.numbers import short
from relpos_viewer.document.document import Document, EditCurve, EncodingSpec, replace

# Curves on show are float32, sums of a few of them; what is smaller than this share of one is rounding.
ROUNDING = 5e-7


@dataclass(frozen=True, eq=False)
class FitRequest:
    """What shall be explained.

    Attributes:
        targets: float64 [2n−1] by head, NaN where nothing is wanted.
        visible: bool [2n−1], the offsets that count.
        heads: how many the families should have.
        present: the document's own encoding, whose settings stand for its family's.
    """

    targets: Mapping[int, np.ndarray]
    visible: np.ndarray
    heads: int
    present: Encoding

    def same(self, other: FitRequest | None) -> bool:
        """Return whether the other one would be answered alike."""
        return (
            other is not None
            and self.targets.keys() == other.targets.keys()
            and self.heads == other.heads
            and self.present.name == other.present.name
            and np.array_equal(self.visible, other.visible)
            and all(
                np.array_equal(mine, other.targets[head], equal_nan=True)
                for head, mine in self.targets.items()
            )
        )


@dataclass(frozen=True, eq=False)
class FitAnswer:
    """What the families make of a request, the best first."""

    request: FitRequest
    explanations: tuple[Explanation, ...]


def answer_fit(request: FitRequest, cancel: Cancel) -> FitAnswer:
    """Fit every family.

    Raises:
        ViewerError: when there is nothing to fit. Cancelled: when nobody waits any more.
    """
    present = [request.present]
    found = survey(request.heads, request.targets, request.visible, cancel, present, ROUNDING)
    return FitAnswer(request, tuple(found))


def shown_curves(curves: CurveSet, edit: np.ndarray, *, every: bool) -> dict[int, np.ndarray]:
    """Return the whole curves to be explained, float64 [2n−1] by head: the shown one, or all that are known.

    Args:
        curves: of the newest frame.
        edit: Δ, float32 [head, 2n−1].
        every: whether the other heads count too.
    """
    total = curves.family.astype(np.float64) + edit  # [head, 2n−1]
    heads = range(len(total)) if every else [curves.head]
    return {head: total[head] for head in heads if np.isfinite(total[head, curves.visible]).any()}


def kept(
    document: Document, curves: CurveSet, answer: FitAnswer, chosen: Explanation, *, rest: bool
) -> Document:
    """Return the document in which a fitted family stands for the curves it was fitted to.

    The edit of those heads goes, but for what the family leaves of the target where `rest` is asked for. The other
    heads keep their curve, where it is known: what another family makes different in them becomes their edit.

    Args:
        document: as it is.
        curves: its curves.
        answer: what was asked, and found.
        chosen: one of its explanations, with fits.
        rest: whether target − fit becomes the edit.
    """
    heads, width = curves.family.shape
    n = (width + 1) // 2
    edit = document.edit.at(heads, n)  # [head, 2n−1]
    values = edit.astype(np.float64)  # [head, 2n−1]
    for head in range(heads):
        own = chosen.encoding.fit_curve(n, head).double().numpy()  # [2n−1]
        if head in chosen.fits:
            left = np.nan_to_num(answer.request.targets[head] - own)  # [2n−1]
            values[head] = left if rest else 0.0
        elif curves.exact:
            # As the frame has it: where the numbers of a head are the same, nothing is to be made up for.
            values[head] += np.nan_to_num(curves.family[head] - own.astype(np.float32))
    before = document.edit.values.copy()
    before[[head for head in chosen.fits if head < len(before)]] = 0  # also past the ends of this sequence
    return replace(
        document,
        encoding=EncodingSpec.of(chosen.encoding),
        edit=EditCurve(before).updated(values.astype(np.float32)),
    )


def numbers_text(explanation: Explanation, head: int, most: int | None = None) -> str:
    """Write a fit's numbers: "p = 0.535, a = 0.986"; of more than `most`, the first."""
    numbers = explanation.fits[head].numbers
    texts = [f"{name} = {short(value)}" for name, value in numbers[:most]]
    return ", ".join(texts) + (f", … {len(numbers)} numbers" if most and len(numbers) > most else "")


def ends_text(explanation: Explanation) -> str:
    """Say which numbers of a fit lie at an end of their domain; "" when none does."""
    sentences = []
    for head, fit in explanation.fits.items():
        if not fit.ends:
            continue
        names = ", ".join(f"{name} ({short(low)} … {short(high)})" for name, low, high in fit.ends)
        where = f"Head {head}: at" if len(explanation.fits) > 1 else "At"
        domain = "its domain" if len(fit.ends) == 1 else "their domains"
        sentences.append(f"{where} the end of {domain}: {names}. A better value may lie beyond.")
    return "\n".join(sentences)


def details(explanation: Explanation) -> str:
    """Write all about a fit, for people: what is left, the constant, every number; or why there is none."""
    family = explanation.encoding
    if not explanation.fits:
        return explanation.reason[:1].upper() + explanation.reason[1:]
    lines = []
    for head, fit in explanation.fits.items():
        where = f"Head {head}: residual" if len(explanation.fits) > 1 else "Residual"
        worst = f", at worst {short(fit.worst)} at δ = {short(fit.worst_offset)}" if fit.worst else ""
        lines.append(f"{where} {short(fit.rms)} RMS{worst}.")
        lines.append(numbers_text(explanation, head) or f"{family.title} has no numbers.")
        if fit.constant:
            lines.append(f"{short(fit.constant, signed=True)} on every offset, which softmax does not see.")
    ends = ends_text(explanation)
    return "\n".join([*lines, ends] if ends else lines)


def table_text(explanations: tuple[Explanation, ...]) -> str:
    """Write the table for a spreadsheet: columns apart by tabs, numbers in full."""
    rows = ["family\thead\tRMS\tworst residual\tat offset\tconstant\tnumbers"]
    for each in explanations:
        for head, fit in each.fits.items():
            numbers = ", ".join(f"{name}={value!r}" for name, value in fit.numbers)
            rows.append(
                f"{each.encoding.title}\t{head}\t{fit.rms!r}\t{fit.worst!r}\t{fit.worst_offset}\t{fit.constant!r}\t{numbers}"
            )
        if not each.fits:
            rows.append(f"{each.encoding.title}\t\t\t\t\t\t{each.reason}")
    return "\n".join(rows) + "\n"
