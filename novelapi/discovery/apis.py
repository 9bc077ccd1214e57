"""One row per API of a release: an object with all its paths, the path that is shown, and what bars it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from novelapi.catalog import PrivatePrefix
from novelapi.discovery.surface.model import EVIDENCE, PUBLIC_EVIDENCE, ApiObject, EvidenceKind, Surface
from novelapi.discovery.visibility import declared_private, is_private, says_private

MEMBER_KINDS = frozenset({"method", "classmethod", "staticmethod", "property"})


@dataclass(slots=True)
class Api:
    """An object of a release and how it is reached."""

    object: ApiObject
    paths: dict[str, EvidenceKind] = field(default_factory=dict)
    """Importable paths without a private segment, with why each counts."""
    declared: dict[str, str] = field(default_factory=dict)
    """Paths below a prefix that the library declares private, with that prefix."""
    owners: tuple[tuple[str, str], ...] = ()
    """For members: canonical names of the reachable classes that have it, the shown one first, each with the name."""
    shown: str = ""
    """The path that is shown."""

    @property
    def public(self) -> dict[str, EvidenceKind]:
        """The paths that users are meant to use."""
        return {p: e for p, e in self.paths.items() if e in PUBLIC_EVIDENCE and p not in self.declared}

    @property
    def spellings(self) -> list[str]:
        """All paths and the defining one, sorted."""
        return sorted({*self.paths, self.object.path})

    def barrier(self) -> tuple[str, str] | None:
        """Return why nobody is meant to use it, as reason and detail, or null."""
        if self.public:
            return None
        if self.declared and not any(path not in self.declared for path, kind in self.paths.items() if kind != "leak"):
            return "private_prefix", f"below {min(self.declared.values())}, which the library calls private"
        if "hidden" in self.paths.values():
            hidden = min(path for path, kind in self.paths.items() if kind == "hidden")
            return "not_exported", f"{hidden.rpartition('.')[0]} leaves it out of __all__"
        return "leaked_import", "modules import it for their own use only"


@dataclass(frozen=True)
class Foreign:
    """A name of this library that leads to another distribution."""

    path: str
    target: str
    evidence: EvidenceKind


def self_declared(module_docs: Mapping[str, str]) -> Iterator[PrivatePrefix]:
    """Yield the modules whose own docstring calls them internal."""
    for module, text in sorted(module_docs.items()):
        if "." in module and says_private(text):
            yield PrivatePrefix(prefix=module, source="docstring of the module")


class ApiTable:
    """All APIs of one release."""

    def __init__(
        self, surface: Surface, private_prefixes: Sequence[PrivatePrefix] = (), documented: Collection[str] = ()
    ) -> None:
        """Group the paths of a surface by object.

        Args:
            surface: the surface.
            private_prefixes: what the library declares private.
            documented: names in the documentation; a documented path is preferred for display.
        """
        self.surface = surface
        self._prefixes = (*private_prefixes, *self_declared(surface.module_docs))
        self._documented = documented
        self.foreign: list[Foreign] = []
        self.top: dict[str, Api] = {}
        """Functions, classes and values by canonical name."""
        for path, canonical, evidence in surface.paths():
            if canonical.startswith("="):
                self.foreign.append(Foreign(path, canonical[1:], evidence))
                continue
            api = self.top.setdefault(canonical, Api(surface.objects[canonical]))
            self._add(api, path, evidence)
        for api in self.top.values():
            api.shown = self._best(api)

    def _add(self, api: Api, path: str, evidence: EvidenceKind) -> None:
        api.paths[path] = evidence
        prefix = self._declared(path)
        if prefix:
            api.declared[path] = prefix

    def _declared(self, path: str) -> str | None:
        return declared_private(path, self._prefixes) if self._prefixes else None

    def _best(self, api: Api) -> str:
        """Return the path to show: meant for users, documented, best evidence, fewest segments, alphabetical."""
        if not api.paths:
            return api.object.path

        def order(path: str) -> tuple[bool, bool, int, int, str]:
            evidence = api.paths[path]
            hidden = path in api.declared or evidence not in PUBLIC_EVIDENCE
            rank = 0 if evidence in {"all", "package", "redundant"} else EVIDENCE.index(evidence)
            return hidden, path not in self._documented, rank, path.count("."), path

        return min(api.paths, key=order)

    @cached_property
    def members(self) -> Mapping[str, Api]:
        """Public members of reachable classes by canonical name; paths go through every class that inherits them."""
        exposures: dict[str, list[tuple[Api, str]]] = defaultdict(list)
        for api in self.top.values():
            if api.object.kind == "class" and api.paths:
                for name, canonical in self.class_members(api.object):
                    exposures[canonical].append((api, name))
        return {canonical: self._member(canonical, found) for canonical, found in sorted(exposures.items())}

    def class_members(self, item: ApiObject) -> Iterator[tuple[str, str]]:
        """Yield the members of a class with their canonical names, inherited ones included."""
        seen: dict[str, str] = {}
        for base in reversed(item.mro):
            owner = self.surface.objects.get(base)
            if owner is not None:
                seen.update(owner.members)
        for name, canonical in seen.items():
            if not is_private(name) and canonical in self.surface.objects:
                yield name, canonical

    def _member(self, canonical: str, exposures: Sequence[tuple[Api, str]]) -> Api:
        """Make the row of a member; it is shown under the class that defines it if users can reach that one."""
        api = Api(self.surface.objects[canonical])
        home = canonical.rpartition(".")[0]

        def order(exposure: tuple[Api, str]) -> tuple[bool, bool, bool, int, str]:
            owner, name = exposure
            shown = f"{owner.shown}.{name}"
            defined_here = owner.object.canonical == home
            return not owner.public, shown not in self._documented, not defined_here, shown.count("."), shown

        ordered = sorted(exposures, key=order)
        for owner, name in ordered:
            for path, evidence in owner.paths.items():
                api.paths[f"{path}.{name}"] = evidence
                if path in owner.declared:
                    api.declared[f"{path}.{name}"] = owner.declared[path]
        api.owners = tuple((owner.object.canonical, name) for owner, name in ordered)
        api.shown = f"{ordered[0][0].shown}.{ordered[0][1]}"
        return api

    def all(self) -> Iterator[Api]:
        """Yield functions, classes, values and then members."""
        yield from self.top.values()
        yield from self.members.values()

    def is_declared_private(self, path: str) -> bool:
        """Return whether a path lies below a prefix that the library declares private."""
        return self._declared(path) is not None

    def has_path(self, path: str) -> bool:
        """Return whether a module of this release has a name, whatever it leads to."""
        module, _, name = path.rpartition(".")
        return name in self.surface.names.get(module, {})

    def new_spellings(self, old: ApiTable | None) -> Iterator[tuple[str, str, str]]:
        """Yield public paths that the old release lacks for objects that it has: path, known path, canonical name."""
        if old is None:
            return
        for canonical, api in self.top.items():
            known = [path for path in api.paths if old.surface.lookup(path) is not None]
            for path in api.public if known else ():
                if path not in known and not old.has_path(path):
                    yield path, min(known, key=lambda item: (item.count("."), item)), canonical

    def find(self, path: str) -> Api | None:
        """Return the API that a path leads to."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> Mapping[str, Api]:
        index: dict[str, Api] = {}
        for api in self.all():
            for path in api.paths:
                index.setdefault(path, api)
            index.setdefault(api.object.path, api)
        return index
