"""ConventionCard: one fact about an encoding, a sentence or a table, with the row of an offset lit."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.inspections import row_of_offset
from relpos_viewer.core.encodings.base import Convention
from relpos_viewer.core.numbers import MINUS
from relpos_viewer.views.theme import LIGHT, Theme

MOST_ROWS = 9  # that stand without scrolling
ROW_HEIGHT = 21
LONGEST = 4096  # rows of a table; longer ones are cut, and it is said


class ConventionCard(QFrame):
    """A title, a sentence, and the table where there is one."""

    def __init__(self, convention: Convention, theme: Theme = LIGHT, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.convention = convention
        self.setProperty("card", True)
        self._theme = theme
        self._lit: int | None = None
        title = QLabel(convention.title)
        title.setProperty("title", True)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 9, 12, 10)
        column.setSpacing(5)
        column.addWidget(title)
        if convention.text:
            text = QLabel(convention.text)
            text.setWordWrap(True)
            text.setProperty("muted", True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(text)
        self.table: QTableWidget | None = None
        if convention.rows:
            self.table = _table(convention)
            column.addWidget(self.table)
            hidden = len(convention.rows) - LONGEST
            if hidden > 0:
                column.addWidget(QLabel(f"{hidden:,} more rows; Copy takes all of them."))

    @property
    def lit_row(self) -> int | None:
        """The row that is lit."""
        return self._lit

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        lit, self._theme = self._lit, theme
        self._light(None)
        self._light(lit)

    def set_offset(self, offset: int | None) -> bool:
        """Light the row that holds δ = offset and scroll to it; return whether there is one."""
        place = None if offset is None else row_of_offset(self.convention, offset)
        if place is not None and place >= LONGEST:
            place = None
        if place != self._lit:
            self._light(None)
            self._light(place)
        return place is not None

    def _light(self, place: int | None) -> None:
        if self.table is None:
            return
        row, brush = place, QBrush(QColor(self._theme.accent_soft))
        if place is None:
            row, brush = self._lit, QBrush()
        if row is not None:
            for column in range(self.table.columnCount()):
                self.table.item(row, column).setBackground(brush)
        if place is not None:
            # To the middle, so that its neighbours can be read too.
            self.table.scrollToItem(self.table.item(place, 0), QAbstractItemView.ScrollHint.PositionAtCenter)
        self._lit = place


def _table(convention: Convention) -> QTableWidget:
    rows = convention.rows[:LONGEST]
    table = QTableWidget(len(rows), len(convention.columns))
    table.setAccessibleName(convention.title)
    table.setHorizontalHeaderLabels(list(convention.columns))
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    table.setTabKeyNavigation(False)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
    for place, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            item = QTableWidgetItem(cell.replace("-", MINUS) if _is_number(cell) else cell)
            item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            table.setItem(place, column, item)
    header = table.horizontalHeader()
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    header.setFixedHeight(ROW_HEIGHT + 3)
    shown = min(len(rows), MOST_ROWS)
    table.setFixedHeight(header.height() + shown * ROW_HEIGHT + 10)
    table.setMaximumWidth(118 * len(convention.columns) + 20)
    table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return table


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] == "-" and text[1:2].isdigit())
