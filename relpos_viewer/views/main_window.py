"""The main window: it puts the parts together, and passes what hands do to the document and frames to the parts.

Data flows one way. A hand makes a new document; the session announces it; the window asks the runner for a frame;
the frame goes to the views. Nothing here computes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, Qt, QTimer, Slot
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.actions import make_actions
from relpos_viewer.app.autosave import Autosave
from relpos_viewer.app.frames import Frame, FrameMaker, FrameRequest
from relpos_viewer.app.head_pictures import PLAIN
from relpos_viewer.app.palettes import palettes
from relpos_viewer.app.runner import Cancel, LatestRunner
from relpos_viewer.app.settings import Settings
from relpos_viewer.app.undo import History
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.field import STAGES, Stage
from relpos_viewer.core.numbers import digits
from relpos_viewer.core.planes import plane_formula
from relpos_viewer.document.document import Document, TextSource, replace
from relpos_viewer.document.session import Session
from relpos_viewer.views import names
from relpos_viewer.views.curve_editor import CurveEditor
from relpos_viewer.views.equation_row import EquationRow
from relpos_viewer.views.head_strip import HeadStrip
from relpos_viewer.views.icons import icon
from relpos_viewer.views.inspector import Inspector
from relpos_viewer.views.message_bar import MessageBar
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.plane_editor import PlaneEditor
from relpos_viewer.views.sentences import told
from relpos_viewer.views.sequence_panel import SequencePanel
from relpos_viewer.views.status_bar import StatusBar
from relpos_viewer.views.theme import DARK, LIGHT, Theme, application_palette, stylesheet
from relpos_viewer.views.top_bar import TopBar
from relpos_viewer.views.window_actions import connect_actions, draw_icons, fill_menu_bar
from relpos_viewer.views.window_commands import WindowCommands
from relpos_viewer.views.window_cursor import WindowCursor
from relpos_viewer.views.window_edits import WindowEdits
from relpos_viewer.views.window_files import WindowFiles
from relpos_viewer.views.window_fits import WindowFits
from relpos_viewer.views.window_heads import WindowHeads
from relpos_viewer.views.window_layout import WindowLayout
from relpos_viewer.views.window_plane import WindowPlane
from relpos_viewer.views.window_tools import WindowTools

# Narrower than this the inspector folds away unless it is asked for: the curve needs the room.
INSPECTOR_ROOM = 1160
# Strip, inspector and status bar follow a drag as often as numbers can be read: right after the paint of a picture,
# when nothing else is to be done, or when no other picture comes.
ROW_INTERVAL_MS, AFTER_PAINT_MS, NO_OTHER_MS = 60, 2, 100
# A picture that takes longer than this to come is said to be on its way.
LATE_MS = 150
# A hand that rested so long is done; then what its edits only corrected is summed anew.
REFRESH_AFTER_MS = 1000
PROGRAM = "relpos-viewer"


class MainWindow(QMainWindow):
    """One document in one window. Close it before the program ends: it owns threads."""

    def __init__(
        self,
        document: Document,
        settings: Settings,
        path: str = "",
        make_frame: Callable[[FrameRequest, Cancel], Frame] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Show `document`.

        Args:
            document: what to begin with.
            settings: what the program remembers.
            path: what the document was read from, "" for nothing.
            make_frame: answers requests in the worker thread; a `FrameMaker` when None.
            notes: what a reader of the document should know, one sentence each; said with the first picture.
        """
        super().__init__()
        self.setObjectName(names.MAIN_WINDOW)
        self.settings = settings
        self.session = Session(document)
        self.history = History(self.session, self)
        self._maker = FrameMaker()
        self.runner = LatestRunner(make_frame or self._maker, self)
        self.autosave = Autosave(self.session, self.history, parent=self)
        self.frame: Frame | None = None
        self.theme: Theme = LIGHT
        self._device = settings.device
        self._inspector_asked: bool | None = None
        self._said_notes: tuple[str, ...] = ()
        self._first_notes = tuple(notes)
        self._refining = False
        # Under a moving hand the pictures come first, and the numbers of one row as often as they can be read.
        self._row_timer = QTimer(self)
        self._row_timer.setSingleShot(True)
        self._row_timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._row_timer.timeout.connect(self._show_row)
        self._row_shown = -math.inf
        self._late_timer = QTimer(self)
        self._late_timer.setSingleShot(True)
        self._late_timer.setInterval(LATE_MS)
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(REFRESH_AFTER_MS)
        self._refresh_timer.timeout.connect(self._refresh)

        self.top = TopBar()
        self.message = MessageBar()
        self.sequence = SequencePanel()
        self.equation = EquationRow()
        self.curve = CurveEditor()
        self.plane = PlaneEditor(self.curve.tools)
        self.strip = HeadStrip()
        self.inspector = Inspector()
        self.status = StatusBar()
        self._lay_out()
        self._late_timer.timeout.connect(self.status.show_updating)

        self.actions_by_id = make_actions(self)
        self.cursor_place = WindowCursor(self)
        self.edits = WindowEdits(self)
        self.files = WindowFiles(self, path)
        self.tools = WindowTools(self)
        self.fits = WindowFits(self)
        self.commands = WindowCommands(self)
        self.heads = WindowHeads(self)
        self.plane_edits = WindowPlane(self)
        self.menus = fill_menu_bar(self.menuBar(), self.actions_by_id)
        connect_actions(self.actions_by_id, self.commands.plain(), self.commands.choices())
        for action in self.actions_by_id.values():
            self._place_action(action)
        self.top.fill_menus(self.menus, self.actions_by_id)
        self._connect()
        self.setAcceptDrops(True)

        self.apply_theme()
        self._restore_geometry()
        self.curve.tool = settings.curve_tool
        self._show_document(document)
        self.request_picture()
        self.curve.setFocus()  # so that the arrow keys move what this window is about

    # Building

    def _lay_out(self) -> None:
        lower = QWidget()
        row = QHBoxLayout(lower)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.strip)
        self.bias = QStackedWidget()
        self.bias.addWidget(self.curve)
        self.bias.addWidget(self.plane)
        row.addWidget(self.bias, 1)
        self.strip.setVisible(False)  # until it is known how many heads there are
        self.arrangement = WindowLayout(self.equation, lower, self.inspector)
        central = QWidget()
        central.setObjectName(names.CENTRAL)
        column = QVBoxLayout(central)
        column.setContentsMargins(10, 6, 10, 4)
        column.setSpacing(7)
        column.addWidget(self.top)
        column.addWidget(self.message)
        column.addWidget(self.sequence)
        column.addWidget(self.arrangement, 1)
        column.addWidget(self.status)
        self.setCentralWidget(central)

    def _place_action(self, action: QAction) -> None:
        """Give an action its keys: those of the curve work only while the curve has the focus."""
        narrow = action.shortcutContext() == Qt.ShortcutContext.WidgetWithChildrenShortcut
        for widget in (self.curve, self.plane.view) if narrow else (self,):
            widget.addAction(action)

    def _connect(self) -> None:
        self.session.changed.connect(self._on_document)
        self.history.changed.connect(self._show_actions)
        self.history.clean_changed.connect(self._show_title)
        self.runner.delivered.connect(self._on_frame)
        self.runner.failed.connect(self._on_failure)
        self.runner.progress.connect(self.status.show_progress)
        self.runner.busy.connect(self._on_busy)
        self.autosave.failed.connect(self.say_error)

        self.top.encoding_changed.connect(self.edits.set_encoding)
        self.top.head_chosen.connect(self.commands.show_head)
        self.top.mask_changed.connect(self.edits.set_mask)
        self.top.scale_changed.connect(self.edits.set_scale)
        self.top.refused.connect(self.message.show_error)

        self.sequence.text_changed.connect(self.edits.type_text)
        self.sequence.tokenizer_changed.connect(self.commands.set_tokenizer)
        self.sequence.sample_chosen.connect(self.edits.choose_sample)
        self.sequence.token_hovered.connect(self.cursor_place.on_key_hovered)
        self.sequence.token_clicked.connect(self.cursor_place.on_token_clicked)

        self.equation.cell_hovered.connect(self.cursor_place.on_cell_hovered)
        self.equation.cell_pinned.connect(self.cursor_place.on_cell_pinned)
        self.equation.viewport_changed.connect(self.request_picture)
        self.equation.layout_requested.connect(self.commands.set_layout)

        self.curve.edit_previewed.connect(self.edits.preview_curve)
        self.curve.edit_committed.connect(self.edits.commit_curve)
        self.curve.edit_cancelled.connect(self.history.cancel_preview)
        self.curve.encoding_previewed.connect(self.edits.preview_encoding)
        self.curve.encoding_committed.connect(self.edits.commit_encoding)
        self.curve.offset_hovered.connect(self.cursor_place.on_offset_hovered)
        self.curve.tool_changed.connect(self._on_tool)
        self.curve.hint_changed.connect(self.status.show_cell)
        self.curve.refused.connect(self.message.show_error)

        self.curve.set_range_menu(self.menus["Edit/Range"])
        copied = self.menus["Edit/Range/Copy from head"]
        copied.aboutToShow.connect(self.commands.fill_heads)
        copied.triggered.connect(self.commands.on_copy_from)
        recent, device = self.menus["File/Open recent"], self.menus["Device"]
        recent.aboutToShow.connect(self.files.fill_recent)
        recent.triggered.connect(self.files.on_recent)
        device.aboutToShow.connect(self.commands.fill_devices)
        device.triggered.connect(self.commands.on_device)
        self.inspector.key_hovered.connect(self.cursor_place.on_key_hovered)
        self.inspector.key_clicked.connect(self.cursor_place.on_key_clicked)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self.apply_theme)

    # From the document to the picture

    def _on_document(self, new: Document, old: Document) -> None:
        stands = self.frame is not None and self.frame.problem and new.source is old.source
        if self.message.is_error and not stands and not new.same_but_view(old):
            self.message.dismiss()  # what was wrong is being mended
        if self.history.is_previewing and replace(new, edit=old.edit) == old:
            # A hand on the curve. First the worker gets its work; what else shows an edit is the curve alone.
            self.request_picture()
            self._show_edit(new)
            return
        if self.history.is_previewing and replace(new, encoding=old.encoding) == old:
            # A hand on a handle of the family.
            self.request_picture()
            self.top.set_document(new, self._heads(new))
            self._show_encoding(new)
            return
        if new.source is not old.source:
            self.cursor_place.forget_pin()
        self._show_document(new)
        self.request_picture()

    def _show_document(self, document: Document) -> None:
        self.sequence.set_source(document.source)
        self.top.set_document(document, self._heads(document))
        self.equation.set_layout(document.view.layout)
        self.arrangement.arrange(document.view.layout)
        self.equation.set_labels_shown(document.view.labels)
        if self.curve.axis != document.view.curve_axis:
            self.curve.axis = document.view.curve_axis
        self._show_edit(document)
        self._show_encoding(document)
        self._show_inspector()
        self._show_actions()
        self._show_title()

    def _show_edit(self, document: Document) -> None:
        if self.frame is not None and self.frame.document.source is document.source:
            self.curve.set_edit(document.edit.at(self.frame.inputs.heads, self.frame.n_key))

    def _show_encoding(self, document: Document) -> None:
        """Give the curve the document's encoding, whose handles it offers; frames may be a picture or two behind."""
        frame = self.frame
        if frame is None or frame.document.source is not document.source:
            return
        try:
            encoding = document.encoding.build().with_heads(frame.inputs.heads)
        except ViewerError:  # which the frame says
            encoding = None
        head_dim = None if frame.inputs.q is None else frame.inputs.q.shape[-1]
        self.curve.set_encoding(encoding, frame.n_key, head_dim)

    def _heads(self, document: Document) -> int:
        same = self.frame is not None and self.frame.document.source is document.source
        return self.frame.inputs.heads if same else document.heads

    @Slot()
    def request_picture(self, _viewport: object = None) -> None:
        """Ask for the picture of the newest document."""
        self._refresh_timer.stop()
        self.status.show_drift(None)
        if self._refining:
            self.runner.cancel()
            self._refining = False
        self._ask(self._stages(), detail=False, quick=True)
        if not self._late_timer.isActive():
            self._late_timer.start()

    def _stages(self) -> tuple[Stage, ...]:
        layout = self.session.document.view.layout
        return (layout,) if layout in STAGES else STAGES

    def _ask(self, stages: tuple[Stage, ...], *, detail: bool, quick: bool) -> None:
        document, viewport = self.session.document, self.equation.viewport
        self.runner.submit(FrameRequest(document, viewport, stages, self._device, detail, quick))

    def _follow_up(self, frame: Frame) -> None:
        """Ask for what a picture did without: exact pixels after sampled ones, then the head's figures.

        Both take their time, and are given up when a hand wants something else.
        """
        if self.runner.is_busy or self.history.is_previewing:
            return
        self._refining = True
        if frame.exact:
            self._ask((), detail=True, quick=True)
        else:
            self._ask(self._stages(), detail=False, quick=False)

    @Slot()
    def _refresh(self) -> None:
        """Sum anew in the background. The picture stays: the next one is made from the new sums."""
        if not self.runner.is_busy and not self.history.is_previewing:
            self._refining = True
            document, viewport = self.session.document, self.equation.viewport
            self.runner.submit(FrameRequest(document, viewport, (), self._device, detail=False, refresh=True))

    @Slot(object)
    def _on_frame(self, frame: Frame) -> None:
        self._refining = False  # what comes now is what was asked for
        if frame.drift is not None:
            self.status.show_drift(frame.drift)
            return
        if not frame.tiles:
            self.status.show_figures(frame.figures)
            self.tools.show_figures(frame.figures)
            if frame.n_key > PLAIN and not frame.document.edit.is_zero:
                self._refresh_timer.start()
            return
        before, self.frame = self.frame, frame
        document = frame.document
        if self.runner.is_busy:  # with what was asked for since
            self._late_timer.start()
        else:
            self._late_timer.stop()
        if (
            before is None
            or document.head != before.document.head
            or not document.same_but_view(before.document)
        ):
            self.status.fade_figures()
        # Another source of the same text has the same inputs, and yet it is another document with its own edit.
        new_sequence = before is None or before.document.source is not document.source
        formulas = _formulas(frame)
        self.equation.set_formulas(formulas)
        position = frame.encoding.title if frame.inputs.bias is None else formulas["positional"]
        self.inspector.set_terms(formulas["content"], position, frame.curves.buckets)
        if new_sequence:
            self.sequence.set_tokens(frame.inputs.tokens)
            self.top.set_document(self.session.document, frame.inputs.heads)
            self.cursor_place.enter(frame)
            self.heads.enter()
        luts = palettes(document.view.terms_map, document.view.weights_map, self.theme.name)
        self.equation.set_frame(frame, luts)
        future_masked = not frame.curves.visible[frame.curves.n :].any()
        self.curve.set_frame_curves(frame.curves, future_masked, frame.curves.beyond_rule)
        self.plane_edits.show(frame)
        if before is None or _commanded(before) != _commanded(frame):
            self._show_actions()
        if new_sequence:
            # The editor answers for the newest edit, of which this frame may be a picture or two behind.
            self.curve.set_edit(self.session.document.edit.at(frame.inputs.heads, frame.n_key))
            self._show_encoding(self.session.document)
            if frame.problem:
                self.say_error(frame.problem)
        if self.history.is_previewing and not new_sequence:
            due = time.monotonic() - self._row_shown >= ROW_INTERVAL_MS / 1000
            self._row_timer.start(AFTER_PAINT_MS if due else NO_OTHER_MS)
        else:
            self._show_row()
            self.heads.show()
        self.tools.show_frame(frame)
        self._follow_up(frame)
        self._show_notes(frame.notes)

    @Slot()
    def _show_row(self) -> None:
        """Show in strip, inspector and status bar what the newest frame gives to the row that is looked at."""
        frame = self.frame
        self._row_timer.stop()
        self._row_shown = time.monotonic()
        view = frame.document.view
        luts = palettes(view.terms_map, view.weights_map, self.theme.name)
        if "weights" in frame.tiles:
            self.sequence.set_palette(luts["weights"], frame.tiles["weights"].levels)
        self.inspector.bars.set_weights_scale(view.weights_scale)
        self.cursor_place.show()
        self._show_state()

    @Slot(object)
    def _on_failure(self, error: Exception) -> None:
        sentence = told(error)
        if isinstance(self.session.document.source, TextSource) and self.frame is None:
            self.sequence.set_problem(sentence)
        self.say_error(sentence)

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if not busy:
            self._late_timer.stop()
            self.status.show_progress(None)

    def _show_notes(self, notes: tuple[str, ...]) -> None:
        if notes != self._said_notes or self._first_notes:
            self._said_notes = notes
            # The sentence that every typed text carries is in the help, not in the way.
            telling = [*self._first_notes, *(note for note in notes if note not in self._plain_notes())]
            self._first_notes = ()
            if telling:
                self.message.show_note(" ".join(telling))

    def _plain_notes(self) -> tuple[str, ...]:
        typed = isinstance(self.session.document.source, TextSource)
        return self.frame.inputs.notes if typed and self.frame is not None else ()

    # What is said

    @Slot()
    def _on_tool(self) -> None:
        view = self.session.document.view
        self.settings.curve_tool = self.curve.tools.wanted_tool
        if self.curve.axis != view.curve_axis:
            self.history.set_view(replace(view, curve_axis=self.curve.axis))
        self._show_actions()

    def say_error(self, error: object) -> None:
        """Show one sentence about what went wrong."""
        self.message.show_error(str(error))

    def say(self, sentence: str) -> None:
        """Show one sentence that needs no answer."""
        self.message.show_note(sentence)

    def _show_state(self) -> None:
        frame = self.frame
        if frame is not None:
            pooled = any(max(tile.cells_per_pixel) > 1 for tile in frame.tiles.values())
            self.status.show_state(
                frame.device,
                frame.n_query,
                frame.n_key,
                frame.seconds,
                f"{'exact' if frame.exact else 'preview'}{', pooled' if pooled and frame.exact else ''}",
            )

    @Slot()
    def _show_title(self, _clean: bool = True) -> None:
        self.setWindowModified(not self.history.clean)
        self.setWindowTitle(f"{self.files.title}[*] — {PROGRAM}")

    @property
    def bias_editor(self) -> CurveEditor | PlaneEditor:
        """The editor of the family on show: its curve, or its plane."""
        return self.bias.currentWidget()

    @Slot()
    def _show_actions(self) -> None:
        self.commands.show_states(self.actions_by_id)

    # Theme, device, shape of the window

    @property
    def device(self) -> str:
        """The device that is asked for; `frame.device` is the one that answered."""
        return self._device

    def set_device(self, device: str) -> None:
        """Compute on `device` from now on."""
        self._device = self.settings.device = device
        self._said_notes = ()
        self.request_picture()

    @Slot()
    def apply_theme(self, _scheme: object = None) -> None:
        """Take the colours of the chosen theme, or of the system's."""
        chosen = self.settings.theme
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        self.theme = {"light": LIGHT, "dark": DARK}.get(chosen, DARK if dark else LIGHT)
        application = QApplication.instance()
        application.setPalette(application_palette(self.theme))
        application.setStyleSheet(stylesheet(self.theme))
        for part in (
            self.top,
            self.message,
            self.sequence,
            self.equation,
            self.curve,
            self.plane,
            self.strip,
            self.inspector,
        ):
            part.set_theme(self.theme)
        self.tools.set_theme(self.theme)
        draw_icons(self.actions_by_id, self.theme)
        self.setWindowIcon(icon("app", self.theme))
        if self.frame is not None:
            self._on_frame(self.frame)

    def toggle_inspector(self) -> None:
        """Show or fold the inspector, whatever the width of the window suggests."""
        self._inspector_asked = not self.inspector.isVisible()
        view = self.session.document.view
        self.history.set_view(replace(view, inspector=self._inspector_asked))
        self._show_inspector()
        self._show_actions()

    def _show_inspector(self) -> None:
        wanted = self.session.document.view.inspector
        roomy = self.width() >= INSPECTOR_ROOM or self._inspector_asked is True
        self.inspector.setVisible(wanted and roomy)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold the inspector where there is no room for it."""
        super().resizeEvent(event)
        self._show_inspector()
        self._show_actions()

    def showEvent(self, event: QShowEvent) -> None:
        """Give the parts the room they had last time, now that there is room to give."""
        super().showEvent(event)
        if not event.spontaneous():
            self.centralWidget().layout().activate()
            self.arrangement.restore(bytes(self.settings.state))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape gives up what is being opened, and closes a message."""
        if event.key() == Qt.Key.Key_Escape:
            self.files.cancel()
            self.message.dismiss()
            return
        super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Ask for sharper pictures on a screen with more pixels."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self.request_picture()

    def childEvent(self, event: QChildEvent) -> None:
        """Let every dialog that belongs to the window come back where it was."""
        super().childEvent(event)
        if event.polished():
            child = event.child()
            if isinstance(child, PlacedDialog):
                child.remember_in(self.settings)

    def _restore_geometry(self) -> None:
        geometry = self.settings.geometry
        if geometry.isEmpty() or not self.restoreGeometry(geometry):
            available = self.screen().availableGeometry()
            # How high the title bar is, the desktop says only once the window is on show.
            title = self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
            self.resize(min(1440, available.width()), min(900, available.height() - title))

    # Files dropped on the window, and its end

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept a file from the desktop."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the first file that was dropped."""
        local = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if local:
            event.acceptProposedAction()
            self.files.open_path(Path(local[0]))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved work, then end every thread."""
        if not self.files.may_discard():
            event.ignore()
            return
        self.settings.geometry = self.saveGeometry()
        self.settings.state = QByteArray(self.arrangement.save())
        self.settings.sync()
        self.runner.close()
        self._maker.close()
        self.fits.close()
        self.tools.close()
        self.heads.close()
        self.files.close()
        self.autosave.close()
        self.session.changed.disconnect()
        for timer in (self._row_timer, self._late_timer, self._refresh_timer):
            timer.stop()
        event.accept()


def _commanded(frame: Frame) -> tuple[int, bool]:
    """Return what of a picture decides which commands can be given: its heads, and whether it has buckets."""
    return frame.inputs.heads, frame.curves.buckets is not None


def _formulas(frame: Frame) -> dict[Stage, str]:
    scale = frame.document.scale
    if frame.inputs.q is None:
        content = "log of given weights" if frame.inputs.row_sums is not None else "given scores"
    elif scale is None:
        content = "q·k / √d"
    else:
        content = "q·k" if scale == 1 else f"{digits(scale, 6)} · q·k"
    family = frame.encoding
    if frame.inputs.bias is None:
        not_a_curve = "b(i, j)" if family.of_places else f"{family.name}, from q and k"
        position = plane_formula(family) or ("b(j − i)" if frame.curves.exact else not_a_curve)
    elif family.name == "none":
        position = "given bias"
    else:
        position = f"given bias + {'b(j − i)' if family.toeplitz else family.name}"
    return {
        "content": content,
        "positional": position,
        "scores": "content + position",
        "weights": "softmax over keys",
    }
