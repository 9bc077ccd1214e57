"""Names for arguments that are written without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def name_arguments(declared: Sequence[str], named: Mapping[str, Any], unnamed: Sequence[Any]) -> dict[str, Any]:
    """Return all arguments by name: unnamed ones take the next declared parameters, surplus ones a number (`#0`)."""
    free = [name for name in declared if name not in named]
    names = [*free, *(f"#{number}" for number in range(len(unnamed)))]
    return {**dict(zip(names, unnamed, strict=False)), **named}
