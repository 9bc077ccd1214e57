"""A small run: two APIs with two tasks, one with one task; each condition has an outcome of its own."""

from __future__ import annotations

import pytest

from novelapi.packing.evidence import RunEvidence
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import numpy_task

OUTCOMES = {
    # task: conditions that let it pass
    "numpy/unstack/1": {"s_name", "s", "full"},
    "numpy/unstack/2": {"s_name", "s", "full"},
    "numpy/vecdot/1": {"s", "full"},
    "numpy/vecdot/2": {"s", "full"},
    "numpy/matvec/1": set(),
}
CONDITIONS = ("baseline", "s_name", "s", "full")


def evidence_of(outcomes=OUTCOMES, together=None, **fields):
    tasks = {
        name: numpy_task(1, task_id=name, api=f"numpy.{name.split('/')[1]}", description=f"Task {name}")
        for name in sorted(outcomes)
    }
    row = {
        "experiment": "numpy-m",
        "group": "numpy",
        "model": "m",
        "revision": "m@1",
        "tasks": tasks,
        "passed": {
            condition: {name: condition in passing for name, passing in outcomes.items()} for condition in CONDITIONS
        },
        "bundles": {task.api: numpy_bundle(task.api.split(".")[1]) for task in tasks.values()},
        "purposes": {task.api: f"What {task.api} is for." for task in tasks.values()},
        "fold": {name: int(name[-1]) % 2 for name in tasks},
        "unscored": 0,
        "together": together,
        "pack_digest": None,
    }
    return RunEvidence(**(row | fields))


@pytest.fixture
def evidence():
    return evidence_of()
