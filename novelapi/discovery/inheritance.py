"""Classes that inherit a changed constructor: the change is one, however many classes it reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from novelapi.discovery.classify import Verdict
from novelapi.discovery.surface.model import ApiObject

TAG = "inherited_constructor"


def mark_inherited_constructors(verdicts: Iterable[Verdict], objects: Mapping[str, ApiObject]) -> None:
    """Tag modified classes whose constructor another one, first by name, has from the same base class.

    Members are counted once where they are defined; a constructor has no row of its own, so the base class that takes
    the very same parameters stands for it.

    Args:
        verdicts: those of all APIs; tags are added to them.
        objects: definitions of the new release by canonical name.
    """
    changed = [row for row in verdicts if row.verdict == "modified" and row.api.object.kind == "class"]
    first: dict[tuple[str, tuple[str, ...]], Verdict] = {}
    for row in sorted(changed, key=lambda row: row.shown):
        source = _constructor_of(row.api.object, objects)
        if source is None:
            continue
        key = source, tuple(sorted(change.parameter or "" for change in row.changes))
        if first.setdefault(key, row) is not row:
            row.tags.update(("no_usable_change", TAG))


def _constructor_of(item: ApiObject, objects: Mapping[str, ApiObject]) -> str | None:
    """Return the farthest base class that takes the same parameters; null where the class stands alone."""
    if not item.params:
        return None
    same = [name for name in item.mro[1:] if name in objects and objects[name].params == item.params]
    return same[-1] if same else None
