"""MatrixView: one term of the equation as a card: title, matrix, tokens along its sides, colour bar."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from relpos_viewer.app.palettes import marks
from relpos_viewer.core.field import Stage
from relpos_viewer.core.levels import Levels
from relpos_viewer.views import names
from relpos_viewer.views.axis_labels import GAP
from relpos_viewer.views.colour_bar import ColourBar
from relpos_viewer.views.elided_label import ElidedLabel
from relpos_viewer.views.matrix_axis import LABEL_PIXELS, TokenAxis
from relpos_viewer.views.matrix_canvas import MatrixCanvas
from relpos_viewer.views.matrix_layout import arrange
from relpos_viewer.views.matrix_overlay import Cell
from relpos_viewer.views.matrix_range import MatrixRange, Span
from relpos_viewer.views.term_box import TermBox
from relpos_viewer.views.theme import LIGHT, Theme

TITLES: dict[Stage, tuple[str, str]] = {
    "content": ("content", "q·k / √d"),
    "positional": ("position", "b(j − i)"),
    "scores": ("score", "content + position"),
    "weights": ("weights", "softmax over keys"),
}
"""Title and formula of every stage."""

_AXIS_NAMES = ("query i ↑", "key j →")

_GAP = 10  # between the parts of the title's line
_BOX_HEIGHT = 22

_ZOOM = 0.7  # extent left by one press of +


class TileViewport(Protocol):
    """The cells a tile covers."""

    @property
    def rows(self) -> Span: ...
    @property
    def cols(self) -> Span: ...


class TileLike(Protocol):
    """What is asked of an `app.frames.Tile`."""

    @property
    def codes(self) -> np.ndarray: ...
    @property
    def viewport(self) -> TileViewport: ...
    @property
    def levels(self) -> Levels: ...
    @property
    def reduce(self) -> str: ...
    @property
    def cells_per_pixel(self) -> tuple[float, float]: ...


class MatrixView(QFrame):
    """Shows tiles; computes nothing. Several views on one `MatrixRange` move together.

    Signals:
        cell_hovered(query, key): the pointer, or an arrow key, entered a cell; (−1, −1) when it left the
        matrix. cell_clicked(query, key): a cell was clicked, or chosen by Enter or Space.
        double_clicked(): the matrix was double-clicked, after its first click was reported.
        stage_requested(): the title was double-clicked: show this matrix alone, or all again. resized():
        the matrix has another number of pixels.
    """

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)
    double_clicked = Signal()
    stage_requested = Signal()
    resized = Signal()

    def __init__(self, stage: Stage, range_: MatrixRange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stage = stage
        self._range = range_
        self._theme = LIGHT
        self._cell: tuple[int, int] | None = None
        self._shown: tuple[TileLike, np.ndarray] | None = None
        title, self._formula_text = TITLES[stage]
        self.setProperty("card", True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setObjectName(names.MATRIX_PREFIX + stage)
        self.setAccessibleName(f"{title} matrix")
        self.setAccessibleDescription(
            "Arrow keys move over the cells, Enter pins one, + and − zoom, Home shows all."
        )

        self._title = QLabel(title, self)
        self._title.setProperty("title", True)
        self._title.setToolTip("Double-click to show this matrix alone, or all four again")
        self._title.setObjectName(names.MATRIX_TITLE_PREFIX + stage)
        self._title.installEventFilter(self)
        self._formula = ElidedLabel(self._formula_text, self)
        self._formula.setProperty("muted", True)
        self._formula.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.terms = TermBox(self)
        self._remarks: tuple[str, ...] = ()
        self._remark = QLabel(self)
        self._remark.setProperty("muted", True)
        self._remark.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.canvas = MatrixCanvas(range_, self)
        self.canvas.setObjectName(names.MATRIX_CANVAS_PREFIX + stage)
        self.canvas.setAccessibleName(f"{title} picture")
        self.query_axis = TokenAxis("query", range_, self)
        self.query_axis.setAccessibleName(f"{title} queries")
        self.key_axis = TokenAxis("key", range_, self)
        self.key_axis.setAccessibleName(f"{title} keys")
        self.bar = ColourBar(self)
        self.bar.setAccessibleName(f"{title} colours")

        self.canvas.cell_entered.connect(self._enter)
        self.canvas.left.connect(self._leave)
        self.canvas.clicked.connect(self.cell_clicked)
        self.canvas.double_clicked.connect(self.double_clicked)
        self.canvas.pressed.connect(self._take_focus)
        self.set_theme(LIGHT)

    def set_tile(self, tile: TileLike, lut: np.ndarray) -> None:
        """Show a tile with the colours lut uint8 [256, 4]; while a newer one is awaited it keeps its place."""
        if self._shown is not None and self._shown[0] is tile and self._shown[1] is lut:
            return  # what an edit cannot change comes again with every frame of a drag
        self._shown = (tile, lut)
        self.canvas.set_tile(tile.codes, lut, tile.viewport.rows, tile.viewport.cols)
        self.bar.set_scale(tile.levels, lut)
        self.bar.set_present(tile.codes)
        self._say_how()

    def set_formula(self, formula: str) -> None:
        """Say what this term is, at the right of the title."""
        self._formula_text = formula
        self._say_how()

    def set_remark(self, texts: tuple[str, ...], tip: str) -> None:
        """Say something about this term at the far right, where there is room.

        Args:
            texts: the same in ever fewer words; the first one that fits is shown.
            tip: what it means.
        """
        self._remark.setToolTip(tip)
        if texts != self._remarks:
            self._remarks = texts
            self._arrange()

    def set_terms(self, terms: tuple[str, ...], shown: str, most: int | None) -> None:
        """Offer to show one of this stage's terms alone; see `TermBox`."""
        before = self.terms.isHidden()
        self.terms.set_terms(terms, shown, most)
        if self.terms.isHidden() != before:
            self._arrange()

    def set_labels(self, queries: tuple[str, ...], keys: tuple[str, ...]) -> None:
        """Take a label for every row and column."""
        self.query_axis.set_labels(queries)
        self.key_axis.set_labels(keys)
        self._arrange()

    def set_cell(self, cell: tuple[int, int] | None) -> None:
        """Put the crosshair on (query, key)."""
        self._cell = cell
        self.canvas.set_cell(cell)
        self.query_axis.set_cell(cell[0] if cell else None)
        self.key_axis.set_cell(cell[1] if cell else None)

    def set_pinned(self, pinned: Cell | None) -> None:
        """Keep (query, key) outlined, or the whole row of a query with key None."""
        self.canvas.set_pinned(pinned)
        self.query_axis.set_pinned(pinned[0] if pinned else None)
        self.key_axis.set_pinned(pinned[1] if pinned else None)

    def set_offset(self, offset: int | None, queries: np.ndarray | None = None) -> None:
        """Light the diagonal key − query = offset, or only its cells at some queries, bool [query]."""
        self.canvas.set_offset(offset, queries)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        look = marks(theme.name)
        self.canvas.set_look(theme, look)
        self.query_axis.set_theme(theme)
        self.key_axis.set_theme(theme)
        self.bar.set_look(theme, look)
        self.update()

    def sizeHint(self) -> QSize:
        """A comfortable card."""
        return QSize(310, 380)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the parts out anew."""
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the card, and a hairline around the matrix."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.drawRect(self.canvas.geometry().adjusted(-1, -1, 0, 0))
        self._paint_axis_names(painter)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move over the cells, pin, zoom, or show all."""
        steps = {
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
        }
        key = Qt.Key(event.key())
        if key in steps:
            stride = 10 if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
            self._step(steps[key][0] * stride, steps[key][1] * stride)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom(_ZOOM)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_Underscore):
            self._zoom(1 / _ZOOM)
        elif key == Qt.Key.Key_Home:
            self._range.reset()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._cell is not None:
            self.cell_clicked.emit(*self._cell)
        elif key == Qt.Key.Key_Escape and self._cell is not None:
            self._leave()
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for this stage alone when its title is double-clicked."""
        if watched is self._title and event.type() == QEvent.Type.MouseButtonDblClick:
            self.stage_requested.emit()
            return True
        return super().eventFilter(watched, event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The whole line of the title counts as the title."""
        if event.position().y() < self.canvas.y():
            self.stage_requested.emit()

    def _paint_axis_names(self, painter: QPainter) -> None:
        """Say in the corner between the axes which is i and which is j, where there is room."""
        corner = QRect(
            self.query_axis.x(), self.key_axis.y(), self.query_axis.width() - GAP, self.key_axis.height()
        )
        font = QFont(self.font())
        font.setPixelSize(LABEL_PIXELS)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        if (
            metrics.horizontalAdvance(_AXIS_NAMES[0]) > corner.width()
            or 2 * metrics.height() + GAP > corner.height()
        ):
            return
        painter.setPen(QColor(self._theme.faint))
        for line, name in enumerate(_AXIS_NAMES):
            box = corner.adjusted(0, GAP + line * metrics.height(), 0, 0)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, name)

    def _say_how(self) -> None:
        """Say how cells became pixels, or else what the term is."""
        pooled = "" if self._shown is None else _pooling_words(self._shown[0])
        if (pooled or self._formula_text) != self._formula.text():
            self._formula.setText(pooled or self._formula_text)
            self._arrange()

    def _enter(self, i: int, j: int) -> None:
        self._cell = (i, j)
        self.cell_hovered.emit(i, j)

    def _leave(self) -> None:
        self._cell = None
        self.cell_hovered.emit(-1, -1)

    def _take_focus(self) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def _step(self, rows: int, cols: int) -> None:
        n_query, n_key = self._range.counts
        i, j = self._cell or self._middle()
        if self._cell is not None:
            i, j = min(max(i + rows, 0), n_query - 1), min(max(j + cols, 0), n_key - 1)
        self._range.reveal(i, j)
        self._enter(i, j)

    def _middle(self) -> tuple[int, int]:
        rows, cols = self._range.rows, self._range.cols
        return int(sum(rows) / 2), int(sum(cols) / 2)

    def _zoom(self, factor: float) -> None:
        i, j = self._cell or self._middle()
        self._range.zoom(factor, factor, (i + 0.5, j + 0.5))

    def _arrange(self) -> None:
        """Give every part its place; the matrix is the largest square that fits."""
        before = self.canvas.size()
        places = arrange(
            (self.width(), self.height()),
            title=self._title.sizeHint().height(),
            query_axis=self.query_axis.wanted,
            key_axis=self.key_axis.wanted,
        )
        self.bar.set_orientation(places.bar_orientation)
        title_width = min(self._title.sizeHint().width(), places.title.width())
        self._title.setGeometry(QRect(places.title.topLeft(), QSize(title_width, places.title.height())))
        self._arrange_line(places.title.adjusted(title_width + _GAP, 0, 0, 0))
        self.canvas.setGeometry(places.matrix)
        self.query_axis.setGeometry(places.query_axis)
        self.key_axis.setGeometry(places.key_axis)
        self.bar.setGeometry(places.bar)
        self.update()
        if self.canvas.size() != before:
            self.resized.emit()

    def _arrange_line(self, line: QRect) -> None:
        """Place what stands beside the title: the choice of terms, the formula, and a remark where there is room."""
        chooses = not self.terms.isHidden()
        if chooses:
            wide = min(self.terms.across, line.width())
            self.terms.setGeometry(line.x(), line.center().y() - _BOX_HEIGHT // 2, wide, _BOX_HEIGHT)
            line = line.adjusted(wide + _GAP, 0, 0, 0)
        words = self._formula.fontMetrics().horizontalAdvance
        formula = words(self._formula.text()) + 2
        # The choice says what the formula would, which then makes room; else the formula comes first.
        room = line.width() - (0 if chooses else formula + _GAP)
        remark = next((text for text in self._remarks if words(text) + 2 <= room), "")
        self._remark.setText(remark)
        self._remark.setVisible(bool(remark))
        if remark:
            wide = words(remark) + 2
            self._remark.setGeometry(line.adjusted(line.width() - wide, 0, 0, 0))
            line = line.adjusted(0, 0, -wide - _GAP, 0)
        self._formula.setVisible(not chooses or formula <= line.width())
        self._formula.setGeometry(line)


def _pooling_words(tile: TileLike) -> str:
    """How several cells became one pixel, or nothing when every cell has its own."""
    rows, cols = tile.cells_per_pixel
    if max(rows, cols) <= 1:
        return ""
    of = {"mean": "mean of", "max": "max of", "sample": "one of"}[tile.reduce]
    return f"{of} {_count(rows)} × {_count(cols)} cells"


def _count(cells: float) -> str:
    return f"{cells:.0f}" if cells == int(cells) else f"~{cells:.1f}"
