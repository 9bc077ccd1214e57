"""Builds the surface of a release from its sources."""

from __future__ import annotations

from collections.abc import Iterator

from novelapi.discovery.sources import Sources
from novelapi.discovery.surface.constructors import ClassReader, method_kind
from novelapi.discovery.surface.facts import (
    AliasFacts,
    ClassFacts,
    FunctionFacts,
    ImportFacts,
    ModuleFacts,
    ValueFacts,
)
from novelapi.discovery.surface.model import ApiObject, EvidenceKind, Surface
from novelapi.discovery.surface.namespace import Bound, Namespace, Target
from novelapi.discovery.visibility import Trees, is_private, says_private


class Extractor:
    """Walks over all modules without a private segment and follows their names."""

    def __init__(self, sources: Sources) -> None:
        """Remember the sources; nothing is read yet."""
        self._sources = sources
        self._namespace = Namespace(sources)
        self._classes = ClassReader(self._namespace)
        self._objects: dict[str, ApiObject] = {}
        self._module_aliases: dict[str, str] = {}

    def extract(self, distribution: str, version: str, digests: dict[str, str]) -> Surface:
        """Return the surface; objects and names are sorted."""
        names: dict[str, dict[str, tuple[str, EvidenceKind]]] = {}
        open_modules: list[str] = []
        module_docs: dict[str, str] = {}
        trees = Trees([*self._sources.modules, *self._sources.stubs])
        for module in sorted({*self._sources.modules, *self._sources.stubs}):
            if is_private(module) or trees.reason(module):
                continue
            facts = self._namespace.module(module)
            if facts is None:
                continue
            found = dict(sorted(self._names(facts)))
            if found:
                names[module] = found
            if facts.doc and (".. auto" in facts.doc or says_private(facts.doc)):
                module_docs[module] = facts.doc
            if facts.is_open or facts.has_getattr:
                open_modules.append(module)
        return Surface(
            distribution=distribution,
            version=version,
            sources=dict(sorted(digests.items())),
            roots=self._sources.roots,
            objects=dict(sorted(self._objects.items())),
            names=names,
            module_aliases=dict(sorted(self._module_aliases.items())),
            module_docs=module_docs,
            open_modules=tuple(open_modules),
            unreadable=dict(sorted(self._namespace.unreadable.items())),
            modules=len(self._sources.modules),
        )

    def _names(self, facts: ModuleFacts) -> Iterator[tuple[str, tuple[str, EvidenceKind]]]:
        """Yield the public names of a module with what they lead to and why they count."""
        exported = self._namespace.exports(facts.name)
        table = self._namespace.table(facts.name)
        listed = frozenset(exported or ())
        for name, bound in table.items():
            if is_private(name) or (_is_typing_only(bound) and not facts.has_getattr and not facts.is_open):
                continue
            target = self._resolve(facts.name, name)
            if target.kind == "module" and target.name != f"{facts.name}.{name}":
                self._module_aliases[f"{facts.name}.{name}"] = target.name
            canonical = self._register(target)
            if canonical is not None:
                evidence = self._evidence(facts, name, bound, target, listed if exported is not None else None)
                yield name, (canonical, evidence)
        for name in listed - table.keys():
            canonical = self._register(self._resolve(facts.name, name))
            if canonical is not None and not is_private(name):
                yield name, (canonical, "all")

    def _resolve(self, module: str, name: str) -> Target:
        """Follow a name; where the sources end in compiled code, a stub beside the module may know more."""
        target = self._namespace.resolve(module, name)
        if target.kind in {"unknown", "value"}:
            stubbed = self._namespace.from_stub(module, name)
            return stubbed if stubbed.kind == "object" else target
        return target

    def _evidence(
        self, facts: ModuleFacts, name: str, bound: Bound, target: Target, exported: frozenset[str] | None
    ) -> EvidenceKind:
        if exported is not None and (name in exported or not facts.exports_open):
            return "all" if name in exported else "hidden"
        binding = bound.binding
        if not isinstance(binding, ImportFacts):
            return "defined"
        if binding.redundant:
            return "redundant"
        if facts.is_package and self._belongs(facts.name, binding.module):
            return "package"
        return "redundant" if bound.starred and target.kind != "foreign" else "leak"

    def _belongs(self, package: str, source: str) -> bool:
        """Return whether a package re-exports an import: it comes from below, or from where no public path leads."""
        inside = source == package or source.startswith(f"{package}.")
        return inside or (source.partition(".")[0] in self._sources.roots and is_private(source))

    def _register(self, target: Target) -> str | None:
        """Add what a name stands for to the objects; return its canonical name, null for modules."""
        if target.kind == "module":
            return None
        if target.kind == "foreign":
            return f"={target.name}"
        if target.name not in self._objects:
            if isinstance(target.facts, FunctionFacts):
                self._objects[target.name] = self._function(target.name, target.facts)
            elif isinstance(target.facts, ClassFacts):
                self._class(target.name, target.facts)
            else:
                origin = target.facts.callee or "" if isinstance(target.facts, ValueFacts) else ""
                kind = "value" if target.kind == "value" else "unknown"
                self._objects[target.name] = ApiObject(target.name, kind, origin=origin)
        return target.name

    def _function(self, canonical: str, facts: FunctionFacts) -> ApiObject:
        return ApiObject(
            canonical,
            "function",
            params=facts.params,
            returns=facts.returns,
            doc=facts.doc,
            file=self._file(canonical, is_stub=facts.is_stub),
            line=facts.line,
            end=facts.end,
            decorators=facts.decorators,
            deprecated=facts.deprecated,
        )

    def _class(self, canonical: str, facts: ClassFacts) -> None:
        mro, foreign = self._classes.order(canonical, facts)
        params, constructor_doc = self._classes.parameters(canonical, facts)
        self._objects[canonical] = ApiObject(
            canonical,
            "class",
            params=params,
            doc=facts.doc or constructor_doc,
            file=self._file(canonical, is_stub=facts.is_stub),
            line=facts.line,
            end=facts.end,
            decorators=facts.decorators,
            deprecated=facts.deprecated,
            role=self._classes.role(canonical, facts),
            mro=mro,
            foreign_bases=foreign,
            members=dict(self._members(canonical, facts)),
        )
        for base in mro[1:]:
            if base not in self._objects:
                self._class(base, self._classes.facts(base))

    def _members(self, canonical: str, facts: ClassFacts) -> Iterator[tuple[str, str]]:
        """Register the public methods of a class body; yield their names and canonical names."""
        for name, binding in sorted(facts.members.items()):
            if is_private(name):
                continue
            defined, function = name, binding
            if isinstance(binding, AliasFacts) and binding.target in facts.members and not is_private(binding.target):
                defined, function = binding.target, facts.members[binding.target]
            if isinstance(function, FunctionFacts):
                member = f"{canonical}.{defined}"
                self._objects[member] = self._method(member, function)
                yield name, member

    def _method(self, canonical: str, facts: FunctionFacts) -> ApiObject:
        item = self._function(canonical, facts)
        item.kind = method_kind(facts)  # type: ignore[assignment]
        if item.kind == "property":
            item.params = None
        elif item.kind != "staticmethod" and facts.params and facts.params[0].kind < 2:
            item.params = facts.params[1:]
        return item

    def _file(self, canonical: str, *, is_stub: bool) -> str:
        module = canonical.partition(":")[0]
        file = (self._sources.stubs if is_stub else self._sources.modules).get(module)
        return file.path if file else ""


def _is_typing_only(bound: Bound) -> bool:
    return isinstance(bound.binding, ImportFacts) and bound.binding.typing_only
