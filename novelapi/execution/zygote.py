"""The host's handle of a warm parent in the sandbox."""

from __future__ import annotations

import array
import base64
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.execution import cgroups, sandbox, seccomp
from novelapi.execution.limits import SampleLimits
from novelapi.execution.session import Session
from novelapi.records.environment import Environment

_numbers = itertools.count(1)
GROUP_PREFIX = "novelapi"
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
    ) -> None:
        """Start the parent and wait until its imports are done.

        Args:
            env: the environment whose interpreter it is.
            preload: modules to import before the first child; an import that fails is left to the samples.
            isolate: False runs without any sandbox (the flag --unsafe).
            hash_seed: PYTHONHASHSEED.
            memory_mb: memory of the slot in MB.
            extra_ro: more paths to show inside, read-only.

        Raises:
            PrerequisiteError: bubblewrap or libseccomp is missing, or the host refuses namespaces.
            ZygoteError: it died while it started.
        """
        self.env = env
        self.preload = tuple(preload)
        self.isolate = isolate
        self.served = 0
        self.sessions: dict[int, Session] = {}
        self.group = cgroups.make_group(f"{GROUP_PREFIX}-{os.getpid()}-{next(_numbers)}", memory_mb << 20, 256)
        self._oom = 0
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        installed = (
            env.prefix != env.base_prefix
        )  # `library: "python"` is the standard library, whatever lies beside it
        config = {
            "preload": list(preload),
            "isolate": isolate,
            "site": installed,
            "seccomp": base64.b64encode(seccomp.program()).decode() if isolate else None,
        }
        flags = ["-s"] if installed else ["-s", "-S"]
        arguments = [env.python, *flags, str(sandbox.GUEST / "zygote.py"), str(theirs.fileno()), json.dumps(config)]
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "pass_fds": [theirs.fileno()],
            "start_new_session": True,
            "preexec_fn": lambda: self.group.add(os.getpid()),
        }
        try:
            if isolate:
                box = sandbox.Box(env=env, hash_seed=hash_seed, keep_caps=True, extra_ro=extra_ro)
                self.process = sandbox.start(box, arguments, **options)
            else:
                variables = {
                    **sandbox.BASE_ENVIRONMENT,
                    "PYTHONHASHSEED": str(hash_seed),
                    "HOME": "/tmp",
                    "TMPDIR": "/tmp",
                }
                self.process = subprocess.Popen(arguments, env=variables, **options)
        except BaseException:
            self.control.close()
            self.group.close()
            raise
        finally:
            theirs.close()
        self.info = self._wait_ready()
        self._rss_kb: int = self.info["rss_kb"]

    def _wait_ready(self) -> dict[str, Any]:
        ready, _, _ = select.select([self.control], [], [], START_S)
        message = self._read_control() if ready else None
        if message is not None:
            return message
        self.process.kill()
        output = b""
        if self.process.stdout is not None:
            output = self.process.stdout.read()
        text = output.decode("utf-8", "replace").strip().splitlines()
        last = text[-1] if text else f"no answer within {START_S:.0f} s"
        self.close()
        if not os.path.exists(self.env.python):
            raise ZygoteError(f"the environment {self.env.key} is gone: run `novelapi env check`, then again")
        if "bwrap" in last or "unshare" in last or "Operation not permitted" in last:
            raise PrerequisiteError(
                f"this host refuses the sandbox ({last}): run `novelapi doctor`; user namespaces must be allowed"
            )
        raise ZygoteError(f"the warm parent of {self.env.key} did not start: {last}; run `novelapi env check`")

    # Children

    def fork(self, limits: SampleLimits, apis: Sequence[str] = ()) -> Session:
        """Start one child and return its conversation.

        Args:
            limits: what the child may use.
            apis: targets that the parent looks up (once) before it forks; a parent that imported nothing leaves that
                to the child.

        Raises:
            ZygoteError: the parent is dead.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        output = os.memfd_create("output", os.MFD_CLOEXEC)
        number = next(_numbers)
        request = json.dumps(
            {"op": "fork", "id": number, "limits": limits.for_guest(), "apis": list(apis) if self.preload else []}
        ).encode()
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
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.group.close()

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
        return self.process.poll() is None


def isolation_record(zygote: Zygote) -> dict[str, Any]:
    """Return what held the executed code, for the manifest."""
    if not zygote.isolate:
        return {"sandbox": "none (--unsafe)", "cgroup": zygote.group.kind, "seccomp": False}
    return {
        "sandbox": "bubblewrap",
        "user": sandbox.NOBODY if os.geteuid() == 0 else os.geteuid(),
        "cgroup": zygote.group.kind,
        "seccomp": True,
        "namespaces": ["user", "pid", "mount", "net", "ipc", "uts"],
        "host_python": sys.version.split()[0],
    }
