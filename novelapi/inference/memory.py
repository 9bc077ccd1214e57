"""What a model without weights may remember of the old release: its public surface, and nothing newer.

A real model saw the old release while it was trained; the embedded baseline is handed the same surface as a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from novelapi.discovery.signatures import write_signature
from novelapi.discovery.surface.model import PUBLIC_EVIDENCE, ApiObject, Surface
from novelapi.ports import Completer
from novelapi.records.base import Record


class Remembered(Record):
    """One API of the old release."""

    path: str
    """Public path."""

    signature: str = ""
    """Its parameters in parentheses, or an empty string."""

    doc: str = ""
    """First line of its documentation."""


@runtime_checkable
class Remembering(Protocol):
    """A completer that can be given a memory."""

    def remembering(self, entries: Iterable[Remembered]) -> Completer:
        """Return the same completer with exactly this memory."""
        ...


def with_memory(completer: Completer, entries: Iterable[Remembered]) -> Completer:
    """Give a completer its memory of the old release; models that bring their own are returned as they are."""
    return completer.remembering(entries) if isinstance(completer, Remembering) else completer


def remember(surface: Surface) -> tuple[Remembered, ...]:
    """Return the public functions, classes and methods of a release by their shortest paths, sorted."""
    paths: dict[str, str] = {}
    for path, canonical, evidence in surface.paths():
        if evidence in PUBLIC_EVIDENCE and canonical in surface.objects:
            paths[canonical] = min(paths.get(canonical, path), path, key=lambda item: (item.count("."), item))
    entries = [
        entry for canonical, path in paths.items() for entry in _entries(surface, surface.objects[canonical], path)
    ]
    return tuple(sorted(entries, key=lambda entry: entry.path))


def _entries(surface: Surface, item: ApiObject, path: str) -> Iterator[Remembered]:
    if item.kind not in ("value", "unknown"):
        yield _entry(item, path)
    if item.kind == "class":
        names = {name for base in item.mro if base in surface.objects for name in surface.objects[base].members}
        for name in names:
            member = surface.member(item, name)
            if member is not None and not name.startswith("_"):
                yield _entry(member, f"{path}.{name}")


def _entry(item: ApiObject, path: str) -> Remembered:
    lines = (item.doc or "").strip().splitlines()
    return Remembered(
        path=path,
        signature=write_signature(item.params) if item.params is not None else "",
        doc=lines[0].strip() if lines else "",
    )
