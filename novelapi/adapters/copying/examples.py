"""What the copy baseline sees in an example: its calls, what surrounds them, what they need."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from novelapi.adapters.copying.reading import import_aliases


@dataclass(frozen=True, kw_only=True)
class Usage:
    """One call in an example, and what surrounds it."""

    path: str
    """Dotted path of what is called; `.leaf` for a method of an object."""
    call: ast.Call
    tree: ast.Module
    attributes: tuple[str, ...] = ()
    """Attributes that the example reads from the result."""

    @property
    def constants(self) -> dict[str, str]:
        """Keyword arguments that are written as literals."""
        pairs = ((item.arg, item.value) for item in self.call.keywords)
        return {name: ast.unparse(value) for name, value in pairs if name and is_literal(value)}


def usages(tree: ast.Module) -> Iterator[Usage]:
    """Yield the calls of an example in order, printing aside."""
    aliases = import_aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            path = _dotted(node.func, aliases)
            if path and path != "print":
                yield Usage(path=path, call=node, tree=tree, attributes=tuple(_attributes_of(node, tree)))


def needed_before(tree: ast.Module, call: ast.Call, needed: set[str]) -> list[str] | None:
    """Return the example's statements before the call that define what the call needs; null if some of it is not."""
    kept: list[str] = []
    needed = needed - set(import_aliases(tree)) - set(dir(builtins))
    for node in reversed([node for node in tree.body if (node.end_lineno or 0) < call.lineno]):
        if isinstance(node, ast.Assign) and {item.id for target in node.targets for item in names_in(target)} & needed:
            kept.append(ast.unparse(node))
            needed -= {
                item.id for target in node.targets for item in names_in(target) if isinstance(item.ctx, ast.Store)
            }
            needed |= {item.id for item in names_in(node.value)} - set(import_aliases(tree)) - set(dir(builtins))
    return kept[::-1] if not needed else None


def _attributes_of(call: ast.Call, tree: ast.Module) -> Iterator[str]:
    """Yield the attributes that an example reads from the result of a call."""
    assigned = {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (
            node.value is call or (isinstance(node.value, ast.Name) and node.value.id in assigned)
        ):
            yield node.attr


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """Return the path of a called expression: imported names resolved, `.leaf` for a method of an object."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if not isinstance(node, ast.Attribute):
        return ""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in aliases:
        return ast.unparse(node).replace(root.id, aliases[root.id], 1)
    return f".{node.attr}"


def names_in(node: ast.AST) -> list[ast.Name]:
    """Return the plain names in an expression or statement."""
    return [item for item in ast.walk(node) if isinstance(item, ast.Name)]


def is_literal(node: ast.expr) -> bool:
    """Say whether an expression is written out, without names and calls."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True
