"""ReadingCard: one convention that could be mistaken for the encoding's own, and what goes wrong then."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from relpos_viewer.app.inspections import Reading
from relpos_viewer.core.numbers import short
from relpos_viewer.core.readings import Comparison
from relpos_viewer.views import names
from relpos_viewer.views.difference_picture import DifferencePicture
from relpos_viewer.views.sentences import as_sentence
from relpos_viewer.views.theme import Theme

# Two float32 ways to the same numbers differ by so much.
ROUNDING_BIAS, ROUNDING_WEIGHT = 1e-4, 1e-6
PICTURE_HEIGHT = 176
INDENT = 21  # below the words of the box


class ReadingCard(QFrame):
    """A box to tick; ticked, it shows the differences.

    Signals:
        toggled(bool): the box was ticked or cleared by hand.
        taken(object): the reading's `EncodingSpec` is to become the document's.
    """

    toggled = Signal(bool)
    taken = Signal(object)

    def __init__(self, reading: Reading, theme: Theme, terms_map: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.reading = reading
        name = reading.variant.name
        self.box = QCheckBox(name)
        self.box.setObjectName(names.READING_PREFIX + name)
        self.box.setAccessibleDescription(reading.variant.help)
        self.box.toggled.connect(self._on_toggled)
        self._help = QLabel(reading.variant.help)
        self._help.setWordWrap(True)
        self._help.setProperty("muted", True)
        self._help.setContentsMargins(INDENT, 0, 0, 0)
        self.numbers = QLabel()
        self.numbers.setWordWrap(True)
        self.numbers.setTextFormat(Qt.TextFormat.PlainText)
        self.numbers.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.numbers.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.take = QPushButton("Take it into the document")
        self.take.setObjectName(names.READING_TAKE_PREFIX + name)
        self.take.setAutoDefault(False)
        self.take.setToolTip("Make this reading the document's encoding; Undo takes it back")
        self.take.clicked.connect(lambda: self.taken.emit(self.reading.spec))
        self.picture = DifferencePicture("weights")
        self.picture.setFixedHeight(PICTURE_HEIGHT)
        self.picture.set_look(theme, terms_map)
        words = QVBoxLayout()
        words.addWidget(self.numbers, 1)
        words.addWidget(self.take, 0, Qt.AlignmentFlag.AlignLeft)
        self._result = QWidget()
        row = QHBoxLayout(self._result)
        row.setContentsMargins(INDENT, 4, 0, 0)
        row.setSpacing(14)
        row.addLayout(words, 1)
        row.addWidget(self.picture, 1)
        self._result.setVisible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 9, 12, 10)
        column.setSpacing(3)
        column.addWidget(self.box)
        column.addWidget(self._help)
        column.addWidget(self._result)

    @property
    def is_on(self) -> bool:
        """Whether it is ticked."""
        return self.box.isChecked()

    def set_on(self, on: bool) -> None:
        """Tick the box without a signal."""
        self.box.blockSignals(True)
        self.box.setChecked(on)
        self.box.blockSignals(False)
        self._result.setVisible(on)

    def set_reading(self, reading: Reading, labels: tuple[str, ...], query_start: int) -> None:
        """Show what was found.

        Args:
            reading: of the same name; without a comparison there is nothing new.
            labels: one a key (`Tokens.labels`).
            query_start: position of the first query.
        """
        self.reading = reading
        self.take.setVisible(reading.spec is not None)
        found = reading.comparison
        if found is None:
            self.numbers.setText(as_sentence(reading.problem) or "Comparing…")
            self.picture.setVisible(False)
            return
        self.numbers.setText(words(found, labels, query_start))
        self.picture.setVisible(found.weight > ROUNDING_WEIGHT)
        self.picture.set_change(found.picture)

    def set_look(self, theme: Theme, terms_map: str) -> None:
        """Take the colours of `theme`, and the map of the document's terms."""
        self.picture.set_look(theme, terms_map)

    def _on_toggled(self, on: bool) -> None:
        self._result.setVisible(on)
        self.toggled.emit(on)


def words(found: Comparison, labels: tuple[str, ...], query_start: int) -> str:
    """Return what a comparison says, one line a number."""
    same_bias, same_weights = found.bias <= ROUNDING_BIAS, found.weight <= ROUNDING_WEIGHT
    lines = [
        f"max |Δ bias|  {'0' if same_bias else short(found.bias)}",
        f"max |Δ weight|  {'0' if same_weights else short(found.weight)}",
    ]
    if same_bias and same_weights:
        lines.append("Among the visible cells both readings are the same.")
    elif same_weights or found.query is None:
        lines.append("The weights stay: softmax ignores what is added to a whole row.")
    else:
        place = found.query + query_start
        lines.append(
            f"Query {place} “{labels[place]}” differs most: {100 * found.moved:.0f} % of its weight goes to "
            "other keys."
        )
    if found.sampled:
        lines.append(f"{found.compared:,} of {found.queries:,} queries, evenly spread.")
    return "\n".join(lines)
