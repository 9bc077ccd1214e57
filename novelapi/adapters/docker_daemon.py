"""The daemon: how it is reached, what its faults mean, and what dead runs left on it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from novelapi.errors import PrerequisiteError
from novelapi.execution.zygote import ZygoteError

if TYPE_CHECKING:
    from docker import DockerClient

TIMEOUT_S = 60
"""Seconds that one request to the daemon may take."""
LABEL = "novelapi.owner"
"""Label of each of our containers: who started it."""
_INSTALL = "the Docker backend needs the package docker: run `pip install 'novelapi[docker]'`"
_START = "no Docker daemon answers ({reason}): start dockerd, or set DOCKER_HOST to one that runs on this machine"


def connect() -> DockerClient:
    """Return a client of the daemon that DOCKER_HOST (or the SDK's default) names.

    Raises:
        PrerequisiteError: the SDK is not installed, or no daemon answers.
    """
    try:
        import docker  # noqa: PLC0415 - an extra
        from docker.errors import DockerException  # noqa: PLC0415
    except ImportError as error:
        raise PrerequisiteError(_INSTALL) from error
    try:
        return docker.from_env(timeout=TIMEOUT_S)  # asks the daemon for its version
    except (DockerException, OSError) as error:
        raise PrerequisiteError(_START.format(reason=_cause(error))) from error


@contextmanager
def asking(action: str) -> Generator[None]:
    """Turn what the SDK raises while it does something into our errors.

    Raises:
        PrerequisiteError: the daemon understood and refused.
        ZygoteError: it did not answer.
    """
    from docker.errors import APIError, DockerException  # noqa: PLC0415 - an extra

    try:
        yield
    except APIError as error:
        reason = f"{action}: the Docker daemon refuses: {one_line(error.explanation or error)}"
        if error.is_client_error():
            raise PrerequisiteError(
                f"{reason}; the daemon must run on this machine, see its folders and allow the capabilities "
                "SETUID, SETGID, SETPCAP and KILL (docs/integrity.md)"
            ) from error
        raise ZygoteError(reason) from error
    except (DockerException, OSError) as error:
        raise ZygoteError(f"{action}: the Docker daemon does not answer: {one_line(error)}") from error


def owner() -> str:
    """Return what tells this process from all others of this machine, also after a restart of it."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def sweep(client: DockerClient) -> int:
    """Remove the containers whose owner on this machine is dead; return how many.

    Raises:
        ZygoteError: the daemon does not answer.
    """
    removed = 0
    with asking("removing containers of dead runs"):
        for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
            machine, pid, started = container.labels[LABEL].rsplit("/", 2)
            if machine == _machine() and _started(int(pid)) != started:
                remove(client, str(container.id))
                removed += 1
    return removed


def remove(client: DockerClient, name: str) -> None:
    """Remove a container, running or not; one that is gone, or just going, is fine.

    Raises:
        docker.errors.DockerException: the daemon does not answer.
    """
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - an extra

    try:
        client.api.remove_container(name, force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # the removal is in progress
            raise


def one_line(error: object) -> str:
    """Return what an error says, on one line of bounded length."""
    return " ".join(str(error).split())[:300]


def _cause(error: BaseException) -> str:
    """Return the innermost reason of a failed connection."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return one_line(error)


def _machine() -> str:
    """Return the boot and the process table that a pid belongs to."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def _started(pid: int) -> str:
    """Return the start time of a process in ticks since the boot; empty when there is none."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rsplit(") ", 1)[1].split()[19]
    except OSError:
        return ""
