"""The picture inside the curve editor's axes: one graphics item that paints everything and owns nothing else.

What seldom changes (shades, grid, the other heads) is kept as a pixmap; what follows the hand is painted anew each
time. Coordinates are pixels of the view box, so that offsets, pointers and strokes meet exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QImage, QPainter, QPen, QPixmap

from relpos_viewer.core.brush import Reach
from relpos_viewer.core.curves import CurveSet
from relpos_viewer.core.encodings.base import Handle
from relpos_viewer.views.curve_handles import place as handle_place
from relpos_viewer.views.curve_lines import Thinning, band, runs, span, stroke
from relpos_viewer.views.curve_scale import PlotMap, value_ticks
from relpos_viewer.views.theme import LIGHT, Theme

# Points are drawn one by one where they stand at least this far apart.
POINT_SPACING = 9.0
# Bucket stripes narrower than this would only be noise.
STRIPE_WIDTH = 3.0
# Distance of the label from its point, and of everything from the edges.
LABEL_GAP = 12.0
EDGE = 4.0
# Length of the sample of a line in a legend, and what stands before and after it.
SAMPLE, SAMPLE_GAP = 18.0, 6.0
# Half the width of a native handle, and of the one that the hand is at.
HANDLE, HANDLE_AT_HAND = 6.5, 9.0
# Every so many pixels it is asked whether a label would hide the curve.
LABEL_SAMPLE = 4.0

# Where a label may go from its point: across and down, the earlier the better.
SIDES = {
    "over": (0, -1),
    "under": (0, 1),
    "over left": (-1, -1),
    "over right": (1, -1),
    "under left": (-1, 1),
    "under right": (1, 1),
    "left": (-1, 0),
    "right": (1, 0),
}

LabelPart = tuple[str, str]
"""Text and its role: "strong", "plain" or "muted"."""


@dataclass(frozen=True, eq=False)
class Marks:
    """What the hand is at.

    Attributes:
        focus: the offset that is hovered, dragged or shown from outside.
        label: what is written beside it.
        reach: the offsets that a drag would move, or moves.
        selected: (low, high) offsets chosen by click or keyboard.
        anchors: offsets that bound a bend, while the tool for it is chosen.
        grabbed: whether the focus is in hand.
        all_heads: whether the other heads move too.
        native: whether drags move the family's own handles, and not the edit.
        handles: those handles, by ascending offset.
        handle: the one that the hand is at.
    """

    focus: int | None = None
    label: tuple[LabelPart, ...] = ()
    reach: Reach | None = None
    selected: tuple[int, int] | None = None
    anchors: tuple[int, ...] = ()
    grabbed: bool = False
    all_heads: bool = False
    native: bool = False
    handles: tuple[Handle, ...] = ()
    handle: Handle | None = None


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn.

    Attributes:
        curves: the curves of a frame.
        edit: Δ [head, 2n−1] as it stands under the hand.
        future_masked: whether what is masked on the right is masked because it is the future.
        beyond_rule: how the curve goes on past its drawn range, a word.
    """

    curves: CurveSet
    edit: np.ndarray
    future_masked: bool
    beyond_rule: str = ""
    total: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        head = self.curves.head
        object.__setattr__(self, "total", self.curves.family[head] + self.edit[head])  # [2n−1]

    @property
    def edited(self) -> np.ndarray:
        """Where the selected head has an edit, bool [2n−1]."""
        return self.edit[self.curves.head] != 0


@dataclass(frozen=True, eq=False)
class QueryLine:
    """One query's own term, where the term is not the same for all queries.

    Attributes:
        position: of the query in the sequence.
        own: float32 [2n−1] without the edit, NaN for offsets that it does not see.
    """

    position: int
    own: np.ndarray

    def fits(self, curves: CurveSet) -> bool:
        """Return whether it says more than `curves` do, over the same offsets."""
        return not curves.exact and len(self.own) == 2 * curves.n - 1


class CurveItem(pg.GraphicsObject):
    """Paints curves, shades, marks and the label. The plot tells it what and where."""

    def __init__(self, parent: pg.GraphicsObject) -> None:
        super().__init__()
        self.setParentItem(parent)
        self._map: PlotMap | None = None
        self._shown: Shown | None = None
        self.query: QueryLine | None = None
        self._overlay: tuple[np.ndarray, str] | None = None
        self.marks = Marks()
        self._theme = LIGHT
        self._thinning: Thinning | None = None
        self._ground: QPixmap | None = None
        self._side = "over"

    def set_map(self, plot: PlotMap | None) -> None:
        """Take new axes or a new size."""
        if plot != self._map:
            self.prepareGeometryChange()
            self._map, self._thinning, self._ground = plot, None, None
            self.update()

    def set_shown(self, shown: Shown | None) -> None:
        """Take new curves, or only a new edit."""
        before, self._shown = self._shown, shown
        if shown is None or before is None or shown.total.shape != before.total.shape:
            self._thinning = None
        if self._changes_ground(before, shown):
            self._ground = None
        self.update()

    def set_query(self, line: QueryLine | None) -> None:
        """Take the line of another query, or none."""
        if line is not self.query:
            self.query = line
            self.update()

    def set_overlay(self, values: np.ndarray | None, name: str = "") -> None:
        """Draw another curve over this one, float [2n−1], with its name; None for none."""
        self._overlay = None if values is None else (values, name)
        self.update()

    def set_marks(self, marks: Marks) -> None:
        """Take a new place of the hand."""
        if (marks.all_heads, marks.native) != (self.marks.all_heads, self.marks.native):
            self._ground = None
        self.marks = marks
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme, self._ground = theme, None
        self.update()

    @staticmethod
    def _changes_ground(before: Shown | None, shown: Shown | None) -> bool:
        if before is None or shown is None:
            return True
        old, new = before.curves, shown.curves
        # Each frame brings a new CurveSet, but the arrays in it stay the same objects while only the edit changes.
        kept = all(
            getattr(old, name) is getattr(new, name) for name in ("family", "buckets", "beyond", "visible")
        )
        words = (before.future_masked, before.beyond_rule) == (shown.future_masked, shown.beyond_rule)
        if not kept or not words or old.head != new.head:
            return True
        others = (head for head in range(len(shown.edit)) if head != new.head)
        return not all(np.array_equal(before.edit[head], shown.edit[head]) for head in others)

    def boundingRect(self) -> QRectF:
        """The whole plot."""
        m = self._map
        return QRectF() if m is None else QRectF(m.left, m.top, m.width, m.height)

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw the ground, the curve, and where the hand is."""
        if self._map is None or self._shown is None:
            return
        if self._thinning is None:
            self._thinning = Thinning.of(self._map, self._shown.curves.n)
        ratio = painter.device().devicePixelRatioF()
        if self._ground is None or self._ground.devicePixelRatio() != ratio:
            self._ground = self._painted_ground(ratio, painter.font())
        painter.drawPixmap(self.boundingRect().topLeft(), self._ground)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_reach(painter)
        self._paint_selection(painter)
        self._paint_spread(painter)
        self._paint_query(painter)
        self._paint_ghost(painter)
        self._paint_curve(painter)
        if self.marks.native:
            self._paint_handles(painter)
        self._paint_overlay(painter)
        self._paint_note(painter)
        self._paint_focus(painter)

    # The ground: everything that stays while the hand moves.

    def _painted_ground(self, ratio: float, font: QFont) -> QPixmap:
        m = self._map
        pixmap = QPixmap(max(1, round(m.width * ratio)), max(1, round(m.height * ratio)))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(QColor(self._theme.card))
        painter = QPainter(pixmap)
        painter.translate(-m.left, -m.top)
        painter.setFont(font)
        self._paint_buckets(painter)
        self._paint_grid(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_others(painter)
        self._paint_beyond(painter)
        self._paint_masked(painter)
        painter.end()
        return pixmap

    def _paint_buckets(self, painter: QPainter) -> None:
        buckets = self._shown.curves.buckets
        if buckets is None:
            return
        middle = len(buckets) // 2
        edges = np.concatenate([[0], np.flatnonzero(np.diff(buckets)) + 1, [len(buckets)]])
        # A bucket of one offset needs no shade to show what belongs to it.
        wide = [(low, high) for low, high in pairwise(edges) if high - low > 1]
        stripe = QColor(self._theme.grid)
        stripe.setAlphaF(0.5)
        for low, high in wide[::2]:
            rect = span(self._map, int(low) - middle, int(high) - 1 - middle)
            if rect.width() >= STRIPE_WIDTH:
                painter.fillRect(rect, stripe)

    def _paint_grid(self, painter: QPainter) -> None:
        m = self._map
        low, high = m.values
        painter.setPen(QPen(QColor(self._theme.grid), 1))
        right = m.left + m.width
        for value in value_ticks(low, high, m.height)[1]:
            y = float(np.floor(m.y(value))) + 0.5
            painter.drawLine(QPointF(m.left, y), QPointF(right, y))
        painter.setPen(QPen(QColor(self._theme.border), 1))
        y = float(np.floor(m.y(0.0))) + 0.5
        painter.drawLine(QPointF(m.left, y), QPointF(right, y))
        x = float(np.floor(m.x(0))) + 0.5
        painter.drawLine(QPointF(x, m.top), QPointF(x, m.top + m.height))

    def _paint_others(self, painter: QPainter) -> None:
        curves, edit = self._shown.curves, self._shown.edit
        linked = self._theme.native if self.marks.native else self._theme.accent
        colour = QColor(linked if self.marks.all_heads else self._theme.faint)
        colour.setAlphaF(0.5 if self.marks.all_heads else 0.6)
        for head in range(len(edit)):
            if head != curves.head:
                total = curves.family[head] + edit[head]
                stroke(painter, self._map, self._thinning.x, self._thinning.line(total), QPen(colour, 1.2))

    def _paint_beyond(self, painter: QPainter) -> None:
        beyond = self._shown.curves.beyond
        if beyond is None:
            return
        shade = QColor(self._theme.muted)
        shade.setAlphaF(0.28)
        rule = self._shown.beyond_rule
        words = ("beyond drawn range", "beyond\ndrawn\nrange")
        if rule:
            words = (f"beyond drawn range: {rule}", f"beyond\ndrawn\nrange:\n{rule}")
        for rect in self._spans(beyond & self._shown.curves.visible):
            painter.fillRect(rect, QColor(self._theme.card))
            painter.fillRect(rect, QBrush(shade, Qt.BrushStyle.BDiagPattern))
            self._write_across(painter, rect, words, self._free_end(rect))

    def _paint_masked(self, painter: QPainter) -> None:
        shade = QColor(self._theme.mask)
        shade.setAlphaF(0.85)
        zero = float(self._map.x(0))
        for rect in self._spans(~self._shown.curves.visible):
            painter.fillRect(rect, shade)
            if rect.left() < zero:
                words = ("past: masked", "masked")
            elif self._shown.future_masked:
                words = ("future: masked (causal)", "future: masked\n(causal)", "future:\nmasked\n(causal)")
            else:
                words = ("future: masked", "masked")
            self._write_across(painter, rect, words, self._free_end(rect))

    def _free_end(self, rect: QRectF) -> Qt.AlignmentFlag:
        """The end of a strip that is farther from the curve in it."""
        middle = self._shown.curves.n - 1
        offset = int(np.clip(round(self._map.offset(rect.center().x())), -middle, middle))
        low = self._point(offset).y() > rect.center().y()
        return Qt.AlignmentFlag.AlignTop if low else Qt.AlignmentFlag.AlignBottom

    def _spans(self, flags: np.ndarray) -> list[QRectF]:
        middle = len(flags) // 2
        rects = [span(self._map, low - middle, high - middle) for low, high in runs(flags)]
        return [rect for rect in rects if rect.width() >= 1]

    def _write_across(
        self, painter: QPainter, rect: QRectF, words: tuple[str, ...], where: Qt.AlignmentFlag
    ) -> None:
        """Write the longest of `words` that fits the width, or the longest that fits the height, upright."""
        painter.setPen(QColor(self._theme.muted))
        metrics = QFontMetricsF(painter.font())
        widths = [max(map(metrics.horizontalAdvance, text.splitlines())) for text in words]
        # Under the note that content-dependent curves have along the top.
        inner = rect.adjusted(6, 10 if self._shown.curves.exact else 28, -6, -10)
        for text, width in zip(words, widths, strict=True):
            if width <= inner.width():
                painter.drawText(inner, int(Qt.AlignmentFlag.AlignHCenter | where), text)
                return
        for text, width in zip(words, widths, strict=True):
            if width <= inner.height() and metrics.height() <= rect.width() - 2:
                painter.save()
                painter.translate(rect.center())
                painter.rotate(-90)
                upright = QRectF(-rect.height() / 2, -rect.width() / 2, rect.height(), rect.width())
                painter.drawText(upright, int(Qt.AlignmentFlag.AlignCenter), text)
                painter.restore()
                return

    # What follows the hand.

    def _paint_reach(self, painter: QPainter) -> None:
        """Shade the offsets that move with the hand, the darker the more they do."""
        reach, m = self.marks.reach, self._map
        if reach is None:
            return
        n = self._shown.curves.n
        share = np.zeros(2 * n + 1, np.float32)  # [2n−1] and a 0 beyond each end
        share[reach.columns + 1] = reach.weights
        around = span(m, int(reach.columns[0]) - n + 1, int(reach.columns[-1]) - n + 1).translated(-m.left, 0)
        begin, end = int(around.left()), min(int(np.ceil(around.right())) + 1, int(np.ceil(m.width)))
        offsets = m.scale.inverse(m.place(m.left + np.arange(begin, end) + 0.5))  # [pixels]
        at = np.clip(np.rint(offsets) + n, 0, 2 * n).astype(np.int64)
        strength = share[at]  # [pixels]
        top = 0.30 if self._theme.dark else 0.20
        alpha = np.where(strength > 0, 0.04 + (top - 0.04) * strength, 0) * (
            1.25 if self.marks.grabbed else 1
        )
        reached = np.flatnonzero(alpha)
        if not len(reached):
            return
        # No more than is shaded: blending nothing over the whole plot takes as long as a shade.
        first, count = int(reached[0]), int(reached[-1] - reached[0]) + 1
        alpha = np.minimum(alpha[first : first + count], 1)  # [count]
        accent = QColor(self._theme.accent)
        row = np.empty((1, count, 4), np.uint8)
        # Premultiplied, as the screen is, in which Qt blends without a detour.
        for channel, share in enumerate((accent.red(), accent.green(), accent.blue(), 255)):
            row[0, :, channel] = np.rint(alpha * share)
        image = QImage(row.data, count, 1, 4 * count, QImage.Format.Format_RGBA8888_Premultiplied)
        painter.drawImage(QRectF(m.left + begin + first, m.top, count, m.height), image)

    def _paint_selection(self, painter: QPainter) -> None:
        if self.marks.selected is None:
            return
        low, high = self.marks.selected
        rect, m = span(self._map, low, high), self._map
        accent = QColor(self._theme.accent)
        bar = QRectF(rect.left(), m.top + m.height - 3, max(rect.width(), 5.0), 3)
        if rect.width() < 5:
            bar.moveCenter(QPointF(rect.center().x(), bar.center().y()))
        painter.fillRect(bar, accent)
        if low < high:
            accent.setAlphaF(0.35)
            painter.setPen(QPen(accent, 1))
            painter.drawLine(rect.topLeft(), rect.bottomLeft())
            painter.drawLine(rect.topRight(), rect.bottomRight())

    def _paint_spread(self, painter: QPainter) -> None:
        curves, edit = self._shown.curves, self._shown.edit
        if curves.low is None or curves.high is None:
            return
        colour = QColor(self._theme.accent)
        colour.setAlphaF(0.16)
        added = edit[curves.head]
        low = self._thinning.line(curves.low + added)
        high = self._thinning.line(curves.high + added)
        band(painter, self._map, self._thinning.x, np.fmin(low, high), np.fmax(low, high), colour)

    def _note_place(self) -> QRectF:
        return self.boundingRect().adjusted(8, 5, -8, -5)

    def _paint_query(self, painter: QPainter) -> None:
        """The pinned query's own term, thin, and its name beside the note."""
        curves, query = self._shown.curves, self.query
        if query is None or not query.fits(curves):
            return
        pen = QPen(QColor(self._theme.text), 1)
        line = self._thinning.line(query.own + self._shown.edit[curves.head])
        stroke(painter, self._map, self._thinning.x, line, pen)

    def _paint_note(self, painter: QPainter) -> None:
        """Say what is drawn of a term that differs by query, over whatever passes there."""
        curves, query = self._shown.curves, self.query
        if curves.exact:
            return
        metrics, place = QFontMetricsF(painter.font()), self._note_place()
        ground = QColor(self._theme.card)
        ground.setAlphaF(0.8)

        def write(words: str, left: float, top: float, sample: float) -> float:
            """Write words behind a sample of a line of that length; return where they end."""
            width = sample + metrics.horizontalAdvance(words)
            painter.fillRect(QRectF(left - 3, top, width + 6, metrics.height()), ground)
            painter.drawText(QPointF(left + sample, top + metrics.ascent()), words)
            return left + width

        painter.setPen(QColor(self._theme.muted))
        right = write(spread_note(curves), place.left(), place.top(), 0)
        if query is None or not query.fits(curves):
            return
        words, sample = f"query {query.position}", SAMPLE + SAMPLE_GAP
        left, top = right + 3 * SAMPLE_GAP, place.top()
        if left + sample + metrics.horizontalAdvance(words) > place.right():
            left, top = place.left(), top + metrics.lineSpacing()
        painter.setPen(QPen(QColor(self._theme.text), 1))
        write(words, left, top, sample)
        middle = top + metrics.height() / 2
        painter.drawLine(QPointF(left, middle), QPointF(left + SAMPLE, middle))

    def _paint_ghost(self, painter: QPainter) -> None:
        """The family's own curve, dashed, wherever the edit hides it."""
        edited = self._shown.edited
        if self.marks.native or not edited.any():  # then the family is drawn whole, over the curve
            return
        wide = edited.copy()  # one offset more on each side, so that ghost and curve meet
        wide[1:] |= edited[:-1]
        wide[:-1] |= edited[1:]
        family = np.where(wide, self._shown.curves.family[self._shown.curves.head], np.nan)
        pen = QPen(QColor(self._theme.muted), 1.6)
        pen.setDashPattern([4.0, 3.0])
        stroke(painter, self._map, self._thinning.x, self._thinning.line(family), pen)

    def _paint_curve(self, painter: QPainter) -> None:
        m, thin, shown = self._map, self._thinning, self._shown
        line = thin.line(shown.total)
        visible = thin.any(shown.curves.visible)
        pen = QPen(QColor(self._theme.accent), 2.2)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        hidden = ~visible
        hidden[1:] |= ~visible[:-1]
        hidden[:-1] |= ~visible[1:]
        pale = QColor(self._theme.accent)
        pale.setAlphaF(0.45)
        stroke(painter, m, thin.x, np.where(hidden, line, np.nan), QPen(pale, 1.2))
        stroke(painter, m, thin.x, np.where(visible, line, np.nan), pen)
        if not thin.dense and not self.marks.native:
            self._paint_points(painter, line, visible)

    def _paint_points(self, painter: QPainter, line: np.ndarray, visible: np.ndarray) -> None:
        """A dot for each offset that has room: hollow as the family gives it, filled where you edited."""
        thin = self._thinning
        gaps = np.diff(thin.x, prepend=-np.inf, append=np.inf)
        room = np.minimum(gaps[:-1], gaps[1:]) >= POINT_SPACING
        edited = self._shown.edited[thin.first : thin.last + 1]
        accent, card = QColor(self._theme.accent), QColor(self._theme.card)
        y = self._map.y(line)
        for chosen, brush in ((~edited, card), (edited, accent)):
            painter.setPen(QPen(accent, 1.5))
            painter.setBrush(brush)
            for k in np.flatnonzero(room & chosen & visible & np.isfinite(y)):
                painter.drawEllipse(QPointF(thin.x[k], y[k]), 3.1, 3.1)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_overlay(self, painter: QPainter) -> None:
        """The curve that was laid over this one, dashed, and what it is called."""
        if self._overlay is None or len(self._overlay[0]) != len(self._shown.total):
            return
        values, name = self._overlay
        pen = QPen(QColor(self._theme.text), 1.8)
        pen.setDashPattern([5.0, 3.0])
        stroke(painter, self._map, self._thinning.x, self._thinning.line(values), pen)
        metrics, m = QFontMetricsF(painter.font()), self._map
        height, dash = metrics.height() + 6, 26.0
        # Under the note that content-dependent curves have along the top.
        top = m.top + (EDGE if self._shown.curves.exact else 24.0)
        rect = QRectF(m.left + EDGE, top, metrics.horizontalAdvance(name) + dash + 18, height)
        ground = QColor(self._theme.card)
        ground.setAlphaF(0.9)
        painter.fillRect(rect, ground)
        middle = rect.center().y()
        painter.setPen(pen)
        painter.drawLine(QPointF(rect.left() + 6, middle), QPointF(rect.left() + 6 + dash, middle))
        painter.drawText(rect.adjusted(dash + 12, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), name)

    def _paint_handles(self, painter: QPainter) -> None:
        """The family's own curve, dashed, and a diamond for each of its handles; what the one at hand moves, shaded."""
        m, native, at_hand = self._map, QColor(self._theme.native), self.marks.handle
        if at_hand is not None:
            shade = QColor(native)
            # What moves the whole curve needs no more than a breath of colour to say so.
            shade.setAlphaF((0.16 if self._theme.dark else 0.11) if at_hand.span else 0.05)
            middle = self._shown.curves.n - 1
            painter.fillRect(span(m, *(at_hand.span or (-middle, middle))), shade)
        pen = QPen(native, 1.8)
        pen.setDashPattern([4.0, 3.0])
        family = self._shown.curves.family[self._shown.curves.head]
        stroke(painter, m, self._thinning.x, self._thinning.line(family), pen)
        for handle in self.marks.handles:
            self._paint_handle(painter, handle, QColor(self._theme.card), HANDLE)
        if at_hand is not None:
            self._paint_handle(painter, at_hand, native, HANDLE_AT_HAND)
            self._paint_label(painter, QPointF(*handle_place(at_hand, m)))

    def _paint_handle(self, painter: QPainter, handle: Handle, ground: QColor, size: float) -> None:
        m = self._map
        x, y = handle_place(handle, m)
        if not m.left <= x <= m.left + m.width:
            return
        native = QColor(self._theme.native)
        if handle.moves != "value":  # a bar that says: sideways
            painter.setPen(QPen(native, 1.8))
            painter.drawLine(QPointF(x - 2 * size, y), QPointF(x + 2 * size, y))
        painter.setPen(QPen(native, 2.0))
        painter.setBrush(ground)
        corners = [QPointF(x, y - size), QPointF(x + size, y), QPointF(x, y + size), QPointF(x - size, y)]
        painter.drawPolygon(corners)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_focus(self, painter: QPainter) -> None:
        marks, m, theme = self.marks, self._map, self._theme
        middle = self._shown.curves.n - 1
        accent, card = QColor(theme.accent), QColor(theme.card)
        for anchor in marks.anchors:
            centre = self._point(anchor)
            size = 6.5 if anchor == marks.focus else 5.0
            painter.setPen(QPen(accent, 1.8))
            painter.setBrush(card)
            painter.drawRect(QRectF(centre.x() - size, centre.y() - size, 2 * size, 2 * size))
        if marks.focus is None or not -middle <= marks.focus <= middle:
            return
        centre = self._point(marks.focus)
        hairline = QColor(accent)
        hairline.setAlphaF(0.4)
        painter.setPen(QPen(hairline, 1))
        painter.drawLine(QPointF(centre.x(), m.top), QPointF(centre.x(), m.top + m.height))
        painter.setPen(QPen(card, 2))
        painter.setBrush(accent)
        painter.drawEllipse(centre, 6.5, 6.5)
        self._paint_label(painter, centre)

    def _point(self, offset: int) -> QPointF:
        """Pixel of the curve at an offset; at the middle of the plot when it has no value there."""
        m = self._map
        value = self._shown.total[offset + self._shown.curves.n - 1]
        y = (
            float(np.clip(m.y(value), m.top, m.top + m.height))
            if np.isfinite(value)
            else m.top + m.height / 2
        )
        return QPointF(float(m.x(offset)), y)

    def _paint_label(self, painter: QPainter, point: QPointF) -> None:
        parts = self.marks.label
        if not parts:
            return
        plain, strong = QFont(painter.font()), QFont(painter.font())
        strong.setWeight(QFont.Weight.DemiBold)
        fonts = {"strong": strong, "plain": plain, "muted": plain}
        colours = {"strong": self._theme.text, "plain": self._theme.text, "muted": self._theme.muted}
        widths = [QFontMetricsF(fonts[role]).horizontalAdvance(text) for text, role in parts]
        height = QFontMetricsF(strong).height() + 8
        rect = self.label_rect(point, sum(widths) + 16, height)
        background = QColor(self._theme.card)
        background.setAlphaF(0.94)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(background)
        painter.drawRoundedRect(rect, 5, 5)
        x = rect.left() + 8
        for (text, role), width in zip(parts, widths, strict=True):
            painter.setFont(fonts[role])
            painter.setPen(QColor(colours[role]))
            painter.drawText(
                QRectF(x, rect.top(), width + 1, height), int(Qt.AlignmentFlag.AlignVCenter), text
            )
            x += width
        painter.setFont(plain)

    def label_rect(self, point: QPointF, width: float, height: float) -> QRectF:
        """Return where a label of this size goes: near its point and whole inside the plot, where it hides least of
        the curve. It stays on its side of the point until another one is clearly better: labels must not dance."""
        plot = self.boundingRect().adjusted(EDGE, EDGE, -EDGE, -EDGE)
        x, y = self._thinning.x, self._map.y(self._thinning.line(self._shown.total))
        rects, hidden = {}, {}
        for side, (across, down) in SIDES.items():
            left = point.x() + across * (width / 2 + LABEL_GAP) - width / 2
            top = point.y() + down * (height / 2 + LABEL_GAP) - height / 2
            if across == 0:
                left = min(max(left, plot.left()), max(plot.right() - width, plot.left()))
            rect = QRectF(left, top, width, height)
            if plot.contains(rect) or side == "over":
                inside = np.interp(np.arange(left, left + width, LABEL_SAMPLE), x, y)
                covers = np.count_nonzero((inside > top - 3) & (inside < top + height + 3))
                rects[side], hidden[side] = rect, covers + (not plot.contains(rect)) * 10**6
        best = min(hidden, key=hidden.get)
        if self._side not in hidden or hidden[self._side] > hidden[best] + 4:
            self._side = best
        rect = rects[self._side]
        rect.moveTop(min(max(rect.top(), plot.top()), max(plot.bottom() - height, plot.top())))
        return rect


def spread_note(curves: CurveSet) -> str:
    """Say what is drawn of a term that is no function of the offset."""
    of = f" of {curves.sampled} queries" if curves.sampled else ""
    return f"mean, 10–90 % spread{of}; your edit acts as an added bias"
