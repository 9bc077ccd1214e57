"""The host's handle of a warm parent in the sandbox."""

from __future__ import annotations

import array
import contextlib
import itertools
import json
import os
import select
import socket
import time
from collections.abc import Sequence
from typing import Any, Literal

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.execution.launcher import Launcher, LocalLauncher, Parent
from novelapi.execution.limits import SampleLimits
from novelapi.execution.session import Session
from novelapi.records.environment import Environment

_numbers = itertools.count(1)
Role = Literal["candidate", "server"]
START_S = 120.0


class ZygoteError(NovelApiError):
    """The warm parent did not start or died: a fault of the infrastructure, never of a completion."""


class Zygote:
    """One warm parent: imports once, forks a child per session."""

    def __init__(
        self,
        env: Environment,
        preload: Sequence[str] = (),
        *,
        isolate: bool = True,
        hash_seed: int = 0,
        memory_mb: int = 3072,
        extra_ro: Sequence[Any] = (),
        launcher: Launcher | None = None,
    ) -> None:
        """Start the parent and wait until its imports are done.

        Args:
            env: the environment whose interpreter it is.
            preload: modules to import before the first child; an import that fails is left to the samples.
            isolate: False runs without any sandbox (the flag --unsafe).
            hash_seed: PYTHONHASHSEED.
            memory_mb: memory of the slot in MB.
            extra_ro: more paths to show inside, read-only.
            launcher: where it runs; null for this host, in bubblewrap unless `isolate` is false.

        Raises:
            PrerequisiteError: what holds the code is missing, or the host refuses it.
            ZygoteError: it died while it started.
        """
        self.env = env
        self.preload = tuple(preload)
        self.served = 0
        self.sessions: dict[int, Session] = {}
        self._oom = 0
        parent = Parent(
            env=env, preload=self.preload, hash_seed=hash_seed, memory_mb=memory_mb, extra_ro=tuple(extra_ro)
        )
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.started = (launcher or LocalLauncher(isolate=isolate)).start(parent, theirs)
        except BaseException:
            self.control.close()
            raise
        finally:
            theirs.close()
        self.group = self.started.group
        self.info = self._wait_ready()
        self._rss_kb: int = self.info["rss_kb"]

    def _wait_ready(self) -> dict[str, Any]:
        ready, _, _ = select.select([self.control], [], [], START_S)
        message = self._read_control() if ready else None
        if message is not None:
            return message
        last = self.started.last_words() or f"no answer within {START_S:.0f} s"
        remedy = self.started.refusal(last)
        self.close()
        if not os.path.exists(self.env.python):
            raise ZygoteError(f"the environment {self.env.key} is gone: run `novelapi env check`, then again")
        if remedy is not None:
            raise PrerequisiteError(remedy)
        raise ZygoteError(f"the warm parent of {self.env.key} did not start: {last}; run `novelapi env check`")

    # Children

    def fork(self, limits: SampleLimits, apis: Sequence[str] = (), role: Role = "candidate") -> Session:
        """Start one child and return its conversation.

        Args:
            limits: what the child may use.
            apis: targets that the parent looks up (once) before it forks; a parent that imported nothing leaves that
                to the child.
            role: what the child will be; it decides the user it runs as, where users tell samples apart.

        Raises:
            ZygoteError: the parent is dead.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        output = os.memfd_create("output", os.MFD_CLOEXEC)
        number = next(_numbers)
        request = json.dumps(
            {"op": "fork", "id": number, "limits": limits.for_guest(), "role": role,
             "apis": list(apis) if self.preload else []}
        ).encode()  # fmt: skip
        fds = array.array("i", [theirs.fileno(), output])
        try:
            self.control.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except OSError as error:
            ours.close()
            os.close(output)
            raise ZygoteError(f"the warm parent of {self.env.key} is dead: {error.strerror}") from error
        finally:
            theirs.close()
        session = Session(self, number, ours, output, limits)
        self.sessions[number] = session
        self.served += 1
        return session

    def kill(self, session: Session) -> None:
        """Kill a child and everything in its namespaces."""
        with contextlib.suppress(OSError):
            self.control.send(json.dumps({"op": "kill", "id": session.number}).encode())

    def pump(self) -> None:
        """Read one message of the parent: the end of a child.

        Raises:
            ZygoteError: the parent is dead.
        """
        message = self._read_control()
        if message is None:
            raise ZygoteError(f"the warm parent of {self.env.key} died")
        self._rss_kb = message["rss_kb"]
        session = self.sessions.pop(message["id"], None)
        if session is not None:
            session.ended = message

    def wait_for_end(self, session: Session, patience_s: float) -> None:
        """Wait until the parent has reaped the child."""
        deadline = time.monotonic() + patience_s
        while session.ended is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            ready, _, _ = select.select([self.control], [], [], left)
            if ready:
                self.pump()

    def oom_killed(self) -> bool:
        """Whether the kernel killed a process of the slot for memory since the last question."""
        count = self.group.oom_kills()
        changed, self._oom = count > self._oom, count
        return changed

    def _read_control(self) -> dict[str, Any] | None:
        try:
            data = self.control.recv(1 << 20)
        except OSError:
            return None
        return json.loads(data) if data else None

    def close(self) -> None:
        """End the parent and all its children, remove the group."""
        self.control.close()
        for session in list(self.sessions.values()):
            session.ended = session.ended or {"signal": 9, "status": None, "cpu_ms": 0.0, "peak_kb": 0}
        self.started.end(5)

    @property
    def import_cpu_ms(self) -> float:
        """CPU milliseconds of its start and imports."""
        return float(self.info["cpu_ms"])

    @property
    def modules(self) -> frozenset[str]:
        """Names of the modules that its children find imported."""
        return frozenset(self.info["modules"])

    @property
    def grown(self) -> bool:
        """Whether it has grown by half since its start, so that it should be replaced."""
        return self._rss_kb > 1.5 * self.info["rss_kb"] + 20_000

    @property
    def alive(self) -> bool:
        """Whether the parent still runs."""
        return self.started.alive


def isolation_record(zygote: Zygote) -> dict[str, Any]:
    """Return what held the executed code, for the manifest."""
    return zygote.started.record()
