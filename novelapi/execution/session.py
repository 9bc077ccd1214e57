"""The judge's end of a conversation with one sandboxed child."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

from novelapi.execution.limits import SampleLimits

if TYPE_CHECKING:
    from novelapi.execution.zygote import Zygote

MAX_FRAME = 32 << 20
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
CPU_CHECK_S = 0.05
"""Seconds between two looks at the CPU clock of a child that answers at once."""
Message = dict[str, Any]


class EndedError(Exception):
    """The child is gone or was ended; `reason` is one of Observation.ended."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Remember why."""
        super().__init__(reason if not detail else f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Session:
    """One child: send a request, wait for messages under CPU and wall limits."""

    def __init__(self, zygote: Zygote, number: int, sock: socket.socket, output: int, limits: SampleLimits) -> None:
        """Wrap the parent's end of the child's socket and its output file."""
        self.limits = limits
        self.zygote = zygote
        self.number = number
        self.sock = sock
        self.output_fd = output
        self.ended: Message | None = None
        self._buffer = bytearray()
        self._looked = time.monotonic()
        sock.setblocking(False)

    def send(self, message: Message, deadline: float) -> None:
        """Send one frame.

        Raises:
            EndedError: the child is gone or does not read.
        """
        data = _encode(message).encode("ascii")
        view = memoryview(struct.pack(">I", len(data)) + data)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise EndedError("wall") from None
                select.select([], [self.sock], [], min(left, 0.5))
            except OSError:
                raise self._death() from None

    def receive(self, deadline: float, cpu_deadline_ms: float | None) -> Message:
        """Wait for one frame.

        Args:
            deadline: monotonic time at which patience ends.
            cpu_deadline_ms: reading of the slot's CPU clock at which the budget ends; null without accounting.

        Raises:
            EndedError: the child died, ran out of a budget or sent what is no frame.
        """
        while True:
            message = self._take()
            if message is not None:
                return message
            now = time.monotonic()
            left = deadline - now
            if left <= 0:
                raise EndedError("wall")
            if cpu_deadline_ms is not None and now - self._looked >= CPU_CHECK_S:
                self._looked = now
                if (self.zygote.group.cpu_ms() or 0.0) > cpu_deadline_ms:
                    raise EndedError("cpu")
            ready, _, _ = select.select([self.sock, self.zygote.control], [], [], min(left, 0.25))
            if self.sock in ready:
                self._read()
            elif self.zygote.control in ready:
                self.zygote.pump()
                if self.ended is not None and not self._pending():
                    raise self._death()

    def _read(self) -> None:
        try:
            chunk = self.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            raise self._death()
        self._buffer += chunk

    def _pending(self) -> bool:
        """Whether the dead child left frames that have not been read."""
        ready, _, _ = select.select([self.sock], [], [], 0)
        return bool(ready)

    def _take(self) -> Message | None:
        if len(self._buffer) < 4:
            return None
        (size,) = struct.unpack(">I", self._buffer[:4])
        if size > MAX_FRAME:
            raise EndedError("protocol", f"frame of {size} bytes")
        if len(self._buffer) < 4 + size:
            return None
        data = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        try:
            message = _decode(data.decode("utf-8"))
        except (ValueError, RecursionError):
            raise EndedError("protocol", "no JSON") from None
        if type(message) is not dict or type(message.get("op")) is not str:
            raise EndedError("protocol", "no message")
        return message

    def _death(self) -> EndedError:
        """Say how the child died, waiting for the parent's word on it."""
        self.zygote.wait_for_end(self, 5.0)
        ended = self.ended
        if ended is None:
            return EndedError("signal", "closed its socket")
        if self.zygote.oom_killed():
            return EndedError("memory")
        if ended["signal"] is not None:
            if self._cpu_exceeded(ended):
                return EndedError("cpu")
            return EndedError("signal", str(ended["signal"]))
        return EndedError("exit", str(ended["status"]))

    def _cpu_exceeded(self, ended: Message) -> bool:
        """Whether a killed child had used up its CPU budget (the kernel's two clocks differ by up to a fifth)."""
        return ended["signal"] in (signal.SIGKILL, signal.SIGXCPU) and ended["cpu_ms"] >= 800 * self.limits.cpu_s

    def output(self, head: int = 2000, tail: int = 6000) -> str:
        """Return head and tail of what the child printed."""
        size = os.fstat(self.output_fd).st_size
        if size <= head + tail:
            data = os.pread(self.output_fd, head + tail, 0)
        else:
            data = os.pread(self.output_fd, head, 0) + b"\n...\n" + os.pread(self.output_fd, tail, size - tail)
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the child and wait until it is gone."""
        self.sock.close()
        try:
            if self.ended is None:
                self.zygote.kill(self)
                self.zygote.wait_for_end(self, 10.0)
        finally:
            os.close(self.output_fd)
