"""No forged pass, no way out, no hang; every honest solution passes."""

import os
from pathlib import Path

import pytest

from tests.redteam import forgeries, honest, naive, reaches

pytestmark = pytest.mark.sandbox
FORGED = [(kind, *row) for kind, rows in forgeries.ALL.items() for row in rows]
NAMES = [f"{kind}: {name}" for kind, name, _, _ in FORGED]
SLACK_S = 1.0


def children():
    """Count the processes below this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = path.read_text().split(" (", 1)
            parents[int(pid)] = int(rest.rsplit(") ", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
    found, new = set(), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return len(found)


def test_there_are_enough_attacks():
    assert len(FORGED) + len(reaches.ATTACKS) + len(reaches.RESOURCES) >= 80


@pytest.mark.parametrize(("kind", "name", "code", "bites"), FORGED, ids=NAMES)
def test_no_forged_pass(ground, kind, name, code, bites):
    row = ground.run(code)
    assert not (row.outcome == "pass" and row.integrity == "strong"), row.evidence
    if name != "the spy's own closure, and another answer when replaced":  # written against this harness: weak at best
        assert row.outcome == "fail", row.reason
    assert row.label is not None or row.outcome == "pass"


@pytest.mark.parametrize(
    ("kind", "name", "code", "bites"), [row for row in FORGED if row[3]], ids=[n for n, row in zip(NAMES, FORGED, strict=True) if row[3]]
)  # fmt: skip
def test_the_attack_is_one(kind, name, code, bites):
    """The same completion is a pass where the exit status decides."""
    assert naive.passes(code)


@pytest.mark.parametrize(("name", "code"), reaches.ATTACKS, ids=[row[0] for row in reaches.ATTACKS])
def test_no_way_out(ground, monkeypatch, name, code):
    row = ground.run(code)
    assert "REACHED" not in row.evidence.get("stdout", ""), row.evidence["stdout"]
    assert "no" in row.evidence["stdout"] or "kept out" in row.evidence["stdout"] or row.evidence.get("ended")
    assert row.outcome == "fail"


def test_nothing_is_left_for_the_next_sample(ground):
    ground.run(reaches.LEAVE)
    row = ground.run(reaches.LOOK)
    assert row.evidence["stdout"].strip() == "no"


@pytest.mark.parametrize(("name", "code"), reaches.RESOURCES, ids=[row[0] for row in reaches.RESOURCES])
def test_no_hang(ground, name, code):
    before = children()
    row = ground.run(code)
    assert row.outcome == "fail"
    assert ground.elapsed <= ground.limits.wall_s + SLACK_S
    assert children() == before
    assert ground.run(honest.SOLUTIONS[0][1]).outcome == "pass"  # the parent serves on


@pytest.mark.parametrize(("name", "code"), honest.SOLUTIONS, ids=[row[0] for row in honest.SOLUTIONS])
def test_honest_solutions_pass(ground, name, code):
    row = ground.run(code)
    assert row.outcome == "pass", (row.label, row.reason, row.evidence.get("stdout"))


@pytest.mark.parametrize(
    "name", [name for name, _ in honest.SOLUTIONS if "own iterable" not in name and "subclass" not in name]
)
def test_honest_solutions_are_proved(ground, name):
    row = ground.run(dict(honest.SOLUTIONS)[name])
    assert row.integrity == "strong", [call.where for call in row.calls]
