"""A model as author of tasks and inputs: the same gates, marked, refused by reason, replayed byte for byte."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.execution.environments import python_environment
from novelapi.execution.pool import Slot, SlotOptions
from novelapi.generation import stage
from novelapi.generation.author import Assignment
from novelapi.generation.task_author import BY_MODEL
from novelapi.generation.written import Proposal, admit_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.replay import Replay
from novelapi.inference.roles import WrittenTask
from novelapi.layout import Layout
from novelapi.records.api import Candidate, Change
from novelapi.records.bundle import Exemplar, KnownParameter, Surface
from novelapi.records.completion import Completion
from novelapi.records.request import LibraryRequest
from tests.fakes.bundles import numpy_bundle

pytestmark = pytest.mark.sandbox

ENV = python_environment()
AUTHOR = {"model": "big@1", "role": "author_tasks", "prompt": "p", "prompt_file": "f"}


def bundle(leaf, signature, example):
    return numpy_bundle(
        leaf, api=f"math.{leaf}", library="python", release=ENV.release,
        surface=Surface(
            s_name=f"math.{leaf}", signature=signature, returns="float",
            parameters=(KnownParameter(name="values", kind="positional_only", type="list", description="Numbers."),),
        ),
        exemplars=(Exemplar(code=f"import math\nmath.{leaf}({example})", status="executed", output="1"),),
        m_prose="Add or multiply numbers without losing digits.", m_code=None,
    )  # fmt: skip


def candidate(leaf, module="math", **fields):
    return Candidate(
        api=f"{module}.{leaf}", library="python", release=ENV.release, paths=(f"{module}.{leaf}",), canonical=f"{module}.{leaf}",
        kind="function", old_release=None, signature="(values, /)", **{"change": "added", "changes": (), **fields},
    )  # fmt: skip


def assignment(leaf="fsum", **fields):
    return Assignment(
        candidate=candidate(leaf, **fields),
        bundle=bundle(leaf, "(values, /)", "[0.5, 0.25]"),
        env=ENV,
        preload=("math",),
    )


def task(leaf="fsum", **fields):
    row = {
        "difficulty": "hard",
        "description": "Return twice the exact sum of the numbers in `values`.",
        "context_code": "import math\n",
        "signature": "def solve(values):",
        "reference_solution": f"def solve(values: list) -> float:\n    return 2 * math.{leaf}(values)\n",
        "inputs": [{"args": [f"[0.5, {number}.25]"]} for number in range(4)],
    }
    return row | fields


def admit(*rows, **target):
    slot = Slot(SlotOptions())
    try:
        tasks = tuple(WrittenTask.model_validate(row) for row in rows)
        return admit_tasks(slot, Proposal(assignment=assignment(**target), tasks=tasks, author=AUTHOR))
    finally:
        slot.close()


def test_a_task_that_passes_the_gates_is_kept_and_marked():
    written = admit(task())
    (kept,) = written.tasks
    assert (kept.signature, kept.reference_solution) == (
        "def solve(values):",
        "def solve(values):\n    return 2 * math.fsum(values)\n",
    )
    assert kept.expected == (1.5, 3.5, 5.5, 7.5)
    assert [item.hidden for item in kept.inputs] == [False, True, True, True]
    assert kept.integrity == "strong"
    assert kept.provenance["author"] == "model"
    assert {name: kept.provenance[name] for name in AUTHOR} == AUTHOR
    assert written.reasons == {}


REFUSED = [
    ({"description": "Return the fsum of `values`."}, "the description names the API (fsum)"),
    ({"context_code": "from math import fsum\n"}, "the context names the API (fsum)"),
    ({"context_code": "import math\nx = 1\n"}, "the context holds more than imports"),
    ({"reference_solution": "def solve(values):\n    return sum(values)\n"}, "the example does not use fsum"),
    ({"reference_solution": "def solve(values:\n"}, "the reference does not compile"),
    (
        {"reference_solution": "def solve(values):\n    return math.fsum(math.no(values))\n"},
        "too few inputs with different answers",
    ),
    (
        {"reference_solution": "def solve(values, *more):\n    return math.fsum(values)\n"},
        "the reference has no plain parameters",
    ),
    ({"reference_solution": "X = 1\ndef solve(values):\n    return math.fsum(values)\n"}, "the reference is not one"),
    ({"inputs": [{"args": ["[1.0]"]}] * 4}, "too few inputs with different answers"),
    ({"inputs": [{"args": ["[1.0", "2"]}]}, "an input does not fit the parameters"),
    ({"inputs": [{"args": ["[1.0"]}]}, "an input is no expression"),
    (
        {"reference_solution": "def solve(values):\n    math.fsum(values)\n    return len(values) + values[1]\n"},
        "the reference does not depend on (the target)",
    ),
]


@pytest.mark.parametrize(("fields", "why"), REFUSED, ids=[why[:30] + str(i) for i, (_, why) in enumerate(REFUSED)])
def test_what_does_not_pass_is_refused_with_a_reason(fields, why):
    written = admit(task(**fields))
    assert written.tasks == []
    (reason,) = written.reasons
    assert reason.startswith(why)


def test_no_more_of_a_difficulty_than_the_quota():
    written = admit(task(), task(description="Return the exact sum of `values`, doubled."))
    assert (len(written.tasks), written.reasons) == (1, {"more tasks of this difficulty than are kept": 1})


def changed(leaf, parameter, module="math"):
    return {
        "leaf": leaf,
        "module": module,
        "change": "modified",
        "changes": (Change(kind="parameter_added", parameter=parameter),),
    }


def using(reference, *arguments):
    inputs = [{"args": list(own)} for own in arguments]
    return task(description="Return the result for the numbers.", reference_solution=reference, inputs=inputs)


def test_a_task_of_a_changed_api_has_to_bind_the_change():
    rows = [[f"[{number}, 3]", f"{number + 2}"] for number in range(1, 5)]
    written = admit(
        using("def solve(values, first):\n    return math.prod(values, start=first)\n", *rows),
        **changed("prod", "start"),
    )
    (kept,) = written.tasks
    assert kept.calls[0].required == {"start": "first"}


@pytest.mark.parametrize(
    ("target", "reference", "why"),
    [
        (changed("prod", "start"), "def solve(a, b):\n    return math.prod([a, b])\n", "does not use the change"),
        (changed("prod", "start"), "def solve(a, b):\n    return math.prod([a, b], start=1)\n", "no visible effect"),
        (
            changed("fmean", "weights", "statistics"),
            "import statistics\n\ndef solve(a, b):\n    return statistics.fmean(a, weights=b)\n",
            "a mutant passes (old)",
        ),
    ],
)
def test_a_change_that_nothing_depends_on_makes_no_task(target, reference, why):
    numbers = [[f"{number}", f"{number - 3}"] for number in range(4, 9)]
    lists = [[f"[{a}, 7]", f"[{b}, 1]"] for a, b in numbers]
    written = admit(using(reference, *(lists if "fmean" in reference else numbers)), **target)
    assert written.tasks == []
    assert why in next(iter(written.reasons))


# The whole stage


class Author:
    """A strong model that writes a task for each API, and inputs for each task."""

    name = revision = "big@1"
    engine, adapter_sha = "test", None

    def complete(self, prompts, sampling):
        raise AssertionError

    def stream(self, requests):
        for index, request in enumerate(requests):
            leaf = "prod" if "prod" in request.prompt else "fsum"
            answer = {"inputs": [{"args": ["[8.5, 16.25]"]}, {"args": ["[0.5, 0.25]"]}, {"args": ["nonsense("]}]}
            if request.prompt.startswith("Write 4 coding tasks"):
                answer = {"tasks": [task(leaf)]}
            yield index, Completion(texts=(json.dumps(answer),))


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Runs stage 3 on two APIs of the standard library in a home of its own, from recordings."""
    monkeypatch.setattr(stage, "release_environments", lambda request, layout: (ENV, None))

    def run(name, strong, recordings=None):
        layout = Layout(tmp_path / name)
        leaves = {"fsum": "[0.5, 0.25]", "prod": "[2, 3]"}
        jsonl.write(layout.stage("python", "stage1_discovery", "copy"), (candidate(leaf).to_row() for leaf in leaves))
        rows = (bundle(leaf, "(values, /)", example).to_row() for leaf, example in leaves.items())
        jsonl.write(layout.stage("python", "stage2_knowledge", "copy"), rows)
        with CompletionCache(layout.completions / "cache.sqlite") as cache:
            if recordings is not None:
                cache.load(recordings)
        request = LibraryRequest(library="python", new=ENV.release, author=strong.revision if strong else None, jobs=1)
        stage.generate(request, layout, strong=strong)
        with CompletionCache(layout.completions / "cache.sqlite") as cache:
            cache.export(tmp_path / f"{name}.jsonl")
        files = [layout.stage("python", part, "copy") for part in ("stage3_tasks", "stage3_rejected")]
        return [path.read_bytes() for path in files], [list(jsonl.scan(path)) for path in files]

    return run


def test_a_recorded_author_replays_offline_and_a_missing_recording_costs_one_item(build, tmp_path):
    _, (plain, _) = build("plain", None)
    first, (rows, _) = build("first", Author())
    by_model = {row["task_id"]: row for row in rows if row["provenance"]["author"] == "model"}
    assert {row["api"] for row in by_model.values()} == {"math.fsum", "math.prod"}
    for row in by_model.values():
        note = row["provenance"]["author_inputs"]
        assert (note["kept"], note["model"]) == (1, "big@1")
        assert note["rejected"] == {"an input is no expression": 1, "an input is repeated": 1}
        assert (row["inputs"][-1]["args"], row["inputs"][-1]["hidden"]) == (["[8.5, 16.25]"], True)
    assert all(row["provenance"]["author"] == "deterministic" for row in plain)

    again, _ = build("again", Replay(Author()), tmp_path / "first.jsonl")
    assert again == first

    kept = [row for row in jsonl.scan(tmp_path / "first.jsonl") if not _writes_tasks_of("prod", row)]
    assert len(kept) == len(list(jsonl.scan(tmp_path / "first.jsonl"))) - 1
    jsonl.write(tmp_path / "fewer.jsonl", kept)
    _, (fewer, rejected) = build("fewer", Replay(Author()), tmp_path / "fewer.jsonl")
    mine = [row for row in fewer if row["api"] == "math.fsum"]
    assert mine == [row for row in rows if row["api"] == "math.fsum"]
    theirs = [row for row in fewer if row["api"] == "math.prod"]
    assert [row["reference_solution"] for row in theirs] == [
        row["reference_solution"] for row in plain if row["api"] == "math.prod"
    ]
    reasons = {row["api"]: row["reason"] for row in rejected if row["reason"].startswith(BY_MODEL)}
    assert reasons == {"math.prod": f"{BY_MODEL}unrecorded: there is no recording of this answer"}


def _writes_tasks_of(leaf, row):
    text = row["completion"]["texts"][0]
    return '"tasks"' in text and leaf in text
