"""What the name of an array says about it, and which arrays of a file are drawn."""

from __future__ import annotations

from collections.abc import Mapping

from relpos_viewer.core.errors import ViewerError
from relpos_viewer.sources.contents import Choices, Stored

# Role → names it goes by, compared without case and with "_" for "-" and blanks.
ROLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "q": ("q", "query", "queries", "query_states"),
    "k": ("k", "key", "keys", "key_states"),
    "v": ("v", "value", "values", "value_states"),
    "bias": ("bias", "position_bias", "positional", "attention_bias", "attn_bias"),
    "scores": ("scores", "score", "attention_scores", "attn_scores", "logits"),
    "content": ("content",),
    "weights": (
        "weights",
        "attention",
        "attentions",
        "attn",
        "attention_weights",
        "attn_weights",
        "attention_probs",
    ),
    # True may mean "masked" or "may attend" here …
    "mask": ("mask", "attn_mask"),
    # … but not here: our own files, and the padding masks of tokenizers.
    "visible": ("visible", "attention_mask"),
    "tokens": ("tokens", "token", "labels", "words"),
    "ids": ("ids", "input_ids", "token_ids"),
    "positions": ("positions", "position_ids", "position"),
    "documents": ("documents", "document_ids", "document", "segment_ids"),
}
_ROLE_BY_NAME = {name: role for role, names in ROLE_NAMES.items() for name in names}
DRAWN = ("q", "k", "v", "bias", "scores", "content", "weights", "mask", "visible")
SEQUENCES = ("tokens", "ids", "positions", "documents")


def role_of(name: str) -> str | None:
    """Return the role that an array's name states, or None."""
    return _ROLE_BY_NAME.get(name.strip().lower().replace("-", "_").replace(" ", "_"))


def find_roles(arrays: Mapping[str, Stored], has_tokens: bool, choices: Choices, file: str) -> dict[str, str]:
    """Return role → name of the arrays to read; an array whose name says nothing has the role "lone".

    Raises:
        Question: which of several arrays without telling names.
        ViewerError: two names for one role, or nothing to draw.
    """
    found: dict[str, str] = {}
    for name in arrays:
        role = role_of(name)
        if role in found:
            raise ViewerError(
                f"{file} holds {role} twice, as “{found[role]}” and “{name}”; keep one of them."
            )
        if role is not None:
            found[role] = name
    sequences = {role: name for role, name in found.items() if role in SEQUENCES}
    if choices.array is not None:
        name = choices.settle("array", "", [(name, name) for name in arrays])
        role = role_of(name)
        # A q alone cannot be drawn as what it is; asked for by name it is one matrix like any other.
        return sequences | {role if role in DRAWN and role not in ("q", "k", "v") else "lone": name}
    if any(role in DRAWN for role in found):
        return found
    nameless = [name for name, stored in arrays.items() if role_of(name) is None and stored.dtype != "text"]
    if len(nameless) == 1:
        return sequences | {"lone": nameless[0]}
    if nameless and not sequences:
        options = [(name, f"{name}: {arrays[name].dtype} {list(arrays[name].shape)}") for name in nameless]
        text = f"{file} holds {len(nameless)} arrays, none called q, k, bias, scores or weights; say which to show."
        return {"lone": choices.settle("array", text, options)}
    texts = [name for name, stored in arrays.items() if stored.dtype == "text"]
    if not sequences and len(texts) == 1:
        return {"tokens": texts[0]}
    if sequences or has_tokens:
        return sequences
    raise ViewerError(
        f"{file} holds nothing to draw; name its arrays q and k, bias, scores, weights or tokens."
    )
