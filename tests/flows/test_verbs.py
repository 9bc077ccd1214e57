"""The verbs as a user starts them: processes that are killed, a local server that is found again, a clean console."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from miniature import executed

from novelapi.processes import session_members

pytestmark = pytest.mark.flows

MINIATURE = Path(__file__).with_name("miniature.py")
CHECKOUT = MINIATURE.parents[2]
NOISE = ("Traceback", "ERROR", "WARNING", "Error", "elemetry", "ephemeral", "temporary server")


class Machine:
    """A run folder, and processes in it."""

    def __init__(self, home: Path, api_url: str | None) -> None:
        self.home = home
        names = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = {**names, "NOVELAPI_HOME": str(home)} | ({"PREFECT_API_URL": api_url} if api_url else {})

    def start(self, *args: str, **options) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, str(MINIATURE), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=CHECKOUT,
            **options,
        )

    def run(self, *args: str) -> subprocess.CompletedProcess:
        process = self.start(*args)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def wish(self, **options) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "miniature.json").write_text(json.dumps(options))

    def server(self, verb: str) -> str:
        command = [sys.executable, "-m", "flows.server", verb]
        return subprocess.check_output(command, text=True, env=self.environment, cwd=CHECKOUT)


@pytest.fixture
def machine(tmp_path, prefect_server):
    """A run folder whose processes use the session's server."""
    from prefect.settings import PREFECT_API_URL

    return Machine(tmp_path, PREFECT_API_URL.value())


@pytest.fixture
def lonely_machine(tmp_path):
    """A run folder without a server."""
    machine = Machine(tmp_path, None)
    yield machine
    machine.server("stop")


def test_the_demo_starts_a_server_once_and_says_what_it_executed(lonely_machine):
    first = lonely_machine.run("demo")
    assert (first.returncode, "6 stage tasks" in first.stdout) == (0, False)
    assert "5 stage tasks, 12 cells executed (0 from the cache)" in first.stdout
    address = lonely_machine.server("status")
    second = lonely_machine.run("demo")
    assert "0 stage tasks, 0 cells executed (17 from the cache)" in second.stdout
    assert lonely_machine.server("status") == address
    assert address.split("/api")[0] in second.stderr
    for text in (first.stdout, first.stderr, second.stdout, second.stderr):
        assert not [word for word in NOISE if word in text], text
    lonely_machine.server("stop")
    assert "no local Prefect server" in lonely_machine.server("status")


def test_json_is_the_only_thing_on_stdout(machine):
    done = machine.run("run", "--library", "numpy", "--conditions", "full", "--json")
    document = json.loads(done.stdout)
    assert document["cells"]["work"] == {"executed": 1, "cached": 0, "failed": 0}
    assert document["url"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("args", "wish", "code", "message"),
    [
        (
            ["build", "numpy", "scipy"],
            {"fail": {"stage1_discovery numpy": "x: y"}},
            1,
            "1 of 2 libraries failed (numpy)",
        ),
        (["run", "-l", "numpy", "--conditions", "e"], {"bug": ["cell oracle-e"]}, 1, "1 of 1 cells failed"),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(machine, args, wish, code, message):
    machine.wish(**wish)
    done = machine.run(*args)
    assert done.returncode == code
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("novelapi: ")
    assert message in last
    assert "Traceback" not in done.stderr


def test_two_verbs_at_the_same_moment_execute_each_cell_once(machine):
    machine.wish(delay_s=0.05)
    processes = [machine.start("demo") for _ in range(2)]
    for process in processes:
        process.communicate(timeout=240)
        assert process.returncode == 0
    assert max(Counter(executed(machine.home)).values()) == 1


@pytest.mark.slow
def test_a_run_whose_prefect_server_is_killed_is_finished_by_the_next(lonely_machine):
    lonely_machine.wish(delay_s=0.5)
    first = lonely_machine.start("demo", start_new_session=True)
    deadline = time.monotonic() + 200
    while len(executed(lonely_machine.home)) < 8:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    leader = int(lonely_machine.server("status").rsplit("process ", 1)[1].rstrip(")\n"))
    for pid in session_members(leader):
        os.kill(pid, signal.SIGKILL)
    try:
        first.communicate(timeout=20)
    except subprocess.TimeoutExpired:  # it still asks for its server
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    done = lonely_machine.run("demo")
    assert done.returncode == 0, done.stderr
    often = Counter(line for line in executed(lonely_machine.home) if line.startswith("cell"))
    assert len(often) == 12
    assert sum(often.values()) <= 13, "only the cell in flight may be done again"
