"""PlacedDialog: a dialog that stands where it stood last, as large as it was, beside the window it belongs to."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QGuiApplication, QHideEvent, QMoveEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QWidget

from relpos_viewer.app.settings import Settings

# So much of the top of a dialog must lie on a screen, or no hand could move it.
GRIP = QSize(80, 20)


class PlacedDialog(QDialog):
    """Keeps its place and size by its object name, once `remember_in` told it where.

    Places are counted from the corner of the window, so that a dialog comes along when the window moves.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._remembered_in: Settings | None = None
        self._was_placed = False

    def remember_in(self, settings: Settings) -> None:
        """Keep place and size in `settings` from now on; what they hold is taken at the first show."""
        self._remembered_in = settings

    def showEvent(self, event: QShowEvent) -> None:
        """Stand where it stood last, where a hand can reach that place."""
        if not self._was_placed:
            self._restore_place()
            self._was_placed = True
        super().showEvent(event)

    def moveEvent(self, event: QMoveEvent) -> None:
        """Keep the new place."""
        super().moveEvent(event)
        self._keep_place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the new size."""
        super().resizeEvent(event)
        self._keep_place()

    def hideEvent(self, event: QHideEvent) -> None:
        """Keep the place beside a window that may have moved since."""
        super().hideEvent(event)
        self._keep_place()

    def _restore_place(self) -> None:
        kept = None if self._remembered_in is None else self._remembered_in.dialog_place(self.objectName())
        if kept is None:
            return
        x, y, width, height = kept
        screen = self.screen().availableGeometry()
        self.resize(min(width, screen.width()), min(height, screen.height()))
        place = self._window_corner() + QPoint(x, y)
        if can_be_reached(QRect(place, self.size())):
            self.move(place)

    def _keep_place(self) -> None:
        if (
            self._remembered_in is not None
            and self._was_placed
            and not (self.isMaximized() or self.isFullScreen())
        ):
            place = self.pos() - self._window_corner()
            self._remembered_in.set_dialog_place(
                self.objectName(), (place.x(), place.y(), self.width(), self.height())
            )

    def _window_corner(self) -> QPoint:
        parent = self.parentWidget()
        return QPoint() if parent is None else parent.window().pos()


def can_be_reached(place: QRect) -> bool:
    """Whether a hand could take hold of a window there, on one of the screens that are present."""
    top = QRect(place.topLeft(), QSize(place.width(), GRIP.height()))
    shares = (screen.availableGeometry().intersected(top) for screen in QGuiApplication.screens())
    return any(share.width() >= GRIP.width() and share.height() >= GRIP.height() for share in shares)
