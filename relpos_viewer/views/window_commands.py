"""What each action of the table does, and what state it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog

from relpos_viewer.app import devices
from relpos_viewer.document.document import TextSource, replace
from relpos_viewer.views.curve_ranges import RANGE_TOOLS
from relpos_viewer.views.dialogs import AboutDialog, HelpDialog, ShortcutsDialog
from relpos_viewer.views.formula_dialog import FormulaDialog, remembered
from relpos_viewer.views.levels_dialog import LevelsDialog
from relpos_viewer.views.source_dialog import SourceDialog

if TYPE_CHECKING:
    from relpos_viewer.views.main_window import MainWindow

RADIUS_STEP = 1


class WindowCommands(QObject):
    """The commands of one window. GUI thread only."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dialogs: dict[type, QDialog] = {}

    def plain(self) -> dict[str, Callable[[], object]]:
        """Return what every action without a group does, by id."""
        window = self._window
        files, history, curve = window.files, window.history, window.curve
        equation = window.equation

        def bias(name: str, *arguments: object) -> Callable[[], object]:
            return lambda: getattr(window.bias_editor, name)(*arguments)

        return {
            "new": files.new,
            "open": files.ask_open,
            "save": files.save,
            "save_as": files.save_as,
            "export_figure": files.export_figure,
            "export_data": files.export_data,
            "export_curve": files.export_curve,
            "export_encoding": files.export_encoding,
            "copy_code": files.copy_code,
            "copy_picture": files.copy_picture,
            "quit": window.close,
            "undo": history.undo,
            "redo": history.redo,
            "copy_curve": bias("copy_values"),
            "paste_curve": bias("paste_values"),
            "exact_value": bias("open_entry"),
            "reset_point": bias("reset_selection"),
            "reset_curve": bias("reset_head"),
            "reset_all": bias("reset_all"),
            "range_scale": bias("ask_scale"),
            "range_shift": bias("ask_shift"),
            "range_mirror": bias("mirror_range"),
            "range_formula": self.ask_formula,
            **{f"range_{name}": bias("reshape", name) for name in RANGE_TOOLS},
            "mirror": lambda: setattr(curve, "mirror", not curve.mirror),
            "snap": lambda: setattr(curve, "snap", not curve.snap),
            "all_heads": lambda: setattr(curve, "all_heads", not curve.all_heads),
            "full_view": equation.show_all,
            "zoom_in": lambda: equation.zoom(0.5),
            "zoom_out": lambda: equation.zoom(2.0),
            "inspector": window.toggle_inspector,
            "head_strip": self._toggle_heads,
            "labels": lambda: self._toggle_view("labels"),
            "lock_levels": self.lock_levels,
            "weights_log": self.toggle_weights_log,
            "hide_first_key": lambda: self._toggle_view("hide_first_key"),
            "edit_text": window.sequence.editor.setFocus,
            "tokens_from": files.ask_tokens,
            "axes": files.ask_axes,
            "source_size": self.source_size,
            "next_head": lambda: self.show_head(self._head + 1),
            "previous_head": lambda: self.show_head(self._head - 1),
            "edit_curve": bias("setFocus"),
            "radius_up": lambda: self._turn_radius(RADIUS_STEP),
            "radius_down": lambda: self._turn_radius(-RADIUS_STEP),
            "fit": window.fits.open,
            "conventions": window.tools.show_conventions,
            "shift_test": window.tools.show_shift,
            "extrapolation": window.tools.show_extrapolation,
            "getting_started": lambda: self._open(HelpDialog, lambda: HelpDialog(window.theme, window)),
            "shortcuts": lambda: self._open(ShortcutsDialog, lambda: ShortcutsDialog(window)),
            "about": lambda: self._open(
                AboutDialog, lambda: AboutDialog(devices.describe(window.device), window)
            ),
        }

    def choices(self) -> dict[str, Callable[[str], object]]:
        """Return what choosing a value of each group does."""
        window = self._window
        return {
            "layout": self.set_layout,
            "levels": self.set_levels,
            "reduce": lambda value: self._set_view(reduce=value),
            "terms_map": lambda value: self._set_view(terms_map=value),
            "weights_map": lambda value: self._set_view(weights_map=value),
            "curve_axis": lambda value: self._set_view(curve_axis=value),
            "theme": self.set_theme,
            "tokenizer": self.set_tokenizer,
            "tool": lambda value: setattr(window.bias_editor.tools, "tool", value),
            "shape": lambda value: setattr(window.curve, "shape", value),
        }

    def show_states(self, actions: Mapping[str, QAction]) -> None:
        """Make the actions show what is chosen, and grey out what cannot be done."""
        window = self._window
        history, curve, document = window.history, window.curve, window.session.document
        view = document.view
        undo, redo = actions["undo"], actions["redo"]
        undo.setEnabled(history.can_undo)
        redo.setEnabled(history.can_redo)
        undo.setText(f"Undo {history.undo_name}".strip())
        redo.setText(f"Redo {history.redo_name}".strip())
        checks = {
            "mirror": curve.mirror,
            "snap": curve.snap,
            "all_heads": curve.all_heads,
            "inspector": window.inspector.isVisible(),
            "head_strip": window.settings.head_strip,
            "labels": view.labels,
            "lock_levels": view.locked is not None,
            "weights_log": view.weights_scale == "log",
            "hide_first_key": view.hide_first_key,
            f"layout:{view.layout}": True,
            f"levels:{view.levels}": True,
            f"reduce:{view.reduce}": True,
            f"terms_map:{view.terms_map}": True,
            f"weights_map:{view.weights_map}": True,
            f"curve_axis:{view.curve_axis}": True,
            f"theme:{window.settings.theme}": True,
            f"shape:{curve.shape}": True,
        }
        typed = isinstance(document.source, TextSource)
        if isinstance(document.source, TextSource):
            checks[f"tokenizer:{document.source.tokenizer}"] = True
        # A plane has a brush as the curve has one, and a selection, which the curve's menu does not know.
        tool = f"tool:{window.bias_editor.tools.tool}"
        checks.update({name: name == tool for name in actions if name.startswith("tool:")})
        for name, on in checks.items():
            if name in actions:
                actions[name].setChecked(on)
        for name, action in actions.items():
            if name.startswith("tokenizer:") or name == "source_size":
                action.setEnabled(typed)
        actions["tokens_from"].setEnabled(not typed)
        has_vectors = not typed and "q" in document.source.arrays and bool(document.source.path)
        actions["axes"].setEnabled(has_vectors)
        frame = window.frame
        actions["snap"].setEnabled(frame is not None and frame.curves.buckets is not None)
        along_a_line = window.bias_editor is curve
        for name in ("mirror", "tool:freehand", "tool:anchors", "range_straighten"):
            actions[name].setEnabled(along_a_line)
        actions["tool:handles"].setEnabled(curve.tools.has_handles)
        heads = 1 if frame is None else frame.inputs.heads
        for name, here in (("next_head", self._head < heads - 1), ("previous_head", self._head > 0)):
            actions[name].setEnabled(here)

    # Heads and curves

    @property
    def _head(self) -> int:
        return self._window.session.document.head

    def show_head(self, head: int) -> None:
        """Show head `head`, if there is one."""
        frame = self._window.frame
        heads = self._window.session.document.heads if frame is None else frame.inputs.heads
        if 0 <= head < heads:
            self._set_view(head=head)

    def _toggle_heads(self) -> None:
        self._window.heads.toggle()
        self.show_states(self._window.actions_by_id)

    def _turn_radius(self, steps: int) -> None:
        self._window.curve.tools.turn_radius(steps, True)

    # The range of the curve

    def ask_formula(self) -> None:
        """Ask for a formula for the range, right above the curve, which shows it."""
        window, curve = self._window, self._window.curve
        if window.bias_editor is window.plane:
            window.plane.ask_formula()
            return
        if window.frame is None or not curve.begin_trial():
            return
        dialog = FormulaDialog(curve, window.settings.formulas, window.theme, window)
        dialog.kept.connect(self._keep_formula)
        dialog.finished.connect(dialog.deleteLater)
        dialog.adjustSize()
        top = curve.mapToGlobal(curve.rect().topLeft())
        dialog.move(top.x() + (curve.width() - dialog.width()) // 2, max(0, top.y() - dialog.height() - 40))
        dialog.open()

    @Slot(str)
    def _keep_formula(self, text: str) -> None:
        settings = self._window.settings
        settings.formulas = remembered(settings.formulas, text)

    @Slot()
    def fill_heads(self) -> None:
        """Fill the menu of heads to copy from with those that there are."""
        menu, frame = self._window.menus["Edit/Range/Copy from head"], self._window.frame
        menu.clear()
        for head in range(0 if frame is None else frame.inputs.heads):
            action = menu.addAction(f"Head {head}")
            action.setData(head)
            action.setEnabled(head != self._head)

    @Slot(QAction)
    def on_copy_from(self, action: QAction) -> None:
        """Copy the range of a menu entry's head."""
        self._window.bias_editor.copy_from(action.data())

    # Sequence

    def set_tokenizer(self, tokenizer: str) -> None:
        """Cut the typed text in another way."""
        document = self._window.session.document
        if isinstance(document.source, TextSource) and tokenizer != document.source.tokenizer:
            source = replace(document.source, tokenizer=tokenizer)
            self._window.history.push(replace(document, source=source), "Change tokenizer")
        self._window._show_actions()

    def source_size(self) -> None:
        """Ask for the number of heads, their width and the seed of typed text."""
        document = self._window.session.document
        if not isinstance(document.source, TextSource):
            return
        dialog = SourceDialog(document.source, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self._window.history.push(replace(document, source=dialog.source()), "Change heads")
        dialog.deleteLater()

    # How it is shown

    def _set_view(self, **changes: object) -> None:
        window = self._window
        window.history.set_view(replace(window.session.document.view, **changes))

    def _toggle_view(self, name: str) -> None:
        self._set_view(**{name: not getattr(self._window.session.document.view, name)})

    def set_layout(self, layout: str) -> None:
        """Arrange the panels."""
        self._set_view(layout=layout)

    def set_theme(self, theme: str) -> None:
        """Be light, dark, or as the system is."""
        self._window.settings.theme = theme
        self._window.apply_theme()
        self._window._show_actions()

    def set_levels(self, mode: str) -> None:
        """Choose where the limits of the colours come from."""
        window = self._window
        view = window.session.document.view
        if mode != "typed":
            self._set_view(levels=mode, locked=None)
            return
        tiles = {} if window.frame is None else window.frame.tiles
        dialog = LevelsDialog(view, {stage: tile.levels for stage, tile in tiles.items()}, window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            low, high, weights_low, weights_high = dialog.limits()
            self._set_view(
                levels="typed",
                low=low,
                high=high,
                weights_low=weights_low,
                weights_high=weights_high,
                locked=None,
            )
        dialog.deleteLater()
        window._show_actions()

    def lock_levels(self) -> None:
        """Keep the limits of the moment, or let them follow the numbers again."""
        window = self._window
        if window.session.document.view.locked is not None or window.frame is None:
            self._set_view(locked=None)
        else:
            tiles = window.frame.tiles
            self._set_view(
                locked=tuple((stage, tile.levels.low, tile.levels.high) for stage, tile in tiles.items())
            )

    def toggle_weights_log(self) -> None:
        """Colour the weights by their logarithm, or by themselves."""
        view = self._window.session.document.view
        self._set_view(weights_scale="linear" if view.weights_scale == "log" else "log")

    @Slot()
    def fill_devices(self) -> None:
        """Fill the menu of devices with those that are there now."""
        window = self._window
        menu = window.menus["Device"]
        menu.clear()
        for device, title in devices.available():
            action = menu.addAction(title)
            action.setData(device)
            action.setCheckable(True)
            action.setChecked(device == window.device)

    @Slot(QAction)
    def on_device(self, action: QAction) -> None:
        """Compute on the device of a menu entry."""
        self._window.set_device(action.data())

    def _open(self, kind: type, make: Callable[[], QDialog]) -> None:
        """Show a dialog that stays open beside the window, one of each kind."""
        if kind not in self._dialogs:
            self._dialogs[kind] = make()
        dialog = self._dialogs[kind]
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
