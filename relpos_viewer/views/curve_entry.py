"""The box in which an exact value is typed, right at its point."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QLineEdit, QWidget

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.numbers import digits, parse_number
from relpos_viewer.views import names
from relpos_viewer.views.curve_gesture import FINE
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import LIGHT, Theme

STEP = 0.1
LARGEST = 1e6
GAP = 14


class CurveEntry(QFrame):
    """One number, typed. Enter keeps it, Tab goes on to the next offset, Esc leaves all as it was.

    Text that is no number keeps the box open, with one sentence under it.
    """

    accepted = Signal(float)
    next_requested = Signal(int)
    """1 after Tab, −1 after Shift+Tab; the value, if one was typed, was accepted before."""
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = ""
        self._suggests = False
        self._point, self._within = QPointF(), QRectF()
        self._label = QLabel()
        self.box = NumberLine()
        self.box.setObjectName(names.CURVE_ENTRY)
        self.box.setAccessibleName("Exact value of the bias")
        self.box.setMinimumWidth(104)
        self._message = QLabel()
        self._message.setWordWrap(True)
        layout = QGridLayout(self)
        layout.setContentsMargins(8, 5, 6, 5)
        layout.setSpacing(5)
        layout.addWidget(self._label, 0, 0)
        layout.addWidget(self.box, 0, 1)
        layout.addWidget(self._message, 1, 0, 1, 2)
        layout.setColumnStretch(1, 1)
        self.box.finished.connect(self._finish)
        self.box.abandoned.connect(self._close)
        self.box.left.connect(self._leave)
        self.box.textChanged.connect(self._clear_message)
        self.set_theme(LIGHT)
        self.hide()

    @property
    def message(self) -> str:
        """What is wrong with the text, empty when nothing."""
        return self._message.text()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.setStyleSheet(
            f"CurveEntry {{ background: {theme.card}; border: 1px solid {theme.accent}; border-radius: 6px; }}"
        )
        self._message.setStyleSheet(f"color: {theme.danger};")

    def open(self, label: str, value: float, point: QPointF, within: QRectF) -> None:
        """Ask for another value than `value`, beside `point` and inside `within`, both in pixels of the parent."""
        self._suggests = False
        self._ask(label, value, point, within)

    def suggest(self, label: str, value: float, point: QPointF, within: QRectF) -> None:
        """Ask for a value, as `open` does, of which `value` is one: Enter alone accepts it."""
        self._suggests = True
        self._ask(label, value, point, within)

    def _ask(self, label: str, value: float, point: QPointF, within: QRectF) -> None:
        self._point, self._within = point, within
        self._label.setText(label)
        self._shown = digits(value, 6)
        self.box.setText(self._shown)
        self._clear_message()
        self._place()
        self.show()
        self.raise_()
        self.box.selectAll()
        self.box.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        self.adjustSize()
        within = self._within.adjusted(4, 4, -4, -4)
        x = min(max(self._point.x() - self.width() / 2, within.left()), within.right() - self.width())
        y = self._point.y() - self.height() - GAP
        if y < within.top():
            y = min(self._point.y() + GAP, within.bottom() - self.height())
        self.move(round(x), round(y))

    def _finish(self, go_on: int) -> None:
        if self._suggests:
            self._shown = ""
        if self._keep():
            self._close()
            if go_on:
                self.next_requested.emit(go_on)

    def _leave(self) -> None:
        """Keep what was typed when the user clicks elsewhere; text that is no number has nobody to read a message."""
        if self.isVisible():
            self._keep()
            self._close()

    def _keep(self) -> bool:
        """Hand the number on; False, with a message, when it is none."""
        if self.box.text() == self._shown:
            return True  # nothing typed, and the value may have more digits than were shown
        try:
            value = _read(self.box.text())
        except ViewerError as error:
            self._message.setText(told(error))
            self._message.show()
            self._place()
            self.box.selectAll()
            return False
        self._shown = self.box.text()
        self.accepted.emit(value)
        return True

    def _close(self) -> None:
        if self.isVisible():
            self.hide()
            self.closed.emit()

    def _clear_message(self) -> None:
        self._message.clear()
        self._message.hide()


def _read(text: str) -> float:
    value = parse_number(text)
    if abs(value) > LARGEST:
        raise ViewerError(f"“{text.strip()}” is too large; type a number from −1,000,000 to 1,000,000.")
    return value


class NumberLine(QLineEdit):
    """A line for one number: arrows and the wheel step it, by less with Shift."""

    finished = Signal(int)
    """Enter: 0, Tab: 1, Shift+Tab: −1."""
    abandoned = Signal()
    left = Signal()

    def event(self, event: QEvent) -> bool:
        """Take Tab, which would move the focus."""
        if event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.finished.emit(1 if event.key() == Qt.Key.Key_Tab else -1)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Esc and the vertical arrows; the rest is typing."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.finished.emit(0)
        elif key == Qt.Key.Key_Escape:
            self.abandoned.emit()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step(1 if key == Qt.Key.Key_Up else -1, event.modifiers())
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Step the number."""
        notches = event.angleDelta().y() or event.angleDelta().x()
        if notches:
            self._step(1 if notches > 0 else -1, event.modifiers())
        event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell that the user turned elsewhere in the window; another window or a menu is no answer."""
        super().focusOutEvent(event)
        if event.reason() not in (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason):
            self.left.emit()

    def _step(self, direction: int, modifiers: Qt.KeyboardModifier) -> None:
        try:
            value = parse_number(self.text())
        except ViewerError:
            return
        step = STEP * (FINE if modifiers & Qt.KeyboardModifier.ShiftModifier else 1)
        self.setText(digits(round(value + direction * step, 6), 10))
        self.selectAll()
