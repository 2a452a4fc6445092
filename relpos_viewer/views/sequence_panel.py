"""SequencePanel: the text at the top of the window, how it is cut, and its tokens as chips."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.core.inputs import shape_text
from relpos_viewer.core.levels import Levels
from relpos_viewer.core.tokens import Tokens
from relpos_viewer.document.document import ArraySource, TextSource
from relpos_viewer.sources.text import TOKENIZERS
from relpos_viewer.views import names
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.icons import icon
from relpos_viewer.views.samples import SAMPLES
from relpos_viewer.views.source_editor import SourceEditor
from relpos_viewer.views.theme import LIGHT, Theme
from relpos_viewer.views.token_strip import TokenStrip


class SequencePanel(QFrame):
    """A card with the editor, the tokenizer, the samples, and the token strip.

    It only reports what the user does; `set_source` and `set_tokens` show what became of it, and never report.
    """

    text_changed = Signal(str)  # at every keystroke
    tokenizer_changed = Signal(str)
    sample_chosen = Signal(str, str)  # text and tokenizer, to be taken over in one step
    token_hovered = Signal(int)  # position in the sequence; −1: the pointer left
    token_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.SEQUENCE_PANEL)
        self.setAccessibleName("Sequence")
        self.setProperty("card", True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = LIGHT
        self._tokens = Tokens(())
        self._query: int | None = None
        self._current: int | None = None
        self._typed = TextSource("")

        self.editor = SourceEditor()
        self.editor.textChanged.connect(self._on_text)
        self.tokenizer = QComboBox()
        self.tokenizer.setObjectName(names.TOKENIZER_BOX)
        self.tokenizer.setAccessibleName("How the text is cut into tokens")
        for row, kind in enumerate(TOKENIZERS.values()):
            self.tokenizer.addItem(kind.title, kind.name)
            self.tokenizer.setItemData(row, kind.help, Qt.ItemDataRole.ToolTipRole)
        self.tokenizer.activated.connect(self._on_tokenizer)
        self.samples = QToolButton()
        self.samples.setObjectName(names.SAMPLES_BUTTON)
        self.samples.setText("Samples ▾")
        self.samples.setToolTip("Start from a short text")
        self.samples.setAccessibleName("Samples")
        self.samples.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.samples.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.samples.setMenu(self._samples_menu())
        self._expand = QToolButton()
        self._expand.setObjectName(names.SEQUENCE_EXPAND)
        self._expand.setAccessibleName("Show more lines of the text")
        self._expand.setToolTip("Show more lines of the text")
        self._expand.setCheckable(True)
        self._expand.setProperty("flat", True)
        self._expand.toggled.connect(self._on_expand)
        self._count = ElidedLabel()
        self._count.setProperty("muted", True)
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.strip = TokenStrip()
        self.strip.token_hovered.connect(self._on_hover)
        self.strip.token_clicked.connect(self.token_clicked)
        self._lay_out()
        self.set_theme(LIGHT)

    # What is shown

    def set_source(self, source: TextSource | ArraySource) -> None:
        """Show where the sequence comes from: a text to edit, or a file's arrays to read about."""
        typed = isinstance(source, TextSource)
        with QSignalBlocker(self.editor), QSignalBlocker(self.tokenizer):
            if typed:
                self._typed = source
                self.tokenizer.setCurrentIndex(self.tokenizer.findData(source.tokenizer))
                self.editor.show_text(source.text)
            else:
                self.editor.show_text(array_words(source))
        self.editor.setReadOnly(not typed)
        self.tokenizer.setVisible(typed)
        self._type_instead.setVisible(not typed)
        self._mark()

    def set_tokens(self, tokens: Tokens) -> None:
        """Show the tokens as chips, and their number."""
        if tokens is self._tokens:
            return
        self._tokens = tokens
        if self._query is not None and self._query >= len(tokens):
            self._query = None
        if self._current is not None and self._current >= len(tokens):
            self._current = None
        self.strip.set_tokens(tokens.labels)
        self.set_problem("")
        self._mark()

    def set_problem(self, sentence: str) -> None:
        """Say why the text cannot be used; the number of tokens again when `sentence` is empty."""
        words = sentence or count_words(self._tokens)
        self._count.setText(words)
        self._count.setStyleSheet(f"color: {self._theme.danger}" if sentence else "")
        self.editor.setAccessibleDescription(words)

    def set_row(
        self, query: int | None, weights: np.ndarray | None = None, visible: np.ndarray | None = None
    ) -> None:
        """Colour the chips by one query's weights; arguments as in `TokenStrip.set_row`."""
        self._query = query
        self.strip.set_row(query, weights, visible)
        self._mark()

    def set_current(self, token: int | None) -> None:
        """Mark the key under the cursor of another view, in the strip and in the text."""
        self._current = token
        self.strip.set_current(token)
        self._mark()

    def set_palette(self, lut: np.ndarray, levels: Levels | None = None) -> None:
        """Use the colours of the weights matrix; arguments as in `TokenStrip.set_palette`."""
        self.strip.set_palette(lut, levels)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.samples.setIcon(icon("samples", theme))
        self._expand.setIcon(icon("collapse" if self._expand.isChecked() else "expand", theme))
        self.editor.set_theme(theme)
        self.strip.set_theme(theme)
        self._mark()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the larger part of the width to the tokens, however long a problem's sentence is."""
        super().resizeEvent(event)
        self._count.setMaximumWidth(self.width() * 3 // 5)

    # Parts

    def _lay_out(self) -> None:
        self._type_instead = QToolButton()
        self._type_instead.setObjectName(names.SEQUENCE_TYPE)
        self._type_instead.setText("Type text instead")
        self._type_instead.setAccessibleName("Type text instead of using the file")
        self._type_instead.setVisible(False)
        self._type_instead.clicked.connect(self._on_type_instead)
        tools = QHBoxLayout()
        tools.setSpacing(6)
        tools.addWidget(self.tokenizer)
        tools.addWidget(self._type_instead)
        tools.addWidget(self.samples)
        tools.addWidget(self._expand)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.editor, 1, Qt.AlignmentFlag.AlignTop)
        top.addLayout(tools)
        top.setAlignment(tools, Qt.AlignmentFlag.AlignTop)
        bottom = QHBoxLayout()
        bottom.setSpacing(8)
        bottom.addWidget(self.strip, 1)
        self._count.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        bottom.addWidget(self._count)
        bottom.setAlignment(self._count, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 7, 8, 5)
        column.setSpacing(3)
        column.addLayout(top)
        column.addLayout(bottom)

    def _samples_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for sample in SAMPLES:
            action = menu.addAction(sample.title)
            action.setToolTip(sample.help)
            action.setData(sample)
        menu.triggered.connect(self._on_sample)
        return menu

    def _mark(self) -> None:
        spans = self._tokens.spans
        if spans is None:
            self.editor.mark("", None, None)
            return
        query, key = (None if at is None else spans[at] for at in (self._query, self._current))
        self.editor.mark(self._tokens.source, query, key)

    # Hands

    def _on_text(self) -> None:
        self.text_changed.emit(self.editor.text())

    def _on_tokenizer(self, row: int) -> None:
        self.tokenizer_changed.emit(self.tokenizer.itemData(row))

    def _on_sample(self, action: QAction) -> None:
        sample = action.data()
        self.sample_chosen.emit(sample.read(), sample.tokenizer)

    def _on_type_instead(self) -> None:
        self.sample_chosen.emit(self._typed.text, self._typed.tokenizer)

    def _on_expand(self, expanded: bool) -> None:
        self._expand.setIcon(icon("collapse" if expanded else "expand", self._theme))
        self.editor.set_expanded(expanded)

    def _on_hover(self, token: int) -> None:
        self._current = None if token < 0 else token
        self._mark()
        self.token_hovered.emit(token)


def count_words(tokens: Tokens) -> str:
    """Return the number of tokens and of documents in words: ``26 tokens, 2 documents``."""
    count = len(tokens)
    words = f"{count:,} token{'' if count == 1 else 's'}"
    return words if tokens.documents is None else f"{words}, {max(tokens.documents) + 1} documents"


def array_words(source: ArraySource) -> str:
    """Return what a file holds: its label, each array with its shape, and what the reader noted."""
    arrays = ", ".join(f"{name} {shape_text(array)}" for name, array in source.arrays.items())
    return "\n".join([f"{source.label}: {arrays}", *source.notes])
