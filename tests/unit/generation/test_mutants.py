"""Wrong solutions that are made of a task, without running them."""

from __future__ import annotations

from types import SimpleNamespace

from novelapi.generation.harness import mutants
from tests.fakes.tasks import numpy_task

REFERENCE = "def solve(values, target):\n    np.char.isalpha(values, out=target)\n    return target\n"


def wrong(change):
    task = numpy_task(
        api="numpy.char.isalpha",
        change=change,
        signature="def solve(values, target):",
        reference_solution=REFERENCE,
        inputs=[{"args": ["np.array(['a'])", "np.zeros(1, bool)"]}],
    )
    return mutants(task, SimpleNamespace(expected=[[True]]), {"out": "def solve(values, target):\n    pass\n"})


def test_a_change_that_the_old_habit_meets_by_chance_makes_no_task():
    assert wrong("modified")["old habit"].split() == (
        "def solve(values, target): return np.char.isalpha(values, target)".split()
    )


def test_a_new_api_has_no_habit():
    assert "old habit" not in wrong("added")
    assert {"empty", "nothing", "without out", "constant", "uncalled", "dead call"} <= set(wrong("added"))
