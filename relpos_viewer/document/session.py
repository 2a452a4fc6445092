"""The one place where a document is current, and the one signal that says so."""

from __future__ import annotations

import threading
from typing import ClassVar

from psygnal import Signal

from relpos_viewer.document.document import Document


class Session:
    """Holds the current document. GUI thread only: `apply` from any other thread raises RuntimeError.

    `changed(new, old)` is emitted after each change. A listener that applies yet another document
    is answered after all listeners have seen the first one, so that everybody sees the same order.
    Bound methods are held weakly: a listener need not disconnect before it goes.
    """

    changed: ClassVar = Signal(object, object, reemission="queued")

    def __init__(self, document: Document) -> None:
        self._document = document
        self._thread = threading.get_ident()

    @property
    def document(self) -> Document:
        """The current document."""
        return self._document

    def apply(self, new: Document) -> None:
        """Make `new` the current document; does nothing when it equals the current one."""
        # psygnal calls its listeners in the thread that emits, and the listeners are widgets.
        if threading.get_ident() != self._thread:
            raise RuntimeError("Session.apply was called outside the thread that made the session.")
        old = self._document
        if new == old:
            return
        self._document = new
        self.changed.emit(new, old)
