"""The colours of the window, light and dark, and the style sheet made from them.

One accent colour, and it always means *position, or your edit to it*; `native` is what the family's own handles are
drawn in.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor, QPalette

from relpos_viewer.views.controls_style import controls_stylesheet


@dataclass(frozen=True)
class Theme:
    """Colours as ``#rrggbb``."""

    name: str
    window: str
    card: str
    border: str
    field: str
    text: str
    muted: str
    faint: str
    accent: str
    accent_soft: str
    accent_text: str
    native: str
    native_soft: str
    mask: str
    grid: str
    danger: str
    danger_soft: str

    @property
    def dark(self) -> bool:
        """Whether light text stands on dark cards."""
        return self.name == "dark"


LIGHT = Theme(
    name="light",
    window="#f1f3f6",
    card="#ffffff",
    border="#d9dee6",
    field="#ffffff",
    text="#16191f",
    muted="#5a6372",
    faint="#b4bcc8",
    accent="#2463d6",
    accent_soft="#dfe9fb",
    accent_text="#ffffff",
    native="#b25e00",
    native_soft="#fdeed8",
    mask="#e3e6eb",
    grid="#e8ebf0",
    danger="#b3261e",
    danger_soft="#fbe4e2",
)

DARK = Theme(
    name="dark",
    window="#14171c",
    card="#1d2127",
    border="#333942",
    field="#171b20",
    text="#eceff4",
    muted="#a0a9b6",
    faint="#565f6c",
    accent="#6ea8ff",
    accent_soft="#22344f",
    accent_text="#0c1422",
    native="#ffb454",
    native_soft="#3f3017",
    mask="#2b3038",
    grid="#292e36",
    danger="#ff8a80",
    danger_soft="#43211f",
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def stylesheet(theme: Theme) -> str:
    """Return the application's Qt style sheet. Cards are QFrames with the dynamic property ``card``."""
    t = theme
    return f"""
QWidget {{ color: {t.text}; font-size: 12px; }}
QMainWindow, QDialog, QWidget#central {{ background: {t.window}; }}
QToolTip {{ background: {t.card}; color: {t.text}; border: 1px solid {t.border}; padding: 4px; }}
QFrame[card="true"] {{ background: {t.card}; border: 1px solid {t.border}; border-radius: 8px; }}
QFrame[card="true"]:focus, QFrame[card="true"][focused="true"] {{ border: 1px solid {t.accent}; }}
QLabel {{ background: transparent; }}
QLabel[muted="true"] {{ color: {t.muted}; }}
QLabel[muted="true"]:disabled {{ color: {t.faint}; }}
QLabel[title="true"] {{ font-weight: 600; }}
QMenuBar, QMenu, QStatusBar {{ background: {t.window}; color: {t.text}; }}
QMenuBar::item:selected, QMenu::item:selected {{ background: {t.accent_soft}; color: {t.text}; }}
QMenu {{ border: 1px solid {t.border}; padding: 4px; }}
QMenu::item {{ padding: 4px 24px 4px 20px; border-radius: 4px; }}
QTreeView::item:disabled {{ color: {t.muted}; }}
QMenu::item:disabled {{ color: {t.faint}; }}
QMenu::separator {{ height: 1px; background: {t.border}; margin: 4px 8px; }}
QStatusBar::item {{ border: none; }}
QComboBox, QLineEdit, QPlainTextEdit, QAbstractSpinBox, QListView, QTreeView, QTableView, QTextBrowser {{
  background: {t.field}; border: 1px solid {t.border}; border-radius: 5px; padding: 3px 6px;
  selection-background-color: {t.accent}; selection-color: {t.accent_text}; }}
QComboBox:focus, QLineEdit:focus, QPlainTextEdit:focus, QAbstractSpinBox:focus, QListView:focus,
QTextBrowser:focus {{ border: 1px solid {t.accent}; }}
QComboBox QAbstractItemView {{ background: {t.card}; border: 1px solid {t.border}; }}
QPushButton, QToolButton {{ background: {t.field}; border: 1px solid {t.border}; border-radius: 5px;
  padding: 3px 9px; }}
QPushButton:hover, QToolButton:hover {{ background: {t.accent_soft}; }}
QPushButton:focus, QToolButton:focus {{ border: 1px solid {t.accent}; }}
QPushButton:checked, QToolButton:checked {{ background: {t.accent_soft}; border: 1px solid {t.accent}; }}
QPushButton:default, QPushButton[primary="true"], QToolButton[primary="true"] {{
  background: {t.accent}; color: {t.accent_text}; border: 1px solid {t.accent}; }}
QPushButton:disabled, QToolButton:disabled, QComboBox:disabled, QLineEdit:disabled, QAbstractSpinBox:disabled {{
  color: {t.faint}; }}
QToolButton[flat="true"] {{ background: transparent; border: 1px solid transparent; padding: 2px 4px; }}
QToolButton[flat="true"]:hover {{ background: {t.accent_soft}; }}
QToolButton[flat="true"]:focus {{ border: 1px solid {t.accent}; }}
QToolButton[flat="true"]:checked {{ background: {t.accent_soft}; border: 1px solid {t.accent}; }}
QPushButton:checked:focus, QToolButton:checked:focus {{ border: 2px solid {t.accent}; padding: 2px 8px; }}
QToolButton[flat="true"]:checked:focus {{ border: 2px solid {t.accent}; padding: 1px 3px; }}
QPushButton:default:focus, QPushButton[primary="true"]:focus, QToolButton[primary="true"]:focus {{
  border: 2px solid {t.text}; padding: 2px 8px; }}
QFileDialog QToolButton {{ padding: 2px; }}
QToolButton::menu-indicator {{ image: none; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {t.faint}; border-radius: 4px; min-width: 24px; min-height: 24px; margin: 2px; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{
  background: none; border: none; width: 0; height: 0; }}
QSplitter::handle {{ background: transparent; }}
{controls_stylesheet(theme)}"""


def application_palette(theme: Theme) -> QPalette:
    """Return the palette that goes with the style sheet, for what a style sheet does not reach."""
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.window,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.field,
        QPalette.ColorRole.AlternateBase: theme.card,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.faint,
        QPalette.ColorRole.Button: theme.field,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.accent_text,
        QPalette.ColorRole.ToolTipBase: theme.card,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.Link: theme.accent,
        QPalette.ColorRole.Mid: theme.border,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.faint))
    return palette
