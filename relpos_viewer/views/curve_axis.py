"""The three axes around the curve: offsets below, score units left, factors e^b right."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtGui import QColor, QFont

from relpos_viewer.core.numbers import short
from relpos_viewer.views.curve_scale import LinearScale, SymlogScale, factor_ticks, value_text, value_ticks
from relpos_viewer.views.theme import Theme


class CurveAxis(pg.AxisItem):
    """An axis in the window's colours, of fixed size: labels that grow must not move the plot under the hand."""

    def __init__(self, orientation: str, size: int, title: str) -> None:
        super().__init__(orientation, maxTickLength=0)
        self._title = title
        self.enableAutoSIPrefix(False)
        self.setStyle(
            tickLength=0,
            tickTextOffset=5,
            autoExpandTextSpace=False,
            autoReduceTextSpace=False,
            hideOverlappingLabels=False,
        )
        if orientation == "bottom":
            self.setHeight(size)
        else:
            self.setWidth(size)

    def set_theme(self, theme: Theme, font: QFont) -> None:
        """Take new colours."""
        self.setPen(QColor(theme.border))
        self.setTextPen(QColor(theme.muted))
        self.setTickFont(font)
        self.setLabel(self._title, **{"color": theme.muted, "font-size": f"{font.pixelSize()}px"})


class OffsetAxis(CurveAxis):
    """Whole offsets, on a linear or symmetric-log scale."""

    def __init__(self) -> None:
        super().__init__("bottom", 36, "← past · offset δ = key − query · future →")
        self._scale: LinearScale | SymlogScale = LinearScale()

    def set_scale(self, scale: LinearScale | SymlogScale) -> None:
        """Spread the offsets in another way."""
        self._scale = scale
        self.picture = None
        self.update()

    def tickValues(self, minVal, maxVal, size):
        """Places of the labelled offsets."""
        offsets = self._scale.ticks(minVal, maxVal, size)
        return [(1.0, [float(self._scale.forward(offset)) for offset in offsets])]

    def tickStrings(self, values, scale, spacing):
        """The offsets themselves."""
        return [short(round(float(self._scale.inverse(place)))) for place in values]


class ValueAxis(CurveAxis):
    """The bias in score units."""

    def __init__(self) -> None:
        super().__init__("left", 50, "score units")

    def tickValues(self, minVal, maxVal, size):
        """Round values."""
        return [value_ticks(minVal, maxVal, size)]

    def tickStrings(self, values, scale, spacing):
        """With the decimals that the step needs."""
        return [value_text(value, spacing) for value in values]


class FactorAxis(CurveAxis):
    """What the bias multiplies a key's odds by."""

    def __init__(self) -> None:
        super().__init__("right", 60, "factor eᵇ")
        self._texts: dict[float, str] = {}

    def tickValues(self, minVal, maxVal, size):
        """Values whose factor is round."""
        self._texts = dict(factor_ticks(minVal, maxVal, size))
        return [(1.0, list(self._texts))]

    def tickStrings(self, values, scale, spacing):
        """×20, ×0.05."""
        return [self._texts[value] for value in values]
