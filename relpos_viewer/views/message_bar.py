"""MessageBar: one sentence at the top of the window that asks for no answer."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from relpos_viewer.views import names
from relpos_viewer.views.icons import icon
from relpos_viewer.views.sentences import as_sentence
from relpos_viewer.views.theme import LIGHT, Theme

# Long enough to be read twice at an unhurried 20 characters a second.
NOTE_SHORTEST, NOTE_PER_CHARACTER = 5000, 100  # milliseconds


class MessageBar(QFrame):
    """Hidden until there is something to say. Errors stay until closed or mended, notes leave by themselves."""

    closed = Signal()  # by the user

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.MESSAGE_BAR)
        self.setAccessibleName("Message")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self._theme = LIGHT
        self._error = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        self._icon = QLabel()
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(
            self._text.textInteractionFlags() | self._text.textInteractionFlags().TextSelectableByMouse
        )
        self._close = QToolButton()
        self._close.setObjectName(names.MESSAGE_CLOSE)
        self._close.setAccessibleName("Close the message")
        self._close.setToolTip("Close")
        self._close.setProperty("flat", True)
        self._close.clicked.connect(self._on_close)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 4, 4)
        row.setSpacing(8)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)
        row.addWidget(self._close)
        self.hide()

    def show_error(self, sentence: str) -> None:
        """Say what went wrong and how to mend it; it stays until it is closed or `dismiss` is called."""
        self._timer.stop()
        self._show(sentence, error=True)

    def show_note(self, sentence: str) -> None:
        """Say something that needs no action; it leaves by itself, and never takes the place of an error."""
        if self.isVisible() and self._error:
            return
        self._show(sentence, error=False)
        self._timer.start(max(NOTE_SHORTEST, NOTE_PER_CHARACTER * len(sentence)))

    def dismiss(self) -> None:
        """Hide what is shown."""
        self._timer.stop()
        self._error = False
        self.hide()

    def text(self) -> str:
        """Return the sentence that is shown, or was shown last."""
        return self._text.text()

    @property
    def is_error(self) -> bool:
        """Whether an error is shown."""
        return self._error

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._close.setIcon(icon("close", theme))
        self._paint()

    def _show(self, sentence: str, *, error: bool) -> None:
        sentence = as_sentence(sentence)
        self._error = error
        self._text.setText(sentence)
        self.setAccessibleDescription(sentence)
        self._paint()
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _paint(self) -> None:
        theme = self._theme
        ground, ink = (theme.danger_soft, theme.danger) if self._error else (theme.card, theme.border)
        self.setStyleSheet(
            f"QFrame#{names.MESSAGE_BAR} {{ background: {ground}; border: 1px solid {ink}; border-radius: 8px; }}"
        )
        mark = icon("error", theme, theme.danger) if self._error else icon("note", theme)
        self._icon.setPixmap(mark.pixmap(18, 18))

    def _on_close(self) -> None:
        self.dismiss()
        self.closed.emit()
