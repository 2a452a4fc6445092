"""Inspector: how one cell's weight comes about, and its whole row over the keys."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.core.field import CellValues, LineValues
from relpos_viewer.core.numbers import logarithm, short
from relpos_viewer.core.tokens import ISOLATE, POP
from relpos_viewer.views import names
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.icons import icon
from relpos_viewer.views.readout import offset_words
from relpos_viewer.views.row_bars import RowBars
from relpos_viewer.views.theme import LIGHT, Theme

HINT = "Point at a cell of a matrix to see where its weight comes from. Click to pin it."
LINE_GAP = 2
LONGEST = 16  # characters of a token in the heading; the copied text has all of them


class Inspector(QFrame):
    """A card of numbers and bars for the cell under the cursor. It works from 260 pixels of width on."""

    key_hovered = Signal(int)  # −1: the pointer left the bars
    key_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.INSPECTOR)
        self.setAccessibleName("Inspector")
        self.setProperty("card", True)
        self.setMinimumWidth(248)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._theme = LIGHT
        self._cell: CellValues | None = None
        self._plane: tuple[int, int] | None = None
        self._row: LineValues | None = None
        self._labels: tuple[str, ...] = ()
        self._family = "position"
        self._buckets: np.ndarray | None = None

        copy = QAction("Copy as text", self)
        copy.setShortcut("Ctrl+C")
        copy.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        copy.triggered.connect(self.copy_text)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

        self._hint = QLabel(HINT)
        self._hint.setWordWrap(True)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setProperty("muted", True)
        self._hint.setContentsMargins(24, 24, 24, 24)
        self.bars = RowBars()
        self.bars.key_hovered.connect(self.key_hovered)
        self.bars.key_clicked.connect(self.key_clicked)

        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._hint)
        self._stack.addWidget(self._page())
        self._show_cell()

    # What is shown

    def set_terms(self, content: str, family: str, buckets: np.ndarray | None = None) -> None:
        """Name the terms of the cells that are shown from now on.

        Args:
            content: what content is, such as "q·k / √d".
            family: the encoding's title, such as "T5 log buckets".
            buckets: int64 [2·key − 1] group of each offset, or None.
        """
        self._content[0].setText(f"content: {content}")
        self._family, self._buckets = family, buckets

    def set_cell(
        self,
        cell: CellValues | None,
        labels: tuple[str, ...] = (),
        row: LineValues | None = None,
        plane: tuple[int, int] | None = None,
    ) -> None:
        """Show one cell's numbers and the bars of its row, or the hint.

        Cell, labels and row come together: parts of two sequences do not fit each other.

        Args:
            cell: its numbers; `cell.query` counts queries, which are the last rows of the sequence.
            labels: one a key (`Tokens.labels`).
            row: the numbers of the cell's row.
            plane: key − query in rows and columns where tokens lie in a plane.
        """
        self._plane = plane
        self._cell, self._labels, self._row = cell, labels, row
        self.bars.set_row(row, labels)
        self.bars.set_key(None if cell is None else cell.key)
        self._show_cell()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._edit[1].setStyleSheet(f"color: {theme.accent}")
        self._copy.setIcon(icon("copy", theme))
        self.bars.set_theme(theme)

    def as_text(self) -> str:
        """Return what is shown as lines of text, one number a line, tab-separated."""
        if self._cell is None:
            return ""
        lines = [self.heading()]
        lines += [f"{name.text()}\t{value.text()}" for name, value in self._lines if not value.isHidden()]
        return "\n".join(lines).replace(ISOLATE, "").replace(POP, "")

    def heading(self) -> str:
        """Return the cell in words: ``query 24 “good” → key 7 “ally”  δ = −17``."""
        cell = self._cell
        if cell is None:
            return ""
        query, key = self._names()
        return f"query {self._position()} {query} → key {cell.key} {key}  {offset_words(cell.offset, self._plane)}"

    def copy_text(self) -> None:
        """Put `as_text` on the clipboard."""
        QGuiApplication.clipboard().setText(self.as_text())

    def minimumSizeHint(self) -> QSize:
        """Always with the line of the edit, or the first edit would push the curve away under the hand."""
        size = super().minimumSizeHint()
        line = self._edit[1]
        missing = 0 if line.isVisibleTo(self) else line.sizeHint().height() + LINE_GAP
        return size + QSize(0, missing)

    # Parts

    def _page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 9, 10, 8)
        column.setSpacing(4)

        self._title = ElidedLabel()
        self._title.setProperty("title", True)
        self._copy = QToolButton()
        self._copy.setObjectName(names.INSPECTOR_COPY)
        self._copy.setAccessibleName("Copy the numbers as text")
        self._copy.setToolTip("Copy as text (Ctrl+C)")
        self._copy.setProperty("flat", True)
        self._copy.setIcon(icon("copy", self._theme))
        self._copy.clicked.connect(self.copy_text)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self._copy)
        column.addLayout(head)
        self._place = ElidedLabel()
        self._place.setProperty("muted", True)
        column.addWidget(self._place)
        column.addSpacing(4)

        lines = QVBoxLayout()
        lines.setSpacing(LINE_GAP)
        self._lines: list[tuple[ElidedLabel, QLabel]] = []
        for name, strong in (
            ("content", False),
            ("position", False),
            ("position: your edit", False),
            ("score", True),
            ("weight", True),
            ("log₁₀ weight", False),
        ):
            label, value = ElidedLabel(name), QLabel()
            label.setProperty("muted", True)
            value.setTextFormat(Qt.TextFormat.PlainText)
            value.setProperty("title", strong)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
            # Not a grid: one long value is not to shorten the names of the others.
            line = QHBoxLayout()
            line.addWidget(label, 1)
            line.addWidget(value)
            lines.addLayout(line)
            self._lines.append((label, value))
        self._content, self._own, self._edit, self._score, self._weight, self._log = self._lines
        self._edit[1].setStyleSheet(f"color: {self._theme.accent}")
        column.addLayout(lines)
        column.addSpacing(6)
        self.bars.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        column.addWidget(self.bars, 1)
        return page

    def _position(self) -> int:
        """The query's position in the sequence."""
        return self._cell.key - self._cell.offset

    def _names(self) -> tuple[str, str]:
        query, key = self._labels[self._position()], self._labels[self._cell.key]
        return f"“{query}”", f"“{key}”"

    def _show_cell(self) -> None:
        cell = self._cell
        if cell is None:
            self._stack.setCurrentIndex(0)
            self.setAccessibleDescription(HINT)
            return
        query, key = (_cut(self._labels[at]) for at in (self._position(), cell.key))
        self._title.setText(f"“{query}” → “{key}”")
        self._place.setText(
            f"query {self._position()} → key {cell.key}   {offset_words(cell.offset, self._plane)}"
        )
        self._content[1].setText(short(cell.content, signed=True))
        self._own[0].setText(self._own_name(cell.offset))
        self._own[1].setText(short(cell.positional, signed=True))
        # Kept for a whole row that is edited anywhere, so that the lines below do not jump from cell to cell.
        edited = cell.edit != 0 or (self._row is not None and bool(self._row.edit.any()))
        for part in self._edit:
            part.setVisible(edited)
        self._edit[1].setText(short(cell.edit, signed=True))
        self._score[1].setText(short(cell.score, signed=True))
        self._weight[1].setText(self._weight_words(edited))
        self._log[1].setText(logarithm(cell.log_weight) if cell.visible else "–")
        self.setAccessibleDescription(self.as_text())
        self._stack.setCurrentIndex(1)

    def _own_name(self, offset: int) -> str:
        if self._buckets is None:
            return f"position: {self._family}"
        bucket = self._buckets[offset + len(self._buckets) // 2]
        return f"position: {self._family.split()[0]} bucket {bucket}"

    def _weight_words(self, edited: bool) -> str:
        cell = self._cell
        if not cell.row_sees_a_key:
            return "no visible key"
        if not cell.visible:
            return "masked"
        words = short(cell.weight)
        if words == "NaN":
            return "NaN: not a number"
        return f"{words}  was {short(cell.before_weight)}" if edited else words


def _cut(label: str) -> str:
    """Return a label short enough for the heading, in an isolate of its own so that “ → ” keeps its direction."""
    plain = label.replace(ISOLATE, "").replace(POP, "")
    return ISOLATE + (plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…") + POP
