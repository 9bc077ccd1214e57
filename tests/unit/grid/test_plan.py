"""What a cell would cost before it starts."""

from __future__ import annotations

from novelapi import jsonl
from novelapi.fingerprint import file_digest
from novelapi.grid.plan import plan_cell
from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.profile import ModelProfile
from novelapi.layout import Layout
from novelapi.records.cell import Cell, Retrieval, Sampling
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import Scripted, numpy_task

TASKS = [numpy_task(number, description=f"Do {number}.") for number in (1, 2)]


class Priced(Scripted):
    profile = ModelProfile(usd_per_million_completion_tokens=1e6)


def cell(layout, **fields):
    jsonl.write(layout.stage("numpy", "stage1_discovery", "m"), [])
    knowledge = layout.stage("numpy", "stage2_knowledge", "m")
    jsonl.write(knowledge, [numpy_bundle().to_row()])
    path = layout.instance("numpy", "m") / "instance.jsonl"
    jsonl.write(path, (task.to_row() for task in TASKS))
    given = {
        "experiment": "numpy-m", "group": "numpy", "model": "m", "model_revision": "1", "condition": "full",
        "delivery": "oracle", "instance_sha": file_digest(path), "bundles_sha": file_digest(knowledge),
        "sampling": Sampling(max_tokens=3),
    }  # fmt: skip
    return Cell.model_validate(given | fields)


def test_requests_are_counted_at_their_longest_and_priced(tmp_path):
    layout = Layout(tmp_path)
    usage = plan_cell(cell(layout), layout, Priced())
    assert (usage.calls, usage.completion_tokens, usage.usd) == (2, 6, 6.0)
    assert usage.prompt_tokens > 100


def test_more_knowledge_costs_more_and_a_limit_less(tmp_path):
    layout = Layout(tmp_path)
    full = plan_cell(cell(layout), layout, Priced()).prompt_tokens
    assert plan_cell(cell(layout, condition="baseline"), layout, Priced()).prompt_tokens < full
    assert plan_cell(cell(layout, limit=1), layout, Priced()).calls == 1
    rag = plan_cell(cell(layout, delivery="rag", retrieval=Retrieval()), layout, Priced())
    assert rag.prompt_tokens == full  # the one bundle there is


def test_what_is_recorded_costs_nothing_and_what_is_too_long_is_said(tmp_path):
    layout, model = Layout(tmp_path), Priced()
    asked = cell(layout, condition="baseline", sampling=Sampling(max_tokens=64))
    with CompletionCache(layout.completions / "cache.sqlite") as cache:
        from novelapi.inference.prompts import build_prompt

        CachedCompleter(model, cache).complete([build_prompt(TASKS[0], "")], asked.sampling)
    usage = plan_cell(asked, layout, model)
    assert (usage.calls, usage.cached) == (1, 1)
    model.profile = ModelProfile(window=80)
    assert plan_cell(asked, layout, model).failed == 2
