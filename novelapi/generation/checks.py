"""The reference passes its own harness under every hash seed: five times of five before a task is accepted."""

from __future__ import annotations

from dataclasses import dataclass

from novelapi.evaluation.outcome import passes
from novelapi.execution.harness import Harness, HarnessError, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.trial import observe
from novelapi.records.environment import Environment
from novelapi.records.task import Task

SEEDS = (0, 1, 2, 3, 4)
"""Seeds of the five runs; a task is written under the first."""


@dataclass(frozen=True, kw_only=True)
class GoldCheck:
    """Some tasks under one hash seed."""

    tasks: tuple[Task, ...]
    env: Environment
    preload: tuple[str, ...]
    hash_seed: int


def check(slot: Slot, request: GoldCheck) -> dict[str, str | None]:
    """Return per task why its reference does not pass under this hash seed; null where it does.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    zygote = slot.zygote(request.env, request.preload, request.hash_seed)
    found: dict[str, str | None] = {}
    for task in request.tasks:
        try:
            harness: Harness = prepare(zygote, task)
        except HarnessError as error:
            found[task.task_id] = str(error)
            continue
        seen = observe(zygote, task, harness, task.reference_solution, "fork")
        if seen.infra is not None:
            found[task.task_id] = seen.infra
        else:
            found[task.task_id] = None if passes(task, harness, seen) else "the reference does not pass"
    return found
