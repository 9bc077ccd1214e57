"""Reads calls from Python code: `f(a=1)`, `[f(a=1), g(b="x")]`, and programs that hand results on."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from novelapi.selection.calls import Call, Reference
from novelapi.selection.scanning import parse_python

BUILTINS = frozenset(dir(builtins))
"""They are no tools unless the row lists them."""


def read_python(text: str, known: Callable[[str], bool]) -> list[Call] | None:
    """Return the calls of a program in the order in which they run, or null when it is no code that calls something.

    Definitions are not entered: only what the module itself runs counts. A name is looked up as it is written; what the
    program imports or defines is no tool unless the row lists it. Results that are handed on, nested or through a
    variable, become references.
    """
    tree = parse_python(text.strip())
    if tree is None:
        return None
    reader = _Reader(known, BUILTINS | _own_names(tree))
    try:
        for statement in tree.body:
            reader.statement(statement)
    except RecursionError:  # no program that a person would write
        return None
    return reader.calls or None


def _own_names(tree: ast.Module) -> set[str]:
    """Return the names that a program imports or defines."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


class _Reader:
    """Collects calls, and which variable holds the result of which."""

    def __init__(self, known: Callable[[str], bool], own: AbstractSet[str]) -> None:
        self.calls: list[Call] = []
        self._known = known
        self._own = own
        self._variables: dict[str, Any] = {}

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            value = self.value(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self._variables[target.id] = value
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.value(child)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression: plain data, a reference, or its own text."""
        if isinstance(node, ast.Await):
            return self.value(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Name) and node.id in self._variables:
            return self._variables[node.id]
        if isinstance(node, ast.Attribute | ast.Subscript):
            held = self.value(node.value)
            if isinstance(held, Reference):
                part = node.attr if isinstance(node, ast.Attribute) else _key(node.slice)
                return Reference(held.label, f"{held.path}.{part}".lstrip("."))
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            pairs = zip(node.keys, node.values, strict=True)
            return {key.value: self.value(value) for key, value in pairs if isinstance(key, ast.Constant)}
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return ast.unparse(node)

    def _call(self, node: ast.Call) -> Any:
        name = dotted(node.func)
        given = [self.value(argument) for argument in node.args]
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        root = (name or "").split(".")[0]
        if name is None or (not self._known(name) and (root in self._own or root in self._variables)):
            return ast.unparse(node)
        label = f"call{len(self.calls)}"
        self.calls.append(Call(name=name, arguments=named, positional=tuple(given), label=label))
        return Reference(label)


def dotted(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of names, else null."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join(reversed([*parts, node.id]))


def _key(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
