"""What an answer was found to call, before names are mapped back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["json", "ast", "trace", "text"]
"""What the calls were read from: JSON, Python code, the record of a run, or mere mentions."""
Place = Literal["whole", "fence", "prose", "none"]
"""Where they stood: the whole answer, a fenced block, somewhere in prose; `none` when nothing was found."""

_REFERENCE = re.compile(r"\$([A-Za-z_][\w-]*)((?:[.\[][^$]*)?)\$|<node-(\d+)>")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call as it was written."""

    name: str
    owner: str = ""
    """The tool, where it was named apart from the API."""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    positional: tuple[Any, ...] = ()
    """Arguments without a name, in order."""
    label: str = ""
    """What the answer calls its result."""
    ok: bool | None = None
    """Whether the record says that it was answered without an error; null where nobody ran it."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What was found in an answer."""

    kind: Kind
    place: Place
    calls: tuple[Call, ...] = ()
    links: tuple[tuple[str, str], ...] | None = None
    """Links that the answer states; null when it states none."""
    malformed: int = 0
    """Items of a call list that are no calls."""


@dataclass(frozen=True)
class Reference:
    """An argument that is the result of another call, or part of it."""

    label: str
    path: str = ""
    """Which part of the result; empty for all of it."""


def references(value: Any) -> list[Reference]:
    """Return the references in an argument, however deep: `$var1.id$`, `$var_1.result$` or `<node-0>`."""
    if isinstance(value, Reference):
        return [value]
    if isinstance(value, str):
        return [_reference(found) for found in _REFERENCE.finditer(value)]
    if isinstance(value, dict):
        return [found for item in value.values() for found in references(item)]
    if isinstance(value, list | tuple):
        return [found for item in value for found in references(item)]
    return []


def replace_references(value: Any, write: Any) -> Any:
    """Return an argument with every reference replaced by what `write(reference)` returns, as text."""
    if isinstance(value, Reference):
        return write(value)
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: write(_reference(found)), value)
    if isinstance(value, dict):
        return {key: replace_references(item, write) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_references(item, write) for item in value]
    return value


def _reference(found: re.Match[str]) -> Reference:
    if found[3] is not None:
        return Reference(f"<node-{found[3]}>")
    return Reference(found[1], found[2].lstrip("."))
