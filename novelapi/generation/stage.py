"""Stage 3: tasks for every API of which there is knowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.bookkeeping import StageRun, input_digest
from novelapi.discovery.requests import release_environments
from novelapi.execution.harness import HARNESS_VERSION
from novelapi.execution.pool import Died, Pool
from novelapi.generation import author, checks
from novelapi.generation.assignment import Assignment, Written
from novelapi.generation.duplicates import distinct
from novelapi.generation.task_author import with_model_inputs, with_model_tasks
from novelapi.inference.strong import strong_model
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.completion import Usage
from novelapi.records.environment import Environment
from novelapi.records.rejection import Rejection
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from novelapi.records.task import Task

STAGE = "stage3_tasks"
REJECTED = "stage3_rejected"
STAGE_VERSION = 13
_CHUNK = 25

Progress = Callable[[str], None]


def generate(
    request: LibraryRequest,
    layout: Layout,
    progress: Progress = lambda _: None,
    strong: Completer | None = None,
) -> StageResult:
    """Write the tasks of one library; what a killed run had finished is kept.

    Args:
        request: library, releases, model, limit.
        layout: where everything lies.
        progress: called with each API that is done.
        strong: a strong model as author of tasks and inputs (`request.author` says which); null leaves all to the
            deterministic author.

    Raises:
        EndpointError: the strong model does not answer; what it answered is kept.
        NovelApiError: an environment cannot be built, or the disk is full.
        PrerequisiteError: the sandbox is not to be had.
    """
    sources = [layout.stage(request.library, name, request.model) for name in ("stage1_discovery", "stage2_knowledge")]
    run = StageRun(
        layout=layout,
        library=request.library,
        model=request.model,
        stage=STAGE,
        version=STAGE_VERSION,
        spec={
            "old": request.old,
            "new": request.new,
            "harness": HARNESS_VERSION,
            "limit": request.limit,
            **({"author": request.author} if strong is not None else {}),
        },
        inputs={name: value for path in sources for name, value in input_digest(path).items()},
    )
    known = run.finished()
    if known is not None:
        return known
    candidates, bundles = read_material(request, layout)
    env, _ = release_environments(request, layout)
    preload = preload_of(bundles.values(), candidates)
    journal = layout.stage(request.library, f".{STAGE}.work", request.model)
    run.begin(journal)
    assignments = _assignments(env, preload, candidates, bundles)
    written = _write_all(request, assignments, journal, progress)
    usage = Usage()
    if strong is None:
        tasks = distinct([task for item in written for task in item.tasks])
    else:
        with strong_model(strong, layout.completions / "cache.sqlite") as (model, asked):
            written = with_model_tasks(written, assignments, model, request.jobs)
            tasks = distinct([task for item in written for task in item.tasks])
            tasks = with_model_inputs(tasks, model, env, preload, request.jobs)
            usage = asked.usage
    failed = gold_runs(tasks, env, preload, request.jobs)
    accepted = [task for task in tasks if task.task_id not in failed]
    rejections = _rejections(written, accepted, failed)
    jsonl.write(run.path, (task.to_row() for task in sorted(accepted, key=lambda task: task.task_id)))
    jsonl.write(layout.stage(request.library, REJECTED, request.model), (item.to_row() for item in rejections))
    journal.unlink(missing_ok=True)
    return run.finish(*_counts(candidates, bundles, accepted, rejections), usage=usage.to_row() if strong else None)


def read_material(request: LibraryRequest, layout: Layout) -> tuple[dict[str, Candidate], dict[str, KnowledgeBundle]]:
    """Read the rows of stages 1 and 2."""
    candidates = {
        row["api"]: Candidate.model_validate(row)
        for row in jsonl.scan(layout.stage(request.library, "stage1_discovery", request.model))
    }
    rows = jsonl.scan(layout.stage(request.library, "stage2_knowledge", request.model))
    return candidates, {row["api"]: KnowledgeBundle.from_row(row) for row in rows}


def preload_of(bundles: Any, candidates: dict[str, Candidate]) -> tuple[str, ...]:
    """Return the modules that a warm parent imports: those of the library itself that the targets lie in."""
    found = modules_of(candidate.api for candidate in candidates.values())
    if any("numpy" in exemplar.code for bundle in bundles for exemplar in bundle.exemplars):
        found |= {"numpy", "numpy.random"}
    return tuple(sorted(found))


def modules_of(apis: Iterable[str]) -> set[str]:
    """Return what may be the modules of some APIs: their packages, and the parents that begin with a small letter.

    Importing a submodule in every child would cost more than most tasks do; a name that is no module is passed over.
    """
    found: set[str] = set()
    for api in apis:
        parts = api.split(".")[:-1]
        found.add(parts[0])
        lower = [part for part in parts if part[:1].islower()]
        if len(lower) == len(parts):
            found.add(".".join(parts))
    return found


def new_owners(candidates: dict[str, Candidate]) -> dict[str, tuple[str, ...]]:
    """Return per API the paths of its class, where that class is itself a new API."""
    new = {path for candidate in candidates.values() if candidate.change == "added" for path in candidate.paths}
    return {
        api: tuple(sorted({path.rpartition(".")[0] for path in candidate.paths} & new))
        for api, candidate in candidates.items()
    }


def _assignments(
    env: Environment,
    preload: tuple[str, ...],
    candidates: dict[str, Candidate],
    bundles: dict[str, KnowledgeBundle],
) -> dict[str, Assignment]:
    """Return the APIs of which there is knowledge, by name."""
    owners = new_owners(candidates)
    return {
        api: Assignment(candidate=candidates[api], bundle=bundles[api], env=env, preload=preload, owners=owners[api])
        for api in sorted(bundles)
        if api in candidates
    }


def _write_all(
    request: LibraryRequest, assignments: Mapping[str, Assignment], journal: Path, progress: Progress
) -> list[Written]:
    """Run the authors of all APIs that are not done yet, each finished one on disk at once."""
    done = {row["api"]: _from_row(row) for row in jsonl.scan(journal)}
    todo = [assignment for api, assignment in assignments.items() if api not in done]
    with jsonl.Appender(journal) as file, Pool(author.write, request.jobs) as pool:
        for index, result in pool.map(todo):
            if isinstance(result, Died):
                result = Written(api=todo[index].candidate.api, reasons={f"the sandbox died ({result.reason})": 1})  # noqa: PLW2901
            done[result.api] = result
            file.append(_to_row(result))
            progress(result.api)
    return [done[api] for api in sorted(done) if api in assignments]


def _to_row(written: Written) -> dict[str, Any]:
    return {"api": written.api, "tasks": [task.to_row() for task in written.tasks], "reasons": written.reasons}


def _from_row(row: dict[str, Any]) -> Written:
    tasks = [Task.model_validate(item) for item in row["tasks"]]
    return Written(api=row["api"], tasks=tasks, reasons=row["reasons"])


def gold_runs(tasks: Sequence[Task], env: Environment, preload: tuple[str, ...], jobs: int) -> dict[str, str]:
    """Run all references under the other hash seeds; return those that fail, with the reason."""
    requests = [
        checks.GoldCheck(tasks=tuple(tasks[start : start + _CHUNK]), env=env, preload=preload, hash_seed=seed)
        for seed in checks.SEEDS[1:]
        for start in range(0, len(tasks), _CHUNK)
    ]
    failed: dict[str, str] = {}
    with Pool(checks.check, jobs) as pool:
        for index, result in pool.map(requests):
            if isinstance(result, Died):
                result = {task.task_id: result.reason for task in requests[index].tasks}  # noqa: PLW2901
            failed.update({task_id: why for task_id, why in result.items() if why is not None})
    return failed


def _rejections(written: Sequence[Written], accepted: Sequence[Task], failed: dict[str, str]) -> list[Rejection]:
    kept = Counter(task.api for task in accepted)
    rows: list[Rejection] = []
    for item in written:
        reasons = Counter(item.reasons)
        reasons["the reference fails under another hash seed"] += sum(task.task_id in failed for task in item.tasks)
        lost = len(item.tasks) - kept[item.api] - reasons["the reference fails under another hash seed"]
        reasons["the same as another task"] += max(0, lost)
        rows += [
            Rejection(api=item.api, reason=reason, count=count, tasks=kept[item.api])
            for reason, count in sorted(reasons.items())
            if count
        ]
    return rows


def _counts(
    candidates: Mapping[str, Candidate],
    bundles: Mapping[str, KnowledgeBundle],
    accepted: Sequence[Task],
    rejections: Sequence[Rejection],
) -> tuple[dict[str, int], dict[str, int]]:
    """Count tasks by kind, and APIs without a task by their most frequent reason."""
    covered = {task.api for task in accepted}
    reasons: Counter[str] = Counter()
    for api in bundles:
        if api not in covered:
            own = [item for item in rejections if item.api == api]
            reasons[max(own, key=lambda item: (item.count, item.reason)).reason if own else "no draft"] += 1
    counts = {
        "candidates": len(candidates),
        "bundles": len(bundles),
        "apis": len(covered),
        "tasks": len(accepted),
        **{name: sum(task.difficulty == name for task in accepted) for name in ("easy", "medium", "hard")},
        "modified": sum(task.change == "modified" for task in accepted),
        "strong": sum(task.integrity == "strong" for task in accepted),
    }
    return counts, dict(sorted(reasons.items()))
