"""The same verdicts and labels as in bubblewrap on the table of the labels; gold passes, mutants fail, forked and fresh."""

import pytest

from tests.sandbox import tasks as T
from tests.sandbox.test_labels import ROWS

pytestmark = pytest.mark.docker
GOLD = [T.PAIRWISE, T.FMEAN, T.REMOVEPREFIX, T.REDUCE, T.FRACTION, T.DUMPS, T.STRPTIME, T.BISECT]


@pytest.mark.parametrize(("task", "expected", "why", "code"), ROWS, ids=[f"{row[0].task_id}: {row[2]}" for row in ROWS])
def test_verdict_and_label(docker, bubblewrap, task, expected, why, code):
    here = docker.score(task, code)
    assert here == bubblewrap.score(task, code)
    assert (here[0][1] or here[0][0]) == expected


@pytest.mark.parametrize("task", GOLD, ids=lambda task: task.task_id)
def test_gold_passes_and_mutants_fail(docker, fresh, task):
    assert docker.score(task, task.reference_solution) == [("pass", None, "strong")]
    assert fresh.score(task, task.reference_solution) == [("pass", None, "strong")]
    assert docker.survivors(task) == []
