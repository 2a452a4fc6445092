"""The command ``relpos-viewer``: the window, and `render`, `info` and `encodings` without a display.

What a user can mend is one sentence on stderr and exit status 2; Ctrl+C is 130; a fault in the program is 1, with
its traceback when RELPOS_DEBUG=1. torch, Qt and matplotlib are imported by the commands that need them.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relpos_viewer import __version__
from relpos_viewer.core.errors import ViewerError
from relpos_viewer.options import ANSWERS, document_from_options, encoding_notes, figure_options, refuse

if TYPE_CHECKING:
    from relpos_viewer.document.document import EncodingSpec
    from relpos_viewer.sources.contents import Question

PROGRAM = "relpos-viewer"

COMMANDS = {
    "render": "draw a figure or write the numbers, without a display",
    "info": "say what a file holds, as JSON",
    "encodings": "list the position encodings and their parameters",
}

# Options of the picture, which files of numbers have no use for.
FIGURE_OPTIONS = ("panels", "size", "dpi", "title", "theme")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the program's own arguments when None) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # whatever the terminal's encoding can show
    try:
        return _dispatch(arguments)
    except ViewerError as error:
        _complain(_sentence(error))
        return 2
    except BrokenPipeError:
        return 141  # the reader (`| head`) has seen enough
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("RELPOS_DEBUG") == "1":
            traceback.print_exc()
        else:
            _complain(f"a fault in the program, {type(error).__name__}: {error}; RELPOS_DEBUG=1 shows where.")
        return 1


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    command = first if first in COMMANDS else "window"
    if command == "window" and not first.startswith("-") and not Path(first).exists():
        close = difflib.get_close_matches(first, COMMANDS, n=1, cutoff=0.7)
        if close:
            raise ViewerError(f"{first} does not exist; did you mean the command {close[0]}?")
    parser = PARSERS[command]()
    rest = arguments if command == "window" else arguments[1:]
    options, unknown = parser.parse_known_args(_joined(rest))
    if unknown:
        raise ViewerError(_unknown(unknown[0], parser))
    return RUN[command](options)


def _complain(message: str) -> None:
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr)


def _sentence(error: ViewerError) -> str:
    """The error in words of the command line: a question is answered by an option."""
    name = getattr(error, "option_name", None)
    if name is None:
        return str(error)
    question: Question = error  # type: ignore[assignment]
    values = ", ".join(f"{value} ({title})" for value, title in question.options)
    return f"{str(error).rstrip('.')}: choose with --{name.replace('_', '-')} one of {values}."


# --- what can be written on the command line ---------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence like all others."""

    def __init__(self, command: str, **settings: Any) -> None:
        super().__init__(
            prog=f"{PROGRAM} {command}".strip(),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,
        )

    def error(self, message: str) -> Any:
        # Values that are refused here name their option themselves.
        own = re.fullmatch(r"argument [^:]+: (--\S+ must .*)", message)
        raise ViewerError(own[1] if own else f"{message}; see {self.prog} --help.")


def _window_parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {PROGRAM} {name:<10} {help_}" for name, help_ in COMMANDS.items())
    parser = _Parser(
        "",
        description="See, edit and measure how position shapes attention. Opens the window.",
        epilog=f"commands without a window:\n{commands}\n\nA file that is named like a command is given as ./render.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    _add_document_options(parser)
    return parser


def _render_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "render",
        description="Draw a figure, or write the numbers. The suffix of OUT decides:\n"
        "  .png .svg .pdf .tiff          a figure\n"
        "  .npz .csv .json               every number of every head\n"
        "  .pixels.npz                   one head's matrices as 512 × 512 pixels, at any length\n"
        "  .curve.csv .npy               the bias curve\n"
        "  .py .mod.py                   the encoding as a PyTorch function, as a FlexAttention score_mod\n"
        "  .encoding.json                the encoding's parameters and the edit, to be opened again\n"
        "  .relpos                       a session for the window",
    )
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    _add_document_options(parser)
    figure = parser.add_argument_group("figure")
    figure.add_argument(
        "--panels",
        metavar="LIST",
        help="some of content, position, score, weights, curve; commas between (default: all)",
    )
    figure.add_argument(
        "--size", metavar="WxH", help="1600x900 or 1600 in pixels; 180x120mm, 7x3in (default: 1600)"
    )
    figure.add_argument(
        "--dpi", type=_number("--dpi"), metavar="N", help="default: 96 for pixels, 300 on paper"
    )
    figure.add_argument("--title", type=_text, metavar="T", help='default: what is drawn; "" for none')
    figure.add_argument("--theme", choices=("light", "dark"), help="default: light")
    return parser


def _info_parser() -> argparse.ArgumentParser:
    parser = _Parser("info", description="Say what a file holds, as JSON: kind, tokens, arrays, notes.")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--column", metavar="C", help="the column of tokens of a table: its name or number")
    return parser


def _encodings_parser() -> argparse.ArgumentParser:
    parser = _Parser("encodings", description="List the position encodings and their parameters.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _add_document_options(parser: argparse.ArgumentParser) -> None:
    sequence = parser.add_argument_group("sequence")
    sequence.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="a text, a table, arrays, an encoding, or a session (default: a sentence)",
    )
    sequence.add_argument(
        "--tokens-from", metavar="FILE", help="tokens to stand beside arrays: a text, a table, a FASTA file"
    )
    sequence.add_argument("--text", type=_text, metavar="T", help="a text instead of a file")
    sequence.add_argument("--ids", metavar="1,2,3", help="token numbers instead of a file")
    sequence.add_argument(
        "--tokenizer",
        choices=("words", "characters", "codepoints", "bytes", "integers"),
        help="how a text is cut (default: words)",
    )
    sequence.add_argument(
        "--heads", type=_whole("--heads", 1), metavar="H", help="heads of a text (default: 4)"
    )
    sequence.add_argument(
        "--dim", type=_whole("--dim", 1), metavar="D", help="width of a head of a text (default: 32)"
    )
    sequence.add_argument(
        "--seed", type=_whole("--seed", 0), metavar="N", help="of a text's projections (default: 0)"
    )
    attention = parser.add_argument_group("attention")
    attention.add_argument(
        "--encoding",
        metavar="NAME[:key=value,…]",
        help=f"see {PROGRAM} encodings; or @FILE, an exported .encoding.json or a model's config.json "
        "(default: t5 for text, none for arrays)",
    )
    attention.add_argument(
        "--scale", type=_number("--scale"), metavar="S", help="factor on q·k (default: 1/√d)"
    )
    attention.add_argument(
        "--mask",
        metavar="M",
        help="none, causal, window:W, prefix:P, padding:P, left-padding:P, documents, documents:4,2 "
        "(default: causal for text, none for arrays)",
    )
    attention.add_argument(
        "--head", type=_whole("--head", 0), metavar="H", help="the head that is shown, from 0 (default: 0)"
    )
    attention.add_argument(
        "--cmap",
        metavar="NAME",
        help="colour map: a diverging one for the terms, any other for the weights; or TERMS,WEIGHTS",
    )
    answers = parser.add_argument_group("what a file may leave open")
    answers.add_argument("--column", metavar="C", help="the column of tokens of a table: its name or number")
    answers.add_argument("--order", metavar="O", help="axes of q, k, v: bhsd, bshd, bsd")
    answers.add_argument("--role", metavar="R", help="what an array is: weights, scores, bias, mask")
    answers.add_argument("--mask-true", metavar="T", help="what True means in a mask: masked, attend")
    answers.add_argument("--batch", metavar="B", help="which entry of the batch axis, from 0")
    answers.add_argument("--array", metavar="NAME", help="which array, where names do not tell")
    answers.add_argument("--labels", metavar="L", help="how fewer tokens than positions go together")


PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "window": _window_parser,
    "render": _render_parser,
    "info": _info_parser,
    "encodings": _encodings_parser,
}


def _joined(arguments: list[str]) -> list[str]:
    """Bind values that begin with a minus to their option: argparse takes "-1,2" and "-x" for options."""
    result: list[str] = []
    for argument in arguments:
        before = result[-1] if result else ""
        takes_any = before in ("--text", "--title")
        takes_number = before.startswith("--") and "=" not in before and re.match(r"-[\d.,]", argument)
        if argument.startswith("-") and (takes_any or takes_number):
            result[-1] = f"{before}={argument}"
        else:
            result.append(argument)
    return result


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    name = argument.partition("=")[0]
    known = [option for action in parser._actions for option in action.option_strings]
    close = difflib.get_close_matches(name, known, n=1)
    if name.startswith("-"):
        hint = f"did you mean {close[0]}?" if close else f"see {parser.prog} --help."
        return f"unknown option {name}; {hint}"
    return f"“{argument}” is one file too many; give one."


def _text(text: str) -> str:
    """Return UTF-8 as what it is, where the locale made half surrogate pairs of its bytes."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def _whole(name: str, least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\+?\d{1,9}", text.strip()) or int(text) < least:
            raise ViewerError(f"{name} must be a whole number of at least {least}, not “{text}”.")
        return int(text)

    return _raising(read)


def _number(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        from relpos_viewer.core.numbers import parse_number

        try:
            return parse_number(text)
        except ViewerError:
            raise ViewerError(f"{name} must be a number, not “{text}”.") from None

    return _raising(read)


def _raising(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Let the sentence of a ViewerError through; argparse replaces that of any ValueError by its own."""

    def reader(text: str) -> Any:
        try:
            return read(text)
        except ViewerError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return reader


# --- the commands -----------------------------------------------------------------------------------


def _open_window(options: argparse.Namespace) -> int:
    from relpos_viewer.sources.contents import Question

    try:
        document, asked = document_from_options(options), False
    except Question:
        # The window asks what the file leaves open; it starts with what the other options say.
        nothing = dict.fromkeys(("file", "tokens_from", *ANSWERS))
        alone = argparse.Namespace(**{**vars(options), **nothing})
        document, asked = document_from_options(alone), True
    from relpos_viewer.views.app import run

    notes = encoding_notes(options)
    return run(document, path=options.file, asked=asked, tokens=options.tokens_from, notes=notes)


def _render(options: argparse.Namespace) -> int:
    from relpos_viewer.document.files import SUFFIX, save_session
    from relpos_viewer.export.arrays import EXPORTERS, exporter_for
    from relpos_viewer.export.code import CODE_KINDS, code_kind_for, export_code
    from relpos_viewer.export.code import Wanted as WantedCode
    from relpos_viewer.export.figures import FORMATS, figure_format

    out = Path(options.output)
    kind, code = figure_format(out), code_kind_for(out)
    exporter = exporter_for(out) if code is None else None  # .encoding.json ends in .json too
    if kind is None and code is None and exporter is None and out.suffix.lower() != SUFFIX:
        known = [
            *(each.suffixes[0] for each in FORMATS),
            *(each.suffix for each in (*EXPORTERS, *CODE_KINDS)),
            SUFFIX,
        ]
        raise ViewerError(f"'{out}' does not say what to write; end its name in one of {', '.join(known)}.")
    if kind is None:
        refuse(options, FIGURE_OPTIONS, f"{out.name} is no figure")
    if (
        options.file is not None
        and out.exists()
        and Path(options.file).exists()
        and out.samefile(options.file)
    ):
        raise ViewerError(f"'{out}' is the file that is read; write to another one.")
    document = document_from_options(options)
    figure = figure_options(options, document) if kind is not None else None
    if out.suffix.lower() == SUFFIX:
        save_session(document, out)
        return 0

    from relpos_viewer.core.masks import parse_mask
    from relpos_viewer.sources.build import inputs_for

    inputs = inputs_for(document.source)
    choices = {
        "scale": document.scale,
        "mask": parse_mask(document.mask),
        "edit": None if document.edit.is_zero else document.edit.at(inputs.heads, inputs.n_key),
    }
    encoding = document.encoding.build()
    if code is not None:
        mask = document.mask if isinstance(document.mask, str) else "an array"
        edit, scale = choices["edit"], choices["scale"]
        export_code(WantedCode.of(inputs, encoding, edit=edit, scale=scale, mask=mask), out, code)
    elif figure is not None:
        from dataclasses import replace

        from relpos_viewer.core.limits import view_levels
        from relpos_viewer.export.cells import limits_of
        from relpos_viewer.export.figures import matrices, save_figure
        from relpos_viewer.export.picture import picture

        past = document.edit.beyond(document.head, inputs.n_key)
        drawn = picture(inputs, encoding, head=document.head, past=past, **choices)
        view = document.view
        levels = view_levels(limits_of(drawn.field, view), view, matrices(figure)) if matrices(figure) else {}
        save_figure(drawn, replace(figure, levels=levels), out)
    else:
        from relpos_viewer.export.arrays import Wanted, export_numbers
        from relpos_viewer.export.pixels import Part

        part = Part(document.head, reduce=document.view.reduce)
        export_numbers(Wanted(inputs, encoding, **choices, part=part), out, exporter)
    for note in (*(inputs.notes if options.file is not None else ()), *encoding_notes(options)):
        _complain(f"note: {note}")
    return 0


def _info(options: argparse.Namespace) -> int:
    from relpos_viewer.sources.files import describe

    about = describe(options.file, column=options.column)
    tell = {"session": _about_session, "encoding": _about_encoding_file}.get(about["kind"])
    about |= _about_sequence(options) if tell is None else tell(options.file)
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False)
    # Shapes on one line.
    _print(re.sub(r"\[\s+(\d+(?:,\s+\d+)*)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text))
    return 0


def _about_sequence(options: argparse.Namespace) -> dict[str, Any]:
    """How many tokens and heads the file gives, or the question that has to be answered first."""
    from relpos_viewer.app.opening import open_document
    from relpos_viewer.document.document import Document
    from relpos_viewer.sources.build import inputs_for
    from relpos_viewer.sources.contents import Question

    answers = {} if options.column is None else {"column": options.column}
    try:
        document = open_document(options.file, Document.default(), answers)
    except Question as question:
        name = f"--{question.option_name.replace('_', '-')}"
        return {"question": str(question), "option": name, "values": [value for value, _ in question.options]}
    inputs = inputs_for(document.source)
    if not getattr(document.source, "arrays", None):
        return {"tokens": inputs.n_key}
    return {
        "tokens": inputs.n_key,
        "queries": inputs.n_query,
        "heads": inputs.heads,
        "notes": list(inputs.notes),
    }


def _about_session(path: str) -> dict[str, Any]:
    from relpos_viewer.document.files import load_session
    from relpos_viewer.sources.build import inputs_for

    document = load_session(path)
    inputs = inputs_for(document.source)
    mask = document.mask if isinstance(document.mask, str) else f"array {list(document.mask.shape)}"
    arrays = getattr(document.source, "arrays", {})
    return {
        "source": document.source.kind,
        "tokens": inputs.n_key,
        "queries": inputs.n_query,
        "heads": inputs.heads,
        "head": document.head,
        "encoding": _about_spec(document.encoding),
        "mask": mask,
        "scale": document.scale,
        "edited": not document.edit.is_zero,
        "arrays": {
            name: {"shape": list(each.shape), "dtype": str(each.dtype)} for name, each in arrays.items()
        },
        "notes": list(inputs.notes),
    }


def _about_encoding_file(path: str) -> dict[str, Any]:
    from relpos_viewer.sources.encoding_file import read_encoding_file

    read = read_encoding_file(path)
    return {
        "encoding": _about_spec(read.spec),
        "edited": not read.edit.is_zero,
        "notes": list(read.notes),
    }


def _about_spec(spec: EncodingSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "parameters": {
            name: f"array {list(value.shape)}" if hasattr(value, "shape") else value
            for name, value in spec.parameters.items()
        },
    }


def _encodings(options: argparse.Namespace) -> int:
    from relpos_viewer.core.encodings import encoding, encodings

    chosen = encodings()
    if options.name is not None:
        name = encoding(options.name).name  # an unknown one is refused with the nearest
        chosen = [family for family in chosen if family["name"] == name]
    if options.json:
        _print(json.dumps(chosen, indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 60), 110)
    _print("\n\n".join(_about_encoding(family, width) for family in chosen))
    return 0


def _about_encoding(family: dict[str, Any], width: int) -> str:
    lines = [f"{family['name']:<10} {family['title']} ({family['paper']})"]
    lines += textwrap.wrap(family["summary"], width, initial_indent=" " * 11, subsequent_indent=" " * 11)
    for parameter in family["parameters"]:
        default = parameter["default"]
        if default is None or isinstance(default, bool):
            default = {None: "automatic", True: "true", False: "false"}[default]
        text = f"{parameter['name']} = {default}   {parameter['help']} ({_domain(parameter)})"
        lines += textwrap.wrap(text, width, initial_indent=" " * 13, subsequent_indent=" " * 17)
    return "\n".join(lines)


def _domain(parameter: dict[str, Any]) -> str:
    low, high = parameter["minimum"], parameter["maximum"]
    kind = {
        "bool": "true or false",
        "choice": " or ".join(parameter["choices"]),
        "table": "array",
        "int": "whole number",
        "float": "number",
    }[parameter["kind"]]
    if low is not None and high is not None:
        return f"{kind}, {low:.7g} to {high:.7g}"
    if low is not None:
        return f"{kind}, at least {low:.7g}"
    return kind if high is None else f"{kind}, at most {high:.7g}"


def _print(text: str) -> None:
    """Print `text` at once, so that a closed pipe or a full disk is noticed here and not at exit."""
    if sys.stdout is None:
        raise ViewerError("standard output is closed; leave it open to read the answer.")
    try:
        print(text, flush=True)
    except OSError as error:
        # Replaced, so that Python's own flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise ViewerError(f"standard output cannot be written: {error.strerror}; print elsewhere.") from error


RUN: dict[str, Callable[[argparse.Namespace], int]] = {
    "window": _open_window,
    "render": _render,
    "info": _info,
    "encodings": _encodings,
}
