"""The whole of it on a library of two small releases: real index, environments, sandbox and server, killed at will."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.package_index import NAME, tiny_index

pytestmark = [pytest.mark.flows, pytest.mark.sandbox, pytest.mark.timeout(900)]

CHECKOUT = Path(__file__).parents[2]
RUN = ("run", "--library", NAME, "--cutoff", "2024-03-01", "--json")
CLOCKS = {"cpu_ms", "wall_ms", "peak_kb"}


@pytest.fixture(scope="module")
def index():
    index = tiny_index()
    index.start()
    yield index
    index.stop()


@pytest.fixture
def start(index, prefect_server, tmp_path):
    """Starts the command line in a run folder of the given name."""
    from prefect.settings import PREFECT_API_URL

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PIP_", "UV_"))}

    def run(home: str, *args: str, **more: str | None) -> subprocess.Popen:
        names: dict[str, str | None] = {
            "NOVELAPI_HOME": str(tmp_path / home),
            "NOVELAPI_ENVS": str(tmp_path / "envs"),
            "UV_DEFAULT_INDEX": index.url,
            "PREFECT_API_URL": PREFECT_API_URL.value(),
            **more,
        }
        command = [sys.executable, "-m", "novelapi", *(args or RUN)]
        pipe = subprocess.PIPE
        set_names = {name: value for name, value in names.items() if value is not None}
        return subprocess.Popen(
            command, env=kept | set_names, cwd=CHECKOUT, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    return run


def finish(process: subprocess.Popen, seconds: float = 300) -> dict:
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return json.loads(out)


def findings(home: Path) -> dict[str, object]:
    """Return everything that a run found: stage files as bytes, verdicts without their clocks, the tables."""
    found: dict[str, object] = {
        str(path.relative_to(home)): path.read_bytes() for path in sorted((home / "raw").rglob("stage*.jsonl"))
    }
    for path in sorted((home / "results").rglob("results.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found[str(path.relative_to(home))] = [{key: row[key] for key in row.keys() - CLOCKS} for row in rows]
    for path in sorted((home / "analysis").rglob("tables/*.csv")):
        if "cost" not in path.name:
            found[str(path.relative_to(home))] = path.read_bytes()
    return found


def test_a_run_that_is_killed_five_times_ends_with_the_tables_of_one_that_was_not(start, tmp_path):
    began = time.monotonic()
    whole = finish(start("whole"))
    duration = time.monotonic() - began
    assert whole["cells"]["work"] == {"executed": 12, "cached": 0, "failed": 0}
    moments = random.Random(11)
    for _ in range(5):
        process = start("killed")
        time.sleep(moments.uniform(2, max(4, duration / 2)))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = finish(start("killed"))
    assert last["instance"]["libraries"][0]["stages"][3]["counts"]["accepted"] >= 3
    assert findings(tmp_path / "killed") == findings(tmp_path / "whole")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["build", "stillshapes", "--cutoff", "2024-03-01"], 2, "no public API of stillshapes is new or changed"),
        (["build", NAME, "--cutoff", "2024-03-01", "--stages", "1", "--limit", "2"], 4, "--limit 2 left units out"),
    ],
)
def test_a_build_that_ends_early_says_why(start, tmp_path, args, code, words):
    process = start("early", *args)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    assert words in err.strip().splitlines()[-1]
    assert "Traceback" not in err
    assert not (tmp_path / "early" / "raw" / args[1] / "stage2_knowledge.copy.jsonl").exists()


def test_a_build_without_a_sandbox_says_what_to_install(start, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    process = start("unsafe", "build", NAME, "--cutoff", "2024-03-01", PATH=str(empty))
    _, err = process.communicate(timeout=300)
    last = err.strip().splitlines()[-1]
    assert (process.returncode, "bubblewrap" in last, "install" in last) == (3, True, True), err


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(3600)
def test_the_demo_that_is_killed_five_times_ends_with_the_tables_of_one_that_was_not(start, tmp_path):
    """The same on numpy, from the real index: half an hour."""
    began = time.monotonic()
    finish(start("whole", "demo", "--json", UV_DEFAULT_INDEX=None), seconds=1200)
    duration = time.monotonic() - began
    moments = random.Random(7)
    for _ in range(5):
        process = start("killed", "demo", "--json", UV_DEFAULT_INDEX=None)
        time.sleep(moments.uniform(5, duration / 2))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    finish(start("killed", "demo", "--json", UV_DEFAULT_INDEX=None), seconds=1200)
    assert findings(tmp_path / "killed") == findings(tmp_path / "whole")
