"""The one exception that a user can cause."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ViewerError(ValueError):
    """Something a user can mend.

    ``str(error)`` is one sentence for people: it names the thing and the mend. The window shows it in its
    message bar, the command line prints it and exits with status 2.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean X?"`` for the known name closest to `name`, or every known name when none is."""
    known = list(known)
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known: {', '.join(known)}" if known else ""
