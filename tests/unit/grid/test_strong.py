"""Roles of a strong model against an endpoint: what it writes is marked, run, kept or refused with a reason; replay."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.adapters.openai_model import OpenAIModel
from novelapi.commands.export import export_completions
from novelapi.errors import UsageError
from novelapi.generation import authored
from novelapi.grid.opinions import with_opinions
from novelapi.inference.cache import CompletionCache
from novelapi.inference.probe import probe_apis
from novelapi.inference.replay import Replay
from novelapi.knowledge.trials import ObservedCall, Trial
from novelapi.layout import Layout
from novelapi.records.request import LibraryRequest
from novelapi.records.verdict import ResultRow
from tests.fakes.bundles import numpy_bundle
from tests.fakes.openai_server import fake_openai
from tests.fakes.tasks import numpy_task

REQUEST = LibraryRequest(library="numpy", model="m", old="1.26.2", new="2.4.4", author="strong")
BUNDLES = [numpy_bundle("unstack"), numpy_bundle("matvec", m_prose="It multiplies a matrix by a vector.")]
GOOD = "import numpy as np\nprint(np.{leaf}(np.eye(3)))"


def strong_answers(body, _attempt):
    """Answer each role: the author's second example does not run, and its prose about matvec names the API."""
    prompt = body["messages"][-1]["content"]
    leaf = "unstack" if "numpy.unstack" in prompt or "cuts an array" in prompt else "matvec"
    if "Name the cause" in prompt:
        return json.dumps({"label": "WrongParam", "reason": "the axis was refused"})
    if "Explain how" in prompt:
        return json.dumps({"text": "It cuts an array into parts." if leaf == "unstack" else "matvec multiplies."})
    if "its name is masked" in prompt:
        return "```python\nfrom numpy import unstack\n```"
    codes = [GOOD.format(leaf=leaf), f"import numpy as np\nnp.{leaf}(1, 2, 3)"]
    return "Here:\n```json\n" + json.dumps({"examples": [{"code": code} for code in codes]}) + "\n```"


def trial(ok, output=""):
    call = ObservedCall(api="x", positional=1, keywords=(), raised=None if ok else "TypeError")
    return Trial(
        ok=ok, error_type=None if ok else "TypeError", error_message="" if ok else "bad call", output=output,
        calls=(call,), objects={}, cpu_ms=1,
    )  # fmt: skip


@pytest.fixture
def layout(tmp_path, monkeypatch):
    runs = []

    def run(_env, programs, *, roots):
        runs.append([program.code for program in programs])
        return {item.id: trial("eye" in item.code, f"ran {item.targets[0]}\n") for item in programs}

    monkeypatch.setattr(authored, "run_programs", run)
    layout = Layout(tmp_path)
    jsonl.write(layout.stage("numpy", "stage1_discovery", "m"), [])
    return layout


def improve(layout, completer, bundles=BUNDLES):
    return authored.improver(REQUEST, layout, completer)(bundles, None)


def test_what_the_author_writes_is_run_marked_and_kept_or_refused_with_a_reason(layout):
    with fake_openai(strong_answers) as server:
        (unstack, matvec), usage = improve(layout, OpenAIModel("tiny", base_url=server.base_url))
    assert unstack.m_prose == "It cuts an array into parts."
    assert unstack.provenance["author_m_prose"]["rejected"] is None
    assert unstack.provenance["author_m_prose"]["model"].startswith("tiny@")
    assert unstack.exemplars[-1].output == "ran numpy.unstack\n"
    assert unstack.exemplars[-1].source == "model"
    assert unstack.provenance["author_e"]["rejected"] == ["the example does not run (TypeError: bad call)"]
    assert matvec.m_prose == BUNDLES[1].m_prose
    assert matvec.provenance["author_m_prose"]["rejected"] == "the text names the API (matvec)"
    assert usage["calls"] == 4


def test_an_example_that_runs_without_calling_the_api_is_refused():
    idle = Trial(ok=True, error_type=None, error_message="", output="", calls=(), objects={}, cpu_ms=1)
    assert authored.read_trial(idle).reason == "the example never calls the API"


def test_a_build_replays_offline_and_one_missing_answer_costs_only_its_item(layout, tmp_path, monkeypatch):
    with fake_openai(strong_answers) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        first, _ = improve(layout, model)
        asked = len(server.requests)
        assert improve(layout, model)[0] == first
        assert len(server.requests) == asked  # nothing is sent twice
    file = tmp_path / "recorded.jsonl"
    monkeypatch.setattr("novelapi.settings.load_settings", type("S", (), {"home_dir": layout.home}))
    assert export_completions(file) == 4

    def replay(rows, name):
        other = Layout(tmp_path / name)
        jsonl.write(other.stage("numpy", "stage1_discovery", "m"), [])
        jsonl.write(tmp_path / f"{name}.jsonl", rows)
        with CompletionCache(other.completions / "cache.sqlite") as cache:
            cache.load(tmp_path / f"{name}.jsonl")
        return improve(other, Replay(model))[0]

    rows = jsonl.read(file)
    assert replay(rows, "all") == first
    kept = [item for item in rows if "It cuts an array into parts." not in item["completion"]["texts"][0]]
    assert len(kept) == 3
    unstack, matvec = replay(kept, "short")
    assert matvec == first[1]
    assert unstack.m_prose == BUNDLES[0].m_prose
    assert unstack.provenance["author_m_prose"]["rejected"].startswith("unrecorded: ")
    assert unstack.exemplars[-1].source == "model"


def test_nothing_recorded_is_one_readable_line(tmp_path, monkeypatch):
    monkeypatch.setattr("novelapi.settings.load_settings", type("S", (), {"home_dir": tmp_path}))
    with pytest.raises(UsageError, match="nothing is recorded yet"):
        export_completions(tmp_path / "x.jsonl")


def row(number, **fields):
    data = {"task_id": f"numpy/unstack/{number}", "sample": 0, "outcome": "fail", "reason": "r", "integrity": "strong"}
    return ResultRow.model_validate(data | fields)


def test_a_second_opinion_is_a_column_with_an_agreement_and_never_the_verdict(layout, tmp_path):
    rows = [row(1, label="WrongParam"), row(2, label="WrongLogic"), row(3, outcome="pass", label=None)]
    with fake_openai(strong_answers) as server:
        told, agreement, usage = with_opinions(
            rows, [numpy_task(number, description=f"Do {number}.") for number in (1, 2, 3)], OpenAIModel("tiny", base_url=server.base_url),
            tmp_path / "cell", layout,
        )  # fmt: skip
    assert [(item.label, item.opinion) for item in told] == [
        ("WrongParam", "WrongParam"),
        ("WrongLogic", "WrongParam"),
        (None, None),
    ]
    assert (agreement.pairs, agreement.observed) == (2, 0.5)
    written = [ResultRow.model_validate(item) for item in jsonl.read(tmp_path / "cell" / "results.jsonl")]
    assert written == told
    assert usage.calls + usage.cached == 2


def test_the_probe_asks_once_per_api_and_reads_path_and_name(layout):
    bundles = {item.api: item for item in BUNDLES}
    cache = layout.completions / "cache.sqlite"
    with fake_openai(strong_answers) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        found, _ = probe_apis(bundles, model, {}, cache)
        again, usage = probe_apis(bundles, model, {}, cache)
        assert len(server.requests) == 2
    assert [(item.api, item.import_path, item.call_name) for item in found] == [
        ("numpy.matvec", False, False),
        ("numpy.unstack", True, True),
    ]
    assert again == found
    assert (usage.calls, usage.cached) == (0, 2)
