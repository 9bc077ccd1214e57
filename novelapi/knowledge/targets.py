"""Targets: what to look for in code when examples of an API are wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from novelapi.knowledge.names import dotted
from novelapi.records.api import Candidate

MEMBERS = frozenset({"method", "classmethod", "staticmethod", "property"})
"""Kinds of API that belong to a class."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """An API, as code refers to it."""

    api: str
    """Public path."""
    paths: frozenset[str]
    """Every public path."""
    kind: str
    """What sort of object it is."""
    positional: tuple[str, ...]
    """Names of the parameters that a position can reach."""
    new: frozenset[str]
    """Parameters that the old release does not know; empty for an added API."""
    added: bool
    """Whether the API itself is new."""

    @property
    def leaf(self) -> str:
        """Last segment of the path."""
        return self.api.rsplit(".", 1)[-1]

    @property
    def member(self) -> bool:
        """Whether it belongs to a class."""
        return self.kind in MEMBERS

    @property
    def leaves(self) -> frozenset[str]:
        """Last segments of all paths."""
        return frozenset(path.rsplit(".", 1)[-1] for path in self.paths)

    @property
    def owner(self) -> str:
        """Path of the class or module that holds it."""
        return self.api.rpartition(".")[0]

    def passes_new(self, positional: int, keywords: frozenset[str]) -> bool:
        """Say whether a call with these arguments passes something that the old release does not know."""
        return self.added or bool(self.new & (keywords | set(self.positional[:positional])))


def target_of(candidate: Candidate) -> Target:
    """Return what to look for."""
    positional = [
        item.name for item in candidate.parameters if item.kind in {"positional_only", "positional_or_keyword"}
    ]
    new = {
        change.parameter
        for change in candidate.changes
        if change.kind in {"parameter_added", "parameter_renamed"} and change.parameter is not None
    }
    return Target(
        api=candidate.api,
        paths=frozenset((candidate.api, *candidate.paths)),
        kind=candidate.kind,
        positional=tuple(positional),
        new=frozenset(new),
        added=candidate.change == "added",
    )


@dataclass(frozen=True)
class Site:
    """A place in a statement where a target seems to be used."""

    node: ast.expr | None
    """The call or attribute; null when the target decorates or is inherited from."""
    uses_change: bool
    """Whether it passes what is new, as far as syntax shows."""


def sites(statement: ast.stmt, target: Target, imports: Mapping[str, str]) -> Iterator[Site]:
    """Yield the places of a statement where a target seems to be used; running tells whether it really was.

    Args:
        statement: where to look.
        target: what to look for.
        imports: what imported names stand for: they tell `np.sum(x)` from `x.sum()`.
    """
    leaves = target.leaves
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and _names_target(node.func, target, leaves, imports):
            keywords = frozenset(item.arg for item in node.keywords if item.arg is not None)
            count = sum(not isinstance(item, ast.Starred) for item in node.args)
            yield Site(node, target.passes_new(count, keywords))
        elif target.kind == "property" and isinstance(node, ast.Attribute) and node.attr in leaves:
            if isinstance(node.ctx, ast.Load) and dotted(node, imports) is None:
                yield Site(node, target.added)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            references = [*node.decorator_list, *(node.bases if isinstance(node, ast.ClassDef) else [])]
            if any(_names_target(item, target, leaves, imports) for item in references):
                yield Site(None, target.added)


def _names_target(node: ast.expr, target: Target, leaves: frozenset[str], imports: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id in leaves and not target.member and _may_be(imports.get(node.id), target)
    if not isinstance(node, ast.Attribute) or node.attr not in leaves or target.kind == "property":
        return False
    path = dotted(node, imports)
    if target.member:
        return path is None or path in target.paths or path.count(".") > 1
    return path is not None and _may_be(path, target)


def _may_be(path: str | None, target: Target) -> bool:
    """Say whether a full name may lead to the target; a private path may, since no list of paths holds it."""
    return path is None or path in target.paths or "._" in path
