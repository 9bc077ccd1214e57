"""A flow process ends with the worker that started it; Prefect lets it go on when the worker is killed.

It would work unseen beside the run that takes its place, on a model server that died with the worker. Imports no
Prefect.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from novelapi.settings import load_settings

POLL_S = 2.0
GRACE_S = 30.0
"""Seconds that Prefect has to report the end, after SIGTERM, before the process is killed."""


def end_with_worker() -> bool:
    """Watch the process that started this one, if this one runs a flow for a worker; tell whether it does."""
    if load_settings().worker_flow_run is None:
        return False
    threading.Thread(target=_watch, args=(os.getppid(),), name="worker-watch", daemon=True).start()
    return True


def _watch(worker: int) -> None:
    while os.getppid() == worker:
        time.sleep(POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
