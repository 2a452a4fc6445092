"""What went wrong, as a sentence that stands alone: in the message bar, in a dialog, beside a box."""

from __future__ import annotations

from relpos_viewer.core.errors import ViewerError


def told(error: Exception) -> str:
    """Return what to tell people of an error: its own sentence where it was written for them."""
    return as_sentence(str(error)) if isinstance(error, ViewerError) else f"Something went wrong: {error}"


def as_sentence(text: str) -> str:
    """Return `text` with a capital, unless it begins with a name: "q has …", "num_buckets must …", "a.npz is …".

    The core's messages follow "relpos-viewer:" on the command line and begin in lower case.
    """
    word = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if len(word) > 1 and word.isalpha() and word.islower() else text
