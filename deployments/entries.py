"""prefect.yaml as records: what is deployed, where, and with which parameters. Imports no Prefect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from novelapi.errors import DataError
from novelapi.records.base import Record

CHECKOUT = Path(__file__).resolve().parent.parent
PREFECT_YAML = CHECKOUT / "prefect.yaml"

TOP_LEVEL = {"name", "prefect-version", "build", "push", "pull", "definitions", "deployments"}
"""Prefect ignores any other key without a word, so a typo would be silent."""


class WorkPool(Record):
    """Where a deployment runs."""

    name: str
    """Pool."""

    work_queue_name: str = "default"
    """Queue of the pool."""

    job_variables: dict[str, Any] = Field(default_factory=dict)
    """Variables of the pool's job template."""


class Entry(Record):
    """One deployment."""

    name: str
    """Name of the deployment, equal to that of its flow."""

    description: str
    """One line for the UI."""

    entrypoint: str
    """Dotted path of the flow."""

    tags: list[str] = Field(default_factory=list)
    """Tags of its runs."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """Default parameters."""

    concurrency_limit: int | dict[str, Any] | None = None
    """How many runs may be active, and what happens to the others."""

    schedules: list[dict[str, Any]] = Field(default_factory=list)
    """When it runs by itself."""

    work_pool: WorkPool
    """Where it runs."""


def read_entries(path: Path = PREFECT_YAML) -> list[Entry]:
    """Return the deployments of a prefect.yaml.

    Raises:
        DataError: a key is unknown, or a deployment is incomplete.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise DataError(f"cannot read {path}: {' '.join(str(error).split())}; correct the file") from error
    unknown = sorted(set(document) - TOP_LEVEL)
    if unknown:
        raise DataError(f"{path}: unknown key '{unknown[0]}', which Prefect would ignore; correct or remove it")
    try:
        return [Entry.model_validate(row) for row in document.get("deployments", [])]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{path}: {first['msg']} at '{place}'; correct the deployment") from error
