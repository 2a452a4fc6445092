"""Starting the window: from the command line, and from Python."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch  # noqa: F401  before QApplication: the other order has crashed on Windows (pytorch#11326)
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from relpos_viewer.app.autosave import recoveries
from relpos_viewer.app.settings import Settings
from relpos_viewer.core.inputs import as_tensor, inputs_from_arrays
from relpos_viewer.document.document import ArraySource, Document, EditCurve, EncodingSpec, replace
from relpos_viewer.views.main_window import PROGRAM, MainWindow

# How often Python looks whether Ctrl+C was pressed in the terminal: Qt's loop does not.
SIGNAL_MS = 200


def run(
    document: Document,
    path: str | os.PathLike[str] | None = None,
    *,
    asked: bool = False,
    tokens: str | os.PathLike[str] | None = None,
) -> int:
    """Show a window until it is closed; returns the exit status.

    Args:
        document: what it begins with.
        path: the file it was read from, None for none.
        asked: the file is still to be opened, because it leaves something open that the window has to ask.
        tokens: the file whose tokens then stand beside its arrays, None for none.
    """
    application = prepare_application()
    opened = "" if path is None or asked else os.fspath(path)
    window = MainWindow(document, Settings.of_user(), opened)
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
    encoding: str = "none",
    mask: object = "none",
    scale: float | None = None,
    edit: object = None,
    tokens: list[str] | None = None,
    block: bool | None = None,
    **parameters: object,
) -> MainWindow:
    """Open a window on queries and keys, from Python or a notebook.

    Args:
        q: [head, query, d] or [query, d], torch or numpy; the queries are the last of the key positions.
        k: [key_head, key, d] or [key, d].
        v: [key_head, key, d_v], optional.
        encoding: a name of the registry; its parameters follow as keywords.
        mask: as in `relpos_viewer.attention`.
        scale: content scale; 1/√d when None.
        edit: additive curve [head or 1, 2·key−1].
        tokens: one label a key.
        block: wait until the window is closed. Left out, it waits unless an event loop runs already (`%gui qt`).
        **parameters: of the encoding.

    Returns:
        The window; keep it, or it closes.

    Raises:
        ViewerError: when shapes, names or values do not fit.
    """
    application = prepare_application()
    inputs = inputs_from_arrays(q, k, v)
    arrays = {
        name: getattr(inputs, name).float().cpu().numpy()
        for name in ("q", "k", "v")
        if getattr(inputs, name) is not None
    }
    document = Document(
        source=ArraySource("", "arrays from Python", arrays, tuple(tokens or ())),
        encoding=EncodingSpec(encoding, parameters),  # type: ignore[arg-type]
        mask=mask if isinstance(mask, str) else as_bool(mask),
        scale=scale,
    )
    document.encoding.build()
    if edit is not None:
        document = replace(
            document,
            edit=EditCurve(as_tensor(edit, "edit").float().reshape(-1, 2 * inputs.n_key - 1).numpy()),
        )
    window = MainWindow(document, Settings.of_user())
    window.show()
    if block is None:
        block = not _loop_runs()
    if block:
        application.exec()
    return window


def as_bool(mask: object):
    """Return a mask given as a torch or numpy array as numpy."""
    return mask.cpu().numpy() if hasattr(mask, "cpu") else mask


def prepare_application() -> QApplication:
    """Return the application, made when there is none, with the name and style of this program."""
    application = QApplication.instance()
    if application is None:
        QGuiApplication.setDesktopFileName(PROGRAM)
        application = QApplication(sys.argv[:1])
        application.setApplicationName(PROGRAM)
        application.setStyle("Fusion")
    return application


def _loop_runs() -> bool:
    from PySide6.QtCore import QThread

    return QThread.currentThread().loopLevel() > 0


def _let_python_run() -> None:
    """Do nothing, so that the interpreter gets a turn and its signal handlers run."""
