"""ShortcutsDialog: every command with its keys, and what the mouse does in the pictures; searchable."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.actions import shortcuts_table
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog


class ShortcutsDialog(PlacedDialog):
    """Where and what, with the keys or the gesture, from the one table of actions; filtered as one types."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.SHORTCUTS_DIALOG)
        self.setWindowTitle("Keys and mouse")
        self.resize(560, 620)
        self._search = QLineEdit()
        self._search.setObjectName(names.SHORTCUTS_SEARCH)
        self._search.setAccessibleName("Search commands and keys")
        self._search.setPlaceholderText("Search commands and keys")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self.filter)
        self._tree = QTreeWidget()
        self._tree.setObjectName(names.SHORTCUTS_TABLE)
        self._tree.setAccessibleName("Commands and keys")
        self._tree.setColumnCount(2)
        self._tree.setHeaderHidden(True)
        self._tree.setRootIsDecorated(False)
        self._tree.setIndentation(14)
        self._tree.setSelectionMode(QTreeWidget.SelectionMode.SingleSelection)
        self._tree.setItemsExpandable(False)
        self._fill()
        self._tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self._tree.header().setStretchLastSection(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 14, 14, 12)
        layout.addWidget(self._search)
        layout.addWidget(self._tree, 1)
        layout.addWidget(buttons)
        self._search.setFocus()

    def filter(self, text: str) -> None:
        """Show only the lines that hold every word of `text`."""
        wanted = text.casefold().split()
        for group in self._groups():
            shown = 0
            for row in range(group.childCount()):
                line = group.child(row)
                words = f"{group.text(0)} {line.text(0)} {line.text(1)}".casefold()
                hidden = not all(word in words for word in wanted)
                line.setHidden(hidden)
                shown += not hidden
            group.setHidden(shown == 0)

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines that can be seen: what it does, and the keys."""
        children = [group.child(row) for group in self._groups() for row in range(group.childCount())]
        return [(line.text(0), line.text(1)) for line in children if not line.isHidden()]

    def _groups(self) -> list[QTreeWidgetItem]:
        return [self._tree.topLevelItem(row) for row in range(self._tree.topLevelItemCount())]

    def _fill(self) -> None:
        groups: dict[str, QTreeWidgetItem] = {}
        for where, words, keys in shortcuts_table():
            if where not in groups:
                group = QTreeWidgetItem(self._tree, [where])
                font = group.font(0)
                font.setBold(True)
                group.setFont(0, font)
                group.setFlags(Qt.ItemFlag.ItemIsEnabled)
                group.setFirstColumnSpanned(True)
                group.setSizeHint(0, QSize(0, self.fontMetrics().height() + 14))
                groups[where] = group
            line = QTreeWidgetItem(groups[where], [words, keys])
            line.setToolTip(0, words)
            line.setSizeHint(0, QSize(0, self.fontMetrics().height() + 7))
        self._tree.expandAll()
