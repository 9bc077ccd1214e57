"""What the sources say about the difference between two releases, API by API.

A new API is compared with the old one at the same path, else with the same definition, else with one of the same leaf
name whose docstring or parameters show that it only moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from novelapi.discovery.apis import MEMBER_KINDS, Api, ApiTable
from novelapi.discovery.signatures import compare
from novelapi.discovery.surface.facts import VAR_KEYWORD, VAR_POSITIONAL, Param
from novelapi.discovery.surface.model import ApiObject
from novelapi.records.api import Change

DOC_PREFIX = 400
"""Characters of a docstring that identify it (protocol.md, section 1.2, uses the same number)."""
DOC_LEAST = 40
"""Shorter docstrings identify nothing."""
DOC_ALIKE = 0.6
"""Similarity from which two docstrings may describe the same thing, if the parameters agree as well."""

Relation = Literal["same_path", "same_definition", "moved", "none"]
_CALLABLE = {"function", "class", *MEMBER_KINDS}


@dataclass(frozen=True, slots=True)
class Difference:
    """One API of the new release beside what it was."""

    new: Api
    old: ApiObject | None
    """What it is compared with."""
    old_path: str | None
    """A path that led to it in the old release."""
    relation: Relation
    changes: tuple[Change, ...] = ()
    """Differences of the signatures as written; empty when one of them is not known."""
    class_is_new: bool = False
    """For members: whether every reachable class that has it is new too."""
    newly_inherited: bool = False
    """For members: whether the definition is old and only a class that inherits it is new to it."""

    @property
    def comparable(self) -> bool:
        """Whether the sources give both signatures."""
        return self.old is not None and self.old.params is not None and self.new.object.params is not None

    @property
    def is_opaque(self) -> bool:
        """Whether only running tells what it is or takes: made by a call, compiled, or behind a decorator."""
        return _is_opaque(self.new.object) or (self.old is not None and _is_opaque(self.old))


class Differ:
    """Compares the APIs of two releases."""

    def __init__(self, old: ApiTable | None, new: ApiTable) -> None:
        """Remember both tables; the old one is null when there was no release before."""
        self._old, self._new = old, new

    def differences(self) -> Iterator[Difference]:
        """Yield one row per API of the new release, classes before their members."""
        classes: dict[str, ApiObject] = {}
        for api in self._new.top.values():
            row = self._top(api)
            if row.old is not None and row.old.kind == "class":
                classes[api.object.canonical] = row.old
            yield row
        for api in self._new.members.values():
            yield self._member(api, classes)

    def removed(self, found: Sequence[Difference]) -> list[Api]:
        """Return what the old release offered and the new one does not."""
        if self._old is None:
            return []
        kept = {row.old.canonical for row in found if row.old is not None}
        return [
            api
            for api in self._old.all()
            if api.public
            and api.object.canonical not in kept
            and api.object.kind in _CALLABLE
            and not any(self._new.find(path) for path in api.public)
        ]

    def _top(self, api: Api) -> Difference:
        if self._old is None:
            return Difference(api, None, None, "none")
        for path in sorted(api.paths, key=lambda path: (path not in api.public, path != api.shown, path)):
            found = self._old.surface.lookup(path)
            if found is not None:
                return _difference(api, found, path, "same_path")
        same = self._old.top.get(api.object.canonical)
        if same is not None and same.paths:
            return _difference(api, same.object, same.shown, "same_definition")
        moved = self._moved_from(api)
        if moved is not None:
            return _difference(api, moved.object, moved.shown, "moved")
        return Difference(api, None, None, "none")

    def _member(self, api: Api, classes: Mapping[str, ApiObject]) -> Difference:
        if self._old is None:
            return Difference(api, None, None, "none", class_is_new=True)
        pairs = [(classes.get(owner), owner, name) for owner, name in api.owners]
        for old_class, owner, name in pairs:
            found = self._old.surface.member(old_class, name) if old_class is not None else None
            if found is not None and old_class is not None:
                path = self._old_path(old_class, name, f"{self._new.top[owner].shown}.{name}")
                return _difference(api, found, path, "same_path")
        inherited = api.object.canonical in self._old.members and any(old is not None for old, _, _ in pairs)
        return Difference(
            api,
            None,
            None,
            "none",
            class_is_new=all(old is None for old, _, _ in pairs),
            newly_inherited=inherited,
        )

    def _old_path(self, old_class: ApiObject, name: str, wish: str) -> str:
        assert self._old is not None
        owner = self._old.top.get(old_class.canonical)
        if owner is None or wish.rpartition(".")[0] in owner.paths:
            return wish
        return f"{owner.shown}.{name}"

    @cached_property
    def _by_leaf(self) -> Mapping[tuple[str, str], list[Api]]:
        index: dict[tuple[str, str], list[Api]] = defaultdict(list)
        for api in self._old.top.values() if self._old else ():
            if api.public:
                for leaf in {path.rpartition(".")[2] for path in api.public}:
                    index[leaf, api.object.kind].append(api)
        return index

    def _moved_from(self, api: Api) -> Api | None:
        leaf = api.shown.rpartition(".")[2]
        found = [old for old in self._by_leaf.get((leaf, api.object.kind), ()) if is_same(old.object, api.object)]
        return min(found, key=lambda old: old.shown, default=None)


def _difference(api: Api, old: ApiObject, path: str, relation: Relation) -> Difference:
    changes: tuple[Change, ...] = ()
    if old.params is not None and api.object.params is not None and old.kind == api.object.kind:
        changes = compare(old.params, api.object.params)
    return Difference(api, old, path, relation, changes)


def is_same(old: ApiObject, new: ApiObject) -> bool:
    """Return whether two objects of one leaf name and kind are the same thing at another place."""
    before, after = (old.doc or "")[:DOC_PREFIX], (new.doc or "")[:DOC_PREFIX]
    if len(before) >= DOC_LEAST and before == after:
        return True
    if old.params is None or new.params is None or _shape(old.params) != _shape(new.params) or len(new.params) < 2:
        return False
    if len(before) < DOC_LEAST or len(after) < DOC_LEAST:
        return old.kind != "class"
    return SequenceMatcher(None, before, after, autojunk=False).ratio() >= DOC_ALIKE


def _shape(params: Sequence[Param]) -> list[tuple[str, int]]:
    return [(param.name, param.kind) for param in params if param.kind not in {VAR_POSITIONAL, VAR_KEYWORD}]


_TRANSPARENT = {
    "abstractmethod",
    "asynccontextmanager",
    "cache",
    "classmethod",
    "contextmanager",
    "dataclass",
    "define",
    "deprecated",
    "final",
    "frozen",
    "lru_cache",
    "overload",
    "override",
    "property",
    "cached_property",
    "runtime_checkable",
    "set_module",
    "array_function_dispatch",
    "staticmethod",
    "total_ordering",
    "wraps",
}
"""Decorators that leave the written signature as it is."""


def _is_opaque(item: ApiObject) -> bool:
    if item.kind in {"value", "unknown"} or (item.params is None and item.kind != "property"):
        return True
    if item.file.endswith(".pyi"):
        return True  # a stub describes, it does not decide
    return any(name.rpartition(".")[2] not in _TRANSPARENT for name in item.decorators)
