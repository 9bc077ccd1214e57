"""How the copy baseline binds the parameters of the entry point to those of a call."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from novelapi.adapters.copying.reading import Parameter, import_aliases


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of one call as source text."""

    receiver: str | None = None
    """Object whose method is called; null for a function."""
    positional: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    setup: tuple[str, ...] = ()
    """Statements that have to run before."""

    def text(self) -> str:
        """Return what stands in the parentheses."""
        return ", ".join([*self.positional, *(f"{name}={value}" for name, value in self.keywords)])

    def with_options(self, options: dict[str, str]) -> Arguments:
        """Add keyword arguments that are not given yet."""
        given = {name for name, _ in self.keywords}
        added = tuple((name, value) for name, value in options.items() if name not in given)
        return replace(self, keywords=self.keywords + added)


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
        return {name: ast.unparse(value) for name, value in pairs if name and _is_literal(value)}


def usages(tree: ast.Module) -> Iterator[Usage]:
    """Yield the calls of an example in order, printing aside."""
    aliases = import_aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            path = _dotted(node.func, aliases)
            if path and path != "print":
                yield Usage(path=path, call=node, tree=tree, attributes=tuple(_attributes_of(node, tree)))


def positional_arguments(entry: Sequence[str], is_method: bool) -> Arguments:
    """Pass the parameters of the entry point in their own order."""
    return Arguments(receiver=entry[0] if is_method and entry else None, positional=tuple(entry[is_method:]))


def bind_by_parameters(entry: Sequence[str], parameters: Sequence[Parameter], is_method: bool) -> Arguments:
    """Match by equal names, then by similar ones, then required parameters in order, then optional ones."""
    receiver = entry[0] if is_method and entry and entry[0] not in {item.name for item in parameters} else None
    left = [name for name in entry if name != receiver]
    bound: dict[str, str] = {}
    for same in (str.__eq__, _similar):
        for item in parameters:
            found = next((name for name in left if item.name not in bound and same(name, item.name)), None)
            if found:
                bound[item.name] = found
                left.remove(found)
    ordered = [item for item in parameters if item.name not in bound and item.kind != "var_keyword"]
    for item in sorted(ordered, key=lambda item: (item.default is not None, item.kind == "keyword_only")):
        if left and item.kind != "var_positional":
            bound[item.name] = left.pop(0)
        elif left:
            bound[item.name] = ", ".join(left)
            left = []
    return replace(_written(parameters, bound, left), receiver=receiver)


def _written(parameters: Sequence[Parameter], bound: dict[str, str], rest: Sequence[str]) -> Arguments:
    """Write positional arguments while they follow each other, then keywords."""
    positional: list[str] = []
    keywords: list[tuple[str, str]] = []
    gap = False
    for item in parameters:
        if item.name not in bound:
            gap = gap or item.kind != "var_positional"
        elif item.kind == "var_positional":
            value = bound[item.name]
            positional.append(f"*{value}" if value == item.name else value)
        elif item.kind == "positional_only" or (not gap and item.kind != "keyword_only" and item.default is None):
            positional.append(bound[item.name])
        elif item.kind == "var_keyword":
            positional.append(f"**{bound[item.name]}")
        else:
            gap = True
            keywords.append((item.name, bound[item.name]))
    return Arguments(positional=(*positional, *rest), keywords=tuple(keywords))


def bind_by_example(entry: Sequence[str], usage: Usage) -> Arguments:
    """Put the parameters of the entry point into the places of an example's call: by name, then in order."""
    call, left = usage.call, list(entry)
    method = usage.path.startswith(".") and isinstance(call.func, ast.Attribute)
    slots: list[tuple[str | None, ast.expr]] = [(None, item) for item in call.args]
    slots += [(item.arg or "**", item.value) for item in call.keywords]
    if method:
        assert isinstance(call.func, ast.Attribute)
        slots.insert(0, ("", call.func.value))
    filled: dict[int, str] = {}
    for index, (name, value) in enumerate(slots):
        own = name if name in left else ast.unparse(value)
        if own in left:
            filled[index] = own
            left.remove(own)
    for wanted_literal in (False, True):  # data stands in variables, options in literals
        for index, (name, value) in enumerate(slots):
            is_option = bool(name) and _is_literal(value)
            if left and index not in filled and is_option is wanted_literal:
                filled[index] = left.pop(0)
    texts = [filled.get(index, ast.unparse(value)) for index, (_, value) in enumerate(slots)]
    free = {node.id for i, (_, value) in enumerate(slots) if i not in filled for node in _names(value)}
    pairs = [(name, text) for (name, _), text in zip(slots, texts, strict=True)]
    return Arguments(
        receiver=pairs[0][1] if method else None,
        positional=(*(text for name, text in pairs if name is None), *left),
        keywords=tuple((name, text) for name, text in pairs if name and name != "**"),
        setup=tuple(_slice(usage.tree, call, free - set(entry))),
    )


def _slice(tree: ast.Module, call: ast.Call, needed: set[str]) -> list[str]:
    """Return the example's statements before the call that define what the call needs."""
    kept: list[str] = []
    before = [node for node in tree.body if (node.end_lineno or 0) < call.lineno]
    for node in reversed(before):
        targets = {item.id for target in getattr(node, "targets", []) for item in _names(target)}
        if isinstance(node, ast.Assign) and targets & needed:
            kept.append(ast.unparse(node))
            needed = (needed - targets) | {item.id for item in _names(node.value)}
    return kept[::-1]


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


def _names(node: ast.AST) -> list[ast.Name]:
    return [item for item in ast.walk(node) if isinstance(item, ast.Name)]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def _similar(first: str, second: str) -> bool:
    first, second = first.lower().strip("_"), second.lower().strip("_")
    short = min(len(first), len(second))
    return (
        first == second
        or (short >= 3 and (first.startswith(second) or second.startswith(first)))
        or (short >= 4 and difflib.SequenceMatcher(None, first, second).ratio() >= 0.8)
    )
