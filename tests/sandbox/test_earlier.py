"""Objects that no change of their state can replace: the result of the call before takes their place."""

from __future__ import annotations

import pytest

from novelapi.evaluation import outcome
from novelapi.execution import trial
from novelapi.execution.environments import python_environment
from novelapi.execution.guest import perturb
from novelapi.execution.harness import prepare
from novelapi.execution.zygote import Zygote
from tests.sandbox.tasks import task

pytestmark = pytest.mark.sandbox

NAMED = task(
    "named", "uuid.uuid5", "def solve(name):", "return uuid.uuid5(uuid.NAMESPACE_DNS, name).hex[:8]",
    [["'a.org'"], ["'b.org'"], ["'c.org'"]], context="import uuid\n",
)  # fmt: skip
DEAD = """import hashlib
def solve(name):
    uuid.uuid5(uuid.NAMESPACE_DNS, name)
    return hashlib.sha1(uuid.NAMESPACE_DNS.bytes + name.encode()).hexdigest()[:8]
"""


@pytest.fixture(scope="module")
def prepared():
    zygote = Zygote(python_environment(), ("uuid", "hashlib"))
    yield zygote, prepare(zygote, NAMED)
    zygote.close()


def found(prepared, code):
    zygote, harness = prepared
    seen = trial.observe(zygote, NAMED, harness, code, "fork")
    assert seen.infra is None, seen.infra
    return outcome.row(NAMED, harness, seen, sample=0, text=code)


def test_the_proof_is_strong(prepared):
    harness = prepared[1]
    assert (harness.integrity, harness.stub) == ("strong", "earlier")
    assert found(prepared, f"# own\n{NAMED.reference_solution}").outcome == "pass"


def test_the_right_answer_without_the_result_fails(prepared):
    row = found(prepared, DEAD)
    assert row.outcome == "fail", row.evidence
    assert "does not depend on" in (row.reason or ""), row.reason


class Even:
    """Refuses odd numbers, also when it is made anew."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self):
        return make, (self.number,)


def make(number):
    if number % 2:
        raise ValueError("odd")
    return Even(number)


def test_a_state_that_its_class_refuses_replaces_nothing():
    with pytest.raises(perturb.Same, match="odd"):
        perturb.sound(perturb.perturb(Even(2), "values"))
    assert perturb.sound(Even(2)).number == 2
