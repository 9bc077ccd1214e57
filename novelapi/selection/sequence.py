"""Compares sequences of calls: parameters, values, links, and whether references make the same graph.

Calls are compared without their labels: a reference is what it points at. Independent calls may come in any order; a
reference must point back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from novelapi.fingerprint import text_digest
from novelapi.selection.calls import Reference, references, replace_references
from novelapi.selection.tasks import Edge

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call with the name of its tool; of either side."""

    name: str
    """The tool's name, or the written one where it is none of the row's."""
    arguments: Mapping[str, Any]
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A sequence of calls, read."""

    names: tuple[str, ...]
    """Tool of each call."""
    parameters: tuple[tuple[str, str], ...]
    """Tool and parameter of each argument."""
    values: tuple[tuple[str, str, str], ...]
    """Tool, parameter and value of each argument."""
    edges: tuple[Edge, ...]
    """Tool that gives and tool that takes, once for each pair of calls that are linked."""
    shallow: tuple[str, ...]
    """Each call with its arguments, references by the tool and part that they point at."""
    deep: tuple[str, ...]
    """Digest of each call with its arguments, references by all that they point at."""


def read_flow(steps: Sequence[Step], *, ordered: bool = True) -> Flow:
    """Read a sequence.

    Args:
        steps: the calls.
        ordered: they are made in this order, so a reference to a later one points nowhere; else one in a circle does.
    """
    places: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        places.setdefault(step.label.strip("$"), []).append(number)

    def producer(found: Reference, current: int) -> int | None:
        """Return the call that a label stands for: the last one before, as a label may be given anew, else the next."""
        several = places.get(found.label, []) if found.label else []
        return max((at for at in several if at < current), default=min(several, default=None))

    sources = [
        {at for ref in references(list(step.arguments.values())) if (at := producer(ref, number)) is not None}
        for number, step in enumerate(steps)
    ]
    deep: dict[int, str] = {}
    for number in range(len(steps)) if ordered else _order(sources):

        def traced(found: Reference, current: int = number) -> str:
            at = producer(found, current)
            return _mark(deep.get(at, "?") if at is not None else "?", found)

        deep[number] = text_digest(_written(steps[number].name, _plain(steps[number], traced)))
    shallow: list[str] = []
    parameters: list[tuple[str, str]] = []
    values: list[tuple[str, str, str]] = []
    edges: list[Edge] = []
    for number, step in enumerate(steps):

        def named(found: Reference, current: int = number) -> str:
            at = producer(found, current)
            return _mark(steps[at].name if at is not None else "?", found)

        near = _plain(step, named)
        shallow.append(_written(step.name, near))
        parameters += [(step.name, name) for name in near]
        values += [(step.name, name, text) for name, text in near.items()]
        edges += [(steps[at].name, step.name) for at in sorted(sources[number]) if at != number]
    return Flow(
        names=tuple(step.name for step in steps), parameters=tuple(parameters), values=tuple(values),
        edges=tuple(edges), shallow=tuple(shallow), deep=tuple(deep.values()),
    )  # fmt: skip


def _mark(target: str, found: Reference) -> str:
    return f"\u27e8{target}|{found.path}\u27e9"


def _plain(step: Step, write: Callable[[Reference], str]) -> dict[str, str]:
    return {name: plain(replace_references(value, write)) for name, value in step.arguments.items()}


def _order(sources: Sequence[AbstractSet[int]]) -> list[int]:
    """Return an order in which each call follows what it refers to (Kahn 1962); those in circles come last."""
    waiting = [len(found) for found in sources]
    users: dict[int, list[int]] = {}
    for number, found in enumerate(sources):
        for at in found:
            users.setdefault(at, []).append(number)
    ready = [number for number, count in enumerate(waiting) if not count]
    for number in ready:  # grows while it is read
        for user in users.get(number, []):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return [*ready, *(number for number, count in enumerate(waiting) if count)]


def _written(name: str, arguments: Mapping[str, str]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in sorted(arguments.items()))})"


def plain(value: Any) -> str:
    """Return a value as comparison sees it: numbers by their value, texts without case and with single blanks."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)
    if isinstance(value, str):
        return repr(_BLANKS.sub(" ", value).strip().casefold())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {plain(item)}" for key, item in sorted(value.items(), key=str)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(plain(item) for item in value) + "]"
    return repr(value)
