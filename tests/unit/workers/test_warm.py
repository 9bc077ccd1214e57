"""One warm server, shared by overlapping users of one model, replaced for another."""

from __future__ import annotations

import threading
import time

import pytest

from workers.serving import ServeSpec
from workers.warm import WarmServer


class FakeServer:
    def __init__(self, spec, log):
        self.spec, self.log, self.healthy = spec, log, True
        self.given_up = threading.Event()

    def start(self):
        if self.spec.model == "broken":
            raise ValueError("broken")
        if self.spec.model == "slow":
            self.log.append("begin slow")
            assert self.given_up.wait(60)
            raise ValueError("given up")
        self.log.append(f"start {self.spec.model}")
        return f"url of {self.spec.model}"

    def give_up(self):
        self.given_up.set()

    def is_healthy(self):
        return self.healthy

    def stop(self):
        self.log.append(f"stop {self.spec.model}")


@pytest.fixture
def log():
    return []


@pytest.fixture
def warm(log):
    return WarmServer(lambda spec: FakeServer(spec, log))


def spec(model):
    return ServeSpec(model=model, name=model, program="vllm")


def test_one_start_for_all_runs_of_a_model(warm, log):
    for _ in range(34):
        assert warm.acquire(spec("a")) == "url of a"
        warm.release()
    assert log == ["start a"]
    assert warm.starts == 1


def test_a_run_that_was_cancelled_or_crashed_takes_its_server_along(warm, log):
    warm.acquire(spec("a"))
    warm.acquire(spec("a"))
    warm.release(keep=False)
    assert log == ["start a"], "somebody else still uses it"
    warm.release(keep=False)
    assert log == ["start a", "stop a"]
    assert warm.acquire(spec("a")) == "url of a"
    assert warm.starts == 2


def test_another_model_replaces_it(warm, log):
    warm.acquire(spec("a"))
    warm.release()
    assert warm.acquire(spec("b")) == "url of b"
    assert log == ["start a", "stop a", "start b"]


def test_another_model_waits_until_the_first_is_free(warm, log):
    warm.acquire(spec("a"))
    warm.acquire(spec("a"))
    waiter = threading.Thread(target=warm.acquire, args=(spec("b"),))
    waiter.start()
    warm.release()
    time.sleep(0.05)
    assert log == ["start a"]
    warm.release()
    waiter.join(timeout=5)
    assert log == ["start a", "stop a", "start b"]


def test_a_dead_server_is_started_again(warm, log):
    warm.acquire(spec("a"))
    warm.release()
    warm._server.healthy = False
    warm.acquire(spec("a"))
    assert log == ["start a", "stop a", "start a"]


def test_after_a_failed_start_the_next_one_may_succeed(warm, log):
    with pytest.raises(ValueError, match="broken"):
        warm.acquire(spec("broken"))
    assert warm.acquire(spec("a")) == "url of a"


def test_close_stops_it_whoever_uses_it_and_refuses_new_users(warm, log):
    warm.acquire(spec("a"))
    warm.close()
    warm.close()
    assert log == ["start a", "stop a"]
    with pytest.raises(RuntimeError, match="stopping"):
        warm.acquire(spec("a"))


def test_a_worker_that_stops_does_not_wait_for_a_server_that_starts(warm, log):
    found = []

    def ask():
        with pytest.raises(ValueError, match="given up"):
            warm.acquire(spec("slow"))
        found.append("refused")

    thread = threading.Thread(target=ask)
    thread.start()
    while not log:
        time.sleep(0.01)
    began = time.monotonic()
    warm.close()
    thread.join()
    assert time.monotonic() - began < 30
    assert found == ["refused"]
    with pytest.raises(RuntimeError, match="stopping"):
        warm.acquire(spec("a"))
