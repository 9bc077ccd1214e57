"""One hardened container of one environment, and the warm parents in it.

Its first process is `guest/keeper.py`. It connects to a socket in a folder that is bound into the container; from then
on every channel is made on the host and handed in as a descriptor, and that folder is gone.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novelapi.adapters import docker_daemon
from novelapi.execution import cgroups, sandbox, seccomp
from novelapi.execution.launcher import Parent, last_line
from novelapi.execution.limits import SampleLimits
from novelapi.execution.zygote import ZygoteError

if TYPE_CHECKING:
    from docker import DockerClient

CAPABILITIES = ("SETUID", "SETGID", "SETPCAP", "KILL")
"""What the warm parent needs to make a child another user and to end it; a child has none."""
PIDS = 256
"""Processes and threads in a container."""
SPARE_MB = 1024
"""Memory on top of a parent's: for a second one, which confirms a verdict in a fresh process."""
START_S = 60.0
_END_S = 20.0
_CONTROL = 3
_LIMITS = SampleLimits()


@dataclass(frozen=True, kw_only=True)
class Users:
    """User ids that only this process's containers use, so that limits per user hold per slot."""

    candidate: int
    server: int

    @classmethod
    def of(cls, pid: int, *, mapped: bool) -> Users:
        """Return the ids of a process.

        Args:
            pid: the process.
            mapped: whether the daemon gives containers a range of 65,536 users only.
        """
        first = 20_000 + 2 * (pid % 20_000) if mapped else 1_000_000_000 + 2 * pid
        return cls(candidate=first, server=first + 1)

    def for_guest(self) -> dict[str, Any]:
        """Return what `guest/zygote.py` is told: user and folder by role."""
        return {"candidate": [self.candidate, sandbox.SCRATCH], "server": [self.server, "/server"]}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a container is made of."""

    image: str
    parent: Parent
    """The first parent that will run in it."""
    users: Users
    system: bool
    """Whether the host's system libraries are bound (the image has none)."""

    @property
    def memory_mb(self) -> int:
        """Memory of the container in MB."""
        return self.parent.memory_mb + SPARE_MB

    def mounts(self, control: str) -> list[dict[str, Any]]:
        """Return the read-only binds: system, interpreter, environment, guest code, and the folder of the socket."""
        places = dict[str, str]()
        if self.system:
            places |= {path: path for path in sandbox.system_paths()[0]}
        else:
            places |= {path: path for path in (self.parent.env.base_prefix, self.parent.env.prefix)}
        places |= {place: source for source, place in sandbox.own_paths(self.parent.env, self.parent.extra_ro)}
        places["/control"] = control
        return [
            {"Type": "bind", "Source": source, "Target": place, "ReadOnly": True} for place, source in places.items()
        ]

    def options(self, control: str) -> dict[str, Any]:
        """Return the arguments of the SDK's `create`."""
        scratch = f"size={_LIMITS.scratch_mb << 20},nr_inodes={_LIMITS.inodes},nosuid,nodev"
        return {
            "image": self.image,
            "entrypoint": [self.parent.env.python, "-I", "-S", str(sandbox.GUEST / "keeper.py"), "/control/keeper"],
            "labels": {docker_daemon.LABEL: docker_daemon.owner(), "novelapi.env": self.parent.env.key},
            "hostname": "novelapi",
            "working_dir": "/",
            "user": "0:0",
            "network_mode": "none",
            "ipc_mode": "private",
            "read_only": True,
            "cap_drop": ["ALL"],
            "cap_add": list(CAPABILITIES),
            "security_opt": ["no-new-privileges:true"],
            "pids_limit": PIDS,
            "mem_limit": self.memory_mb << 20,
            "memswap_limit": self.memory_mb << 20,
            "tmpfs": {
                # The first process sets the modes: only members of the group enter the first two, nobody the last.
                sandbox.SCRATCH: f"{scratch},exec,uid=0,gid={self.users.candidate}",
                "/server": f"{scratch},exec,uid=0,gid={self.users.server}",
                "/dev/shm": f"{scratch},noexec",
                "/sys/fs/cgroup": "size=4k",
            },
            "mounts": self.mounts(control),
            "auto_remove": True,
        }


class Container:
    """A running container and the connection to its first process."""

    def __init__(self, client: DockerClient, plan: Plan) -> None:
        """Start it and wait for its first process.

        Raises:
            PrerequisiteError: the daemon refuses it.
            ZygoteError: it does not start.
        """
        self.client = client
        self.plan = plan
        self.ended: dict[int, int] = {}
        self._number = 0
        folder = Path(tempfile.mkdtemp(prefix="novelapi-docker-"))  # others of this host cannot enter it
        try:
            inner = folder / "control"
            inner.mkdir()
            inner.chmod(0o755)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(str(inner / "keeper"))
                (inner / "keeper").chmod(0o666)
                listener.listen(1)
                with docker_daemon.asking(f"the container of {plan.parent.env.key}"):
                    self._container = client.containers.create(**plan.options(str(inner)))
                    self._container.start()
                self.link = self._accept(listener)
        except BaseException:
            self._remove()
            raise
        finally:
            shutil.rmtree(folder)
        with docker_daemon.asking("looking at the container"):
            self._container.reload()
        self.group = cgroups.group_of(self._container.attrs["State"]["Pid"], str(self._container.id))

    def _accept(self, listener: socket.socket) -> socket.socket:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if select.select([listener], [], [], 0.5)[0]:
                link = listener.accept()[0]
                if select.select([link], [], [], START_S)[0] and link.recv(4096):
                    return link
                link.close()
                break
            if self._state() not in ("created", "running"):
                break
        raise ZygoteError(
            f"the container of {self.plan.parent.env.key} ended before it answered: its image "
            f"{self.plan.image} must hold the system libraries that {self.plan.parent.env.python} needs"
        )

    def _state(self) -> str:
        """Return the daemon's word for its state; empty when it is gone."""
        from docker.errors import NotFound  # noqa: PLC0415 - an extra

        with docker_daemon.asking("looking at the container"):
            try:
                self._container.reload()
            except NotFound:
                return ""
            return str(self._container.status)

    @property
    def alive(self) -> bool:
        """Whether its first process still answers."""
        self.pump(0.0)
        return self.link.fileno() >= 0

    def pump(self, patience_s: float) -> None:
        """Read what the first process says of its parents, waiting at most so many seconds for one message."""
        while self.link.fileno() >= 0 and select.select([self.link], [], [], patience_s)[0]:
            try:
                data = self.link.recv(4096)
            except OSError:
                data = b""
            if not data:
                self.link.close()
                return
            message = json.loads(data)
            self.ended[message["id"]] = message["status"]
            patience_s = 0.0

    def start(self, parent: Parent, control: socket.socket) -> ContainerParent:
        """Start a warm parent in it.

        Raises:
            ZygoteError: the container is dead.
            PrerequisiteError: libseccomp is missing.
        """
        self._number += 1
        variables = {**sandbox.BASE_ENVIRONMENT, "PYTHONHASHSEED": str(parent.hash_seed)}
        arguments = parent.arguments(
            _CONTROL, isolate=False, seccomp_program=seccomp.program(), users=self.plan.users.for_guest()
        )
        request: Mapping[str, Any] = {
            "op": "start", "id": self._number, "arguments": arguments, "variables": variables
        }  # fmt: skip
        read, write = os.pipe()
        try:
            fds = array.array("i", [control.fileno(), write])
            self.link.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except OSError as error:
            os.close(read)
            raise ZygoteError(f"the container of {parent.env.key} is dead: {error.strerror}") from error
        finally:
            os.close(write)
        return ContainerParent(self, self._number, read)

    def kill(self) -> None:
        """End it at once, with everything in it; where the daemon is silent it ends by its closed connection."""
        self.link.close()
        with contextlib.suppress(ZygoteError):
            self._remove()

    def close(self) -> None:
        """Hang up, upon which it ends and is removed; see to it that it is gone.

        Raises:
            ZygoteError: the daemon does not answer.
        """
        self.link.close()
        deadline = time.monotonic() + _END_S
        while self._state() and time.monotonic() < deadline:
            time.sleep(0.02)
        self._remove()

    def _remove(self) -> None:
        container = getattr(self, "_container", None)
        if container is not None:
            with docker_daemon.asking("removing the container"):
                docker_daemon.remove(self.client, str(container.id))


class ContainerParent:
    """A warm parent in a container."""

    def __init__(self, container: Container, number: int, output: int) -> None:
        """Wrap its number and the pipe of what it prints."""
        self.container = container
        self.number = number
        self.group: cgroups.Group = container.group
        self._output = output

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.container.alive and self.number not in self.container.ended

    def end(self, patience_s: float) -> None:
        """Wait for its end; else the container ends with everything in it."""
        deadline = time.monotonic() + patience_s
        while self.alive and time.monotonic() < deadline:
            self.container.pump(max(0.0, deadline - time.monotonic()))
        if self.alive:
            self.container.kill()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1

    def last_words(self) -> str:
        """End the container and return the last line that the parent printed."""
        self.container.kill()
        os.set_blocking(self._output, False)
        words = b""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and select.select([self._output], [], [], 1)[0]:
            chunk = os.read(self._output, 1 << 16)
            if not chunk:
                break
            words += chunk
        return last_line(words)

    def refusal(self, words: str) -> str | None:
        """Return the remedy where the daemon withholds a capability."""
        if "Operation not permitted" in words:
            return f"the Docker daemon withholds capabilities ({words}): it must allow {', '.join(CAPABILITIES)}"
        return None

    def record(self) -> dict[str, Any]:
        """Return what holds the executed code, and what is weaker than in bubblewrap."""
        plan = self.container.plan
        return {
            "sandbox": "docker",
            "image": plan.image,
            "user": plan.users.candidate,
            "server_user": plan.users.server,
            "cgroup": self.group.kind,
            "memory_mb": plan.memory_mb,
            "pids": PIDS,
            "seccomp": True,
            "namespaces": ["pid", "mount", "net", "ipc", "uts"],
            "namespaces_of": "container",
            "weaker": list(WEAKER),
        }


WEAKER = (
    "samples have no namespaces of their own: user ids tell them apart, and they see their container's process table",
    "scratch folders are emptied between samples, not mounted anew",
    "a child that goes on when its first process has ended is ended a moment later, and may answer in between",
    "memory is limited per container: a sample that takes it all is ended first, by its place in the kernel's queue",
)
"""For the manifest; docs/integrity.md has the same in full."""
