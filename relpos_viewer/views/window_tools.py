"""The tools that explain an encoding: made when they are first asked for, and kept in step with the window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QDialog

from relpos_viewer.app.frames import Frame
from relpos_viewer.app.inspections import TOEPLITZ_SHARE
from relpos_viewer.core.field import LARGEST
from relpos_viewer.core.numbers import short
from relpos_viewer.document.document import replace
from relpos_viewer.views.conventions_panel import ConventionsPanel
from relpos_viewer.views.extrapolation_dialog import ExtrapolationDialog
from relpos_viewer.views.shift_dialog import ShiftDialog
from relpos_viewer.views.theme import Theme

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

Tool = ConventionsPanel | ShiftDialog | ExtrapolationDialog


class WindowTools(QObject):
    """The tool windows of one window. GUI thread only; call `close` before the window ends."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.conventions: ConventionsPanel | None = None
        self.shift: ShiftDialog | None = None
        self.extrapolation: ExtrapolationDialog | None = None
        self._share: float | None = None
        window.equation.cell_hovered.connect(self._on_cell)
        window.curve.offset_hovered.connect(self._on_offset)
        window.equation.term_chosen.connect(self._on_term)

    def show_conventions(self) -> None:
        """Open the conventions beside the window."""
        if self.conventions is None:
            self.conventions = ConventionsPanel(self._window.theme, self._window)
            self.conventions.reading_taken.connect(self._window.edits.set_encoding)
            self.conventions.set_share(self._share)
            self._catch_up(self.conventions)
        _open(self.conventions)

    def show_shift(self) -> None:
        """Open the shift test beside the window."""
        if self.shift is None:
            self.shift = ShiftDialog(self._window.theme, self._window)
            self._catch_up(self.shift)
        _open(self.shift)

    def show_extrapolation(self) -> None:
        """Open what becomes of longer sequences beside the window."""
        if self.extrapolation is None:
            self.extrapolation = ExtrapolationDialog(self._window.theme, self._window)
            self._catch_up(self.extrapolation)
        _open(self.extrapolation)

    def show_frame(self, frame: Frame) -> None:
        """Let the open tools follow a frame, and offer its terms."""
        terms = frame.encoding.positional_terms()
        most = LARGEST if frame.n_key > LARGEST else None
        self._window.equation.set_terms(terms if len(terms) > 1 else (), frame.term, most)
        for tool in self._made:
            tool.set_frame(frame)

    def show_figures(self, figures: dict[str, float]) -> None:
        """Take a head's figures."""
        share = figures.get("Toeplitz share", math.nan)
        self._share = None if math.isnan(share) else share
        remarks = () if self._share is None else (f"Toeplitz share {short(share)}", f"Toeplitz {share:.2g}")
        self._window.equation.set_remark(remarks, TOEPLITZ_SHARE)
        if self.conventions is not None:
            self.conventions.set_share(self._share)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        for tool in self._made:
            tool.set_theme(theme)

    def close(self) -> None:
        """End the tools' threads."""
        for tool in self._made:
            tool.close_runner()

    @property
    def _made(self) -> list[Tool]:
        tools = (self.conventions, self.shift, self.extrapolation)
        return [tool for tool in tools if tool is not None]

    def _catch_up(self, tool: Tool) -> None:
        if self._window.frame is not None:
            tool.set_frame(self._window.frame)

    @Slot(int, int)
    def _on_cell(self, query: int, key: int) -> None:
        frame = self._window.frame
        if query >= 0 and frame is not None:
            self._on_offset(key - query - frame.inputs.query_start)

    @Slot(str)
    def _on_term(self, term: str) -> None:
        window = self._window
        window.history.set_view(replace(window.session.document.view, term=term))

    @Slot(object)
    def _on_offset(self, offset: int | None) -> None:
        if self.conventions is not None:
            self.conventions.set_offset(offset)


def _open(dialog: QDialog) -> None:
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()
