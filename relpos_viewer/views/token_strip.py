"""TokenStrip: the sequence as chips, coloured by what the selected query gives to each key."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QToolTip, QWidget

from relpos_viewer.core.levels import Levels, choose_levels
from relpos_viewer.core.numbers import short
from relpos_viewer.core.quantise import MASKED, NO_KEY, quantise
from relpos_viewer.views import names
from relpos_viewer.views.contrast import muted_ink, readable_ink
from relpos_viewer.views.spoken import describe
from relpos_viewer.views.theme import LIGHT, Theme

PAD, GAP, LINE_GAP, MARGIN = 6, 3, 4, 3  # pixels
MAX_LINES = 2
WIDEST = 180  # a longer token is cut with an ellipsis; its tooltip has the whole
SCROLL_WIDTH = 10  # of the style sheet's scroll bar


class TokenStrip(QAbstractScrollArea):
    """Chips of the tokens, wrapped into at most `MAX_LINES` visible lines; more is scrolled.

    Token indices are positions in the sequence, the same as key indices. Only chips that can be seen are
    painted, so a few thousand tokens cost no more than a few dozen.
    """

    token_hovered = Signal(int)  # −1: the pointer left
    token_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.TOKEN_STRIP)
        self.setAccessibleName("Tokens")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self._theme = LIGHT
        self._labels: tuple[str, ...] = ()
        self._shown: list[str] = []  # labels, the long ones cut
        self._widths: list[int] = []
        self._lefts: list[int] = []
        self._starts: list[int] = [0]  # first token of each line
        self._query: int | None = None
        self._current: int | None = None
        self._pointed = False  # the pointer is here: nothing may scroll away under it
        self._weights: np.ndarray | None = None
        self._visible: np.ndarray | None = None
        self._lut: np.ndarray | None = None
        self._levels: Levels | None = None
        self._codes: np.ndarray | None = None
        self.verticalScrollBar().valueChanged.connect(self.viewport().update)

    # What is shown

    def set_tokens(self, labels: tuple[str, ...]) -> None:
        """Show these labels, one chip each; the selected row is forgotten when their number changes."""
        if labels == self._labels:
            return
        if len(labels) != len(self._labels):
            self._query = self._current = self._weights = self._visible = self._codes = None
        self._labels = labels
        self._measure()
        self._describe()

    def set_row(
        self, query: int | None, weights: np.ndarray | None = None, visible: np.ndarray | None = None
    ) -> None:
        """Colour the chips by one query's weights.

        Args:
            query: position of the query in the sequence, or None for no selected row.
            weights: [key] attention weights of that query.
            visible: bool [key], False where the mask hides the key.
        """
        before, moved = self._codes, query != self._query
        self._query, self._weights, self._visible = query, weights, visible
        self._quantise()
        if moved and query is not None and not self._pointed:
            self.ensure_visible(query)
        self._describe()
        self._update_changed(None if moved else before)

    def set_palette(self, lut: np.ndarray, levels: Levels | None = None) -> None:
        """Use the colours of the weights matrix: `lut` uint8 [256, 4], and its levels; None spans each row itself."""
        before = self._codes if lut is self._lut else None
        if lut is self._lut and levels == self._levels:
            return
        self._lut, self._levels = lut, levels
        self._quantise()
        self._update_changed(before)

    def set_current(self, token: int | None) -> None:
        """Outline the key under the cursor of another view."""
        if token != self._current:
            self._current = token
            self._describe()
            self.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.viewport().update()

    # Where it is shown

    def token_at(self, position: QPoint) -> int:
        """Return the token whose chip holds `position` (viewport coordinates), or −1."""
        y = position.y() + self.verticalScrollBar().value() - MARGIN
        line, inside = divmod(y, self._pitch())
        if not self._labels or not 0 <= line < len(self._starts) or inside >= self._chip_height():
            return -1
        first, last = self._line(line)
        index = bisect_right(self._lefts, position.x(), first, last) - 1
        return index if index >= first and position.x() < self._lefts[index] + self._widths[index] else -1

    def chip_rect(self, token: int) -> QRect:
        """Return where the chip of `token` lies, in viewport coordinates; it may be scrolled out of sight."""
        line = bisect_right(self._starts, token) - 1
        top = MARGIN + line * self._pitch() - self.verticalScrollBar().value()
        return QRect(self._lefts[token], top, self._widths[token], self._chip_height())

    def chip_colours(self, token: int) -> tuple[QColor, QColor]:
        """Return the ground and the ink of a chip; always readable (contrast at least 4.5)."""
        if self._codes is None or self._lut is None:
            ground = QColor(self._theme.card)
            return ground, readable_ink(ground, self._theme)
        code = int(self._codes[token])
        if code in (MASKED, NO_KEY):
            ground = QColor(self._theme.mask)
            return ground, muted_ink(ground, self._theme)
        red, green, blue = (int(channel) for channel in self._lut[code, :3])
        ground = QColor(red, green, blue)
        return ground, readable_ink(ground, self._theme)

    def describe(self, token: int) -> str:
        """Return what is known about a token, for its tooltip and for screen readers."""
        words = f"token {token} of {len(self._labels)} “{self._labels[token]}”"
        if self._query is None or self._weights is None:
            return words
        if self._visible is not None and not self._visible[token]:
            return f"{words}, masked for query {self._query} “{self._labels[self._query]}”"
        weight = short(float(self._weights[token]))
        return f"{words}, weight {weight} from query {self._query} “{self._labels[self._query]}”"

    def ensure_visible(self, token: int) -> None:
        """Scroll until the chip of `token` can be seen."""
        bar = self.verticalScrollBar()
        rect = self.chip_rect(token)
        if rect.top() < MARGIN:
            bar.setValue(bar.value() + rect.top() - MARGIN)
        elif rect.bottom() > self.viewport().height() - MARGIN:
            bar.setValue(bar.value() + rect.bottom() - self.viewport().height() + MARGIN + 1)

    # Layout

    def _chip_height(self) -> int:
        return self.fontMetrics().height() + 6

    def _pitch(self) -> int:
        return self._chip_height() + LINE_GAP

    def _line(self, line: int) -> tuple[int, int]:
        first = self._starts[line]
        return first, self._starts[line + 1] if line + 1 < len(self._starts) else len(self._labels)

    def _lines_in(self, area: QRect) -> range:
        """The lines that lie in a part of the viewport."""
        scrolled = self.verticalScrollBar().value()
        first = max(0, (area.top() + scrolled - MARGIN) // self._pitch())
        last = min(len(self._starts) - 1, (area.bottom() + scrolled - MARGIN) // self._pitch())
        return range(first, last + 1)

    def _measure(self) -> None:
        metrics = QFontMetrics(self.font())
        least = self._chip_height() - 6
        known: dict[str, tuple[str, int]] = {}
        for label in self._labels:
            if label not in known:
                shown, width = label, metrics.horizontalAdvance(label)
                if width >= WIDEST:  # widths are rounded: one of just this many pixels may be too long
                    shown = metrics.elidedText(label, Qt.TextElideMode.ElideRight, WIDEST)
                    width = metrics.horizontalAdvance(shown)
                known[label] = shown, max(least, width + 2 * PAD)
        self._shown = [known[label][0] for label in self._labels]
        self._widths = [known[label][1] for label in self._labels]
        self._lay_out()

    def _lay_out(self) -> None:
        available = self.width()
        self._break_lines(available)
        scrolls = len(self._starts) > MAX_LINES
        if scrolls:
            self._break_lines(available - SCROLL_WIDTH)
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if policy != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(policy)
        lines = min(len(self._starts), MAX_LINES)
        height = 2 * MARGIN + lines * self._pitch() - LINE_GAP
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)
            # Amid its own resize Qt would leave the viewport as high as it was; this makes it follow.
            self.setViewportMargins(0, 0, 0, 0)
        whole = 2 * MARGIN + len(self._starts) * self._pitch() - LINE_GAP
        self.verticalScrollBar().setRange(0, max(0, whole - height))
        self.verticalScrollBar().setPageStep(height)
        self.verticalScrollBar().setSingleStep(self._pitch())
        if self._query is not None and not self._pointed:
            self.ensure_visible(self._query)  # it may stand in another line now
        self.viewport().update()

    def _break_lines(self, available: int) -> None:
        self._lefts, self._starts = [], [0]
        x = MARGIN
        for index, width in enumerate(self._widths):
            if x + width > available - MARGIN and x > MARGIN:
                self._starts.append(index)
                x = MARGIN
            self._lefts.append(x)
            x += width + GAP

    def _quantise(self) -> None:
        self._codes = None
        if self._weights is None or len(self._weights) != len(self._labels):
            return
        weights = np.asarray(self._weights, np.float32)[None]  # [1, key]
        visible = (
            np.ones(weights.shape, bool) if self._visible is None else np.asarray(self._visible, bool)[None]
        )
        levels = self._levels or choose_levels(weights[visible])
        self._codes = quantise(weights, visible, levels)[0]  # [key]

    def _update_changed(self, before: np.ndarray | None) -> None:
        """Paint the chips whose shade is another than in `before` [key]: under a moving hand those are few."""
        if before is None or self._codes is None or len(before) != len(self._codes):
            self.viewport().update()
            return
        lines = self._lines_in(self.viewport().rect())
        if lines:
            first, last = self._line(lines[0])[0], self._line(lines[-1])[1]
            for token in np.flatnonzero(before[first:last] != self._codes[first:last]).tolist():
                self.viewport().update(self.chip_rect(first + token))

    def _describe(self) -> None:
        token = self._current if self._current is not None else self._query
        describe(self, self.describe(token) if token is not None and token < len(self._labels) else "")

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the chips of the lines that can be seen."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in self._lines_in(event.rect()):
            for token in range(*self._line(line)):
                rect = self.chip_rect(token)
                if event.region().intersects(rect):
                    self._paint_chip(painter, token, rect)
        if self.hasFocus():
            painter.setPen(QColor(self._theme.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)

    def _paint_chip(self, painter: QPainter, token: int, rect: QRect) -> None:
        ground, ink = self.chip_colours(token)
        outline = QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        if ground != QColor(self._theme.card):
            painter.setBrush(ground)
            painter.drawRoundedRect(outline, 4, 4)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if token == self._query:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.drawRoundedRect(outline.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        if token == self._current:
            inner = outline.adjusted(2, 2, -2, -2) if token == self._query else outline
            painter.setPen(QPen(ink, 1.4))
            painter.drawRoundedRect(inner, 3, 3)
        painter.setPen(ink)
        # One layout a chip: a right-to-left token cannot reorder its neighbours.
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, self._shown[token])

    # Hands

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that the focus is elsewhere."""
        super().focusOutEvent(event)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew when the width changed."""
        if event.size().width() != event.oldSize().width():
            self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        """Measure again in the new font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and self._labels:
            self._measure()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Report the token under the pointer, once."""
        self._pointed = True
        token = self.token_at(event.position().toPoint())
        self._hover(None if token < 0 else token)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Report a click on a token."""
        token = self.token_at(event.position().toPoint())
        if token >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.token_clicked.emit(token)

    def viewportEvent(self, event: QEvent) -> bool:
        """Report that the pointer left; show a token's words as its tooltip."""
        if event.type() == QEvent.Type.Leave:
            self._pointed = False
            self._hover(None)
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            token = self.token_at(event.pos())
            if token < 0:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self.describe(token), self, self.chip_rect(token))
            return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, Home and End move along the tokens, Enter selects the query, Escape leaves."""
        count = len(self._labels)
        at = self._current if self._current is not None else self._query
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and at is not None:
            self.token_clicked.emit(at)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self._hover(None)
        elif count and key in _STEPS:
            step = _STEPS[key]
            self._move(0 if at is None and step > 0 else min(max((at or 0) + step, 0), count - 1))
        elif count and key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._move(0 if key == Qt.Key.Key_Home else count - 1)
        elif count and at is not None and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._move(self._beside(at, -1 if key == Qt.Key.Key_Up else 1))
        else:
            super().keyPressEvent(event)

    def _beside(self, token: int, lines: int) -> int:
        """Return the token `lines` below, nearest to the middle of this one's chip; at the edge, itself."""
        line = bisect_right(self._starts, token) - 1 + lines
        if not 0 <= line < len(self._starts):
            return token
        first, last = self._line(line)
        middle = self._lefts[token] + self._widths[token] // 2
        return max(bisect_right(self._lefts, middle, first, last) - 1, first)

    def _move(self, token: int) -> None:
        self._hover(token)
        self.ensure_visible(token)

    def _hover(self, token: int | None) -> None:
        if token != self._current:
            self.set_current(token)
            self.token_hovered.emit(-1 if token is None else token)

    def minimumSizeHint(self) -> QSize:
        """Return a width of a few chips."""
        return QSize(160, self._pitch())


_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -20, Qt.Key.Key_PageDown: 20}
