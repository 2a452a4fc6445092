"""TermBox: which term of the positional part its panel shows."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from relpos_viewer.views import names

ALL = "all terms"
_AROUND = 33  # pixels for the arrow and the margins
TIP = "Show one term of the position alone. The score and the weights keep all of them."
TOO_LONG = "Terms are shown apart for up to {most:,} keys; here the panel shows their sum."


class TermBox(QComboBox):
    """Hidden for families of a single term.

    Signals:
        chosen(str): a term, "" for all of them; by hand only.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.TERM_BOX)
        self.setAccessibleName("Term of the position")
        self.setStyleSheet("QComboBox { padding: 0px 2px 0px 6px; }")
        self.setVisible(False)
        self._terms: tuple[str, ...] = ()
        self.activated.connect(lambda place: self.chosen.emit(("", *self._terms)[place]))

    @property
    def across(self) -> int:
        """Pixels that the longest term needs; Qt's own hint is generous."""
        texts = [self.itemText(place) for place in range(self.count())]
        return max(map(self.fontMetrics().horizontalAdvance, texts), default=0) + _AROUND

    def set_terms(self, terms: tuple[str, ...], shown: str, most: int | None) -> None:
        """Offer terms.

        Args:
            terms: their names; none hides the box.
            shown: the one on show, "" for all.
            most: number of keys up to which terms can be shown apart, where there are more; None else.
        """
        if terms != self._terms:
            self._terms = terms
            self.clear()
            self.addItems([ALL, *terms])
        if terms:
            self.setCurrentIndex(("", *terms).index(shown))
        self.setEnabled(most is None)
        self.setToolTip(TIP if most is None else TOO_LONG.format(most=most))
        self.setVisible(bool(terms))
