"""The `vllm` worker type: a process worker that serves the model which a flow run asks for.

A pool of this type takes the model as a job variable. The worker starts the server, keeps it warm between flow runs of
the same model, and hands the flow run its address as OPENAI_BASE_URL. Give each GPU a worker of its own:
`CUDA_VISIBLE_DEVICES=0 prefect worker start --pool gpu --limit 1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread
from prefect.client.schemas.objects import StateType
from prefect.workers.process import ProcessJobConfiguration, ProcessVariables, ProcessWorker, ProcessWorkerResult
from pydantic import Field

from workers.signs import signs_of_life

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun

    from workers.serving import ServeSpec


WELL = (StateType.COMPLETED, StateType.FAILED, StateType.RUNNING)
"""States in which a process may end without leaving requests behind; a cancelled one exits with 0 too."""


class VLLMJobConfiguration(ProcessJobConfiguration):
    """What one flow run needs."""

    model: str = Field(default="")
    served_name: str = Field(default="")
    program: str = Field(default="vllm")
    serve_arguments: list[str] = Field(default=[])
    serve_environment: dict[str, str] = Field(default={})
    gpu: str = Field(default="")
    start_timeout_s: float = Field(default=1800.0)

    def serve_spec(self) -> ServeSpec:
        """Return the server that the flow run needs."""
        from workers.serving import ServeSpec

        return ServeSpec(
            model=self.model,
            name=self.served_name or self.model,
            program=self.program,
            arguments=tuple(self.serve_arguments),
            gpu=self.gpu,
            environment=self.serve_environment,
            start_timeout_s=self.start_timeout_s,
        )


class VLLMVariables(ProcessVariables):
    """Job variables of the pool; every default is a plain value, since factories do not reach the job template."""

    model: str = Field(default="", description="Model to serve: a folder or a hub repository. Empty serves nothing.")
    served_name: str = Field(default="", description="Name under which it is served; default: the model.")
    program: str = Field(default="vllm", description="The `vllm` program of the serving environment.")
    serve_arguments: list[str] = Field(default=[], description="Further arguments of `vllm serve`.")
    serve_environment: dict[str, str] = Field(default={}, description="Further environment of the server.")
    gpu: str = Field(default="", description="CUDA_VISIBLE_DEVICES of the server; empty keeps the worker's.")
    start_timeout_s: float = Field(default=1800.0, description="Seconds until the server must answer.")


class VLLMWorker(ProcessWorker):
    """Runs flow runs in processes, beside a vLLM server that outlives each of them."""

    type = "vllm"
    job_configuration = VLLMJobConfiguration
    job_configuration_variables = VLLMVariables
    _description = "Runs flows in processes beside a vLLM server that is kept warm between runs of the same model."
    _display_type = "vLLM"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Prepare the warm server; nothing is started."""
        from novelapi.layout import Layout
        from novelapi.settings import load_settings
        from workers.serving import VLLMServer
        from workers.warm import WarmServer

        super().__init__(*args, **kwargs)
        self._layout = Layout(load_settings().home_dir)
        self._warm = WarmServer(lambda spec: VLLMServer(spec, self._layout))

    async def setup(self) -> None:
        """Stop what an earlier worker left behind, then begin."""
        from workers.serving import stop_stale

        for name in await anyio.to_thread.run_sync(stop_stale, self._layout):
            self._logger.warning("Stopped a vLLM server of %s that an earlier worker left behind", name)
        await super().setup()

    async def run(
        self,
        flow_run: FlowRun,
        configuration: ProcessJobConfiguration,
        task_status: anyio.abc.TaskStatus[int] | None = None,
    ) -> ProcessWorkerResult:
        """Run a flow run with the server it asks for."""
        assert isinstance(configuration, VLLMJobConfiguration)
        if not configuration.model:
            return await super().run(flow_run, configuration, task_status)
        spec = configuration.serve_spec()
        with signs_of_life(str(flow_run.id)):
            url = await anyio.to_thread.run_sync(self._warm.acquire, spec)
        self._logger.info(
            "Flow run %s uses %s at %s (server start %d)", flow_run.name, spec.name, url, self._warm.starts
        )
        configuration.env |= {"OPENAI_BASE_URL": url, "NOVELAPI_SERVED_MODEL": spec.name}
        ended_well = False
        try:
            result = await super().run(flow_run, configuration, task_status)
            state = (await self.client.read_flow_run(flow_run.id)).state
            ended_well = result.status_code == 0 and state is not None and state.type in WELL
            return result
        finally:
            # A cancelled or crashed run may leave requests behind that nobody waits for: its server ends with it.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: self._warm.release(keep=ended_well))

    async def teardown(self, *exc_info: Any) -> None:
        """Stop the server with the worker, which does not wait for one that still starts."""
        self._warm.give_up()
        try:
            await super().teardown(*exc_info)
        finally:
            self._warm.close()
