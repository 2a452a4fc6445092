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
# followed by the stage: content, positional, scores, weights
MATRIX_PREFIX = "matrix_"
MATRIX_TITLE_PREFIX = "matrixTitle_"
MATRIX_CANVAS_PREFIX = "matrixCanvas_"

# Curve editor
CURVE_EDITOR = "curveEditor"
CURVE_PLOT = "curvePlot"
CURVE_TOOL_PREFIX = "curveTool_"
CURVE_SHAPE_PREFIX = "curveShape_"
CURVE_RADIUS = "curveRadius"
CURVE_MIRROR = "curveMirror"
CURVE_SNAP = "curveSnap"
CURVE_ALL_HEADS = "curveAllHeads"
CURVE_AXIS = "curveAxis"
CURVE_RESET = "curveReset"
CURVE_ENTRY = "curveEntry"

# Inspector
INSPECTOR = "inspector"
INSPECTOR_COPY = "inspectorCopy"
ROW_BARS = "rowBars"

# Sequence panel
SEQUENCE_PANEL = "sequencePanel"
SEQUENCE_TEXT = "sequenceText"
SEQUENCE_EXPAND = "sequenceExpand"
SEQUENCE_TYPE = "sequenceType"
TOKENIZER_BOX = "tokenizerBox"
SAMPLES_BUTTON = "samplesButton"
TOKEN_STRIP = "tokenStrip"

# Encoding: its parameters are named PARAMETER_PREFIX + the parameter's own name
ENCODING_FORM = "encodingForm"
ENCODING_POPUP = "encodingPopup"
ENCODING_DEFAULTS = "encodingDefaults"
PARAMETER_PREFIX = "parameter_"

# Dialogs
MESSAGE_BAR = "messageBar"
MESSAGE_CLOSE = "messageClose"
EXPORT_DIALOG = "exportDialog"
EXPORT_PANEL_PREFIX = "exportPanel_"
EXPORT_FORMAT = "exportFormat"
EXPORT_WIDTH = "exportWidth"
EXPORT_HEIGHT = "exportHeight"
EXPORT_UNIT = "exportUnit"
EXPORT_DPI = "exportDpi"
EXPORT_TITLE = "exportTitle"
EXPORT_TITLED = "exportTitled"
EXPORT_LABELS = "exportLabels"
EXPORT_THEME = "exportTheme"
EXPORT_SAVE = "exportSave"
EXPORT_COPY = "exportCopy"
QUESTION_DIALOG = "questionDialog"
QUESTION_OPTION_PREFIX = "questionOption_"
QUESTION_REMEMBER = "questionRemember"
POINT_DIALOG = "pointDialog"
POINT_VALUE = "pointValue"
SHORTCUTS_DIALOG = "shortcutsDialog"
SHORTCUTS_SEARCH = "shortcutsSearch"
SHORTCUTS_TABLE = "shortcutsTable"
HELP_DIALOG = "helpDialog"
HELP_TOPICS = "helpTopics"
HELP_TEXT = "helpText"
ABOUT_DIALOG = "aboutDialog"
