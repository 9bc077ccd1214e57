"""The work pools, their queues and job templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

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


GpuKind = Literal["vllm", "docker", "kubernetes"]
"""How the pool `gpu` runs flow runs: in processes beside a warm server, or in containers that start their own."""

IMAGE_HOME = "/srv/novelapi/data"
"""Run folder inside the image; the job templates mount the shared one there."""

CHECKOUT = Path(__file__).resolve().parent.parent
"""Where processes work: the flows, and the file `.env`."""


def pools(gpu: GpuKind = "vllm") -> tuple[Pool, ...]:
    """Return the pools, with the given kind of workers for the pool `gpu`."""
    return tuple(pool.model_copy(update={"type": gpu}) if pool.name == "gpu" else pool for pool in POOLS)


def job_template(pool: Pool) -> dict[str, Any]:
    """Return a pool's base job template: the worker's own, with our environment and serving program."""
    home = str(load_settings().home_dir)
    if pool.type == "vllm":
        from workers.vllm import VLLMWorker

        template = VLLMWorker.get_default_base_job_template()
        program = Layout(load_settings().home_dir).serve_env / "bin" / "vllm"
        template["variables"]["properties"]["program"]["default"] = str(program) if program.exists() else "vllm"
    elif pool.type == "process":
        from prefect.workers.process import ProcessWorker

        template = ProcessWorker.get_default_base_job_template()
    else:
        template, home = read_template(f"{pool.name}-{pool.type}"), IMAGE_HOME
    properties = template["variables"]["properties"]
    if "working_dir" in properties:
        properties["working_dir"]["default"] = str(CHECKOUT)
    properties["env"]["default"] = RUN_ENVIRONMENT | {"NOVELAPI_HOME": home}
    return template


def read_template(name: str) -> dict[str, Any]:
    """Return a template of the folder `templates`: `gpu-docker` or `gpu-kubernetes`."""
    return json.loads((TEMPLATES / f"{name}.json").read_text(encoding="utf-8"))
