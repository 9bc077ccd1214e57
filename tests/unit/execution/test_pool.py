"""Where the workers of a pool run."""

import os
import time

import pytest

from novelapi.execution.pool import Pool, cores_of


@pytest.mark.parametrize(
    ("cores", "slots", "expected"),
    [
        ({0, 1}, 2, [{0}, {1}]),
        ({2, 5, 7, 9}, 2, [{2, 7}, {5, 9}]),
        ({0, 1, 2}, 2, [{0, 2}, {1}]),
        ({3, 4}, 3, [set(), set(), set()]),  # more slots than cores: the scheduler's business
    ],
)
def test_slots_share_the_cores_out(monkeypatch, cores, slots, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    assert [cores_of(number, slots) for number in range(slots)] == expected


def cores_seen(slot, gate):
    """A job that says where it ran: `first` and `second` wait for each other, the worker of `dies` does so once."""
    folder, name = gate
    if name == "dies" and not (folder / name).exists():
        (folder / name).touch()
        os._exit(1)
    (folder / name).touch()
    while name != "dies" and not all((folder / other).exists() for other in ("first", "second")):
        time.sleep(0.01)
    return os.sched_getaffinity(0)


def available():
    return set(os.sched_getaffinity(0))


@pytest.mark.skipif(len(available()) < 2, reason="one core: nothing to share out")
def test_workers_keep_to_their_cores_and_the_caller_to_all(tmp_path):
    before = available()
    with Pool(cores_seen, slots=2) as pool:
        found = dict(pool.map([(tmp_path, "first"), (tmp_path, "second")]))
    assert found[0] | found[1] == before
    assert not found[0] & found[1]
    assert available() == before


@pytest.mark.skipif(len(available()) < 2, reason="one core: nothing to share out")
def test_a_replaced_worker_takes_the_cores_of_the_dead_one(tmp_path):
    with Pool(cores_seen, slots=2) as pool:
        found = dict(pool.map([(tmp_path, "dies"), (tmp_path, "first"), (tmp_path, "second")]))
    assert found[1] | found[2] == available()
    assert not found[1] & found[2]
