"""Enough memory before work starts, not an allocation error in its middle."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from novelapi.adaptation.extras import need
from novelapi.errors import NovelApiError

UNITS = ("B", "KiB", "MiB", "GiB")


def free_bytes(device: Any) -> int:
    """Return the memory that is free on a device; for the CPU what the kernel can hand out without swapping."""
    torch = need("torch")
    if getattr(device, "type", str(device)) == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(need("psutil").virtual_memory().available)


def require(needed: int, device: Any, what: str) -> None:
    """Check that memory suffices.

    Raises:
        NovelApiError: it does not; the message says how much is needed.
    """
    free = free_bytes(device)
    if needed > free:
        raise NovelApiError(
            f"{what} needs {readable(needed)} on {device} and {readable(free)} are free: "
            "edit fewer layers, use a smaller model, or free memory"
        )


def forget_peak() -> None:
    """Let the peak of memory start anew, so that it is that of one fit; off Linux it stays that of the process."""
    torch = need("torch")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_kb() -> int:
    """Return the peak of memory in KiB since it was forgotten: of this process, and of the GPU on top."""
    torch = need("torch")
    gpu = torch.cuda.max_memory_allocated() // 1024 if torch.cuda.is_available() else 0
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return gpu + next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        import resource  # noqa: PLC0415  not on every platform

        return gpu + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def readable(size: int) -> str:
    """Return a number of bytes in the unit that suits it: `7.2 GiB`."""
    value, unit = float(size), UNITS[0]
    for larger in UNITS[1:]:
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}"
