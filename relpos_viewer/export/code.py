"""An encoding with its edit as code: a PyTorch function, a FlexAttention score_mod, or its parameters as JSON.

The code stands alone: it imports math and torch, and holds every table it needs. `bias(n_query, n_key)` returns the
positional term in score units, [head, query, key], to be added to the scaled content q·k before softmax; terms that
depend on queries and keys take them as well. The queries are the last of the key positions.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import literal
from relpos_viewer.core.errors import ViewerError

# Source that holds more numbers than this is no longer read by people, nor opened by editors with pleasure.
MOST_NUMBERS = 200_000

_OFFSETS = '''def offsets(n_query, n_key):
    """δ = key − query as int64 [query, key]; the queries are the last of the key positions."""
    keys = torch.arange(n_key)
    return keys[None, :] - keys[n_key - n_query :, None]
'''

_TOEPLITZ_BIAS = '''def bias(n_query, n_key, q=None, k=None, scale=None):
    """The positional term in score units, [head, query, key]."""
    return curve(torch.arange(1 - n_key, n_key))[:, offsets(n_query, n_key) + n_key - 1]
'''

_EDIT_OF_CURVE = '''def curve(offset):
    """The family's curve with the edit, [head, count] at δ [count]."""
    middle = EDIT.shape[1] // 2
    drawn = EDIT[:, offset.clamp(-middle, middle) + middle]  # [head, count]
    return family_curve(offset) + torch.where(offset.abs() <= middle, drawn, 0.0)
'''

_EDIT_OF_BIAS = '''def bias(n_query, n_key, q, k, scale=None):
    """The positional term with the edit, score units, [head, query, key]."""
    offset = offsets(n_query, n_key)  # [query, key]
    middle = EDIT.shape[1] // 2
    drawn = EDIT[:, offset.clamp(-middle, middle) + middle]  # [head, query, key]
    return family_bias(n_query, n_key, q, k, scale) + torch.where(offset.abs() <= middle, drawn, 0.0)
'''

_TOEPLITZ_MOD = '''def score_mod_for(n_query, n_key, device="cpu"):
    """Return a score_mod for torch.nn.attention.flex_attention; it adds the bias to the scaled score."""
    table = curve(torch.arange(1 - n_key, n_key)).float().to(device)  # [head, 2·key−1]
    # The queries are the last positions: δ = key − query − (n_key − n_query), in place δ + n_key − 1.
    zero = n_query - 1

    def score_mod(score, batch, head, query, key):
        return score + table[head, key - query + zero]

    return score_mod
'''

_PAIRWISE_MOD = '''def score_mod_for(q, k, scale=None):
    """Return a score_mod for torch.nn.attention.flex_attention; it adds the bias to the scaled score.

    The term depends on queries and keys, q and k [head, n, d], so it is looked up in a table of all cells.
    """
    table = bias(q.shape[1], k.shape[1], q, k, scale).to(q)  # [head, query, key]

    def score_mod(score, batch, head, query, key):
        return score + table[head, query, key]

    return score_mod
'''


def python_code(encoding: Encoding, n_key: int, edit: np.ndarray | None, head_dim: int | None = None) -> str:
    """Return a Python module with `bias(n_query, n_key, q=None, k=None, scale=None)`.

    Args:
        encoding: for all heads.
        n_key: length for which tables are written down.
        edit: float [head, 2m−1] on top, score units; None for none.
        head_dim: width of a query where it is known.

    Raises:
        ViewerError: when the family cannot be written down, or its tables are too large for source code.
    """
    source = encoding.python(n_key, head_dim)
    if edit is not None and np.any(edit):
        made, edited = ("curve", _EDIT_OF_CURVE) if encoding.toeplitz else ("bias", _EDIT_OF_BIAS)
        source = source.replace(f"def {made}(", f"def family_{made}(")
        source += f"\n\nEDIT = {literal(_trimmed(edit))}  # [head, offset], δ = 0 in the middle\n\n\n{edited}"
    if encoding.toeplitz:
        source += f"\n\n{_TOEPLITZ_BIAS}"
    parts = [_heading(encoding), "import math\n\nimport torch\n", _OFFSETS]
    if source.count(",") > MOST_NUMBERS:
        raise ViewerError(
            f"{encoding.title} would take {source.count(','):,} numbers of source code; export its data instead."
        )
    return "\n\n".join([*parts, source.rstrip() + "\n"]).replace("\n\n\n\n", "\n\n\n")


def score_mod_code(
    encoding: Encoding, n_key: int, edit: np.ndarray | None, head_dim: int | None = None
) -> str:
    """Return a Python module with `score_mod_for`, which makes a FlexAttention score_mod; arguments as above."""
    make = _TOEPLITZ_MOD if encoding.toeplitz else _PAIRWISE_MOD
    return f"{python_code(encoding, n_key, edit, head_dim)}\n\n{make}"


def parameters_json(
    encoding: Encoding, edit: np.ndarray | None, *, scale: float | None = None, mask: str | None = None
) -> str:
    """Return the encoding as JSON: name, parameters, heads and the edit; ±inf and nan as text."""
    record: dict[str, Any] = {
        "format": "relpos-viewer encoding",
        "version": 1,
        "encoding": encoding.name,
        "paper": encoding.paper,
        "parameters": {name: _plain(value) for name, value in encoding.values.items()},
        "heads": encoding.heads,
        "offset": "key − query",
        "scale": "1/√d" if scale is None else scale,
    }
    if mask is not None:
        record["mask"] = mask
    if edit is not None and np.any(edit):
        drawn = _trimmed(edit)
        middle = drawn.shape[1] // 2
        record["edit"] = {"first_offset": -middle, "values": _plain(drawn)}
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1)


def _heading(encoding: Encoding) -> str:
    settings = ", ".join(
        f"{name}={value}"
        for name, value in encoding.values.items()
        if isinstance(value, bool | int | float | str)
    )
    title = f"{encoding.title} ({settings})" if settings else encoding.title
    return f'"""{title}. {encoding.paper}.\n\nWritten by relpos-viewer.\n"""'


def _trimmed(edit: np.ndarray) -> np.ndarray:
    """Return the middle of an edit [head, 2n−1] that holds every number but 0, [head, 2m−1]."""
    middle = edit.shape[1] // 2
    drawn = np.flatnonzero(edit.any(0))  # places
    reach = int(np.abs(drawn - middle).max()) if len(drawn) else 0
    return edit[:, middle - reach : middle + reach + 1]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON knows it."""
    if hasattr(value, "cpu"):
        value = value.cpu().numpy()
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value] if value.ndim else _plain(value.item())
    if isinstance(value, np.floating):
        value = float(str(value))  # the shortest digits of a float32
    elif isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
