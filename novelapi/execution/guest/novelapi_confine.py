"""Confines a fork to one small program: its own session and folder, limits, no streams, a fixed seed. Sandbox only."""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys

FILE_MB = 32


def enter(folder, limits, seed, grace_s=0):
    """Give up in a fork what a program must not have.

    `limits` has `cpu_s` and `memory_mb`. A fork's CPU clock starts at zero, so the limit is the program's alone; with
    `grace_s` the kernel warns first (SIGXCPU) and kills so many seconds later.
    """
    os.setsid()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"] + grace_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MB << 20, FILE_MB << 20))
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory_mb"] << 20, limits["memory_mb"] << 20))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(seed)


def leave(result, write_end):
    """Send a result to the parent and end."""
    data = json.dumps(result).encode()
    while data:
        data = data[os.write(write_end, data) :]
    os._exit(0)


def end(pid, folder):
    """Kill the whole group of a fork whatever happened, remove its folder; return status and resource usage."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return status, usage
