"""Runs a program for as long as somebody holds the other end of its standard input.

`python guard.py PROGRAM ARGUMENT...`: the worker keeps the write end. However the worker ends, kill -9 included, the
kernel closes that end, and the program is stopped with everything it started in its session. (A parent-death signal
would refer to the thread that forked, and would reach the program alone.) Standard library only; started as a file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

GRACE_S = 10.0
POLL_S = 0.2


def main() -> int:
    """Start the program, wait for its end or for ours; return its exit code."""
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    threading.Thread(target=_watch, args=(asked,), daemon=True).start()
    while child.poll() is None and not asked.wait(POLL_S):
        pass
    if child.poll() is None or _others():  # a program that was killed leaves its own children behind
        _stop_session(child)
    return child.returncode


def _watch(asked: threading.Event) -> None:
    """Wait until the other end of standard input is closed."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    asked.set()


def _stop_session(child: subprocess.Popen[bytes]) -> None:
    """End every process of our session but ourselves: politely, then for good."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, 2.0)):
        deadline = time.monotonic() + patience
        for pid in _others():
            _send(pid, number)
        while time.monotonic() < deadline and (child.poll() is None or _others()):
            time.sleep(POLL_S)


def _others() -> list[int]:
    """Return the running processes of our session, ourselves excepted."""
    session = str(os.getsid(0))
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names are what is wanted
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - hot loop
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == session and fields[0] not in {"Z", "X"} and int(name) != os.getpid():
            found.append(int(name))
    return found


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main())
