"""Tasks of several APIs: a value has to go from one call into the other, and nothing that only looks like it counts."""

import pytest

from novelapi.evaluation.outcome import passes
from novelapi.execution.environments import python_environment
from novelapi.execution.harness import HarnessError, prepare
from novelapi.execution.trial import observe
from novelapi.execution.zygote import Zygote
from novelapi.records.task import Task

pytestmark = pytest.mark.sandbox


def linked(body, calls, links, inputs, signature="def solve(xs, k):", context="import heapq, statistics, math\n"):
    return Task(
        task_id="linked", library="python", api=calls[0], description="d", context_code=context, entry_point="solve",
        signature=signature, reference_solution=f"{signature}\n    {body}\n", inputs=[{"args": args} for args in inputs],
        calls=[{"api": api} for api in calls],
        links=[{"source": source, "target": target, "parameter": name} for source, target, name in links],
    )  # fmt: skip


MEAN = linked(
    "first = heapq.nsmallest(k, xs)\n    return statistics.fmean(first)",
    ["heapq.nsmallest", "statistics.fmean"], [(0, 1, "data")],
    [["[5, 1, 4, 2]", "2"], ["[9, 8, 3, 7]", "3"], ["[6, 2, 2, 8]", "2"]],
)  # fmt: skip
NUMBER = linked(
    "first = math.isqrt(n)\n    return math.comb(12, first)", ["math.isqrt", "math.comb"], [(0, 1, "k")],
    [["17"], ["30"], ["50"]], signature="def solve(n):",
)  # fmt: skip
"""A single number goes over: only one kind of replacement changes it."""

RIGHT = {
    "as the reference": "return statistics.fmean(heapq.nsmallest(k, xs))",
    "by a copy": "return statistics.fmean(list(heapq.nsmallest(k, xs)))",
    "by keyword": "found = heapq.nsmallest(n=k, iterable=xs)\n    return statistics.fmean(data=found)",
}
WRONG = {
    "the second is called on the input": "heapq.nsmallest(k, xs)\n    return statistics.fmean(xs)",
    "the value is made by hand": "heapq.nsmallest(k, xs)\n    return statistics.fmean(sorted(xs)[:k])",
    "the first is left out": "return statistics.fmean(sorted(xs)[:k])",
    "the second is left out": "return sum(heapq.nsmallest(k, xs)) / k",
    "given, and not used": "statistics.fmean(heapq.nsmallest(k, xs))\n    return sum(sorted(xs)[:k]) / k",
}


@pytest.fixture(scope="module")
def zygote():
    found = Zygote(python_environment(), ("heapq", "math", "statistics"))
    yield found
    found.close()


def seen_of(zygote, task, body):
    harness = prepare(zygote, task)
    code = body if body.startswith("_") else f"{task.signature}\n    {body}\n"
    seen = observe(zygote, task, harness, code, "fork")
    assert seen.infra is None, seen.infra
    return harness, seen


def test_the_reference_shows_where_each_result_goes(zygote):
    harness = prepare(zygote, MEAN)
    assert harness.integrity == "strong"
    assert harness.members == ("values", "values")
    assert harness.linked == ((0, 1, 2),)


@pytest.mark.parametrize("name", RIGHT)
def test_a_value_may_go_over_in_any_way(zygote, name):
    harness, seen = seen_of(zygote, MEAN, RIGHT[name])
    assert passes(MEAN, harness, seen)
    assert seen.integrity == "strong"


@pytest.mark.parametrize("name", WRONG)
def test_a_right_answer_with_a_broken_link_fails(zygote, name):
    harness, seen = seen_of(zygote, MEAN, WRONG[name])
    assert not passes(MEAN, harness, seen)


@pytest.mark.parametrize(
    ("task", "known", "calls"),
    [
        (MEAN, "[[1, 2], [3, 7, 8], [2, 2]]", "heapq.nsmallest(k, xs)\n    return statistics.fmean(_known.pop(0))"),
        (NUMBER, "[4, 5, 7]", "math.isqrt(n)\n    return math.comb(12, _known.pop(0))"),
    ],
    ids=["list", "number"],
)
def test_values_that_are_known_by_heart_are_found_out(zygote, task, known, calls):
    """Also by kinds of replacement that leave a value as it is: what was not replaced proves nothing."""
    harness, seen = seen_of(zygote, task, f"_known = {known}\n{task.signature}\n    {calls}\n")
    assert all(found.equal for found in seen.inputs)
    assert not passes(task, harness, seen)


def test_a_reference_that_breaks_its_own_link_is_refused(zygote):
    code = f"{MEAN.signature}\n    {WRONG['the second is called on the input']}\n"
    broken = MEAN.model_copy(update={"reference_solution": code, "expected": None})
    with pytest.raises(HarnessError, match=r"never gives statistics.fmean what heapq.nsmallest returned"):
        prepare(zygote, broken)


def test_a_reference_that_makes_the_value_by_hand_proves_nothing(zygote):
    code = f"{MEAN.signature}\n    {WRONG['the value is made by hand']}\n"
    assert prepare(zygote, MEAN.model_copy(update={"reference_solution": code})).integrity == "weak"


BOTH = linked(
    "return [heapq.nsmallest(k, xs), statistics.fmean(xs)]", ["heapq.nsmallest", "statistics.fmean"], [],
    [["[5, 1, 4, 2]", "2"], ["[9, 8, 3, 7]", "3"], ["[6, 2, 2, 8]", "2"]],
)  # fmt: skip
"""Two results that do not meet."""
ONE_FOR_SHOW = {
    "the first": "heapq.nsmallest(k, xs)\n    return [sorted(xs)[:k], statistics.fmean(xs)]",
    "the second": "statistics.fmean(xs)\n    return [heapq.nsmallest(k, xs), sum(xs) / len(xs)]",
}
SETTING = linked(
    "calendar.setfirstweekday(d)\n    return calendar.weekheader(2)", ["calendar.setfirstweekday", "calendar.weekheader"],
    [], [["3"], ["5"], ["2"]], signature="def solve(d):", context="import calendar\n",
)  # fmt: skip
SETTING = SETTING.model_copy(
    update={"calls": (SETTING.calls[0].model_copy(update={"result_flows": False}), SETTING.calls[1])}
)
"""The first only sets something up: its result is not asked for, that of the second is."""
BY_HAND = (
    "calendar.setfirstweekday(d)\n    calendar.weekheader(2)\n"
    "    days = 'Mo Tu We Th Fr Sa Su'.split()\n    return ' '.join(days[d:] + days[:d])"
)


@pytest.mark.parametrize("task", [BOTH, SETTING], ids=["both", "setting"])
def test_each_result_of_several_calls_has_to_be_used(zygote, task):
    harness, seen = seen_of(zygote, task, task.reference_solution.partition("\n")[2].strip())
    assert harness.integrity == "strong"
    assert [bool(kind) for kind in harness.members] == [call.result_flows for call in task.calls]
    assert passes(task, harness, seen)
    assert seen.integrity == "strong"


@pytest.mark.parametrize(
    ("task", "body"),
    [(BOTH, body) for body in ONE_FOR_SHOW.values()] + [(SETTING, BY_HAND)],
    ids=[*ONE_FOR_SHOW, "the one that was set up"],
)
def test_no_result_of_several_calls_is_there_for_show(zygote, task, body):
    harness, seen = seen_of(zygote, task, body)
    assert all(found.equal for found in seen.inputs)
    assert not passes(task, harness, seen)
