"""Locks between processes that cannot go stale: the kernel drops a dead holder's lock by itself.

One file holds the locks of all keys; a key locks one byte of it, at an offset given by its hash (POSIX record locks may
lie past the end of a file, which stays empty). Such a lock belongs to the process: it ends with it, however it ends,
and a child does not inherit it. Threads of one process are told apart by a table, since the kernel does not. Prefect's
own lock files would stay for ever after a kill.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

POLL_S = 0.1


class KeyLocks:
    """A lock manager for `CachePolicy.configure(lock_manager=...)`.

    `on_acquire` is called with the key while the lock is held and before anybody looks the result up: the one moment at
    which a stale result can be dropped without a race.
    """

    def __init__(self, path: Callable[[], Path], on_acquire: Callable[[str], None] | None = None) -> None:
        """Remember where the lock file lies (asked for at the first use); nothing is created."""
        self._path = path
        self._on_acquire = on_acquire
        self._files: dict[Path, int] = {}
        self._holders: dict[tuple[Path, str], str] = {}
        self._guard = threading.Lock()

    def acquire_lock(
        self,
        key: str,
        holder: str,
        acquire_timeout: float | None = None,
        hold_timeout: float | None = None,  # noqa: ARG002 - part of the protocol; a lock ends with its holder
    ) -> bool:
        """Wait for the lock of a key; return False if it was not free within `acquire_timeout` seconds."""
        deadline = None if acquire_timeout is None else time.monotonic() + acquire_timeout
        while not self._try(key, holder):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        self._acquired(key)
        return True

    async def aacquire_lock(
        self,
        key: str,
        holder: str,
        acquire_timeout: float | None = None,
        hold_timeout: float | None = None,  # noqa: ARG002 - as above
    ) -> bool:
        """Do what `acquire_lock` does without blocking the event loop."""
        deadline = None if acquire_timeout is None else time.monotonic() + acquire_timeout
        while not self._try(key, holder):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL_S)
        self._acquired(key)
        return True

    def release_lock(self, key: str, holder: str) -> None:
        """Give the lock back.

        Raises:
            ValueError: `holder` does not hold it.
        """
        path = self._path()
        with self._guard:
            if self._holders.get((path, key)) != holder:
                raise ValueError(f"{holder} holds no lock for {key}")
            del self._holders[path, key]
            fcntl.lockf(self._file(path), fcntl.LOCK_UN, 1, _offset(key))

    def is_locked(self, key: str) -> bool:
        """Tell whether anybody, in this process or another, holds the lock."""
        path = self._path()
        with self._guard:
            if (path, key) in self._holders:
                return True
            if not self._lock_byte(path, key):
                return True
            fcntl.lockf(self._file(path), fcntl.LOCK_UN, 1, _offset(key))
            return False

    def is_lock_holder(self, key: str, holder: str) -> bool:
        """Tell whether `holder`, in this process, holds the lock."""
        with self._guard:
            return self._holders.get((self._path(), key)) == holder

    def wait_for_lock(self, key: str, timeout: float | None = None) -> bool:
        """Wait until nobody holds the lock; return False if that took longer than `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_locked(key):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    async def await_for_lock(self, key: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as above
        """Do what `wait_for_lock` does without blocking the event loop."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_locked(key):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL_S)
        return True

    def _try(self, key: str, holder: str) -> bool:
        path = self._path()
        with self._guard:
            known = self._holders.get((path, key))
            if known is not None:
                return known == holder
            if not self._lock_byte(path, key):
                return False
            self._holders[path, key] = holder
            return True

    def _acquired(self, key: str) -> None:
        if self._on_acquire is not None:
            self._on_acquire(key)

    def _lock_byte(self, path: Path, key: str) -> bool:
        try:
            fcntl.lockf(self._file(path), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(key))
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True

    def _file(self, path: Path) -> int:
        """Return the one descriptor of this process: closing any other would drop every lock of the process."""
        if path not in self._files:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._files[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._files[path]


def _offset(key: str) -> int:
    """Return the byte that stands for a key (62 bits of its hash, so that no two keys share one)."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 2
