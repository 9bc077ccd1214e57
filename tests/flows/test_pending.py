"""Runs that a worker took and never began: while the worker lives they wait, when it died they end."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import timedelta

import pytest
from at_work import cell_of, wait_for, worker

from novelapi.processes import session_members
from novelapi.records.request import ModelAccess

pytestmark = [pytest.mark.flows, pytest.mark.slow, pytest.mark.timeout(900)]

BEAT_S = 30
"""The shortest time between two heartbeats that Prefect allows."""

SILENCE_S = 3 * 15


@pytest.fixture
def impatient(deployed, monkeypatch):
    """The automations, with shorter times."""
    from deployments import apply

    monkeypatch.setattr(apply, "HEARTBEAT_S", SILENCE_S / 3)
    monkeypatch.setattr(apply, "PENDING_S", {"vllm": SILENCE_S})
    apply.apply_automations()
    yield deployed
    monkeypatch.undo()
    apply.apply_automations()


@pytest.fixture
def state_of():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        yield lambda run: client.read_flow_run(run.id).state


def begin(block, name):
    from prefect.deployments import run_deployment

    parameters = {
        "experiment": name,
        "cells": [cell_of(block, name, "full").to_row()],
        "access": ModelAccess(revision=block.revision()).to_row(),
    }
    return run_deployment("cell/cell", parameters=parameters, job_variables=block.job_variables(), timeout=0)


def test_a_run_that_waits_for_its_model_server_ends_when_its_worker_is_killed(impatient, served, state_of):
    from blocks.vllm_server import VLLMServer

    block = VLLMServer.load(served("mute", start_timeout_s=600))
    serving = impatient / "prefect" / "serving"
    with worker(impatient, "gpu", PREFECT_FLOWS_HEARTBEAT_FREQUENCY=str(BEAT_S)) as gpu:
        run = begin(block, "waiting")
        wait_for(lambda: list(serving.glob("*.json")))
        time.sleep(SILENCE_S + 30)
        assert state_of(run).is_pending(), "a server that starts slowly is no dead worker"
        (state,) = serving.glob("*.json")
        guard = json.loads(state.read_text())["process"]["pid"]
        os.kill(gpu.pid, signal.SIGKILL)
        gpu.wait()
        wait_for(lambda: state_of(run).is_final(), seconds=BEAT_S + SILENCE_S + 60)
    assert state_of(run).is_crashed()
    assert "Start the run again" in state_of(run).message
    wait_for(lambda: not session_members(guard), seconds=60)


def test_a_worker_that_is_stopped_while_its_model_server_starts_does_not_wait_for_it(impatient, served, state_of):
    from blocks.vllm_server import VLLMServer

    block = VLLMServer.load(served("mute", start_timeout_s=600))
    serving = impatient / "prefect" / "serving"
    with worker(impatient, "gpu", PREFECT_FLOWS_HEARTBEAT_FREQUENCY=str(BEAT_S)) as gpu:
        run = begin(block, "stopped")
        wait_for(lambda: list(serving.glob("*.json")))
        (state,) = serving.glob("*.json")
        guard = json.loads(state.read_text())["process"]["pid"]
        gpu.send_signal(signal.SIGTERM)
        began = time.monotonic()
        gpu.wait(timeout=55)
        print(f"ended after {time.monotonic() - began:.0f} s")
    assert not session_members(guard)
    wait_for(lambda: state_of(run).is_final(), seconds=BEAT_S + SILENCE_S + 60)


def test_a_run_that_a_worker_took_and_never_began_ends(impatient, served, state_of):
    from prefect.client.orchestration import get_client
    from prefect.states import Pending

    from blocks.vllm_server import VLLMServer

    run = begin(VLLMServer.load(served()), "never")
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, Pending())
    wait_for(lambda: state_of(run).is_final(), seconds=SILENCE_S + 60)
    assert (state_of(run).name, "the worker that took it died" in state_of(run).message) == ("Crashed", True)


def test_a_run_that_waits_for_its_place_is_left_alone(impatient, state_of):
    from prefect.client.orchestration import get_client
    from prefect.deployments import run_deployment
    from prefect.states import Pending, Scheduled

    run = run_deployment("report/report", timeout=0)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, Pending())
        client.set_flow_run_state(run.id, Scheduled(name="AwaitingConcurrencySlot"), force=True)
    time.sleep(SILENCE_S + 45)
    assert state_of(run).is_scheduled()


def test_a_run_is_given_more_time_where_an_image_must_be_fetched():
    from deployments.apply import stuck_runs

    assert stuck_runs("docker").trigger.within > timedelta(minutes=30) > stuck_runs("vllm").trigger.within
