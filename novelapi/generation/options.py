"""Seeds with an option more: documented choices, flags, and what a modified API newly takes."""

from __future__ import annotations

import re
from dataclasses import replace

from novelapi.generation.seeds import Argument, Seed
from novelapi.records.api import Candidate, Parameter
from novelapi.records.bundle import KnowledgeBundle, KnownParameter

_INVISIBLE = frozenset("device xp like out copy order subok casting where dtype signature extobj".split())
"""Parameters that seldom show in an answer, or change its type alone."""

_CHOICES = re.compile(r"\{([^{}]+)\}")
_QUOTED = re.compile(r"[‘'\"`]([A-Za-z][\w -]{0,30})[’'\"`]")
_MOST = 3


def with_options(candidate: Candidate, bundle: KnowledgeBundle, seed: Seed) -> list[Seed]:
    """Return the seed with one further keyword argument each, those of the change first."""
    given = {argument.parameter for argument in seed.arguments}
    known = {parameter.name.lstrip("*"): parameter for parameter in bundle.surface.parameters}
    changed = {change.parameter for change in candidate.changes if change.kind == "parameter_added"}
    found: list[Seed] = []
    ordered = sorted(candidate.parameters, key=lambda item: item.name not in changed)
    for parameter in ordered:
        if parameter.name in given or parameter.name in _INVISIBLE or parameter.default is None:
            continue
        if parameter.kind not in ("keyword_only", "positional_or_keyword"):
            continue
        for value in values_for(parameter, known.get(parameter.name))[:_MOST]:
            argument = Argument(text=value, keyword=parameter.name, parameter=parameter.name)
            found.append(replace(seed, arguments=(*seed.arguments, argument)))
    return found


def values_for(parameter: Parameter, known: KnownParameter | None) -> list[str]:
    """Return expressions that a parameter may take other than its default, from its default and documentation."""
    default = parameter.default or ""
    if default in ("True", "False"):
        return ["False" if default == "True" else "True"]
    text = " ".join(part for part in (known.type, known.description) if part) if known is not None else ""
    choices: list[str] = []
    for group in _CHOICES.findall(text):
        choices += [f"'{word}'" for word in _QUOTED.findall(group)]
    if default.startswith(("'", '"')):
        choices += [f"'{word}'" for word in _QUOTED.findall(text)]
    found = [choice for choice in dict.fromkeys(choices) if choice.strip("'") != default.strip("'\"")]
    if found:
        return found
    if re.fullmatch(r"-?\d+", default):
        return [str(int(default) + 1), str(int(default) - 1), "2"]
    if re.fullmatch(r"-?\d+\.\d*(e-?\d+)?", default):
        return [repr(float(default) * 2 + 0.5), "0.25"]
    if default == "None" and parameter.name in ("axis", "axes"):
        return ["0", "1", "-1"]
    if default == "None" and known is not None and known.type is not None:
        return _from_type(known.type)
    return []


def _from_type(text: str) -> list[str]:
    words = text.lower()
    if "bool" in words:
        return ["True"]
    if "int" in words:
        return ["1", "2", "0"]
    if "float" in words or "scalar" in words:
        return ["0.5", "2.0"]
    return []
