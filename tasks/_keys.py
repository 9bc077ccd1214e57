"""Cache keys: what decides the result of a task, as a readable path with slashes. Pure; imports no Prefect.

Every parameter of a task is part of its key unless it is listed as irrelevant with the reason. So a new parameter can
make a cache colder, never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from novelapi.fingerprint import digest
from novelapi.layout import safe_name
from novelapi.records.stage import StageResult

Parameters = Mapping[str, Any]


def task_key(stage: str, version: int, subject: str, parameters: Parameters, irrelevant: Mapping[str, str]) -> str:
    """Return the key of one call: `stage/v1/numpy/copy/0123456789abcdef0123`.

    Args:
        stage: name of the stage or unit of work.
        version: its version, bumped by hand when its results change.
        subject: readable part, segments separated by slashes; it need not be unique.
        parameters: arguments of the call by name: records, stage results and plain data.
        irrelevant: dotted names (`request.jobs`) that do not decide the result, each with the reason.

    Raises:
        TypeError: a parameter has no canonical form.
        ValueError: a number is not finite.
    """
    known = {name: _project(name, value, irrelevant) for name, value in parameters.items() if name not in irrelevant}
    segments = [safe_name(part) for part in subject.split("/")]
    return "/".join([stage, f"v{version}", *segments, digest([stage, version, known])])


def _project(name: str, value: Any, irrelevant: Mapping[str, str]) -> Any:
    """Return the part of a parameter that decides the result, as plain data."""
    if isinstance(value, StageResult):
        return value.sha256
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {
            key: _project(f"{name}.{key}", item, irrelevant)
            for key, item in value.items()
            if f"{name}.{key}" not in irrelevant
        }
    if isinstance(value, list | tuple):
        return [_project(name, item, irrelevant) for item in value]
    return value
