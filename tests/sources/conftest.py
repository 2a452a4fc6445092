"""Small files written for one test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """write("name.suffix", content) → path; content is bytes, text, one array, or a dict of arrays or JSON."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="")
        elif path.suffix == ".npy":
            np.save(path, content, allow_pickle=True)
        elif path.suffix == ".npz":
            np.savez(path, **content)
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write
