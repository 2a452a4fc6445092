"""The window's icons: one set of line drawings, recoloured to fit each theme."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from relpos_viewer.resources import resource
from relpos_viewer.views.theme import Theme

# Logical sizes that buttons, menus and message boxes ask for, and the same on a screen of ratio 2.
SIZES = (16, 18, 20, 24, 32, 40, 48)
APP_SIZES = (16, 24, 32, 48, 64, 128, 256)


def icon(name: str, theme: Theme, colour: str | None = None) -> QIcon:
    """Return the drawing `name` in the theme's text colour, or in `colour`; disabled, it is faint.

    Args:
        name: file name in ``resources/icons`` without its suffix.
        theme: whose text and faint colours are used.
        colour: ``#rrggbb`` instead of the text colour, for a button that has a colour of its own.

    Raises:
        FileNotFoundError: no such drawing.
    """
    drawing = _path(name).read_text(encoding="utf-8")
    result = QIcon()
    for mode, ink in ((QIcon.Mode.Normal, colour or theme.text), (QIcon.Mode.Disabled, theme.faint)):
        svg = QByteArray(drawing.replace("currentColor", ink).encode())
        for size in SIZES:
            result.addPixmap(_draw(svg, size), mode)
    return result


def app_icon() -> QIcon:
    """Return the program's own icon; its colours do not depend on the theme."""
    svg = QByteArray(_path("app").read_bytes())
    result = QIcon()
    for size in APP_SIZES:
        result.addPixmap(_draw(svg, size))
    return result


def names() -> tuple[str, ...]:
    """Return the names of all drawings, in alphabetical order."""
    return tuple(sorted(file.stem for file in resource("icons").glob("*.svg")))


def _path(name: str) -> Path:
    return resource("icons", f"{name}.svg")


def _draw(svg: QByteArray, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(svg).render(painter)
    painter.end()
    return pixmap
