"""SourceEditor: the sequence's text, growing with its lines, with tokens marked in it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from relpos_viewer.views import names
from relpos_viewer.views.theme import LIGHT, Theme
from relpos_viewer.views.utf16 import editor_text, utf16_positions

LINES, LINES_EXPANDED = 3, 12
MARGIN = 4
Span = tuple[int, int]


class SourceEditor(QPlainTextEdit):
    """A plain-text editor whose history is the window's: Undo and Redo pass through it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.SEQUENCE_TEXT)
        self.setAccessibleName("Text of the sequence")
        self.setPlaceholderText("Type or paste a text, or drop a file anywhere in the window.")
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = LIGHT
        self._lines = LINES
        self._query: Span | None = None
        self._key: Span | None = None
        # Around the viewport, not inside it, where the next line would peep through it.
        self.document().setDocumentMargin(0)
        self.setViewportMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # every line is wrapped
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def text(self) -> str:
        """Return the text exactly: `toPlainText` would turn no-break spaces into blanks."""
        return self.document().toRawText().replace("\N{PARAGRAPH SEPARATOR}", "\n")

    def show_text(self, text: str) -> None:
        """Replace what differs from `text`, so that the caret and the view stay where they are."""
        old, new = self.text(), editor_text(text)
        if old == new:
            return
        start = _common(old, new)
        stop = _common(old[start:][::-1], new[start:][::-1])
        places = utf16_positions(old)
        cursor = QTextCursor(self.document())
        cursor.setPosition(int(places[start]))
        cursor.setPosition(int(places[len(old) - stop]), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(new[start : len(new) - stop])

    def mark(self, text: str, query: Span | None, key: Span | None) -> None:
        """Mark the selected query's and the hovered key's characters.

        Args:
            text: what the spans refer to; nothing is marked when another text stands in the editor by now.
            query: half-open range of code points, or None.
            key: half-open range of code points, or None.
        """
        if editor_text(text) != self.text():
            query = key = None
        self._query, self._key = query, key
        places = utf16_positions(text) if query or key else None
        selections = []
        for span, ground, ink in (
            (query, self._theme.accent_soft, self._theme.accent),
            (key, self._theme.mask, self._theme.text),
        ):
            if span is None:
                continue
            selection = QTextEdit.ExtraSelection()
            selection.cursor = QTextCursor(self.document())
            selection.cursor.setPosition(int(places[span[0]]))
            selection.cursor.setPosition(int(places[span[1]]), QTextCursor.MoveMode.KeepAnchor)
            style = QTextCharFormat()
            style.setBackground(QColor(ground))
            style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
            style.setUnderlineColor(QColor(ink))
            selection.format = style
            selections.append(selection)
        self.setExtraSelections(selections)
        if selections and not self.hasFocus():  # never under the hand of somebody who types
            self._reveal(selections[-1].cursor)

    def set_expanded(self, expanded: bool) -> None:
        """Let the editor grow to 12 lines instead of 3."""
        self._lines = LINES_EXPANDED if expanded else LINES
        self._fit()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme` from the next mark on."""
        self._theme = theme

    def sizeHint(self) -> QSize:
        """Return the height of the lines that are shown."""
        return QSize(400, self.height())

    def event(self, event: QEvent) -> bool:
        """Leave Undo and Redo to the window."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and (event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo))
        ):
            event.ignore()
            return False
        return super().event(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Leave files to the window, which opens them; text may be dropped and pasted here."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap anew, and grow or shrink to the lines there are."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the lines of the new font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _reveal(self, cursor: QTextCursor) -> None:
        """Scroll, by whole lines, until the start of a selection can be seen; the caret stays where it is."""
        block = self.document().findBlock(cursor.selectionStart())
        inside = block.layout().lineForTextPosition(cursor.selectionStart() - block.position())
        line = block.firstLineNumber() + max(inside.lineNumber(), 0)
        bar = self.verticalScrollBar()
        if line < bar.value():
            bar.setValue(line)
        elif line >= bar.value() + self._shown_lines():
            bar.setValue(line - self._shown_lines() + 1)

    def _shown_lines(self) -> int:
        return min(max(int(self.document().size().height()), 1), self._lines)

    def _fit(self) -> None:
        wanted = int(self.document().size().height())
        frame = self.height() - self.contentsRect().height()  # the style sheet's border and padding
        height = self._shown_lines() * self.fontMetrics().lineSpacing() + 2 * MARGIN + frame
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if wanted > self._lines else policy.ScrollBarAlwaysOff
        )
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)


def _common(first: str, second: str) -> int:
    """Return how many leading characters two texts share."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:
        return length
    low, high = 0, length  # the first `low` agree, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle)
    return low
