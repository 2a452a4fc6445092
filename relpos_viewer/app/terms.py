"""One term of a positional part shown alone: a way of looking, which never changes a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from relpos_viewer.core.attention import content_scale, visible_cells
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.inputs import AttentionInputs
from relpos_viewer.core.levels import Levels, choose_levels
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.core.pooling import Span, pool
from relpos_viewer.document.document import Document, View


@dataclass(frozen=True, eq=False)
class TermPicture:
    """One term of one head, kept whole.

    Attributes:
        name: of the term.
        values: [query, key], score units.
        visible: bool [query, key].
    """

    name: str
    values: Tensor
    visible: Tensor

    def tile(
        self, rows: Span, cols: Span, shape: tuple[int, int], reduce: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells of a viewport pooled to pixels, and which pixels hold a visible cell; see `pool`."""
        return pool(self.values, self.visible, rows, cols, shape, reduce)

    def limits(self, view: View) -> Levels:
        """Return its automatic colour limits, zero in the middle."""
        percentile = view.levels == "percentile"
        return choose_levels(
            self.values, self.visible, mode="percentile" if percentile else "full", symmetric=True
        )


def chosen_term(document: Document, inputs: AttentionInputs, encoding: Encoding) -> str:
    """Return the term that a document asks to see alone; "" for all, where there is none of this name or no room."""
    name = document.view.term
    there = name in encoding.positional_terms() and inputs.n_key <= LARGEST and inputs.q is not None
    return name if there else ""


def term_picture(document: Document, inputs: AttentionInputs, encoding: Encoding, name: str) -> TermPicture:
    """Compute a term of the head that is shown.

    Raises:
        ViewerError: when the encoding cannot be applied to these inputs.
    """
    head = document.head
    one = encoding.with_heads(inputs.heads).for_one_head(head)
    terms = one.terms(inputs.head(head), content_scale(inputs, document.scale))
    assert terms is not None, "a family that names terms has them"
    visible = visible_cells(inputs, parse_mask(document.mask))  # [query, key] or [head, query, key]
    return TermPicture(name, terms[name][0], visible[head] if visible.ndim == 3 else visible)
