"""Strong models in their roles: what is asked, what is read, what is rejected with a reason."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from novelapi.adapters.openai_model import OpenAIModel
from novelapi.errors import NovelApiError
from novelapi.inference.agreement import measure_agreement
from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.probe import build_probe, read_probe, run_probes, score_probe
from novelapi.inference.replay import Replay
from novelapi.inference.requests import as_stream
from novelapi.inference.roles import (
    Opinion,
    WrittenExamples,
    WrittenInputs,
    WrittenMechanism,
    WrittenTask,
    WrittenTasks,
    leaked_name,
    reject_example,
    reject_mechanism,
    reject_task,
)
from novelapi.inference.strong import PromptedModel, read_json
from tests.fakes.openai_server import fake_openai
from tests.fakes.tasks import Scripted

QUESTIONS = {
    "author_examples": {
        "api": "numpy.unstack",
        "library": "numpy",
        "release": "2.4.4",
        "count": 2,
        "documentation": "docs",
        "known": "",
    },
    "author_mechanism": {
        "leaf": "unstack",
        "library": "numpy",
        "release": "2.4.4",
        "documentation": "docs",
        "source": "x",
        "least": 50,
        "most": 100,
    },
    "author_tasks": {
        "api": "numpy.unstack",
        "library": "numpy",
        "release": "2.4.4",
        "count": 3,
        "documentation": "docs",
        "change": "",
    },
    "author_inputs": {"description": "Do it.", "reference": "def solve(x): ...", "known": "solve(1)", "count": 4},
    "second_opinion": {"api": "numpy.unstack", "description": "Do it.", "code": "x", "evidence": "TypeError"},
}
TASK = {
    "difficulty": "easy",
    "description": "Return the parts.",
    "context_code": "import numpy as np\n",
    "signature": "def solve(x):",
    "reference_solution": "def solve(x):\n    return np.unstack(x)\n",
    "inputs": [{"args": ["np.eye(2)"], "kwargs": {}}],
}
ANSWERS = {
    "author_examples": (WrittenExamples, {"examples": [{"code": "import numpy as np\nprint(np.unstack(np.eye(2)))"}]}),
    "author_mechanism": (WrittenMechanism, {"text": "It cuts."}),
    "author_tasks": (WrittenTasks, {"tasks": [TASK]}),
    "author_inputs": (WrittenInputs, {"inputs": [{"args": ["1"], "kwargs": {}}]}),
    "second_opinion": (Opinion, {"label": "WrongParam", "reason": "It was refused."}),
}


@pytest.mark.parametrize("role", sorted(ANSWERS))
def test_every_role_end_to_end_and_replayed_offline(role, tmp_path):
    kind, reply = ANSWERS[role]
    with (
        fake_openai(lambda body, _: [f"Here you are:\n```json\n{json.dumps(reply)}\n```"]) as server,
        CompletionCache(tmp_path / "c") as cache,
    ):
        live = PromptedModel(CachedCompleter(OpenAIModel("tiny", base_url=server.base_url), cache))
        (first,) = live.ask(role, [QUESTIONS[role]], kind)
        offline = PromptedModel(Replay(OpenAIModel("tiny", base_url=server.base_url), cache))
        (second,) = offline.ask(role, [QUESTIONS[role]], kind)
        prompt = server.requests[0]["messages"][0]["content"]
    assert first == second
    assert first.value == kind.model_validate(reply)
    assert first.author.role == role
    assert len(server.requests) == 1
    assert "{{" not in prompt
    assert "{%" not in prompt


def test_a_missing_recording_falls_back_for_that_item_alone(tmp_path):
    model = Scripted()
    questions = [QUESTIONS["second_opinion"] | {"code": code} for code in ("a", "b")]
    with CompletionCache(tmp_path / "c") as cache:
        PromptedModel(CachedCompleter(model, cache)).ask("second_opinion", questions[:1], Opinion)
        known, missing = PromptedModel(Replay(model, cache)).ask("second_opinion", questions, Opinion)
    assert known.reason.startswith("the answer does not fit")
    assert missing.reason == "unrecorded: there is no recording of this answer"


def test_a_schema_is_sent_only_to_endpoints_with_structured_outputs():
    with fake_openai(lambda body, _: ['{"label": "WrongLogic"}']) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        for structured in (False, True):
            PromptedModel(model, structured=structured).ask("second_opinion", [QUESTIONS["second_opinion"]], Opinion)
    assert ["response_format" in body for body in server.requests] == [False, True]


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ('{"label": "WrongLogic", "reason": "x"}', "WrongLogic", ""),
        # Prose and fences around it.
        ('Sure!\n```json\n{"label": "WrongLogic"}\n```\nDone.', "WrongLogic", ""),
        # Several: the last that fits.
        ('{"label": "WrongParam"} no, {"label": "WrongSyntax"} {"other": 1}', "WrongSyntax", ""),
        # Line ends inside a text, as models write them.
        ('{"label": "WrongLogic", "reason": "two\nlines"}', "WrongLogic", ""),
        # Braces in prose before it.
        ('The set {1, 2} is {not} JSON: {"label": "WrongLogic"}', "WrongLogic", ""),
        ('{"label": "Unheard"}', None, "does not fit: label"),
        ("Je ne sais pas.", None, "no JSON object"),
        ('{"label": "WrongLogic"', None, "no JSON object"),
        ("", None, "no JSON object"),
        ("{" * 5000, None, "no JSON object"),
    ],
)
def test_reading_json(text, label, reason):
    value, why = read_json(text, Opinion)
    assert (value.label if value else None) == label
    assert reason in why
    assert bool(why) is (value is None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import numpy as np\nnp.unstack(x)", None),
        ("from numpy import unstack\nunstack(x)", None),
        # A property is read, not called.
        ("x.unstack", None),
        ("import numpy as np\nnp.stack(x)", "does not use unstack"),
        ("print('unstack')", "does not use unstack"),
        ("np.unstack(", "does not compile"),
    ],
)
def test_examples(code, reason):
    found = reject_example(code, "numpy.unstack")
    assert (reason is None and found is None) or reason in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It cuts `x` along `axis`.", None),
        ("It calls unstack.", "names the API"),
        # Not a substring of another word.
        ("It leaves the stack unstacked.", None),
        ("It passes `keep_dims` on.", "keep_dims is not in the source"),
        ("It sets invented_option.", "invented_option is not in the source"),
        ("It calls `np.moveaxis`.", "np is not in the source"),
    ],
)
def test_mechanisms(text, reason):
    found = reject_mechanism(text, "numpy.unstack", ["def f(x, axis): return moveaxis(x, axis)"])
    assert (reason is None and found is None) or reason in found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"description": "Unstack it."}, "the description names the API"),
        ({"context_code": "from numpy import unstack\n"}, "the context names the API"),
        ({"reference_solution": "def solve(x):\n    return x[0]\n"}, "does not use unstack"),
        ({"reference_solution": "def solve(x:"}, "does not compile"),
        ({"reference_solution": "unstack(x)"}, "defines no function"),
    ],
)
def test_tasks(changes, reason):
    found = reject_task(WrittenTask.model_validate(TASK | changes), "numpy.unstack")
    assert (reason is None and found is None) or reason in found


def test_leaks_are_identifiers():
    assert leaked_name("Call UNSTACK now", "numpy.unstack") == "UNSTACK"
    assert leaked_name("all", "numpy.all") == "all"
    assert leaked_name("allow", "numpy.all") is None


def test_kappa():
    pairs = (
        [("WrongLogic", "WrongLogic")] * 20
        + [("WrongLogic", "WrongParam")] * 5
        + [("WrongParam", "WrongLogic")] * 10
        + [("WrongParam", "WrongParam")] * 15
    )
    agreement = measure_agreement(pairs)
    # The textbook example: observed 0.7, chance 0.5.
    assert (agreement.observed, agreement.kappa) == (0.7, pytest.approx(0.4))
    assert agreement.per_label["WrongParam"] == pytest.approx(0.4)
    assert agreement.per_label["WrongSyntax"] is None
    assert measure_agreement([]).kappa is None


def test_a_probe_masks_every_part_of_the_path_but_the_library():
    prompt = build_probe(
        "numpy.linalg.vector_norm", "numpy", "numpy.linalg.vector_norm(x)\n\nSee `vector_norm`, not vectors."
    )
    question = prompt.split("Which API")[0]
    assert "numpy.***.***(x)" in question
    assert "vector_norm" not in question
    assert "not vectors" in question


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("from numpy import unstack", "numpy.unstack"),
        ("```python\nfrom numpy import unstack\n```", "numpy.unstack"),
        ("I think it is `from numpy.linalg import norm`.", "numpy.linalg.norm"),
        ("from pandas import DataFrame.case_when", "pandas.DataFrame.case_when"),
        ("from a import x\nNo:\nfrom b import y", "b.y"),
        ("numpy.unstack", "numpy.unstack"),
        ("import numpy.linalg", "numpy.linalg"),
        ("Use numpy, maybe.", None),
        ("", None),
    ],
)
def test_reading_a_probe(text, path):
    assert read_probe(text) == path


def test_a_probe_is_scored_by_path_and_by_name():
    paths = ["numpy.unstack", "numpy.compat.unstack"]
    assert score_probe("numpy.unstack", paths, "from numpy.compat import unstack").import_path
    wrong_module = score_probe("numpy.unstack", paths, "from numpy.linalg import unstack")
    assert (wrong_module.import_path, wrong_module.call_name) == (False, True)


def test_probes_are_one_request_per_api():
    with fake_openai(lambda body, _: ["from numpy import unstack"]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        results = list(
            run_probes(model, {"numpy.unstack": "a", "numpy.other": "b"}, {"numpy.unstack": [], "numpy.other": []})
        )
    assert [(result.api, result.call_name) for result in results] == [("numpy.other", False), ("numpy.unstack", True)]
    assert len(server.requests) == 2


def test_a_dead_endpoint_is_an_error_not_an_answer():
    broken = SimpleNamespace(
        name="x", revision="x", complete=lambda prompts, sampling: (_ for _ in ()).throw(NovelApiError("gone"))
    )
    with pytest.raises(NovelApiError, match="gone"):
        PromptedModel(as_stream(broken)).ask("second_opinion", [QUESTIONS["second_opinion"]], Opinion)
