"""The Prefect server that runs use: the one PREFECT_API_URL names, or a local one that is started here and kept.

Imports no Prefect, so that the server's start overlaps with the import of Prefect in the process that asked for it.
`python -m flows.server start | status | stop` does by hand what the verbs do by themselves.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.jsonl import write_text
from novelapi.layout import Layout
from novelapi.processes import ProcessIdentity, identify, is_alive, stop
from novelapi.records.base import Record
from novelapi.settings import load_settings

START_TIMEOUT_S = 240.0
POLL_S = 0.1
ANSWER_TIMEOUT_S = 5.0
CONFIGURED_TIMEOUT_S = 30.0
"""A server that was configured may be busy with others; one that is not there refuses at once."""

QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
}
"""Nothing calls home, nothing advertises, and no temporary server starts behind our back."""

CAPACITY = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_API_MAX_PARAMETER_SIZE": "8388608",
}
"""What our servers need (docs/operations.md): task run states are written in batches, since one by one the recorder
falls behind and drops them; and the cells of a large grid are parameters of a flow run, more than half a megabyte."""


class LocalServer(Record):
    """A local server that was started."""

    process: ProcessIdentity
    """The session leader to stop."""

    url: str
    """Address of its API, with `/api`."""

    home: str | None = None
    """Folder that it keeps its records in; a file found in a copy of that folder names another home's server."""

    @property
    def port(self) -> int:
        """Port on the loopback interface."""
        return int(self.url.rsplit(":", 1)[1].split("/")[0])


def start() -> str:
    """Make sure that a server runs or starts, set Prefect's environment for this process, and return the API's address.

    Does not wait: call `wait` before the first request, after the imports.
    """
    settings = load_settings()
    layout = Layout(settings.home_dir)
    os.environ.update(QUIET)
    if settings.prefect_api_url:
        return settings.prefect_api_url
    os.environ.update(CAPACITY)
    os.environ["PREFECT_HOME"] = str(layout.prefect)
    with _exclusive(layout):
        server = running(layout) or _spawn(layout)
    os.environ["PREFECT_API_URL"] = server.url
    return server.url


def wait(url: str) -> None:
    """Wait until the server answers.

    Raises:
        PrerequisiteError: it ended, or did not answer in time.
    """
    layout = Layout(load_settings().home_dir)
    deadline = time.monotonic() + START_TIMEOUT_S
    configured = bool(load_settings().prefect_api_url)
    while not answers(url, CONFIGURED_TIMEOUT_S if configured else ANSWER_TIMEOUT_S):
        server = running(layout)
        if configured:
            raise PrerequisiteError(
                f"no Prefect server answers at {url}: start it, or unset PREFECT_API_URL to use a local one"
            )
        if server is None or time.monotonic() > deadline:
            raise PrerequisiteError(
                f"the local Prefect server {'ended' if server is None else 'does not answer'}: "
                f"read {layout.server_log}, then run `python -m flows.server stop` and try again"
            )
        time.sleep(POLL_S)


def answers(url: str, timeout_s: float = ANSWER_TIMEOUT_S) -> bool:
    """Tell whether a Prefect API answers at an address within some seconds; one that refuses is not waited for."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=timeout_s) as response:  # noqa: S310 - http(s) by setting
            return response.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False


def running(layout: Layout) -> LocalServer | None:
    """Return the local server that runs, or None."""
    server = _last(layout)
    return server if server and is_alive(server.process) else None


def stop_local(layout: Layout) -> bool:
    """Stop the local server with its children; return False if none ran."""
    with _exclusive(layout):
        server = _last(layout)
        return server is not None and stop(server.process)


def _last(layout: Layout) -> LocalServer | None:
    """Return the server that was started last for this home, whether it runs or not."""
    try:
        found = LocalServer.model_validate_json(layout.server_state.read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.home in {None, _home(layout)} else None


def _home(layout: Layout) -> str:
    return str(layout.prefect.resolve())


def _spawn(layout: Layout) -> LocalServer:
    """Start a server in its own session with its own log; the environment of this process is already set."""
    last = _last(layout)
    port = _free_port(last.port if last else 0)
    url = f"http://127.0.0.1:{port}/api"
    database = f"sqlite+aiosqlite:///{layout.server_database}"
    os.environ["PREFECT_SERVER_UI_API_URL"] = url
    os.environ["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with layout.server_log.open("ab") as log:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=_checkout()
        )
    process = identify(child.pid)
    if process is None:
        raise PrerequisiteError(f"the local Prefect server ended at once: read {layout.server_log}")
    server = LocalServer(process=process, url=url, home=_home(layout))
    try:
        write_text(layout.server_state, server.model_dump_json() + "\n")
    except NovelApiError:
        stop(process)  # nobody would find it again
        raise
    return server


def _checkout() -> Path:
    """Return the folder that the project's modules are imported from."""
    return Path(__file__).resolve().parent.parent


def _free_port(preferred: int) -> int:
    """Return a free loopback port, the preferred one if it is free, so that addresses stay valid over restarts."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise PrerequisiteError("no free port on 127.0.0.1: stop a service, or set PREFECT_API_URL")


@contextmanager
def _exclusive(layout: Layout) -> Iterator[None]:
    """Hold off other processes that start or stop the server."""
    layout.prefect.mkdir(parents=True, exist_ok=True)
    with layout.server_state.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(argv: list[str]) -> int:
    """Start, stop or show the local server from a shell; return the exit code."""
    layout = Layout(load_settings().home_dir)
    verb = argv[0] if argv else ""
    if verb == "start":
        url = start()
        wait(url)
        sys.stdout.write(f"{url}\n")
    elif verb == "stop":
        sys.stdout.write("stopped\n" if stop_local(layout) else "no local Prefect server runs\n")
    elif verb == "status":
        server = running(layout)
        sys.stdout.write(
            f"{server.url} (process {server.process.pid})\n" if server else "no local Prefect server runs\n"
        )
    else:
        sys.stderr.write("usage: python -m flows.server start | status | stop\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
