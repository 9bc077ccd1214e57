"""The verdicts of the gates on a task: one row of stage4_filtered."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from novelapi.records.base import Record
from novelapi.records.task import Task

GateName = Literal["C0", "C1", "C2", "C3"]


class GateVerdict(Record):
    """What one gate says of one task."""

    gate: GateName
    """C0 release, C1 validity, C2 novelty, C3 informativeness."""

    passed: bool
    """Whether the task goes on."""

    reason: str
    """Why, in a few words that can be counted."""

    detail: dict[str, Any] = Field(default_factory=dict)
    """The evidence: the old release's error, the number of failing samples ..."""


class FilteredTask(Record):
    """A task with the verdicts of all gates that were asked."""

    task: Task
    """The task."""

    gates: tuple[GateVerdict, ...]
    """In order; after a refusal no further gate is asked."""

    accepted: bool
    """Whether every gate lets it pass."""

    tags: tuple[str, ...] = ()
    """Remarks for stratification: `no_prior_release`, `unsolved_with_full` ..."""
