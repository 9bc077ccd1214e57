"""Scores the samples of tasks on slots: extraction, execution, verdict, label."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from novelapi.evaluation import extraction, outcome
from novelapi.execution.harness import Harness, HarnessError, observe, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.records.environment import Environment
from novelapi.records.task import Task
from novelapi.records.verdict import Observation, ResultRow

_REPEATED = frozenset({"cpu", "wall", "signal", "memory"})
"""Ends that are confirmed once, alone, in a fresh process, before they count."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One answer to score."""

    index: int
    """Position in the list of samples."""
    text: str
    """The raw answer."""
    prompt: str | None = None
    """Digest of the prompt."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task with samples, for a slot."""

    task: Task
    env: Environment
    samples: tuple[Sample, ...]
    preload: tuple[str, ...] = ()
    harness: Harness | None = None


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What a job gives back."""

    task_id: str
    rows: tuple[ResultRow, ...] = field(default=())
    harness: Harness | None = None
    broken: str | None = None
    """Why the task itself cannot be scored."""


def score(slot: Slot, job: Job) -> Scored:
    """Score all samples of one task.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    zygote = slot.zygote(job.env, job.preload)
    try:
        harness = job.harness or prepare(zygote, job.task)
    except HarnessError as error:
        rows = [
            outcome.unscored(job.task.task_id, sample.index, str(error), text=sample.text, env=job.env.key)
            for sample in job.samples
        ]
        return Scored(task_id=job.task.task_id, rows=tuple(rows), broken=str(error))
    seen_by_code: dict[str, Observation] = {}
    rows: list[ResultRow] = []
    for sample in job.samples:
        code = extraction.extract(sample.text, job.task.entry_point, job.task.signature).code
        if code not in seen_by_code:
            seen_by_code[code] = _observe(slot, zygote, job, harness, code)
        rows.append(
            outcome.row(
                job.task, harness, seen_by_code[code], sample=sample.index, text=sample.text, prompt=sample.prompt
            )
        )
    return Scored(task_id=job.task.task_id, rows=tuple(rows), harness=harness)


def _observe(slot: Slot, zygote: Zygote, job: Job, harness: Harness, code: str) -> Observation:
    """Run one piece of code; an end by limit or signal is confirmed in a fresh process."""
    if not code.strip():
        return Observation(code=code, stage="extract", executor="none", env=harness.env, integrity=harness.integrity)
    warm = slot.options.warm
    seen = observe(zygote, job.task, harness, code, "fork" if warm else "fresh")
    if seen.ended not in _REPEATED:
        return seen
    try:
        with slot.fresh(job.env) as alone:
            return observe(alone, job.task, harness, code, "fresh")
    except ZygoteError as error:
        return seen.model_copy(update={"infra": f"the confirmation in a fresh process failed: {error}"})


def preload_of(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the modules that the contexts and references of tasks import: what a warm parent imports once."""
    found: set[str] = set()
    for task in tasks:
        for text in (task.context_code, task.reference_solution):
            tree = extraction.parse(text)
            if tree is None:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module)
        found.add(task.api.split(".")[0])
    if "numpy" in {name.split(".")[0] for name in found}:
        found.add("numpy.random")
    return tuple(sorted(found))


def order(jobs: Sequence[Job]) -> list[Job]:
    """Order jobs by environment, so that each warm parent serves all its jobs in a row."""
    return sorted(jobs, key=lambda job: (job.env.key, job.task.task_id))
