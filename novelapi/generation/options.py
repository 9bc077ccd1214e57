"""Seeds with an option more: documented choices, flags, and what a modified API newly takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from novelapi.generation.revealing import revealing
from novelapi.generation.seeds import Argument, Seed
from novelapi.records.api import Candidate, Parameter
from novelapi.records.bundle import KnowledgeBundle, KnownParameter

_INVISIBLE = frozenset(
    "device xp like out copy order subok casting where dtype signature extobj"
    " assume_valid assume_unique assume_sorted assume_centered".split()
)
"""Parameters that seldom show in an answer, change its type alone, or promise what only broken data would belie."""

_WINDOWS = frozenset({"footprint", "structure"})
"""Parameters that draw a window as an array with as many axes as the data."""
_CHOICES = re.compile(r"\{([^{}]+)\}")
_QUOTED = re.compile(r"[‘'\"`]([A-Za-z][\w -]{0,30})[’'\"`]")
_MOST = 3


def with_options(candidate: Candidate, bundle: KnowledgeBundle, seed: Seed) -> Iterator[Seed]:
    """Yield the seed with one further keyword argument each, those of the change first, then in documented pairs."""
    given = {argument.parameter for argument in seed.arguments}
    known = {parameter.name.lstrip("*"): parameter for parameter in bundle.surface.parameters}
    changed = {item.parameter or "" for item in candidate.changes if item.kind == "parameter_added"}
    able = [
        parameter
        for parameter in candidate.parameters
        if parameter.name not in given | _INVISIBLE
        and parameter.default is not None
        and parameter.kind in ("keyword_only", "positional_or_keyword")
    ]
    values = {parameter.name: values_for(parameter, known.get(parameter.name), seed)[:_MOST] for parameter in able}
    if "axes" in changed & values.keys():
        for fitting in (_one_for_all_axes(seed), *_of_one_size(candidate, seed)):
            for value in ("(0,)", "(1,)"):  # what is given per axis does not fit fewer axes
                yield _extended(fitting, ("axes", value))
    ordered = sorted(able, key=lambda item: item.name not in changed)
    for parameter in ordered:
        telling = list(revealing(seed, parameter.name)) if parameter.name in changed else []
        for value in values[parameter.name]:
            for data in [*telling, seed]:
                yield _extended(data, (parameter.name, value))
    choices = [item.name for item in able if item.name not in changed and (item.default or "").startswith(("'", '"'))]
    for name in sorted(changed & values.keys()):
        for other in choices:
            for choice in values_for(next(item for item in able if item.name == other), known.get(other), seed):
                for value in values[name][:1]:
                    yield _extended(seed, (name, value), (other, choice))


def _extended(seed: Seed, *options: tuple[str, str]) -> Seed:
    more = [Argument(text=value, keyword=name, parameter=name) for name, value in options]
    return replace(seed, arguments=(*seed.arguments, *more))


def _one_for_all_axes(seed: Seed) -> Seed:
    """Return a seed whose arguments that hold a number per axis, all equal, hold that number alone: `(3, 3)` is 3."""
    return replace(seed, arguments=tuple(replace(item, text=_repeated(item.text)) for item in seed.arguments))


def _of_one_size(candidate: Candidate, seed: Seed) -> Iterator[Seed]:
    """Yield the seed with a window of one size for all axes in the place of one that is drawn as an array."""
    kept = tuple(item for item in seed.arguments if item.parameter not in _WINDOWS)
    positional = any(item.keyword is None and item.parameter in _WINDOWS for item in seed.arguments)
    takes_size = any(parameter.name == "size" for parameter in candidate.parameters)
    if takes_size and not positional and len(kept) < len(seed.arguments):
        kept = tuple(item for item in kept if item.parameter != "size")
        yield _extended(replace(seed, arguments=kept), ("size", "3"))


def _repeated(text: str) -> str:
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Tuple) or not all(isinstance(item, ast.Constant) for item in node.elts):
        return text
    found = {ast.unparse(item) for item in node.elts}
    return found.pop() if len(found) == 1 else text


def values_for(parameter: Parameter, known: KnownParameter | None, seed: Seed) -> list[str]:
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
    if _is_unset(default) and parameter.name in ("axis", "axes"):
        return ["0", "1", "-1"]
    if _is_unset(default) and known is not None and known.type is not None:
        return _from_type(known.type, seed)
    return []


def _is_unset(default: str) -> bool:
    """Whether a default only says that nothing was given: None, or a marker such as `np._NoValue`."""
    return default == "None" or "." in default or default.startswith("<")


def _from_type(text: str, seed: Seed) -> list[str]:
    """Return values by the words of a documented type; arrays get the length of the first list in the call."""
    words = text.lower()
    if "array" in words or "sequence" in words or words.startswith("list"):
        length = _first_length(seed)
        return [f"[{', '.join(str(1 + (3 * i) % 5) for i in range(length))}]"] if length else []
    if "bool" in words:
        return ["True"]
    if "int" in words:
        return ["1", "2", "0"]
    if "float" in words or "scalar" in words or "number" in words:
        return ["0.5", "2.0"]
    return []


def _first_length(seed: Seed) -> int:
    """Return the length of the first flat list of numbers in a seed's arguments; 0 if there is none."""
    for text in [seed.receiver or "0", *(argument.text for argument in seed.arguments)]:
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.List) and node.elts and all(isinstance(item, ast.Constant) for item in node.elts):
                return len(node.elts)
    return 0
