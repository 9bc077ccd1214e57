"""Where the workers of a pool run."""

import os

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
    """A job that waits until another one runs beside it, or dies the first time, and says where it ran."""
    folder, name = gate
    (folder / f"{name}-{os.getpid()}").touch()
    if name == "dies" and len(list(folder.glob("dies-*"))) == 1:
        os._exit(1)
    while not {"first", "second"} <= {path.name.split("-")[0] for path in folder.iterdir()} | {name}:
        pass
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
    for name in ("first", "second"):
        (tmp_path / f"{name}-").touch()
    with Pool(cores_seen, slots=2) as pool:
        found = dict(pool.map([(tmp_path, "dies")] * 2 + [(tmp_path, "third")] * 4))
        assert len({frozenset(cores) for cores in found.values()}) <= 2
        members = {member.number: os.sched_getaffinity(member.process.pid) for member in pool._members}
    assert members == {0: set(cores_of(0, 2)), 1: set(cores_of(1, 2))}
