"""SourceDialog: how many heads typed text has, how wide they are, and which projections they get."""

from __future__ import annotations

from PySide6.QtWidgets import QDialogButtonBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from relpos_viewer.document.document import TextSource, replace
from relpos_viewer.sources.embeddings import MAX_DIM, MAX_HEADS
from relpos_viewer.views import names
from relpos_viewer.views.number_boxes import IntegerBox
from relpos_viewer.views.placed_dialog import PlacedDialog

ABOUT = (
    "Without a model, content comes from the spelling of the tokens: tokens that share letters are alike, and "
    "every head looks at them through a random projection of its own."
)


class SourceDialog(PlacedDialog):
    """Asks for heads, width and seed of a `TextSource`."""

    def __init__(self, source: TextSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.SOURCE_DIALOG)
        self.setWindowTitle("Heads of typed text")
        self.setMinimumWidth(360)
        self._source = source
        self._heads = self._box(names.SOURCE_HEADS, "Number of heads", 1, MAX_HEADS, source.heads)
        self._dim = self._box(names.SOURCE_DIM, "Width of a head, d", 1, MAX_DIM, source.dim)
        self._seed = self._box(names.SOURCE_SEED, "Seed of the projections", 0, 2**31 - 1, source.seed)
        about = QLabel(ABOUT)
        about.setWordWrap(True)
        about.setProperty("muted", True)
        form = QFormLayout()
        form.addRow("Heads", self._heads)
        form.addRow("Width d", self._dim)
        form.addRow("Seed", self._seed)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addWidget(about)
        column.addLayout(form)
        column.addWidget(buttons)

    def source(self) -> TextSource:
        """Return the source with what was chosen."""
        return replace(
            self._source, heads=self._heads.value(), dim=self._dim.value(), seed=self._seed.value()
        )

    def _box(self, name: str, accessible: str, low: int, high: int, value: int) -> IntegerBox:
        box = IntegerBox(low, high)
        box.setObjectName(name)
        box.setAccessibleName(accessible)
        box.setValue(value)
        return box
