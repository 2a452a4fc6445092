"""The strip of heads in a window: its thumbnails are made while nothing else is, and given up for any hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from relpos_viewer.app.head_thumbnails import Thumbnail, ThumbnailMaker, ThumbnailRequest, ThumbnailShelf
from relpos_viewer.app.palettes import palettes
from relpos_viewer.app.runner import LatestRunner
from relpos_viewer.document.document import Document

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

# So long after the last picture hands count as resting.
REST_MS = 300


class WindowHeads(QObject):
    """Fills the strip of one window. GUI thread only; `close` it before the window goes: it owns a thread."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._maker = ThumbnailMaker()
        self._shelf = ThumbnailShelf()
        self._runner = LatestRunner(self._maker, self)
        self._runner.delivered.connect(self._on_thumbnail)
        self._runner.failed.connect(self._on_failure)
        self._failed: Document | None = None
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._next)
        window.strip.head_chosen.connect(window.commands.show_head)
        window.runner.busy.connect(self._on_busy)

    def show(self) -> None:
        """Show the heads of the newest frame, where there are several and the strip is wanted."""
        window, frame = self._window, self._window.frame
        heads = 0 if frame is None else frame.inputs.heads
        window.strip.setVisible(heads > 1 and window.settings.head_strip)
        window.strip.set_heads(heads, window.session.document.head)
        if frame is not None:
            view = frame.document.view
            window.strip.set_palette(palettes(view.terms_map, view.weights_map, window.theme.name)["weights"])
            shown = window.strip.thumbnails
            window.strip.fade(head for head in shown if self._shelf.missing(self._requests([head])))
        self._rest.start()

    def enter(self) -> None:
        """Another sequence is on show: its heads have no thumbnails yet."""
        self._window.strip.clear()
        self._shelf = ThumbnailShelf()

    def toggle(self) -> None:
        """Show the strip or hide it, from now on in every window."""
        self._window.settings.head_strip = not self._window.settings.head_strip
        self.show()

    def close(self) -> None:
        """Stop, and end the thread."""
        self._rest.stop()
        self._runner.close()
        self._maker.close()

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if busy:
            self._rest.stop()
            self._runner.cancel()
        else:
            self._rest.start()

    @Slot()
    def _next(self) -> None:
        window, frame = self._window, self._window.frame
        document = window.session.document
        if (
            frame is None
            or window.strip.isHidden()
            or window.runner.is_busy
            or window.history.is_previewing
            or document.source is not frame.document.source
            or document is self._failed
        ):
            return
        heads = [document.head, *(head for head in range(frame.inputs.heads) if head != document.head)]
        wanted = self._shelf.missing(self._requests(heads))
        if wanted is not None:
            self._runner.submit(wanted)

    def _requests(self, heads: Iterable[int]) -> list[ThumbnailRequest]:
        window, frame = self._window, self._window.frame
        document = window.session.document
        return [
            ThumbnailRequest(document, head, frame.inputs.heads, frame.n_key, window.device) for head in heads
        ]

    @Slot(object)
    def _on_thumbnail(self, thumbnail: Thumbnail) -> None:
        self._shelf.put(thumbnail)
        self._window.strip.set_thumbnail(thumbnail)
        self._next()

    @Slot(object)
    def _on_failure(self, _error: Exception) -> None:
        # The picture of the head in the middle says what is wrong; thumbnails are tried again after a change.
        self._failed = self._window.session.document
