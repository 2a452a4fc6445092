"""Starting the window: from the command line, and from Python."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch  # noqa: F401  before QApplication: the other order has crashed on Windows (pytorch#11326)
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from relpos_viewer.app.autosave import recoveries
from relpos_viewer.app.head_pictures import head_pictures
from relpos_viewer.app.settings import Settings
from relpos_viewer.core.attention import content_scale, edit_curve
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings import encoding as build_encoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.inputs import inputs_from_arrays
from relpos_viewer.core.masks import parse_mask
from relpos_viewer.document.document import ArraySource, Document, EditCurve, EncodingSpec, replace
from relpos_viewer.sources.build import inputs_for
from relpos_viewer.sources.contents import tokens_from
from relpos_viewer.views.main_window import PROGRAM, MainWindow

# How often Python looks whether Ctrl+C was pressed in the terminal: Qt's loop does not.
SIGNAL_MS = 200


def run(
    document: Document,
    path: str | os.PathLike[str] | None = None,
    *,
    asked: bool = False,
    tokens: str | os.PathLike[str] | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Show a window until it is closed; returns the exit status.

    Args:
        document: what it begins with.
        path: the file it was read from, None for none.
        asked: the file is still to be opened, because it leaves something open that the window has to ask.
        tokens: the file whose tokens then stand beside its arrays, None for none.
        notes: what a reader of the document should know besides what its sequence says, one sentence each.
    """
    application = prepare_application()
    spare_pauses()
    opened = "" if path is None or asked else os.fspath(path)
    window = MainWindow(document, Settings.of_user(), opened, notes=notes)
    window.show()
    if asked and path is not None:
        QTimer.singleShot(0, window, lambda: window.files.open_path(Path(path), tokens))
    found = recoveries()
    if found:
        QTimer.singleShot(0, window, lambda: window.files.offer_recovery(found))
    signal.signal(signal.SIGINT, lambda *_: window.close())
    beat = QTimer(window)
    beat.timeout.connect(_let_python_run)
    beat.start(SIGNAL_MS)
    status = application.exec()
    # A window that outlives the loop crashes the interpreter on its way out.
    window.close()
    window.deleteLater()
    application.processEvents()
    return status


def view(
    q: object,
    k: object,
    v: object = None,
    *,
    encoding: str | Encoding = "none",
    mask: object = "none",
    scale: float | None = None,
    edit: object = None,
    tokens: Sequence[object] | None = None,
    block: bool | None = None,
    **parameters: object,
) -> MainWindow:
    """Open a window on queries and keys, from Python or a notebook.

    Args:
        q: [head, query, d] or [query, d], torch or numpy; the queries are the last of the key positions.
        k: [key_head, key, d] or [key, d].
        v: [key_head, key, d_v], optional.
        encoding: a name of the registry, whose parameters follow as keywords, or an `Encoding`.
        mask: as in `relpos_viewer.attention`.
        scale: content scale; 1/√d when None.
        edit: additive curve [head or 1, 2·key−1].
        tokens: one label a key: texts, or numbers.
        block: wait until the window is closed. Left out, it waits unless an event loop runs already (`%gui qt`).
        **parameters: of the encoding.

    Returns:
        The window; keep it, or it closes.

    Raises:
        ViewerError: when shapes, names or values do not fit.
    """
    inputs = inputs_from_arrays(q, k, v)
    arrays = {
        name: getattr(inputs, name).float().cpu().numpy()
        for name in ("q", "k", "v")
        if getattr(inputs, name) is not None
    }
    document = Document(
        source=ArraySource("", "arrays from Python", arrays, _labels(tokens)),
        encoding=_spec(encoding, parameters),
        mask=_mask(mask),
        scale=None if scale is None else content_scale(inputs, scale),
    )
    if edit is not None:
        document = replace(document, edit=EditCurve(edit_curve(edit, inputs).float().cpu().numpy()))
    # What does not fit is said here, by one head, rather than in a window that shows nothing.
    inputs = inputs_for(document.source)
    head_pictures(
        inputs,
        document.encoding.build(),
        scale=scale,
        mask=parse_mask(document.mask),
        head=0,
        display=(1, 1),
    )
    application = prepare_application()
    window = MainWindow(document, Settings.of_user())
    window.show()
    if block is None:
        block = not _loop_runs()
    if block:
        application.exec()
    return window


def _labels(tokens: Sequence[object] | None) -> tuple[str, ...]:
    if tokens is None:
        return ()
    values = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    return tokens_from(
        [str(value) if isinstance(value, np.str_) else value for value in values], "tokens"
    ).texts


def _spec(encoding: str | Encoding, parameters: Mapping[str, object]) -> EncodingSpec:
    if isinstance(encoding, Encoding):
        encoding, parameters = encoding.name, {**encoding.values, **parameters}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    return EncodingSpec(build_encoding(encoding, **parameters).name, parameters)


def _mask(mask: object) -> str | np.ndarray:
    read = parse_mask(mask)  # type: ignore[arg-type]
    return read.spec if read.array is None else read.array.cpu().numpy()


def prepare_application() -> QApplication:
    """Return the application, made when there is none, with the name and style of this program."""
    if threading.current_thread() is not threading.main_thread():
        raise ViewerError("a window can be opened from the main thread only; call it there.")
    application = QApplication.instance()
    if application is None:
        _check_display()
        QGuiApplication.setDesktopFileName(PROGRAM)
        application = QApplication(sys.argv[:1])
        application.setApplicationName(PROGRAM)
        application.setStyle("Fusion")
    return application


def spare_pauses() -> None:
    """Let the garbage collector pass over what is loaded by now: it took 110 ms once in a while, amid a drag.

    For a program of its own; in somebody else's interpreter their objects would be passed over too.
    """
    gc.freeze()


def _check_display() -> None:
    """Raise ViewerError where there is no display: Qt would abort the whole process."""
    unix = sys.platform not in ("darwin", "win32")
    if unix and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))):
        raise ViewerError(
            "there is no display to open a window on; set DISPLAY, or draw without one by relpos-viewer render."
        )


def _loop_runs() -> bool:
    from PySide6.QtCore import QThread

    return QThread.currentThread().loopLevel() > 0


def _let_python_run() -> None:
    """Do nothing, so that the interpreter gets a turn and its signal handlers run."""
