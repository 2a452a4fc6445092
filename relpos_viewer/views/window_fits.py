"""The fit of the shown curve: from the window to the worker, to the dialog, and back as one step of undo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from relpos_viewer.app.fitting import FitAnswer, FitRequest, answer_fit, kept, shown_curves
from relpos_viewer.app.runner import LatestRunner
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.fit import Explanation
from relpos_viewer.document.document import EncodingSpec
from relpos_viewer.sources.curve_file import CURVE_SUFFIXES, curve_of_text, read_curve_file
from relpos_viewer.views.fit_dialog import FitDialog
from relpos_viewer.views.sentences import told

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

# A hand that moves the curve has both cores; the fit follows when it rests so long.
RESTED_MS = 250
ONE_OFFSET = "Only one offset counts here, so there is nothing that tells families apart."
ONE_TOKEN = "One token has one offset, so there is nothing that tells families apart."
GIVEN_BIAS = "The arrays bring a bias of their own, to which a kept family would be added."


class WindowFits(QObject):
    """Keeps the dialog, asks for fits of the newest curve while it is open, and keeps one. GUI thread only."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._runner = LatestRunner(answer_fit, self)
        self._dialog: FitDialog | None = None
        self._asked: FitRequest | None = None
        self._table: tuple[np.ndarray, str] | None = None  # a target [2n−1] from elsewhere, and its name
        self._kept: tuple[EncodingSpec, str, str] | None = (
            None  # what was kept last, its family, and a sentence
        )
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(RESTED_MS)
        self._timer.timeout.connect(self._ask)

    @property
    def dialog(self) -> FitDialog | None:
        """The dialog, None before it was first opened."""
        return self._dialog

    @property
    def busy(self) -> bool:
        """Whether a fit is under way or about to begin."""
        return self._runner.is_busy or self._timer.isActive()

    def open(self) -> None:
        """Show the dialog beside the curve, and fit."""
        if self._dialog is None:
            self._dialog = self._made()
            self._dialog.leave_in_sight(self._window.curve)
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._ask()
        self._on_chosen(self._dialog.selected)

    def close(self) -> None:
        """End the worker. May be called twice."""
        self._timer.stop()
        self._runner.close()

    def _made(self) -> FitDialog:
        dialog, window, runner = FitDialog(self._window), self._window, self._runner
        runner.delivered.connect(self._on_answer)
        runner.failed.connect(self._on_failed)
        runner.progress.connect(dialog.show_progress)
        runner.busy.connect(dialog.show_busy)
        dialog.asked.connect(self._ask)
        dialog.clipboard_asked.connect(self._take_clipboard)
        dialog.file_asked.connect(self._take_file)
        dialog.curve_asked.connect(self._take_curve)
        dialog.stop_asked.connect(self._stop)
        dialog.again_asked.connect(self._ask_again)
        dialog.chosen.connect(self._on_chosen)
        dialog.kept.connect(self._on_kept)
        dialog.hidden.connect(self._on_hidden)
        window.session.changed.connect(self._on_changed)
        window.runner.delivered.connect(self._on_changed)
        dialog.show_busy(False)
        return dialog

    # What is asked

    @Slot()
    def _on_changed(self, *_: object) -> None:
        """The curve may be another one: wait until it rests."""
        self._show_kept()
        if self._dialog.isVisible():
            request = self._request()
            if request is not None and not request.same(self._asked):
                self._give_up()
                self._dialog.show_busy(True)  # a fit of the curve before must not be kept
                self._timer.start()

    @Slot()
    def _ask(self) -> None:
        """Ask for a fit of what is to be fitted now, unless that is known."""
        self._timer.stop()
        if self._window.history.is_previewing:
            self._timer.start()
            return
        request = self._request()
        if request is None:
            self._dialog.show_problem("There is no curve yet.")
            return
        frame = self._window.frame
        self._dialog.forbid_keeping("" if frame.inputs.bias is None else GIVEN_BIAS)
        self._dialog.show_target(self._target_text(request), of_curve=self._table is None)
        counts = [np.isfinite(each[request.visible]).sum() for each in request.targets.values()]
        if counts and max(counts) < 2:
            self._dialog.show_nothing(ONE_TOKEN if frame.n_key == 1 else ONE_OFFSET)
            self._give_up()
            self._dialog.show_busy(False)
            return
        if not request.same(self._asked):
            self._asked = request
            self._runner.submit(request)
        self._dialog.show_busy(self._runner.is_busy)

    @Slot()
    def _ask_again(self) -> None:
        self._asked = None
        self._ask()

    @Slot()
    def _stop(self) -> None:
        self._give_up()
        self._dialog.show_busy(False)
        self._dialog.show_problem("Stopped.")

    def _request(self) -> FitRequest | None:
        window, frame = self._window, self._window.frame
        if frame is None or frame.document.source is not window.session.document.source:
            return None
        curves, heads = frame.curves, frame.inputs.heads
        if self._table is not None and len(self._table[0]) == len(curves.visible):
            targets = {curves.head: self._table[0]}
        else:
            self._table = None
            edit = window.session.document.edit.at(heads, frame.n_key)  # [head, 2n−1]
            targets = shown_curves(curves, edit, every=self._dialog.every.isChecked())
        return FitRequest(targets, curves.visible, heads, frame.encoding.with_heads(heads))

    def _target_text(self, request: FitRequest) -> str:
        if self._table is not None:
            return f"Which family explains {self._table[1]} best?"
        heads = list(request.targets)
        whose = f"head {heads[0]}" if len(heads) == 1 else f"{len(heads)} heads"
        mean = "" if self._window.frame.curves.exact else "mean "
        return f"Which family explains the {mean}curve{'s' if len(heads) > 1 else ''} of {whose} best?"

    @Slot()
    def _take_curve(self) -> None:
        self._table = None
        self._ask()

    @Slot()
    def _take_clipboard(self) -> None:
        text = QGuiApplication.clipboard().text()
        self._take("the copied table", lambda n, head: curve_of_text(text, n, head))

    @Slot()
    def _take_file(self) -> None:
        settings = self._window.settings
        patterns = " ".join(f"*{suffix}" for suffix in CURVE_SUFFIXES)
        path, _ = QFileDialog.getOpenFileName(
            self._dialog,
            "Fit the curve of a file",
            str(settings.folder),
            f"Curves ({patterns});;All files (*)",
        )
        if path:
            self._take(f"“{Path(path).name}”", lambda n, head: read_curve_file(path, n, head))

    def _take(self, name: str, read) -> None:
        """Fit a table of elsewhere, or say why it cannot be read."""
        frame = self._window.frame
        if frame is None:
            return
        try:
            self._table = (read(frame.n_key, frame.curves.head), name)
        except ViewerError as error:
            self._dialog.show_problem(told(error))
            return
        self._dialog.every.setChecked(False)
        self._ask()

    # What is answered

    @Slot(object)
    def _on_answer(self, answer: FitAnswer) -> None:
        self._dialog.show_answer(answer)

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        self._dialog.show_problem(told(error))

    @Slot(object)
    def _on_chosen(self, chosen: Explanation | None) -> None:
        """Lay the chosen family's curve over the shown one."""
        frame = self._window.frame
        fit = None if chosen is None or frame is None else chosen.fits.get(frame.curves.head)
        if fit is None or not self._dialog.isVisible():
            self._window.curve.set_overlay(None)
        else:
            self._window.curve.set_overlay(fit.curve, f"{chosen.encoding.title}, fitted")

    @Slot(object)
    def _on_kept(self, chosen: Explanation) -> None:
        """Make a fit the document's family, as one step."""
        window, answer = self._window, self._dialog.answer
        request = self._request()
        if request is None or not request.same(answer.request):
            self._ask()
            return
        whose = "every head" if len(chosen.fits) > 1 else f"head {next(iter(chosen.fits))}"
        rest = self._dialog.rest.isChecked()
        document = kept(window.session.document, window.frame.curves, answer, chosen, rest=rest)
        title = chosen.encoding.title
        edit = ", with the rest as your edit" if rest else ""
        sentence = f"Kept {title} for {whose}{edit}. Undo takes it back."
        self._kept = (document.encoding, chosen.encoding.name, sentence)
        window.history.push(document, f"Fit {title} to {whose}")
        self._show_kept()
        window.say(sentence)

    def _show_kept(self) -> None:
        """Mark the family that was kept, as long as it is the document's."""
        stands = self._kept is not None and self._window.session.document.encoding == self._kept[0]
        self._dialog.show_kept(*(self._kept[1:] if stands else ("", "")))

    @Slot()
    def _on_hidden(self) -> None:
        self._give_up()
        self._window.curve.set_overlay(None)

    def _give_up(self) -> None:
        """Stop the fit under way, and forget that it was asked for."""
        self._timer.stop()
        self._runner.cancel()
        if self._dialog.answer is None or self._asked is not self._dialog.answer.request:
            self._asked = None
