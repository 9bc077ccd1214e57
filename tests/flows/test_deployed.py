"""As a user does it: `novelapi deploy`, a worker process, `prefect deployment run`. The real core on a small library."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from novelapi.processes import session_members
from tests.fakes.package_index import NAME, tiny_index

pytestmark = [pytest.mark.flows, pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(1200)]

CHECKOUT = Path(__file__).parents[2]
LIMIT = 3


@pytest.fixture
def shell(tmp_path):
    """Runs commands in a run folder of their own, which has a local server and an index on loopback."""
    index = tiny_index()
    index.start()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PIP_", "UV_"))}
    environment = kept | {
        "NOVELAPI_HOME": str(tmp_path),
        "UV_DEFAULT_INDEX": index.url,
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }

    def run(*command: str, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=CHECKOUT,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )

    run.environment, run.index = environment, index
    yield run
    run("flows.server", "stop")
    index.stop()


def test_deploy_worker_and_deployment_run_reach_a_report(shell, tmp_path):
    deployed = shell("novelapi", "deploy", "--json")
    assert deployed.returncode == 0, deployed.stderr[-3000:]
    document = json.loads(deployed.stdout)
    assert "paper-grid/paper-grid" in document["deployments"]
    api = {"PREFECT_API_URL": document["server"][0]}

    wrong = shell("prefect", "deployment", "run", "paper-grid/paper-grid", "--param", "limt=3", **api)
    assert wrong.returncode == 1
    assert "limt" in wrong.stdout + wrong.stderr

    log = (tmp_path / "worker.log").open("wb")
    worker = subprocess.Popen(
        [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cpu"],
        cwd=CHECKOUT, env=shell.environment | api, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        parameters = ("group=" + NAME, "cutoff=2024-03-01", f"limit={LIMIT}")
        options = [word for parameter in parameters for word in ("--param", parameter)]
        started = shell("prefect", "deployment", "run", "paper-grid/paper-grid", *options, **api)
        assert started.returncode == 0, started.stdout + started.stderr
        run = re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}", started.stdout).group()
        state = finish(f"{api['PREFECT_API_URL']}/flow_runs/{run}")
    finally:
        worker.terminate()
        worker.wait(timeout=60)
        log.close()
    assert state["type"] == "COMPLETED", (state, (tmp_path / "worker.log").read_text()[-3000:])
    assert session_members(worker.pid) == []
    assert (tmp_path / "analysis" / f"{NAME}-copy" / "report.html").exists()
    cells = sorted((tmp_path / "results" / f"{NAME}-copy").iterdir())
    assert len(cells) == 12
    assert 0 < len((cells[0] / "results.jsonl").read_text().splitlines()) <= LIMIT


def finish(address: str) -> dict:
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        with urllib.request.urlopen(address, timeout=60) as answer:
            state = json.load(answer)["state"]
        if state["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
            return state
        time.sleep(2)
    pytest.fail(f"still {state}")
