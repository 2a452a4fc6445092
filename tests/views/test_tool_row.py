"""The headers of curve and plane where room is short: what they drop, and what stays."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from relpos_viewer.core.encodings import FAMILIES
from relpos_viewer.views import names
from relpos_viewer.views.curve_tools import CurveTools
from relpos_viewer.views.plane_tools import PlaneTools
from relpos_viewer.views.theme import LIGHT, stylesheet
from relpos_viewer.views.tool_row import ToolRow


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """What the headers stand in: windows of their own would stay as wide as their words."""
    made = QWidget()
    qtbot.addWidget(made)
    made.setStyleSheet(stylesheet(LIGHT))
    return made


def header(window: QWidget, kind: str, family: str) -> ToolRow:
    """A header that says what drags do to the parameters of `family`."""
    curve = CurveTools(window)
    curve.offer_handles(FAMILIES[family].title, "")
    curve.tool = "handles"
    if kind == "curve":
        made = curve
    else:
        made = PlaneTools(curve, window)
        made.set_words(f"drag: table of {FAMILIES[family].title}, kept within 0 … 16", "tip", "note")
    window.show()
    return made


def whole(label: QLabel) -> bool:
    return label.isVisible() and label.width() >= label.fontMetrics().horizontalAdvance(label.text())


@pytest.mark.parametrize(
    ("kind", "badge", "family"),
    [("curve", names.CURVE_DRAGS, name) for name in FAMILIES]
    + [("plane", names.PLANE_DRAGS, name) for name in ("swin", "swin-v2", "beit")],
)
def test_title_and_badge_can_be_read_beside_every_control_of_a_narrow_header(window, kind, badge, family):
    made = header(window, kind, family)
    for width in (1400, 880, 706):  # the last beside the inspector of the narrowest window with one
        made.resize(width, 40)
        QApplication.processEvents()
        assert made.width() == width
        title = next(label for label in made.findChildren(QLabel) if label.text() == f"Bias {kind}")
        assert whole(title), width
        assert whole(made.findChild(QLabel, badge)), width


def test_the_badge_says_all_of_it_where_there_is_room(window):
    made = header(window, "plane", "swin")
    made.resize(1400, 40)
    badge = made.findChild(QLabel, names.PLANE_DRAGS)
    assert badge.text().startswith("drag: table of Swin")
    made.resize(made.minimumSizeHint().width(), 40)
    assert badge.text() == "table"
