"""Cells with tools: what they find, that no task's own solution is among it, and what a dry run says of them."""

from __future__ import annotations

import pytest

from novelapi import jsonl
from novelapi.fingerprint import file_digest
from novelapi.grid.agentic import effort_of, most_turns, show_searching
from novelapi.grid.expand import expand_grid
from novelapi.grid.plan import plan_cell
from novelapi.grid.retrieved import open_lexical
from novelapi.grid.shelf import Shelf
from novelapi.grid.workbench import traceback_text, visible
from novelapi.inference.agent import MAX_TURNS, Use
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.leakage import normalised_calls
from novelapi.layout import Layout
from novelapi.records.bundle import Exemplar
from novelapi.records.cell import Cell, Retrieval, Sampling
from novelapi.records.effort import Effort
from novelapi.records.verdict import ErrorEvidence, Frame, ResultRow
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import Scripted, numpy_task

TASK = numpy_task(1)
PATHS = {"numpy.unstack": ("numpy.unstack",), "numpy.vecdot": ("numpy.vecdot", "numpy.linalg.vecdot")}
SOLUTION = "import numpy as np\nx = np.arange(6).reshape(2, 3)\nnp.unstack(x, axis=1)"
TELLING = Exemplar(code=SOLUTION, status="executed", calls=tuple(normalised_calls(SOLUTION, PATHS["numpy.unstack"])))


@pytest.fixture
def cell(tmp_path):
    layout = Layout(tmp_path)
    bundles = [
        numpy_bundle(exemplars=(*numpy_bundle().exemplars, TELLING)),
        numpy_bundle("vecdot", m_prose="Dot product of two vectors."),
    ]
    jsonl.write(layout.stage("numpy", "stage1_discovery", "m"), [])
    knowledge = layout.stage("numpy", "stage2_knowledge", "m")
    jsonl.write(knowledge, (bundle.to_row() for bundle in bundles))
    path = layout.instance("numpy", "m") / "instance.jsonl"
    jsonl.write(path, [TASK.to_row()])
    return Cell(
        experiment="numpy-m", group="numpy", model="m", model_revision="1", condition="full", delivery="search",
        instance_sha=file_digest(path), bundles_sha=file_digest(knowledge), retrieval=Retrieval(),
        sampling=Sampling(max_tokens=8),
    )  # fmt: skip


@pytest.fixture
def shelf(cell, tmp_path):
    return Shelf(cell, [TASK], PATHS, Layout(tmp_path), open_lexical)


def test_a_search_names_the_apis_that_reading_knows(shelf):
    (result,) = shelf.search([Use(TASK.task_id, "dot product of vectors")])
    assert result.apis[0] == "numpy.vecdot"
    assert result.text.startswith("Found: numpy.vecdot")
    (read,) = shelf.read([Use(TASK.task_id, "numpy.linalg.vecdot")])
    assert read.apis == ("numpy.vecdot",)
    assert "Dot product" in read.text


def test_an_identifier_finds_its_api_first(shelf):
    (result,) = shelf.search([Use(TASK.task_id, "unstack")])
    assert result.apis[0] == "numpy.unstack"


@pytest.mark.parametrize(("query", "words"), [("", "nothing was found"), ("   ", "nothing was found")])
def test_an_empty_query_is_told_so(shelf, query, words):
    assert words in shelf.search([Use(TASK.task_id, query)])[0].text


def test_a_name_that_does_not_exist_gets_near_ones(shelf):
    (result,) = shelf.read([Use(TASK.task_id, "np.unstack")])
    assert result.apis == ()
    assert "numpy.unstack" in result.text


def test_no_tool_shows_an_example_that_holds_the_tasks_call(shelf):
    other = numpy_task(2, reference_solution="def solve(x, axis):\n    return np.unstack(x)\n")
    assert "np.unstack(x, axis=1)" not in shelf.read([Use(TASK.task_id, "numpy.unstack")])[0].text
    assert "np.unstack(x, axis=1)" not in shelf.search([Use(TASK.task_id, "unstack")])[0].text
    shelf._tasks[other.task_id] = other
    assert "np.unstack(x, axis=1)" in shelf.read([Use(other.task_id, "numpy.unstack")])[0].text


def test_the_prompt_holds_no_knowledge_and_says_that_there_are_tools():
    text = show_searching([TASK])[TASK.task_id].prompt
    assert text.endswith(build_prompt(TASK, ""))
    assert "search_api" in text
    assert "unstack" not in text


def test_search_is_one_cell_and_repair_has_every_condition():
    assert expand_grid(["baseline", "e", "full"], ["search"]) == [("search", "full")]
    assert expand_grid(["baseline", "e"], ["repair"]) == [("repair", "baseline"), ("repair", "e")]


def test_a_dry_run_counts_every_turn(cell, tmp_path):
    layout, model = Layout(tmp_path), Scripted()
    search = plan_cell(cell, layout, model)
    repair = plan_cell(cell.model_copy(update={"delivery": "repair"}), layout, model)
    oracle = plan_cell(cell.model_copy(update={"delivery": "oracle"}), layout, model)
    assert (search.calls, repair.calls, oracle.calls) == (MAX_TURNS, 2, 1)
    assert (most_turns("search"), most_turns("repair"), most_turns("rag")) == (MAX_TURNS, 2, 1)
    assert oracle.prompt_tokens < repair.prompt_tokens < search.prompt_tokens
    assert search.completion_tokens == 8 * MAX_TURNS


def test_what_an_answer_is_tried_on_holds_no_hidden_input_and_no_expected_value():
    task = numpy_task(3, expected=[{"$": "raises", "type": "ValueError", "message": "no"}, [1]])
    bare, raising = visible(task)
    assert [item.hidden for item in bare.inputs] == [False]
    assert (bare.expected, raising) == (None, frozenset({0}))
    assert "987654" not in bare.model_dump_json()
    assert "np.unstack" not in bare.reference_solution


def test_a_traceback_reads_like_one_and_shows_no_frame_of_ours():
    frames = (
        Frame(where="harness", module="driver", function="call", line=1),
        Frame(where="completion", module="__main__", function="solve", line=2),
        Frame(where="library", module="numpy.lib", function="unstack", line=77),
    )
    error = ErrorEvidence(type="builtins.TypeError", message="no axis", frames=frames)
    assert traceback_text(error, "def solve(x):\n    return np.unstack(x, 5)").splitlines() == [
        "Traceback (most recent call last):",
        "  line 2, in solve",
        "    return np.unstack(x, 5)",
        "  numpy.lib, in unstack",
        "TypeError: no axis",
    ]


def test_what_the_answers_took_is_added_up():
    row = ResultRow(task_id="a", sample=0, outcome="pass", label=None, reason="", integrity="strong")
    assert effort_of([row]) == {}
    efforts = [
        Effort(turns=2, tool_calls={"run": 1}, prompt_tokens=5, completion_tokens=1, found=True),
        Effort(turns=1, prompt_tokens=3, completion_tokens=2, found=False),
    ]
    assert effort_of([row.model_copy(update={"effort": effort}) for effort in efforts]) == {
        "samples": 2, "turns": 3, "tool_calls": {"run": 1}, "prompt_tokens": 8, "completion_tokens": 3,
        "target_found": 1,
    }  # fmt: skip
