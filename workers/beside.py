"""Runs a flow run beside a model server of its own: the command of the job templates for Docker and Kubernetes.

`python -m workers.beside`: there a job is a container, so no worker can keep a server warm for it. The server that the
run's job variables describe (NOVELAPI_SERVE) lives as long as the container; without a description none is started.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from pydantic import ValidationError

from novelapi.errors import DataError, NovelApiError
from novelapi.layout import Layout
from novelapi.settings import load_settings
from workers.serving import ServeSpec, VLLMServer

EXECUTE = (sys.executable, "-m", "prefect", "flow-run", "execute")


def read_spec(text: str | None) -> ServeSpec | None:
    """Return the server that NOVELAPI_SERVE describes, or None if it describes none.

    Raises:
        DataError: it is no description.
    """
    if not text:
        return None
    try:
        return ServeSpec.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"NOVELAPI_SERVE: {error.errors()[0]['msg']}; correct the block vllm-server") from error


def run_beside(command: list[str], spec: ServeSpec | None, layout: Layout) -> int:
    """Run a command with the address of a server in its environment; return its exit code.

    Raises:
        PrerequisiteError: the serving program is missing.
        NovelApiError: vLLM refused the model or did not answer in time.
    """
    if spec is None:
        return subprocess.run(command, check=False).returncode
    program = spec.program or shutil.which("vllm") or str(layout.serve_env / "bin" / "vllm")
    server = VLLMServer(spec.model_copy(update={"program": program}), layout)
    try:
        with _alive(load_settings().worker_flow_run):
            served = {"OPENAI_BASE_URL": server.start(), "NOVELAPI_SERVED_MODEL": spec.name}
        return subprocess.run(command, check=False, env={**os.environ, **served}).returncode
    finally:
        server.stop()


def main(argv: list[str]) -> int:
    """Run the flow run that Prefect's environment names, or the command that is given."""
    signal.signal(signal.SIGTERM, _leave)
    settings = load_settings()
    try:
        return run_beside(argv or list(EXECUTE), read_spec(settings.serve), Layout(settings.home_dir))
    except NovelApiError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


def _alive(flow_run: str | None) -> AbstractContextManager[None]:
    """Return what keeps a waiting flow run from being taken for dead, where there is one."""
    if flow_run is None:
        return nullcontext()
    from workers.signs import signs_of_life

    return signs_of_life(flow_run)


def _leave(number: int, _frame: FrameType | None) -> None:
    """Turn the signal of a stopping container into an exit that stops the server."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
