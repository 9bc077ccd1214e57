"""Selection suites: what is read from their published files, and what is refused or skipped."""

import json
import os
from pathlib import Path

import pytest

from novelapi.errors import DataError, PrerequisiteError
from novelapi.evaluation.suites import bfcl, nestful, taskbench, toolbench
from novelapi.evaluation.suites.artefacts import read_artefacts
from novelapi.evaluation.suites.registry import find_data, find_suite
from novelapi.selection.baselines import write_gold
from novelapi.selection.score import score
from tests.fakes.tool_data import (
    ANSWER,
    APIS,
    CLIPS,
    FUNCTION,
    NODES,
    QUESTION,
    REQUEST,
    SEQUENCE,
    SPEC,
    query,
    write,
    write_suites,
)


@pytest.fixture
def data(tmp_path):
    return write_suites(tmp_path)


def resolved(task):
    return score(task, "suite", 0, write_gold(task)).outcome


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("toolbench", ["G1_tool/5", "G2_category/5", "G2_category/6"]),
        ("bfcl", ["simple_0"]),
        ("nestful", ["glaive/0"]),
        ("taskbench", ["images/17"]),
    ],
)
def test_published_files_are_found_and_gold_resolves(data, name, keys):
    suite = find_suite(name)
    folder = find_data(suite, data, None)
    found = suite.read(folder)
    assert list(found.tasks) == keys
    assert not found.skipped
    assert [resolved(task) for task in found.tasks.values()] == ["pass"] * len(keys)
    assert find_data(suite, folder, None) == folder
    with pytest.raises(PrerequisiteError, match="NOVELAPI_SUITE_DATA"):
        find_data(suite, None, None)


def test_an_empty_folder_is_no_suite(tmp_path):
    with pytest.raises(DataError, match="holds no BFCL_v"):
        find_data(find_suite("bfcl"), tmp_path, None)


def test_toolbench_reads_one_file_and_repeated_labels(tmp_path):
    path = tmp_path / "mine.json"
    write(path, [query(1, [CLIPS, CLIPS, {"tool_name": "kick", "api_name": "get-details"}])])
    found = toolbench.read(find_data(find_suite("toolbench"), path, None))
    assert [call.name for call in found.tasks["mine/1"].wanted] == ["Kick / Get clips", "Kick / Get details"]
    assert found.notes == ["1 rows repeat a label: it counts once"]
    assert found.tasks["mine/1"].tools[0].required == ("q",)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**query(1, []), "query_id": 1}, "row 2: no 'relevant APIs'"),
        (
            {key: value for key, value in query(1, [CLIPS]).items() if key != "relevant APIs"},
            "row 2: no 'relevant APIs'",
        ),
        (query(1, ["Kick"]), "no pair of tool and API"),
        (query(0, [CLIPS]), "row 2: duplicate query_id 'G1_x/0'"),
        ({"query_id": 1}, "row 2: field missing: query or api_list"),
    ],
)
def test_toolbench_refuses_at_load(tmp_path, row, words):
    write(tmp_path / "G1_x.json", [query(0, [CLIPS]), row])
    with pytest.raises(DataError, match=words):
        toolbench.read(tmp_path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (query(1, [["Kick", "Get likes"]]), "a label names an API that is not listed: 'Kick / Get likes'"),
        (query(1, [CLIPS], apis=[CLIPS, CLIPS]), "two listed tools have one name"),
        (query(1, [CLIPS], apis=[CLIPS, ["KICK", "get-clips!"]]), "two listed names have one normal form"),
        (query(1, [CLIPS], apis=[CLIPS, ["Kick", "天气"]]), "a listed name is empty in its normal form"),
        (query(1, [CLIPS], apis=[]), "no tool is listed"),
        ({**query(1, [CLIPS]), "api_list": [{"tool_name": "Kick"}]}, "has no tool_name or no api_name"),
    ],
)
def test_toolbench_skips_what_contradicts_itself(tmp_path, row, words):
    write(tmp_path / "G1_x.json", [query(0, [CLIPS]), row])
    found = toolbench.read(tmp_path)
    assert list(found.tasks) == ["G1_x/0"]
    assert words in found.skipped[0].reason
    write(tmp_path / "G1_x.json", [row])
    with pytest.raises(DataError, match="every row is defective"):
        toolbench.read(tmp_path)


def test_bfcl_categories(tmp_path):
    for name in ("irrelevance", "live_irrelevance", "live_relevance", "multi_turn_base", "memory"):
        write(tmp_path / f"BFCL_v4_{name}.json", [{**QUESTION, "id": name}], lines=True)
    for name, second in (
        ("parallel", [{"math.area": {"base": [1, 2]}}] * 2),
        ("simple_java", [{"math.area": {"base": [3]}}]),
    ):
        write(tmp_path / f"BFCL_v4_{name}.json", [{**QUESTION, "id": name}], lines=True)
        write(tmp_path / "possible_answer" / f"BFCL_v4_{name}.json", [{"id": name, "ground_truth": second}], lines=True)
    found = bfcl.read(tmp_path)
    calls = {key: (task.calls, len(task.wanted), task.language) for key, task in found.tasks.items()}
    assert calls == {
        "irrelevance": ("none", 0, "python"), "live_irrelevance": ("none", 0, "python"), "live_relevance": ("some", 0, "python"),
        "parallel": ("exact", 2, "python"), "simple_java": ("exact", 1, "java"),
    }  # fmt: skip
    assert [resolved(task) for task in found.tasks.values()] == ["pass"] * 5
    assert [note.partition(":")[0] for note in found.notes] == ["BFCL_v4_memory.json", "BFCL_v4_multi_turn_base.json"]
    assert score(found.tasks["simple_java"], "bfcl", 0, '[{"math.area": {"base": "3"}}]').outcome == "pass"
    assert score(found.tasks["parallel"], "bfcl", 0, '[{"math.area": {"base": "3"}}]').error == "wrong_count"


def bfcl_rows(folder, question=QUESTION, answer=ANSWER):
    write(folder / "BFCL_v4_live_simple.json", [QUESTION, {**question, "id": "b"}], lines=True)
    answers = [ANSWER] if answer is None else [ANSWER, {**answer, "id": "b"}]
    write(folder / "possible_answer/BFCL_v4_live_simple.json", answers, lines=True)
    return folder


@pytest.mark.parametrize(
    ("question", "truth", "words"),
    [
        ({"function": [FUNCTION, FUNCTION]}, None, "two listed tools have one name: 'math.area'"),
        ({"function": [FUNCTION, {**FUNCTION, "name": "math_area"}]}, None, "one normal form"),
        ({}, [{"math.sum": {}}], "a label names an API that is not listed: 'math.sum'"),
        ({}, [{"math.area": {"base": [1], "height": [2]}}], "needs a parameter that its function lacks: 'height'"),
        ({}, [{"math.area": {}}], "lacks a required parameter: 'base'"),
        ({}, ["math.area()"], "an answer is no call"),
        ({"function": [{"name": "math.area", "parameters": "{"}]}, None, "a schema is not valid JSON"),
    ],
)
def test_bfcl_skips_what_contradicts_itself(tmp_path, question, truth, words):
    answer = ANSWER if truth is None else {**ANSWER, "ground_truth": truth}
    found = bfcl.read(bfcl_rows(tmp_path, {**QUESTION, **question}, answer))
    assert list(found.tasks) == ["simple_0"]
    assert words in found.skipped[0].reason


def test_bfcl_refuses_rows_without_labels(tmp_path):
    with pytest.raises(DataError, match="row 2: no answer for 'b'"):
        bfcl.read(bfcl_rows(tmp_path, answer=None))
    (tmp_path / "possible_answer/BFCL_v4_live_simple.json").unlink()
    with pytest.raises(DataError, match=r"no labels: possible_answer/.* is not beside it"):
        bfcl.read(tmp_path)
    write(tmp_path / "BFCL_v4_irrelevance.json", [QUESTION], lines=True)
    (tmp_path / "BFCL_v4_live_simple.json").unlink()
    assert list(bfcl.read(tmp_path).tasks) == ["simple_0"]


def test_bfcl_schemas_stored_as_text(tmp_path):
    stored = {
        **FUNCTION,
        "parameters": {**FUNCTION["parameters"], "properties": json.dumps({"base": {"type": "integer"}})},
    }
    found = bfcl.read(bfcl_rows(tmp_path, {**QUESTION, "function": stored, "question": "Area?"}))
    assert found.tasks["b"].tools[0].parameters == {"base": {"type": "integer"}}
    assert found.tasks["b"].query == "Area?"


def test_nestful_parameters_and_skips(tmp_path):
    unknown = {"input": "?", "output": [{"name": "Swim", "arguments": {}, "label": "var1"}]}
    broken = [[{"name": "var_result", "arguments": {}}], [{"name": "Fly", "arguments": ["Rome"]}], [{"label": "var1"}]]
    stay = {"input": "?", "output": [{"name": "Stay", "arguments": {"city": "Rome"}, "label": "var1"}]}
    write(
        tmp_path / "executable/executable-data.json",
        [SEQUENCE, unknown, stay, *({"input": "?", "output": part} for part in broken)],
    )
    write(tmp_path / "executable/executable-spec.json", [*SPEC, SPEC[0]])
    found = nestful.read(tmp_path)
    tools = {tool.name: (tuple(tool.parameters), tool.required) for tool in found.tasks["executable/0"].tools}
    assert tools == {
        "Find.City": (("name", "lang"), ("name",)), "Fly": (("city",), ("city",)), "Stay": (("city",), ("city",)),
    }  # fmt: skip
    assert {item.key: item.reason for item in found.skipped} == {
        "executable/1": "a label names an API that is not listed: 'Swim'",
        "executable/3": "the answer calls nothing",
        "executable/4": "the arguments of a call are no object: 'Fly'",
        "executable/5": "a call of the answer has no name",
    }
    write(tmp_path / "executable/executable-spec.json", [*SPEC, {**SPEC[1], "arguments": {}}])
    found = nestful.read(tmp_path)
    assert list(found.tasks) == ["executable/2"], "what does not need the API of two entries is scored"
    assert found.skipped[0].reason == "two listed tools have one name: 'Fly'"


def test_nestful_version_two(tmp_path):
    row = {
        "sample_id": "abc", "input": "?", "tools": json.dumps(SPEC), "gold_answer": 3,
        "output": json.dumps([{**step, "label": f"${step['label']}"} for step in SEQUENCE["output"][:2]]),
    }  # fmt: skip
    write(tmp_path / "nestful_data.jsonl", [row, {**row, "sample_id": "def"}], lines=True)
    found = nestful.read(tmp_path)
    assert list(found.tasks) == ["nestful/abc", "nestful/def"]
    assert found.tasks["nestful/abc"].aliases == ("abc",)
    assert resolved(found.tasks["nestful/abc"]) == "pass"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"input": "?"}, "row 1: no 'output'"),
        ({"input": "?", "output": []}, "row 1: no 'output'"),
        ({"input": "?", "output": "[{"}, "a field is not valid JSON"),
        ({"output": SEQUENCE["output"]}, "field missing: input"),
    ],
)
def test_nestful_refuses_at_load(tmp_path, row, words):
    write(tmp_path / "sgd-data.json", [row])
    write(tmp_path / "sgd-spec.json", SPEC)
    with pytest.raises(DataError, match=words):
        nestful.read(tmp_path)


def test_nestful_needs_its_specification(tmp_path):
    write(tmp_path / "sgd-data.json", [SEQUENCE])
    with pytest.raises(DataError, match="its specification is not beside it"):
        nestful.read(tmp_path)


def test_taskbench_forms(tmp_path):
    stored = {
        "id": "18", "instruction": "Send.", "tool_nodes": json.dumps([{"task": "send_sms", "arguments": [{"name": "number", "value": "1"}]}]),
        "tool_links": "[]",
    }  # fmt: skip
    write(tmp_path / "daily_tool_desc.json", {"nodes": APIS})
    write(tmp_path / "daily_data.json", [stored], lines=True)
    write(tmp_path / "images_tool_desc.json", {"nodes": NODES})
    write(
        tmp_path / "images_graph_desc.json",
        {"nodes": NODES, "links": [{"source": "Image Search", "target": "Image Mixer"}]},
    )
    found = taskbench.read(tmp_path)
    assert list(found.tasks) == ["daily/18", "images/graph"]
    assert found.tasks["daily/18"].wanted[0].arguments == {"number": "1"}
    assert [resolved(task) for task in found.tasks.values()] == ["pass"] * 2
    assert found.notes == ["images: images_data.json is not there: its only task is its tool graph"]


def test_taskbench_reads_arguments_by_their_place(data):
    task = taskbench.read(data / "taskbench").tasks["images/17"]
    assert task.wanted[0].arguments == {"image": "<node-1>", "image 2": "a.png"}
    own = {"task_nodes": REQUEST["task_nodes"], "task_links": REQUEST["task_links"]}
    assert score(task, "taskbench", 0, json.dumps(own)).outcome == "pass"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task_nodes": []}, "no task_nodes"),
        ({"task_nodes": "["}, "task_nodes is not valid JSON"),
        ({"id": "17", "second": True}, "duplicate id 'images/17'"),
    ],
)
def test_taskbench_refuses_at_load(data, change, words):
    rows = [REQUEST, {**REQUEST, "id": "18", **change}]
    write(data / "taskbench/data_images/data.json", rows, lines=True)
    with pytest.raises(DataError, match=words):
        taskbench.read(data / "taskbench")


def test_taskbench_skips_unlisted_tools(data):
    rows = [
        REQUEST, {**REQUEST, "id": "18", "task_nodes": [{"task": "Paint", "arguments": []}]},
        {**REQUEST, "id": "19", "task_links": [{"source": "Paint", "target": "Image Mixer"}]},
        {**REQUEST, "id": "20", "task_nodes": [3]},
    ]  # fmt: skip
    write(data / "taskbench/data_images/data.json", rows, lines=True)
    found = taskbench.read(data / "taskbench")
    assert [item.reason for item in found.skipped] == [
        "a label names an API that is not listed: 'Paint'", "a link names no listed tool", "a node names no tool",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", '[{"query_id": 1}', "[1]", '"x"', "\udcff"])
def test_malformed_files_name_their_place(tmp_path, text):
    (tmp_path / "G1_x.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"G1_x\.json"):
        toolbench.read(tmp_path)


def test_answers_in_the_forms_of_other_harnesses(data, tmp_path):
    tasks = toolbench.read(data / "stabletoolbench/solvable_queries/test_instruction").tasks
    details = {
        "method": "CoT",
        "answer_details": [{"role": "tool", "message": {"name": "x", "arguments": "{}"}, "next": []}],
    }
    write(tmp_path / "converted.json", {"6": {"query": "?", "available_tools": [], "answer": details}})
    found = read_artefacts(tmp_path / "converted.json", tasks)
    assert list(found) == ["G2_category/6"]
    assert score(tasks["G2_category/6"], "toolbench", 0, found["G2_category/6"][0]).extraction == "trace"
    runs = tmp_path / "runs"
    write(runs / "6_CoT@1.json", {"answer_generation": {}, "trys": []})
    assert list(read_artefacts(runs, tasks)) == ["G2_category/6"]
    lines = [
        {"id": "G1_tool/5", "result": [{"x": {}}]},
        {"query_id": 6, "completion": "none"},
        {"task_id": "G2_category/5", "samples": ["a", {}]},
    ]
    write(tmp_path / "lines.jsonl", lines, lines=True)
    assert read_artefacts(tmp_path / "lines.jsonl", tasks) == {
        "G1_tool/5": ['[{"x": {}}]'], "G2_category/6": ["none"], "G2_category/5": ["a", "{}"],
    }  # fmt: skip


DATA = os.environ.get("NOVELAPI_SUITE_DATA")
NEEDS_DATA = pytest.mark.skipif(not DATA, reason="NOVELAPI_SUITE_DATA is not set: see docs/selection.md")


@NEEDS_DATA
@pytest.mark.parametrize("name", ["toolbench", "bfcl", "nestful", "taskbench"])
def test_gold_of_the_published_rows_resolves(name):
    suite = find_suite(name)
    found = suite.read(find_data(suite, Path(DATA or ""), None))
    assert [key for key, task in found.tasks.items() if resolved(task) != "pass"] == []
    assert len(found.skipped) < 0.1 * (len(found.tasks) + len(found.skipped))
