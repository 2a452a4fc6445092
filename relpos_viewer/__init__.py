"""See, edit and measure how position shapes attention.

    import relpos_viewer as rv
    result = rv.attention(q, k, encoding=rv.encoding("alibi"), mask="causal")
    rv.view(q, k)

Importing this package is cheap: torch is loaded with the first use of a name, Qt only by `view`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relpos_viewer.core.attention import Attention, attention
    from relpos_viewer.core.encodings import encoding, encodings
    from relpos_viewer.core.errors import ViewerError
    from relpos_viewer.core.fit import explain, fit
    from relpos_viewer.core.score_field import ScoreField
    from relpos_viewer.export.code import code
    from relpos_viewer.views.app import view

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "ScoreField",
    "ViewerError",
    "__version__",
    "attention",
    "code",
    "encoding",
    "encodings",
    "explain",
    "fit",
    "view",
]

_HOME = {
    "Attention": "relpos_viewer.core.attention",
    "ScoreField": "relpos_viewer.core.score_field",
    "ViewerError": "relpos_viewer.core.errors",
    "attention": "relpos_viewer.core.attention",
    "code": "relpos_viewer.export.code",
    "encoding": "relpos_viewer.core.encodings",
    "encodings": "relpos_viewer.core.encodings",
    "explain": "relpos_viewer.core.fit",
    "fit": "relpos_viewer.core.fit",
    "view": "relpos_viewer.views.app",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
