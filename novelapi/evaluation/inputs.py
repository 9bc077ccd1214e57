"""Reads the files that a user gives to `evaluate`: tasks and predictions. Every fault names file, line and remedy."""

from __future__ import annotations

import difflib
from pathlib import Path

from pydantic import ValidationError

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.records.prediction import Prediction
from novelapi.records.task import Task


def read_tasks(path: Path) -> dict[str, Task]:
    """Read a task file, in its order.

    Raises:
        DataError: missing file, broken line, missing or unknown field, duplicate id, no task.
    """
    tasks: dict[str, Task] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        try:
            task = Task.model_validate(row)
        except ValidationError as error:
            raise DataError(f"{path}, task {number}{_named(row)}: {explain(error)}; correct the row") from error
        if task.task_id in tasks:
            raise DataError(f"{path}, task {number}: duplicate task_id '{task.task_id}'; remove one of the rows")
        tasks[task.task_id] = task
    if not tasks:
        raise DataError(f"{path} holds no task; give a file with one JSON object a line")
    return tasks


def read_predictions(path: Path, tasks: dict[str, Task]) -> dict[str, Prediction]:
    """Read a predictions file; every id must be one of the tasks'.

    Raises:
        DataError: missing file, broken line, missing field, duplicate or unknown id.
    """
    found: dict[str, Prediction] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        try:
            prediction = Prediction.model_validate(row)
        except ValidationError as error:
            raise DataError(f"{path}, row {number}{_named(row)}: {explain(error)}; correct the row") from error
        if prediction.task_id in found:
            raise DataError(
                f"{path}, row {number}: duplicate task_id '{prediction.task_id}'; join its samples in one row"
            )
        if prediction.task_id not in tasks:
            near = difflib.get_close_matches(prediction.task_id, list(tasks), n=1)
            hint = f"did you mean '{near[0]}'?" if near else "use the task file that the predictions were made for"
            raise DataError(f"{path}, row {number}: unknown task_id '{prediction.task_id}': {hint}")
        found[prediction.task_id] = prediction
    return found


def explain(error: ValidationError) -> str:
    """Return the first fault of a row in one line."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"field missing: {place}"
    if first["type"] == "extra_forbidden":
        return f"unknown field: {place}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _named(row: dict[str, object]) -> str:
    name = row.get("task_id")
    return f" ('{name}')" if isinstance(name, str) else ""
