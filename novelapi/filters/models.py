"""What a model has to do with the gates: prompts without and with knowledge, scored as at evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from novelapi.evaluation import run as evaluation
from novelapi.evaluation.inputs import read_predictions
from novelapi.execution.pool import SlotOptions
from novelapi.inference.asking import Asker
from novelapi.inference.batch import ASK_ONCE, BatchResult, complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import Prompt, build_prompt
from novelapi.inference.tokens import counter_of
from novelapi.inference.window import fit_prompt, whole_prompt
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
    knowledge: str = ""
    """What of it is knowledge, for models whose window may be too small."""
    retrieved: bool | None = None
    """Whether a passage of the target is among the knowledge; null where nothing was retrieved."""
    overlap: float | None
    """Greatest token overlap of the reference with a shown example; null without examples."""


def show(task: Task, bundles: Sequence[KnowledgeBundle], condition: KnowledgeCondition, paths: Sequence[str]) -> Shown:
    """Return the prompt of a task under a condition, examples that give its calls away left out.

    Args:
        task: the task.
        bundles: knowledge of the new APIs that it calls (`own`).
        condition: which components are shown.
        paths: every path of these APIs (`own_paths`).
    """
    if not bundles or not condition.components:
        return Shown(prompt=build_prompt(task, ""), overlap=None)
    hidden = hidden_calls(task, paths)
    text = "\n\n".join(filter(None, (render(bundle, condition, hide=hidden) for bundle in bundles)))
    examples = [
        item.code
        for bundle in bundles
        for item in (shown_exemplars(bundle, hidden) if "e" in condition.components else ())
    ]
    return Shown(prompt=build_prompt(task, text), knowledge=text, overlap=overlap(task.reference_solution, examples))


def own(task: Task, bundles: Mapping[str, KnowledgeBundle]) -> list[KnowledgeBundle]:
    """Return the bundles of the new APIs that a task calls, in the order of its calls."""
    apis = dict.fromkeys([call.api for call in task.calls if call.novel] if task.links else [task.api])
    return [bundles[api] for api in apis if api in bundles]


def own_paths(task: Task, paths: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return every path of the APIs that a task calls."""
    apis = dict.fromkeys([call.api for call in task.calls] if task.links else [task.api])
    return tuple(path for api in apis for path in paths.get(api, (api,)))


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
    asker: Asker = ASK_ONCE
    """How the answers to a task are asked for."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of one question."""

    rows: Mapping[str, list[ResultRow]]
    """The rows of each task in the order of its samples."""
    batch: BatchResult
    """What was asked and what it cost."""
    scored: evaluation.Finished
    """What was scored now."""


def ask(request: Asking) -> Asked:
    """Complete and score all tasks. Resumable.

    A prompt that is longer than the model's window loses knowledge by the rule of `inference.window`; one that is too
    long even so is unscored with the reason `context`.

    Raises:
        EndpointError: the model does not answer, as a whole or to some of the requests; what it answered is kept.
        PartialError: the budget has ended; what was answered is kept.
        PrerequisiteError: the sandbox or the model is not to be had.
    """
    tasks = list(request.tasks.values())
    prompts = fitted(request)
    with CompletionCache(request.layout.completions / "cache.sqlite") as cache:
        batch = complete_tasks(
            tasks,
            [prompts[task.task_id] for task in tasks],
            request.completer,
            request.sampling,
            cache,
            request.folder,
            profile=profile_of(request.completer),
            asker=request.asker,
        )
    batch.require_complete()
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
            prompts={task_id: prompt.sha for task_id, prompt in prompts.items()},
            overlaps={task_id: shown.overlap for task_id, shown in request.shown.items()},
            retrieved={task_id: shown.retrieved for task_id, shown in request.shown.items()},
        ),
        request.progress,
    )
    rows: dict[str, list[ResultRow]] = {}
    for row in evaluation.read_results(results):
        rows.setdefault(row.task_id, []).append(row)
    return Asked(rows=rows, batch=batch, scored=finished)


def fitted(request: Asking) -> dict[str, Prompt]:
    """Return the prompt of every task, cut to the model's window where it has one that is known."""
    most = request.sampling.max_tokens
    return {
        task_id: fit_shown(request.tasks[task_id], shown, request.completer, most)
        for task_id, shown in request.shown.items()
    }


def fit_shown(task: Task, shown: Shown, completer: Completer, max_tokens: int) -> Prompt:
    """Return the prompt of a task as it is sent, with room for an answer of so many tokens."""
    profile, count = profile_of(completer), counter_of(completer)
    if profile.window is None:
        return Prompt(text=shown.prompt)
    if not shown.knowledge:
        return whole_prompt(shown.prompt, profile, max_tokens, count)
    return fit_prompt(task, shown.knowledge, profile, max_tokens, count)
