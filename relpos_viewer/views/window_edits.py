"""What hands do to the document: each becomes a new document and, but for previews, one step of undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.document.document import EncodingSpec, TextSource, replace

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow


class WindowEdits(QObject):
    """The edits of one window. GUI thread only."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._session, self._history = window.session, window.history

    @Slot(object)
    def preview_curve(self, values: np.ndarray) -> None:
        """Show the edit [head, 2n−1] under a moving hand."""
        document = self._session.document
        self._history.preview(replace(document, edit=document.edit.updated(values)))

    @Slot(object, str, object)
    def commit_curve(self, values: np.ndarray, name: str, merge_key: str | None) -> None:
        """Make the edit [head, 2n−1] a step."""
        document = self._session.document
        edited = replace(document, edit=document.edit.updated(values))
        if self._history.is_previewing:
            self._history.preview(edited)
            self._history.commit_preview(name)
            self._window.request_picture()  # its figures follow, now that the hand rests
        else:
            self._history.push(edited, name, merge_key)

    @Slot(object)
    def preview_encoding(self, encoding: Encoding) -> None:
        """Show the encoding whose handle is under a moving hand; the edit stays."""
        self.preview_spec(EncodingSpec.of(encoding))

    def preview_spec(self, spec: EncodingSpec) -> None:
        """Show an encoding under a moving hand."""
        self._history.preview(replace(self._session.document, encoding=spec))

    @Slot(object, str, object)
    def commit_encoding(self, encoding: Encoding, name: str, merge_key: str | None) -> None:
        """Make the encoding a step."""
        self.commit_spec(EncodingSpec.of(encoding), name, merge_key)

    def commit_spec(self, spec: EncodingSpec, name: str, merge_key: str | None) -> None:
        """Make an encoding a step: that of the preview, where a hand was moving."""
        edited = replace(self._session.document, encoding=spec)
        if self._history.is_previewing:
            self._history.preview(edited)
            self._history.commit_preview(name)
            self._window.request_picture()  # its figures follow, now that the hand rests
        else:
            self._history.push(edited, name, merge_key)

    @Slot(object)
    def set_encoding(self, spec: EncodingSpec) -> None:
        """Choose an encoding or its parameters."""
        document = self._session.document
        edited = replace(document, encoding=spec)
        if spec.name == document.encoding.name:
            self._history.push(edited, "Change encoding parameters", f"encoding {spec.name}")
        else:
            self._history.push(edited, f"Choose {spec.build().title}")

    @Slot(str)
    def set_mask(self, mask: str) -> None:
        """Choose a mask by its spec."""
        edited = replace(self._session.document, mask=mask)
        self._history.push(edited, "Change mask", f"mask {mask.partition(':')[0]}")

    @Slot(object)
    def set_scale(self, scale: float | None) -> None:
        """Choose the content scale; None is 1/√d."""
        self._history.push(replace(self._session.document, scale=scale), "Change scale")

    @Slot(str)
    def type_text(self, text: str) -> None:
        """Take the text of the editor; what is typed in one go is one step."""
        document = self._session.document
        if isinstance(document.source, TextSource) and text != document.source.text:
            source = replace(document.source, text=text)
            self._history.push(replace(document, source=source), "Type text", "text")

    @Slot(str, str)
    def choose_sample(self, text: str, tokenizer: str) -> None:
        """Take a ready text in place of the sequence."""
        document = self._session.document
        before = document.source if isinstance(document.source, TextSource) else TextSource("")
        source = replace(before, text=text, tokenizer=tokenizer)
        # A mask array fits one length only.
        mask = document.mask if isinstance(document.mask, str) else "causal"
        self._window.files.forget_sequence()
        self._history.push(replace(document, source=source, mask=mask), "Choose sample")
