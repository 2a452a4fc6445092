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
        self._beside: QWidget | None = None

    def leave_in_sight(self, widget: QWidget) -> None:
        """Stand beside `widget`, which belongs to the window below, where no place is remembered."""
        self._beside = widget

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
            self._stand_beside()
            return
        x, y, width, height = kept
        screen = self.screen().availableGeometry()
        self.resize(min(width, screen.width()), min(height, screen.height()))
        place = self._window_corner() + QPoint(x, y)
        if can_be_reached(QRect(place, self.size())):
            self.move(place)

    def _stand_beside(self) -> None:
        if self._beside is None or not self._beside.isVisible():
            return
        shown = QRect(self._beside.mapToGlobal(QPoint()), self._beside.size())
        parent = self.parentWidget().window()
        frame = parent.frameGeometry().size() - parent.size()  # the dialog's is about the same
        screen = self.screen().availableGeometry()
        place = place_beside(shown, self.size() + frame, self.minimumSizeHint() + frame, screen)
        self.resize(place.size() - frame)
        self.move(place.topLeft())

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


def place_beside(shown: QRect, size: QSize, least: QSize, screen: QRect) -> QRect:
    """Return where a window stands without hiding `shown`: on the side with most room, as large as that allows.

    Where no side has room for `least`, it stands in the corner of the screen that is farthest from `shown`.
    """
    sides = (
        QRect(screen.topLeft(), QSize(screen.width(), shown.top() - screen.top())),
        QRect(screen.left(), shown.bottom() + 1, screen.width(), screen.bottom() - shown.bottom()),
        QRect(screen.topLeft(), QSize(shown.left() - screen.left(), screen.height())),
        QRect(shown.right() + 1, screen.top(), screen.right() - shown.right(), screen.height()),
    )
    fits = [side for side in sides if side.width() >= least.width() and side.height() >= least.height()]
    if not fits:
        place = QRect(screen.topLeft(), size.boundedTo(screen.size()))
        if shown.center().x() < screen.center().x():
            place.moveRight(screen.right())
        if shown.center().y() < screen.center().y():
            place.moveBottom(screen.bottom())
        return place
    room = max(fits, key=lambda side: min(side.width(), size.width()) * min(side.height(), size.height()))
    place = QRect(room.topLeft(), size.boundedTo(room.size()))
    place.moveCenter(shown.center())
    # As near as the room allows.
    place.moveLeft(min(max(place.left(), room.left()), room.right() + 1 - place.width()))
    place.moveTop(min(max(place.top(), room.top()), room.bottom() + 1 - place.height()))
    return place


def can_be_reached(place: QRect) -> bool:
    """Whether a hand could take hold of a window there, on one of the screens that are present."""
    top = QRect(place.topLeft(), QSize(place.width(), GRIP.height()))
    shares = (screen.availableGeometry().intersected(top) for screen in QGuiApplication.screens())
    return any(share.width() >= GRIP.width() and share.height() >= GRIP.height() for share in shares)
