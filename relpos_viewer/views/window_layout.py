"""Where matrices, curve and inspector lie in the window, and how much room each has."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

# Shares of the room, (equation, rest) and (curve, inspector), in each arrangement at first.
SHARES = {"row": ((10, 9), (10, 3)), "column": ((11, 9), (5, 4))}


class WindowLayout(QSplitter):
    """The equation and, beside or below it, the curve with the inspector.

    Four matrices in a row leave room below them ("row"); two by two, or one alone, they are as high as wide, so
    the rest stands beside them ("column"). Each arrangement remembers what the user made of it.
    """

    def __init__(self, equation: QWidget, curve: QWidget, inspector: QWidget) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._arrangement = ""
        self._sizes: dict[str, list[list[int]]] = {}
        self.setObjectName("middleSplitter")
        self._rest = QSplitter(Qt.Orientation.Horizontal)
        self._rest.setObjectName("restSplitter")
        self.addWidget(equation)
        self.addWidget(self._rest)
        self._rest.addWidget(curve)
        self._rest.addWidget(inspector)
        for splitter in (self, self._rest):
            splitter.setChildrenCollapsible(False)
            splitter.setHandleWidth(8)
            splitter.splitterMoved.connect(self._note)
        self.arrange("row")

    def arrange(self, layout: str) -> None:
        """Take the arrangement that suits a layout of the equation (see `views.equation_row.LAYOUTS`)."""
        arrangement = "row" if layout == "row" else "column"
        if arrangement == self._arrangement:
            return
        if self._arrangement:
            self._sizes[self._arrangement] = self._now()
        self._arrangement = arrangement
        across, along = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        self.setOrientation(along if arrangement == "row" else across)
        self._rest.setOrientation(across if arrangement == "row" else along)
        shares = SHARES[arrangement]
        for splitter, parts in zip((self, self._rest), shares, strict=True):
            for place, share in enumerate(parts):
                splitter.setStretchFactor(place, share)
        # The inspector keeps its width when the window grows in a row; numbers do not get better by room.
        if arrangement == "row":
            self._rest.setStretchFactor(1, 0)
        self._give(arrangement)

    def save(self) -> bytes:
        """Return what the user made of the arrangements, for the settings."""
        return json.dumps({**self._sizes, self._arrangement: self._now()}).encode()

    def restore(self, state: bytes) -> None:
        """Take up what `save` returned, or the first shares; what cannot be read is left out.

        For the moment when the window has its size: sizes given earlier are stretched with it.
        """
        try:
            read = json.loads(state)
        except ValueError:
            read = None
        for arrangement in SHARES:
            sizes = read.get(arrangement) if isinstance(read, dict) else None
            if _are_sizes(sizes):
                self._sizes[arrangement] = sizes
        self._give(self._arrangement)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the equation's part of a window that grows, also while one that opens is finding its size."""
        super().resizeEvent(event)
        self._part(self, self._shares(self._arrangement)[0])

    def _give(self, arrangement: str) -> None:
        for splitter, parts in zip((self, self._rest), self._shares(arrangement), strict=True):
            self._part(splitter, parts)

    def _shares(self, arrangement: str) -> list[list[int]]:
        return self._sizes.get(arrangement) or [list(parts) for parts in SHARES[arrangement]]

    @staticmethod
    def _part(splitter: QSplitter, shares: list[int]) -> None:
        """Part all the room of a splitter: sizes of another sum Qt parts as it likes, not in proportion."""
        across = splitter.orientation() == Qt.Orientation.Horizontal
        room = (splitter.width() if across else splitter.height()) - splitter.handleWidth()
        first = room * shares[0] // max(sum(shares), 1)
        splitter.setSizes([first, room - first])

    @Slot()
    def _note(self, *_moved: int) -> None:
        """Take down what a hand has made of the arrangement."""
        self._sizes[self._arrangement] = self._now()

    def _now(self) -> list[list[int]]:
        return [self.sizes(), self._rest.sizes()]


def _are_sizes(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(
            isinstance(part, list)
            and len(part) == 2
            and all(isinstance(size, int) and 0 <= size < 100_000 for size in part)
            for part in value
        )
    )
