"""The stable object names of every interactive widget: tests, style sheets and screen readers rely on them."""

from __future__ import annotations

# Main window
MAIN_WINDOW = "mainWindow"
CENTRAL = "central"
TOP_BAR = "topBar"
STATUS_LEFT = "statusLeft"
STATUS_CELL = "statusCell"
STATUS_FIGURES = "statusFigures"
HEAD_BOX = "headBox"
MASK_BOX = "maskBox"
MASK_ARGUMENT = "maskArgument"
SCALE_BOX = "scaleBox"
ENCODING_BOX = "encodingBox"
PARAMETERS_BUTTON = "parametersButton"
LEVELS_BOX = "levelsBox"
EXPORT_BUTTON = "exportButton"
MENU_BUTTON = "menuButton"

# Matrix views
EQUATION_ROW = "equationRow"

# Curve editor
CURVE_EDITOR = "curveEditor"

# Inspector
INSPECTOR = "inspector"

# Sequence panel
SEQUENCE_PANEL = "sequencePanel"

# Dialogs
MESSAGE_BAR = "messageBar"
