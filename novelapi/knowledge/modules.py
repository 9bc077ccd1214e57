"""Modules of a package on disk, read but never imported: where a name is really defined."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from novelapi.knowledge.snippets import parse_or_none

_DEPTH = 12
"""Imports that are followed from a name to its definition."""

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    """Dotted name."""
    path: str
    """Path below the folder of the packages."""
    text: str
    """Source."""
    is_package: bool
    """Whether it is an `__init__`."""

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source, empty when it does not parse with this Python."""
        return parse_or_none(self.text) or ast.Module(body=[], type_ignores=[])

    @cached_property
    def bindings(self) -> Mapping[str, ast.stmt]:
        """The statement that binds each top-level name; a definition wins over an import, the last one otherwise."""
        found: dict[str, ast.stmt] = {}
        for node in _top_level(self.tree.body):
            for name in _bound(node):
                if isinstance(found.get(name), Scope) and not isinstance(node, Scope):
                    continue
                if not (isinstance(node, Scope) and _is_overload(node)):
                    found[name] = node
        return found

    @cached_property
    def stars(self) -> list[str]:
        """Modules that are imported with a star."""
        return [
            target
            for node in _top_level(self.tree.body)
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
            for target in [self.absolute(node)]
        ]

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the module that an import names, relative ones resolved."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*base, *([node.module] if node.module else [])])


@dataclass(frozen=True)
class Definition:
    """A statement that makes an object: a function, a class, or an assignment."""

    module: Module
    """Where it stands."""
    node: ast.stmt
    """The statement."""
    owner: ast.ClassDef | None = None
    """The class around it."""

    @property
    def name(self) -> str:
        """Name of the function or class, or the source of an assignment's target."""
        return self.node.name if isinstance(self.node, Scope) else ast.unparse(self.node).split("=", 1)[0].strip()


class Packages:
    """The packages below one folder."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; files are read when they are asked for."""
        self.folder = folder
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name, or null when there is no source of it."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        base = self.folder.joinpath(*name.split("."))
        for path, is_package in ((base / "__init__.py", True), (base.with_name(base.name + ".py"), False)):
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                return Module(name, path.relative_to(self.folder).as_posix(), text, is_package)
        return None

    def lookup(self, module: Module, name: str, depth: int = 0) -> Definition | Module | None:
        """Follow a name from a module to what defines it: a definition, a module, or nothing in this folder."""
        node = module.bindings.get(name)
        if node is None or depth > _DEPTH:
            return self._elsewhere(module, name, depth) if depth <= _DEPTH else None
        if isinstance(node, ast.ImportFrom):
            alias = next(item for item in node.names if (item.asname or item.name) == name)
            return self._imported(module.absolute(node), alias.name, depth)
        if isinstance(node, ast.Import):
            alias = next(item for item in node.names if (item.asname or item.name.split(".", 1)[0]) == name)
            return self.module(alias.name if alias.asname else name)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id != name:
            return self.lookup(module, node.value.id, depth + 1) or Definition(module, node)
        return Definition(module, node)

    def _elsewhere(self, module: Module, name: str, depth: int) -> Definition | Module | None:
        for star in module.stars:
            found = self.module(star)
            result = self.lookup(found, name, depth + 1) if found is not None else None
            if result is not None:
                return result
        return self.module(f"{module.name}.{name}") if module.is_package else None

    def _imported(self, source: str, name: str, depth: int) -> Definition | Module | None:
        origin = self.module(source)
        found = self.lookup(origin, name, depth + 1) if origin is not None else None
        return found or self.module(f"{source}.{name}")

    def find(self, path: str) -> Definition | None:
        """Return the definition behind `package.module:Class.member` or `package.module.Class.member`."""
        modules, _, qualname = path.partition(":")
        parts = [
            *modules.split("."),
            *([item for item in qualname.split(".") if item != "<locals>"] if qualname else []),
        ]
        for end in range(len(parts) - 1, 0, -1):
            module = self.module(".".join(parts[:end]))
            if module is None:
                continue
            found = self._member(self.lookup(module, parts[end]), parts[end + 1 :])
            if found is not None:
                return found
        return None

    def _member(self, found: Definition | Module | None, names: Iterable[str]) -> Definition | None:
        for name in names:
            if isinstance(found, Module):
                found = self.lookup(found, name)
            elif found is not None and isinstance(found.node, ast.ClassDef):
                found = self.class_member(found, name)
            else:
                return None
        return found if isinstance(found, Definition) else None

    def class_member(self, owner: Definition, name: str, depth: int = 0) -> Definition | None:
        """Return a member from the body of a class or of its bases in this folder."""
        node = owner.node
        if not isinstance(node, ast.ClassDef) or depth > _DEPTH:
            return None
        chosen: ast.stmt | None = None
        for member in _top_level(node.body):
            if name in _bound(member) and not (isinstance(member, Scope) and _is_overload(member)):
                chosen = member
        if chosen is not None:
            return Definition(owner.module, chosen, node)
        for base in node.bases:
            found = self.resolve(owner.module, base)
            if isinstance(found, Definition):
                member = self.class_member(found, name, depth + 1)
                if member is not None:
                    return member
        return None

    def resolve(self, module: Module, node: ast.expr) -> Definition | Module | None:
        """Return what an expression such as `a.b.c` names in a module."""
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            return self.lookup(module, node.id)
        if isinstance(node, ast.Attribute):
            found = self.resolve(module, node.value)
            if isinstance(found, Module):
                return self.lookup(found, node.attr)
            if found is not None and isinstance(found.node, ast.ClassDef):
                return self.class_member(found, node.attr)
        return None

    def at_line(self, facts: Mapping[str, Any], leaf: str) -> Definition | None:
        """Return the definition that the running library points to: file and first line of the code.

        Args:
            facts: what `describe` says of the API.
            leaf: its name; a definition of another name is a wrapper, not the API.
        """
        file, line = facts.get("file"), facts.get("line")
        if not file or "site-packages/" not in file:
            return None
        relative = file.split("site-packages/", 1)[1].removesuffix(".py")
        module = self.module(relative.replace("/", ".").removesuffix(".__init__"))
        if module is None:
            return None
        names = {leaf, f"_{leaf}", (facts.get("qualname") or "").rsplit(".", 1)[-1]}
        for node, owner in _definitions(module.tree.body, None):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if first == line and node.name in names:
                return Definition(module, node, owner)
        return None


def _definitions(body: Iterable[ast.stmt], owner: ast.ClassDef | None) -> Iterator[tuple[Scope, ast.ClassDef | None]]:
    for node in _top_level(body):
        if isinstance(node, Scope):
            yield node, owner
            yield from _definitions(node.body, node if isinstance(node, ast.ClassDef) else owner)


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below conditions and `try` included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _top_level(node.orelse)
            yield from _top_level(node.body)
        elif isinstance(node, ast.Try):
            yield from _top_level([*(item for handler in node.handlers for item in handler.body), *node.body])
        elif isinstance(node, ast.With):
            yield from _top_level(node.body)
        else:
            yield node


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, Scope):
        return [node.name]
    if isinstance(node, ast.Import):
        return [alias.asname or alias.name.split(".", 1)[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names if alias.name != "*"]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def is_compiled(definition: Definition) -> bool:
    """Say whether a definition only lends its signature to compiled code."""
    decorators = getattr(definition.node, "decorator_list", [])
    return any("from_c_func" in ast.unparse(item) for item in decorators)


def _is_overload(node: Scope) -> bool:
    return any(ast.unparse(item).rsplit(".", 1)[-1] == "overload" for item in node.decorator_list)
