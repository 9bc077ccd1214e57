"""A flow process and the worker that started it, as processes; no server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from novelapi.processes import identify

CHECKOUT = Path(__file__).parents[3]
FLOW = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True) or DEAF or sys.exit())
from flows import _orphans
_orphans.POLL_S = 0.05
_orphans.GRACE_S = 0.5
print(_orphans.end_with_worker(), flush=True)
while True:
    time.sleep(0.05)
"""
WORKER = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
print(child.pid, flush=True)
time.sleep(600)
"""


def start(flow, **names):
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, flow],
        cwd=CHECKOUT, env={**os.environ, **names}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    pid = int(worker.stdout.readline())
    watching = worker.stdout.readline().strip() == "True"
    return worker, pid, watching


def gone(pid, seconds):
    deadline = time.monotonic() + seconds
    while identify(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return identify(pid) is None


def kill(worker):
    worker.send_signal(signal.SIGKILL)
    worker.wait()


def test_a_flow_process_is_told_to_end_when_its_worker_is_killed():
    worker, pid, watching = start(FLOW.replace("DEAF", "False"), PREFECT__FLOW_RUN_ID="x")
    assert watching
    assert not gone(pid, 0.5)
    kill(worker)
    assert gone(pid, 20)
    with worker.stdout:
        assert worker.stdout.read().strip() == "told"


def test_one_that_does_not_listen_is_killed():
    worker, pid, _ = start(FLOW.replace("DEAF", "True"), PREFECT__FLOW_RUN_ID="x")
    kill(worker)
    assert gone(pid, 20)
    worker.stdout.close()


def test_a_process_that_no_worker_started_outlives_its_parent():
    worker, pid, watching = start(FLOW.replace("DEAF", "False"))
    kill(worker)
    assert (watching, gone(pid, 1)) == (False, False)
    os.kill(pid, signal.SIGKILL)
    worker.stdout.close()
