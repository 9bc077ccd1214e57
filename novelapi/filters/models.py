"""What a model has to do with the gates: prompts without and with knowledge, scored as at evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from novelapi.evaluation import run as evaluation
from novelapi.evaluation.inputs import read_predictions
from novelapi.execution.pool import SlotOptions
from novelapi.fingerprint import text_digest
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.leakage import normalised_calls, overlap
from novelapi.knowledge.render import render, shown_exemplars
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.cell import Sampling
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a task's prompt shows under a condition."""

    prompt: str
    overlap: float | None
    """Greatest token overlap of the reference with a shown example; null without examples."""


def show(task: Task, bundle: KnowledgeBundle | None, condition: KnowledgeCondition, paths: Sequence[str]) -> Shown:
    """Return the prompt of a task under a condition, examples that give its calls away left out."""
    if bundle is None or not condition.components:
        return Shown(prompt=build_prompt(task, ""), overlap=None)
    hidden = hidden_calls(task, paths)
    text = render(bundle, condition, hide=hidden)
    examples = [item.code for item in shown_exemplars(bundle, hidden)] if "e" in condition.components else []
    return Shown(prompt=build_prompt(task, text), overlap=overlap(task.reference_solution, examples))


def hidden_calls(task: Task, paths: Sequence[str]) -> frozenset[str]:
    """Return the normalised calls of the reference with each of the inputs filled in."""
    head = task.context_code + "\n" + task.reference_solution
    names = [part.split(":")[0].split("=")[0].strip() for part in _parameters(task.signature)]
    found: set[str] = set()
    for item in task.inputs:
        bindings = {**dict(zip(names, item.args, strict=False)), **item.kwargs}
        found |= normalised_calls(head, paths, bindings)
    return frozenset(found)


def _parameters(signature: str) -> list[str]:
    inner = signature[signature.index("(") + 1 : signature.rindex(")")]
    return [part for part in inner.split(",") if part.strip()]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One question to a model: tasks with prompts, how texts are drawn, where the files go."""

    tasks: Mapping[str, Task]
    shown: Mapping[str, Shown]
    completer: Completer
    sampling: Sampling
    folder: Path
    layout: Layout
    environment_of: evaluation.EnvironmentOf
    jobs: int
    progress: Callable[[ResultRow], None] | None = None


def ask(request: Asking) -> tuple[dict[str, list[ResultRow]], evaluation.Finished]:
    """Complete and score all tasks; the rows of each task in the order of its samples. Resumable.

    Raises:
        EndpointError: the model does not answer.
        PrerequisiteError: the sandbox or the model is not to be had.
    """
    tasks = list(request.tasks.values())
    with CompletionCache(request.layout.completions / "cache.sqlite") as cache:
        complete_tasks(
            tasks,
            [request.shown[task.task_id].prompt for task in tasks],
            request.completer,
            request.sampling,
            cache,
            request.folder,
        )
    predictions = read_predictions(request.folder / "predictions.jsonl", dict(request.tasks))
    results = request.folder / "results.jsonl"
    finished = evaluation.evaluate(
        evaluation.Evaluation(
            tasks=request.tasks,
            predictions=predictions,
            results=results,
            environment_of=request.environment_of,
            harnesses=request.layout.harnesses,
            slots=request.jobs,
            options=SlotOptions(),
            prompts={task_id: text_digest(shown.prompt) for task_id, shown in request.shown.items()},
            overlaps={task_id: shown.overlap for task_id, shown in request.shown.items()},
        ),
        request.progress,
    )
    rows: dict[str, list[ResultRow]] = {}
    for row in evaluation.read_results(results):
        rows.setdefault(row.task_id, []).append(row)
    return rows, finished
