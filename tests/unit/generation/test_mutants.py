"""Wrong solutions that are made of a task, without running them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from novelapi.generation.harness import mutants
from novelapi.records.api import Parameter
from tests.fakes.tasks import numpy_task

REFERENCE = "def solve(values, target):\n    np.char.isalpha(values, out=target)\n    return target\n"


def wrong(change, old=None):
    task = numpy_task(
        api="numpy.char.isalpha",
        change=change,
        signature="def solve(values, target):",
        reference_solution=REFERENCE,
        inputs=[{"args": ["np.array(['a'])", "np.zeros(1, bool)"]}],
    )
    return mutants(task, SimpleNamespace(expected=[[True]]), {"out": "def solve(values, target):\n    pass\n"}, old)


@pytest.mark.parametrize(
    ("old", "habit"),
    [
        (None, "np.char.isalpha(values, target)"),
        (["positional_or_keyword"], "np.char.isalpha(values)"),
        (["positional_only", "keyword_only"], "np.char.isalpha(values)"),
        (["positional_only", "positional_or_keyword"], "np.char.isalpha(values, target)"),
        (["positional_only", "var_positional"], "np.char.isalpha(values, target)"),
    ],
)
def test_a_habit_passes_what_the_old_release_took(old, habit):
    parameters = None if old is None else [Parameter(name=f"p{n}", kind=kind) for n, kind in enumerate(old)]
    assert wrong("modified", parameters)["old habit"].split() == f"def solve(values, target): return {habit}".split()


def test_a_new_api_has_no_habit():
    assert "old habit" not in wrong("added")
    assert {"empty", "nothing", "without out", "constant", "uncalled", "dead call"} <= set(wrong("added"))
