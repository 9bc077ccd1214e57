"""The instance of a model: the accepted tasks of a group's libraries, and the split of their APIs."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi import jsonl
from novelapi.catalog.splits import split_apis
from novelapi.fingerprint import file_digest
from novelapi.layout import Layout
from novelapi.records.gate import FilteredTask
from novelapi.records.request import FileResult
from novelapi.records.stage import StageResult
from novelapi.records.task import Task

INSTANCE_VERSION = 1


def build_instance(
    group: str, model: str, libraries: Sequence[str], kept: Sequence[StageResult], layout: Layout
) -> FileResult:
    """Write instance.jsonl (Task rows), split.json and train/test files of a group for one model.

    Args:
        group: group in the catalogue, or one library.
        model: the model that the tasks are new to.
        libraries: its libraries.
        kept: results of stage 4 of the same libraries, in the same order.
        layout: where everything lies.

    Raises:
        NovelApiError: the disk is full.
    """
    tasks: list[Task] = []
    for library, result in zip(libraries, kept, strict=True):
        rows = jsonl.scan(layout.home / result.path)
        filtered = [FilteredTask.model_validate(row) for row in rows]
        tasks += [with_gates(row) for row in filtered if row.accepted and row.task.library == library]
    tasks.sort(key=lambda task: task.task_id)
    folder = layout.instance(group, model)
    path = folder / "instance.jsonl"
    jsonl.write(path, (task.to_row() for task in tasks))
    train = split_apis([(task.library, task.api) for task in tasks], group)
    for name, wanted in (("train", True), ("test", False)):
        chosen = [task for task in tasks if ((task.library, task.api) in train) is wanted]
        jsonl.write(folder / f"{name}.jsonl", (task.to_row() for task in chosen))
    jsonl.write(
        folder / "split.jsonl",
        (
            {"library": library, "api": api, "split": "train" if (library, api) in train else "test"}
            for library, api in _apis(tasks)
        ),
    )
    counts = {"tasks": len(tasks), "apis": len(_apis(tasks)), "train_apis": len(train), "libraries": len(libraries)}
    return FileResult(path=path.relative_to(layout.home).as_posix(), sha256=file_digest(path), counts=counts)


def with_gates(row: FilteredTask) -> Task:
    """Return the task with the evidence of its gates in its provenance."""
    gates = {found.gate: {"reason": found.reason, **found.detail} for found in row.gates}
    return row.task.model_copy(update={"provenance": {**row.task.provenance, "gates": gates, "tags": list(row.tags)}})


def _apis(tasks: Sequence[Task]) -> list[tuple[str, str]]:
    return sorted({(task.library, task.api) for task in tasks})


def read_instance(layout: Layout, group: str, model: str) -> list[Task]:
    """Return the tasks of an instance."""
    return [Task.model_validate(row) for row in jsonl.scan(layout.instance(group, model) / "instance.jsonl")]
