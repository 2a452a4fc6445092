"""The bottom line: where it computes, what the cursor is on, and the head's figures."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QWidget

from relpos_viewer.core.numbers import short
from relpos_viewer.views import names
from relpos_viewer.views.elided_label import ElidedLabel

SPACING = 18

FIGURE_TIPS = {
    "Toeplitz share": "Share of the positional term's variance that depends on j − i alone",
    "position share": "Share of the score's variance within rows that comes from position",
    "mean distance": "Mean |j − i| under the weights, in tokens",
    "entropy (bits)": "Mean entropy of a row of weights",
    "leak to other documents": "Largest weight that a query gives to keys of other documents",
}


NO_FIGURES = "Above 65,536 × 65,536 cells the head's figures would take a minute or more; they are left out."


class StatusBar(QWidget):
    """Three parts: device and time on the left, the cell under the cursor, figures on the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = _label(names.STATUS_LEFT, "Device, length and time of the last picture")
        self._cell = ElidedLabel(parent=self)
        self._cell.setObjectName(names.STATUS_CELL)
        self._cell.setAccessibleName("Cell under the cursor")
        self._cell.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._figures = _label(names.STATUS_FIGURES, "Figures of the head")
        self._work = _label(names.STATUS_WORK, "Work with files")
        self._work.setVisible(False)
        self._progress = QProgressBar()
        self._progress.setFixedSize(90, 10)
        self._progress.setTextVisible(False)
        self._progress.setVisible(False)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.setSpacing(SPACING)
        layout.addWidget(self._state)
        layout.addWidget(self._progress)
        layout.addWidget(self._work)
        layout.addWidget(self._cell, 1)
        layout.addWidget(self._figures)

    def show_state(self, device: str, n_query: int, n_key: int, seconds: float, how: str) -> None:
        """Show where and how fast the last picture was made, and how cells became pixels."""
        size = f"n = {n_key:,}" if n_query == n_key else f"{n_query:,} queries × {n_key:,} keys"
        self._state.setText(f"{device} · {size} · {how} · frame {short(seconds * 1000)} ms")

    def show_updating(self) -> None:
        """Say that the picture on show is not the one that was asked for."""
        self._state.setText("updating…")

    def show_drift(self, drift: float | None) -> None:
        """Say in the tooltip how far edits had drifted when all was summed anew; None for a newer picture."""
        self._state.setToolTip("" if drift is None else f"Row sums recomputed, drift {short(drift)}")

    def show_cell(self, text: str) -> None:
        """Show one line about the cell or point under the cursor; empty for none."""
        self._cell.setText(text)
        self._make_room()

    def _make_room(self) -> None:
        """Let the figures make way while the line about a cell needs their room."""
        parts = (self._state, self._cell, self._figures)
        needed = sum(part.fontMetrics().horizontalAdvance(part.text()) + SPACING for part in parts)
        self._figures.setVisible(not self._cell.text() or needed < self.width())

    def show_figures(self, figures: dict[str, float]) -> None:
        """Show the head's figures; those that are not defined are left out, and all of a very long sequence's."""
        self._figures.setEnabled(True)
        if not figures:
            self._figures.setText("no figures")
            self._figures.setToolTip(NO_FIGURES)
            return
        defined = {name: value for name, value in figures.items() if not math.isnan(value)}
        self._figures.setText("    ".join(f"{name} {short(value)}" for name, value in defined.items()))
        self._figures.setToolTip("\n".join(f"{name}: {FIGURE_TIPS[name]}." for name in defined))

    def fade_figures(self) -> None:
        """Grey the figures: they are those of an earlier picture, and new ones are on their way."""
        self._figures.setEnabled(False)

    def show_work(self, title: str) -> None:
        """Say what is being opened or written; empty for nothing."""
        self._work.setText(
            f"{title}… (Esc cancels)"
            if title.startswith(("Opening", "Writing", "Copying"))
            else title and f"{title}…"
        )
        self._work.setVisible(bool(title))

    def show_progress(self, fraction: float | None) -> None:
        """Show how far a long computation is; None hides the bar."""
        self._progress.setVisible(fraction is not None)
        if fraction is not None:
            self._progress.setValue(round(100 * fraction))


def _label(name: str, accessible: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setAccessibleName(accessible)
    label.setProperty("muted", True)
    return label
