"""One warm slot for all tests of a session."""

import pytest

from novelapi.execution.environments import python_environment
from novelapi.execution.pool import Slot, SlotOptions


@pytest.fixture(scope="session")
def slot():
    found = Slot(SlotOptions())
    yield found
    found.close()


@pytest.fixture(scope="session")
def python_env():
    return python_environment()


@pytest.fixture(scope="session")
def score_one(slot, python_env):
    """Score one answer to a task of the standard library; harnesses are prepared once."""
    from novelapi.evaluation.scoring import Job, Sample, preload_of, score

    harnesses = {}

    def run(task, text, env=python_env):
        job = Job(
            task=task,
            env=env,
            samples=(Sample(index=0, text=text),),
            preload=() if env is python_env else preload_of([task]),
            harness=harnesses.get(task.task_id),
        )
        scored = score(slot, job)
        assert scored.broken is None, scored.broken
        harnesses[task.task_id] = scored.harness
        return scored.rows[0], scored.harness

    return run
