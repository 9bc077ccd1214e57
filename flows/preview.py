"""What a verb would do: the answers of `--dry-run`, from stored results alone. Needs no Prefect server."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from blocks.retrieval import default_retrieval, open_index
from flows import _plan
from flows.choices import CONDITIONS, check_stages
from novelapi.fingerprint import digest, file_digest
from novelapi.generation.linked_stage import read_graph
from novelapi.grid.agentic import most_turns
from novelapi.grid.expand import expand_grid
from novelapi.grid.plan import plan_cell
from novelapi.inference.profile import profile_of
from novelapi.records.base import Record
from novelapi.records.completion import Usage
from novelapi.records.request import DIRECT, LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from tasks._results import STAGES, read_finished
from tasks._stage import StageTask, run_layout
from tasks.discovery import discovery
from tasks.filters import filters
from tasks.generation import generation, linked
from tasks.inference import author_of, completer, known_window, windowed
from tasks.knowledge import knowledge

TASKS = (discovery, knowledge, generation, linked, filters)
"""The stages of a library in their order."""
PRICED = ("oracle", "rag", "rag_graph", "pack", "search", "repair")
"""Deliveries whose prompts are known before a run."""


class LibraryPreview(Record):
    """What the flow `library` would do."""

    library: str
    """Library."""

    old: str | None
    """Release that the model can know."""

    new: str | None
    """Release under test."""

    finished: list[str]
    """Stages whose results are there."""

    missing: list[str]
    """Stages that would run."""

    tasks: int | None
    """Accepted tasks, once stage 4 is finished."""


class GridPreview(Record):
    """What the flow `paper-grid` would do."""

    libraries: list[LibraryPreview]
    """Its libraries."""

    cells: int
    """Cells of the grid."""

    calls: int | None
    """Completions that would be asked for at most; null while the number of tasks is not known."""

    usage: Usage | None = None
    """Requests, tokens and price at most (`cached`: recorded already); null while the tasks are not known."""


def preview_library(library: str, options: Mapping[str, Any], access: ModelAccess = DIRECT) -> LibraryPreview:
    """Return which stages of a library would run.

    Raises:
        NovelApiError: the two releases cannot be found.
    """
    return _preview(library, options, access)[0]


def _preview(library: str, options: Mapping[str, Any], access: ModelAccess) -> tuple[LibraryPreview, list[StageResult]]:
    """Return which stages of a library would run, and the results of the others."""
    last = check_stages(options.get("stages"))
    fields = {name: options[name] for name in LibraryRequest.model_fields if name in options}
    request = _plan.resolve(LibraryRequest(library=library, author=author_of(access), **fields))
    finished: list[StageResult] = []
    missing: list[str] = []
    wanted = [task for task in TASKS if STAGES[task.stage] <= last and (task is not linked or request.subsets)]
    for task in wanted:
        again = options.get("from_stage") is not None and STAGES[task.stage] >= options["from_stage"]
        result = None if missing or again else _stored(task, request, finished, access)
        if result is None:
            missing.append(task.stage)
        else:
            finished.append(result)
    preview = LibraryPreview(
        library=library,
        old=request.old,
        new=request.new,
        finished=[result.stage for result in finished],
        missing=missing,
        tasks=finished[-1].counts.get("accepted") if finished and finished[-1].stage == filters.stage else None,
    )
    return preview, finished


def _stored(
    task: StageTask[..., StageResult], request: LibraryRequest, before: list[StageResult], access: ModelAccess
) -> StageResult | None:
    """Return a stage's stored result for this request, given the results of the stages before it."""
    names = list(signature(task.fn).parameters)
    values: list[Any] = [request, *before[-1:]]
    if task is linked:
        values.append(read_graph(request, run_layout()).digest)
    if task is filters:
        stated = known_window(request.model, access.model_copy(update={"offline": True}))
        asked = access.model_copy(update={"window": stated.window})
        values.append(windowed(completer(request.model, access).revision, request.model, asked))
    if "access" in names:
        values.append(access)
    return read_finished(task.key_of(dict(zip(names, values, strict=True))), StageResult, run_layout())


def preview_grid(options: Mapping[str, Any], access: ModelAccess = DIRECT) -> GridPreview:
    """Return how much a grid would ask of the model, and its price where the profile has prices.

    Raises:
        NovelApiError: the two releases of a library cannot be found.
    """
    stages = {**options, "from_stage": 1 if options.get("fresh") else None}
    found = [_preview(name, stages, access) for name in _plan.members(options["group"])]
    libraries = [preview for preview, _ in found]
    pairs = expand_grid(options.get("conditions") or CONDITIONS, options.get("deliveries") or ["oracle"])
    known = [entry.tasks for entry in libraries if entry.tasks is not None]
    tasks = sum(known) if len(known) == len(libraries) else None
    if tasks is not None and options.get("limit") is not None:
        tasks = min(tasks, options["limit"])
    return GridPreview(
        libraries=libraries,
        cells=len(pairs),
        calls=None if tasks is None else tasks * sum(most_turns(name) for name, _ in pairs) * options.get("samples", 1),
        usage=None if tasks is None else _usage(options, [done[1].sha256 for _, done in found], access),
    )


def _usage(options: Mapping[str, Any], bundles: list[str], access: ModelAccess) -> Usage | None:
    """Return what the cells would cost at most, from the prompts that they would send; null before the tasks exist."""
    access = known_window(options["model"], access.model_copy(update={"offline": True}))
    layout, model = run_layout(), completer(options["model"], access)
    instance = layout.instance(options["group"], options["model"]) / "instance.jsonl"
    if not instance.exists():
        return None
    profile = profile_of(model)
    cells = _plan.cells_of(
        _plan.Asked(
            experiment=_plan.experiment_name(options["group"], options["model"]),
            group=options["group"],
            model=options["model"],
            instance_sha=file_digest(instance),
            bundles_sha=digest(bundles, 64),
        ),
        revision=model.revision,
        conditions=options.get("conditions"),
        deliveries=[name for name in options.get("deliveries") or ["oracle"] if name in PRICED],
        samples=options.get("samples", 1),
        seed=options.get("seed", 0),
        limit=options.get("limit"),
        retrieval=options.get("retrieval") or default_retrieval(),
        profile=profile,
        pack=_plan.keep_pack(options.get("pack"), options["group"]),
        before=_plan.prerequisites_of(
            options["group"], options["model"], options.get("conditions"), options.get("deliveries")
        ),
    )
    return sum((plan_cell(cell, layout, model, open_index) for cell in cells), Usage())
