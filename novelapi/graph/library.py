"""The APIs of a release as nodes, and the classes that their ports hold: from annotations, stubs and docstrings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from novelapi.discovery.apis import Api, ApiTable
from novelapi.discovery.surface.facts import VAR_KEYWORD, VAR_POSITIONAL
from novelapi.discovery.surface.model import ApiObject, Surface
from novelapi.graph.annotations import WHOLE, Held, parts_of
from novelapi.graph.model import Input, Node, Output, Port
from novelapi.knowledge import docstrings

SELF = "self"
"""Name of the parameter that stands for the receiver."""
_NO_TYPE = frozenset({"exception", "warning", "protocol", "enum"})
"""Roles of classes that are not joined: errors and constants are not handed on, protocols fit nearly everything."""
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_TYPE_TEXT = 100
_PARAGRAPH = 300
_OWN = {"method": SELF, "property": SELF}

Slot = tuple[str, str]
"""API and text of a port, or API and name of a parameter."""


@dataclass(kw_only=True)
class LibraryNodes:
    """The nodes of a release with the classes of their ports."""

    nodes: list[Node]
    given: Mapping[Slot, tuple[str, ...]]
    """Classes that an output is an instance of, base classes included, by port."""
    wanted: Mapping[Slot, tuple[str, ...]]
    """Classes that a parameter accepts."""
    table: ApiTable
    left_out: Counter[str] = field(default_factory=Counter)

    def resolve(self, path: str) -> str | None:
        """Return the shown name of the API that a path leads to, null if it is none of the graph."""
        found = self.table.find(path)
        return found.shown if found is not None and found.shown in self.names else None

    @cached_property
    def names(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return {node.api: node for node in self.nodes}

    def class_of(self, api: str, port: Port) -> str | None:
        """Return the shown path of the class that a port holds."""
        held = self.given.get((api, port.text))
        return _shown(self.table, held[0]) if held else None

    def parameter(self, api: str, position: int) -> str | None:
        """Return the name of the parameter that a position reaches, the receiver not counted."""
        found = self.table.find(api)
        params = [param for param in (found.object.params if found else None) or () if param.kind <= VAR_POSITIONAL]
        if not params:
            return None
        if params[-1].kind == VAR_POSITIONAL:
            return params[min(position, len(params) - 1)].name
        return params[position].name if position < len(params) else None


def library_nodes(surface: Surface, table: ApiTable, novel: Collection[str] = ()) -> LibraryNodes:
    """Return a node for every public function, class, method and property of a release.

    Args:
        surface: the static surface.
        table: its APIs.
        novel: shown paths of the candidates of stage 1.
    """
    return _Reader(surface, table, frozenset(novel)).read()


class _Reader:
    def __init__(self, surface: Surface, table: ApiTable, novel: frozenset[str]) -> None:
        self.surface = surface
        self.table = table
        self.novel = novel
        self.given: dict[Slot, tuple[str, ...]] = {}
        self.wanted: dict[Slot, tuple[str, ...]] = {}
        self.left_out: Counter[str] = Counter()
        self.classes: defaultdict[str, list[str]] = defaultdict(list)
        for item in surface.objects.values():
            if item.kind == "class" and item.role not in _NO_TYPE:
                self.classes[item.leaf].append(item.canonical)

    def read(self) -> LibraryNodes:
        found: dict[str, Node] = {}
        for api in self.table.all():
            if api.barrier() is not None or api.object.kind == "value":
                continue
            if api.object.role in {"exception", "warning"}:
                self.left_out["errors and warnings"] += 1
                continue
            if api.shown in found:
                self.left_out["paths with two objects"] += 1
                continue
            found[api.shown] = self._node(api)
        return LibraryNodes(
            nodes=[found[name] for name in sorted(found)],
            given=self.given,
            wanted=self.wanted,
            table=self.table,
            left_out=self.left_out,
        )

    def _node(self, api: Api) -> Node:
        item = api.object
        owner = api.owners[0][0] if api.owners else None
        documented = self._documented(item)
        inputs = list(self._inputs(api, owner, documented))
        outputs = list(self._outputs(api, owner, documented))
        if not item.doc:
            self.left_out["APIs without documentation"] += 1
        if not any((api.shown, output.port.text) in self.given for output in outputs):
            self.left_out["APIs whose result has no class of the library"] += 1
        return Node(
            api=api.shown,
            text=(item.doc or "").strip().partition("\n\n")[0][:_PARAGRAPH],
            where=f"{item.file}:{item.line}-{item.end}" if item.file else "",
            novel=api.shown in self.novel,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
        )

    def _documented(self, item: ApiObject) -> docstrings.ParsedDocstring | None:
        """Read the docstring where annotations leave something open."""
        bare = [param for param in item.params or () if param.annotation is None]
        open_result = item.returns is None and item.kind not in {"class", "property"}
        return docstrings.parse(item.doc) if item.doc and (bare or open_result) else None

    def _inputs(self, api: Api, owner: str | None, documented: docstrings.ParsedDocstring | None) -> Iterator[Input]:
        item = api.object
        if item.kind in _OWN and owner is not None:
            self.wanted[api.shown, SELF] = (owner,)
            yield Input(name=SELF, type=_shown(self.table, owner))
        seen = {SELF}
        for param in item.params or ():
            if param.name in seen:
                self.left_out["parameters named twice"] += 1
                continue
            seen.add(param.name)
            told = documented.parameters.get(param.name) if documented else None
            text = param.annotation or (told.type if told else None)
            held = parts_of(param.annotation) if param.annotation else self._words(text)
            classes = self._classes([name for port, name in held if port == WHOLE], item, owner)
            if classes:
                self.wanted[api.shown, param.name] = classes
            yield Input(
                name=param.name,
                type=text[:_TYPE_TEXT] if text else None,
                required=param.default is None and param.kind not in {VAR_POSITIONAL, VAR_KEYWORD},
                text=(told.description or "")[:_PARAGRAPH] if told else "",
            )

    def _outputs(self, api: Api, owner: str | None, documented: docstrings.ParsedDocstring | None) -> Iterator[Output]:
        item = api.object
        if item.kind == "class":
            self._give(api, WHOLE, (item.canonical,))
            yield Output(type=api.shown, port=WHOLE)
            return
        text = item.returns or (documented.returns if documented else None)
        if text == "None":
            return
        if item.returns:
            held = parts_of(item.returns)
        else:
            held = self._words(text.partition(":")[0] if text else None)
        yield Output(port=WHOLE, type=text[:_TYPE_TEXT] if text else None)
        by_port: dict[Port, list[str]] = {}
        for port, name in held:
            by_port.setdefault(port, []).append(name)
        for port, names in by_port.items():
            classes = self._classes(names, item, owner)
            if classes:
                self._give(api, port, classes)
                if port != WHOLE:
                    yield Output(port=port, type=" | ".join(names)[:_TYPE_TEXT])

    def _give(self, api: Api, port: Port, classes: tuple[str, ...]) -> None:
        lines = (self.surface.objects[name].mro or (name,) for name in classes)
        bases = [base for line in lines for base in line if self._counts(base)]
        self.given[api.shown, port.text] = tuple(dict.fromkeys(bases))

    def _counts(self, canonical: str) -> bool:
        item = self.surface.objects.get(canonical)
        return item is not None and item.role not in _NO_TYPE

    def _words(self, text: str | None) -> list[Held]:
        """Return the classes of the library that a type in words names: `Graph or None`, `csr_array of float`."""
        if not text or len(text) > 2 * _TYPE_TEXT:
            return []
        words = (word.rstrip(".") for word in _WORD.findall(text))
        return [(WHOLE, word) for word in words if word.rpartition(".")[2] in self.classes]

    def _classes(self, names: list[str], item: ApiObject, owner: str | None) -> tuple[str, ...]:
        found = (self._class(name, item, owner) for name in names)
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def _class(self, name: str, item: ApiObject, owner: str | None) -> str | None:
        """Return the class that a name means in a module: the only one of that name, else the nearest."""
        leaf = name.rpartition(".")[2]
        if leaf == "Self" and owner is not None:
            return owner
        known = self.classes.get(leaf, ())
        if len(known) <= 1:
            return known[0] if known else None
        near = [(_common(canonical, item.canonical), canonical) for canonical in known]
        best = max(number for number, _ in near)
        nearest = [canonical for number, canonical in near if number == best]
        if len(nearest) == 1:
            return nearest[0]
        self.left_out["types that several classes are named like"] += 1
        return None


def _common(first: str, second: str) -> int:
    """Count the leading parts that two canonical names share."""
    pairs = zip(re.split(r"[.:]", first), re.split(r"[.:]", second), strict=False)
    number = 0
    for left, right in pairs:
        if left != right:
            break
        number += 1
    return number


def _shown(table: ApiTable, canonical: str) -> str:
    found = table.top.get(canonical)
    return found.shown if found is not None else canonical.replace(":", ".")
