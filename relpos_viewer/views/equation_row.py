"""EquationRow: content + position = score → softmax → weights, as four matrices that move together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from relpos_viewer.app.frames import Viewport
from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.views import names
from relpos_viewer.views.equation_layout import OperatorSign, equation_places, equation_size, smallest_size
from relpos_viewer.views.matrix_overlay import Cell
from relpos_viewer.views.matrix_range import MatrixRange
from relpos_viewer.views.matrix_view import MatrixView, TileLike
from relpos_viewer.views.theme import Theme

LAYOUTS = ("row", "grid", *STAGES)
"""All four side by side, two by two, or one stage alone."""

_THROTTLE = 16  # ms between two reports of the viewport while it moves: the rate of the display


class _Inputs(Protocol):
    @property
    def tokens(self) -> Tokens: ...


class FrameLike(Protocol):
    """What is asked of an `app.frames.Frame`."""

    @property
    def inputs(self) -> _Inputs: ...
    @property
    def tiles(self) -> Mapping[Stage, TileLike]: ...
    @property
    def n_query(self) -> int: ...
    @property
    def n_key(self) -> int: ...


class EquationRow(QWidget):
    """The four matrix views on one range, with one crosshair.

    Signals:
        cell_hovered(query, key): the cell under the pointer or moved to by keys; (−1, −1) for none.
        cell_pinned(query, key): the cell that was pinned by a click; (−1, −1) when it was released.
        viewport_changed(Viewport): the part on show or its pixels changed; at most once a display frame.
        layout_requested(str): show this stage alone, or "row" again.
        term_chosen(str): show this term of the position alone, "" all of them.
    """

    cell_hovered = Signal(int, int)
    cell_pinned = Signal(int, int)
    viewport_changed = Signal(object)
    layout_requested = Signal(str)
    term_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.EQUATION_ROW)
        self.setAccessibleName("content + position = score, softmax gives weights")
        self.range = MatrixRange(self)
        self._layout_name = "row"
        self._all_layout = "row"
        self._tokens: Tokens | None = None
        self._labels_shown = True
        self._pinned: Cell | None = None
        self._pinned_before: Cell | None = None
        self._reported: Viewport | None = None

        self.views: dict[Stage, MatrixView] = {}
        for stage in STAGES:
            view = MatrixView(stage, self.range, self)
            view.cell_hovered.connect(self._hover)
            view.cell_clicked.connect(self._click)
            view.double_clicked.connect(self._take_click_back)
            view.stage_requested.connect(self._request_stage)
            view.resized.connect(self._plan_report)
            self.views[stage] = view
        self.views["positional"].terms.chosen.connect(self.term_chosen)
        self._signs = [OperatorSign(text, self) for text in ("+", "=", "softmax")]
        self._report_timer = QTimer(self)
        self._report_timer.setSingleShot(True)
        self._report_timer.setInterval(_THROTTLE)
        self._report_timer.timeout.connect(self._report)
        self.range.changed.connect(self._plan_report)
        self._place()

    @property
    def viewport(self) -> Viewport:
        """The part to show, beyond the last cell when that is everything, and the device pixels of one panel."""
        shown = self._layout_name if self._layout_name in self.views else "content"
        return Viewport(*self.range.asked, self.views[shown].canvas.pixel_shape)

    def set_frame(self, frame: FrameLike, palettes: Mapping[Stage, np.ndarray]) -> None:
        """Show a frame; palettes uint8 [256, 4] by stage. Stages without a tile in it keep their picture."""
        tokens = frame.inputs.tokens
        if tokens is not self._tokens or (frame.n_query, frame.n_key) != self.range.counts:
            self._tokens = tokens
            self.range.set_counts(frame.n_query, frame.n_key)
            self._label()
        for stage, tile in frame.tiles.items():
            self.views[stage].set_tile(tile, palettes[stage])

    def set_formulas(self, formulas: Mapping[Stage, str]) -> None:
        """Say what each term is."""
        for stage, formula in formulas.items():
            self.views[stage].set_formula(formula)

    def set_terms(self, terms: tuple[str, ...], shown: str, most: int | None) -> None:
        """Offer to show one term of the position alone; see `TermBox`."""
        self.views["positional"].set_terms(terms, shown, most)

    def set_remark(self, texts: tuple[str, ...], tip: str) -> None:
        """Say something about the positional term beside its formula, in ever fewer words; see `MatrixView`."""
        self.views["positional"].set_remark(texts, tip)

    def set_layout(self, layout: str) -> None:
        """Arrange the matrices in one of `LAYOUTS`."""
        if layout != self._layout_name:
            self._layout_name = layout
            if layout not in self.views:
                self._all_layout = layout
            self._place()
            self.updateGeometry()
            self._plan_report()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        for view in self.views.values():
            view.set_theme(theme)
        for sign in self._signs:
            sign.set_theme(theme)

    def set_cell(self, cell: tuple[int, int] | None) -> None:
        """Put every crosshair on (query, key) and light its diagonal."""
        for view in self.views.values():
            view.set_cell(cell)
        if cell is not None:
            self.set_offset(cell[1] - cell[0] - self.range.query_start)
        else:
            self.set_offset(None)

    def set_pinned(self, pinned: Cell | None) -> None:
        """Keep (query, key) outlined, or the row of a query with key None; no signal."""
        self._pinned = pinned
        for view in self.views.values():
            view.set_pinned(pinned)

    def set_offset(self, offset: int | None, queries: np.ndarray | None = None) -> None:
        """Light the diagonal key − query = offset in all matrices, or only at some queries, bool [query]."""
        for view in self.views.values():
            view.set_offset(offset, queries)

    def set_labels_shown(self, shown: bool) -> None:
        """Write the tokens beside the matrices, or only their positions."""
        if shown != self._labels_shown:
            self._labels_shown = shown
            self._label()

    def zoom(self, factor: float) -> None:
        """Multiply the extents on show by `factor` (below 1 zooms in) around the middle."""
        (a, b), (c, d) = self.range.rows, self.range.cols
        self.range.zoom(factor, factor, ((a + b) / 2, (c + d) / 2))

    def show_all(self) -> None:
        """Show the whole matrices."""
        self.range.reset()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the cards out anew."""
        super().resizeEvent(event)
        self._place()

    def sizeHint(self) -> QSize:
        """Room for comfortable cards."""
        card = self.views["content"].sizeHint()
        return equation_size(self._layout_name, card)

    def minimumSizeHint(self) -> QSize:
        """Room for the smallest cards."""
        return smallest_size(self._layout_name)

    def _label(self) -> None:
        if self._tokens is None:
            return
        keys = self._tokens.labels if self._labels_shown else tuple(map(str, range(len(self._tokens))))
        for view in self.views.values():
            view.set_labels(keys[self.range.query_start :], keys)

    def _place(self) -> None:
        alone = self._layout_name in self.views
        cards, signs = equation_places(self._layout_name, self.size())
        for view, place in zip(self.views.values(), cards, strict=True):
            shown = not alone or view.stage == self._layout_name
            view.setVisible(shown)
            if shown:
                view.setGeometry(place)
        for sign, place in zip(self._signs, signs, strict=True):
            sign.setVisible(not alone)
            sign.setGeometry(place)

    def _hover(self, i: int, j: int) -> None:
        self.set_cell((i, j) if i >= 0 else None)
        self.cell_hovered.emit(i, j)

    def _click(self, i: int, j: int) -> None:
        self._pinned_before = self._pinned
        self._pin(None if self._pinned == (i, j) else (i, j))

    def _take_click_back(self) -> None:
        """A double click shows the whole matrix; the click it began with was not meant to pin."""
        self._pin(self._pinned_before)

    def _pin(self, pinned: Cell | None) -> None:
        self.set_pinned(pinned)
        i, j = pinned or (-1, -1)
        self.cell_pinned.emit(i, -1 if j is None else j)

    def _request_stage(self) -> None:
        view = self.sender()
        assert isinstance(view, MatrixView)
        self.layout_requested.emit(self._all_layout if self._layout_name == view.stage else view.stage)

    def _plan_report(self) -> None:
        if not self._report_timer.isActive():
            self._report_timer.start()

    def _report(self) -> None:
        viewport = self.viewport
        if viewport != self._reported:
            self._reported = viewport
            self.viewport_changed.emit(viewport)
