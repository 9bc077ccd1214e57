"""One cell: prompts, answers, verdicts and summary in one folder; resumable at every sample."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from novelapi import __version__, jsonl
from novelapi.adaptation.recipes import TRAINED
from novelapi.bookkeeping import cpu_seconds, utc_now
from novelapi.discovery.requests import environment_for
from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.evaluation.outcome import EVALUATOR_VERSION
from novelapi.evaluation.summary import summarise
from novelapi.filters import models
from novelapi.filters.instance import read_instance
from novelapi.filters.stage import read_bundles, read_candidates, with_memory
from novelapi.fingerprint import file_digest, text_digest
from novelapi.grid.agentic import NEEDS, effort_of, open_asker, show_searching
from novelapi.grid.opinions import with_opinions
from novelapi.grid.packed import show_packed
from novelapi.grid.prerequisites import show_prerequisites
from novelapi.grid.retrieved import OpenIndex, open_lexical, show_retrieved
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import PROMPT_VERSION
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.cell import Cell
from novelapi.records.completion import Usage
from novelapi.records.manifest import Manifest
from novelapi.records.request import FileResult, LibraryRequest
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow

CELL_VERSION = 1
RETRIEVES = ("rag", "rag_sft", "docs", "rag_graph")
"""Deliveries whose prompts show what was retrieved."""
ASKED = "oracle, rag, rag_graph, docs, pack, search and repair"


def run_cell(
    cell: Cell,
    layout: Layout,
    completer: Completer,
    *,
    jobs: int,
    progress: Callable[[ResultRow], None] | None = None,
    open_index: OpenIndex = open_lexical,
    strong: Completer | None = None,
) -> FileResult:
    """Ask and score all tasks of a cell.

    Args:
        cell: what is asked of whom, with which knowledge.
        layout: where everything lies.
        completer: the model.
        jobs: worker processes.
        progress: called with each scored sample.
        open_index: opens the index of a delivery that retrieves.
        strong: a strong model for second opinions on failures; null asks none.

    Raises:
        EndpointError: the model does not answer; what it answered is kept.
        NovelApiError: the instance is another one than the cell was made for, or the disk is full.
    """
    started, cpu = utc_now(), cpu_seconds()
    instance = layout.instance(cell.group, cell.model) / "instance.jsonl"
    if not instance.exists() or file_digest(instance) != cell.instance_sha:
        raise NovelApiError(
            f"the instance of {cell.group} for {cell.model} is not the one of this cell: build it again"
        )
    if cell.delivery not in {"oracle", "pack", *RETRIEVES, *NEEDS, *TRAINED}:
        raise PrerequisiteError(f"delivery '{cell.delivery}' needs its own run: only {ASKED} are asked here")
    if cell.delivery in TRAINED:
        check_weights(cell, completer)
    tasks = asked_tasks(cell, layout)
    folder = layout.cell(cell.experiment, cell.name)
    shown, how = shown_tasks(cell, tasks, layout, open_index)
    asked, about = _ask(
        cell, tasks, shown, completer, layout, open_index=open_index, jobs=jobs, progress=progress
    )  # fmt: skip
    flat = [row for own in asked.rows.values() for row in own]
    how = {**how, **about}
    usage = asked.batch.usage
    if strong is not None:
        flat, agreement, spent = with_opinions(flat, tasks, strong, folder, layout)
        usage, how = usage + spent, {**how, "second_opinion": agreement.to_row()}
    found = summarise(flat, partial=cell.limit is not None)
    jsonl.write_text(folder / "summary.json", json.dumps(found, indent=2) + "\n")
    results = folder / "results.jsonl"
    manifest = Manifest(
        kind="cell",
        name=cell.name,
        spec={**cell.to_row(), "instance": instance.relative_to(layout.home).as_posix(), **how},
        inputs={"instance": cell.instance_sha, "bundles": cell.bundles_sha},
        outputs={"results.jsonl": file_digest(results), "predictions.jsonl": file_digest(folder / "predictions.jsonl")},
        versions={
            "novelapi": __version__,
            "cell": str(CELL_VERSION),
            "prompt": str(PROMPT_VERSION),
            "evaluator": str(EVALUATOR_VERSION),
            "python": sys.version.split()[0],
        },
        counts={
            **{key: found[key] for key in ("tasks", "rows", "pass", "fail", "unscored")},
            **_price(usage),
        },
        usage=usage.to_row(),
        started=started.isoformat(timespec="seconds"),
        wall_s=round((utc_now() - started).total_seconds(), 3),
        cpu_s=round(cpu_seconds() - cpu, 3),
        partial=cell.limit is not None,
        isolation=asked.scored.isolation,
    )
    jsonl.write_text(folder / "manifest.json", manifest.model_dump_json(indent=1) + "\n")
    counts = {key: int(found[key]) for key in ("pass", "fail", "unscored")}
    return FileResult(path=results.relative_to(layout.home).as_posix(), sha256=file_digest(results), counts=counts)


def _ask(
    cell: Cell,
    tasks: Sequence[Task],
    shown: Mapping[str, models.Shown],
    completer: Completer,
    layout: Layout,
    *,
    open_index: OpenIndex,
    jobs: int,
    progress: Callable[[ResultRow], None] | None,
) -> tuple[models.Asked, dict[str, Any]]:
    """Ask and score the tasks of a cell as its delivery asks; return that, and what the manifest says of the asking."""
    requests = [_request(task, cell.source or cell.model) for task in _one_per_release(tasks)]
    environment_of = partial(environment_for, layout=layout)
    with open_asker(
        cell, tasks, _paths(cell, tasks, layout), layout, open_index=open_index, environment_of=environment_of,
        jobs=jobs,
    ) as (asker, agent):  # fmt: skip
        asked = models.ask(
            models.Asking(
                tasks={task.task_id: task for task in tasks},
                shown=shown,
                completer=with_memory(completer, requests, layout),
                sampling=cell.sampling,
                folder=layout.cell(cell.experiment, cell.name),
                layout=layout,
                environment_of=environment_of,
                jobs=jobs,
                progress=progress,
                asker=asker,
            )
        )
    about: dict[str, Any] = {}
    if cell.window is not None:
        about["window_from"] = profile_of(completer).window_from
    if agent:
        about["agent"] = {**agent, **effort_of([row for own in asked.rows.values() for row in own])}
    return asked, about


def _price(usage: Usage) -> dict[str, float]:
    """Return the price of a cell, where the model has one."""
    return {"usd": usage.usd} if usage.usd else {}


def check_weights(cell: Cell, completer: Completer) -> None:
    """Check that the completer speaks with the weights that the cell is about.

    Raises:
        PrerequisiteError: the cell names none: they have to be fitted first.
        NovelApiError: the completer has others.
    """
    if cell.adapter_sha is None:
        raise PrerequisiteError(f"delivery '{cell.delivery}' needs trained weights: run the flow `adaptation` first")
    found = getattr(completer, "adapter_sha", None)
    if found != cell.adapter_sha:
        raise NovelApiError(
            f"cell {cell.name} is about the weights {cell.adapter_sha[:12]} and the model has {str(found)[:12]}: "
            "run the same command again"
        )


def asked_tasks(cell: Cell, layout: Layout) -> list[Task]:
    """Return the tasks that a cell asks."""
    return limited(_asked(cell, layout), cell.limit)


def _asked(cell: Cell, layout: Layout) -> list[Task]:
    """Return the tasks of the cell's side of the split."""
    if cell.split is None:
        return read_instance(layout, cell.group, cell.model)
    path = layout.instance(cell.group, cell.model) / f"{cell.split}.jsonl"
    return [Task.model_validate(row) for row in jsonl.scan(path)]


def shown_tasks(
    cell: Cell, tasks: Sequence[Task], layout: Layout, open_index: OpenIndex
) -> tuple[Mapping[str, models.Shown], Mapping[str, Any]]:
    """Return the prompt of every task under the cell's condition, and what the manifest says of retrieval."""
    if cell.delivery in RETRIEVES:
        found = show_retrieved(cell, tasks, _paths(cell, tasks, layout), layout, open_index)
        return found.shown, found.spec
    if cell.delivery == "search":
        return show_searching(tasks), {}
    if cell.delivery == "pack":
        return show_packed(cell, tasks, _paths(cell, tasks, layout), layout)
    if cell.condition == "s_prereq":
        return show_prerequisites(cell, tasks, _paths(cell, tasks, layout), layout)
    condition = KnowledgeCondition(cell.condition)
    shown: dict[str, models.Shown] = {}
    for library in sorted({task.library for task in tasks}):
        own = [task for task in tasks if task.library == library]
        bundles = read_bundles(layout, library, cell.source or cell.model)
        paths = _paths(cell, own, layout)
        for task in own:
            shown[task.task_id] = models.show(task, models.own(task, bundles), condition, models.own_paths(task, paths))
    return shown, {}


def _paths(cell: Cell, tasks: Sequence[Task], layout: Layout) -> dict[str, Sequence[str]]:
    """Return the public paths of the APIs of some tasks' libraries."""
    requests = [_request(task, cell.source or cell.model) for task in _one_per_release(tasks)]
    found = [candidate for request in requests for candidate in read_candidates(layout, request)]
    return {candidate.api: candidate.paths for candidate in found}


def _request(task: Task, model: str) -> LibraryRequest:
    """Return the request that a task was made for."""
    old = task.provenance.get("gates", {}).get("C0", {}).get("old_release")
    return LibraryRequest(library=task.library, model=model, old=old, new=task.release)


def _one_per_release(tasks: Sequence[Task]) -> list[Task]:
    return list({(task.library, task.release): task for task in tasks}.values())


def limited(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """Return the tasks to ask: with a limit those with the smallest digests of their ids."""
    if limit is None or len(tasks) <= limit:
        return list(tasks)
    return sorted(sorted(tasks, key=lambda task: text_digest(task.task_id))[:limit], key=lambda task: task.task_id)
