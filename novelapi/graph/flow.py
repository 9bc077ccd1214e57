"""The static tier: def-use in programs that are read, not run.

A program is followed from top to bottom without branches: what a call of the library gave, under which name it is kept,
and which later call takes it, whole or as an attribute, a key or a position. A method is known when the class of its
receiver is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from novelapi.graph.model import Port
from novelapi.knowledge.names import imports_of


@dataclass(frozen=True, kw_only=True)
class Text:
    """A program with the place where it can be opened."""

    code: str
    where: str
    """File, docstring or example; the line of the program is added."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What one call gave and another took."""

    source: str
    port: Port
    target: str
    parameter: str
    where: str
    statement: str
    """The line of the call that took it."""


class Names(Protocol):
    """What is known of a library's APIs."""

    def resolve(self, path: str) -> str | None:
        """Return the API that a dotted path leads to."""
        ...

    def class_of(self, api: str, port: Port) -> str | None:
        """Return the shown path of the class that a port holds, where it is one class."""
        ...

    def parameter(self, api: str, position: int) -> str | None:
        """Return the name of the parameter that a position reaches, the receiver not counted."""
        ...


@dataclass(frozen=True)
class _Value:
    """A value that a call gave: which call, which part of it."""

    api: str
    port: Port


def static_flows(programs: Sequence[Text], names: Names) -> Iterator[Flow]:
    """Yield the flows of programs; those that are no Python give none."""
    for program in programs:
        try:
            tree = ast.parse(program.code)
        except (SyntaxError, ValueError, RecursionError):
            continue
        yield from _Reader(program, names).read(tree)


class _Reader:
    def __init__(self, program: Text, names: Names) -> None:
        self.program = program
        self.names = names
        self.imports: dict[str, str] = {}
        self.values: dict[str, _Value] = {}
        self.found: list[Flow] = []

    def read(self, tree: ast.Module) -> list[Flow]:
        for statement in tree.body:
            self.statement(statement)
        return self.found

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports |= imports_of(node)
        elif isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.bind(target, value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            value = self.value(node.value) if node.value is not None else None
            self.bind(node.target, value if isinstance(node, ast.AnnAssign) else None)
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        else:
            self.compound(node)

    def compound(self, node: ast.stmt) -> None:
        if isinstance(node, ast.With):
            for item in node.items:
                value = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, value)
            self.block(node.body)
        elif isinstance(node, ast.For):
            self.value(node.iter)
            self.bind(node.target, None)
            self.block([*node.body, *node.orelse])
        elif isinstance(node, ast.While | ast.If):
            self.value(node.test)
            self.block([*node.body, *node.orelse])

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def bind(self, target: ast.expr, value: _Value | None) -> None:
        if isinstance(target, ast.Name):
            self.imports.pop(target.id, None)
            if value is None:
                self.values.pop(target.id, None)
            else:
                self.values[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            whole = value is not None and value.port.kind == "whole"
            for place, item in enumerate(target.elts):
                part = _Value(value.api, Port(kind="item", name=str(place))) if whole and value is not None else None
                self.bind(item, part)

    def value(self, node: ast.expr) -> _Value | None:
        """Return what an expression holds, and note the calls in it."""
        if isinstance(node, ast.Name):
            return self.values.get(node.id)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Attribute):
            return self.part(node.value, Port(kind="attribute", name=node.attr))
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return None

    def subscript(self, node: ast.Subscript) -> _Value | None:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str):
            return self.part(node.value, Port(kind="key", name=key))
        if isinstance(key, int) and not isinstance(key, bool):
            return self.part(node.value, Port(kind="item", name=str(key)))
        self.value(node.value)
        self.value(node.slice)
        return None

    def part(self, node: ast.expr, port: Port) -> _Value | None:
        """Return a part of a whole result; parts of parts are not followed."""
        value = self.value(node)
        return _Value(value.api, port) if value is not None and value.port.kind == "whole" else None

    def call(self, node: ast.Call) -> _Value | None:
        api, receiver = self.callee(node.func)
        arguments = [(str(place), item) for place, item in enumerate(node.args) if not isinstance(item, ast.Starred)]
        arguments += [(item.arg, item.value) for item in node.keywords if item.arg]
        for name, item in arguments:
            taken = self.value(item)
            if api is not None and taken is not None:
                parameter = self.names.parameter(api, int(name)) if name.isdigit() else name
                self.note(taken, api, parameter, node)
        if api is not None and receiver is not None:
            self.note(receiver, api, "self", node)
        return _Value(api, Port()) if api is not None else None

    def callee(self, node: ast.expr) -> tuple[str | None, _Value | None]:
        """Return the API that is called, and its receiver where it is a method."""
        path = _dotted(node)
        if path is not None:
            head, _, rest = path.partition(".")
            if head in self.imports:
                return self.names.resolve(f"{self.imports[head]}.{rest}" if rest else self.imports[head]), None
        if not isinstance(node, ast.Attribute):
            return None, None
        receiver = self.value(node.value)
        owner = self.names.class_of(receiver.api, receiver.port) if receiver is not None else None
        return (self.names.resolve(f"{owner}.{node.attr}"), receiver) if owner is not None else (None, None)

    def note(self, value: _Value, target: str, parameter: str | None, node: ast.Call) -> None:
        if parameter is None:
            return
        statement = ast.unparse(node)
        self.found.append(
            Flow(
                source=value.api,
                port=value.port,
                target=target,
                parameter=parameter,
                where=f"{self.program.where}, line {node.lineno}",
                statement=statement if len(statement) <= 160 else statement[:157] + "...",
            )
        )


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None
