"""``python -m relpos_viewer`` is the command ``relpos-viewer``."""

from __future__ import annotations

import sys

from relpos_viewer.cli import main

if __name__ == "__main__":
    sys.exit(main())
