"""M_code: the implementation of an API and of what it calls in its own package, without documentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from novelapi.knowledge.modules import Definition, Packages, Scope, is_compiled
from novelapi.knowledge.snippets import parse_or_none
from novelapi.knowledge.stripping import stripped
from novelapi.records.api import Candidate

MAX_LINES = 300
"""Lines of M_code."""

ROOT_LINES = 240
"""Lines of the API itself, so that a long one leaves room for helpers."""

HELPER_LINES = 90
"""Lines of one helper; a longer one is left out."""

DEPTH = 2
"""Calls that are followed from the API."""


@dataclass(frozen=True)
class Implementation:
    """M_code, and how it came about."""

    text: str | None
    """The code, or null."""
    file: str | None
    """File of the API itself."""
    helpers: tuple[str, ...]
    """What else is in it, as `module:name`."""
    left_out: tuple[str, ...]
    """Helpers for which there was no room."""
    reason: str | None
    """Why there is none."""


def definition_of(candidate: Candidate, packages: Packages, facts: Mapping[str, Any]) -> Definition | None:
    """Return where an API is defined: through imports as they are written, else where the running code lies."""
    static = packages.find(candidate.canonical) or packages.find(candidate.api)
    if static is not None and isinstance(static.node, Scope):
        return static
    leaf = candidate.api.rsplit(".", 1)[-1]
    return packages.at_line(facts, leaf) or static


def implementation_of(definition: Definition | None, packages: Packages) -> Implementation:
    """Return M_code of a definition; null for compiled code."""
    if definition is None or is_compiled(definition):
        return Implementation(None, None, (), (), "compiled or made at run time: there is no Python source")
    root = definition.module.name.split(".", 1)[0]
    text = stripped(definition, ROOT_LINES)
    parts = [_titled(definition, text)]
    used = text.count("\n") + 2
    helpers: list[str] = []
    left_out: list[str] = []
    seen = {_identity(definition)}
    for helper in _closure(definition, packages, root, DEPTH, seen):
        name = f"{helper.module.name}:{helper.name}"
        code = stripped(helper, MAX_LINES)
        size = code.count("\n") + 3
        if size > HELPER_LINES or used + size > MAX_LINES:
            left_out.append(name)
            continue
        parts.append(_titled(helper, code))
        helpers.append(name)
        used += size
    joined = "\n\n".join(parts) + "\n"
    if parse_or_none(joined) is None:
        return Implementation(None, definition.module.path, (), (), "the source does not parse with this Python")
    return Implementation(joined, definition.module.path, tuple(helpers), tuple(left_out), None)


def _titled(definition: Definition, code: str) -> str:
    where = definition.module.path + (f", class {definition.owner.name}" if definition.owner is not None else "")
    return f"# {where}\n{code}"


def _identity(definition: Definition) -> tuple[str, int]:
    return definition.module.name, definition.node.lineno


def _closure(
    definition: Definition, packages: Packages, root: str, depth: int, seen: set[tuple[str, int]]
) -> Iterator[Definition]:
    """Yield helpers depth first in the order of their calls."""
    for helper in _called(definition, packages):
        if helper.module.name.split(".", 1)[0] != root or _identity(helper) in seen:
            continue
        if not isinstance(helper.node, Scope) or is_compiled(helper):
            continue
        seen.add(_identity(helper))
        yield helper
        if depth > 1 and not isinstance(helper.node, ast.ClassDef):
            yield from _closure(helper, packages, root, depth - 1, seen)


def _called(definition: Definition, packages: Packages) -> Iterator[Definition]:
    """Yield what a definition calls, resolved through the imports of its module."""
    local = _local_names(definition.node)
    calls = [node for node in ast.walk(_without_decorators(definition.node)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        function = call.func
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            continue
        if root.id in {"self", "cls"} and definition.owner is not None and isinstance(function, ast.Attribute):
            if function.value is root:
                member = packages.class_member(Definition(definition.module, definition.owner), function.attr)
                if member is not None:
                    yield member
            continue
        if root.id in local:
            continue
        found = packages.resolve(definition.module, function)
        if isinstance(found, Definition):
            yield found


def _without_decorators(node: ast.stmt) -> ast.AST:
    return ast.Module(body=node.body, type_ignores=[]) if isinstance(node, Scope) else node


def _local_names(node: ast.stmt) -> set[str]:
    """Return parameters and variables of a function: they hide the names of the module."""
    names: set[str] = set()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for part in ast.walk(node):
            if isinstance(part, ast.arg):
                names.add(part.arg)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names.add(part.id)
    return names
