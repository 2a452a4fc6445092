"""HelpDialog: the short texts of ``resources/help`` with their topics beside them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.resources import resource
from relpos_viewer.views import names
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.theme import Theme

TOPICS = ("getting-started", "equation", "curve", "encodings", "keyboard", "files")

PICTURE = "\ufffc"  # stands in the text where a picture is
SIZE = (960, 660)  # the pictures of families are seen whole


class HelpDialog(PlacedDialog):
    """Non-modal: it may stay open beside the window while one tries things out."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName(names.HELP_DIALOG)
        self.setWindowTitle("Help")
        self.resize(*SIZE)
        self._topics = QListWidget()
        self._topics.setObjectName(names.HELP_TOPICS)
        self._topics.setAccessibleName("Topics")
        self._topics.setFixedWidth(178)
        for topic in TOPICS:
            item = QListWidgetItem(_title(topic))
            item.setData(Qt.ItemDataRole.UserRole, topic)
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 10))
            self._topics.addItem(item)
        self._topics.currentItemChanged.connect(self._on_topic)
        self._text = QTextBrowser()
        self._text.setObjectName(names.HELP_TEXT)
        self._text.setAccessibleName("Help text")
        self._text.setOpenLinks(False)
        self._text.anchorClicked.connect(self._on_link)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self._topics)
        row.addWidget(self._text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 14, 14, 12)
        column.addLayout(row, 1)
        column.addWidget(buttons)
        self._topics.setCurrentRow(0)

    def show_topic(self, topic: str) -> None:
        """Turn to one of `TOPICS`."""
        self._topics.setCurrentRow(TOPICS.index(topic))

    def topic(self) -> str:
        """Return the topic that is open."""
        return TOPICS[self._topics.currentRow()]

    def _on_topic(self, item: QListWidgetItem) -> None:
        source = resource("help", f"{item.data(Qt.ItemDataRole.UserRole)}.md")
        # Pictures are found beside the text.
        self._text.document().setBaseUrl(QUrl.fromLocalFile(str(source)))
        self._text.setMarkdown(source.read_text(encoding="utf-8"))
        self._loosen()
        self._text.moveCursor(QTextCursor.MoveOperation.Start)

    def _loosen(self) -> None:
        """Give lines, paragraphs and tables some air: Qt sets Markdown solid."""
        document = self._text.document()
        for table in document.rootFrame().childFrames():
            if isinstance(table, QTextTable):
                style = table.format()
                style.setBorderCollapse(True)
                style.setBorderBrush(QColor(self._theme.border))
                style.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                style.setCellPadding(5)
                style.setTopMargin(4)
                style.setBottomMargin(14)
                table.setFormat(style)
        block = document.begin()
        while block.isValid():
            cursor = QTextCursor(block)
            style = QTextBlockFormat()
            # The height of a picture's line is the picture's.
            percent = 100 if PICTURE in block.text() else 130
            style.setLineHeight(percent, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            if cursor.currentTable() is None:
                style.setBottomMargin(4 if block.textList() else 9)
                style.setTopMargin(0)
            cursor.mergeBlockFormat(style)
            if block.blockFormat().headingLevel():
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                letters = QTextCharFormat()
                # Qt's own headings are up to twice the text's size; a step or two is enough here.
                step = 1 if block.blockFormat().headingLevel() > 2 else 2
                letters.setProperty(QTextFormat.Property.FontSizeAdjustment, step)
                cursor.mergeCharFormat(letters)
            self._colour_links(block)
            block = block.next()

    def _colour_links(self, block: QTextBlock) -> None:
        """Qt takes the blue of links from the system, which cannot be read on a dark ground."""
        spans = [(each.fragment().position(), each.fragment().length()) for each in block if _is_link(each)]
        for start, length in spans:
            cursor = QTextCursor(block)
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            letters = QTextCharFormat()
            letters.setForeground(QColor(self._theme.accent))
            cursor.mergeCharFormat(letters)

    def _on_link(self, link: QUrl) -> None:
        topic = link.path().removesuffix(".md")
        if not link.scheme() and topic in TOPICS:
            self.show_topic(topic)
        elif link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)


def _is_link(piece: QTextBlock.iterator) -> bool:
    return piece.fragment().charFormat().isAnchor()


def _title(topic: str) -> str:
    """Return a topic's first heading."""
    first = resource("help", f"{topic}.md").read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ").strip()
