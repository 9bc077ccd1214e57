"""A refusal is an answer only where it is the target's: what fails before the call says nothing of it."""

import pytest

from novelapi.execution.harness import Harness
from novelapi.generation.sealing import refused_early
from novelapi.records.task import Task, TaskInput

TASK = Task(
    task_id="scipy/normal_inverse_gamma/1",
    library="scipy",
    release="1.17.1",
    api="scipy.stats.normal_inverse_gamma",
    description="The variance.",
    entry_point="solve",
    signature="def solve(seed, count):",
    reference_solution="def solve(seed, count):\n    a, b = draw(seed, count)\n    return spread(a, b)\n",
    inputs=tuple(TaskInput(args=("1", count)) for count in ("2", "3", "1")),
    expected=(0.5, "refused", "refused"),
)


@pytest.mark.parametrize(
    ("called", "early"),
    [
        ((0, 1, 2), False),  # the target refuses what it is given
        ((0,), True),  # too many or too few values to unpack: the target is never asked
        ((0, 1), True),
        ((1, 2), False),  # the input that has an answer may do without, the gates decide on that
        ((-1,), False),  # called once, while the program was loaded
    ],
)
def test_every_refusal_is_the_targets(called, early):
    harness = Harness(
        task_id=TASK.task_id, env="scipy-1.17.1", expected=TASK.expected, mode="remote", stub=None, integrity="strong",
        integrity_reason="", called=(called,), required=({},), gold_cpu_ms=1.0,
    )  # fmt: skip
    assert refused_early(TASK, harness) is early
