"""Follows names from module to module, reading only the files that a public name leads to."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from novelapi.discovery.sources import ModuleFile, Sources
from novelapi.discovery.surface.exports import ExportsReader, UnknownExportsError
from novelapi.discovery.surface.facts import (
    AliasFacts,
    Binding,
    ClassFacts,
    FunctionFacts,
    ImportFacts,
    ModuleFacts,
    StarFacts,
    ValueFacts,
)
from novelapi.discovery.surface.reader import read_module

_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for."""

    kind: Literal["object", "member", "module", "foreign", "value", "unknown"]
    """object: a definition of ours; value: an assignment or a compiled name; unknown: only running can tell."""
    name: str
    """`module:qualified.name`, or the dotted name of a module or a foreign thing."""
    facts: Binding | None = None
    """The definition."""
    stars: bool = False
    """Whether a star import stands between."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One name of a module after star imports."""

    binding: Binding
    starred: bool = False
    """Whether a star import brought it."""


class Namespace:
    """All modules of a release, read on demand."""

    def __init__(self, sources: Sources) -> None:
        """Remember the sources."""
        self.sources = sources
        self.unreadable: dict[str, str] = {}
        """Modules whose source is not Python of this version, with the reason."""
        self._modules: dict[str, ModuleFacts | None] = {}
        self._stubs: dict[str, ModuleFacts | None] = {}
        self._tables: dict[str, dict[str, Bound]] = {}
        self._exports: dict[str, list[str] | None] = {}
        self._reading: set[str] = set()

    def module(self, name: str) -> ModuleFacts | None:
        """Return the facts of a module, from its source or else its stub; null for compiled and missing ones."""
        if name not in self._modules:
            file = self.sources.modules.get(name) or self.sources.stubs.get(name)
            self._modules[name] = self._read(file) if file else None
        return self._modules[name]

    def stub(self, name: str) -> ModuleFacts | None:
        """Return the facts of a stub that lies beside a source."""
        if name not in self._stubs:
            file = self.sources.stubs.get(name)
            self._stubs[name] = self._read(file) if file else None
        return self._stubs[name]

    def _read(self, file: ModuleFile) -> ModuleFacts | None:
        try:
            return read_module(
                self.sources.read(file), file.module, is_package=file.is_package, is_stub=file.kind == "stub"
            )
        except (SyntaxError, ValueError, RecursionError) as error:
            self.unreadable[file.module] = f"{type(error).__name__}: {error}"
            return None

    def exports(self, name: str) -> list[str] | None:
        """Return `__all__` of a module; null when it has none or one that only running can tell."""
        facts = self.module(name)
        if facts is None or not facts.all_operations:
            return None
        if name not in self._exports:
            self._exports[name] = None  # a circle of modules sees none
            reader = ExportsReader(facts, lambda n: self._bound(facts, n), lambda item: self._exports_of(facts, item))
            try:
                self._exports[name] = reader.read()
            except UnknownExportsError:
                self._exports[name] = None
        return self._exports[name]

    def _exports_of(self, facts: ModuleFacts, item: str) -> list[str] | None:
        """Return `__all__` of what a dotted name stands for; with `=` in front, the list that the name itself holds."""
        if item.startswith("="):
            return None
        target = self.follow(facts.name, item)
        return self.exports(target.name) if target.kind == "module" else None

    def _bound(self, facts: ModuleFacts, number: int) -> list[str]:
        return list(self._expand(facts, number))

    def table(self, name: str) -> Mapping[str, Bound]:
        """Return the names of a module with star imports expanded, in the order of execution."""
        if name not in self._tables:
            facts = self.module(name)
            if facts is None or name in self._reading:
                return {}
            self._reading.add(name)
            try:
                self._tables[name] = self._expand(facts, len(facts.bindings))
            finally:
                self._reading.discard(name)
        return self._tables[name]

    def _expand(self, facts: ModuleFacts, number: int) -> dict[str, Bound]:
        table: dict[str, Bound] = {}
        for name, binding in facts.bindings[:number]:
            if isinstance(binding, StarFacts):
                for item in self.star_names(binding.module):
                    imported = ImportFacts(binding.module, item, typing_only=binding.typing_only)
                    if not (binding.typing_only and item in table):
                        table[item] = Bound(imported, starred=True)
            elif isinstance(binding, ValueFacts) and binding.callee == "del":
                table.pop(name, None)
            elif not (isinstance(binding, ImportFacts) and binding.typing_only and name in table):
                table[name] = Bound(binding)
        return table

    def star_names(self, name: str) -> list[str]:
        """Return what `from name import *` binds."""
        if not self.sources.is_module(name):
            return []
        exported = self.exports(name)
        if exported is not None:
            return exported
        return [item for item in self.table(name) if not item.startswith("_")]

    def resolve(self, module: str, name: str, depth: int = 0) -> Target:
        """Return what a name of a module stands for."""
        if depth > _DEPTH:
            return Target("unknown", f"{module}:{name}")
        bound = self.table(module).get(name)
        if bound is None:
            if self.sources.is_module(f"{module}.{name}"):
                return Target("module", f"{module}.{name}")
            return self.from_stub(module, name)
        return self._target(module, name, bound.binding, depth)

    def _target(self, module: str, name: str, binding: Binding, depth: int) -> Target:
        if isinstance(binding, (FunctionFacts, ClassFacts)):
            return Target("object", f"{module}:{name}", binding)
        if isinstance(binding, ImportFacts):
            itself = binding.module == module and binding.name == name  # `from . import name` binds the submodule
            if itself and self.sources.is_module(f"{module}.{name}"):
                return Target("module", f"{module}.{name}")
            return self._imported(binding, depth)
        if isinstance(binding, AliasFacts):
            return self.follow(module, binding.target, depth + 1, own=name)
        stubbed = self.from_stub(module, name)
        return stubbed if stubbed.kind == "object" else Target("value", f"{module}:{name}", binding)

    def from_stub(self, module: str, name: str) -> Target:
        """Look a name up in the stub beside a source: compiled and generated objects are described there."""
        if module in self.sources.modules:
            stub = self.stub(module)
            for item, binding in stub.bindings if stub else ():
                if item == name and isinstance(binding, (FunctionFacts, ClassFacts)):
                    return Target("object", f"{module}:{name}", binding)
        return Target("unknown", f"{module}:{name}")

    def _imported(self, binding: ImportFacts, depth: int) -> Target:
        root = binding.module.partition(".")[0]
        if root not in self.sources.roots:
            return Target("foreign", ".".join(filter(None, (binding.module, binding.name))))
        if binding.name is None:
            return Target("module", binding.module)
        if self.module(binding.module) is None:
            child = f"{binding.module}.{binding.name}"
            if self.sources.is_module(child):
                return Target("module", child)
            return Target("unknown", f"{binding.module}:{binding.name}")
        return self.resolve(binding.module, binding.name, depth + 1)

    def follow(self, module: str, path: str, depth: int = 0, own: str = "") -> Target:
        """Return what a dotted name in a module stands for.

        Args:
            module: where the name is used.
            path: the dotted name.
            depth: number of steps so far, against circles.
            own: a name that must not be looked up in the module itself (`sum = sum`).
        """
        head, *rest = path.split(".")
        if head == own or (head not in self.table(module) and not self.sources.is_module(f"{module}.{head}")):
            if hasattr(builtins, head):
                return Target("foreign", f"builtins.{path}")
            return Target("unknown", f"{module}:{own or path}")
        target = self.resolve(module, head, depth + 1)
        for position, part in enumerate(rest):
            if target.kind == "module":
                target = self.resolve(target.name, part, depth + 1)
            elif target.kind == "foreign":
                return Target("foreign", ".".join([target.name, *rest[position:]]))
            elif target.kind == "object" and isinstance(target.facts, ClassFacts) and part in target.facts.members:
                target = Target("member", f"{target.name}.{part}", target.facts.members[part])
            else:
                return Target("unknown", f"{module}:{own or path}")
        return target
