"""What one sample may use."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SampleLimits:
    """The limits of one candidate process; CPU time is the budget, wall time only a generous backstop."""

    cpu_s: float = 10.0
    """CPU seconds of all its processes."""
    memory_mb: int = 2048
    """Memory in MB on top of the warm parent."""
    scratch_mb: int = 64
    """Size of its private scratch folder in MB."""
    inodes: int = 4096
    """Number of files there."""
    file_mb: int = 64
    """Largest file in MB; also the cap of what it may print."""
    files: int = 256
    """Open files."""
    processes: int = 64
    """Processes and threads."""

    @property
    def wall_s(self) -> float:
        """Elapsed seconds: four times the CPU budget and five more, so that a loaded machine changes no verdict."""
        return 4 * self.cpu_s + 5

    def for_guest(self) -> dict[str, int]:
        """Return the numbers that the guest sets, in bytes and whole seconds."""
        return {
            "cpu_s": math.ceil(self.cpu_s) + 1,  # the kernel's own limit stands behind the judge's
            "memory_bytes": self.memory_mb << 20,
            "scratch_bytes": self.scratch_mb << 20,
            "inodes": self.inodes,
            "file_bytes": self.file_mb << 20,
            "files": self.files,
            "processes": self.processes,
        }


def budget(gold_cpu_ms: float, import_cpu_ms: float = 0.0) -> SampleLimits:
    """Return the limits of a sample.

    Ten times the CPU time of the reference, at least 3 seconds, and the imports of the environment twice: a sample may
    import what the reference does not, and a confirmation in a fresh process imports everything.

    Args:
        gold_cpu_ms: CPU milliseconds of the reference.
        import_cpu_ms: CPU milliseconds of the warm parent's start.
    """
    return SampleLimits(cpu_s=max(3.0, 10 * gold_cpu_ms / 1000) + 2 * import_cpu_ms / 1000)
