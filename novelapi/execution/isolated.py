"""One guest program in one fresh sandboxed process: a JSON request in, a JSON answer out, bounded in everything."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Literal

from novelapi.execution import sandbox
from novelapi.records.environment import Environment

_CAP = 256 << 20
_TEXT_CAP = 64 << 10


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a fresh process may use."""

    wall_s: float = 120.0
    """Elapsed seconds before it is killed."""
    cpu_s: int = 60
    """CPU seconds before the kernel kills it."""
    memory_mb: int = 4096
    """Address space in MB."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    value: Any
    """The answer, or null when there was none."""
    failure: Literal["timeout", "cpu", "signal", "exit", "garbled"] | None
    """Why there was none."""
    output: str
    """Tail of what was printed, for messages."""
    wall_s: float
    """Elapsed seconds."""


def run_isolated(env: Environment, script: str, request: Any, limits: Limits = Limits(), **box: Any) -> Answer:
    """Run `guest/{script}.py` in a fresh sandboxed process of the environment.

    The script reads the request as JSON from standard input and writes its answer as JSON to the file descriptor
    whose number is its first argument. Whatever it prints is kept apart.

    Args:
        env: the environment whose interpreter runs it.
        script: name of a file in guest/, without the ending.
        request: plain JSON data.
        limits: what it may use; a breach is reported in the answer, never raised.
        box: more fields of `sandbox.Box`.

    Raises:
        PrerequisiteError: bubblewrap is missing.
    """
    started = time.monotonic()
    answer_read, answer_write = os.pipe()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_mb << 20, limits.memory_mb << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = sandbox.start(
        sandbox.Box(env=env, **box),
        [env.python, "-s", str(sandbox.GUEST / f"{script}.py"), str(answer_write)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[answer_write],
        start_new_session=True,
        preexec_fn=limit,
    )
    os.close(answer_write)
    try:
        answer, output, timed_out = _exchange(
            process, answer_read, json.dumps(request).encode(), started + limits.wall_s
        )
    finally:
        os.close(answer_read)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    text = output[-_TEXT_CAP:].decode("utf-8", "replace")
    value, failure = None, _failure(code, timed_out)
    if failure is None:
        try:
            value = json.loads(answer)
        except ValueError:
            failure = "garbled"
    return Answer(value=value, failure=failure, output=text, wall_s=time.monotonic() - started)


def _failure(code: int, timed_out: bool) -> Literal["timeout", "cpu", "signal", "exit"] | None:
    if timed_out:
        return "timeout"
    number = -code if code < 0 else code - 128  # bubblewrap reports a signal of its child as 128 + number
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return "cpu" if number == signal.SIGXCPU else "signal"
    if 0 < number < 65:
        return "signal"
    return None if code == 0 else "exit"


def _exchange(
    process: subprocess.Popen[bytes], answer_fd: int, request: bytes, deadline: float
) -> tuple[bytes, bytes, bool]:
    """Feed the request and drain both channels until the answer's end or the deadline."""
    assert process.stdin is not None
    assert process.stdout is not None
    for fd in (process.stdin.fileno(), process.stdout.fileno(), answer_fd):
        os.set_blocking(fd, False)
    answer, output = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(answer_fd, selectors.EVENT_READ)
        open_reads = 2
        while open_reads:
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(answer), bytes(output), True
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    try:
                        sent = os.write(process.stdin.fileno(), request)
                    except BrokenPipeError:
                        sent = len(request)
                    request = request[sent:]
                    if not request:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                    open_reads -= 1
                    continue
                sink = answer if key.fd == answer_fd else output
                sink += chunk
                if sink is output and len(output) > 4 * _TEXT_CAP:
                    del output[: -2 * _TEXT_CAP]
                if len(answer) > _CAP:
                    return bytes(answer), bytes(output), True
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return bytes(answer), bytes(output), process.poll() is None
