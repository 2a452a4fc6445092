"""Undo: a stack of documents. A gesture is one step, whatever number of pictures it showed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, Signal

from relpos_viewer.app.steps import Step, Steps
from relpos_viewer.document.document import Document, View, replace
from relpos_viewer.document.session import Session

# Keystrokes and wheel ticks that follow within a second are one step.
MERGE_S = 1.0


class History(QObject):
    """Changes the document of a session, and takes it back. GUI thread only.

    Three ways in: `push` for a change made at once; `preview` … `commit_preview` for a gesture that
    shows each position of the hand and counts as one step; `set_view` for how things are shown,
    which is no step at all. Undo and redo restore everything but the view.

    The document is clean while it is the one that was last saved (`set_clean`). A view alone does
    not make it unclean: nobody wants to be asked about it.

    Signals:
        changed(): names or availability of undo and redo may be different.
        clean_changed(bool): whether the document is as saved.
    """

    changed = Signal()
    clean_changed = Signal(bool)

    def __init__(
        self,
        session: Session,
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
        steps: Steps | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._clock = clock
        self._steps = Steps() if steps is None else steps
        # The newest step while a further change may still join it, with its key and time.
        self._open: tuple[Step, str, float] | None = None
        self._before_preview: Document | None = None

    # --- changing ---------------------------------------------------------------------------------

    def push(self, new: Document, name: str, merge_key: str | None = None) -> None:
        """Make `new` current as the step `name`.

        It joins the step before when both have this `merge_key` and at most a second lies between
        them. A change of the view alone is no step. A gesture still under way is committed first.
        """
        self.commit_preview("Edit curve")
        self._push(self._session.document, new, name, merge_key)

    def preview(self, new: Document) -> None:
        """Show `new` without a step; the first of a gesture remembers where to return to."""
        begins = self._before_preview is None
        if begins:
            self._before_preview = self._session.document
        self._session.apply(new)
        if begins:
            self.changed.emit()

    def commit_preview(self, name: str) -> None:
        """Make the previews since the last commit one step; none when they came back to the start."""
        before, self._before_preview = self._before_preview, None
        if before is not None:
            self._push(before, self._session.document, name, None)
            self.changed.emit()

    def cancel_preview(self) -> None:
        """Return to the document before the gesture, without a trace."""
        before, self._before_preview = self._before_preview, None
        if before is not None:
            self._session.apply(replace(before, view=self._session.document.view))
            self.changed.emit()

    @property
    def is_previewing(self) -> bool:
        """True during a gesture."""
        return self._before_preview is not None

    def set_view(self, view: View) -> None:
        """Show the document in another way. Not undoable, and no reason to save."""
        self._session.apply(replace(self._session.document, view=view))

    def reset(self, document: Document) -> None:
        """Begin again with `document` (New, Open): nothing to undo, and clean."""
        self._before_preview = None
        self._open = None
        self._session.apply(document)
        with self._telling():
            self._steps.clear()

    # --- undo and redo ----------------------------------------------------------------------------

    def undo(self) -> None:
        """Take back the last step; during a gesture, the gesture alone."""
        if self.is_previewing:
            self.cancel_preview()
            return
        self._open = None
        with self._telling():
            step = self._steps.undo()
            if step is not None:
                self._session.apply(replace(step.before, view=self._session.document.view))

    def redo(self) -> None:
        """Do the step again that was taken back last; nothing during a gesture."""
        if self.is_previewing:
            return
        with self._telling():
            step = self._steps.redo()
            if step is not None:
                self._session.apply(replace(step.after, view=self._session.document.view))

    @property
    def can_undo(self) -> bool:
        """True when there is a step, or a gesture, to take back."""
        return self.is_previewing or bool(self._steps.undoable)

    @property
    def can_redo(self) -> bool:
        """True when there is a step to do again and no gesture in the way."""
        return not self.is_previewing and bool(self._steps.redoable)

    @property
    def undo_name(self) -> str:
        """What `undo` would take back, for the menu; empty when nothing."""
        return self._steps.undoable[-1].name if self._steps.undoable else ""

    @property
    def redo_name(self) -> str:
        """What `redo` would do again, for the menu; empty when nothing."""
        return self._steps.redoable[-1].name if self._steps.redoable else ""

    # --- saved or not -----------------------------------------------------------------------------

    @property
    def clean(self) -> bool:
        """True when the document is as it was saved, opened or begun."""
        return self._steps.clean

    def set_clean(self) -> None:
        """The document has just been saved."""
        # A change that joined the step before would hide that it came after saving.
        self._open = None
        with self._telling():
            self._steps.set_clean(True)

    def set_unclean(self) -> None:
        """The document is in no file, although nothing was changed (recovered after a crash)."""
        with self._telling():
            self._steps.set_clean(False)

    # --- within -----------------------------------------------------------------------------------

    def _push(self, before: Document, new: Document, name: str, merge_key: str | None) -> None:
        if new.same_but_view(before):
            self._session.apply(new)
            return
        if self._open is not None and merge_key is not None:
            step, key, when = self._open
            if key == merge_key and self._clock() - when <= MERGE_S:
                step.after = new
                self._session.apply(new)
                self._steps.trim()
                self._open = (step, key, self._clock())
                return
        step = Step(before, new, name)
        self._session.apply(new)
        with self._telling():
            self._steps.add(step)
        self._open = None if merge_key is None else (step, merge_key, self._clock())

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say afterwards that steps have changed, and whether the document has become or ceased to be clean."""
        clean = self.clean
        yield
        if self.clean != clean:
            self.clean_changed.emit(self.clean)
        self.changed.emit()
