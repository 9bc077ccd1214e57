"""Where a warm parent runs: what a backend has to offer, and the local one (bubblewrap, or nothing with --unsafe)."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from novelapi.execution import cgroups, sandbox, seccomp
from novelapi.records.environment import Environment

GROUP_PREFIX = "novelapi"
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Parent:
    """A warm parent to start."""

    env: Environment
    """The environment whose interpreter it is."""
    preload: tuple[str, ...] = ()
    """Modules that it imports before its first child."""
    hash_seed: int = 0
    """PYTHONHASHSEED."""
    memory_mb: int = 3072
    """Memory of it and its children in MB."""
    extra_ro: tuple[Any, ...] = ()
    """More paths to show inside, read-only."""

    def arguments(self, fd: int, *, isolate: bool, seccomp_program: bytes | None, **more: Any) -> list[str]:
        """Return the command line of the guest.

        Args:
            fd: number of its control socket, in the process itself.
            isolate: whether each child gets namespaces of its own.
            seccomp_program: system-call filter of the children; null for none.
            more: further settings of the guest (see `guest/zygote.py`).
        """
        # `library: "python"` is the standard library, whatever lies beside it
        installed = self.env.prefix != self.env.base_prefix
        config = {
            "preload": list(self.preload),
            "isolate": isolate,
            "site": installed,
            "seccomp": base64.b64encode(seccomp_program).decode() if seccomp_program is not None else None,
            **more,
        }
        flags = ["-s"] if installed else ["-s", "-S"]
        return [self.env.python, *flags, str(sandbox.GUEST / "zygote.py"), str(fd), json.dumps(config)]


class Started(Protocol):
    """A warm parent that was started."""

    group: cgroups.Group
    """Accounting of it and its children."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        ...

    def end(self, patience_s: float) -> None:
        """Wait for it to end by itself, then kill it and everything below it; free what belongs to it."""
        ...

    def last_words(self) -> str:
        """Kill it and return the last line that it printed, or an empty string."""
        ...

    def refusal(self, words: str) -> str | None:
        """Return the remedy if its last words mean that the host refuses the sandbox, else null."""
        ...

    def record(self) -> dict[str, Any]:
        """Return what holds the executed code, for the manifest."""
        ...


class Launcher(Protocol):
    """Starts warm parents for one slot."""

    def start(self, parent: Parent, control: socket.socket) -> Started:
        """Start a parent on its end of the control socket.

        Raises:
            PrerequisiteError: something has to be installed, started or allowed.
            ZygoteError: the infrastructure failed.
        """
        ...

    def close(self) -> None:
        """Free what the launcher holds; its parents have ended."""
        ...


class Backend(Protocol):
    """Says how slots run code; it crosses to worker processes, so it can be pickled."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    def check(self) -> None:
        """See that all it needs is there, before anything is run or written.

        Raises:
            PrerequisiteError: something has to be installed, started or allowed.
        """
        ...

    def open(self) -> Launcher:
        """Return a launcher for one slot.

        Raises:
            PrerequisiteError: something has to be installed, started or allowed.
        """
        ...


class LocalLauncher:
    """Starts parents on this host: in bubblewrap, or as plain processes."""

    def __init__(self, *, isolate: bool = True) -> None:
        """Set whether anything holds the code (False only with --unsafe)."""
        self.isolate = isolate

    def start(self, parent: Parent, control: socket.socket) -> LocalParent:
        """Start a parent.

        Raises:
            PrerequisiteError: bubblewrap or libseccomp is missing.
        """
        group = cgroups.make_group(f"{GROUP_PREFIX}-{os.getpid()}-{next(_numbers)}", parent.memory_mb << 20, 256)
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "pass_fds": [control.fileno()],
            "start_new_session": True,
            "preexec_fn": lambda: group.add(os.getpid()),
        }
        try:
            return LocalParent(self._start(parent, control.fileno(), options), group, isolate=self.isolate)
        except BaseException:
            group.close()
            raise

    def _start(self, parent: Parent, fd: int, options: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        if self.isolate:
            arguments = parent.arguments(fd, isolate=True, seccomp_program=seccomp.program())
            box = sandbox.Box(env=parent.env, hash_seed=parent.hash_seed, keep_caps=True, extra_ro=parent.extra_ro)
            return sandbox.start(box, arguments, **options)
        arguments = parent.arguments(fd, isolate=False, seccomp_program=None)
        variables = {
            **sandbox.BASE_ENVIRONMENT,
            "PYTHONHASHSEED": str(parent.hash_seed),
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
        }
        return cast("subprocess.Popen[bytes]", subprocess.Popen(arguments, env=variables, **options))

    def close(self) -> None:
        """Do nothing: parents free what they hold."""


class LocalParent:
    """A parent on this host."""

    def __init__(self, process: subprocess.Popen[bytes], group: cgroups.Group, *, isolate: bool) -> None:
        """Wrap the process and its group."""
        self.process = process
        self.group = group
        self.isolate = isolate

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self, patience_s: float) -> None:
        """Wait for its end, then kill its session."""
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.group.close()

    def last_words(self) -> str:
        """Kill it and return the last line that it printed."""
        self.process.kill()
        return last_line(self.process.stdout.read() if self.process.stdout is not None else b"")

    def refusal(self, words: str) -> str | None:
        """Return the remedy where namespaces are refused."""
        if any(sign in words for sign in ("bwrap", "unshare", "Operation not permitted")):
            return f"this host refuses the sandbox ({words}): run `novelapi doctor`; user namespaces must be allowed"
        return None

    def record(self) -> dict[str, Any]:
        """Return what holds the executed code."""
        if not self.isolate:
            return {"sandbox": "none (--unsafe)", "cgroup": self.group.kind, "seccomp": False}
        return {
            "sandbox": "bubblewrap",
            "user": sandbox.NOBODY if os.geteuid() == 0 else os.geteuid(),
            "cgroup": self.group.kind,
            "seccomp": True,
            "namespaces": ["user", "pid", "mount", "net", "ipc", "uts"],
            "host_python": sys.version.split()[0],
        }


def last_line(output: bytes) -> str:
    """Return the last line of what was printed."""
    lines: Sequence[str] = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
