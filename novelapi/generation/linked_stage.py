"""Stage 3, second part: tasks of several APIs, made along the parameter graph of a library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.bookkeeping import StageRun, input_digest
from novelapi.catalog import find_library
from novelapi.discovery.apis import ApiTable
from novelapi.discovery.requests import release_environments, workspace_of
from novelapi.errors import UsageError
from novelapi.execution.harness import HARNESS_VERSION
from novelapi.execution.pool import Died, Pool
from novelapi.generation import joins, linked_author, uses
from novelapi.generation.duplicates import without_repetitions
from novelapi.generation.linked import EDGES
from novelapi.generation.linked_author import Assembly, LinkedWritten
from novelapi.generation.members import Member, known_member
from novelapi.generation.stage import STAGE as SINGLE
from novelapi.generation.stage import gold_runs, preload_of, read_material
from novelapi.graph.build import bundle_programs, documented_programs
from novelapi.graph.model import ApiGraph
from novelapi.graph.subsets import Subset
from novelapi.layout import Layout
from novelapi.records.environment import Environment
from novelapi.records.rejection import Rejection
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from novelapi.records.task import Task

STAGE = "stage3_linked"
REJECTED = "stage3_linked_rejected"
STAGE_VERSION = 3

Progress = Callable[[str], None]


def generate_linked(request: LibraryRequest, layout: Layout, progress: Progress = lambda _: None) -> StageResult:
    """Write tasks of several APIs of one library; what a killed run had finished is kept.

    Args:
        request: library, releases, model, number of subsets.
        layout: where everything lies.
        progress: called with each subset that is done.

    Raises:
        UsageError: the graph of this release has not been built.
        NovelApiError: an environment cannot be built, or the disk is full.
        PrerequisiteError: the sandbox is not to be had.
    """
    names = ("stage1_discovery", "stage2_knowledge", SINGLE)
    sources = [layout.stage(request.library, name, request.model) for name in names]
    graph = read_graph(request, layout)
    run = StageRun(
        layout=layout,
        library=request.library,
        model=request.model,
        stage=STAGE,
        version=STAGE_VERSION,
        spec={
            "old": request.old, "new": request.new, "harness": HARNESS_VERSION, "subsets": request.subsets,
            "seed": request.seed, "graph": graph.digest,
        },
        inputs={name: value for path in sources for name, value in input_digest(path).items()},
    )  # fmt: skip
    known = run.finished()
    if known is not None:
        return known
    journal = layout.stage(request.library, f".{STAGE}.work", request.model)
    run.begin(journal)
    progress("trying calls")
    assemblies, preload, env = _assemblies(request, layout, graph)
    written = _write_all(assemblies, journal, request.jobs, progress)
    tasks = numbered(without_repetitions([item.task for item in written if item.task is not None]))
    failed = gold_runs(tasks, env, preload, request.jobs)
    accepted = [task for task in tasks if task.task_id not in failed]
    rejected = [item for item in written if item.task is None]
    jsonl.write(run.path, (task.to_row() for task in sorted(accepted, key=lambda task: task.task_id)))
    jsonl.write(
        layout.stage(request.library, REJECTED, request.model),
        (
            Rejection(api=item.key, reason=reason, count=count, tasks=0).to_row()
            for item in rejected
            for reason, count in item.reasons.items()
        ),
    )
    journal.unlink(missing_ok=True)
    return run.finish(*_counts(written, accepted))


def read_graph(request: LibraryRequest, layout: Layout) -> ApiGraph:
    """Return the graph of the release under test.

    Raises:
        UsageError: it has not been built.
        DataError: it is broken.
    """
    path = layout.graph(request.library, request.model)
    graph = ApiGraph.load(path) if path.exists() else None
    if graph is None or graph.release != request.new:
        raise UsageError(
            f"tasks of several APIs need the graph of {request.library} {request.new}: run `novelapi graph "
            f"{request.library} --model {request.model}` with the same cutoff first"
        )
    return graph


def _assemblies(
    request: LibraryRequest, layout: Layout, graph: ApiGraph
) -> tuple[list[Assembly], tuple[str, ...], Environment]:
    """Return the subsets to write tasks for, with the calls that are known of their members."""
    candidates, bundles = read_material(request, layout)
    env, _ = release_environments(request, layout)
    preload = preload_of(bundles.values(), candidates)
    usable = frozenset(row["api"] for row in jsonl.scan(layout.stage(request.library, SINGLE, request.model)))
    members = {
        api: Member(candidate=candidates[api], bundle=bundles[api], novel=True) for api in sorted(usable & set(bundles))
    }
    entry = find_library(request.library)
    surface = workspace_of(layout).surface(entry, request.new or "")
    table = ApiTable(surface, entry.private_prefixes)
    programs = [*documented_programs(table), *bundle_programs(bundles.values())]
    for name in joins.partners(graph, usable):
        api = table.find(name)
        member = known_member(api, request.library, request.new or "", programs) if api is not None else None
        if member is not None:
            members[name] = member
    searches = [
        uses.Search(member=members[api], env=env, preload=preload, roots=tuple(surface.roots))
        for api in sorted(members)
    ]
    found: dict[str, list[uses.Use]] = {}
    with Pool(uses.find, request.jobs) as pool:
        for index, result in pool.map(searches):
            found[searches[index].member.api] = [] if isinstance(result, Died) else result.uses
    joined = joins.join(graph, members, found)
    subsets = joins.draw(joined, request.subsets or 0, request.seed)
    return [_assembly(subset, joined, members, found, env, preload) for subset in subsets], preload, env


def _assembly(  # noqa: PLR0917 - what a subset is written from
    subset: Subset,
    joined: ApiGraph,
    members: Mapping[str, Member],
    found: Mapping[str, Sequence[uses.Use]],
    env: Environment,
    preload: tuple[str, ...],
) -> Assembly:
    names = subset.members
    pairs = [joins.joins_of(joined, names[source], names[target]) for source, target in EDGES[subset.kind]]
    return Assembly(
        motif=subset.kind,
        members=tuple((members[name], tuple(found[name])) for name in names),
        joins=tuple(tuple(item) for item, _ in pairs),
        evidence=tuple(why for _, why in pairs),
        observed=tuple(why.startswith("observed") for _, why in pairs),
        env=env,
        preload=preload,
    )


def _write_all(assemblies: Sequence[Assembly], journal: Path, jobs: int, progress: Progress) -> list[LinkedWritten]:
    """Write the tasks of all subsets that are not done yet, each finished one on disk at once; in their order."""
    done = {row["key"]: _from_row(row) for row in jsonl.scan(journal)}
    todo = [item for item in assemblies if item.key not in done]
    with jsonl.Appender(journal) as file, Pool(linked_author.write, jobs) as pool:
        for index, result in pool.map(todo):
            if isinstance(result, Died):
                result = LinkedWritten(key=todo[index].key, reasons={f"the sandbox died ({result.reason})": 1})  # noqa: PLW2901
            done[result.key] = result
            file.append(_to_row(result))
            progress(result.key)
    return [done[item.key] for item in assemblies]


def numbered(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks with ids of their own: APIs of two modules may have one name."""
    seen: Counter[str] = Counter()
    found: list[Task] = []
    for task in tasks:
        stem = task.task_id.rpartition("/")[0]
        seen[stem] += 1
        found.append(task.model_copy(update={"task_id": f"{stem}/{seen[stem]}"}))
    return found


def _to_row(written: LinkedWritten) -> dict[str, Any]:
    task = written.task.to_row() if written.task is not None else None
    return {"key": written.key, "task": task, "reasons": written.reasons}


def _from_row(row: dict[str, Any]) -> LinkedWritten:
    task = Task.model_validate(row["task"]) if row["task"] is not None else None
    return LinkedWritten(key=row["key"], task=task, reasons=row["reasons"])


def _counts(written: Sequence[LinkedWritten], accepted: Sequence[Task]) -> tuple[dict[str, int], dict[str, int]]:
    """Count tasks by topology, and subsets without a task by their most frequent reason."""
    reasons = Counter(
        max(item.reasons.items(), key=lambda pair: (pair[1], pair[0]))[0] if item.reasons else "no calls that fit"
        for item in written
        if item.task is None
    )
    reasons["the same as another task, or the reference fails under another hash seed"] = sum(
        item.task is not None for item in written
    ) - len(accepted)
    motifs = Counter(task.motif for task in accepted)
    counts = {
        "subsets": len(written),
        "tasks": len(accepted),
        **{name: motifs[name] for name in EDGES},
        "apis": len({call.api for task in accepted for call in task.calls}),
        "strong": sum(task.integrity == "strong" for task in accepted),
    }
    return counts, {name: number for name, number in sorted(reasons.items()) if number}
