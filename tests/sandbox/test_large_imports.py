"""A library that maps more than a sample may use: its import is ours, and what a completion takes comes on top."""

import pytest

from novelapi.evaluation.scoring import Job, Sample, score
from novelapi.execution.environments import python_environment
from novelapi.execution.pool import Slot, SlotOptions
from tests.sandbox.tasks import task

pytestmark = pytest.mark.sandbox

MAPPED = task(
    "mapped", "itertools.pairwise", "def solve(xs):", "return [b - a for a, b in itertools.pairwise(xs)]",
    [["[1, 4, 9]"], ["[5]"], ["[2, 2, 0, 7]"]],
    context="import itertools, mmap\nheld = mmap.mmap(-1, 5 << 30, prot=mmap.PROT_READ)\n",
)  # fmt: skip
GREEDY = "def solve(xs):\n    import mmap\n    more = mmap.mmap(-1, 3 << 30, prot=mmap.PROT_READ)\n"


@pytest.mark.parametrize("warm", [True, False], ids=["forked", "fresh"])
def test_what_the_library_maps_does_not_count_and_what_the_completion_takes_does(warm):
    texts = (MAPPED.reference_solution, GREEDY + "    return [b - a for a, b in itertools.pairwise(xs)]\n")
    slot = Slot(SlotOptions(warm=warm))
    try:
        samples = tuple(Sample(index=number, text=text) for number, text in enumerate(texts))
        found = score(slot, Job(task=MAPPED, env=python_environment(), samples=samples))
    finally:
        slot.close()
    assert found.broken is None
    good, greedy = found.rows
    assert (good.outcome, good.label) == ("pass", None)
    assert greedy.outcome == "fail"
    assert "Cannot allocate memory" in str(greedy.evidence), greedy.evidence
