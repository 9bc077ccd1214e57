"""The work pools, their queues and job templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.settings import load_settings

TEMPLATES = Path(__file__).with_name("templates")

RUN_ENVIRONMENT = {"PREFECT_LOGGING_EXTRA_LOGGERS": "novelapi", "DO_NOT_TRACK": "1"}
"""What every flow run is given: our own log lines reach the run's page, and nothing calls home."""


class Queue(Record):
    """One queue of a pool."""

    name: str
    """Name."""

    priority: int
    """Lower goes first."""


class Pool(Record):
    """One work pool."""

    name: str
    """Name."""

    type: str
    """Type of its workers."""

    description: str
    """One line for the UI."""

    limit: int | None = None
    """Flow runs at a time; null is without limit."""

    queues: tuple[Queue, ...] = Field(default_factory=tuple)
    """Queues beside `default`."""


POOLS = (
    Pool(
        name="cpu",
        type="process",
        description="Stages, sandboxes, endpoints.",
        queues=(Queue(name="nightly", priority=10),),
    ),
    Pool(
        name="gpu",
        type="vllm",
        description="Cells beside a vLLM server; one worker per GPU.",
        queues=(Queue(name="paper", priority=1), Queue(name="nightly", priority=10)),
    ),
)


def job_template(pool: Pool) -> dict[str, Any]:
    """Return a pool's base job template: the worker's own, with our environment and serving program."""
    if pool.type == "vllm":
        from workers.vllm import VLLMWorker

        template = VLLMWorker.get_default_base_job_template()
        program = Layout(load_settings().home_dir).serve_env / "bin" / "vllm"
        template["variables"]["properties"]["program"]["default"] = str(program)
    else:
        from prefect.workers.process import ProcessWorker

        template = ProcessWorker.get_default_base_job_template()
    home = {"NOVELAPI_HOME": str(load_settings().home_dir)}
    template["variables"]["properties"]["env"]["default"] = RUN_ENVIRONMENT | home
    return template


def read_template(name: str) -> dict[str, Any]:
    """Return a template of the folder `templates`: `gpu-docker` or `gpu-kubernetes`."""
    return json.loads((TEMPLATES / f"{name}.json").read_text(encoding="utf-8"))
