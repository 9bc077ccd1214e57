"""C0: the old release must fail because of the target, or answer differently where the API was changed."""

from types import SimpleNamespace

import pytest

from novelapi.filters import release
from novelapi.filters.release import ReleaseCheck, check
from novelapi.records.environment import Environment
from novelapi.records.verdict import ErrorEvidence, Frame
from tests.fakes.tasks import numpy_task

ENV = Environment.model_construct(key="numpy-1", library="numpy", release="1", prefix="/x", python_version="3.11.7")


def error(kind, message, name=None, where="library"):
    return ErrorEvidence.model_construct(
        type=f"builtins.{kind}", message=message, name=name, frames=(Frame.model_construct(where=where),)
    )


def run(**fields):
    return SimpleNamespace(**{"answers": [], "error": None, "ended": None, "infra": None} | fields)


def value(item):
    return SimpleNamespace(value=item, is_value=True, error=None, opaque=None)


def verdict(monkeypatch, *runs, **fields):
    """Return the verdict for a task whose two runs in the old release are given: the empty one and the reference."""
    queue = list(runs)
    monkeypatch.setattr(release, "run_code", lambda *_a, **_k: queue.pop(0))
    monkeypatch.setattr(release, "verdict_on", lambda answer, item, _c: None if answer.value == item else "other")
    task = numpy_task(expected=([[1]], [[2]]), **fields)
    slot = SimpleNamespace(zygote=lambda *_a: None)
    return check(slot, ReleaseCheck(task=task, env=ENV))


CLEAN = run()

# change, the reference's run in the old release, whether it passes, reason
TABLE = [
    ("added", run(error=error("AttributeError", "module 'numpy' has no attribute 'unstack'", "unstack")), True, "the old release does not have it"),
    ("added", run(error=error("ImportError", "cannot import name 'unstack'", "unstack")), True, "the old release does not have it"),
    ("added", run(error=error("ZeroDivisionError", "division by zero")), False, "the old release fails for another reason"),
    ("added", run(answers=[value([[1]]), value([[2]])]), False, "the old release gives the same answers"),
    ("added", run(answers=[value([[1]]), value([[3]])]), False, "the old release has it, with other answers"),
    ("modified", run(answers=[value([[1]]), value([[3]])]), True, "the old release answers differently"),
    ("modified", run(answers=[value([[1]]), value([[2]])]), False, "the old release gives the same answers"),
    ("modified", run(error=error("TypeError", "got an unexpected keyword argument 'axis'")), True, "the old release refuses the call"),
    ("modified", run(error=error("NameError", "name 'q' is not defined", "q", "completion")), False, "the old release fails for another reason"),
    ("added", run(ended="signal"), False, "the old release ends without an answer"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reference", "passed", "reason"), TABLE)
def test_verdicts(monkeypatch, change, reference, passed, reason):
    found = verdict(monkeypatch, CLEAN, reference, change=change)
    assert (found.passed, found.reason) == (passed, reason)


EARLIER = run(error=error("AttributeError", "module 'numpy' has no attribute 'other'", "other", "completion"))


@pytest.mark.parametrize(
    ("looked_up", "passed", "reason"),
    [
        (run(answers=[value(False), value(False)]), True, "the old release has neither it nor what goes before it"),
        (run(answers=[value(True), value(True)]), False, "the old release fails for another reason"),
        (run(ended="signal"), False, "the old release fails for another reason"),
    ],
    ids=["the target is missing too", "the target is there", "nobody knows"],
)
def test_what_stops_before_the_target_is_looked_up(monkeypatch, looked_up, passed, reason):
    found = verdict(monkeypatch, CLEAN, EARLIER, looked_up, change="added")
    assert (found.passed, found.reason) == (passed, reason)


def test_a_context_that_stops_for_want_of_another_name(monkeypatch):
    missing, there = run(answers=[value(False)]), run(answers=[value(True)])
    assert verdict(monkeypatch, EARLIER, missing, change="added").passed
    assert not verdict(monkeypatch, EARLIER, there, change="added").passed
    assert not verdict(monkeypatch, EARLIER, change="modified").passed
    assert not verdict(monkeypatch, run(error=error("ValueError", "no")), change="added").passed


def test_a_changed_api_is_never_new_for_want_of_another_name(monkeypatch):
    assert not verdict(monkeypatch, CLEAN, EARLIER, change="modified").passed


THERE = run(answers=[value(True)])


@pytest.mark.parametrize("name", ["json.dumps", "json.none", "json.decoder.JSONDecoder", "json.decoder.x", "nothing.x"])
def test_lookups(name):
    space = {}
    exec(release._LOOKUP.format(signature="def solve():", parts=name.split(".")), space)
    wanted = {"json.dumps": True, "json.decoder.JSONDecoder": True, "nothing.x": None}
    assert space["solve"]() is wanted.get(name, False)


def test_a_context_that_does_not_run_proves_nothing(monkeypatch):
    broken = run(error=error("ImportError", "cannot import name 'other'", "other"))
    found = verdict(monkeypatch, broken, THERE)
    assert not found.passed
    assert found.reason == "the context or the inputs do not run in the old release"
    assert "other" in found.detail["old_error"]


@pytest.mark.parametrize("field", ["error", "infra"])
def test_no_folder_of_the_machine_is_told(monkeypatch, field):
    words = "cannot import name 'other' from 'numpy' (/somebody/envs/numpy-1/lib/python3.11/site-packages/numpy/__init__.py)"
    broken = run(**{field: error("ImportError", words, "other") if field == "error" else words})
    found = verdict(monkeypatch, broken, THERE)
    assert found.detail["old_error"].endswith("cannot import name 'other' from 'numpy' (numpy/__init__.py)")


def test_without_an_old_release_it_holds():
    found = check(None, ReleaseCheck(task=numpy_task(), env=None))
    assert (found.passed, found.reason) == (True, "no prior release")
