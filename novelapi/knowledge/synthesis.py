"""Synthesis: programs for APIs that no document uses, or uses without what is new."""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from novelapi.knowledge.arguments import INERT, choices, values
from novelapi.knowledge.corpus import Place
from novelapi.knowledge.drafts import Draft, resolver, usable
from novelapi.knowledge.material import Facts
from novelapi.knowledge.names import BUILTINS, imports_of, use_of
from novelapi.knowledge.slicing import merged_imports, slice_program, spaced, steady
from novelapi.knowledge.snippets import Statement, parse_or_none, source_of
from novelapi.knowledge.targets import Target, sites
from novelapi.records.bundle import KnownParameter

if TYPE_CHECKING:
    from novelapi.knowledge.objects import Maker, Objects

_T = TypeVar("_T")

MAX_DRAFTS = 24
"""Programs per API and round."""

MADE = "value"
"""Variable of an object that a made-up program makes."""

_IMPORTS = {
    "io": "import io",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "datetime": "import datetime",
}


def with_change(
    target: Target, programs: Sequence[str], parameters: Sequence[KnownParameter], seen: Mapping[str, Sequence[str]]
) -> Iterator[Draft]:
    """Yield working programs with what is new added to their call: one value each, then pairs with documented choices.

    Args:
        target: a modified API.
        programs: programs that run and call it without what is new.
        parameters: S_param.
        seen: values that calls in documents pass, per parameter name.
    """
    by_name = {item.name: item for item in parameters if not item.name.startswith("*")}
    new = [
        by_name[name]
        for name in target.positional + tuple(sorted(target.new))
        if name in by_name and name in target.new
    ]
    new = sorted(dict.fromkeys(item.name for item in new), key=lambda name: (name in INERT, name))
    singles = [{name: value} for name in new for value in values(by_name[name], seen.get(name, ()))]
    pairs = [
        {**single, other.name: choice}
        for single in singles[:3]
        for other in parameters
        if other.name not in target.new and not other.name.startswith("*")
        for choice in [*choices(other), *([] if choices(other) else _truth(other))]
        if choice != other.default
    ]
    combined = [dict(zip(new, row, strict=True)) for row in _joint(new, by_name, seen)] if len(new) > 1 else []
    for extras, chosen in ((singles, programs), (combined, programs), (pairs, programs[:2])):
        for extra, program in itertools.product(extras, chosen):
            code = _extended(program, target, extra)
            if code is not None:
                shown = ", ".join(f"{name}={value}" for name, value in extra.items())
                yield Draft(code=code, source="synthesis", origin=f"an example with {shown} added")


def coupled(code: str, message: str, target: Target, parameters: Sequence[KnownParameter]) -> str | None:
    """Return a failed program with the other argument that its error message asks for, with the word that it names."""
    words = re.findall(r"['\"]([\w+.-]{1,32})['\"]", message)
    others = [
        item.name for item in parameters if item.name not in target.new and re.search(rf"\b{item.name}\b", message)
    ]
    return _extended(code, target, {others[0]: repr(words[0])}) if words and others else None


def _truth(parameter: KnownParameter) -> list[str]:
    return [repr(parameter.default != "True")] if parameter.default in {"True", "False"} else []


def _joint(
    new: Sequence[str], by_name: Mapping[str, KnownParameter], seen: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    pools = [values(by_name[name], seen.get(name, ()))[:2] for name in new[:3]]
    if all(pools) and len(pools) == len(new):
        yield from itertools.product(*pools)


def _extended(program: str, target: Target, extra: Mapping[str, str]) -> str | None:
    """Return a program with keyword arguments added to the last call of the target; they replace equal ones."""
    tree = parse_or_none(program)
    if tree is None:
        return None
    imports = imports_of(tree)
    calls = [
        site.node
        for statement in tree.body
        for site in sites(statement, target, imports)
        if isinstance(site.node, ast.Call)
    ]
    if not calls:
        return None
    call = calls[-1]
    positional = set(target.positional[: len(call.args)])
    if positional & set(extra) or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    changed = copy.deepcopy(call)
    changed.keywords = [item for item in changed.keywords if item.arg not in extra]
    for name, value in extra.items():
        changed.keywords.append(ast.keyword(arg=name, value=ast.parse(_fill(value, call), mode="eval").body))
    text = ast.get_source_segment(program, call)
    if text is None or program.count(text) < 1:
        return None
    start = program.rindex(text)
    code = program[:start] + ast.unparse(changed) + program[start + len(text) :]
    return _with_imports(code)


def _fill(value: str, call: ast.Call) -> str:
    """Put the call itself or its first argument into an expression that asks for them."""
    first = ast.unparse(call.args[0]) if call.args else "0"
    return re.sub(r"\bARG\b", lambda _: first, re.sub(r"\bCALL\b", lambda _: ast.unparse(call), value))


def _with_imports(code: str) -> str | None:
    """Add the imports that inserted values need; null when the code no longer parses."""
    tree = parse_or_none(code)
    if tree is None:
        return None
    bound: set[str] = set()
    needed: set[str] = set()
    for statement in tree.body:
        use = use_of(statement)
        needed |= use.needs - bound
        bound |= use.binds
    missing = [_IMPORTS[name] for name in sorted(needed - BUILTINS) if name in _IMPORTS]
    return "\n".join([*missing, code]) if missing else code


def from_scratch(
    target: Target,
    parameters: Sequence[KnownParameter],
    receivers: Iterable[tuple[Place, ast.expr]],
    facts: Facts,
    seen: Mapping[str, Sequence[str]],
) -> Iterator[Draft]:
    """Yield programs that call a target with arguments made up from types, names and documented choices.

    Args:
        target: the API.
        parameters: S_param.
        receivers: expressions that make objects of the class (members only).
        facts: for imports.
        seen: values that calls in documents pass, per parameter name.
    """
    members = facts.apis.get(target.api, {}).get("values") if target.kind == "class" else None
    calls = members or list(itertools.islice(_argument_lists(target, parameters, seen), MAX_DRAFTS))
    if not target.member:
        module, _, leaf = target.api.rpartition(".")
        for arguments in calls:
            code = _with_imports(f"from {module} import {leaf}\n\n{leaf}({arguments})\n")
            if code is not None:
                yield Draft(code=code, source="synthesis", origin="arguments by type and name")
        return
    if target.kind in {"classmethod", "staticmethod"}:
        module, _, owner = target.owner.rpartition(".")
        for arguments in calls:
            code = _with_imports(f"from {module} import {owner}\n\n{owner}.{target.leaf}({arguments})\n")
            if code is not None:
                yield Draft(code=code, source="synthesis", origin="arguments by type and name")
        return
    for place, receiver in receivers:
        member = ast.unparse(ast.Attribute(receiver, target.leaf, ast.Load()))  # with brackets where it needs them
        for arguments in calls[: 1 if target.kind == "property" else 8]:
            text = member + ("" if target.kind == "property" else f"({arguments})")
            final = Statement(ast.parse(text).body[0], text)
            sliced = slice_program(place.script, place.index, (), [final], resolver(target, facts))
            code = _with_imports(steady(sliced)) if sliced is not None and usable(sliced) else None
            if code is not None:
                yield Draft(code=code, source="synthesis", origin=f"an object of {place.script.origin}")


def with_objects(
    target: Target,
    parameters: Sequence[KnownParameter],
    objects: Objects,
    seen: Mapping[str, Sequence[str]],
    names: Sequence[str] = (),
) -> Iterator[Draft]:
    """Yield programs whose receiver and arguments are objects that other programs make.

    Args:
        target: the API.
        parameters: S_param.
        objects: programs that make objects, by class.
        seen: values that calls in documents pass, per parameter name.
        names: names of the class that owns the target, beside that in its path.
    """
    owners = [*names, target.owner.rsplit(".", 1)[-1]]
    receivers = objects.of(owners) if target.kind in {"method", "property"} else [None]
    required = [item for item in parameters if item.default is None and not item.name.startswith("*")]
    if target.kind == "property":
        required = []
    pools = [[*_made(item, objects), *_standalone(values(item, seen.get(item.name, ())))[:3]] for item in required]
    rows = list(itertools.islice(_diagonal(pools), 6)) if all(pools) else []
    for receiver in receivers:
        base = receiver.name if receiver is not None else None
        for row in rows:
            given = [_apart(item, known.name, base) for known, item in zip(required, row, strict=True)]
            made = [item for item in (receiver, *given) if item is not None and not isinstance(item, str)]
            shown = [_class_of(known, base, item) for known, item in zip(required, given, strict=True)]
            code = _composed([item.code for item in made], _call(target, base, _arguments(required, shown)))
            if made and code is not None:
                yield Draft(code=code, source="synthesis", origin="objects that documented calls return")


def _made(parameter: KnownParameter, objects: Objects) -> list[Maker]:
    """Return what makes an argument: by its documented classes, or by its name where nothing is documented."""
    return objects.of(class_names(parameter.type or ""))[:2] if parameter.type else objects.named(parameter.name)[:2]


def _apart(item: Maker | str, parameter: str, receiver: str | None) -> Maker | str:
    """Return an argument whose made-up object is not called as the receiver is."""
    if isinstance(item, str) or item.name != MADE or receiver != MADE:
        return item
    return replace(item, code=re.sub(rf"(?m)^{MADE} = ", f"{parameter} = ", item.code), name=parameter)


def _class_of(parameter: KnownParameter, receiver: str | None, item: Maker | str) -> str:
    """Return an argument as it is written; what asks for a class, and gets none, takes the receiver's."""
    if not isinstance(item, str):
        return item.name
    asks = parameter.name in {"cls", "klass"} and parameter.type in {None, "type", "class"}
    return f"type({receiver})" if asks and receiver is not None else item


def _call(target: Target, receiver: str | None, arguments: str) -> str:
    if receiver is not None:
        return f"{receiver}.{target.leaf}" + ("" if target.kind == "property" else f"({arguments})")
    module, _, name = target.api.rpartition(".")
    if target.member:
        module, _, owner = target.owner.rpartition(".")
        return f"from {module} import {owner}\n\n{owner}.{name}({arguments})"
    return f"from {module} import {name}\n\n{name}({arguments})"


def _composed(programs: Sequence[str], call: str) -> str | None:
    """Join programs, each statement once; null when two of them give one name to different things."""
    tree = parse_or_none("\n".join([*dict.fromkeys(programs), call]))
    if tree is None:
        return None
    seen: set[str] = set()
    bound: dict[str, str] = {}
    imports: list[str] = []
    body: list[str] = []
    for program in [*dict.fromkeys(programs), call]:
        own: set[str] = set()
        for statement in ast.parse(program).body:
            text = source_of(statement, program)
            names = use_of(statement).binds
            if any(bound.get(name, text) != text and name not in own for name in names):
                return None
            own |= names
            bound |= dict.fromkeys(names, text)
            if text not in seen or text == call:
                seen.add(text)
                (imports if isinstance(statement, ast.Import | ast.ImportFrom) else body).append(text)
    return _with_imports("\n".join([*merged_imports(imports), "", spaced(body)]))


def class_names(text: str) -> list[str]:
    """Return the class names in a type, the outer ones last."""
    text = re.sub(r"[\"']", "", text)
    found = re.findall(r"\b([A-Z][A-Za-z0-9]+)\b", text)
    return [
        name for name in dict.fromkeys(found) if name not in {"Optional", "Union", "Any", "List", "Dict", "Callable"}
    ]


def any_object(parameter: KnownParameter) -> bool:
    """Say whether a parameter may take any object with the right attributes: a class is asked for, or nothing said."""
    if parameter.default is not None or parameter.name.startswith("*"):
        return False
    if parameter.type is None:
        return parameter.description is None
    return bool(re.fullmatch(r"(?:[a-z_]\w*\.)*[A-Z][a-z]*[A-Z]\w*", parameter.type))


def _argument_lists(
    target: Target, parameters: Sequence[KnownParameter], seen: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield argument lists: the required parameters with varying values, then one optional parameter more each."""
    required = [item for item in parameters if item.default is None and not item.name.startswith("*")]
    pools = [_standalone(values(item, seen.get(item.name, ())))[:4] for item in required]
    if not all(pools):
        return
    rows = list(itertools.islice(_diagonal(pools), 10))
    options = [item for item in parameters if item.default is not None and item.name not in INERT]
    options.sort(key=lambda item: item.name not in target.new)
    if target.added or not target.new:
        yield from (_arguments(required, row) for row in rows)
    for option in options[:4]:
        for value in _standalone(values(option, seen.get(option.name, ())))[:2]:
            for row in rows[:3]:
                base = _arguments(required, row)
                yield f"{base}, {option.name}={value}" if base else f"{option.name}={value}"
    for item in parameters:
        if item.name.startswith("*") and not item.name.startswith("**") and not required:
            yield from ("np.array([3.0, 1.0]), np.array([2.0, 5.0])", "'a', 'b'", "1, 2")
    yield from (_arguments(required, row) for row in rows)


def _standalone(expressions: Sequence[str]) -> list[str]:
    """Return the expressions that do not ask for a call around them."""
    return [text for text in expressions if not re.search(r"\b(?:CALL|ARG)\b", text)]


def _diagonal(pools: Sequence[Sequence[_T]]) -> Iterator[tuple[_T, ...]]:
    """Yield combinations with equal ranks first: equal kinds of values belong together."""
    longest = max((len(pool) for pool in pools), default=0)
    if not pools:
        yield ()
        return
    for rank in range(longest):
        yield tuple(pool[min(rank, len(pool) - 1)] for pool in pools)
    yield from itertools.product(*pools)


def _arguments(required: Sequence[KnownParameter], row: Sequence[str]) -> str:
    parts = [
        f"{item.name}={value}" if item.kind == "keyword_only" else value
        for item, value in zip(required, row, strict=True)
    ]
    return ", ".join(parts)


def receivers(places: Iterable[Place], owners: Sequence[Target]) -> Iterator[tuple[Place, ast.expr]]:
    """Yield expressions that make objects of a class.

    Args:
        places: where the class's constructor or its other members are used.
        owners: what is used there: the class itself (its call is the object) or members (their receiver is it).
    """
    seen: set[str] = set()
    for place in places:
        statement = place.script.statements[place.index]
        for owner in owners:
            for site in sites(statement.node, owner, place.script.imports):
                if site.node is None:
                    continue
                found = _object(site.node, owner)
                text = ast.unparse(found) if found is not None else ""
                if found is not None and text not in seen:
                    seen.add(text)
                    yield place, found


def _object(node: ast.expr, owner: Target) -> ast.expr | None:
    if not owner.member:
        return node
    function = node.func if isinstance(node, ast.Call) else node
    return function.value if isinstance(function, ast.Attribute) else None
