"""ConventionsPanel: everything two implementations of the encoding could do differently, and what would go wrong."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.frames import Frame
from relpos_viewer.app.inspections import (
    TOEPLITZ_SHARE,
    Inspection,
    InspectionRequest,
    Inspector,
    as_markdown,
)
from relpos_viewer.app.runner import LatestRunner
from relpos_viewer.core.encodings.base import Convention
from relpos_viewer.core.numbers import short
from relpos_viewer.document.document import EncodingSpec
from relpos_viewer.views import names
from relpos_viewer.views.convention_table import ConventionCard
from relpos_viewer.views.icons import icon
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.reading_card import ReadingCard
from relpos_viewer.views.sentences import as_sentence
from relpos_viewer.views.theme import Theme

UPPER_SHARE = 0.54  # of the panel, for the conventions at most
NO_READINGS = "No other convention of this family is mixed up in practice."


class ConventionsPanel(PlacedDialog):
    """Non-modal: it follows the document. Call `close_runner` before the window ends: it owns a thread.

    Signals:
        reading_taken(EncodingSpec): this reading is to become the document's encoding.
    """

    reading_taken = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.CONVENTIONS_PANEL)
        self.setWindowTitle("Conventions")
        self.resize(560, 780)
        self._theme = theme
        self._frame: Frame | None = None
        self._asked: InspectionRequest | None = None
        self._found: Inspection | None = None
        self._share: float | None = None
        self._offset: int | None = None
        self._shown: tuple[Convention, ...] = ()
        self.cards: list[ConventionCard] = []
        self.readings: list[ReadingCard] = []
        self._runner = LatestRunner(Inspector(), self)
        self._runner.delivered.connect(self._on_inspection)
        self._runner.failed.connect(self._on_failure)

        self._title = QLabel()
        self._title.setProperty("title", True)
        self._paper = QLabel()
        self._paper.setProperty("muted", True)
        self._share_label = QLabel()
        self._share_label.setObjectName(names.CONVENTIONS_SHARE)
        self._share_label.setProperty("muted", True)
        self._share_label.setToolTip(TOEPLITZ_SHARE)
        self._copy = QPushButton("Copy")
        self._copy.setObjectName(names.CONVENTIONS_COPY)
        self._copy.setAutoDefault(False)
        self._copy.setToolTip("Copy all of it as Markdown")
        self._copy.clicked.connect(self.copy)
        heading = QVBoxLayout()
        heading.setSpacing(2)
        heading.addWidget(self._title)
        heading.addWidget(self._paper)
        top = QHBoxLayout()
        top.addLayout(heading, 1)
        top.addWidget(self._share_label)
        top.addSpacing(8)
        top.addWidget(self._copy)

        self._facts, self._facts_column = _scrolled("Conventions")
        self._others, self._others_column = _scrolled("Read by another convention")
        lower = QWidget()
        column = QVBoxLayout(lower)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(6)
        other_title = QLabel("Read by another convention")
        other_title.setProperty("title", True)
        hint = QLabel("What goes wrong when code takes it for something else. The document stays as it is.")
        hint.setProperty("muted", True)
        hint.setWordWrap(True)
        self._nothing = QLabel(NO_READINGS)
        self._nothing.setWordWrap(True)
        self._nothing.setProperty("muted", True)
        column.addWidget(other_title)
        column.addWidget(hint)
        column.addWidget(self._nothing)
        column.addWidget(self._others, 1)
        self._halves = QSplitter(Qt.Orientation.Vertical)
        self._halves.addWidget(self._facts)
        self._halves.addWidget(lower)
        self._halves.setChildrenCollapsible(False)
        self._halves.splitterMoved.connect(self._on_moved)
        self._moved = False
        whole = QVBoxLayout(self)
        whole.setContentsMargins(14, 12, 14, 12)
        whole.setSpacing(8)
        whole.addLayout(top)
        whole.addWidget(self._halves, 1)
        self.set_theme(theme)

    # What is shown

    def set_frame(self, frame: Frame) -> None:
        """Explain what a frame shows, once the panel is on show."""
        self._frame = frame
        for card in self.readings:
            card.set_look(self._theme, frame.document.view.terms_map)
        self._ask()

    def set_share(self, share: float | None) -> None:
        """Show the head's Toeplitz share; None or NaN where it is not known."""
        self._share = None if share is None or share != share else share
        self._share_label.setText("" if self._share is None else f"Toeplitz share {short(self._share)}")

    def set_offset(self, offset: int | None) -> None:
        """Light the rows of δ = offset; None keeps the last one lit, so that it can be read."""
        if offset is None or offset == self._offset:
            return
        self._offset = offset
        self._light()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self._copy.setIcon(icon("copy", theme))
        terms_map = "auto" if self._frame is None else self._frame.document.view.terms_map
        for card in self.cards:
            card.set_theme(theme)
        for reading in self.readings:
            reading.set_look(theme, terms_map)

    @Slot()
    def copy(self) -> None:
        """Put all of it on the clipboard as Markdown."""
        if self._found is not None:
            QGuiApplication.clipboard().setText(as_markdown(self._found, self._share))

    def close_runner(self) -> None:
        """End the thread."""
        self._runner.close()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the document."""
        super().showEvent(event)
        self._share_room()
        self._ask()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new room between conventions and readings."""
        super().resizeEvent(event)
        self._share_room()

    def hideEvent(self, event: QHideEvent) -> None:
        """Compute nothing that nobody sees."""
        super().hideEvent(event)
        self._runner.cancel()
        self._asked = None

    # Within

    @property
    def _chosen(self) -> tuple[str, ...]:
        return tuple(card.reading.variant.name for card in self.readings if card.is_on)

    @Slot()
    def _ask(self) -> None:
        if self._frame is None or not self.isVisible():
            return
        request = InspectionRequest.of(self._frame, self._chosen)
        if not request.asks_the_same(self._asked):
            self._asked = request
            self._runner.submit(request)

    @Slot(object)
    def _on_inspection(self, found: Inspection) -> None:
        self._found = found
        family = found.request.encoding
        self._title.setText(family.title)
        self._paper.setText(family.paper)
        if found.conventions != self._shown:
            self._shown = found.conventions
            _clear(self._facts_column, self.cards)
            self.cards = [ConventionCard(each, self._theme) for each in found.conventions]
            for card in self.cards:
                self._facts_column.insertWidget(self._facts_column.count() - 1, card)
                card.show()  # hidden ones, as they would be until the next event, count for nothing
            self._light()
            self._share_room()
        self._show_readings(found)

    def _show_readings(self, found: Inspection) -> None:
        self._nothing.setVisible(not found.readings)
        self._nothing.setText(as_sentence(found.problem) or NO_READINGS)
        self._others.setVisible(bool(found.readings))
        wanted = [(each.variant.name, each.variant.help) for each in found.readings]
        if wanted != [(card.reading.variant.name, card.reading.variant.help) for card in self.readings]:
            on = set(self._chosen)
            _clear(self._others_column, self.readings)
            terms_map = found.request.document.view.terms_map
            self.readings = [ReadingCard(each, self._theme, terms_map) for each in found.readings]
            for card in self.readings:
                card.set_on(card.reading.variant.name in on)
                card.toggled.connect(self._ask)
                card.taken.connect(self._take)
                self._others_column.insertWidget(self._others_column.count() - 1, card)
        inputs = found.request.inputs
        for card, reading in zip(self.readings, found.readings, strict=True):
            card.set_reading(reading, inputs.tokens.labels, inputs.query_start)
        self._ask()  # a box may have been ticked, or kept for readings that came anew

    def _take(self, spec: EncodingSpec) -> None:
        for card in self.readings:
            card.set_on(False)
        self.reading_taken.emit(spec)

    @Slot(object)
    def _on_failure(self, error: Exception) -> None:
        self._nothing.setText(f"Something went wrong: {error}")
        self._nothing.setVisible(True)

    @Slot()
    def _on_moved(self) -> None:
        self._moved = True

    def _share_room(self) -> None:
        """Give the conventions what they need, at most somewhat more than half, until a hand has decided."""
        if self._moved:
            return
        room = sum(self._halves.sizes())
        self._facts_column.activate()
        needed = self._facts_column.totalHeightForWidth(self._facts.viewport().width()) + 4
        upper = min(needed, round(UPPER_SHARE * room))
        self._halves.setSizes([upper, room - upper])

    def _light(self) -> None:
        for card in self.cards:
            if card.set_offset(self._offset):
                self._facts.ensureWidgetVisible(card, 0, 0)


def _scrolled(name: str) -> tuple[QScrollArea, QVBoxLayout]:
    inner = QWidget()
    inner.setObjectName("scrolled")
    column = QVBoxLayout(inner)
    column.setContentsMargins(0, 0, 4, 0)
    column.setSpacing(7)
    column.addStretch(1)
    area = QScrollArea()
    area.setAccessibleName(name)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    inner.setAutoFillBackground(False)
    area.setWidget(inner)
    return area, column


def _clear(column: QVBoxLayout, cards: list) -> None:
    for card in cards:
        column.removeWidget(card)
        card.hide()
        card.deleteLater()
