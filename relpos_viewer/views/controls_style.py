"""The style sheet of small parts: arrows of boxes, check marks, radio buttons.

A style sheet that touches a combo or spin box makes Qt draw its arrows in a bevel of the nineties unless they are
given too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relpos_viewer.resources import resource

if TYPE_CHECKING:  # the theme's own style sheet ends with this one
    from relpos_viewer.views.theme import Theme


def controls_stylesheet(theme: Theme) -> str:
    """Return the rules that end `theme.stylesheet`."""

    def mark(name: str) -> str:
        return f'url("{resource("themes", f"{name}-{theme.name}.svg").as_posix()}")'

    t = theme
    return f"""
QComboBox {{ padding-right: 20px; }}
QComboBox::drop-down {{ border: none; width: 20px; subcontrol-position: center right; }}
QComboBox::down-arrow {{ image: {mark("arrow-down")}; width: 11px; height: 11px; }}
QAbstractSpinBox {{ padding: 3px 20px 3px 6px; }}
QAbstractSpinBox QLineEdit {{ border: none; background: transparent; padding: 0 4px; }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{
  border: none; background: transparent; width: 18px; subcontrol-origin: border; }}
QAbstractSpinBox::up-button {{ subcontrol-position: top right; }}
QAbstractSpinBox::down-button {{ subcontrol-position: bottom right; }}
QAbstractSpinBox::up-arrow {{ image: {mark("arrow-up")}; width: 9px; height: 9px; }}
QAbstractSpinBox::down-arrow {{ image: {mark("arrow-down")}; width: 9px; height: 9px; }}
QCheckBox, QRadioButton {{ spacing: 7px; }}
QCheckBox::indicator, QRadioButton::indicator {{
  width: 13px; height: 13px; border: 1px solid {t.muted}; background: {t.field}; }}
QCheckBox::indicator {{ border-radius: 3px; }}
QRadioButton::indicator {{ border-radius: 7px; }}
QCheckBox::indicator:focus, QRadioButton::indicator:focus {{ border: 1px solid {t.accent}; }}
QCheckBox::indicator:checked, QRadioButton::indicator:checked {{
  background: {t.accent}; border: 1px solid {t.accent}; }}
QCheckBox::indicator:checked {{ image: {mark("check")}; }}
QRadioButton::indicator:checked {{ image: {mark("dot")}; }}
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {{ border: 1px solid {t.faint}; }}
QToolButton::menu-indicator {{ image: none; width: 0; }}
QListWidget, QTreeWidget {{ outline: none; }}
QListWidget::item {{ border-radius: 4px; padding: 1px 4px; }}
QListWidget::item:selected, QTreeWidget::item:selected {{ background: {t.accent_soft}; color: {t.text}; }}
"""
