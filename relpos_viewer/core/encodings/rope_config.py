"""The rotary settings of a model's config, old and new spellings, as parameters of `Rope`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from relpos_viewer.core.errors import ViewerError

KEYS = ("rope_parameters", "rope_scaling", "rope_theta", "rotary_emb_base", "rotary_pct", "rotary_dim")
"""Names by one of which a config is known to be about rotary positions."""

# By the names of transformers' `model_type`; every other rotary model pairs halves.
INTERLEAVED = ("gptj", "codegen")
DRAWN = ("linear", "ntk", "dynamic", "yarn", "llama3")

Settings = Mapping[str, Any]


def rope_parameters(config: Settings) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return parameters of the family "rope" for a model's config, and sentences about what they leave out.

    Args:
        config: a transformers config: `rope_parameters` (5.x), or `rope_theta` with `rope_scaling` before.

    Raises:
        ViewerError: a scaling that is not known, or one that lacks a number it needs.
    """
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(given, Mapping):
        raise ViewerError(f"the scaling of rotary positions must be an object of settings, not “{given}”.")
    parameters: dict[str, Any] = {}
    base = _first(given, config, "rope_theta", "rotary_emb_base")
    if base is not None:
        parameters["base"] = base
    share = _first(given, config, "partial_rotary_factor", "rotary_pct")
    if share is not None:
        parameters["fraction"] = share
    if config.get("model_type") in INTERLEAVED:
        parameters["layout"] = "interleaved"
    kind = str(given.get("rope_type", given.get("type", "default")))
    if kind == "default":
        if given.get("factor") is None:
            return parameters, ()
        note = (
            f"The factor {given['factor']} comes without a rope_type, so transformers ignores it: no scaling."
        )
        return parameters, (note,)
    if kind == "longrope":
        note = (
            "LongRoPE stretches every pair by a list of its own, which is not drawn: shown without scaling."
        )
        return parameters, (note,)
    if kind not in DRAWN:
        raise ViewerError(
            f"the scaling “{kind}” of rotary positions is not known; known: default, longrope, {', '.join(DRAWN)}."
        )
    parameters |= {"scaling_rule": kind, "factor": _needed(given, kind, "factor")}
    original = _first(given, config, "original_max_position_embeddings", "max_position_embeddings")
    if original is not None:
        parameters["original"] = original
    notes: list[str] = []
    if kind == "llama3":
        parameters["low"] = _needed(given, kind, "low_freq_factor")
        parameters["high"] = _needed(given, kind, "high_freq_factor")
    if kind == "yarn":
        parameters |= {"low": given.get("beta_slow") or 1.0, "high": given.get("beta_fast") or 32.0}
        factor, notes = _yarn_factor(given, config)
        if factor is not None:
            parameters["attention_factor"] = factor
    return parameters, tuple(notes)


def _yarn_factor(given: Settings, config: Settings) -> tuple[float | None, list[str]]:
    """Return the factor on cos and sin where the config says it, and what else it scales."""
    stretch = float(_needed(given, "yarn", "factor"))
    mscale, whole = given.get("mscale"), given.get("mscale_all_dim")
    factor = given.get("attention_factor")
    if factor is None and mscale and whole:
        factor = _mscale(stretch, mscale) / _mscale(stretch, whole)
    notes = []
    if whole and str(config.get("model_type", "")).startswith("deepseek"):
        # Its attention class multiplies the scale of the scores, whatever cos and sin have.
        more = _mscale(stretch, whole) ** 2
        notes.append(
            f"Cos and sin have the factor {factor or 1.0:.7g}; the model multiplies the scale of its scores by "
            f"{more:.7g} besides, which is not part of the rotation: type it as the scale."
        )
    return factor, notes


def _mscale(factor: float, strength: float) -> float:
    return 0.1 * strength * math.log(factor) + 1.0 if factor > 1 else 1.0


def _first(given: Settings, config: Settings, *names: str) -> Any:
    """Return the first setting that is there, the scaling's own before the config's."""
    for settings in (given, config):
        for name in names:
            if settings.get(name) is not None:
                return settings[name]
    return None


def _needed(given: Settings, kind: str, name: str) -> Any:
    if given.get(name) is None:
        raise ViewerError(f"the scaling “{kind}” of rotary positions lacks its {name}; add it to the config.")
    return given[name]
