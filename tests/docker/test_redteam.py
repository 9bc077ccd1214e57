"""The red-team corpus in a container: no forged pass, no way out, no hang; every honest solution passes.

A container has one process table for all of its samples. What that changes is listed here, attack by attack.
"""

import pytest

from tests.redteam import forgeries, honest, reaches

pytestmark = pytest.mark.docker
FORGED = [(f"{kind}: {name}", code) for kind, rows in forgeries.ALL.items() for name, code, _ in rows]
ALL = [*FORGED, *reaches.ATTACKS, *honest.SOLUTIONS]
WEAK_AT_BEST = "the spy's own closure, and another answer when replaced"
SLACK_S = 1.0

OTHERWISE = {
    "processes of the host": "sees the first process of its container and the warm parent, none of the host's",
    "parent process": "its parent is the warm parent, another user's process",
}
"""Attacks that reach what their words say, with what it is."""

RACES = {
    "exit: fork, the parent exits": "its child may answer (wrongly) in the moment before it is ended",
    "source: many constants": "to compile it takes about the CPU time that a sample may use: the limit ends it, or not",
}
"""Attacks whose label hangs on a moment, with the reason."""


@pytest.mark.parametrize(("name", "code"), FORGED, ids=[row[0] for row in FORGED])
def test_no_forged_pass(ground, name, code):
    row = ground.run(code)
    assert not (row.outcome == "pass" and row.integrity == "strong"), row.evidence
    if WEAK_AT_BEST not in name:
        assert row.outcome == "fail", row.reason
    assert row.label is not None or row.outcome == "pass"


@pytest.mark.parametrize(("name", "code"), reaches.ATTACKS, ids=[row[0] for row in reaches.ATTACKS])
def test_no_way_out(ground, name, code):
    row = ground.run(code)
    assert ("REACHED" in row.evidence.get("stdout", "")) == (name in OTHERWISE), row.evidence["stdout"]
    assert row.outcome == "fail"


@pytest.mark.parametrize(("name", "code"), ALL, ids=[row[0] for row in ALL])
def test_the_verdict_is_that_of_bubblewrap(ground, in_bubblewrap, name, code):
    here, there = ground.run(code), in_bubblewrap.run(code)
    assert (here.outcome, here.integrity) == (there.outcome, there.integrity)
    if name not in RACES:
        assert (here.label, here.evidence.get("ended")) == (there.label, there.evidence.get("ended"))


@pytest.mark.parametrize(("name", "code"), reaches.RESOURCES, ids=[row[0] for row in reaches.RESOURCES])
def test_no_hang(ground, name, code):
    row = ground.run(code)
    assert row.outcome == "fail"
    assert ground.elapsed <= ground.limits.wall_s + SLACK_S
    assert ground.run(honest.SOLUTIONS[0][1]).outcome == "pass"  # the parent serves on


@pytest.mark.parametrize(("name", "code"), honest.SOLUTIONS, ids=[row[0] for row in honest.SOLUTIONS])
def test_honest_solutions_pass(ground, name, code):
    row = ground.run(code)
    assert row.outcome == "pass", (row.label, row.reason, row.evidence.get("stdout"))
    if "own iterable" not in name and "subclass" not in name:
        assert row.integrity == "strong", [call.where for call in row.calls]
