"""`novelapi evaluate --suite` of a selection suite: output, files, exit codes."""

import json

import pytest
from typer.testing import CliRunner

from novelapi.cli import app
from tests.fakes.tool_data import CLIPS, query, write, write_suites


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
def verb(tmp_path, monkeypatch):
    from novelapi.settings import load_settings

    load_settings.cache_clear()
    yield Verb(write_suites(tmp_path), monkeypatch)
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
