"""A lock excludes threads and processes, and ends with its holder."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tasks._locks import KeyLocks

HOLD = """
import sys, time
from pathlib import Path
from tasks._locks import KeyLocks
locks = KeyLocks(lambda: Path(sys.argv[1]))
assert locks.acquire_lock("key", "other", 0)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def locks(tmp_path):
    return KeyLocks(lambda: tmp_path / "prefect" / "locks")


@pytest.fixture
def other_process(tmp_path):
    """Another process that holds the lock of `key`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "prefect" / "locks")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_holder_in_the_same_process_has_to_wait(locks):
    assert locks.acquire_lock("key", "one")
    assert not locks.acquire_lock("key", "two", acquire_timeout=0)
    locks.release_lock("key", "one")
    assert locks.acquire_lock("key", "two", acquire_timeout=0)


def test_two_keys_do_not_exclude_each_other(locks):
    assert locks.acquire_lock("key", "one")
    assert locks.acquire_lock("other key", "two", acquire_timeout=0)


def test_the_holder_may_acquire_again(locks):
    assert locks.acquire_lock("key", "one")
    assert locks.acquire_lock("key", "one", acquire_timeout=0)
    assert locks.is_lock_holder("key", "one")
    assert not locks.is_lock_holder("key", "two")


def test_another_process_excludes_us_until_it_is_killed(locks, other_process):
    assert locks.is_locked("key")
    assert not locks.acquire_lock("key", "us", acquire_timeout=0)
    other_process.send_signal(signal.SIGKILL)
    assert locks.acquire_lock("key", "us", acquire_timeout=5)


def test_a_probe_does_not_drop_our_own_locks(locks, tmp_path):
    assert locks.acquire_lock("key", "us")
    assert not locks.is_locked("other key")
    probe = f"from pathlib import Path; from tasks._locks import KeyLocks; print(KeyLocks(lambda: Path({str(tmp_path / 'prefect' / 'locks')!r})).is_locked('key'))"
    assert subprocess.check_output([sys.executable, "-c", probe], text=True) == "True\n"


def test_a_child_does_not_inherit_the_lock(locks):
    locks.acquire_lock("key", "us")
    child = os.fork()
    if child == 0:
        os._exit(0 if not locks._lock_byte(locks._path(), "key") else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_release_by_somebody_else_is_an_error(locks):
    locks.acquire_lock("key", "one")
    with pytest.raises(ValueError, match="two holds no lock"):
        locks.release_lock("key", "two")


def test_threads_take_turns(locks):
    inside, most = [], []

    def work(name):
        locks.acquire_lock("key", name)
        inside.append(name)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(name)
        locks.release_lock("key", name)

    threads = [threading.Thread(target=work, args=(f"{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


def test_the_asynchronous_forms_do_the_same(locks):
    async def scenario():
        assert await locks.aacquire_lock("key", "one")
        assert not await locks.aacquire_lock("key", "two", acquire_timeout=0)
        assert not await locks.await_for_lock("key", timeout=0)
        locks.release_lock("key", "one")
        assert await locks.await_for_lock("key", timeout=1)

    asyncio.run(scenario())


def test_waiting_ends_when_the_lock_is_given_back(locks):
    locks.acquire_lock("key", "one")
    assert not locks.wait_for_lock("key", timeout=0)
    threading.Timer(0.05, locks.release_lock, ("key", "one")).start()
    assert locks.wait_for_lock("key", timeout=5)


def test_what_is_stale_is_dropped_while_the_lock_is_held(tmp_path):
    seen = []
    locks = KeyLocks(lambda: tmp_path / "locks", on_acquire=lambda key: seen.append((key, locks.is_locked(key))))
    locks.acquire_lock("key", "one")
    assert seen == [("key", True)]


def test_nothing_is_created_before_the_first_lock(tmp_path):
    KeyLocks(lambda: tmp_path / "prefect" / "locks")
    assert list(tmp_path.iterdir()) == []
