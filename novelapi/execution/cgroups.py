"""Memory, process and CPU accounting per slot: cgroup v1, v2, or none (resource limits only), behind one interface."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Protocol

_ROOT = Path("/sys/fs/cgroup")


class Group(Protocol):
    """The accounting of one slot's processes."""

    kind: str
    """`v1`, `v2` or `none`, for the manifest."""

    def add(self, pid: int) -> None:
        """Put a process (and so its future children) into the group."""
        ...

    def cpu_ms(self) -> float | None:
        """Return the CPU milliseconds that the group has used since it was made; null without accounting."""
        ...

    def reset_peak(self) -> None:
        """Start a new measurement of the peak, where the kernel can."""
        ...

    def peak_kb(self) -> int | None:
        """Return the largest memory use in kB since the last reset."""
        ...

    def used_bytes(self) -> int | None:
        """Return the memory in use now."""
        ...

    def oom_kills(self) -> int:
        """Return how many processes the kernel killed for memory."""
        ...

    def close(self) -> None:
        """Remove the group."""
        ...


class NoGroup:
    """No write access to cgroups: resource limits alone hold the processes."""

    kind = "none"

    def add(self, pid: int) -> None:
        """Do nothing."""

    def cpu_ms(self) -> float | None:
        """Return null."""
        return None

    def reset_peak(self) -> None:
        """Do nothing."""

    def peak_kb(self) -> int | None:
        """Return null."""
        return None

    def used_bytes(self) -> int | None:
        """Return null."""
        return None

    def oom_kills(self) -> int:
        """Return 0."""
        return 0

    def close(self) -> None:
        """Do nothing."""


class V1:
    """Three hierarchies of cgroup v1: memory, pids, cpuacct."""

    kind = "v1"

    def __init__(self, name: str, memory_bytes: int, processes: int) -> None:
        """Make the groups.

        Raises:
            OSError: a hierarchy is missing or not writable.
        """
        self.paths = {kind: _ROOT / kind / name for kind in ("memory", "pids", "cpuacct")}
        made: list[Path] = []
        try:
            for path in self.paths.values():
                path.mkdir()
                made.append(path)
            _write(self.paths["memory"] / "memory.limit_in_bytes", memory_bytes)
            with contextlib.suppress(OSError):  # swap accounting may be off
                _write(self.paths["memory"] / "memory.memsw.limit_in_bytes", memory_bytes)
            _write(self.paths["pids"] / "pids.max", processes)
        except OSError:
            for path in made:
                path.rmdir()
            raise

    @classmethod
    def of(cls, paths: dict[str, Path]) -> V1:
        """Return the accounting of groups that are there already."""
        found = cls.__new__(cls)
        found.paths = paths
        return found

    def add(self, pid: int) -> None:
        """Put a process into all three."""
        for path in self.paths.values():
            _write(path / "cgroup.procs", pid)

    def cpu_ms(self) -> float | None:
        """Read cpuacct.usage (nanoseconds)."""
        return int(_read(f"{self.paths['cpuacct']}/cpuacct.usage")) / 1e6

    def reset_peak(self) -> None:
        """Write to memory.max_usage_in_bytes."""
        _write(f"{self.paths['memory']}/memory.max_usage_in_bytes", 0)

    def peak_kb(self) -> int | None:
        """Read memory.max_usage_in_bytes."""
        return int(_read(f"{self.paths['memory']}/memory.max_usage_in_bytes")) // 1024

    def used_bytes(self) -> int | None:
        """Read memory.usage_in_bytes."""
        return int((self.paths["memory"] / "memory.usage_in_bytes").read_text())

    def oom_kills(self) -> int:
        """Read memory.oom_control."""
        for line in (self.paths["memory"] / "memory.oom_control").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def close(self) -> None:
        """Remove the groups; their processes are dead by now."""
        for path in self.paths.values():
            _remove(path)


class V2:
    """One group of cgroup v2 below the process's own (delegated) group."""

    kind = "v2"

    def __init__(self, parent: Path, name: str, memory_bytes: int, processes: int) -> None:
        """Make the group.

        Raises:
            OSError: the parent is not writable or does not hand the controllers down.
        """
        self.path = parent / name
        self.path.mkdir()
        try:
            _write(self.path / "memory.max", memory_bytes)
            _write(self.path / "pids.max", processes)
            with contextlib.suppress(OSError):
                _write(self.path / "memory.swap.max", 0)
        except OSError:
            self.path.rmdir()
            raise

    @classmethod
    def of(cls, path: Path) -> V2:
        """Return the accounting of a group that is there already."""
        found = cls.__new__(cls)
        found.path = path
        return found

    def add(self, pid: int) -> None:
        """Put a process into the group."""
        _write(self.path / "cgroup.procs", pid)

    def cpu_ms(self) -> float | None:
        """Read usage_usec of cpu.stat."""
        return _field(f"{self.path}/cpu.stat", "usage_usec") / 1e3

    def reset_peak(self) -> None:
        """Write to memory.peak (kernels from 6.12 on; before that the peak is the slot's)."""
        with contextlib.suppress(OSError):
            _write(f"{self.path}/memory.peak", 0)

    def peak_kb(self) -> int | None:
        """Read memory.peak."""
        with contextlib.suppress(OSError):
            return int(_read(f"{self.path}/memory.peak")) // 1024
        return None

    def used_bytes(self) -> int | None:
        """Read memory.current."""
        return int((self.path / "memory.current").read_text())

    def oom_kills(self) -> int:
        """Read memory.events."""
        return _field(self.path / "memory.events", "oom_kill")

    def close(self) -> None:
        """Remove the group."""
        _remove(self.path)


class Borrowed:
    """A group that another program made and removes when it likes: what was read last stays known."""

    def __init__(self, group: V1 | V2) -> None:
        """Wrap it."""
        self.kind = group.kind
        self._group = group
        self._cpu_ms: float | None = None
        self._peak_kb: int | None = None
        self._oom_kills = 0

    def add(self, pid: int) -> None:
        """Do nothing: its maker says who is in it."""

    def cpu_ms(self) -> float | None:
        """Read the CPU time."""
        with contextlib.suppress(OSError):
            self._cpu_ms = self._group.cpu_ms()
        return self._cpu_ms

    def reset_peak(self) -> None:
        """Start a new measurement where that is allowed; else the peak is the group's own."""
        with contextlib.suppress(OSError):
            self._group.reset_peak()

    def peak_kb(self) -> int | None:
        """Read the peak."""
        with contextlib.suppress(OSError):
            self._peak_kb = self._group.peak_kb()
        return self._peak_kb

    def used_bytes(self) -> int | None:
        """Read the memory in use; null when the group is gone."""
        with contextlib.suppress(OSError):
            return self._group.used_bytes()
        return None

    def oom_kills(self) -> int:
        """Read the count."""
        with contextlib.suppress(OSError):
            self._oom_kills = self._group.oom_kills()
        return self._oom_kills

    def close(self) -> None:
        """Do nothing."""


def make_group(name: str, memory_bytes: int, processes: int) -> Group:
    """Return the best group that this host allows."""
    if (_ROOT / "memory" / "memory.limit_in_bytes").exists():
        try:
            return V1(name, memory_bytes, processes)
        except OSError:
            return NoGroup()
    if (_ROOT / "cgroup.controllers").exists():
        try:
            own = Path("/proc/self/cgroup").read_text().split("::", 1)[1].strip().lstrip("/")
            parent = (_ROOT / own).parent if own else _ROOT
            return V2(parent, name, memory_bytes, processes)
        except (OSError, IndexError):
            return NoGroup()
    return NoGroup()


def group_of(pid: int, name: str) -> Group:
    """Return the accounting of the group that a process of another program is in; nothing is made or moved.

    Args:
        pid: the process.
        name: what the group's path must hold, so that a wrong pid is noticed (a container's id).
    """
    try:
        lines = Path("/proc", str(pid), "cgroup").read_text().splitlines()
    except OSError:
        return NoGroup()
    places: dict[str, str] = {}
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if name in place:
            places |= dict.fromkeys(kinds.split(","), place.lstrip("/"))
    paths = {kind: _ROOT / kind / places[kind] for kind in ("memory", "pids", "cpuacct") if kind in places}
    if len(paths) == 3 and all(path.is_dir() for path in paths.values()):
        return Borrowed(V1.of(paths))
    if "" in places and (_ROOT / places[""] / "cpu.stat").exists():
        return Borrowed(V2.of(_ROOT / places[""]))
    return NoGroup()


def sweep(prefix: str) -> None:
    """Remove groups that dead processes of ours left behind; the name ends with the owner's pid."""
    for base in (_ROOT / "memory", _ROOT / "pids", _ROOT / "cpuacct", _ROOT):
        if not base.is_dir():
            continue
        for path in base.glob(f"{prefix}-*"):
            pid = path.name.split("-")[-2]
            if pid.isdigit() and not Path("/proc", pid).exists():
                _remove(path)


def _write(path: Path | str, value: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _read(path: Path | str) -> str:
    """Read a small file of the kernel; it is read for every sample, so without pathlib's layers."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 1 << 16).decode("ascii")
    finally:
        os.close(fd)


def _field(path: Path | str, name: str) -> int:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _remove(path: Path) -> None:
    """Remove a group whose last processes may still be dying."""
    for _ in range(50):
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
