"""680 cells beside a model server while flow process, worker, model server and Prefect server are killed at random.

Everything runs as processes of its own on a local Prefect server; only the core is the miniature one, and the model
server stands in for vLLM. What dies is started again by hand, as docs/operations.md says; nothing else is touched.
CHAOS_SEED chooses order and moments, CHAOS_ROUNDS how often each kind is killed, CHAOS_HEARTBEAT_S the seconds between
two heartbeats of a flow run (180 outside of this test).
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from miniature import executed

from novelapi.layout import Layout
from novelapi.processes import identify, session_members
from novelapi.records.cell import Cell, Condition, Retrieval
from novelapi.records.request import ModelAccess

pytestmark = [pytest.mark.flows, pytest.mark.slow, pytest.mark.timeout(3600)]

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
FAKE_VLLM = CHECKOUT / "tests" / "fakes" / "vllm_program.py"
EXPERIMENTS = 20
CELLS = 680
HEARTBEAT_S = int(os.environ.get("CHAOS_HEARTBEAT_S", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "5"))
VICTIMS = ("flow", "worker", "model server", "Prefect server") * int(os.environ.get("CHAOS_ROUNDS", "2"))
ORPHAN_S = 60
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class Plant:
    """The processes of a small installation, and the ways to start and kill them."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.worker: subprocess.Popen | None = None
        self.workers: list[subprocess.Popen] = []
        self.run = ""
        self.runs: list[str] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = kept | {
            "NOVELAPI_HOME": str(home),
            "PYTHONPATH": f"{HERE}:{CHECKOUT}",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S),
            "DO_NOT_TRACK": "1",
        }
        self.start_server()
        self.environment["PREFECT_API_URL"] = self.url

    def python(self, *command: str, cwd: Path = CHECKOUT) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=cwd, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def start_server(self) -> None:
        self.environment.pop("PREFECT_API_URL", None)
        self.url = self.python("-m", "flows.server", "start").strip()
        self.environment["PREFECT_API_URL"] = self.url
        state = json.loads((self.home / "prefect" / "server.json").read_text())
        self.server = state["process"]["pid"]

    def start_worker(self) -> None:
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "gpu", "--limit", "1"]
        with (self.folder / f"worker-{len(self.workers)}.log").open("wb") as log:
            self.worker = subprocess.Popen(
                command, cwd=CHECKOUT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        self.workers.append(self.worker)

    def ask(self, path: str, body: dict | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, {"Content-Type": "application/json"})
        for attempt in range(30):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 503 or attempt == 29:
                        pytest.fail(f"{path}: {error.code} {error.read().decode()[:500]}")
                time.sleep(2)
        return None

    def begin(self, parameters: dict, variables: dict) -> None:
        deployment = self.ask("deployments/name/cell/cell")["id"]
        body = {"parameters": parameters, "job_variables": variables}
        self.run = self.ask(f"deployments/{deployment}/create_flow_run", body)["id"]
        self.runs.append(self.run)

    def states(self) -> dict[str, tuple[str, datetime]]:
        found = {}
        for run in self.runs:
            state = self.ask(f"flow_runs/{run}")["state"]
            found[run] = (state["type"], datetime.fromisoformat(state["timestamp"]))
        return found

    def flow_processes(self) -> list[int]:
        return [pid for pid, args in self.processes() if "prefect.flow_engine" in args or "prefect.engine" in args]

    def model_servers(self) -> list[int]:
        return [pid for pid, args in self.processes() if str(FAKE_VLLM) in args and "guard.py" not in args]

    def processes(self) -> list[tuple[int, str]]:
        """Return every process that works in this run folder, with its command line."""
        found = []
        mark = f"NOVELAPI_HOME={self.home}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                continue
        return [(pid, args) for pid, args in found if args]

    def kill(self, kind: str) -> None:
        pids = {
            "flow": self.flow_processes,
            "worker": lambda: [self.worker.pid] if self.worker else [],
            "model server": self.model_servers,
            "Prefect server": lambda: session_members(self.server),
        }[kind]()
        assert pids, f"no {kind} to kill"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert wait_for(lambda: not any(map(identify, pids)), 30)  # a dying process still has its sockets
        if kind == "worker" and self.worker:
            self.worker.wait()
            self.worker = None

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait(timeout=90)
        self.environment.pop("PREFECT_API_URL", None)
        self.python("-m", "flows.server", "stop")


@pytest.fixture
def plant(tmp_path):
    """A local server with the pools, deployments and automations of the project."""
    home = tmp_path / "data"
    plant = Plant(home, tmp_path)
    plant.python("-m", "deployments.apply")
    text = (CHECKOUT / "prefect.yaml").read_text()
    (tmp_path / "prefect.yaml").write_text(re.sub(r"flows\.\w+\.(\w+)", r"mini_flows.\1", text))
    plant.python("-m", "prefect", "--no-prompt", "deploy", "--all", cwd=tmp_path)
    times = f"a.HEARTBEAT_S = {HEARTBEAT_S}; a.PENDING_S = {{'vllm': {3 * HEARTBEAT_S}}}"
    apply = f"from deployments import apply as a; {times}; a.apply_automations()"
    plant.python("-c", apply)
    yield plant
    plant.stop()
    left = plant.processes()
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def server_variables(folder: Path) -> dict[str, Any]:
    program = folder / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE_VLLM} "$@"\n')
    program.chmod(0o755)
    return {"model": "tiny", "served_name": "tiny-model", "program": str(program), "start_timeout_s": 60}


def grid() -> list[Cell]:
    """Return 20 experiments of the main grid, as long as real ones: retrieval and digests included."""
    pairs = [("baseline", "oracle")]
    pairs += [(c, d) for c in get_args(Condition) if c != "baseline" for d in ("rag", "sft", "rag_sft")]
    cells = [
        Cell(
            experiment=f"chaos-agent-tool-qwen2.5-coder-7b-{number}",
            group="agent_tool",
            model="tiny-model",
            model_revision="tiny@0123456789abcdef0123",
            condition=condition,
            delivery=delivery,
            instance_sha="a" * 64,
            bundles_sha="b" * 64,
            retrieval=Retrieval(documents="c" * 64),
        )
        for number in range(EXPERIMENTS)
        for condition, delivery in pairs
    ]
    assert len(cells) == CELLS
    return cells


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def test_680_cells_survive_kills_of_everything(plant, tmp_path):
    cells = grid()
    variables = server_variables(tmp_path)
    parameters = {
        "experiment": "chaos",
        "cells": [cell.to_row() for cell in cells],
        "access": ModelAccess(revision="tiny@0123456789abcdef0123").to_row(),
    }
    print(f"parameters of a run: {len(json.dumps(parameters)) // 1000} kB")
    (plant.home / "miniature.json").write_text(json.dumps({"delay_s": 0.05}))
    moments = random.Random(SEED)
    victims = moments.sample(VICTIMS, len(VICTIMS))
    slowest = 0.0
    for victim in victims:
        goal = len(executed(plant.home)) + moments.randint(5, 30)
        assert goal < CELLS, "the grid was finished before everything was killed"
        go_on(plant, parameters, variables, lambda goal=goal: len(executed(plant.home)) >= goal)
        old = {pid for pid, _ in plant.processes()}
        plant.kill(victim)
        if victim == "worker":
            slowest = max(slowest, orphans_end(plant, old))
        print(f"killed the {victim} after {len(executed(plant.home))} cells", flush=True)
    go_on(plant, parameters, variables, lambda: bool(plant.run) and plant.states()[plant.run][0] == "COMPLETED")
    check_rows(plant, cells, len(victims))
    print(f"{len(plant.runs)} flow runs, orphans of a killed worker ended after {slowest:.0f} s at the latest")
    running = {"PENDING", "RUNNING", "CANCELLING"}
    alive = wait_for(lambda: not running & {kind for kind, _ in plant.states().values()}, 3 * HEARTBEAT_S + 90)
    assert alive, plant.states()
    print(Counter(kind for kind, _ in plant.states().values()))


def go_on(plant: Plant, parameters: dict, variables: dict, reached: Callable[[], bool], seconds: float = 900) -> None:
    """Start again what died (server, worker, a run that ended), until the condition holds."""
    deadline = time.monotonic() + seconds
    if not session_members(plant.server):
        plant.start_server()
    if plant.worker is None:
        plant.start_worker()
        plant.run = ""
    while not reached():
        assert time.monotonic() < deadline, state_of_things(plant)
        if not plant.run or plant.states()[plant.run][0] in FINAL:
            plant.begin(parameters, variables)
        time.sleep(0.5)


def orphans_end(plant: Plant, old: set[int]) -> float:
    """Wait until nothing is left of what a killed worker had started; return the seconds that it took."""
    began = time.monotonic()
    server = set(session_members(plant.server))
    gone = wait_for(lambda: not ({pid for pid, _ in plant.processes()} & old - server), ORPHAN_S)
    assert gone, [(pid, args) for pid, args in plant.processes() if pid in old - server]
    return time.monotonic() - began


def check_rows(plant: Plant, cells: list[Cell], kills: int) -> None:
    rows = {(cell.experiment, cell.name) for cell in cells}
    for experiment, name in rows:
        assert (Layout(plant.home).cell(experiment, name) / "results.jsonl").is_file()
    often = Counter(line for line in executed(plant.home) if line.startswith("cell"))
    assert often.keys() == {f"cell {experiment} {name}" for experiment, name in rows}
    again = sum(often.values()) - len(rows)
    print(f"{sum(often.values())} cells executed for {len(rows)} rows, {kills} kills")
    assert again <= kills, "only what was in flight at a kill may be done again"
    assert max(often.values()) <= 2


def state_of_things(plant: Plant) -> str:
    logs = sorted(plant.folder.glob("worker-*.log"))
    return f"{plant.states()}\n{plant.processes()}\n{logs[-1].read_text()[-3000:]}"
