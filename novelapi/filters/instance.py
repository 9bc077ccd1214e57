"""The instance of a model: the accepted tasks of a group's libraries, and the split of their APIs."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from novelapi import jsonl
from novelapi.fingerprint import file_digest, text_digest
from novelapi.layout import Layout
from novelapi.records.gate import FilteredTask
from novelapi.records.request import FileResult
from novelapi.records.stage import StageResult
from novelapi.records.task import Task

INSTANCE_VERSION = 1
TRAIN_SHARE = 0.8
SPLIT_SEED = 42
"""Seed of the split; with the digest of the library's name it decides which APIs are held out."""


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
    train = train_apis(tasks)
    for name, wanted in (("train", True), ("test", False)):
        chosen = [task for task in tasks if (task.api in train) is wanted]
        jsonl.write(folder / f"{name}.jsonl", (task.to_row() for task in chosen))
    jsonl.write(
        folder / "split.jsonl", ({"api": api, "split": "train" if api in train else "test"} for api in _apis(tasks))
    )
    counts = {"tasks": len(tasks), "apis": len(_apis(tasks)), "train_apis": len(train), "libraries": len(libraries)}
    return FileResult(path=path.relative_to(layout.home).as_posix(), sha256=file_digest(path), counts=counts)


def with_gates(row: FilteredTask) -> Task:
    """Return the task with the evidence of its gates in its provenance."""
    gates = {found.gate: {"reason": found.reason, **found.detail} for found in row.gates}
    return row.task.model_copy(update={"provenance": {**row.task.provenance, "gates": gates, "tags": list(row.tags)}})


def train_apis(tasks: Sequence[Task]) -> set[str]:
    """Return the APIs of the training part: 80 % of each library's, chosen by a seed per library."""
    by_library: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        if task.api not in by_library[task.library]:
            by_library[task.library].append(task.api)
    found: set[str] = set()
    for library, apis in by_library.items():
        shuffled = sorted(apis)
        random.Random(f"{SPLIT_SEED}/{text_digest(library)}").shuffle(shuffled)  # noqa: S311 - a published split
        found.update(shuffled[: int(TRAIN_SHARE * len(shuffled))])
    return found


def _apis(tasks: Sequence[Task]) -> list[str]:
    return sorted({task.api for task in tasks})


def read_instance(layout: Layout, group: str, model: str) -> list[Task]:
    """Return the tasks of an instance."""
    return [Task.model_validate(row) for row in jsonl.scan(layout.instance(group, model) / "instance.jsonl")]
