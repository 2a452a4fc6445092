"""ShiftDialog: the same tokens some places later, and what that does to the scores."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialogButtonBox, QHBoxLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from relpos_viewer.app.frames import Frame
from relpos_viewer.app.inspections import InspectionRequest, ShiftRequest, shifted
from relpos_viewer.app.runner import LatestRunner
from relpos_viewer.core.numbers import short
from relpos_viewer.core.shift import ShiftTest, verdict
from relpos_viewer.views import names
from relpos_viewer.views.difference_picture import DifferencePicture
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import Theme

FIRST_PLACES, MOST_PLACES = 5, 64
TYPING_MS = 120  # a hand on the arrows of the box asks once it pauses


class ShiftDialog(PlacedDialog):
    """Non-modal: it follows the document. Call `close_runner` before the window ends: it owns a thread."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.SHIFT_DIALOG)
        self.setWindowTitle("Shift test")
        self.resize(500, 560)
        self._frame: Frame | None = None
        self._shown: ShiftRequest | None = None
        self._runner = LatestRunner(shifted, self)
        self._runner.delivered.connect(self._on_test)
        self._runner.failed.connect(self._on_failure)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(TYPING_MS)
        self._timer.timeout.connect(self._ask)

        self._places = QSpinBox()
        self._places.setObjectName(names.SHIFT_PLACES)
        self._places.setAccessibleName("Positions to move by")
        self._places.setRange(1, MOST_PLACES)
        self._places.setValue(FIRST_PLACES)
        self._places.valueChanged.connect(lambda _value: self._timer.start())
        label = QLabel("Move all tokens by s =")
        label.setBuddy(self._places)
        top = QHBoxLayout()
        top.addWidget(label)
        top.addWidget(self._places)
        top.addWidget(QLabel("positions"))
        top.addStretch(1)
        self._largest = QLabel()
        self._largest.setObjectName(names.SHIFT_LARGEST)
        self._largest.setProperty("title", True)
        top.addWidget(self._largest)
        self._sentence = QLabel()
        self._sentence.setObjectName(names.SHIFT_SENTENCE)
        self._sentence.setWordWrap(True)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._how = QLabel()
        self._how.setProperty("muted", True)
        self._how.setWordWrap(True)
        self.picture = DifferencePicture("positional term")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 14, 14, 12)
        column.setSpacing(9)
        column.addLayout(top)
        column.addWidget(self._sentence)
        column.addWidget(self.picture, 1)
        column.addWidget(self._how)
        column.addWidget(buttons)
        self.set_theme(theme)

    def set_frame(self, frame: Frame) -> None:
        """Test what a frame shows, once the dialog is on show."""
        self._frame = frame
        self.picture.set_look(self._theme, frame.document.view.terms_map)
        self._ask()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        terms_map = "auto" if self._frame is None else self._frame.document.view.terms_map
        self.picture.set_look(theme, terms_map)

    def close_runner(self) -> None:
        """End the thread."""
        self._timer.stop()
        self._runner.close()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the document."""
        super().showEvent(event)
        self._ask()

    def hideEvent(self, event: QHideEvent) -> None:
        """Compute nothing that nobody sees."""
        super().hideEvent(event)
        self._timer.stop()
        self._runner.cancel()
        self._shown = None

    @Slot()
    def _ask(self) -> None:
        if self._frame is None or not self.isVisible():
            return
        request = ShiftRequest(InspectionRequest.of(self._frame), self._places.value())
        if not request.asks_the_same(self._shown):
            self._shown = request
            self._runner.submit(request)

    @Slot(object)
    def _on_test(self, test: ShiftTest) -> None:
        assert self._shown is not None, "cancelled requests deliver nothing"
        number = short(test.largest)
        self._largest.setText("max |Δ| ≈ 0" if test.relative else f"max |Δ| {number}")
        self._largest.setToolTip(f"Largest change of the positional term among visible cells: {number}")
        self._sentence.setText(verdict(test, self._shown.subject.encoding, number))
        head = self._shown.subject.document.head
        which = f"Positional term of head {head} at the later place, minus where it was."
        compared = test.rows[1] - test.rows[0]
        if compared < test.queries:
            which += f" Of this long sequence the last {compared:,} queries are compared."
        self._how.setText(which)
        self.picture.set_change(test.difference * 0.0 if test.relative else test.difference)

    @Slot(object)
    def _on_failure(self, error: Exception) -> None:
        self._largest.setText("")
        self._sentence.setText(told(error))
        self._how.setText("")
        self.picture.set_change(None)
