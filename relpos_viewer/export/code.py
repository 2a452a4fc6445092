"""An encoding with its edit as code: a PyTorch function, a FlexAttention score_mod, or its parameters as JSON.

The code stands alone: it imports math and torch, and holds every table it needs. `bias(n_query, n_key)` returns the
positional term in score units, [head, query, key], to be added to the scaled content q·k before mask and softmax;
terms that depend on queries and keys take them as well. The queries are the last of the key positions.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from relpos_viewer.atomic import atomic_path
from relpos_viewer.core.encodings import Encoding
from relpos_viewer.core.encodings.base import BIAS_OF_PLACES, COLUMNS, MOST_NUMBERS, constant
from relpos_viewer.core.errors import ViewerError, nearest
from relpos_viewer.core.inputs import AttentionInputs, shape_text
from relpos_viewer.sources.jsonfile import ENCODING_FORMAT

VERSION = 1


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is written down.

    Attributes:
        encoding: for all heads.
        n_key: length for which tables are written down.
        edit: float [head, 2m−1] on top, score units; None for none.
        head_dim: width of a query where it is known.
        scale: factor on q·k; None is 1/√d.
        mask: its spec, for the reader; the code holds no mask.
        inputs: what the picture is of, for families that need to know more than the length; None for any.
    """

    encoding: Encoding
    n_key: int
    edit: np.ndarray | None = None
    head_dim: int | None = None
    scale: float | None = None
    mask: str | None = None
    inputs: AttentionInputs | None = None

    @classmethod
    def of(
        cls,
        inputs: AttentionInputs,
        encoding: Encoding,
        *,
        edit: np.ndarray | None = None,
        scale: float | None = None,
        mask: str | None = None,
    ) -> Wanted:
        """Return what is to be written of a document.

        Raises:
            ViewerError: when the encoding's tables hold another number of heads.
        """
        fitting = encoding.with_heads(inputs.heads)
        return cls(fitting, inputs.n_key, edit, inputs.head_dim, scale, mask, inputs)

    @property
    def drawn(self) -> np.ndarray | None:
        """The middle of the edit that holds every number but 0, [head, 2m−1]; None without an edit."""
        if self.edit is None or not np.any(self.edit):
            return None
        middle = self.edit.shape[1] // 2
        reach = int(np.abs(np.flatnonzero(self.edit.any(0)) - middle).max())
        return self.edit[:, middle - reach : middle + reach + 1]


# --- Python -----------------------------------------------------------------------------------------

_OFFSETS = '''def offsets(n_query, n_key, device=None):
    """δ = key − query as int64 [query, key]; the queries are the last of the key positions."""
    keys = torch.arange(n_key, device=device)
    return keys[None, :] - keys[n_key - n_query :, None]
'''

_TOEPLITZ_BIAS = f"""{BIAS_OF_PLACES}
    everywhere = curve(torch.arange(1 - n_key, n_key))  # [head, offset]
    return everywhere[:, offsets(n_query, n_key) + n_key - 1].to(device, torch.float32)
"""

_EDIT_OF_CURVE = '''def curve(offset):
    """The family's curve with the edit, [head, count] at δ [count]."""
    middle = EDIT.shape[1] // 2
    drawn = EDIT[:, offset.clamp(-middle, middle) + middle]  # [head, count]
    return family_curve(offset) + torch.where(offset.abs() <= middle, drawn, 0.0)
'''

_EDIT_OF_BIAS = """{signature}
    own = family_bias({names})  # [head, query, key]
    offset = offsets(n_query, n_key)  # [query, key]
    middle = EDIT.shape[1] // 2
    drawn = EDIT[:, offset.clamp(-middle, middle) + middle]  # [head, query, key]
    return own + torch.where(offset.abs() <= middle, drawn, 0.0).to(own)
"""

_BIAS_OF_PLACES_HELP = '''    """The positional term in score units, float32 [head, query, key], on `device`.

    q, k and scale are not used: every family is called alike.
    """
'''

_BIAS_OF_VECTORS_HELP = '''    """The positional term in score units, [head, query, key], from q and k [head, n, d].

    In q's type and on its device. Grouped keys are repeated first, one for each query head.
    scale is the factor on q·k, {scale} when None.
    """
'''

_TOEPLITZ_MOD = '''def score_mod_for(n_query, n_key, device="cpu"):
    """Return a score_mod for flex_attention that adds the bias to the scaled score."""
    table = curve(torch.arange(1 - n_key, n_key)).to(device, torch.float32)  # [head, offset]
    zero = n_query - 1  # flex_attention counts queries from 0: key − query is 0 here

    def score_mod(score, batch, head, query, key):
        return score + table[head, key - query + zero]

    return score_mod
'''

_PLACES_MOD = '''def score_mod_for(n_query, n_key, device="cpu"):
    """Return a score_mod for flex_attention that adds the bias to the scaled score."""
    table = bias(n_query, n_key, device=device)  # [head, query, key]

    def score_mod(score, batch, head, query, key):
        return score + table[head, query, key]

    return score_mod
'''

_VECTORS_MOD = '''def score_mod_for(q, k, scale=None):
    """Return a score_mod for flex_attention that adds the bias to the scaled score.

    The term depends on queries and keys, q and k [head, n, d], so all its cells are made first.
    """
    table = bias(q.shape[1], k.shape[1], q, k, scale)  # [head, query, key]

    def score_mod(score, batch, head, query, key):
        return score + table[head, query, key]

    return score_mod
'''


def python_code(wanted: Wanted) -> str:
    """Return a Python module with `bias(n_query, n_key, …)`, laid out to `COLUMNS` columns.

    Raises:
        ViewerError: when the family cannot be written down, or its tables are too large for source code.
    """
    encoding = wanted.encoding
    source = (
        encoding.python(wanted.n_key, wanted.head_dim)
        if wanted.inputs is None
        else encoding.python_for(wanted.inputs)
    )
    if source.count(",") > MOST_NUMBERS:
        raise ViewerError(
            f"{encoding.title} would take {source.count(','):,} numbers of source code; export its data instead."
        )
    if wanted.scale is not None:
        source = source.replace("q.shape[-1] ** -0.5", repr(float(wanted.scale)))
    source = _with_edit(source, wanted)
    if encoding.toeplitz:
        source = f"{source.rstrip()}\n\n\n{_TOEPLITZ_BIAS}"
    imports = "import math\n\nimport torch\n" if "math." in source else "import torch\n"
    offsets = [_OFFSETS] if "offsets(" in source else []
    constants, functions = _parted(_explained(source, wanted))
    blocks = [f"{_heading(wanted)}\n\n{imports}{constants}", *offsets, functions]
    return "\n\n".join(blocks)


def score_mod_code(wanted: Wanted) -> str:
    """Return `python_code` with `score_mod_for`, which makes a FlexAttention score_mod.

    Raises:
        ViewerError: as `python_code` does.
    """
    code = python_code(wanted)
    if wanted.encoding.toeplitz:
        make = _TOEPLITZ_MOD
    else:
        make = _PLACES_MOD if _is_of_places(code) else _VECTORS_MOD
    return f"{code}\n\n{make}"


def _parted(source: str) -> tuple[str, str]:
    """Return the constants before the first function, a blank line before them, and the functions two lines apart."""
    first = re.search(r"^def ", source, re.MULTILINE)
    assert first is not None, "every family defines a function"
    constants, functions = source[: first.start()].strip(), source[first.start() :].strip()
    functions = re.sub(r"\n+(?=^def )", "\n\n\n", functions, flags=re.MULTILINE)
    return f"\n{constants}\n" if constants else "", functions + "\n"


def _is_of_places(source: str) -> bool:
    return BIAS_OF_PLACES in source


def _with_edit(source: str, wanted: Wanted) -> str:
    if wanted.drawn is None:
        return source
    middle = wanted.drawn.shape[1] // 2
    table = constant("EDIT", wanted.drawn, f"[head, offset], δ = {-middle} … {middle}")
    if wanted.encoding.toeplitz:
        made, edited = "curve", _EDIT_OF_CURVE
    else:
        signature = re.findall(r"^def bias\(.*\):$", source, re.MULTILINE)[-1]
        names = ", ".join(re.findall(r"(\w+)(?:=\w+)?[,)]", signature))
        made, edited = "bias", _EDIT_OF_BIAS.format(signature=signature, names=names)
    return f"{table}\n{source.replace(f'def {made}(', f'def family_{made}(').rstrip()}\n\n\n{edited}"


def _explained(source: str, wanted: Wanted) -> str:
    """Return the source with the help of `bias` below its first line."""
    scale = "1/√d" if wanted.scale is None else repr(float(wanted.scale))
    places = _BIAS_OF_PLACES_HELP, _BIAS_OF_VECTORS_HELP.format(scale=scale)
    help_ = places[0] if _is_of_places(source) else places[1]
    return re.sub(r"^(def bias\(.*\):\n)", lambda match: match[1] + help_, source, flags=re.MULTILINE)


def _heading(wanted: Wanted) -> str:
    encoding = wanted.encoding
    settings = ", ".join(
        f"{name} {value}"
        for name, value in encoding.values.items()
        if isinstance(value, bool | int | float | str)
    )
    content = "q·k/√d" if wanted.scale is None else f"{float(wanted.scale)!r} · q·k"
    sentences = [
        f"bias(n_query, n_key, …) is the positional term in score units, [head, query, key]: add it to {content} "
        "before mask and softmax. δ = key − query, so the past is negative. The queries are the last n_query of the "
        "n_key positions.",
        f"{encoding.sign} {encoding.scaling}",
        " ".join(
            [
                f"{encoding.heads or 1} heads; {_reach(wanted)}",
                *([] if wanted.mask is None else [f"The mask was {wanted.mask}; it is no part of the term."]),
                *([] if wanted.drawn is None else ["EDIT is what was drawn by hand on top."]),
                "Written by relpos-viewer.",
            ]
        ),
    ]
    title = (
        f"{encoding.title} ({settings}). {encoding.paper}."
        if settings
        else f"{encoding.title}. {encoding.paper}."
    )
    first, *rest = (textwrap.fill(text, COLUMNS - 4, break_long_words=False) for text in (title, *sentences))
    return '"""' + "\n\n".join([first, *rest]) + '\n"""'


def _reach(wanted: Wanted) -> str:
    """Say up to which length the code holds: the source for a longer sequence tells, by being the same or not."""
    encoding, n = wanted.encoding, wanted.n_key
    here = encoding.python(n, wanted.head_dim)
    lengths = [2 * n + 1, max(n, encoding.trained_length() or 0) + 1]
    try:
        same = wanted.inputs is None or here == encoding.python_for(wanted.inputs)
        same = same and all(here == encoding.python(length, wanted.head_dim) for length in lengths)
    except ViewerError:
        same = False  # a learned table ends before
    return "any length." if same else f"its tables are for {n:,} keys."


# --- JSON -------------------------------------------------------------------------------------------


def parameters_json(wanted: Wanted) -> str:
    """Return the encoding as JSON: name, parameters, heads and the edit; ±inf and nan as text."""
    encoding = wanted.encoding
    record: dict[str, Any] = {
        "format": ENCODING_FORMAT,
        "version": VERSION,
        "encoding": encoding.name,
        "paper": encoding.paper,
        "parameters": {name: _plain(value) for name, value in encoding.values.items()},
        "heads": encoding.heads,
        "offset": "key − query",
        "scale": "1/√d" if wanted.scale is None else wanted.scale,
    }
    if wanted.mask is not None:
        record["mask"] = wanted.mask
    if wanted.drawn is not None:
        middle = wanted.drawn.shape[1] // 2
        record["edit"] = {"first_offset": -middle, "values": _plain(wanted.drawn)}
    return _on_lines(json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def _on_lines(text: str) -> str:
    """Return indented JSON with every innermost list on one line."""
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: f"[{' '.join(match[1].split())}]", text)


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


# --- files ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeKind:
    """One way to take an encoding along: its name, how a dialog calls it, the suffix, and who writes it."""

    name: str
    title: str
    suffix: str
    write: Callable[[Wanted], str]


CODE_KINDS: tuple[CodeKind, ...] = (
    CodeKind("python", "PyTorch function", ".py", python_code),
    CodeKind("score-mod", "FlexAttention score_mod", ".mod.py", score_mod_code),
    CodeKind("json", "Parameters as JSON", ".encoding.json", parameters_json),
)


def code(
    encoding: Encoding,
    n: int,
    *,
    kind: str = "python",
    heads: int | None = None,
    edit: np.ndarray | None = None,
    head_dim: int | None = None,
    scale: float | None = None,
) -> str:
    """Return an encoding as source code that needs torch alone, or as JSON.

    Args:
        encoding: from `relpos_viewer.encoding`.
        n: number of keys for which tables are written down.
        kind: "python" (a function), "score-mod" (for FlexAttention) or "json".
        heads: number of heads, where the encoding does not know it.
        edit: float [head, 2m−1] on top, score units, δ = 0 in the middle.
        head_dim: width of a query, which families that meet queries need.
        scale: factor on q·k; None is 1/√d.

    Raises:
        ViewerError: an unknown kind, arguments that do not fit, or an encoding that cannot be written down.
    """
    found = next((each for each in CODE_KINDS if each.name == kind), None)
    if found is None:
        raise ViewerError(f"unknown kind of code “{kind}”{nearest(kind, [each.name for each in CODE_KINDS])}")
    if not isinstance(n, int) or n < 1:
        raise ViewerError(f"n must be a whole number of at least 1, not {n}.")
    fitting = encoding if heads is None else encoding.with_heads(heads)
    if edit is not None:
        edit = np.atleast_2d(np.asarray(edit, np.float64))
        if edit.ndim != 2 or edit.shape[1] % 2 != 1 or edit.shape[0] not in (1, fitting.heads or 1):
            raise ViewerError(
                f"edit has shape {shape_text(edit)}; give [head, 2m − 1] with δ = 0 in the middle."
            )
    return found.write(Wanted(fitting, n, edit, head_dim, scale))


def code_kind_for(path: str | PathLike[str]) -> CodeKind | None:
    """Return the kind that a file's name asks for, by its longest suffix; None for any other name."""
    name = Path(path).name.lower()
    kinds = sorted(CODE_KINDS, key=lambda kind: -len(kind.suffix))
    return next((kind for kind in kinds if name.endswith(kind.suffix)), None)


def export_code(wanted: Wanted, path: str | PathLike[str], kind: CodeKind) -> None:
    """Write the code in one step: on any failure the old file stays as it was. Any thread.

    Raises:
        ViewerError: as the kind's writer does, and when the target cannot be written.
    """
    text = kind.write(wanted)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
