"""The surface of a release as data: objects, the names that lead to them, and its file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from novelapi import jsonl
from novelapi.discovery.surface.facts import Param

EXTRACTOR_VERSION = 3
"""Raise it whenever the same wheel would give another surface."""

ObjectKind = Literal["function", "class", "method", "classmethod", "staticmethod", "property", "value", "unknown"]
"""value: an assignment; unknown: exported, but only running tells what it is (compiled, lazy, made in a loop)."""

EvidenceKind = Literal["all", "package", "redundant", "defined", "hidden", "leak"]
"""Why a path counts, best first: in `__all__`; re-exported by a package; redundant alias or star import; defined there.
The last two do not count: excluded by `__all__`, imported for the module's own use."""

EVIDENCE: tuple[EvidenceKind, ...] = ("all", "package", "redundant", "defined", "hidden", "leak")
PUBLIC_EVIDENCE = frozenset(EVIDENCE[:4])


@dataclass(slots=True)
class ApiObject:
    """One definition, whatever the number of paths to it."""

    canonical: str
    """Defining module and qualified name, with a colon between."""
    kind: ObjectKind
    params: list[Param] | None = None
    """Parameters of a call, without `self` or `cls`; null when the sources do not tell."""
    returns: str | None = None
    doc: str | None = None
    file: str = ""
    """Path inside the wheel."""
    line: int = 0
    end: int = 0
    decorators: tuple[str, ...] = ()
    deprecated: bool = False
    role: str = ""
    """Sort of class: exception, warning, enum, protocol, typeddict, namedtuple, dataclass, model; else empty."""
    mro: tuple[str, ...] = ()
    """Classes of this library that members are inherited from, the class itself first."""
    foreign_bases: tuple[str, ...] = ()
    """Base classes from elsewhere."""
    members: dict[str, str] = field(default_factory=dict)
    """Public members defined in the class's own body: name to canonical."""
    origin: str = ""
    """For `value` and `unknown`: what made it, if the source says."""

    @property
    def module(self) -> str:
        """Defining module."""
        return self.canonical.partition(":")[0]

    @property
    def leaf(self) -> str:
        """Last part of the name."""
        return self.canonical.rpartition(":")[2].rpartition(".")[2]

    @property
    def path(self) -> str:
        """The defining path with dots."""
        return self.canonical.replace(":", ".")


@dataclass(slots=True)
class Surface:
    """Everything that a release defines and that a public name leads to."""

    distribution: str
    version: str
    sources: dict[str, str]
    """Archives that it was read from, with their SHA-256."""
    roots: tuple[str, ...]
    """Top-level packages."""
    objects: dict[str, ApiObject]
    """By canonical name; methods have rows of their own."""
    names: dict[str, dict[str, tuple[str, EvidenceKind]]]
    """Module without a private segment -> name -> canonical and evidence. Foreign things are `=dotted.name`."""
    module_aliases: dict[str, str] = field(default_factory=dict)
    """Paths that lead to a module of another name (`numpy.char` once led to `numpy.core.defchararray`)."""
    module_docs: dict[str, str] = field(default_factory=dict)
    """Docstrings of modules that list names with directives of the documentation."""
    open_modules: tuple[str, ...] = ()
    """Modules that make names in loops or on first use."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Modules that could not be parsed, with the reason."""
    modules: int = 0
    """Number of modules in the archives."""

    def lookup(self, path: str) -> ApiObject | None:
        """Return what a dotted path leads to; members of classes included."""
        module, _, name = path.rpartition(".")
        module = self.module_aliases.get(module, module)
        found = self.names.get(module, {}).get(name)
        if found is not None:
            return self.objects.get(found[0])
        owner = self.lookup(module) if module else None
        return self.member(owner, name) if owner is not None and owner.kind == "class" else None

    def member(self, owner: ApiObject, name: str) -> ApiObject | None:
        """Return a member of a class, inherited ones included."""
        for base in owner.mro:
            canonical = self.objects[base].members.get(name) if base in self.objects else None
            if canonical is not None:
                return self.objects.get(canonical)
        return None

    def paths(self) -> Iterator[tuple[str, str, EvidenceKind]]:
        """Yield every path without a private segment, what it leads to and why it counts."""
        for module, names in self.names.items():
            for name, (canonical, evidence) in names.items():
                yield f"{module}.{name}", canonical, evidence

    def save(self, path: Path) -> None:
        """Write the surface to a file."""
        body = {
            "schema": 1,
            "extractor": EXTRACTOR_VERSION,
            "distribution": self.distribution,
            "version": self.version,
            "sources": self.sources,
            "roots": self.roots,
            "module_aliases": self.module_aliases,
            "module_docs": self.module_docs,
            "open_modules": self.open_modules,
            "unreadable": self.unreadable,
            "modules": self.modules,
            "columns": _COLUMNS,
            "objects": [_row(item) for item in self.objects.values()],
            "names": self.names,
        }
        jsonl.write_text(path, json.dumps(body, ensure_ascii=False, separators=(",", ":")))


_COLUMNS = [item.name for item in fields(ApiObject)]


def _row(item: ApiObject) -> list[Any]:
    row = [getattr(item, name) for name in _COLUMNS]
    row[2] = None if item.params is None else [[p.name, p.kind, p.default, p.annotation] for p in item.params]
    while row and not row[-1]:
        row.pop()
    return row


def load_surface(path: Path) -> Surface | None:
    """Read a surface; null when there is none or another extractor wrote it."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if body.get("extractor") != EXTRACTOR_VERSION:
        return None
    return Surface(
        distribution=body["distribution"],
        version=body["version"],
        sources=body["sources"],
        roots=tuple(body["roots"]),
        objects={row[0]: _object(row) for row in body["objects"]},
        names=body["names"],
        module_aliases=body["module_aliases"],
        module_docs=body["module_docs"],
        open_modules=tuple(body["open_modules"]),
        unreadable=body["unreadable"],
        modules=body["modules"],
    )


def _object(row: list[Any]) -> ApiObject:
    item = ApiObject(*row)
    if item.params is not None:
        item.params = [Param(*param) for param in row[2]]
    return item
