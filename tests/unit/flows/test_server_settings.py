"""The environment of a shared server."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from flows.server_settings import main, server_environment
from novelapi.errors import UsageError


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
    ask += "print(s.events.retention_period.days, s.services.task_run_recorder.batch_size)"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | server_environment("postgresql://db/prefect")
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["30", "200"], done.stderr[-1000:]
