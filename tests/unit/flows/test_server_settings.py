"""The environment of a shared server."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from flows.server_settings import main, server_environment
from novelapi.errors import UsageError
from novelapi.records.cell import Cell, Retrieval


def test_states_are_written_in_batches_and_nothing_calls_home():
    found = server_environment("postgresql://a:b@db/prefect")
    assert found["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == "postgresql+asyncpg://a:b@db/prefect"
    assert found["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE"] == "200"
    assert found["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert not [name for name in found if "REDIS" in name]


def test_redis_takes_over_everything_that_one_process_would_keep_in_memory():
    found = server_environment("postgresql://db/prefect", "redis://cache:6379/0")
    memory = (
        "MESSAGING_BROKER",
        "MESSAGING_CACHE",
        "SERVER_EVENTS_CAUSAL_ORDERING",
        "SERVER_CONCURRENCY_LEASE_STORAGE",
    )
    assert {found[f"PREFECT_{name}"].split(".")[0] for name in memory} == {"prefect_redis"}


@pytest.mark.parametrize("argv", [["sqlite:///x"], ["postgresql://db/x", "http://cache"], ["db"]])
def test_another_kind_of_address_is_refused_with_what_to_give(argv, capsys):
    with pytest.raises(UsageError, match="give "):
        server_environment(*argv)
    assert main(argv) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_lines_fit_into_a_service_file(capsys):
    assert main(["postgresql://db/prefect"]) == 0
    assert all("=" in line and " " not in line for line in capsys.readouterr().out.splitlines())


def test_prefect_accepts_every_value():
    ask = "from prefect.settings import get_current_settings as get; s = get().server; "
    ask += "print(s.events.retention_period.days, s.services.task_run_recorder.batch_size, s.api.max_parameter_size)"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | server_environment("postgresql://db/prefect")
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["30", "200", "8388608"], done.stderr[-1000:]


def test_the_cells_of_twenty_main_grids_fit_into_the_parameters_of_one_run():
    """Prefect's own limit, 512 KiB, ends at some 600 cells that retrieve."""
    cell = Cell(
        experiment="agent-tool-qwen2.5-coder-7b",
        group="agent_tool",
        model="qwen2.5-coder-7b",
        model_revision="Qwen/Qwen2.5-Coder-7B-Instruct@0123456789abcdef0123",
        condition="s_m_prose_m_code",
        delivery="rag_sft",
        instance_sha="a" * 64,
        bundles_sha="b" * 64,
        retrieval=Retrieval(index="lancedb", mode="hybrid", embedder="c" * 20),
        adapter_sha="d" * 64,
        split="test",
    )
    size = len(json.dumps({"cells": [cell.to_row()] * 680}, separators=(",", ":")))
    assert 512 * 1024 < size < int(server_environment("postgresql://db/x")["PREFECT_SERVER_API_MAX_PARAMETER_SIZE"])
