"""The tasks that a run was asked, found by its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.fingerprint import file_digest
from novelapi.layout import Layout
from novelapi.records.task import Task
from novelapi.reporting.runs import TASKS, Run

INSTANCE = "instance.jsonl"


def tasks_file(run: Run, override: Path | None = None) -> Path:
    """Return the file of the tasks of a run.

    It is `override`, or tasks.jsonl in the folder, or the one that the manifest names (`spec.instance` or
    `spec.tasks`), or the instance of the experiment.

    Raises:
        DataError: there is none.
    """
    tried = [override] if override else list(_candidates(run))
    for path in tried:
        if path.is_file():
            return path
    looked = ", ".join(str(path) for path in tried) or "no place known"
    raise DataError(f"the tasks of {run.folder} were not found (looked at {looked}); give them with --tasks FILE")


def read_tasks(path: Path) -> dict[str, Task]:
    """Read a task file.

    Raises:
        DataError: a line is not a task, or an id occurs twice.
    """
    tasks: dict[str, Task] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        try:
            task = Task.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "task"
            raise DataError(f"{path}, task {number}: {where}: {first['msg']}; correct the task") from error
        if task.task_id in tasks:
            raise DataError(f"{path}: task '{task.task_id}' occurs twice; remove one")
        tasks[task.task_id] = task
    return tasks


def asked_side(run: Run, path: Path, tasks: Mapping[str, Task]) -> frozenset[str]:
    """Return the ids of the tasks that a run was asked of: one side of the split where its manifest names one.

    Training tasks are not missing where held-out ones were asked.

    Raises:
        DataError: the file of the side is broken.
    """
    side = run.spec.get("split")
    own = path.with_name(f"{side}.jsonl")
    if not side or path.name != INSTANCE or not own.is_file():
        return frozenset(tasks)
    return frozenset(read_tasks(own)) & tasks.keys()


def has_changed(run: Run, path: Path) -> bool:
    """Return whether the manifest recorded another digest for the tasks than the file has now."""
    recorded = run.manifest.inputs if run.manifest else {}
    digests = {recorded[name] for name in ("instance", "tasks") if name in recorded}
    return bool(digests) and not any(file_digest(path).startswith(digest) for digest in digests)


def _candidates(run: Run) -> Iterator[Path]:
    home = Layout.home_of(run.folder)
    yield run.folder / TASKS
    for name in ("instance", "tasks"):
        named = run.spec.get(name)
        if isinstance(named, str) and named:
            yield from (base / named for base in (run.folder, home, Path()) if base is not None)
    group = run.experiment.removesuffix(f"-{run.model}")
    if home is not None and group != run.experiment:
        yield Layout(home).instance(group, run.model) / INSTANCE
