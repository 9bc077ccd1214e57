"""Signatures as data: how they are written, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from novelapi.discovery.surface.facts import (
    KEYWORD_ONLY,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Param,
)
from novelapi.records.api import Change, Parameter, ParameterKind

KINDS: tuple[ParameterKind, ...] = (
    "positional_only",
    "positional_or_keyword",
    "var_positional",
    "keyword_only",
    "var_keyword",
)
_VARIADIC = {VAR_POSITIONAL, VAR_KEYWORD}
_BY_POSITION = {POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD}

SIGNIFICANT = frozenset(
    {"parameter_added", "parameter_removed", "parameter_renamed", "parameter_kind", "parameter_moved"}
)
"""Changes after which some call means something else or is refused by one of the two releases."""


def to_records(params: Iterable[Param]) -> tuple[Parameter, ...]:
    """Return parameters in the form of the records."""
    return tuple(
        Parameter(name=param.name, kind=KINDS[param.kind], default=param.default, annotation=param.annotation)
        for param in params
    )


def is_generic(params: Sequence[Param]) -> bool:
    """Return whether a signature takes whatever it is given: at most one real parameter beside stars."""
    variadic = [param for param in params if param.kind in _VARIADIC]
    return bool(variadic) and len(params) - len(variadic) <= (1 if len(variadic) == 2 else 0)


def write_signature(params: Sequence[Param], returns: str | None = None) -> str:
    """Return a signature as Python writes it."""
    parts: list[str] = []
    starred = False
    for position, param in enumerate(params):
        if param.kind == KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or param.kind in {VAR_POSITIONAL, KEYWORD_ONLY}
        parts.append(_write(param))
        following = params[position + 1].kind if position + 1 < len(params) else None
        if param.kind == POSITIONAL_ONLY and following != POSITIONAL_ONLY:
            parts.append("/")
    return f"({', '.join(parts)})" + (f" -> {returns}" if returns else "")


def _write(param: Param) -> str:
    name = {VAR_POSITIONAL: "*", VAR_KEYWORD: "**"}.get(param.kind, "") + param.name
    if param.annotation:
        return f"{name}: {param.annotation}" + (f" = {param.default}" if param.default is not None else "")
    return f"{name}={param.default}" if param.default is not None else name


def compare(old: Sequence[Param], new: Sequence[Param]) -> tuple[Change, ...]:
    """Return what differs between two signatures, in the order of the new one, removals last.

    A name that no caller can write (of a star, or positional-only) may change without a trace; so may a positional-only
    parameter come out of `*args`, which is written with its star for that reason.
    """
    old, new = [_conventional(param) for param in old], [_conventional(param) for param in new]
    renames = _renames(old, new)
    before = {renames.get(param.name, param.name): param for param in old}
    changes: list[Change] = []
    spread = any(param.kind == VAR_POSITIONAL for param in old)
    for param in new:
        earlier = before.pop(param.name, None)
        if earlier is None and spread and param.kind == POSITIONAL_ONLY:
            changes.append(Change(kind="parameter_added", parameter=param.name, new=f"*{_write(param)}"))
        elif earlier is None:
            changes.append(Change(kind="parameter_added", parameter=param.name, new=_write(param)))
        else:
            changes += _differences(earlier, param)
    changes += _moves(old, new, renames)
    changes += [Change(kind="parameter_removed", parameter=param.name, old=_write(param)) for param in before.values()]
    return tuple(changes)


def _conventional(param: Param) -> Param:
    """Return a parameter with the old convention for positional-only ones (`__x`) in today's form."""
    if param.name.startswith("__") and not param.name.endswith("__") and param.kind == POSITIONAL_OR_KEYWORD:
        return Param(param.name[2:], POSITIONAL_ONLY, param.default, param.annotation)
    return param


def _differences(old: Param, new: Param) -> list[Change]:
    name = new.name
    changes: list[Change] = []
    writable = {POSITIONAL_OR_KEYWORD, KEYWORD_ONLY}
    if old.name != name and (new.kind in writable or old.kind in writable):
        changes.append(Change(kind="parameter_renamed", parameter=name, old=old.name, new=name))
    if old.kind != new.kind:
        changes.append(Change(kind="parameter_kind", parameter=name, old=KINDS[old.kind], new=KINDS[new.kind]))
    if old.default != new.default:
        changes.append(Change(kind="parameter_default", parameter=name, old=old.default, new=new.default))
    if old.annotation != new.annotation:
        changes.append(Change(kind="parameter_annotation", parameter=name, old=old.annotation, new=new.annotation))
    return changes


def _renames(old: Sequence[Param], new: Sequence[Param]) -> dict[str, str]:
    """Return old name to new name for parameters that kept place and default, or that are stars."""
    gone = {param.name for param in old} - {param.name for param in new}
    fresh = {param.name for param in new} - {param.name for param in old}
    renames: dict[str, str] = {}
    for before, after in zip(_positional(old), _positional(new), strict=False):
        same = before.default == after.default  # the kind may change with the name: f(a) becomes f(x, /)
        if before.name in gone and after.name in fresh and same:
            renames[before.name] = after.name
    for kind in (VAR_POSITIONAL, VAR_KEYWORD):
        stars = [next((param.name for param in params if param.kind == kind), None) for params in (old, new)]
        if stars[0] in gone and stars[1] in fresh and stars[0] and stars[1]:
            renames[stars[0]] = stars[1]
    return renames


def _positional(params: Sequence[Param]) -> list[Param]:
    return [param for param in params if param.kind in _BY_POSITION]


def _moves(old: Sequence[Param], new: Sequence[Param], renames: dict[str, str]) -> list[Change]:
    """Return positional parameters whose order among the ones that stayed is another."""
    stayed = {param.name for param in _positional(new)}
    before = [name for param in _positional(old) if (name := renames.get(param.name, param.name)) in stayed]
    known = set(before)
    after = [param.name for param in _positional(new) if param.name in known]
    return [
        Change(kind="parameter_moved", parameter=name, old=str(before.index(name)), new=str(position))
        for position, name in enumerate(after)
        if before[position] != name
    ]


def significant(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that matter to callers; a new or lost `*args` or `**kwargs` alone does not."""
    return [
        change
        for change in changes
        if change.kind in SIGNIFICANT and not (change.new or change.old or "").startswith("*")
    ]
