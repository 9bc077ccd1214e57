"""Which server is warm: at most one per worker, kept between flow runs of the same model, shared while they overlap."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from workers.serving import ServeSpec

STOPPING = "the worker is stopping"


class Server(Protocol):
    """What the pool needs of a server."""

    def start(self) -> str:
        """Start and return the address."""
        ...

    def give_up(self) -> None:
        """End a start that is under way in another thread."""
        ...

    def is_healthy(self) -> bool:
        """Tell whether it answers."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...


class WarmServer:
    """Hands out one server; asking for another model waits until the first is free, then replaces it."""

    def __init__(self, open_server: Callable[[ServeSpec], Server]) -> None:
        """Remember how servers are made; nothing is started."""
        self._open = open_server
        self._free = threading.Condition()
        self._spec: ServeSpec | None = None
        self._server: Server | None = None
        self._url = ""
        self._users = 0
        self._closed = False
        self._starting: Server | None = None
        self.starts = 0

    def acquire(self, spec: ServeSpec) -> str:
        """Return the address of a healthy server for this specification, starting it if need be.

        Raises:
            NovelApiError: the server could not be started.
            RuntimeError: the worker is stopping.
        """
        with self._free:
            self._free.wait_for(lambda: self._closed or self._users == 0 or self._fits(spec))
            if self._closed:
                raise RuntimeError(STOPPING)
            if not self._fits(spec):
                self._replace(spec)
            self._users += 1
            return self._url

    def release(self, *, keep: bool = True) -> None:
        """Hand the server back; it stays warm, unless it is not to be kept and nobody else uses it."""
        with self._free:
            self._users -= 1
            if not keep and self._users == 0:
                self._stop()
            self._free.notify_all()

    def give_up(self) -> None:
        """Take no more requests, and end a start that is under way: it may take half an hour, and holds the lock."""
        self._closed = True
        if (starting := self._starting) is not None:
            starting.give_up()

    def close(self) -> None:
        """Stop the server for good, whoever uses it; idempotent."""
        self.give_up()
        with self._free:
            self._stop()
            self._free.notify_all()

    def _fits(self, spec: ServeSpec) -> bool:
        return self._server is not None and self._spec == spec and (self._users > 0 or self._server.is_healthy())

    def _replace(self, spec: ServeSpec) -> None:
        self._stop()
        server = self._open(spec)
        self.starts += 1
        self._starting = server
        try:
            if self._closed:
                raise RuntimeError(STOPPING)
            self._url = server.start()
        finally:
            self._starting = None
        self._server, self._spec = server, spec

    def _stop(self) -> None:
        if self._server is not None:
            self._server.stop()
        self._server, self._spec, self._url = None, None, ""
