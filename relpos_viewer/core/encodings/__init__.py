"""The registry of position encodings: one small file a family, every form and document made from this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relpos_viewer.core.encodings.absolute import Absolute
from relpos_viewer.core.encodings.alibi import Alibi
from relpos_viewer.core.encodings.base import Encoding, Parameter, read_parameters
from relpos_viewer.core.encodings.beit import Beit
from relpos_viewer.core.encodings.cable import Cable
from relpos_viewer.core.encodings.cope import CoPE
from relpos_viewer.core.encodings.curve import Curve
from relpos_viewer.core.encodings.deberta import Deberta
from relpos_viewer.core.encodings.fire import Fire
from relpos_viewer.core.encodings.fox import FoX
from relpos_viewer.core.encodings.kerple_log import KerpleLog
from relpos_viewer.core.encodings.kerple_power import KerplePower
from relpos_viewer.core.encodings.music import Music
from relpos_viewer.core.encodings.none import NoEncoding
from relpos_viewer.core.encodings.rope import Rope
from relpos_viewer.core.encodings.sandwich import Sandwich
from relpos_viewer.core.encodings.shaw import Shaw
from relpos_viewer.core.encodings.swin import Swin
from relpos_viewer.core.encodings.swin_v2 import SwinV2
from relpos_viewer.core.encodings.t5 import T5
from relpos_viewer.core.encodings.tisa import Tisa
from relpos_viewer.core.encodings.transformer_xl import TransformerXL
from relpos_viewer.core.encodings.xlnet import XLNet
from relpos_viewer.core.encodings.xpos import XPos
from relpos_viewer.core.errors import ViewerError, nearest

__all__ = ["FAMILIES", "GROUPS", "Encoding", "Parameter", "encoding", "encodings", "parse_encoding"]

FAMILIES: dict[str, type[Encoding]] = {
    family.name: family
    for family in (
        NoEncoding,
        Curve,
        T5,
        Alibi,
        KerpleLog,
        KerplePower,
        Sandwich,
        Tisa,
        Fire,
        Rope,
        XPos,
        Shaw,
        Music,
        TransformerXL,
        XLNet,
        Deberta,
        CoPE,
        FoX,
        Cable,
        Swin,
        SwinV2,
        Beit,
        Absolute,
    )
}


GROUPS: dict[str, tuple[str, ...]] = {
    "No position": ("none",),
    "Additive curves": (
        "curve",
        "t5",
        "alibi",
        "kerple-log",
        "kerple-power",
        "sandwich",
        "tisa",
        "fire",
    ),
    "Rotary": ("rope", "xpos"),
    "Vectors that meet queries and keys": ("shaw", "music", "transformer-xl", "xlnet", "deberta"),
    "Gates": ("cope", "fox", "cable"),
    "Planes": ("swin", "swin-v2", "beit"),
    "Absolute": ("absolute",),
}
"""Every family once, by what it does, in the order of lists."""


def encoding(name: str, *, heads: int | None = None, **parameters: Any) -> Encoding:
    """Build an encoding from its name and parameters.

    Args:
        name: a name of the registry, see `encodings`.
        heads: number of heads, when it should not be left to the queries.
        **parameters: by the family's own table; text is read as on the command line.

    Raises:
        ViewerError: for an unknown name or parameter (with the nearest one), or a value outside its domain.
    """
    built = _build(_family(name), parameters)
    if heads is None:
        return built
    if not isinstance(heads, int) or heads < 1:
        raise ViewerError(f"heads must be a whole number of at least 1, not {heads}.")
    return built.with_heads(heads)


def _family(name: object) -> type[Encoding]:
    family = FAMILIES.get(str(name).strip().lower())
    if family is None:
        raise ViewerError(f"unknown encoding “{name}”{nearest(str(name), FAMILIES)}")
    return family


def _build(family: type[Encoding], parameters: Mapping[str, Any]) -> Encoding:
    values = read_parameters(family, parameters)
    table = values.get("table")
    if family is T5 and table is not None and "num_buckets" not in values and table.ndim == 2:
        values["num_buckets"] = table.shape[0]  # the table says it
    return family(**values)


def encodings() -> list[dict[str, Any]]:
    """Return the registry as plain data: name, title, paper, summary, toeplitz, parameters."""
    return [
        {
            "name": family.name,
            "title": family.title,
            "paper": family.paper,
            "summary": family.summary,
            "toeplitz": family.toeplitz,
            "parameters": [
                {
                    "name": parameter.name,
                    "kind": parameter.kind,
                    "default": parameter.default,
                    "minimum": parameter.minimum,
                    "maximum": parameter.maximum,
                    "choices": list(parameter.choices),
                    "help": parameter.help,
                }
                for parameter in family.parameters
            ],
        }
        for family in FAMILIES.values()
    ]


def parse_encoding(text: str, read_table: Callable[[str], object] = str) -> Encoding:
    """Read an encoding as it is written on the command line: ``t5:num_buckets=32,bidirectional=false``.

    Args:
        text: its name and parameters.
        read_table: makes a table of what is written for one, such as the name of a file.

    Raises:
        ViewerError: as `encoding` does, and for a parameter without a value or with two.
    """
    name, _, rest = text.partition(":")
    family = _family(name)
    tables = {parameter.name for parameter in family.parameters if parameter.kind == "table"}
    parameters: dict[str, object] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ViewerError(f"“{part}” in the encoding “{text}” has no value; write name=value.")
        key, value = key.strip(), value.strip()
        if key in parameters:
            raise ViewerError(f"{key} stands twice in the encoding “{text}”; give it once.")
        parameters[key] = read_table(value) if key in tables else value
    return _build(family, parameters)
