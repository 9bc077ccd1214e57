"""Deployments on real worker processes: pools, a model server that the worker keeps warm, kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from at_work import cell_of, finish, start, wait_for, worker
from miniature import executed

from novelapi.processes import session_members
from novelapi.records.cell import Condition
from novelapi.records.request import ModelAccess
from tests.fakes.served_model import ARGUMENTS, ENVIRONMENT, NO_PROGRAM, PROGRAM, build_model

pytestmark = [pytest.mark.flows, pytest.mark.slow, pytest.mark.timeout(900)]


def rows(home, experiment, cell):
    lines = (home / "results" / experiment / cell / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_grid_runs_on_a_worker_process(deployed):
    with worker(deployed, "cpu") as cpu:
        run = finish(start("paper-grid/paper-grid", group="numpy", conditions=["baseline", "full"]))
    assert run.state.is_completed(), run.state
    assert "Downloading flow code" not in cpu.log.read_text()
    assert executed(deployed).count("cell numpy-copy oracle-full") == 1


def test_the_tokens_come_from_one_server_that_the_worker_started(deployed, served):
    options = {"group": "numpy", "model": "tiny-model", "server": served()}
    with worker(deployed, "cpu"), worker(deployed, "gpu") as gpu:
        first = finish(start("paper-grid/paper-grid", conditions=["baseline", "full"], **options))
        second = finish(start("paper-grid/paper-grid", conditions=["baseline", "full", "s", "e"], **options))
        log = gpu.log.read_text()
    assert (first.state.type, second.state.type) == ("COMPLETED", "COMPLETED"), (first.state, second.state)
    for cell in ("oracle-baseline", "oracle-full", "oracle-s", "oracle-e"):
        assert rows(deployed, "numpy-tiny-model", cell)[0]["text"] == f"tiny-model says {cell}"
    assert executed(deployed).count("cell numpy-tiny-model oracle-full") == 1
    (server_log,) = (deployed / "prefect" / "serving").glob("*.log")
    assert server_log.read_text().count("--- start") == 1, "one start for all cells of the model"
    assert "server start 1" in log


@pytest.mark.vllm
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not PROGRAM.exists(), reason=NO_PROGRAM)
def test_two_runs_on_the_pool_gpu_get_their_tokens_from_one_real_vllm(deployed, tmp_path):
    from prefect.deployments import run_deployment

    from blocks.vllm_server import VLLMServer

    block = VLLMServer(
        model=str(build_model(tmp_path / "model")),
        served_name="tiny-model",
        program=str(PROGRAM),
        serve_arguments=list(ARGUMENTS),
        serve_environment=ENVIRONMENT,
    )

    def run(*conditions):
        cells = [cell_of(block, "real", condition) for condition in conditions]
        parameters = {
            "experiment": "real",
            "cells": [cell.to_row() for cell in cells],
            "access": ModelAccess(revision=block.revision()).to_row(),
        }
        began = time.monotonic()
        started = run_deployment("cell/cell", parameters=parameters, job_variables=block.job_variables(), timeout=0)
        done = finish(started, seconds=2000)
        print(f"{', '.join(conditions)}: {done.state.name} after {time.monotonic() - began:.0f} s")
        return done.state

    with worker(deployed, "gpu") as gpu:
        first, second = run("baseline", "full"), run("baseline", "full", "s", "e")
        log = gpu.log.read_text()
        (server_log,) = (deployed / "prefect" / "serving").glob("*.log")
    assert (first.type, second.type) == ("COMPLETED", "COMPLETED"), (first, second, log[-3000:])
    text = server_log.read_text()
    assert text.count("--- start") == 1, "one start for all runs of the model"
    assert log.count("server start 1") == 2
    assert text.count('POST /v1/completions HTTP/1.1" 200') == 1 + 4 * 4, (
        "a warm-up, then four rows in each of four cells"
    )
    assert all(row["text"] for cell in ("oracle-baseline", "oracle-e") for row in rows(deployed, "real", cell))


@pytest.mark.vllm
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not PROGRAM.exists(), reason=NO_PROGRAM)
def test_what_the_real_vllm_refuses_ends_its_run_and_the_worker_goes_on(deployed, tmp_path):
    from prefect.deployments import run_deployment

    from blocks.vllm_server import VLLMServer

    def save(name, folder):
        block = VLLMServer(
            model=str(folder),
            served_name="tiny-model",
            program=str(PROGRAM),
            serve_arguments=list(ARGUMENTS),
            serve_environment=ENVIRONMENT,
        )
        block.save(name, overwrite=True)
        return block

    good = save("good", build_model(tmp_path / "good"))
    shutil.copytree(tmp_path / "good", tmp_path / "strange")
    settings = tmp_path / "strange" / "config.json"
    settings.write_text(settings.read_text().replace("Qwen2ForCausalLM", "StrangeForCausalLM"))
    save("strange", tmp_path / "strange")
    parameters = {
        "experiment": "good",
        "cells": [cell_of(good, "good", "full").to_row()],
        "access": ModelAccess(revision=good.revision()).to_row(),
    }
    with worker(deployed, "cpu"), worker(deployed, "gpu"):
        grid = {"group": "numpy", "model": "tiny-model", "conditions": ["full"]}
        refused = start("paper-grid/paper-grid", server="strange", **grid)
        state = finish(refused, seconds=1000).state
        print(state.message)
        assert state.is_failed()
        assert "vLLM does not support this architecture: choose another model" in state.message
        assert "\n" not in state.message
        variables = good.job_variables()
        run = run_deployment("cell/cell", parameters=parameters, job_variables=variables, timeout=0)
        assert finish(run, seconds=1000).state.is_completed()
    assert rows(deployed, "good", "oracle-full")[0]["text"]


def test_a_refused_model_ends_the_run_with_one_line_and_the_remedy(deployed, served):
    with worker(deployed, "cpu"), worker(deployed, "gpu"):
        run = finish(
            start(
                "paper-grid/paper-grid",
                group="numpy",
                model="tiny-model",
                server=served("missing"),
                conditions=["full"],
            )
        )
    assert run.state.is_failed()
    assert "there is no such model: correct the job variable `model`" in run.state.message


def test_a_cancelled_run_leaves_no_process_and_the_next_finishes_its_cells(deployed, served):
    from prefect.client.orchestration import get_client
    from prefect.deployments import run_deployment
    from prefect.states import Cancelling

    from blocks.vllm_server import VLLMServer

    (deployed / "miniature.json").write_text(json.dumps({"delay_s": 1.0}))
    block = VLLMServer.load(served())
    parameters = {
        "experiment": "cancelled",
        "cells": [cell_of(block, "cancelled", condition).to_row() for condition in ("baseline", "s", "e", "full")],
        "access": ModelAccess(revision=block.revision()).to_row(),
    }

    def begin():
        return run_deployment("cell/cell", parameters=parameters, job_variables=block.job_variables(), timeout=0)

    with worker(deployed, "gpu"):
        run = begin()
        wait_for(partial(reached, deployed, 1))
        (state,) = (deployed / "prefect" / "serving").glob("*.json")
        guard = json.loads(state.read_text())["process"]["pid"]
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(run.id, Cancelling(), force=True)
        assert finish(run).state.is_cancelled()
        wait_for(lambda: not session_members(guard), seconds=60)
        assert finish(begin()).state.is_completed()
    assert max(Counter(executed(deployed)).values()) <= 2
    assert len(list((deployed / "results" / "cancelled").iterdir())) == 4


def test_kills_of_flow_server_and_worker_leave_no_orphan_and_lose_nothing(deployed, served):
    from prefect.deployments import run_deployment

    from blocks.vllm_server import VLLMServer

    (deployed / "miniature.json").write_text(json.dumps({"delay_s": 0.5}))
    block = VLLMServer.load(served())
    parameters = {
        "experiment": "chaos",
        "cells": [cell_of(block, "chaos", condition).to_row() for condition in get_args(Condition)],
        "access": ModelAccess(revision=block.revision()).to_row(),
    }

    def begin():
        return run_deployment("cell/cell", parameters=parameters, job_variables=block.job_variables(), timeout=0)

    victims = []
    for kind in ("flow", "server", "worker"):
        with worker(deployed, "gpu") as gpu:
            goal = len(executed(deployed)) + 2
            begin()
            wait_for(partial(reached, deployed, goal))
            victims += kill(kind, deployed, gpu)
            time.sleep(2)
    with worker(deployed, "gpu"):
        run = finish(begin())
    assert run.state.is_completed(), run.state
    assert len(list((deployed / "results" / "chaos").iterdir())) == 12
    often = Counter(line for line in executed(deployed) if line.startswith("cell"))
    assert len(often) == 12
    assert sum(often.values()) <= 12 + 3, "only what was in flight at a kill may be done again"
    print(f"{sum(often.values())} cells executed for 12 rows, {len(victims)} servers killed or orphaned")
    wait_for(lambda: not [pid for pid in victims if session_members(pid)], seconds=60)
    assert not list((deployed / "prefect" / "serving").glob("*.json"))


def reached(home, goal) -> bool:
    return len(executed(home)) >= goal


def kill(kind, home, gpu) -> list[int]:
    """Kill one process; return the sessions that must be gone a minute later."""
    states = [json.loads(path.read_text()) for path in (home / "prefect" / "serving").glob("*.json")]
    guards = [state["process"]["pid"] for state in states]
    if kind == "worker":
        os.kill(gpu.pid, signal.SIGKILL)
    elif kind == "server":
        for guard in guards:
            for pid in session_members(guard):
                if pid != guard:
                    os.kill(pid, signal.SIGKILL)
    else:
        for line in subprocess.check_output(["ps", "-eo", "pid,args"], text=True).splitlines():
            pid, _, args = line.strip().partition(" ")
            if (
                "prefect" in args
                and ("flow_engine" in args or "prefect.engine" in args)
                and is_below(int(pid), gpu.pid)
            ):
                os.kill(int(pid), signal.SIGKILL)
    return guards


def is_below(pid, ancestor) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def test_a_new_release_starts_exactly_one_run_of_the_flow_library(deployed, monkeypatch):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId

    from flows import rediscover as module

    newest = {"numpy": "2.4.4", "scipy": "1.17.0"}
    monkeypatch.setattr(module, "newest_release", lambda name: newest[name])
    module.rediscover(libraries=["numpy", "scipy"])
    newest["numpy"] = "2.5.0"
    found = module.rediscover(libraries=["numpy", "scipy"])
    assert found.released == {"numpy": "2.5.0"}
    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("library/library")
        chosen = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
        wait_for(lambda: client.read_flow_runs(deployment_filter=chosen), seconds=60)
        time.sleep(3)
        (run,) = client.read_flow_runs(deployment_filter=chosen)
    assert [run.parameters[name] for name in ("library", "old", "new")] == ["numpy", "2.4.4", "2.5.0"]
    with worker(deployed, "cpu"):
        assert finish(run).state.is_completed()
    assert "stage4_filtered numpy" in executed(deployed)
