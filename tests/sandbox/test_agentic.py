"""Agentic cells end to end in the sandbox: programs and first answers run, hidden inputs stay hidden."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.adapters.openai_model import OpenAIModel
from novelapi.execution.environments import python_environment
from novelapi.fingerprint import file_digest
from novelapi.grid import cells
from novelapi.grid.workbench import LOG, Workbench
from novelapi.inference.agent import Use
from novelapi.inference.repair import Attempt
from novelapi.layout import Layout
from novelapi.records.cell import Cell, Retrieval
from novelapi.records.task import Task
from tests.fakes.bundles import numpy_bundle
from tests.fakes.openai_server import Reply, chat, fake_openai

pytestmark = pytest.mark.sandbox

ENV = python_environment()
TASK = Task.model_validate(
    {
        "task_id": "python/fsum/1", "library": "python", "release": ENV.release, "api": "math.fsum",
        "description": "Add floating-point numbers without losing digits.", "context_code": "import math\n",
        "entry_point": "solve", "signature": "def solve(values):",
        "reference_solution": "def solve(values):\n    return math.fsum(values)\n",
        "inputs": [{"args": ["[0.5, 0.25]"]}, {"args": ["[987654.0]"], "hidden": True}],
        "expected": [0.75, 987654.0], "calls": {"api": "math.fsum"},
    }
)  # fmt: skip
RIGHT = "```python\ndef solve(values):\n    return math.fsum(values)\n```"
WRONG = "```python\ndef solve(values):\n    return math.fsum(values, 2)\n```"
SPY = "import gc, sys\nprint([o for o in gc.get_objects() if isinstance(o, list) and 987654.0 in o])\nprint(object())"


@pytest.fixture
def bench(tmp_path):
    with Workbench({TASK.task_id: TASK}, lambda *_: ENV, tmp_path, 1) as bench:
        yield bench


def run(bench, code):
    return bench.run([Use(TASK.task_id, code)])[0].text


def problem(bench, text):
    return bench.problems([Attempt(TASK.task_id, text)])[0]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print(1 + 1)", "2"),
        ("x = 1", "(it printed nothing)"),
        (
            "print('a')\n1 / 0",
            "a\nTraceback (most recent call last):\n  line 2, in <module>\n    1 / 0\nZeroDivisionError",
        ),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_program_gives_what_it_prints_and_how_it_ended(bench, code, shown):
    assert shown in run(bench, code)


def test_a_program_sees_no_hidden_input_and_no_address(bench):
    text = run(bench, SPY)
    assert "987654" not in text
    assert "0x..." in text


def test_an_answer_is_tried_on_visible_inputs_alone(bench, tmp_path):
    assert problem(bench, RIGHT) is None
    assert "TypeError" in problem(bench, WRONG)
    assert "no Python code" in problem(bench, "")
    assert problem(bench, "```python\ndef solve(values):\n    return 0\n```") is None  # wrong, but it raises nothing
    hidden = "```python\ndef solve(values):\n    return 1 / (values[0] < 9)\n```"
    assert problem(bench, hidden) is None  # would raise on the hidden input
    assert "987654" not in (tmp_path / LOG).read_text()


def test_a_second_run_is_told_what_the_first_was(bench, tmp_path):
    code = "import os\nprint(os.urandom(8).hex())"
    first = run(bench, code)
    with Workbench({TASK.task_id: TASK}, lambda *_: ENV, tmp_path, 1) as again:
        assert run(again, code) == first
    assert len(list(jsonl.scan(tmp_path / LOG))) == 1


def cell_of(layout, delivery):
    jsonl.write(layout.stage("python", "stage1_discovery", "m"), [])
    knowledge = layout.stage("python", "stage2_knowledge", "m")
    jsonl.write(knowledge, [numpy_bundle("fsum", api="math.fsum", library="python").to_row()])
    path = layout.instance("python", "m") / "instance.jsonl"
    jsonl.write(path, [TASK.to_row()])
    return Cell(
        experiment="python-m", group="python", model="m", model_revision="1", condition="full", delivery=delivery,
        instance_sha=file_digest(path), bundles_sha=file_digest(knowledge), retrieval=Retrieval(),
    )  # fmt: skip


def run_cell(layout, delivery, behaviour):
    with fake_openai(behaviour) as server:
        cell = cell_of(layout, delivery)
        cells.run_cell(cell, layout, OpenAIModel("tiny", base_url=server.base_url), jobs=1)
    folder = layout.cell(cell.experiment, cell.name)
    (row,) = jsonl.scan(folder / "results.jsonl")
    return row, json.loads((folder / "manifest.json").read_text()), server


def test_a_repaired_answer_passes_and_its_row_says_what_it_took(tmp_path):
    row, manifest, server = run_cell(
        Layout(tmp_path), "repair", lambda body, _: RIGHT if len(body["messages"]) > 1 else WRONG
    )
    assert (row["outcome"], row["effort"]["turns"]) == ("pass", 2)
    assert manifest["spec"]["agent"]["turns"] == 2
    assert "takes exactly one argument" in server.requests[1]["messages"][-1]["content"]
    assert "987654" not in json.dumps(server.requests)


def test_a_searching_cell_is_judged_by_its_final_code(tmp_path):
    def behaviour(body, _):
        said = sum(message["role"] == "assistant" for message in body["messages"])
        wishes = [("search_api", {"query": "fsum"}), ("run", {"code": "import math\nprint(math.fsum([0.5]))"})]
        if said == len(wishes):
            return RIGHT
        name, arguments = wishes[said]
        call = {"id": f"c{said}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        return Reply(200, chat([None], tool_calls=[call]))

    row, manifest, server = run_cell(Layout(tmp_path), "search", behaviour)
    assert (row["outcome"], row["retrieved"]) == ("pass", True)
    assert row["effort"]["tool_calls"] == {"run": 1, "search_api": 1}
    assert manifest["spec"]["agent"]["target_found"] == 1
    assert server.requests[-1]["messages"][-1]["content"] == "0.5"
    again, _, later = run_cell(Layout(tmp_path), "search", behaviour)
    assert (again["text"], len(later.requests)) == (row["text"], 3)  # another address is another model
