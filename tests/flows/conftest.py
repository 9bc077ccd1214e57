"""One Prefect server per test session, a run folder and a miniature core per test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import miniature
from at_work import CHECKOUT, FAKE_VLLM, environment

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's background job: no worker could be stopped
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def prefect_server():
    """A server of this session's own; its start takes most of the time of these tests."""
    from flows.server import CAPACITY, QUIET

    os.environ.update(QUIET | CAPACITY)
    os.environ["PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"] = "true"
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    with (
        prefect_test_harness(server_startup_timeout=240),
        temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}),
    ):
        yield  # without heartbeats, whose thread holds up the end of each flow run for up to a second


@pytest.fixture
def home(tmp_path, monkeypatch, prefect_server):
    """A run folder of this test's own, in which the miniature core works."""
    from novelapi.settings import load_settings

    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path))
    load_settings.cache_clear()
    forget_models()
    miniature.install(monkeypatch.setattr)
    for task in stage_tasks():
        monkeypatch.setattr(task, "result_storage", tmp_path / "prefect" / "results")
        monkeypatch.setattr(task, "retry_delay_seconds", [0.0])
    yield tmp_path
    load_settings.cache_clear()
    forget_models()


@pytest.fixture
def deployed(home, tmp_path):
    """The project's pools, blocks and deployments on the session's server, with the miniature core."""
    from deployments.apply import apply, apply_automations

    apply()
    folder = tmp_path / "checkout"
    folder.mkdir()
    text = (CHECKOUT / "prefect.yaml").read_text()
    (folder / "prefect.yaml").write_text(re.sub(r"flows\.\w+\.(\w+)", r"mini_flows.\1", text))
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment(home), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    apply_automations()
    return home


@pytest.fixture
def served(home, tmp_path):
    """A saved server description whose program stands in for vLLM."""
    from blocks.vllm_server import VLLMServer

    program = tmp_path / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE_VLLM} "$@"\n')
    program.chmod(0o755)

    def save(model="tiny", start_timeout_s=60):
        name = f"server-{model}"
        block = VLLMServer(model=model, served_name="tiny-model", program=str(program), start_timeout_s=start_timeout_s)
        block.save(name, overwrite=True)
        return name

    return save


def forget_models() -> None:
    """Close the models that this process has open: another test's are not this one's."""
    from tasks import inference

    inference._opened.cache_clear()
    inference._strong.cache_clear()


@pytest.fixture
def wish(home):
    """Sets how the miniature core behaves."""

    def write(**options):
        (home / "miniature.json").write_text(json.dumps(options))

    return write


def stage_tasks():
    from tasks import discovery, evaluation, filters, generation, knowledge, reporting

    return [
        discovery.discovery,
        knowledge.knowledge,
        generation.generation,
        filters.filters,
        filters.instance,
        evaluation.cell,
        reporting.report,
    ]
