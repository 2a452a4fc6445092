"""ExtrapolationDialog: the document's encoding on sequences longer than those of its training."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QHideEvent, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from relpos_viewer.app.extrapolation import (
    HEAD_DIM,
    ExtrapolationMaker,
    Longer,
    MeasuredAt,
    MeasureRequest,
    PictureRequest,
    Subject,
)
from relpos_viewer.app.frames import Frame
from relpos_viewer.app.runner import LatestRunner
from relpos_viewer.core.encodings.rope import Rope
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.core.extrapolation import (
    LONGEST,
    MOST_MEASURED,
    SHORTEST,
    Measured,
    log_distances,
    measured_lengths,
    scalings,
    statement,
)
from relpos_viewer.document.arrays import same
from relpos_viewer.document.document import TextSource, replace
from relpos_viewer.views import names
from relpos_viewer.views.extrapolation_charts import (
    SCALING_COLOURS,
    curve_chart,
    growth_charts,
    scaling_chart,
)
from relpos_viewer.views.length_slider import LengthSlider, length_of, step_of
from relpos_viewer.views.line_chart import Chart, LineChart
from relpos_viewer.views.placed_dialog import PlacedDialog
from relpos_viewer.views.sentences import told
from relpos_viewer.views.theme import Theme
from relpos_viewer.views.weights_picture import WeightsPicture

FIRST_TRAINED = 1024  # where the family does not say
PIXELS = 384  # of the picture's sides
RULE_TITLES = {
    "none": "none",
    "linear": "linear",
    "ntk": "NTK",
    "dynamic": "dynamic NTK",
    "yarn": "YaRN",
    "llama3": "Llama 3",
}


class ExtrapolationDialog(PlacedDialog):
    """Non-modal: it follows the document. Call `close_runner` before the window ends: it owns a thread."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(names.EXTRAPOLATION_DIALOG)
        self.setWindowTitle("Extrapolation")
        self.resize(1080, 800)
        self._theme = theme
        self._frame: Frame | None = None
        self._subject: Subject | None = None
        self._asked: PictureRequest | MeasureRequest | None = None
        self._shown: Longer | None = None
        self._measured: dict[int, Measured] = {}
        self._refused: tuple[int, str] | None = None  # length from which figures are refused, and why
        self._given_up = False
        self._maker = ExtrapolationMaker()
        self._runner = LatestRunner(self._maker, self)
        self._runner.delivered.connect(self._on_answer)
        self._runner.failed.connect(self._on_failure)
        self._runner.busy.connect(self._on_busy)
        self._runner.progress.connect(lambda share: self._progress.setValue(round(100 * share)))
        self._lay_out()
        self.set_theme(theme)

    # Building

    def _lay_out(self) -> None:
        self.slider = LengthSlider()
        self.slider.setObjectName(names.EXTRAPOLATION_SLIDER)
        self.slider.setAccessibleName("Length of the sequence, on a logarithmic scale")
        self.slider.setValue(step_of(2 * FIRST_TRAINED))
        self.length = _number(
            names.EXTRAPOLATION_LENGTH, "Length of the sequence", SHORTEST, LONGEST, 2 * FIRST_TRAINED
        )
        self.trained = _number(names.EXTRAPOLATION_TRAINED, "Trained length", 2, 2**30, FIRST_TRAINED)
        self.head = _number(names.EXTRAPOLATION_HEAD, "Head", 0, 0, 0)
        self.source = QComboBox()
        self.source.setObjectName(names.EXTRAPOLATION_SOURCE)
        self.source.setAccessibleName("What the sequence is made of")
        self.source.addItem("random q, k", "random")
        self.slider.valueChanged.connect(self._on_slider)
        self.slider.sliderReleased.connect(self._ask)
        self.length.valueChanged.connect(self._on_length)
        self.trained.valueChanged.connect(self._on_trained)
        self.head.valueChanged.connect(self._on_choice)
        self.source.currentIndexChanged.connect(self._on_choice)

        first = QHBoxLayout()
        first.setSpacing(10)
        first.addWidget(_label("&Length n", self.length))
        first.addWidget(self.slider, 1)
        first.addWidget(self.length)
        second = QHBoxLayout()
        second.setSpacing(10)
        self._title = QLabel()
        self._title.setProperty("title", True)
        second.addWidget(self._title)
        second.addStretch(1)
        for text, widget in (
            ("&Trained length", self.trained),
            ("&Head", self.head),
            ("&Sequence", self.source),
        ):
            second.addWidget(_label(text, widget))
            second.addWidget(widget)
        self.sentence = QLabel()
        self.sentence.setObjectName(names.EXTRAPOLATION_SENTENCE)
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

        self.curve = LineChart(names.EXTRAPOLATION_CURVE)
        self.picture = WeightsPicture()
        self.distance = LineChart(names.EXTRAPOLATION_DISTANCE)
        self.entropy = LineChart(names.EXTRAPOLATION_ENTROPY)
        self.rules = _RuleCard()
        grid = QGridLayout()
        grid.setSpacing(8)
        grid.addWidget(self.curve, 0, 0, 1, 4)
        grid.addWidget(self.picture, 0, 4, 1, 3)
        grid.addWidget(self.distance, 1, 0, 1, 2)
        grid.addWidget(self.entropy, 1, 2, 1, 2)
        grid.addWidget(self.rules, 1, 4, 1, 3)
        self._grid = grid
        grid.setRowStretch(0, 5)
        grid.setRowStretch(1, 4)
        for column in range(7):
            grid.setColumnStretch(column, 1)

        self._state = QLabel()
        self._state.setProperty("muted", True)
        self._progress = QProgressBar()
        self._progress.setFixedWidth(150)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName("How far the computation is")
        self.stop = QPushButton("Stop")
        self.stop.setObjectName(names.EXTRAPOLATION_STOP)
        self.stop.setAutoDefault(False)
        self.stop.clicked.connect(self._on_stop)
        close = QPushButton("Close")
        close.setAutoDefault(False)
        close.clicked.connect(self.reject)
        last = QHBoxLayout()
        last.addWidget(self._state, 1)
        for widget in (self._progress, self.stop, close):
            last.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addLayout(second)
        column.addLayout(first)
        column.addWidget(self.sentence)
        column.addLayout(grid, 1)
        column.addLayout(last)
        self._on_busy(False)

    # From the window

    @property
    def is_settled(self) -> bool:
        """Whether everything that was asked for is on show."""
        return self.isVisible() and not self._runner.is_busy

    @property
    def state(self) -> str:
        """What the last line says of the work."""
        return self._state.text()

    def set_frame(self, frame: Frame) -> None:
        """Follow the document of a frame."""
        before, self._frame = self._frame, frame
        document = frame.document
        family = document.encoding.build()
        for box in (self.trained, self.head, self.source):
            box.blockSignals(True)
        known = family.trained_length()
        if known is not None:
            self.trained.setValue(max(known, 2))
        elif before is None or before.document.encoding.name != document.encoding.name:
            self.trained.setValue(FIRST_TRAINED)
        self.trained.setEnabled(known is None)
        self.trained.setToolTip(
            "Up to which length the model was trained; the family does not say it."
            if known is None
            else f"{family.title} says it itself."
        )
        self.head.setMaximum(frame.inputs.heads - 1)
        if before is None or before.document.head != document.head:
            self.head.setValue(document.head)
        typed = isinstance(document.source, TextSource)
        if typed != (self.source.count() > 1):
            if typed:
                self.source.addItem("your text, repeated", "text")
            else:
                self.source.removeItem(1)
        for box in (self.trained, self.head, self.source):
            box.blockSignals(False)
        self.slider.set_trained(self.trained.value())
        if before is None:  # something to look at: twice the trained length
            self.length.setValue(2 * self.trained.value())
        self._title.setText(family.title)
        self._on_choice()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        for part in (self.slider, self.curve, self.distance, self.entropy, self.rules):
            part.set_theme(theme)
        self._show_all()

    def close_runner(self) -> None:
        """End the thread."""
        self._runner.close()
        self._maker.close()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the document."""
        super().showEvent(event)
        self.slider.setFocus()
        self._on_choice()

    def hideEvent(self, event: QHideEvent) -> None:
        """Compute nothing that nobody sees."""
        super().hideEvent(event)
        self._runner.cancel()
        self._asked = None

    # Hands

    @Slot(int)
    def _on_slider(self, step: int) -> None:
        n = length_of(step)
        if step_of(self.length.value()) != step:
            self.length.setValue(n)

    @Slot(int)
    def _on_length(self, n: int) -> None:
        self.slider.setValue(step_of(n))
        self._ask()

    @Slot(int)
    def _on_trained(self, n: int) -> None:
        self.slider.set_trained(n)
        self._show_all()

    @Slot()
    def _on_choice(self, _value: object = None) -> None:
        """Take head, sequence and document as they are now."""
        frame = self._frame
        if frame is None:
            return
        document = frame.document
        repeats = self.source.currentData() == "text" and frame.inputs.q is not None
        subject = Subject(
            encoding=document.encoding,
            head=self.head.value(),
            heads=frame.inputs.heads,
            head_dim=frame.inputs.head_dim or HEAD_DIM,
            scale=document.scale if repeats else None,
            text=frame.inputs if repeats else None,
            # A first query's weight is 1 and a late one's 1/n: only a logarithm shows both.
            view=replace(document.view, weights_scale="log", levels="auto", locked=None),
            device=frame.device,
        )
        if self._subject is None or not same(subject.key, self._subject.key):
            self._measured, self._refused = {}, None
        elif self._asked is not None and self._subject.view == subject.view:
            return  # nothing that counts here has changed
        self._subject = subject
        self._ask()

    @Slot()
    def _ask(self) -> None:
        """Ask for the picture of the newest length; whatever takes long for another one is given up."""
        if self._subject is None or not self.isVisible():
            return
        self._given_up = False
        if isinstance(self._asked, MeasureRequest) or (self._asked is not None and not self._asked.quick):
            self._runner.cancel()
        self._submit(PictureRequest(self._subject, self.length.value(), (PIXELS, PIXELS), quick=True))
        self._show_sentence()
        self._show_rules()

    def _submit(self, request: PictureRequest | MeasureRequest) -> None:
        self._asked = request
        self._runner.submit(request)

    @Slot()
    def _on_stop(self) -> None:
        self._given_up = True
        self._runner.cancel()
        self._say_state()

    # Answers

    @Slot(object)
    def _on_answer(self, answer: Longer | MeasuredAt) -> None:
        if isinstance(answer, Longer):
            self._shown = answer
            self._show_picture()
        elif self._subject is not None and same(answer.request.subject.key, self._subject.key):
            self._measured[answer.measured.n] = answer.measured
        self._show_growth()
        self._follow_up()

    @Slot(object)
    def _on_failure(self, error: Exception) -> None:
        sentence = told(error)
        if isinstance(self._asked, MeasureRequest):
            self._refused = (self._asked.n, sentence)
        else:
            self._shown = None
            self._show_refusal(sentence)
        self._show_growth()
        self._follow_up()

    def _follow_up(self) -> None:
        """Ask for what a picture did without: the figures of shorter lengths one by one, then exact pixels."""
        if self._runner.is_busy or self.slider.isSliderDown() or self._given_up or self._subject is None:
            self._say_state()
            return
        shown, n = self._shown, self.length.value()
        end = LONGEST + 1 if self._refused is None else self._refused[0]
        missing = [each for each in measured_lengths(n) if each not in self._measured and each < end]
        if missing:
            self._submit(MeasureRequest(self._subject, missing[0]))
        elif shown is not None and not shown.complete and shown.request.n == n:
            # The longest takes half a minute on two cores: last.
            self._submit(PictureRequest(self._subject, n, (PIXELS, PIXELS), quick=False))
        self._say_state()

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if not busy:
            self._progress.setValue(0)
        for widget in (self._progress, self.stop):
            policy = widget.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            widget.setSizePolicy(policy)
            widget.setVisible(busy)

    # What is shown

    def _show_all(self) -> None:
        self._show_sentence()
        self._show_picture()
        self._show_growth()
        self._show_rules()

    def _show_sentence(self) -> None:
        if self._subject is None:
            return
        try:
            family = self._subject.encoding.build()
            words = statement(family, self.trained.value(), self.length.value(), self._subject.head_dim)
        except ViewerError as error:
            words = told(error)
        self.sentence.setText(words)

    def _show_picture(self) -> None:
        shown = self._shown
        view = "auto" if self._subject is None else self._subject.view.weights_map
        self.picture.set_look(self._theme, view)
        if shown is None:
            return
        n, trained = shown.request.n, self.trained.value()
        of = f"Weights of head {shown.request.subject.head} at n = {n:,}"
        title = of if shown.exact else f"{of}, sampled"
        self.picture.set_weights(shown.codes, shown.levels, title, min(trained / n, 1.0))
        self.curve.set_chart(curve_chart(shown.curves, trained, self._theme))

    def _show_refusal(self, sentence: str) -> None:
        self.picture.set_refusal(sentence)
        self.curve.set_chart(
            Chart("Curve b(δ)", [], (0.0, 1.0), [], "offset δ", note="No curve at this length.")
        )

    def _show_growth(self) -> None:
        longest = min(self.length.value(), MOST_MEASURED)
        found = [each for n, each in self._measured.items() if n <= longest]
        refused = "" if self._refused is None or found else self._refused[1]
        charts = growth_charts(found, longest, self.trained.value(), self._theme, refused)
        for part, chart in zip((self.distance, self.entropy), charts, strict=True):
            part.set_chart(chart)

    def _show_rules(self) -> None:
        family = None if self._subject is None else self._subject.encoding.build()
        shown = isinstance(family, Rope)
        if shown != (not self.rules.isHidden()):
            self.rules.setVisible(shown)
            # Without rules the charts of figures take their room.
            for part, place in (
                (self.distance, (0, 2) if shown else (0, 4)),
                (self.entropy, (2, 2) if shown else (4, 3)),
            ):
                self._grid.addWidget(part, 1, place[0], 1, place[1])
        if isinstance(family, Rope) and self._subject is not None:
            try:
                self.rules.set_rules(
                    family, self._subject.head_dim, self.length.value(), self.trained.value()
                )
            except ViewerError:
                self.rules.setVisible(False)  # the sentence says why nothing turns

    def _say_state(self) -> None:
        asked, words = self._asked, []
        if self._given_up:
            words.append("Stopped: what is shown may be sampled or incomplete.")
        elif self._runner.is_busy and isinstance(asked, MeasureRequest):
            words.append(f"Measuring weights at n = {asked.n:,}…")
        elif self._runner.is_busy and asked is not None and not asked.quick:
            words.append("Summing every row exactly…")
        else:
            words.append("Causal mask.")
            if self._subject is not None and self._subject.text is None:
                words.append("The same seeded queries and keys at every length.")
        if self._frame is not None and not self._frame.document.edit.is_zero:
            words.append("Without your edit.")
        self._state.setText(" ".join(words))


class _RuleCard(QFrame):
    """RoPE's scalings side by side: a table, and their mean rotations."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.table = QTableWidget(len(RULE_TITLES), 3)
        self.table.setObjectName(names.EXTRAPOLATION_RULES)
        self.table.setAccessibleName("RoPE scalings side by side")
        self.table.setHorizontalHeaderLabels(["scaling", "longest wave / n", "pairs with new angles"])
        self.table.verticalHeader().hide()
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setShowGrid(False)
        self.table.setFrameShape(QFrame.Shape.NoFrame)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.horizontalHeader().setStretchLastSection(True)
        height = self.table.fontMetrics().height() + 4
        self.table.verticalHeader().setMinimumSectionSize(height)
        self.table.verticalHeader().setDefaultSectionSize(height)
        self.table.setFixedHeight(
            height * len(RULE_TITLES) + self.table.horizontalHeader().sizeHint().height() + 4
        )
        self.table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.chart = LineChart(names.EXTRAPOLATION_ROTATION)
        self.chart.setProperty("card", False)
        self.chart.setMinimumHeight(110)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 2)
        column.setSpacing(0)
        column.addWidget(self.table)
        column.addWidget(self.chart, 1)
        for row, (rule, title) in enumerate(RULE_TITLES.items()):
            swatch = QPixmap(14, 4)
            swatch.fill(QColor(SCALING_COLOURS[rule]))
            for place in range(3):
                self.table.setItem(row, place, QTableWidgetItem(title if place == 0 else ""))
            self.table.item(row, 0).setIcon(swatch)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.chart.set_theme(theme)

    def set_rules(self, rope: Rope, head_dim: int, n: int, n_trained: int) -> None:
        """Compare the rules at a length.

        Raises:
            ViewerError: when pairs do not come out even.
        """
        distances = log_distances(n)
        rows = scalings(rope, n_trained, n, head_dim, distances)
        for place, row in enumerate(rows):
            self.table.item(place, 1).setText(f"{row.longest / n:.3g}")
            self.table.item(place, 1).setToolTip(
                f"The slowest pair turns once in {row.longest:,.0f} positions."
            )
            self.table.item(place, 2).setText(f"{row.share:.0%}  ({row.new} of {row.pairs})")
        self.chart.set_chart(scaling_chart(rows, np.asarray(distances), n, n_trained))


def _number(name: str, title: str, low: int, high: int, value: int) -> QSpinBox:
    box = QSpinBox()
    box.setObjectName(name)
    box.setAccessibleName(title)
    box.setRange(low, high)
    box.setValue(value)
    box.setGroupSeparatorShown(True)
    box.setKeyboardTracking(False)
    return box


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    return label
