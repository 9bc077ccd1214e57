"""A call with the required values has to be the one whose result is used."""

import pytest

from novelapi.evaluation import outcome
from novelapi.execution.environments import python_environment
from novelapi.execution.harness import prepare
from novelapi.execution.trial import observe
from novelapi.execution.zygote import Zygote
from tests.sandbox.tasks import FMEAN, task

pytestmark = pytest.mark.sandbox
DIGEST = task(
    "digest", "hashlib.new", "def solve(text):",
    "return hashlib.new('sha256', text.encode(), usedforsecurity=False).hexdigest()",
    [["'a'"], ["'b'"]], context="import hashlib\n",
    calls={"api": "hashlib.new", "required": {"usedforsecurity": "False"}},
)  # fmt: skip
"""The target's result has no plain form: a weak task."""
USED = [
    (FMEAN, "return statistics.fmean(xs, weights=ws)", "pass"),
    (FMEAN, "statistics.fmean(xs)\n    return statistics.fmean(data=xs, weights=list(ws))", "pass"),
    (FMEAN, "total = [x * w for x, w in zip(xs, ws)]\n    statistics.fmean(xs, weights=ws)\n    return statistics.fmean(total) * len(xs) / sum(ws)", "fail"),
    (DIGEST, "hashlib.new('md5', b'')\n    return hashlib.new('sha256', text.encode(), usedforsecurity=False).hexdigest()", "pass"),
    (DIGEST, "hashlib.new('sha256', text.encode(), usedforsecurity=False)\n    return hashlib.new('sha256', text.encode()).hexdigest()", "fail"),
]  # fmt: skip


@pytest.fixture(scope="module")
def zygote():
    found = Zygote(python_environment(), ("statistics", "hashlib"))
    yield found
    found.close()


@pytest.mark.parametrize(("task", "body", "wanted"), USED)
def test_the_required_call_is_the_one_that_is_used(zygote, task, body, wanted):
    harness = prepare(zygote, task)
    assert harness.integrity == ("strong" if task is FMEAN else "weak")
    code = f"{task.signature}\n    {body}\n"
    seen = observe(zygote, task, harness, code, "fork")
    assert seen.infra is None, seen.infra
    assert all(found.equal for found in seen.inputs)
    assert outcome.row(task, harness, seen, sample=0, text=code).outcome == wanted
