"""Steps: what can be taken back and done again, and how much of it is kept. No Qt."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from relpos_viewer.document.document import Document

# An edit of four heads over 131,072 keys is 4 MB: 64 steps of it.
MOST_STEPS, MOST_BYTES = 200, 256 << 20
# A short text in Python, with its place in a tuple.
TOKEN_BYTES = 64


@dataclass(eq=False)
class Step:
    """From one document to another. Both share all parts that did not change, so a step is small."""

    before: Document
    after: Document
    name: str


class Steps:
    """A line of steps with a place in it: those before the place can be undone, those after it done again.

    Attributes:
        undoable, redoable: steps, oldest first; the next to redo is the last of `redoable`.
    """

    def __init__(self, most: int = MOST_STEPS, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self.undoable: list[Step] = []
        self.redoable: list[Step] = []
        # How many steps lie before the place that was saved; None when no way leads there.
        self._clean: int | None = 0

    @property
    def clean(self) -> bool:
        """Whether the place is the one that was saved."""
        return self._clean == len(self.undoable)

    def set_clean(self, clean: bool) -> None:
        """Call this place the saved one, or no place at all."""
        self._clean = len(self.undoable) if clean else None

    def clear(self) -> None:
        """Forget all steps; this place is clean."""
        self.undoable, self.redoable, self._clean = [], [], 0

    def add(self, step: Step) -> None:
        """Take a step that has been made; what had been undone can no longer be redone."""
        if self._clean is not None and self._clean > len(self.undoable):
            self._clean = None
        self.redoable.clear()
        self.undoable.append(step)
        self.trim()

    def undo(self) -> Step | None:
        """Go back by a step and return it; None when there is none."""
        return _moved(self.undoable, self.redoable)

    def redo(self) -> Step | None:
        """Go forward by a step and return it; None when there is none."""
        return _moved(self.redoable, self.undoable)

    def trim(self) -> None:
        """Forget the oldest steps that are too many or too large; the last one always stays.

        What the newest document holds itself costs nothing, and what several steps share counts once.
        """
        keep, used = 0, 0
        seen = {id(part) for part, _ in _parts(self.undoable[-1].after)}
        for step in reversed(self.undoable[-self._most :]):
            for part, size in (*_parts(step.after), *_parts(step.before)):
                if id(part) not in seen:
                    seen.add(id(part))
                    used += size
            if keep and used > self._most_bytes:
                break
            keep += 1
        dropped = len(self.undoable) - keep
        del self.undoable[:dropped]
        if self._clean is not None:
            self._clean = self._clean - dropped if self._clean >= dropped else None


def _moved(source: list[Step], target: list[Step]) -> Step | None:
    if not source:
        return None
    step = source.pop()
    target.append(step)
    return step


def _parts(value: Any) -> list[tuple[Any, int]]:
    """Return whatever is large in a document, with its bytes: arrays, texts and tuples."""
    if isinstance(value, np.ndarray):
        return [(value, value.nbytes)]
    if isinstance(value, str):
        return [(value, sys.getsizeof(value))]
    if isinstance(value, tuple):
        return [(value, TOKEN_BYTES * len(value))]
    if isinstance(value, Mapping):
        return [part for each in value.values() for part in _parts(each)]
    if isinstance(value, msgspec.Struct):
        return [part for name in value.__struct_fields__ for part in _parts(getattr(value, name))]
    return []
