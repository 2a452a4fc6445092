"""AboutDialog: which versions run here, in a form that can be copied into a report."""

from __future__ import annotations

import platform
from importlib import metadata

import torch
from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

import relpos_viewer
from relpos_viewer.views import names
from relpos_viewer.views.icons import app_icon
from relpos_viewer.views.placed_dialog import PlacedDialog


class AboutDialog(PlacedDialog):
    """Name, purpose, licence and versions."""

    def __init__(self, device: str, parent: QWidget | None = None) -> None:
        """Show the versions; `device` is where arithmetic runs, for people."""
        super().__init__(parent)
        self.setObjectName(names.ABOUT_DIALOG)
        self.setWindowTitle("About relpos-viewer")
        self._versions = versions(device)
        picture = QLabel()
        picture.setPixmap(app_icon().pixmap(72, 72))
        title = QLabel(f"relpos-viewer {relpos_viewer.__version__}")
        title.setProperty("title", True)
        purpose = QLabel("See, edit and measure how position shapes attention.\nBSD 3-Clause licence.")
        details = QLabel("\n".join(f"{name} {version}" for name, version in self._versions))
        details.setProperty("muted", True)
        details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        copy = QPushButton("Copy versions")
        copy.clicked.connect(self._on_copy)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
        for button in buttons.buttons():
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        words = QVBoxLayout()
        words.setSpacing(8)
        for label in (title, purpose, details):
            words.addWidget(label)
        row = QHBoxLayout()
        row.setSpacing(18)
        row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 20, 22, 14)
        column.setSpacing(16)
        column.addLayout(row)
        column.addWidget(buttons)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(
            "\n".join(f"{name} {version}" for name, version in self._versions)
        )


def versions(device: str) -> list[tuple[str, str]]:
    """Return names and versions of what the program stands on."""
    return [
        ("relpos-viewer", relpos_viewer.__version__),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("Qt", qVersion()),
        ("pyqtgraph", metadata.version("pyqtgraph")),
        ("torch", f"{torch.__version__}, computing on {device}"),
    ]
