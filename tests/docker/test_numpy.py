"""An installed library in a container: the same verdicts and labels as in bubblewrap. The environment needs the index."""

import pytest

from tests.sandbox.labels import libraries

pytestmark = [pytest.mark.docker, pytest.mark.network]
ROWS = [row for row in libraries.ROWS if row[0].library == "numpy"]


@pytest.mark.parametrize(("task", "expected", "why", "code"), ROWS, ids=[f"{row[0].task_id}: {row[2]}" for row in ROWS])
def test_verdict_and_label(docker, bubblewrap, task, expected, why, code):
    here = docker.score(task, code)
    assert here == bubblewrap.score(task, code)
    assert (here[0][1] or here[0][0]) == expected


@pytest.mark.parametrize("task", [libraries.UNSTACK, libraries.VECDOT, libraries.UNIQUE], ids=lambda task: task.task_id)
def test_gold_passes_and_mutants_fail(docker, fresh, bubblewrap, task):
    here = docker.score(task, task.reference_solution)
    assert here[0][:2] == ("pass", None)
    assert here == fresh.score(task, task.reference_solution) == bubblewrap.score(task, task.reference_solution)
    assert docker.survivors(task) == []
