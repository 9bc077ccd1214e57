"""A strong model as author of tasks and of further inputs, beside the deterministic author.

Its tasks come first, those of the deterministic author fill what is left of an API's quota; where a model has written
nothing that passes, an API or a task stays as it is, and the reason is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from novelapi.execution.pool import Died, Pool
from novelapi.generation.assignment import Assignment, Written
from novelapi.generation.author import PER_API, QUOTA
from novelapi.generation.written import MOST_INPUTS, InputProposal, Proposal, admit_inputs, admit_tasks
from novelapi.inference.roles import WrittenInputs, WrittenTasks
from novelapi.inference.strong import StrongModel
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.records.api import Candidate
from novelapi.records.environment import Environment
from novelapi.records.task import Task, TaskInput

BY_MODEL = "by a model: "
"""Stands before the reasons for which a model's tasks were refused."""


def with_model_tasks(
    written: Sequence[Written], assignments: Mapping[str, Assignment], model: StrongModel, jobs: int
) -> list[Written]:
    """Return what was written for each API, with the model's tasks before those of the deterministic author.

    Args:
        written: what the deterministic author wrote.
        assignments: the APIs, by name.
        model: the author.
        jobs: processes at work.

    Raises:
        EndpointError: the endpoint as a whole does not answer.
        PrerequisiteError: key, model or extra is missing, or the sandbox.
    """
    asked = [item for item in written if item.api in assignments]
    questions = [_task_question(assignments[item.api]) for item in asked]
    answers = model.ask("author_tasks", questions, WrittenTasks)
    proposals = [
        Proposal(
            assignment=assignments[item.api],
            tasks=answer.value.tasks if answer.value else (),
            author=answer.author.to_row(),
        )
        for item, answer in zip(asked, answers, strict=True)
    ]
    found = {item.api: item for item in written}
    with Pool(admit_tasks, jobs) as pool:
        for index, result in pool.map(proposals):
            own = asked[index]
            if isinstance(result, Died):
                result = Written(api=own.api, reasons={f"the sandbox died ({result.reason})": 1})  # noqa: PLW2901
            found[own.api] = merged(result, own, answers[index].reason)
    return [found[item.api] for item in written]


def merged(own: Written, other: Written, reason: str = "") -> Written:
    """Return a model's tasks, then those of the deterministic author for which its quota leaves room.

    Args:
        own: what the model wrote.
        other: what the deterministic author wrote.
        reason: why the model wrote nothing, if so.
    """
    taken = Counter(task.difficulty for task in own.tasks)
    tasks = list(own.tasks)
    for task in other.tasks:
        if len(tasks) < PER_API and taken[task.difficulty] < QUOTA[task.difficulty]:
            taken[task.difficulty] += 1
            tasks.append(task)
    numbered = [
        task.model_copy(update={"task_id": f"{task.task_id.rpartition('/')[0]}/{number}"})
        for number, task in enumerate(tasks, 1)
    ]
    reasons = {**other.reasons, **{f"{BY_MODEL}{why}": count for why, count in own.reasons.items()}}
    if reason:
        reasons[f"{BY_MODEL}{reason}"] = 1
    return Written(api=other.api, tasks=numbered, reasons=dict(sorted(reasons.items())))


def with_model_inputs(
    tasks: Sequence[Task], model: StrongModel, env: Environment, preload: tuple[str, ...], jobs: int
) -> list[Task]:
    """Return the tasks with the model's inputs, hidden, behind their own.

    Raises:
        EndpointError: the endpoint as a whole does not answer.
        PrerequisiteError: key, model or extra is missing, or the sandbox.
    """
    answers = model.ask("author_inputs", [_input_question(task) for task in tasks], WrittenInputs)
    proposals = [
        InputProposal(
            task=task,
            inputs=answer.value.inputs if answer.value else (),
            env=env,
            preload=preload,
            author=answer.author.to_row(),
            reason=answer.reason,
        )
        for task, answer in zip(tasks, answers, strict=True)
    ]
    found = list(tasks)
    with Pool(admit_inputs, jobs) as pool:
        for index, result in pool.map(proposals):
            if not isinstance(result, Died):
                found[index] = result
                continue
            note = {**proposals[index].author, "kept": 0, "rejected": {f"the sandbox died ({result.reason})": 1}}
            kept = {**tasks[index].provenance, "author_inputs": note}
            found[index] = tasks[index].model_copy(update={"provenance": kept})
    return found


def _task_question(assignment: Assignment) -> dict[str, Any]:
    candidate, bundle = assignment.candidate, assignment.bundle
    return {
        "count": PER_API,
        "api": candidate.api,
        "library": candidate.library,
        "release": candidate.release,
        "documentation": render(bundle, KnowledgeCondition.FULL),
        "change": _change(candidate),
    }


def _change(candidate: Candidate) -> str:
    """Return what is new about a changed API, one line each."""
    if candidate.change != "modified":
        return ""
    return "\n".join(f"- {change.kind.replace('_', ' ')}: {change.parameter or ''}" for change in candidate.changes)


def _input_question(task: Task) -> dict[str, Any]:
    return {
        "count": MOST_INPUTS,
        "description": task.description.strip(),
        "reference": f"{task.context_code}\n{task.reference_solution}".strip("\n"),
        "known": "\n".join(_call(item) for item in task.inputs),
    }


def _call(item: TaskInput) -> str:
    return f"solve({', '.join([*item.args, *(f'{name}={value}' for name, value in item.kwargs.items())])})"
