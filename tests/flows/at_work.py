"""Real worker processes and runs of deployments, for tests that need them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from novelapi.processes import session_members
from novelapi.records.cell import Cell

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
FAKE_VLLM = CHECKOUT / "tests" / "fakes" / "vllm_program.py"


def environment(home) -> dict[str, str]:
    from prefect.settings import PREFECT_API_URL

    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return kept | {
        "PREFECT_API_URL": PREFECT_API_URL.value(),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "NOVELAPI_HOME": str(home),
        "PYTHONPATH": f"{HERE}:{CHECKOUT}",
        "DO_NOT_TRACK": "1",
    }


@contextmanager
def worker(home, pool, *options, **more):
    log = home / f"worker-{pool}-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--limit", "1", *options]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment(home) | more, stdout=out, stderr=out, start_new_session=True
        )
    process.log = log
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid in session_members(process.pid):
            os.kill(pid, signal.SIGKILL)


def start(name, **parameters):
    from prefect.deployments import run_deployment

    return run_deployment(name, parameters=parameters, timeout=0)


def finish(run, seconds=300):
    from prefect.client.orchestration import get_client

    deadline = time.monotonic() + seconds
    with get_client(sync_client=True) as client:
        while True:
            run = client.read_flow_run(run.id)
            if run.state and run.state.is_final():
                return run
            assert time.monotonic() < deadline, f"still {run.state}"
            time.sleep(0.5)


def wait_for(condition, seconds=180):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def cell_of(block, experiment, condition):
    return Cell(
        experiment=experiment,
        group="numpy",
        model="tiny-model",
        model_revision=block.revision(),
        condition=condition,
        delivery="oracle",
        instance_sha="a",
        bundles_sha="b",
    )
