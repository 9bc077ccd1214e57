"""Signs of life of a flow run that still waits for its model server.

A process gives them once the flow runs. Until then nobody would, and the run of a worker that dies while a server
starts would stay Pending for ever: with them the automation `zombie-runs` ends it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Generator
from contextlib import contextmanager

from prefect.events import emit_event
from prefect.settings import get_current_settings

HEARTBEAT = "prefect.flow-run.heartbeat"
"""The event that a running flow emits, too."""


@contextmanager
def signs_of_life(flow_run: str) -> Generator[None]:
    """Emit a flow run's heartbeats, at once and then as often as a running flow does, while the body runs."""
    every = get_current_settings().flows.heartbeat_frequency
    if every is None:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.is_set():
            emit_event(event=HEARTBEAT, resource={"prefect.resource.id": f"prefect.flow-run.{flow_run}"})
            ended.wait(every)

    # The context knows the server's address: without it the event would start a server of its own.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(beat,), name="signs-of-life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
