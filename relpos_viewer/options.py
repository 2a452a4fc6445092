"""From the options of the command line to a document and a figure; window and `render` share it.

Everything is imported where it is used: `--help` needs none of it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relpos_viewer.core.errors import ViewerError

if TYPE_CHECKING:
    from relpos_viewer.document.document import Document, EncodingSpec, TextSource, View
    from relpos_viewer.export.figures import FigureOptions

# Options of typed text, which arrays from a file have no use for.
TEXT_OPTIONS = ("tokenizer", "heads", "dim", "seed")
# Answers to what a file leaves open; keywords of `sources.files.load`.
ANSWERS = ("column", "order", "role", "mask_true", "batch", "array", "labels")


def document_from_options(options: argparse.Namespace) -> Document:
    """The document that the options describe; window and `render` share it.

    Raises:
        Question: a file can be read in more than one way and no option settles it.
        ViewerError: options that do not go together, or a value that cannot be.
    """
    from relpos_viewer.document.document import Document, replace

    given = [name for name in ("file", "text", "ids") if getattr(options, name) is not None]
    if len(given) > 1:
        words = {"file": "a file", "text": "--text", "ids": "--ids"}
        raise ViewerError(f"{words[given[0]]} and {words[given[1]]} are two sequences; give one.")
    default = Document.default()
    if options.file is not None:
        document = _from_file(options, default)
    else:
        document = replace(default, source=_typed(options, default.source))
        refuse(options, ("tokens_from", *ANSWERS), "there is no file")
    changes: dict[str, Any] = {"view": _view(options, document.view)}
    if options.encoding is not None and options.encoding.startswith("@"):
        from relpos_viewer.sources.encoding_file import read_encoding_file, with_encoding

        document = with_encoding(document, read_encoding_file(options.encoding[1:]))
    elif options.encoding is not None:
        changes["encoding"] = encoding_spec(options.encoding)
    if options.mask is not None:
        from relpos_viewer.core.masks import parse_mask

        changes["mask"] = parse_mask(options.mask).spec
    if options.scale is not None:
        changes["scale"] = options.scale
    document = replace(document, **changes)
    if options.head is not None:
        from relpos_viewer.export.picture import check_head

        check_head(options.head, document.heads)
    return document


def _typed(options: argparse.Namespace, before: TextSource) -> TextSource:
    """`before` with the text, tokenizer and sizes that the options name."""
    from relpos_viewer.document.document import replace

    changes = {name: value for name in TEXT_OPTIONS if (value := getattr(options, name)) is not None}
    if options.ids is not None:
        if options.tokenizer not in (None, "integers"):
            raise ViewerError(
                f"--ids are integers, so --tokenizer {options.tokenizer} does not fit them; leave it out."
            )
        changes |= {"text": options.ids.replace(",", " "), "tokenizer": "integers"}
    elif options.text is not None:
        changes["text"] = options.text
    return replace(before, **changes)


def _from_file(options: argparse.Namespace, default: Document) -> Document:
    from relpos_viewer.app.opening import open_document
    from relpos_viewer.document.document import TextSource, replace

    path = Path(options.file)
    answers = {name: value for name in ANSWERS if (value := getattr(options, name)) is not None}
    base = replace(default, source=_typed(options, default.source))
    document = open_document(path, base, answers, options.tokens_from)
    if isinstance(document.source, TextSource):
        refuse(options, ANSWERS, f"{path.name} is a text")
        return replace(document, source=_typed(options, document.source))  # a session's text too
    refuse(options, TEXT_OPTIONS, f"{path.name} has its own heads")
    return document


def refuse(options: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    """Raise ViewerError when one of `names` was given although it has nothing to act on."""
    for name in names:
        if getattr(options, name) is not None:
            raise ViewerError(f"--{name.replace('_', '-')} has nothing to act on: {reason}; leave it out.")


def encoding_notes(options: argparse.Namespace) -> tuple[str, ...]:
    """Return what a file of an encoding leaves out, one sentence each; none where no such file was named."""
    from relpos_viewer.sources.signatures import is_encoding_file

    named = options.encoding[1:] if (options.encoding or "").startswith("@") else options.file
    if named is None or (named == options.file and not is_encoding_file(named)):
        return ()
    from relpos_viewer.sources.encoding_file import read_encoding_file

    return read_encoding_file(named).notes


def encoding_spec(text: str) -> EncodingSpec:
    """Read ``name:key=value,…`` into what a document holds.

    Raises:
        ViewerError: for an unknown name or parameter, with the nearest one, or a value outside its domain.
    """
    from relpos_viewer.core.encodings import parse_encoding
    from relpos_viewer.document.document import EncodingSpec
    from relpos_viewer.sources.table_file import read_table_file

    built = parse_encoding(text, read_table_file)
    written = {part.partition("=")[0].strip() for part in text.partition(":")[2].split(",")}
    return EncodingSpec(built.name, {name: built.values[name] for name in built.values if name in written})


def _view(options: argparse.Namespace, view: View) -> View:
    from relpos_viewer.document.document import replace

    changes: dict[str, Any] = {} if options.head is None else {"head": options.head}
    if options.cmap is not None:
        from relpos_viewer.export.appearance import AUTO, colour_map

        names = [name.strip() for name in options.cmap.split(",")]
        if len(names) > 2:
            raise ViewerError(
                f"--cmap takes one colour map, or two for terms and weights, not “{options.cmap}”."
            )
        maps = [colour_map(name) if name != AUTO else None for name in names]
        if len(names) == 2:
            changes |= {"terms_map": names[0], "weights_map": names[1]}
        elif maps[0] is not None:
            for_terms = str(maps[0].category) in ("diverging", "cyclic")
            changes["terms_map" if for_terms else "weights_map"] = names[0]
    return replace(view, **changes)


def parse_size(text: str) -> tuple[float, float | None, str]:
    """Read ``WxH``, or ``W`` alone, with a unit px (default), mm, cm or in: width, height or None, unit.

    Raises:
        ViewerError: when `text` is no size.
    """
    match = re.fullmatch(r"([\d.]+)(?:\s*[x×*]\s*([\d.]+))?\s*(px|mm|cm|in|)", text.strip().lower())
    try:
        width, height = float(match[1]), float(match[2]) if match[2] else None  # type: ignore[index]
    except (TypeError, ValueError):
        raise ViewerError(f"--size must be like 1600x900, 180x120mm or 7x3in, not “{text}”.") from None
    unit = match[3] or "px"  # type: ignore[index]
    if unit == "cm":
        width, height, unit = 10 * width, None if height is None else 10 * height, "mm"
    return width, height, unit


def figure_options(options: argparse.Namespace, document: Document) -> FigureOptions:
    """How the figure looks: the options where they are given, else as the document is viewed.

    Raises:
        ViewerError: for an unknown panel or a size that is none.
    """
    from relpos_viewer.export.figures import FigureOptions, parse_panels

    view = document.view
    changes: dict[str, Any] = {
        "terms_map": view.terms_map,
        "weights_map": view.weights_map,
        "reduce": view.reduce,
        "curve_axis": view.curve_axis,
        "labels": view.labels,
    }
    if options.panels is not None:
        changes["panels"] = parse_panels(options.panels)
    if options.size is not None:
        changes["width"], changes["height"], changes["unit"] = parse_size(options.size)
    if options.title is not None:
        from relpos_viewer.sources.text import check_text

        check_text(options.title, "--title")
    for name in ("dpi", "title", "theme"):
        if getattr(options, name) is not None:
            changes[name] = getattr(options, name)
    return FigureOptions(**changes)
