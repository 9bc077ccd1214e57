"""A small installation as a user makes it: a run folder, a local server, a package index on loopback, a worker process.

Everything runs by its own command with the real core; only the index is small.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.package_index import tiny_index

CHECKOUT = Path(__file__).parents[2]
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}")


class Installation:
    """Runs commands in a run folder of their own."""

    def __init__(self, home: Path, index: str) -> None:
        self.home, self.index = home, index
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PIP_", "UV_"))}
        self.environment = kept | {
            "NOVELAPI_HOME": str(home),
            "UV_DEFAULT_INDEX": index,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "DO_NOT_TRACK": "1",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def __call__(self, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=CHECKOUT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def deploy(self) -> dict[str, Any]:
        """Deploy everything; commands from now on talk to the server that was started."""
        done = self("novelapi", "deploy", "--json")
        assert done.returncode == 0, done.stderr[-3000:]
        document = json.loads(done.stdout)
        self.environment["PREFECT_API_URL"] = document["server"][0]
        return document

    @contextmanager
    def worker(self, pool: str, *options: str) -> Iterator[subprocess.Popen]:
        """Run a worker until the body ends."""
        with (self.home / "worker.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, *options],
                cwd=CHECKOUT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield worker
            finally:
                worker.terminate()
                worker.wait(timeout=60)

    def run(self, deployment: str, *parameters: str) -> str:
        """Start a run with Prefect's own command and wait for its end; return its id."""
        options = [word for parameter in parameters for word in ("--param", parameter)]
        started = self("prefect", "deployment", "run", deployment, *options)
        assert started.returncode == 0, started.stdout + started.stderr
        run = RUN_ID.search(started.stdout)
        assert run, started.stdout
        deadline = time.monotonic() + 900
        while time.monotonic() < deadline:
            with urllib.request.urlopen(
                f"{self.environment['PREFECT_API_URL']}/flow_runs/{run[0]}", timeout=60
            ) as answer:
                state = json.load(answer)["state"]
            if state["type"] in FINAL:
                assert state["type"] == "COMPLETED", (state, (self.home / "worker.log").read_text()[-3000:])
                return run[0]
            time.sleep(2)
        pytest.fail(f"still {state}")


@contextmanager
def small_installation(home: Path) -> Iterator[Installation]:
    """Make an installation, and stop its server and index at the end."""
    index = tiny_index()
    index.start()
    installation = Installation(home, index.url)
    try:
        yield installation
    finally:
        installation.environment.pop("PREFECT_API_URL", None)
        installation("flows.server", "stop")
        index.stop()
