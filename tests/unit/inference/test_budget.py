"""Prices before the start, limits while it runs."""

from __future__ import annotations

import pytest

from novelapi.inference.budget import Budget, Meter, estimate_usage
from novelapi.inference.profile import ModelProfile
from novelapi.records.completion import Completion, Request

PRICED = ModelProfile(usd_per_million_prompt_tokens=2, usd_per_million_completion_tokens=10)


def test_a_plan_is_priced_at_its_worst_case():
    usage = estimate_usage([Request(prompt="p", n=3, max_tokens=1000)] * 2, PRICED, count=lambda _: 500)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 1000, 6000)
    assert usage.usd == pytest.approx(0.002 + 0.06)


def test_an_expected_length_gives_a_better_guess():
    usage = estimate_usage([Request(prompt="p", n=2, max_tokens=1000)], PRICED, lambda _: 0, answer_tokens=100)
    assert usage.completion_tokens == 200


@pytest.mark.parametrize(
    ("budget", "fit"),
    [
        (Budget(), 10),
        (Budget(calls=4), 4),
        # 100 prompt tokens and 100 at most for the answer are set aside for each request.
        (Budget(tokens=999), 4),
        # 100 x 2 + 100 x 10 dollars per million.
        (Budget(usd=0.0036), 3),
        (Budget(calls=0), 0),
    ],
)
def test_reservations_never_pass_the_budget(budget, fit):
    meter = Meter(budget, PRICED, lambda _: 100)
    assert sum(meter.reserve(Request(prompt="p", max_tokens=100)) is not None for _ in range(10)) == fit


def test_settling_gives_back_what_was_not_used():
    meter = Meter(Budget(tokens=400), PRICED, lambda _: 100)
    request = Request(prompt="p", max_tokens=200)
    reserved = meter.reserve(request)
    assert reserved is not None
    assert meter.reserve(request) is None
    meter.settle(reserved, Completion(texts=("x",), prompt_tokens=50, completion_tokens=10))
    assert meter.spent.prompt_tokens + meter.spent.completion_tokens == 60
    assert meter.reserve(request) is not None


def test_failed_requests_count_as_calls_but_cost_no_tokens():
    meter = Meter(Budget(calls=1), PRICED, lambda _: 1)
    request = Request(prompt="p")
    reserved = meter.reserve(request)
    assert reserved is not None
    meter.settle(reserved, Completion(failure="transient"))
    assert (meter.spent.failed, meter.spent.usd) == (1, 0)
    assert meter.reserve(request) is None
