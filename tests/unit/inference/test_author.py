"""A model as author and as second opinion: marked, checked, rejected by reason, replayed offline."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.inference.author import ExampleRun, write_examples, write_mechanisms
from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.opinions import ask_opinions
from novelapi.inference.replay import Replay
from novelapi.inference.strong import PromptedModel
from novelapi.records.completion import Completion
from novelapi.records.verdict import CallRecord, ErrorEvidence, ResultRow
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import numpy_task

PATHS = {"numpy.unstack": ["numpy.unstack"]}


class Answering:
    """A streaming model that answers by what its prompt contains."""

    name = revision = "answering-1"
    engine, adapter_sha = "test", None

    def __init__(self, *answers):
        self.answers, self.prompts = answers, []

    def complete(self, prompts, sampling):
        raise AssertionError

    def stream(self, requests):
        for index, request in enumerate(requests):
            self.prompts.append(request.prompt)
            text = next(answer for part, answer in self.answers if part in request.prompt)
            yield index, Completion(texts=(text if isinstance(text, str) else json.dumps(text),))


def runs(good=(), output="7"):
    def run(pairs):
        return [
            ExampleRun(ok=any(part in code for part in good), output=output, reason="ValueError: no")
            for _, code in pairs
        ]

    return run


def test_accepted_prose_replaces_the_deterministic_one_and_is_marked():
    model = Answering(("", {"text": "It moves `axis` to the front and returns the parts."}))
    (bundle,) = write_mechanisms([numpy_bundle()], PromptedModel(model))
    assert bundle.m_prose.startswith("It moves")
    note = bundle.provenance["author_m_prose"]
    assert (note["model"], note["role"], note["rejected"]) == ("answering-1", "author_mechanism", None)
    assert len(note["prompt"]) == len(note["prompt_file"]) == 20


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"text": "unstack moves the axis."}, "names the API"),
        ({"text": "It calls `np.hypot` first."}, "not in the source"),
        ("I cannot.", "no JSON object"),
        ({"wrong": 1}, "does not fit"),
    ],
)
def test_rejected_prose_leaves_the_deterministic_one(answer, why):
    (bundle,) = write_mechanisms([numpy_bundle()], PromptedModel(Answering(("", answer))))
    assert bundle.m_prose == numpy_bundle().m_prose
    assert why in bundle.provenance["author_m_prose"]["rejected"]


def test_examples_that_run_are_added_with_their_output_and_others_are_rejected_by_reason():
    codes = [
        "import numpy as np\nnp.unstack(np.ones(3))",
        "import numpy as np\nnp.unstack(1)",
        "import numpy as np\nnp.stack([1])",
        numpy_bundle().exemplars[0].code,
    ]
    model = Answering(("", {"examples": [{"code": code} for code in codes]}))
    (bundle,) = write_examples([numpy_bundle()], PromptedModel(model), runs(good=["ones"]), PATHS)
    old, new = bundle.exemplars
    assert old == numpy_bundle().exemplars[0]
    assert (new.code, new.status, new.output, new.source) == (codes[0], "executed", "7", "model")
    assert "answering-1" in new.note
    assert new.calls
    note = bundle.provenance["author_e"]
    assert (note["kept"], note["rejected"]) == (1, ["the example does not use unstack", "ValueError: no"])


def test_an_author_build_replays_offline_and_a_missing_recording_falls_back_alone(tmp_path):
    bundles = [numpy_bundle("unstack"), numpy_bundle("matvec")]
    model = Answering(("", {"text": "It moves `axis`."}))
    with CompletionCache(tmp_path / "a") as cache:
        live = write_mechanisms(bundles, PromptedModel(CachedCompleter(model, cache)))
        replayed = write_mechanisms(bundles, PromptedModel(Replay(model, cache)))
        cache.export(tmp_path / "recording.jsonl")
    rows = jsonl.read(tmp_path / "recording.jsonl")
    jsonl.write(tmp_path / "recording.jsonl", rows[1:])
    with CompletionCache(tmp_path / "b") as cache:
        cache.load(tmp_path / "recording.jsonl")
        partly = write_mechanisms(bundles, PromptedModel(Replay(model, cache)))
    assert [bundle.to_row() for bundle in live] == [bundle.to_row() for bundle in replayed]
    reasons = [bundle.provenance["author_m_prose"]["rejected"] for bundle in partly]
    assert sorted(map(str, reasons)) == ["None", "unrecorded: there is no recording of this answer"]
    fallen = partly[reasons.index("unrecorded: there is no recording of this answer")]
    assert fallen.m_prose == numpy_bundle().m_prose


def row(number, label, **fields):
    return ResultRow(
        task_id=f"numpy/unstack/{number}",
        sample=0,
        outcome="fail" if label else "pass",
        label=label,
        reason="secret rule",
        integrity="strong",
        **fields,
    )


def test_opinions_are_a_column_with_an_agreement_and_the_label_is_not_shown(tmp_path):
    call = CallRecord(
        api="numpy.unstack",
        input=0,
        origin="completion",
        where="remote",
        arguments={"x": "3"},
        error=ErrorEvidence(type="builtins.TypeError", message="bad axis"),
    )
    rows = [
        row(
            2,
            "WrongParam",
            calls=(call,),
            evidence={"code": "CODE-2", "inputs": [{"index": 0, "equal": False, "difference": "raised TypeError"}]},
        ),
        row(1, "WrongLogic", evidence={"code": "CODE-1"}),
        row(3, None),
        row(4, "WrongSyntax", evidence={"error": {"type": "SyntaxError", "message": "bad"}}),
    ]
    model = Answering(
        ("CODE-2", {"label": "WrongParam", "reason": "Refused."}),
        ("CODE-1", {"label": "WrongParam"}),
        ("SyntaxError", "Hm."),
    )
    tasks = {task.task_id: task for task in (numpy_task(number) for number in range(1, 5))}
    agreement = ask_opinions(rows, tasks, PromptedModel(model), tmp_path / "second_opinion.jsonl")
    written = jsonl.read(tmp_path / "second_opinion.jsonl")
    assert [(item["task_id"][-1], item["label"], item["opinion"]) for item in written] == [
        ("1", "WrongLogic", "WrongParam"),
        ("2", "WrongParam", "WrongParam"),
        ("4", "WrongSyntax", None),
    ]
    assert written[2]["reason"] == "the answer holds no JSON object"
    assert (agreement.pairs, agreement.observed) == (2, 0.5)
    assert "called numpy.unstack(x=3): raised builtins.TypeError: bad axis" in model.prompts[1]
    for prompt in model.prompts:
        assert "secret rule" not in prompt
