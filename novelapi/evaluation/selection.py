"""Which APIs of the library a sample calls, against those that its reference calls: precision, recall, exact set.

Deterministic, from the syntax tree of the code that ran and from the spy's records. A call counts if its name resolves,
through imports, aliases, plain assignments and constructors, to something of the library, and if the code can be
reached from the entry point. Text never counts: neither comments nor strings nor names that are only mentioned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from novelapi.evaluation.program import Names, dotted, entry_function, names_of, parse_code
from novelapi.evaluation.reach import reachable
from novelapi.records.base import Record
from novelapi.selection.measures import rates

SELECTION_VERSION = 1
"""Raise it whenever the same sample would get another score."""

HANDING_ON = frozenset({"map", "filter", "partial", "reduce", "starmap", "accumulate", "submit", "vectorize"})
"""Calls that call the function they are given."""


class Known(Protocol):
    """What is known of the names of a release."""

    def canonical(self, path: str) -> str | None:
        """Return one name for all paths to an object; null when the release has no such public name."""
        ...

    def is_class(self, path: str) -> bool:
        """Whether a path leads to a class."""
        ...

    def lacks(self, path: str) -> bool:
        """Whether the release certainly has no such name; false when nobody can tell."""
        ...


class Selection(Record):
    """Which APIs a sample chose."""

    expected: tuple[str, ...]
    """What the reference calls, sorted; one name per object."""

    called: tuple[str, ...]
    """What the sample calls, sorted."""

    precision: float
    """Share of the called that are expected; 0 when nothing is called."""

    recall: float
    """Share of the expected that are called."""

    f1: float
    """Harmonic mean of both; 0 when nothing is right."""

    exact: bool
    """Whether both sets are equal."""

    hallucinated: tuple[str, ...] = ()
    """Names of the library that the release does not have."""

    stale: tuple[str, ...] = ()
    """Those of them that the old release had."""


def select(
    code: str,
    *,
    context: str,
    entry_point: str,
    expected: AbstractSet[str],
    packages: AbstractSet[str],
    known: Known,
    old: Known | None = None,
    seen: Iterable[str] = (),
) -> Selection:
    """Score the selection of one sample.

    Args:
        code: the code that ran.
        context: code that ran before it.
        entry_point: function that is called; empty for a script.
        expected: `called_apis` of the reference, with the task's targets.
        packages: top-level packages of the library.
        known: names of the release.
        old: names of the old release, to tell stale from invented names.
        seen: targets whose call the spy recorded.
    """
    found = _read(code, context, entry_point, packages, known)
    members = {path.rsplit(".", 1)[-1]: path for path in expected if known.is_class(path.rsplit(".", 1)[0])}
    called = {path for path in found.called if not known.lacks(path)} | set(seen)
    # What a parameter is nobody knows before it runs: a member that the task asks for counts on any such receiver.
    called |= {members[leaf] for leaf in found.attributes & members.keys()}
    names = {known.canonical(path) or path for path in called}
    missing = sorted({_first_missing(path, known) for path in found.named if known.lacks(path)})
    stale = [path for path in missing if old is not None and old.canonical(path) is not None]
    return score_selection(expected, names, hallucinated=missing, stale=stale)


def score_selection(
    expected: Iterable[str], called: Iterable[str], *, hallucinated: Sequence[str] = (), stale: Sequence[str] = ()
) -> Selection:
    """Compare two sets of names.

    Raises:
        ValueError: nothing is expected, so recall has no meaning.
    """
    wanted, chosen = set(expected), set(called)
    if not wanted:
        message = "a sample can only be scored against at least one expected API"
        raise ValueError(message)
    found = rates(len(wanted & chosen), len(chosen), len(wanted))
    return Selection(
        expected=tuple(sorted(wanted)),
        called=tuple(sorted(chosen)),
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
        exact=wanted == chosen and not hallucinated,
        hallucinated=tuple(hallucinated),
        stale=tuple(stale),
    )


def called_apis(code: str, context: str, entry_point: str, packages: AbstractSet[str], known: Known) -> frozenset[str]:
    """Return the canonical names of the library's APIs that code calls; those that do not exist are left out."""
    found = _read(code, context, entry_point, packages, known)
    return frozenset(known.canonical(path) or path for path in found.called if not known.lacks(path))


def trivial_baselines(expected: Mapping[str, Sequence[str]]) -> dict[str, list[Selection]]:
    """Return what two programs that read no task would score: one calls every API, one calls the most frequent.

    Args:
        expected: expected names by task.
    """
    counts: dict[str, int] = {}
    for names in expected.values():
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    first = min(counts, key=lambda name: (-counts[name], name)) if counts else ""
    return {
        "every API": [score_selection(names, counts) for _, names in sorted(expected.items())],
        "the most frequent API": [score_selection(names, [first]) for _, names in sorted(expected.items())],
    }


class _Found:
    """What code refers to: paths below the library's packages, and attributes of what has no known type."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.named: set[str] = set()
        self.attributes: set[str] = set()


def _read(code: str, context: str, entry_point: str, packages: AbstractSet[str], known: Known) -> _Found:
    tree = parse_code(code)
    found = _Found()
    if tree is None:
        return found
    outside = parse_code(context)
    names = names_of(outside, tree)
    nodes = _live_nodes(tree, entry_point)
    types = _receivers(nodes, names, packages, known)
    for node in nodes:
        for path in _imported(node):
            _name(found, path, packages)
        if isinstance(node, ast.Call):
            for path in _callees(node, names, types, packages, known):
                found.called.add(path)
                _name(found, path, packages)
        elif isinstance(node, ast.Attribute):
            path = names.path(node)
            if path is not None and _inside(path, packages):
                _name(found, path, packages)
            elif _type_of(node.value, names, types, packages, known) is None:
                found.attributes.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                path = names.path(decorator)
                if path is not None and _inside(path, packages):
                    found.called.add(path)
    return found


def _live_nodes(tree: ast.Module, entry_point: str) -> list[ast.AST]:
    """Return the nodes that run: the module's own statements, the entry point, and what these refer to."""
    definitions: dict[str, list[ast.stmt]] = {}
    top: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            definitions.setdefault(statement.name, []).append(statement)
        else:
            top.append(statement)
    entry = entry_function(tree, entry_point)
    waiting: list[ast.stmt] = [*top, *([entry] if entry is not None else [])]
    if not entry_point:
        waiting += [statement for several in definitions.values() for statement in several]
    nodes: list[ast.AST] = []
    taken: set[str] = {entry_point}
    while waiting:
        block, waiting = waiting, []
        for node in reachable(block):
            nodes.append(node)
            if isinstance(node, ast.Name) and node.id in definitions and node.id not in taken:
                taken.add(node.id)
                waiting += definitions[node.id]
    return nodes


def _receivers(nodes: Sequence[ast.AST], names: Names, packages: AbstractSet[str], known: Known) -> dict[str, str]:
    """Return the class of each variable that is bound to a constructor's result, and to nothing else."""
    types: dict[str, str | None] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    _bind(types, target.id, _constructed(node.value, names, packages, known))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value:
            _bind(types, node.target.id, _constructed(node.value, names, packages, known))
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            _bind(types, node.optional_vars.id, _constructed(node.context_expr, names, packages, known))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            path = names.path(node.annotation)
            if path is not None and _inside(path, packages) and known.is_class(path):
                _bind(types, node.arg, path)
    return {name: path for name, path in types.items() if path is not None}


def _bind(types: dict[str, str | None], name: str, path: str | None) -> None:
    """Two different classes make a variable unknown."""
    types[name] = path if types.get(name, path) == path else None


def _constructed(node: ast.expr, names: Names, packages: AbstractSet[str], known: Known) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    path = names.path(node.func)
    return path if path is not None and _inside(path, packages) and known.is_class(path) else None


def _callees(
    node: ast.Call, names: Names, types: Mapping[str, str], packages: AbstractSet[str], known: Known
) -> list[str]:
    """Return the library's paths that a call reaches: its function, and functions that it is given to call."""
    paths: list[str] = []
    path = names.path(node.func)
    if path is not None and _inside(path, packages):
        paths.append(path)
    elif isinstance(node.func, ast.Attribute):
        owner = _type_of(node.func.value, names, types, packages, known)
        if owner is not None:
            paths.append(f"{owner}.{node.func.attr}")
    leaf = (dotted(node.func) or [""])[-1]
    if leaf in HANDING_ON:
        given = [names.path(argument) for argument in node.args]
        paths += [path for path in given if path is not None and _inside(path, packages)]
    for keyword in node.keywords:
        path = names.path(keyword.value) if keyword.arg in ("key", "func", "function", "default_factory") else None
        if path is not None and _inside(path, packages):
            paths.append(path)
    return paths


def _type_of(
    node: ast.expr, names: Names, types: Mapping[str, str], packages: AbstractSet[str], known: Known
) -> str | None:
    if isinstance(node, ast.Name):
        return types.get(node.id)
    return _constructed(node, names, packages, known)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*"]
    return []


def _name(found: _Found, path: str, packages: AbstractSet[str]) -> None:
    if _inside(path, packages):
        found.named.add(path)


def _first_missing(path: str, known: Known) -> str:
    """Return the shortest missing part of a missing path: what hangs on it is missing for the same reason."""
    parts = path.split(".")
    return next(head for size in range(2, len(parts) + 1) if known.lacks(head := ".".join(parts[:size])))


def _inside(path: str, packages: AbstractSet[str]) -> bool:
    head, _, rest = path.partition(".")
    return bool(rest) and head in packages
