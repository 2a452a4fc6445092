"""The plane editor in a window: frames fill it, and what hands do to it becomes the family's table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from PySide6.QtCore import QObject, Slot

from relpos_viewer.app.frames import Frame
from relpos_viewer.core.encodings.planar import PlaneEncoding
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.plane_brush import Rectangle
from relpos_viewer.core.planes import PlaneSet
from relpos_viewer.document.document import EditCurve, EncodingSpec, replace
from relpos_viewer.views.plane_cells import plane_cells
from relpos_viewer.views.readout import plane_line

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

STILL_ADDED = "your edit Δ(δ) is still added on top; Reset takes it away"


class WindowPlane(QObject):
    """Joins the plane editor of one window to its document. GUI thread only."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._session, self._history = window.session, window.history
        self._editor = window.plane
        self._editor.planes_previewed.connect(self._preview)
        self._editor.planes_committed.connect(self._commit)
        self._editor.edit_cancelled.connect(window.history.cancel_preview)
        self._editor.number_committed.connect(self._set_number)
        self._editor.reset_requested.connect(self._reset)
        self._editor.offset_hovered.connect(self._on_offset)
        self._editor.hint_changed.connect(window.status.show_cell)
        self._editor.refused.connect(window.message.show_error)
        self._editor.tools.changed.connect(window._show_actions)

    def show(self, frame: Frame) -> None:
        """Show the editor that suits a frame's family, with the frame's planes unless a newer edit is on its way."""
        window, planes = self._window, frame.plane
        wanted = window.curve if planes is None else window.plane
        if window.bias.currentWidget() is not wanted:
            had_focus = window.bias.currentWidget().isAncestorOf(window.focusWidget() or window)
            window.bias.setCurrentWidget(wanted)
            if had_focus:
                wanted.setFocus()
            window._show_actions()
        if planes is None:
            return
        self._editor.view.set_terms_map(frame.document.view.terms_map)
        document = self._session.document
        if frame.document.encoding == document.encoding or self._family_changed(planes):
            note = "" if document.edit.is_zero else STILL_ADDED
            self._editor.set_planes(planes, frame.document.head, planes.seen(frame.curves.visible), note)

    def _family_changed(self, planes: PlaneSet) -> bool:
        return self._editor.planes.shape != planes.values.shape

    # Hands

    @Slot(object)
    def _preview(self, planes: np.ndarray) -> None:
        encoding = self._changed(lambda before, n: _with_planes(before, planes, n))
        if encoding is not None:
            self._window.edits.preview_spec(self._drawn(encoding))

    @Slot(object, str, object)
    def _commit(self, planes: np.ndarray, name: str, merge_key: str | None) -> None:
        encoding = self._changed(lambda before, n: _with_planes(before, planes, n))
        if encoding is not None:
            self._window.edits.commit_spec(self._drawn(encoding), name, merge_key)

    @Slot(int, float, object)
    def _set_number(self, index: int, value: float, heads: tuple[int, ...]) -> None:
        def changed(encoding: PlaneEncoding, n: int) -> PlaneEncoding:
            for head in heads:
                numbers = encoding.beside_plane(head, n).clone()  # [number]
                numbers[index] = value
                encoding = encoding.with_beside_plane(head, numbers, n)
            return encoding

        encoding = self._changed(changed)
        if encoding is not None:
            name = f"Set {encoding.beside[index]}"
            self._window.edits.commit_spec(self._drawn(encoding), name, f"number {index} {heads}")

    @Slot(object, object)
    def _reset(self, area: Rectangle | None, heads: tuple[int, ...]) -> None:
        """Take the values as they were loaded in an area of some heads, or all that these heads have."""
        document = self._session.document
        loaded = document.encoding.as_loaded()
        edit = document.edit
        if area is None:
            values = edit.values.copy()  # [head, 2m−1]
            values[[head for head in heads if head < len(values)]] = 0
            edit = EditCurve(values)

        def restored(encoding: PlaneEncoding, n: int) -> PlaneEncoding:
            # As many tokens as the table is for, so that both have one shape.
            whole = encoding.height(n) * encoding.width + encoding.first_patch
            own = loaded.build().with_heads(encoding.heads)
            planes, beside = encoding.planes(n).clone(), own.planes(whole)  # [head, 2h−1, 2w−1]
            cells = (slice(None), slice(None)) if area is None else area.cells
            for head in heads:
                planes[head][cells] = beside[head][cells].to(planes)
            result = _with_planes(encoding, planes.double().numpy(), n)
            if area is None and encoding.beside:
                for head in heads:
                    result = result.with_beside_plane(head, own.beside_plane(head, whole), n)
            return own if _alike(result, own, whole) else result

        encoding = self._changed(restored)
        if encoding is not None:
            name = "Reset selection" if area is not None else "Reset plane"
            whole_again = EncodingSpec.of(encoding) == EncodingSpec.of(loaded.build())
            spec = loaded if whole_again else self._drawn(encoding)
            edited = replace(document, encoding=spec, edit=edit)
            self._history.push(edited, name)

    @Slot(object)
    def _on_offset(self, offset: tuple[int, int] | None) -> None:
        """Light the matrix cells of an offset in the plane, and say what it is."""
        window, frame = self._window, self._window.frame
        if frame is None or frame.plane is None or offset is None:
            window.equation.set_offset(None)
            window.status.show_cell("")
            return
        window.equation.set_offset(*plane_cells(frame, offset))
        rows, columns = (side // 2 for side in frame.plane.shape)
        value = float(self._editor.planes[frame.document.head][offset[0] + rows, offset[1] + columns])
        window.status.show_cell(plane_line(*offset, value))

    # Within

    def _drawn(self, encoding: PlaneEncoding) -> EncodingSpec:
        """Return the spec of an encoding that a hand made, which knows the table that was loaded."""
        return self._session.document.encoding.drawn(encoding, "table")

    def _changed(self, change: Callable[[PlaneEncoding, int], PlaneEncoding]) -> PlaneEncoding | None:
        """Return the document's encoding after a change; None, with a message, when it cannot be."""
        frame = self._window.frame
        encoding = self._session.document.encoding.build()
        if frame is None or not isinstance(encoding, PlaneEncoding):
            return None
        try:
            return change(encoding.with_heads(frame.inputs.heads), frame.n_key)
        except ViewerError as error:
            self._window.say_error(error)
            return None


def _with_planes(encoding: PlaneEncoding, planes: np.ndarray, n: int) -> PlaneEncoding:
    """Return the encoding with planes [head, 2h−1, 2w−1] where they are new."""
    before = encoding.planes(n).double().numpy()  # [head, 2h−1, 2w−1]
    for head in range(len(planes)):
        if not np.array_equal(before[head], planes[head]):
            encoding = encoding.with_plane(head, torch.from_numpy(np.array(planes[head])), n)
    return encoding


def _alike(one: PlaneEncoding, other: PlaneEncoding, n: int) -> bool:
    """Whether both have the same bias for every pair of n tokens, as far as a table's own type can tell."""
    planes = torch.equal(one.planes(n).float(), other.planes(n).float())
    heads = range(one.heads or 1)
    return planes and all(
        torch.equal(one.beside_plane(h, n).float(), other.beside_plane(h, n).float()) for h in heads
    )
