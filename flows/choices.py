"""Names that a user chooses from, checked before anything is imported or started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from novelapi.errors import UnknownNameError, UsageError
from novelapi.records.cell import Condition, Delivery

STAGES = (1, 2, 3, 4)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
DELIVERIES: tuple[Delivery, ...] = get_args(Delivery)


def check_stages(stages: Sequence[int] | None) -> int:
    """Return the last stage that was asked for; those before it come from the cache or run too.

    Raises:
        UsageError: a stage does not exist.
    """
    unknown = sorted(set(stages or STAGES) - set(STAGES))
    if unknown:
        raise UsageError(f"unknown stage {unknown[0]}: the stages are 1 discovery, 2 knowledge, 3 tasks, 4 gates")
    return max(stages or STAGES)


def check_names(kind: str, names: Sequence[str] | None, known: Sequence[str]) -> None:
    """Check names against those that exist.

    Raises:
        UnknownNameError: one does not exist; near matches are suggested.
    """
    for name in names or ():
        if name not in known:
            raise UnknownNameError(kind, name, known)
