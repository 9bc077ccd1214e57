"""The server on PostgreSQL, and two server processes with Redis between them: every task run is recorded."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.server_settings import server_environment
from novelapi.processes import identify, session_members, stop

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(900)]

CHECKOUT = Path(__file__).parents[2]
TASKS = 300
BURST = f"""
from prefect import flow, task

@task(task_run_name="unit-{{number}}")
def unit(number):
    return number

@flow
def burst():
    return len([future.result() for future in unit.map(list(range({TASKS})))])

if __name__ == "__main__":
    print(burst())
"""


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def database():
    """A database of this test's own."""
    if not listens(5432) or shutil.which("psql") is None:
        pytest.skip("no PostgreSQL on 127.0.0.1:5432")
    name = f"novelapi_{uuid.uuid4().hex[:12]}"
    admin = ["psql", "-h", "127.0.0.1", "-U", "postgres", "-w", "-q", "-c"]
    made = subprocess.run([*admin, f"CREATE DATABASE {name}"], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"PostgreSQL does not let us in: {made.stderr.strip()}")
    yield f"postgresql://postgres@127.0.0.1/{name}"
    subprocess.run([*admin, f"DROP DATABASE {name} WITH (FORCE)"], check=True)


@pytest.fixture
def redis():
    """A database of the Redis server that nobody else uses, emptied before and after."""
    if not listens(6379) or shutil.which("redis-cli") is None:
        pytest.skip("no Redis on 127.0.0.1:6379")
    if importlib.util.find_spec("prefect_redis") is None:
        pytest.skip("prefect-redis is not installed: pip install prefect-redis")
    # All of the broker's keys lie in the database 0, whatever the address says; a server of our own keeps them apart.
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: listens(port), 30)
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


@contextmanager
def prefect(environment, log, *args):
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *args], env=environment, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        identity = identify(process.pid)
        if identity:
            stop(identity, grace_s=30)
        process.wait(timeout=30)


def names_without_prefect() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}


def ask(url: str, path: str, body: dict | None = None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def answers(url: str, process: subprocess.Popen, log: Path) -> bool:
    assert process.poll() is None, log.read_text()[-2000:]
    try:
        return ask(url, "health") is True
    except OSError:
        return False


def recorded(url: str) -> int:
    return ask(url, "task_runs/count", {"task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}})


def run_burst(tmp_path, environment, url, log):
    script = tmp_path / "burst.py"
    script.write_text(BURST)
    names = environment | {"PREFECT_API_URL": url, "PREFECT_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run([sys.executable, str(script)], env=names, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(TASKS), done.stderr[-2000:]
    began = time.monotonic()
    wait_for(lambda: recorded(url) == TASKS, 300)
    sys.stderr.write(f"{TASKS} task runs were recorded {time.monotonic() - began:.1f} s after the flow's end\n")
    assert "dropping message" not in log.read_text()


def test_every_task_run_of_a_burst_is_recorded_on_postgresql(database, tmp_path):
    port, log = free_port(), tmp_path / "server.log"
    environment = names_without_prefect() | server_environment(database) | {"PREFECT_HOME": str(tmp_path / "prefect")}
    url = f"http://127.0.0.1:{port}/api"
    with prefect(environment, log, "server", "start", "--host", "127.0.0.1", "--port", str(port)) as server:
        wait_for(lambda: answers(url, server, log), 400)
        run_burst(tmp_path, environment, url, log)


def test_two_server_processes_share_their_messages_through_redis(database, redis, tmp_path):
    port, log = free_port(), tmp_path / "server.log"
    environment = names_without_prefect() | server_environment(database, redis)
    environment |= {"PREFECT_HOME": str(tmp_path / "prefect")}
    url = f"http://127.0.0.1:{port}/api"
    address = ("--host", "127.0.0.1", "--port", str(port))
    with prefect(environment, log, "server", "start", *address, "--workers", "2") as server:
        wait_for(lambda: answers(url, server, log), 400)
        with prefect(environment, tmp_path / "services.log", "server", "services", "start"):
            run_burst(tmp_path, environment, url, log)
        assert len(session_members(server.pid)) >= 3, "a parent and two processes that serve"
