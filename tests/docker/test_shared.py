"""What samples of a container share cannot be used: not against the server of real calls, not by a sample after it."""

import pytest

from novelapi.execution.sandbox import GUEST
from tests.docker import attacks
from tests.redteam import honest

pytestmark = pytest.mark.docker
GOLD = honest.SOLUTIONS[0][1]
INSIDE = "import os\ndef solve(xs):\n    {}\n    return None\n"


def seen(ground, code):
    return ground.run(code).evidence.get("stdout", "")


@pytest.mark.parametrize(("name", "code"), attacks.ON_OTHERS, ids=[row[0] for row in attacks.ON_OTHERS])
def test_no_reach_to_other_processes(ground, name, code):
    row = ground.run(code)
    assert "REACHED" not in row.evidence.get("stdout", "")
    assert row.outcome == "fail"
    assert row.evidence.get("ended") is None, row.evidence
    after = ground.run(GOLD)
    assert (after.outcome, after.integrity) == ("pass", "strong")


def test_the_attacks_see_whom_they_attack(ground):
    """A server of real calls does run beside, as another user, and so do the parent and the first process."""
    row = ground.run(
        attacks.attack("print('FOUND', len(others()), sum('keeper.py' in line for line in others().values()))")
    )
    assert row.evidence["stdout"].split() == ["FOUND", "3", "1"]
    assert (GUEST / "keeper.py").exists()


@pytest.mark.parametrize(("name", "code"), attacks.LEAVE, ids=[row[0] for row in attacks.LEAVE])
def test_files_do_not_stay(ground, name, code):
    row = ground.run(code)
    assert "Error" not in row.reason, row.reason
    look = "print(os.listdir('/scratch'), os.listdir('/dev/shm'), os.listdir('/dev/mqueue'), os.statvfs('/scratch').f_bfree == os.statvfs('/scratch').f_blocks)"
    assert seen(ground, INSIDE.format(look)).strip() == "[] [] [] True"


@pytest.mark.parametrize(("name", "code"), attacks.STAY, ids=[row[0] for row in attacks.STAY])
def test_processes_do_not_stay(ground, name, code):
    ground.run(code)
    mine = "print(sorted(p for p in os.listdir('/proc') if p.isdigit() and 'Uid:\\t%d\\t' % os.getuid() in open('/proc/%s/status' % p).read()) == [str(os.getpid())])"
    assert seen(ground, INSIDE.format(mine)).strip() == "True"
    assert ground.run(GOLD).outcome == "pass"
