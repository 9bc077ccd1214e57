"""The attacks of `doctor` in a plain interpreter with a naive harness: what the sandbox keeps out."""

import os
import socket
import subprocess
import sys
import tempfile
import time

from novelapi.evaluation import selftest

CHECK = "\nassert solve([1, 4, 9]) == [3, 5]\n"


def naive(code, **more):
    """Run code and its assertion in one interpreter, as harnesses do whose verdict is the exit status."""
    return subprocess.run(
        [sys.executable, "-c", "import itertools\n" + code], capture_output=True, text=True, check=False, timeout=60, **more
    )  # fmt: skip


def reached(hole):
    if hole == "exit":
        return naive(selftest._EARLY_EXIT + CHECK).returncode == 0
    if hole == "equality":
        return naive(selftest._EQUAL_TO_ALL + CHECK).returncode == 0
    if hole == "secret":
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("token")
            file.flush()
            code = selftest._READ.format(token="token", path=file.name) + "\nprint(solve([]))"
            return naive(code, env={**os.environ, "SECRET": "token"}).stdout.count("token") == 2
    if hole == "network":
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.settimeout(10)
            naive(selftest._CONNECT.format(port=listener.getsockname()[1]) + "\nsolve([])")
            listener.accept()[0].close()
            return True
    with selftest._processes_with("600.111") as left:
        code = selftest._STAY.format(seconds="600.111").replace("while True:", "while False:") + "\nsolve([])\n"
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=60)
        time.sleep(0.5)
        return len(left()) == 1
