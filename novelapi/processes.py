"""Long-lived helper processes: their identity survives a reused process id, and they are stopped with all they started.

A pid alone says nothing after a reboot or a busy day; together with the time at which the kernel started the process it
names one process for ever. Linux only (`/proc`).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from novelapi.records.base import Record

POLL_S = 0.1
KILL_WAIT_S = 10.0


class ProcessIdentity(Record):
    """One process, distinguishable from any later one with the same number."""

    pid: int
    """Process id; the leader of its own session."""

    started: int
    """Start time in clock ticks since boot."""

    boot: str
    """Identity of the boot in which it was started."""


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a running process, or None if there is none (a zombie does not run)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in {"Z", "X"}:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ProcessIdentity(pid=pid, started=int(fields[19]), boot=boot)


def is_alive(identity: ProcessIdentity) -> bool:
    """Tell whether this very process still runs."""
    return identify(identity.pid) == identity


def session_members(leader: int) -> list[int]:
    """Return the running processes of a session, the leader included."""
    members: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in {"Z", "X"}:
            members.append(int(entry.name))
    return sorted(members)


def stop(identity: ProcessIdentity, grace_s: float = 10.0) -> bool:
    """Stop a session leader and everything in its session; return False if it did not run any more.

    First SIGTERM to the leader's group, after `grace_s` seconds SIGKILL to every member that is left.
    """
    alive = is_alive(identity)
    if not alive and identify(identity.pid) is not None:
        return False  # the number belongs to somebody else now
    if alive:
        _signal_group(identity.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while session_members(identity.pid) and time.monotonic() < deadline:
            _reap(identity.pid)
            time.sleep(POLL_S)
    _kill_session(identity.pid)
    return alive


def _signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return


def _kill_session(leader: int) -> None:
    """Send SIGKILL to every member and wait until the kernel has taken them down, which a busy machine delays."""
    deadline = time.monotonic() + KILL_WAIT_S
    while (members := session_members(leader)) and time.monotonic() < deadline:
        for pid in members:
            _kill(pid)
        _reap(leader)
        time.sleep(POLL_S / 10)
    _reap(leader)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap(pid: int) -> None:
    """Collect our own dead child, so that it does not stay as a zombie."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
