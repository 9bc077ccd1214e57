"""What a verb would do: the answers of `--dry-run`, from stored results alone. Needs no Prefect server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows import _plan
from flows.choices import CONDITIONS, check_stages
from novelapi.grid.expand import expand_grid
from novelapi.records.base import Record
from novelapi.records.request import DIRECT, LibraryRequest
from novelapi.records.stage import StageResult
from tasks._results import read_finished
from tasks._stage import StageTask, run_layout
from tasks.discovery import discovery
from tasks.filters import filters
from tasks.generation import generation
from tasks.inference import completer
from tasks.knowledge import knowledge


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


def preview_library(library: str, options: Mapping[str, Any]) -> LibraryPreview:
    """Return which stages of a library would run.

    Raises:
        NovelApiError: the two releases cannot be found.
    """
    last = check_stages(options.get("stages"))
    fields = {name: options[name] for name in LibraryRequest.model_fields if name in options}
    request = _plan.resolve(LibraryRequest(library=library, **fields))
    finished: list[StageResult] = []
    missing: list[str] = []
    for number, task in enumerate((discovery, knowledge, generation, filters)[:last], 1):
        again = options.get("from_stage") is not None and number >= options["from_stage"]
        result = None if missing or again else _stored(task, request, finished)
        if result is None:
            missing.append(task.stage)
        else:
            finished.append(result)
    return LibraryPreview(
        library=library,
        old=request.old,
        new=request.new,
        finished=[result.stage for result in finished],
        missing=missing,
        tasks=finished[3].counts.get("accepted") if len(finished) == 4 else None,
    )


def _stored(
    task: StageTask[..., StageResult], request: LibraryRequest, before: list[StageResult]
) -> StageResult | None:
    """Return a stage's stored result for this request, given the results of the stages before it."""
    names = task.fn.__code__.co_varnames[: task.fn.__code__.co_argcount]
    values: list[Any] = [request, *before[-1:]]
    if task is filters:
        values += [completer(request.model, DIRECT).revision, DIRECT]
    return read_finished(task.key_of(dict(zip(names, values, strict=True))), StageResult, run_layout())


def preview_grid(options: Mapping[str, Any]) -> GridPreview:
    """Return how much a grid would ask of the model.

    Raises:
        NovelApiError: the two releases of a library cannot be found.
    """
    stages = {**options, "from_stage": 1 if options.get("fresh") else None}
    libraries = [preview_library(name, stages) for name in _plan.members(options["group"])]
    pairs = expand_grid(options.get("conditions") or CONDITIONS, options.get("deliveries") or ["oracle"])
    known = [entry.tasks for entry in libraries if entry.tasks is not None]
    tasks = sum(known) if len(known) == len(libraries) else None
    return GridPreview(
        libraries=libraries,
        cells=len(pairs),
        calls=None if tasks is None else tasks * len(pairs) * options.get("samples", 1),
    )
