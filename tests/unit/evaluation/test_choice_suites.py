"""Selection suites: what is read from their published files, what is refused or skipped, and the verb."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novelapi.cli import app
from novelapi.errors import DataError, PrerequisiteError
from novelapi.evaluation.suites import bfcl, nestful, taskbench, toolbench
from novelapi.evaluation.suites.artefacts import read_artefacts
from novelapi.evaluation.suites.registry import find_data, find_suite
from novelapi.selection.baselines import write_gold
from novelapi.selection.score import score


def api(tool, name):
    return {
        "category_name": "Data", "tool_name": tool, "api_name": name, "api_description": "", "method": "GET",
        "required_parameters": [{"name": "q", "type": "STRING", "description": "", "default": ""}],
        "optional_parameters": [{"name": "n", "type": "NUMBER", "description": "", "default": 1}],
    }  # fmt: skip


def query(number, labels, apis=(("Kick", "Get clips"), ("Kick", "Get details"), ("Weather", "from"))):
    return {"query_id": number, "query": "?", "api_list": [api(*pair) for pair in apis], "relevant APIs": labels}


CLIPS, DETAILS = ["Kick", "Get clips"], ["Kick", "Get details"]
FUNCTION = {
    "name": "math.area", "description": "d",
    "parameters": {"type": "dict", "properties": {"base": {"type": "integer"}}, "required": ["base"]},
}  # fmt: skip
QUESTION = {"id": "simple_0", "question": [[{"role": "user", "content": "Area?"}]], "function": [FUNCTION]}
ANSWER = {"id": "simple_0", "ground_truth": [{"math.area": {"base": [10], "unit": [""]}}]}
SPEC = [
    {"name": "Find.City", "query_parameters": {"name": {"required": True}}, "path_parameters": {"lang": {"required": False}}},
    {"name": "Fly", "arguments": {"city": {"required": True}}},
    {"name": "Stay", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
]  # fmt: skip
SEQUENCE = {
    "input": "Fly!",
    "output": [
        {"name": "Find.City", "arguments": {"name": "Rome"}, "label": "var1"},
        {"name": "Fly", "arguments": {"city": "$var1.id$"}, "label": "var2"},
        {"name": "var_result", "arguments": {"flight": "$var2$"}},
    ],
}
NODES = [
    {"id": "Image Search", "desc": "d", "input-type": ["text"], "output-type": ["image"]},
    {"id": "Image Mixer", "desc": "d", "input-type": ["image", "image"], "output-type": ["image"]},
]
APIS = [{"id": "send_sms", "desc": "d", "parameters": [{"name": "number", "type": "string", "desc": "d"}]}]
REQUEST = {
    "id": "17", "type": "chain", "user_request": "Mix.", "task_steps": [],
    "task_nodes": [
        {"task": "Image Mixer", "arguments": ["<node-1>", "a.png"]}, {"task": "Image_Search", "arguments": ["cats"]},
    ],
    "task_links": [{"source": "Image Search", "target": "Image_Mixer"}],
}  # fmt: skip


def write(path, rows, *, lines=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))


@pytest.fixture
def data(tmp_path):
    """Miniature data of all four suites, each in its own folder."""
    write(tmp_path / "stabletoolbench/solvable_queries/test_instruction/G1_tool.json", [query(5, [CLIPS, DETAILS])])
    write(
        tmp_path / "stabletoolbench/solvable_queries/test_instruction/G2_category.json",
        [query(5, [CLIPS]), query(6, [DETAILS])],
    )
    write(tmp_path / "tools/bfcl/BFCL_v4_simple_python.json", [QUESTION], lines=True)
    write(tmp_path / "tools/bfcl/possible_answer/BFCL_v4_simple_python.json", [ANSWER], lines=True)
    write(tmp_path / "nestful_v1/non-executable-glaive-data.json", [SEQUENCE])
    write(tmp_path / "nestful_v1/non-executable-glaive-spec.json", SPEC)
    write(tmp_path / "taskbench/data_images/tool_desc.json", {"nodes": NODES})
    write(tmp_path / "taskbench/data_images/data.json", [REQUEST], lines=True)
    return tmp_path


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


class Verb:
    """Runs `novelapi evaluate` in this process."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("NOVELAPI_HOME", str(folder / "home"))
        monkeypatch.delenv("NOVELAPI_SUITE_DATA", raising=False)

    def __call__(self, *arguments):
        return CliRunner().invoke(app, ["evaluate", *arguments])


def code_of(done):
    """The exit code that the command line gives an error."""
    return getattr(done.exception, "exit_code", done.exit_code)


@pytest.fixture
def verb(data, monkeypatch):
    from novelapi.settings import load_settings

    load_settings.cache_clear()
    yield Verb(data, monkeypatch)
    load_settings.cache_clear()


def test_the_verb_scores_gold_beside_trivial_answers(verb):
    done = verb("--suite", "toolbench", "--gold", "--data", ".", "--out", "out", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["resolved"], found["scored"], found["gold"]) == (3, 3, True)
    assert {name: part["resolved"] for name, part in found["baselines"].items()} == {
        "gold": 3, "everything": 0, "everything in prose": 0, "first": 1, "empty": 0, "echo": 0,
    }  # fmt: skip
    rows = (verb.folder / "out/results.jsonl").read_bytes()
    again = verb("--suite", "toolbench", "--gold", "--data", ".", "--out", "out")
    assert (verb.folder / "out/results.jsonl").read_bytes() == rows
    for name in ("everything in prose", "first", "empty", "echo", "NDCG", "all relevant", "ladder"):
        assert name in again.stdout
    manifest = json.loads((verb.folder / "out/manifest.json").read_text())
    assert set(manifest["inputs"]) == {"G1_tool.json", "G2_category.json"}


def test_the_verb_scores_a_file_written_by_hand(verb):
    answers = [
        {"task_id": "G1_tool/5", "samples": ['{"api_calls": [["Kick", "Get clips"], ["Kick", "Get details"]]}', ""]},
        {"task_id": "6", "completion": "Call Get details of Kick."},
    ]
    (verb.folder / "mine.jsonl").write_text("\n".join(map(json.dumps, answers)))
    done = verb("mine.jsonl", "--suite", "toolbench", "--data", ".", "--out", "out")
    assert code_of(done) == 4, done.output
    assert "predictions resolved 50.0 %   (1 of 2 scored, 1 not scored)" in done.stdout
    assert "text only: 1 rows call nothing" in done.stdout
    assert "not scored: no prediction for it  (1)" in done.stdout
    rows = [json.loads(line) for line in (verb.folder / "out/results.jsonl").read_text().splitlines()]
    assert [(row["task_id"], row["sample"], row["outcome"], row["extraction"]) for row in rows] == [
        ("G1_tool/5", 0, "pass", "json"), ("G1_tool/5", 1, "fail", "text"), ("G2_category/5", 0, "unscored", None),
        ("G2_category/6", 0, "fail", "text"),
    ]  # fmt: skip
    summary = json.loads((verb.folder / "out/summary.json").read_text())
    assert {part["scored"] for part in summary["baselines"].values()} == {2}, "the same rows as the score"
    other = verb("--gold", "--suite", "toolbench", "--data", ".", "--out", "out")
    assert code_of(other) == 2
    limited = verb("--gold", "--suite", "toolbench", "--data", ".", "--limit", "1", "--json")
    assert (code_of(limited), json.loads(limited.stdout)["tasks"]) == (4, 1)


def test_the_verb_states_what_it_skips(verb):
    path = verb.folder / "stabletoolbench/solvable_queries/test_instruction/G1_tool.json"
    write(path, [query(5, [CLIPS]), query(7, [["Kick", "Get likes"]])])
    done = verb("--suite", "toolbench", "--gold", "--data", ".")
    assert code_of(done) == 4, done.output
    assert "not scored: a label names an API that is not listed  (1)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--suite", "toolbnch", "--gold"], 2, "did you mean toolbench"),
        (["--suite", "bfcl", "--gold"], 3, "give its folder with --data or NOVELAPI_SUITE_DATA"),
        (["--suite", "bfcl", "--data", "."], 2, "give either PREDICTIONS or --gold"),
        (["unknown.jsonl", "--suite", "toolbench", "--data", "."], 2, "row 1: unknown task_id 'G1_tool/6'"),
        (["twice.jsonl", "--suite", "toolbench", "--data", "."], 2, "row 2: duplicate task_id '6'"),
        (["double.jsonl", "--suite", "toolbench", "--data", "."], 2, "not unique: write G1_tool/5 or G2_category/5"),
        (["broken.jsonl", "--suite", "toolbench", "--data", "."], 2, "not valid JSON"),
        (["bare.jsonl", "--suite", "toolbench", "--data", "."], 2, "samples: field missing"),
        (["nameless.jsonl", "--suite", "toolbench", "--data", "."], 2, "task_id: field missing"),
        (["absent.jsonl", "--suite", "toolbench", "--data", "."], 2, "cannot read absent.jsonl"),
        (["home", "--suite", "toolbench", "--data", "."], 2, "holds no recorded run"),
        (["--suite", "toolbench", "--gold", "--data", ".", "--jobs", "2"], 2, "one row at a time"),
    ],
)
def test_what_a_user_can_get_wrong(verb, arguments, code, words):
    answer = {"task_id": "6", "completion": ""}
    (verb.folder / "home").mkdir()
    files = {
        "unknown": [{**answer, "task_id": "G1_tool/6"}], "twice": [answer, answer], "double": [{**answer, "task_id": "5"}],
        "bare": [{"task_id": "6"}], "nameless": [{"completion": ""}],
    }  # fmt: skip
    for name, rows in files.items():
        write(verb.folder / f"{name}.jsonl", rows, lines=True)
    (verb.folder / "broken.jsonl").write_text("{\n")
    done = verb(*arguments)
    error = str(done.exception)
    assert code_of(done) == code, done.output
    assert words in error
    assert "\n" not in error
    assert done.stdout == ""


DATA = os.environ.get("NOVELAPI_SUITE_DATA")
NEEDS_DATA = pytest.mark.skipif(not DATA, reason="NOVELAPI_SUITE_DATA is not set: see docs/selection.md")


@NEEDS_DATA
@pytest.mark.parametrize("name", ["toolbench", "bfcl", "nestful", "taskbench"])
def test_gold_of_the_published_rows_resolves(name):
    suite = find_suite(name)
    found = suite.read(find_data(suite, Path(DATA or ""), None))
    assert [key for key, task in found.tasks.items() if resolved(task) != "pass"] == []
    assert len(found.skipped) < 0.1 * (len(found.tasks) + len(found.skipped))
