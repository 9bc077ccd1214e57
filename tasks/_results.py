"""Finished results of tasks, read without Prefect: to skip finished cells, and to drop results whose files are gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from novelapi.errors import UsageError
from novelapi.fingerprint import file_digest
from novelapi.layout import Layout, safe_name
from novelapi.records.request import FileResult
from novelapi.settings import load_settings

R = TypeVar("R", bound=BaseModel)


def run_layout() -> Layout:
    """Return the layout below NOVELAPI_HOME."""
    return Layout(load_settings().home_dir)


def read_finished(key: str, kind: type[R], layout: Layout) -> R | None:
    """Return the stored result of a task, or None where there is none or its file is missing or was changed."""
    data = _read(layout.results / key)
    if data is None or not _intact(data, layout.home):
        return None
    try:
        return kind.model_validate(data)
    except ValidationError:
        return None


def drop_stale(key: str, layout: Layout) -> None:
    """Remove a stored result that cannot be used, so that the task runs again."""
    record = layout.results / key
    if not record.exists():
        return
    data = _read(record)
    if data is None or not _intact(data, layout.home):
        record.unlink(missing_ok=True)


def _read(record: Path) -> dict[str, Any] | None:
    """Return the fields of the stored record: Prefect writes an envelope whose `result` is JSON text."""
    try:
        result = json.loads(json.loads(record.read_bytes())["result"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    data = result.get("data") if isinstance(result, dict) else None
    return data if isinstance(data, dict) else None


def _intact(data: dict[str, Any], home: Path) -> bool:
    """Tell whether the file that a result points to is still what the task wrote."""
    path, sha256 = data.get("path"), data.get("sha256")
    if path is None or sha256 is None:
        return True
    try:
        return file_digest(home / path) == sha256
    except OSError:
        return False


STAGES = {
    "stage1_discovery": 1,
    "stage2_knowledge": 2,
    "stage3_tasks": 3,
    "stage3_linked": 3,
    "stage4_filtered": 4,
}
"""The number that each stage is called by on the command line."""


def forget_stages(first: int, library: str, model: str, layout: Layout) -> None:
    """Remove results and rows of a library's stages from number `first` on, so that they are done again."""
    for stage in (name for name, number in STAGES.items() if number >= first):
        for records in layout.results.glob(f"{stage}/v*/{safe_name(library)}/{safe_name(model)}"):
            shutil.rmtree(records)
        layout.stage(library, stage, model).unlink(missing_ok=True)
        layout.stage_manifest(library, stage, model).unlink(missing_ok=True)


def forget_cells(experiment: str, layout: Layout) -> None:
    """Remove results and rows of an experiment's cells, so that they are run again."""
    for records in layout.results.glob(f"cell/v*/{safe_name(experiment)}"):
        shutil.rmtree(records)
    if layout.experiment(experiment).exists():
        shutil.rmtree(layout.experiment(experiment))


def finished_cells(experiment: str, layout: Layout) -> list[FileResult]:
    """Return pointers to the finished cells of an experiment, sorted by name.

    Raises:
        UsageError: there is none.
    """
    manifests = sorted(layout.experiment(experiment).glob("*/results.jsonl"))
    if not manifests:
        raise UsageError(
            f"no finished cell below {layout.experiment(experiment)}: run the grid first, or check the name"
        )
    return [FileResult(path=str(path.relative_to(layout.home)), sha256=file_digest(path)) for path in manifests]
