"""Every dialog of the window, for one import."""

from __future__ import annotations

from relpos_viewer.views.about_dialog import AboutDialog
from relpos_viewer.views.code_dialog import CodeDialog
from relpos_viewer.views.export_dialog import ExportFigureDialog
from relpos_viewer.views.help_dialog import HelpDialog
from relpos_viewer.views.question_dialog import QuestionDialog
from relpos_viewer.views.shortcuts_dialog import ShortcutsDialog

__all__ = [
    "AboutDialog",
    "CodeDialog",
    "ExportFigureDialog",
    "HelpDialog",
    "QuestionDialog",
    "ShortcutsDialog",
]
