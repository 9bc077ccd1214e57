"""Which server a model needs: the job variables of the pool `gpu`, kept under a name."""

from __future__ import annotations

import json
from typing import Any

from prefect.blocks.core import Block
from pydantic import Field

from novelapi.fingerprint import digest

VARIABLES = ("model", "served_name", "program", "serve_arguments", "serve_environment", "gpu", "start_timeout_s")
"""Job variables of the worker type `vllm`."""

NOT_DECISIVE = ("program", "gpu", "start_timeout_s")
"""Job variables that do not change what a model says."""


class VLLMServer(Block):
    """How a worker of the pool `gpu` serves a model."""

    _block_type_name = "vLLM server"
    _block_type_slug = "vllm-server"
    _description = "Model, program and arguments of a vLLM server that a worker starts."

    model: str = Field(description="Model to serve: a folder or a hub repository.")
    served_name: str = Field(default="", description="Name under which it is served; default: the model.")
    program: str = Field(default="", description="The `vllm` program; empty is the worker's own.")
    serve_arguments: list[str] = Field(default=[], description="Further arguments of `vllm serve`.")
    serve_environment: dict[str, str] = Field(default={}, description="Further environment of the server; no secrets.")
    gpu: str = Field(default="", description="CUDA_VISIBLE_DEVICES of the server.")
    start_timeout_s: float = Field(default=1800.0, description="Seconds until the server must answer.")

    def revision(self) -> str:
        """Return what pins the outputs of this server: model, arguments and environment, not where it runs."""
        decisive = {name: getattr(self, name) for name in VARIABLES if name not in NOT_DECISIVE}
        return f"{self.model}@{digest(decisive)}"

    def job_variables(self) -> dict[str, Any]:
        """Return what a deployment on the pool `gpu` is given.

        A vLLM worker reads the variables; a container, which starts its server itself, reads NOVELAPI_SERVE.
        """
        variables = {name: getattr(self, name) for name in VARIABLES}
        if not self.program:
            del variables["program"]
        served = {
            "model": self.model,
            "name": self.served_name or self.model,
            "program": self.program,
            "arguments": self.serve_arguments,
            "gpu": self.gpu,
            "environment": self.serve_environment,
            "start_timeout_s": self.start_timeout_s,
        }
        return {**variables, "env": {"NOVELAPI_SERVE": json.dumps(served)}}
