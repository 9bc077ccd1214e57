"""A dry run counts what would be sent, and only that."""

from __future__ import annotations

from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.plan import plan_usage
from novelapi.inference.profile import ModelProfile
from novelapi.inference.prompts import Prompt
from novelapi.records.cell import Sampling
from tests.fakes.tasks import Scripted

PRICED = ModelProfile(usd_per_million_prompt_tokens=1, usd_per_million_completion_tokens=10)


def test_nothing_is_sent_and_everything_is_priced():
    model = Scripted()
    sampling = Sampling(n=3, max_tokens=1000)
    usage = plan_usage(["a", "b", "a"], model, sampling, profile=PRICED, count=lambda _: 100)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (4, 400, 6000)
    assert usage.usd == 0.0604
    assert model.asked == []


def test_recorded_answers_and_refused_prompts_cost_nothing(tmp_path):
    model = Scripted()
    with CompletionCache(tmp_path / "c") as cache:
        CachedCompleter(model, cache).complete(["a"], Sampling())
        usage = plan_usage(["a", "b", Prompt(text="long", refused="too long")], model, Sampling(n=2), cache)
    assert (usage.calls, usage.cached, usage.failed) == (3, 1, 1)


def test_the_plan_is_what_is_then_spent(tmp_path):
    model = Scripted()
    with CompletionCache(tmp_path / "c") as cache:
        planned = plan_usage(["a", "b"], model, Sampling(n=2), cache)
        completer = CachedCompleter(model, cache)
        completer.complete(["a", "b"], Sampling(n=2))
        assert completer.usage.calls == planned.calls
        assert plan_usage(["a", "b"], model, Sampling(n=2), cache).calls == 0
