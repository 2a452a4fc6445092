"""Opening, saving and exporting: the questions asked on the way, and the work done away from the GUI thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QGuiApplication, QImage
from PySide6.QtWidgets import QDialog, QFileDialog, QMessageBox

from relpos_viewer.app.autosave import Recovery
from relpos_viewer.app.frames import Frame
from relpos_viewer.app.jobs import Job, Jobs
from relpos_viewer.app.opening import open_document, with_tokens
from relpos_viewer.app.runner import Cancel
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import LARGEST, PlainField
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import ArraySource, Document
from relpos_viewer.document.files import SUFFIX, save_session
from relpos_viewer.export.arrays import EXPORTERS, Exporter, Wanted, export_numbers, exporter_for
from relpos_viewer.export.code import CodeKind, export_code, python_code
from relpos_viewer.export.code import Wanted as WantedCode
from relpos_viewer.export.figures import FigureOptions, figure_bytes, save_figure
from relpos_viewer.export.picture import Picture, caption, picture
from relpos_viewer.export.pixels import Part
from relpos_viewer.sources.axes import order_question
from relpos_viewer.sources.contents import Question
from relpos_viewer.sources.encoding_file import EncodingFile, read_encoding_file, with_encoding
from relpos_viewer.sources.files import FILE_KINDS
from relpos_viewer.sources.signatures import is_encoding_file
from relpos_viewer.views.dialogs import CodeDialog, ExportFigureDialog, QuestionDialog
from relpos_viewer.views.sentences import told

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

UNTITLED = "Untitled"
_PATTERNS = (
    f"Texts, arrays and sessions ({' '.join(f'*{suffix}' for kind in FILE_KINDS for suffix in kind.suffixes)});;"
    "All files (*)"
)


class WindowFiles(QObject):
    """The files of one window: where its session is saved, and every way in and out. GUI thread only."""

    def __init__(self, window: MainWindow, path: str) -> None:
        """`path` is what the first document was read from, "" for none."""
        super().__init__(window)
        self._window = window
        self._jobs = Jobs(self)
        self._jobs.changed.connect(self._on_job)
        self._jobs.progress.connect(window.status.show_progress)
        # Only a session is saved over; text and arrays are never written by Save.
        self._session_path: Path | None = None
        self._opened_name = ""
        self._figure_dialog: ExportFigureDialog | None = None
        self._code_dialog: CodeDialog | None = None
        if path:
            self._took(Path(path))

    @property
    def title(self) -> str:
        """What the window is called after."""
        if self._session_path is not None:
            return self._session_path.name
        return self._opened_name or UNTITLED

    @property
    def busy(self) -> bool:
        """Whether a file is being read or written."""
        return bool(self._jobs.title)

    def cancel(self) -> None:
        """Give up what is being opened, drawn or computed for a file."""
        self._jobs.cancel()

    def close(self) -> None:
        """Let files that are being written be finished."""
        if self._code_dialog is not None:
            self._code_dialog.close_worker()
        self._jobs.close()

    def forget_sequence(self) -> None:
        """The sequence no longer comes from a file."""
        self._opened_name = ""

    # New and open

    def new(self) -> None:
        """Begin again with the first example."""
        if self.may_discard():
            self._session_path, self._opened_name = None, ""
            self._window.autosave.origin = ""
            self._window.message.dismiss()  # what was said was about the document that is gone
            self._window.history.reset(Document.default())

    def ask_open(self) -> None:
        """Choose a file and open it."""
        settings = self._window.settings
        path, _ = QFileDialog.getOpenFileName(self._window, "Open", str(settings.folder), _PATTERNS)
        if path:
            self.open_path(Path(path))

    def open_path(self, path: Path, tokens: str | os.PathLike[str] | None = None) -> None:
        """Open a file, with the tokens of another beside its arrays where one is given.

        Asks about unsaved work, and about what the files leave open. An encoding alone joins the document that is
        open, as one step.
        """
        if is_encoding_file(path):
            self._open_encoding(path)
            return
        if self.may_discard():
            work = partial(open_document, path, self._window.session.document, tokens=tokens)
            self._read(path, work, self._on_opened, self._window.settings.answers(path), {})

    def _open_encoding(self, path: Path) -> None:
        self._jobs.start(
            Job(
                f"Opening {path.name}",
                partial(read_encoding_file, path),
                partial(self._on_encoding, path),
                self._failed,
            )
        )

    def _on_encoding(self, path: Path, read: EncodingFile) -> None:
        window = self._window
        try:
            document = with_encoding(window.session.document, read)
        except ViewerError as error:
            window.say_error(error)
            return
        self._remember(path)
        window.message.dismiss()
        window.history.push(document, f"Open {path.name}")
        window.say(" ".join(read.notes) or f"Took the encoding from {path.name}.")

    def ask_tokens(self) -> None:
        """Choose a file whose tokens stand beside the arrays of this document."""
        window = self._window
        path, _ = QFileDialog.getOpenFileName(
            window, "Tokens from file", str(window.settings.folder), _PATTERNS
        )
        if path:
            chosen = Path(path)
            work = partial(with_tokens, window.session.document, chosen)
            self._read(chosen, work, self._on_labelled, window.settings.answers(chosen), {})

    def ask_axes(self) -> None:
        """Ask for the order of the axes of the file that is open, and read it again."""
        window = self._window
        source = window.session.document.source
        if not isinstance(source, ArraySource):
            return
        path = Path(source.path)
        if not path.is_file():
            window.say_error("The file these arrays came from is gone; open it again.")
            return
        dialog = QuestionDialog(order_question(), path.name, window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            answers = {**window.settings.answers(path), "order": dialog.answer()}
            if dialog.remember():
                window.settings.remember_answers(path, answers)
            work = partial(open_document, path, window.session.document)
            self._read(path, work, self._on_reread, answers, {})
        dialog.deleteLater()

    def _on_reread(self, path: Path, document: Document) -> None:
        self._remember(path)
        self._window.history.push(document, "Change order of axes")

    def _read(
        self,
        path: Path,
        work: Callable[[dict[str, str]], Document],
        done: Callable[[Path, Document], None],
        remembered: dict[str, str],
        answers: dict[str, str],
    ) -> None:
        """Read a file away from the GUI thread, asking what it leaves open, as often as it does."""
        again = partial(self._read, path, work, done, remembered)
        self._jobs.start(
            Job(
                f"Opening {path.name}",
                partial(work, {**remembered, **answers}),
                partial(done, path),
                partial(self._on_open_failed, path, again, remembered, answers),
            )
        )

    def _on_opened(self, path: Path, document: Document) -> None:
        window = self._window
        self._took(path)
        self._remember(path)
        window.message.dismiss()
        window.history.reset(document)

    def _on_labelled(self, path: Path, document: Document) -> None:
        self._remember(path)
        self._window.history.push(document, f"Take tokens from {path.name}")

    def _remember(self, path: Path) -> None:
        self._window.settings.folder = path.parent
        self._window.settings.add_recent(path)

    def _took(self, path: Path) -> None:
        is_session = path.suffix.lower() == SUFFIX
        self._session_path = path if is_session else None
        self._opened_name = "" if is_session else path.name
        self._window.autosave.origin = str(path)

    def _on_open_failed(
        self,
        path: Path,
        again: Callable[[dict[str, str]], None],
        remembered: dict[str, str],
        answers: dict[str, str],
        error: Exception,
    ) -> None:
        window = self._window
        if not isinstance(error, Question):
            window.say_error(
                error if isinstance(error, ViewerError) else f"{path.name} cannot be opened: {error}"
            )
            return
        dialog = QuestionDialog(error, path.name, window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            answers = {**answers, error.option_name: dialog.answer()}
            if dialog.remember():
                window.settings.remember_answers(path, {**remembered, **answers})
            again(answers)
        dialog.deleteLater()

    @Slot()
    def fill_recent(self) -> None:
        """Fill the menu of recent files."""
        menu = self._window.menus["File/Open recent"]
        menu.clear()
        recent = self._window.settings.recent_files
        for path in recent:
            action = menu.addAction(Path(path).name.replace("&", "&&"))
            action.setToolTip(path)
            action.setData(path)
        if recent:
            menu.addSeparator()
            menu.addAction("Clear list").setData("")
        else:
            menu.addAction("No files yet").setEnabled(False)

    @Slot(QAction)
    def on_recent(self, action: QAction) -> None:
        """Open the file of a recent entry, or forget them all."""
        if action.data():
            self.open_path(Path(action.data()))
        else:
            self._window.settings.clear_recent()

    def offer_recovery(self, found: list[Recovery]) -> None:
        """Ask whether to go on with the newest work that a crash left behind."""
        window = self._window
        for recovery in found[:1]:
            name = Path(recovery.origin).name if recovery.origin else UNTITLED
            box = QMessageBox(window)
            box.setWindowTitle("Recover work")
            box.setText(f"The program ended before “{name}” was saved. Go on with that work?")
            recover = box.addButton("Recover", QMessageBox.ButtonRole.AcceptRole)
            discard = box.addButton("Discard", QMessageBox.ButtonRole.DestructiveRole)
            box.addButton("Later", QMessageBox.ButtonRole.RejectRole)
            box.exec()
            if box.clickedButton() is recover:
                self._recover(recovery)
            elif box.clickedButton() is discard:
                recovery.discard()
            box.deleteLater()

    def _recover(self, recovery: Recovery) -> None:
        window = self._window
        try:
            document = recovery.load()
        except ViewerError as error:
            window.say_error(error)
            return
        if recovery.origin:
            self._took(Path(recovery.origin))
        window.history.reset(document)
        window.history.set_unclean()
        window.autosave.adopt(recovery)

    # Save

    def save(self) -> None:
        """Save the session, asking where when it has no file yet."""
        path = self._session_path or self._ask_where()
        if path is not None:
            self._save_to(path)

    def save_as(self) -> None:
        """Save the session under a name that is asked for."""
        path = self._ask_where()
        if path is not None:
            self._save_to(path)

    def _ask_where(self) -> Path | None:
        window = self._window
        stem = Path(self._opened_name).stem if self._opened_name else "attention"
        start = self._session_path or Path(window.settings.folder) / f"{stem}{SUFFIX}"
        chosen, _ = QFileDialog.getSaveFileName(window, "Save session", str(start), f"Sessions (*{SUFFIX})")
        return self._completed(chosen, SUFFIX) if chosen else None

    def _completed(self, path: str, suffix: str) -> Path | None:
        """Return `path` with its suffix; None when the file this becomes is there and shall stay.

        The file dialog has asked about `path` itself, but not about the name that a suffix makes of it.
        """
        if path.lower().endswith(suffix):
            return Path(path)
        full = Path(path + suffix)
        if full.exists():
            kinds = QMessageBox.StandardButton
            question = f"“{full.name}” is there already. Replace it?"
            if (
                QMessageBox.question(self._window, "Replace file", question, kinds.Yes | kinds.No)
                != kinds.Yes
            ):
                return None
        return full

    def _save_to(self, path: Path) -> None:
        document = self._window.session.document
        self._jobs.start(
            Job(
                f"Saving {path.name}",
                partial(save_session, document, path),
                partial(self._on_saved, path, document),
                self._failed,
                can_cancel=False,
            )
        )

    def _on_saved(self, path: Path, document: Document, _result: object) -> None:
        window = self._window
        self._took(path)
        self._remember(path)
        if window.session.document.same_but_view(document):
            window.history.set_clean()
        window.say(f"Saved {path.name}.")
        window._show_title()

    def may_discard(self) -> bool:
        """Ask what to do about unsaved work; False when the user wants to keep working on it."""
        window = self._window
        if window.history.clean:
            return True
        box = QMessageBox(window)
        box.setWindowTitle("Unsaved work")
        box.setText(f"“{self.title}” has changes that are not saved.")
        box.setInformativeText("Save them in a session file?")
        kinds = QMessageBox.StandardButton
        box.setStandardButtons(kinds.Save | kinds.Discard | kinds.Cancel)
        box.setDefaultButton(kinds.Save)
        answer = box.exec()
        box.deleteLater()
        if answer == kinds.Discard:
            return True
        if answer == kinds.Save:
            return self._save_now()
        return False

    def _save_now(self) -> bool:
        """Save before the document goes away: at once, since nothing may happen in between."""
        window = self._window
        path = self._session_path or self._ask_where()
        if path is None:
            return False
        try:
            save_session(window.session.document, path)
        except ViewerError as error:
            window.say_error(error)
            return False
        self._on_saved(path, window.session.document, None)
        return True

    # Export

    def export_figure(self) -> None:
        """Open the dialog of figures."""
        window = self._window
        frame = window.frame
        if frame is None:
            return
        if self._figure_dialog is not None:
            self._figure_dialog.deleteLater()
        title = caption(frame.inputs, frame.encoding, parse_mask(frame.document.mask), frame.curves.head)
        self._figure_dialog = ExportFigureDialog(title, window.settings.figure, window.theme, window)
        self._figure_dialog.save_requested.connect(self._on_save_figure)
        self._figure_dialog.copy_requested.connect(self._copy_figure)
        self._figure_dialog.open()

    @Slot(object, str)
    def _on_save_figure(self, options: FigureOptions, path: str) -> None:
        dialog = self._figure_dialog
        if dialog is not None:
            self._window.settings.figure = dialog.state()
        frame = self._window.frame
        assert frame is not None
        stopper = self._jobs.stopper()
        work = partial(_save_figure, frame, self._looks(options), path, stopper)
        self._export(path, work, stopper, dialog)

    def _export(
        self, path: str, work: Callable[[], object], stopper: Cancel, dialog: ExportFigureDialog | None = None
    ) -> None:
        name = Path(path).name
        failed = self._failed if dialog is None else partial(self._failed_in, dialog)
        self._jobs.start(
            Job(
                f"Writing {name}",
                work,
                partial(self._on_exported, path, dialog),
                failed,
                can_cancel=False,
                cancel=stopper,
            )
        )

    def _on_exported(self, path: str, dialog: ExportFigureDialog | None, _result: object) -> None:
        self._window.settings.folder = Path(path).parent
        self._window.say(f"Wrote {path}.")
        if dialog is not None:
            dialog.accept()

    def copy_picture(self) -> None:
        """Put the panels that are on show on the clipboard, as a picture."""
        window = self._window
        if window.frame is None:
            return
        layout = window.session.document.view.layout
        panels = (layout,) if layout not in ("row", "grid") else FigureOptions().panels
        # As sharp as on this screen, and never smaller than a figure's usual width.
        pixels = window.equation.width() * window.devicePixelRatioF()
        self._copy_figure(FigureOptions(panels=panels, width=max(round(pixels), 1600), theme="light"))

    @Slot(object)
    def _copy_figure(self, options: FigureOptions) -> None:
        frame = self._window.frame
        if frame is None:
            return
        stopper = self._jobs.stopper()
        self._jobs.start(
            Job(
                "Copying the picture",
                partial(_figure_bytes, frame, self._looks(options), stopper),
                self._on_copied,
                self._failed,
                cancel=stopper,
            )
        )

    def _on_copied(self, png: bytes) -> None:
        image = QImage()
        image.loadFromData(png)
        QGuiApplication.clipboard().setImage(image)
        sentence = f"The picture is on the clipboard, {image.width()} × {image.height()} pixels."
        if self._figure_dialog is not None and self._figure_dialog.isVisible():
            self._figure_dialog.say_done(sentence)
        else:
            self._window.say(sentence)

    def export_encoding(self) -> None:
        """Open the dialog of code, which then follows the document."""
        window = self._window
        if window.frame is None:
            return
        if self._code_dialog is None:
            dialog = CodeDialog(window.settings.code_kind, str(window.settings.folder), window.theme, window)
            dialog.save_requested.connect(self._on_save_code)
            dialog.kind_chosen.connect(self._on_code_kind)
            self._code_dialog = dialog
            window.runner.delivered.connect(self._show_code)
        self._code_dialog.set_theme(window.theme)
        self._code_dialog.show()
        self._code_dialog.raise_()
        self._code_dialog.activateWindow()
        self._show_code()

    @Slot(object)
    def _show_code(self, _delivered: object = None) -> None:
        """Let the dialog follow, once the hand rests."""
        frame, dialog = self._window.frame, self._code_dialog
        if (
            frame is not None
            and dialog is not None
            and dialog.isVisible()
            and not self._window.history.is_previewing
        ):
            dialog.set_wanted(partial(_wanted_code, frame))

    @Slot(str)
    def _on_code_kind(self, kind: str) -> None:
        self._window.settings.code_kind = kind

    @Slot(object, str)
    def _on_save_code(self, kind: CodeKind, path: str) -> None:
        frame, dialog = self._window.frame, self._code_dialog
        target = self._completed(path, kind.suffix)
        if frame is None or dialog is None or target is None:
            return
        self._jobs.start(
            Job(
                f"Writing {target.name}",
                lambda: export_code(_wanted_code(frame), target, kind),
                partial(self._on_code_saved, target, dialog),
                lambda error: dialog.say_error(told(error)),
                can_cancel=False,
            )
        )

    def _on_code_saved(self, path: Path, dialog: CodeDialog, _result: object) -> None:
        self._window.settings.folder = path.parent
        dialog.say(f"Wrote {path}.")

    def copy_code(self) -> None:
        """Put the encoding on the clipboard, as a PyTorch function."""
        frame = self._window.frame
        if frame is None:
            return
        work = partial(_python_code, frame)
        self._jobs.start(Job("Copying the code", work, self._on_code_copied, self._failed))

    def _on_code_copied(self, code: str) -> None:
        QGuiApplication.clipboard().setText(code)
        self._window.say("The encoding is on the clipboard, as a PyTorch function.")

    def export_data(self) -> None:
        """Write every number of every head, or the pixels that are on show."""
        kinds = [each for each in EXPORTERS if not each.name.startswith("curve")]
        if self._window.frame is not None and self._window.frame.n_key > LARGEST:
            kinds.sort(key=lambda each: each.name != "pixels")  # what can be written is offered first
        self._export_numbers("Export data", kinds)

    def export_curve(self) -> None:
        """Write the curve alone."""
        self._export_numbers("Export curve", [each for each in EXPORTERS if each.name.startswith("curve")])

    def _export_numbers(self, title: str, kinds: list[Exporter]) -> None:
        window = self._window
        frame = window.frame
        if frame is None:
            return
        filters = {f"{each.title} (*{each.suffix})": each for each in kinds}
        start = str(Path(window.settings.folder) / f"attention{kinds[0].suffix}")
        path, chosen = QFileDialog.getSaveFileName(window, title, start, ";;".join(filters))
        if not path:
            return
        kind = exporter_for(path)
        if kind not in kinds:
            kind = filters.get(chosen, kinds[0])
        target = self._completed(path, kind.suffix)
        if target is None:
            return
        path = str(target)
        stopper = self._jobs.stopper()
        self._export(path, partial(_save_numbers, frame, path, kind, stopper), stopper)

    def _looks(self, options: FigureOptions) -> FigureOptions:
        """Return the options with the colours, limits and axis that are on the screen."""
        frame = self._window.frame
        assert frame is not None
        view = self._window.session.document.view
        return changed(
            options,
            terms_map=view.terms_map,
            weights_map=view.weights_map,
            levels={stage: tile.levels for stage, tile in frame.tiles.items()},
            reduce=view.reduce,
            curve_axis=view.curve_axis,
        )

    # What is said

    def _failed(self, error: Exception) -> None:
        self._window.say_error(told(error))

    def _failed_in(self, dialog: ExportFigureDialog, error: Exception) -> None:
        dialog.say(told(error))

    @Slot(str)
    def _on_job(self, title: str) -> None:
        self._window.status.show_work(title)
        if not title and not self._window.runner.is_busy:
            self._window.status.show_progress(None)


def _picture(frame: Frame, cancel: Cancel) -> Picture:
    document = frame.document
    return picture(
        frame.inputs,
        frame.encoding,
        scale=document.scale,
        mask=parse_mask(document.mask),
        edit=document.edit.at(frame.inputs.heads, frame.n_key),
        head=frame.curves.head,
        field=frame.field if isinstance(frame.field, PlainField) else None,
        curves=frame.curves,
        cancel=cancel,
    )


def _save_figure(frame: Frame, options: FigureOptions, path: str, cancel: Cancel) -> None:
    save_figure(_picture(frame, cancel), options, path)


def _figure_bytes(frame: Frame, options: FigureOptions, cancel: Cancel) -> bytes:
    return figure_bytes(_picture(frame, cancel), options)


def _wanted_code(frame: Frame) -> WantedCode:
    document = frame.document
    return WantedCode.of(
        frame.inputs,
        frame.encoding,
        edit=None if document.edit.is_zero else document.edit.at(frame.inputs.heads, frame.n_key),
        scale=document.scale,
        mask=document.mask if isinstance(document.mask, str) else "an array",
    )


def _python_code(frame: Frame) -> str:
    return python_code(_wanted_code(frame))


def _save_numbers(frame: Frame, path: str, kind: Exporter, cancel: Cancel) -> None:
    document = frame.document
    viewport = next(iter(frame.tiles.values())).viewport
    wanted = Wanted(
        frame.inputs,
        frame.encoding,
        scale=document.scale,
        mask=parse_mask(document.mask),
        edit=None if document.edit.is_zero else document.edit.at(frame.inputs.heads, frame.n_key),
        part=Part(frame.curves.head, viewport.rows, viewport.cols, viewport.shape, document.view.reduce),
        cancel=cancel,
    )
    export_numbers(wanted, path, kind)
