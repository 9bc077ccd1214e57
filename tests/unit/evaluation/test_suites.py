"""Outside suites: what is read from their files, what counts as a pass, which environment a row gets."""

import json
from datetime import UTC, datetime

import pytest

from novelapi.errors import DataError, IndexUnavailableError, PrerequisiteError, UnknownNameError, UsageError
from novelapi.evaluation.suites import codeupdatearena, gitchameleon, supply
from novelapi.evaluation.suites.base import Need, Suite
from novelapi.evaluation.suites.registry import SUITES, find_data, find_suite
from novelapi.evaluation.suites.run import summarise
from novelapi.evaluation.suites.supply import Supply
from novelapi.execution.environments import _resolution_error
from novelapi.execution.interpreters import Interpreter, running_interpreter
from novelapi.records.suite import SuiteRow

CHAMELEON = {
    "example_id": "7", "library": "Shapes", "version": "1.0", "python_version": "3.10",
    "starting_code": "import shapes\ndef double(x):\n", "additional_dependencies": "lists==2.0",
    "extra_dependencies": "lists==1.0 trees==3",
}  # fmt: skip
TEST = """
import unittest
from sample_7 import double

def helper(): ...
def test_plain(): assert double(1) == 2
class TestBare:
    def test_a(self): ...
class Cases(unittest.TestCase):
    def test_b(self): ...
    def test_b(self): ...
class Other:
    def test_never(self): ...
class TestMade:
    def __init__(self): ...
    def test_never(self): ...
"""
UPDATE = {
    "update_id": "u", "package": "math", "function_path": "math.sin", "imports": ["import math"],
    "implementation": "def sin(x):\n    return 0\n",
}  # fmt: skip
TASK = {
    "prog_syn_id": "u:0", "imports": ["import math"], "ref_solution": "def f():\n    return math.sin(1)",
    "solution_signature": "def f():", "unit_tests": ["def test_f():\n    assert f() == 0"],
}  # fmt: skip


def chameleon(tmp_path, *rows, answers=({"example_id": "7", "answer": "def double(x):\n    return 2 * x\n"},)):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (tmp_path / "dataset.jsonl").write_text("\n".join(lines))
    (tmp_path / "ground_truth_solutions.jsonl").write_text("\n".join(json.dumps(row) for row in answers))
    (tmp_path / "hidden_tests").mkdir(exist_ok=True)
    (tmp_path / "hidden_tests" / "test_sample_7.py").write_text(TEST)
    return tmp_path


def arena(tmp_path, *rows):
    (tmp_path / "arena.jsonl").write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return tmp_path


def test_a_row_names_its_environment(tmp_path):
    (problem,) = gitchameleon.read(chameleon(tmp_path, CHAMELEON)).values()
    assert (problem.need.library, problem.need.release, problem.need.python) == ("shapes", "1.0", "3.10")
    assert problem.need.requirements == ("lists==2.0", "trees==3"), "the second column goes before the first"
    assert problem.request("code") == {"module": "sample_7", "code": "code", "test": TEST}


def test_rows_of_one_environment_have_one_need(tmp_path):
    path = chameleon(tmp_path, CHAMELEON, {**CHAMELEON, "example_id": "8"}, answers=[
        {"example_id": "7", "answer": ""}, {"example_id": "8", "answer": ""},
    ])  # fmt: skip
    (path / "hidden_tests" / "test_sample_8.py").write_text(TEST)
    assert len({problem.need for problem in gitchameleon.read(path).values()}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import shapes\ndef double(x):\n    return 2 * x\n",
        "Here it is:\n```python\nimport shapes\ndef double(x):\n    return 2 * x\n```\n",
        "```python\ndef double(x):\n    return 2 * x\n```",
        "    return 2 * x\n",
    ],
)
def test_the_code_of_an_answer_has_what_the_start_imports(tmp_path, text):
    (problem,) = gitchameleon.read(chameleon(tmp_path, CHAMELEON)).values()
    code = problem.code(text)
    assert code.index("import shapes") < code.index("def double(x):") < code.index("return 2 * x")
    assert code.count("def double") == 1
    compile(code, "sample_7.py", "exec")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"passed": ["test_plain", "a", "b"], "failed": {}, "skipped": {}, "errors": []}, None),
        ({"passed": ["test_plain", "a"], "failed": {}, "skipped": {"b": "no display"}, "errors": []}, None),
        ({"passed": ["test_plain", "a"], "failed": {}, "skipped": {}, "errors": []}, "only 2 of 3 tests"),
        ({"passed": ["test_plain", "a"], "failed": {"b": "boom"}, "skipped": {}, "errors": []}, "b: boom"),
        ({"passed": [], "failed": {}, "skipped": {}, "errors": ["collection: E"]}, "collection: E"),
        ({"passed": [], "failed": {}, "skipped": dict.fromkeys("abc", "no net"), "errors": []}, "no test ran: no net"),
        ({"passed": [], "failed": {}, "skipped": {}, "errors": []}, "only 0 of 3 tests"),
    ],
)
def test_a_pass_needs_every_declared_test(tmp_path, answer, words):
    (problem,) = gitchameleon.read(chameleon(tmp_path, CHAMELEON)).values()
    reason = problem.judge(answer).reason
    assert reason == words if words is None else words in (reason or "")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([CHAMELEON, "{broken"], "line 2: not valid JSON"),
        ([CHAMELEON, CHAMELEON], "row 2: duplicate example_id '7'"),
        ([{"example_id": "7"}], "row 1: field missing: "),
        ([{**CHAMELEON, "example_id": "9"}], "no answer for '9'"),
        ([{**CHAMELEON, "additional_dependencies": "lists=>2"}], "row 1: 'lists=>2' is not a requirement"),
        ([], "holds no row"),
    ],
)
def test_a_broken_dataset_is_refused(tmp_path, rows, words):
    with pytest.raises(DataError, match=r"dataset\.jsonl") as caught:
        gitchameleon.read(chameleon(tmp_path, *rows))
    assert words in str(caught.value)


def test_a_missing_hidden_test_is_named(tmp_path):
    path = chameleon(tmp_path, CHAMELEON)
    (path / "hidden_tests" / "test_sample_7.py").unlink()
    with pytest.raises(DataError, match=r"test_sample_7\.py.*fetch the folder hidden_tests"):
        gitchameleon.read(path)


def test_an_example_brings_update_and_tests(tmp_path):
    found = codeupdatearena.read(arena(tmp_path, {"update": UPDATE, "prog_syn_examples": [TASK]}))
    case = found["u:0"]
    updated, plain = case.request(case.gold)["cases"]
    assert "setattr(math, 'sin', sin)" in updated["update"]
    assert (plain["update"], plain["parts"]) == ("", updated["parts"])
    assert updated["call"] == ["test_f"]
    assert case.need.library == "python"


def test_a_method_is_put_into_its_class():
    namespace = {}
    code = "def count(self):\n    return 'new'\n" + codeupdatearena._installer(
        "collections.Counter.total", "def count(s): ..."
    )
    exec(code, namespace)
    import collections

    try:
        assert collections.Counter().count() == "new"
    finally:
        del collections.Counter.count


@pytest.mark.parametrize(
    ("updated", "plain", "words"),
    [
        (None, "TypeError: x", None),
        (None, None, "passes without the update too"),
        ("ValueError: y", None, "ValueError: y"),
        ("ValueError: y", "TypeError: x", "ValueError: y"),
    ],
)
def test_a_pass_needs_its_update(tmp_path, updated, plain, words):
    case = codeupdatearena.read(arena(tmp_path, {"update": UPDATE, "prog_syn_examples": [TASK]}))["u:0"]
    verdict = case.judge({"with": updated, "without": plain})
    assert verdict.reason == words
    assert verdict.plain == (plain or "passes")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (['{"a": 1}'], "row 1: 'update' is missing"),
        (["{"], "line 1: not valid JSON"),
        ([{"update": {**UPDATE, "package": "shapes"}, "prog_syn_examples": []}], "no release is chosen for"),
        ([{"update": UPDATE, "prog_syn_examples": [TASK, TASK]}], "duplicate prog_syn_id 'u:0'"),
        ([{"update": {**UPDATE, "implementation": "x = 1"}, "prog_syn_examples": [TASK]}], "row 1: "),
    ],
)
def test_a_broken_arena_is_refused(tmp_path, rows, words):
    with pytest.raises(DataError, match=r"arena\.jsonl") as caught:
        codeupdatearena.read(arena(tmp_path, *rows))
    assert words in str(caught.value)


def test_suites_are_found_by_name_and_folder(tmp_path):
    for name in SUITES:
        suite = find_suite(name)
        assert suite.name == name
        if not isinstance(suite, Suite):
            continue  # see test_choice_suites.py
        folder = tmp_path / suite.folder
        folder.mkdir()
        with pytest.raises(DataError, match=rf"holds no {suite.marker}.*--data"):
            find_data(suite, folder, None)
        (folder / suite.marker).touch()
        assert find_data(suite, folder, None) == find_data(suite, tmp_path, None) == find_data(suite, None, tmp_path)
        with pytest.raises(PrerequisiteError, match=r"github\.com/.*NOVELAPI_SUITE_DATA"):
            find_data(suite, None, None)
    with pytest.raises(UnknownNameError, match="did you mean gitchameleon"):
        find_suite("gitchamelon")


def row(task_id, outcome, **more):
    return SuiteRow(
        suite="s", task_id=task_id, sample=0, library="lib", release="1", declared_python="3.9", outcome=outcome,
        text="", **more,
    )  # fmt: skip


def test_the_summary_counts_what_ran_apart():
    rows = [
        row("a", "pass", python="3.9.18", notes=("x",)), row("b", "fail", python="3.9.18", reason="boom", plain="passes"),
        row("c", "unscored", reason="no wheel"), row("d", "unscored", reason="no wheel"),
    ]  # fmt: skip
    found = summarise(rows, suite="s", gold=True, partial=False)
    assert (found["ran"], found["pass"], found["unscored"], found["pass_at_1"]) == (2, 1, 2, 0.5)
    assert found["not_run"] == {"no wheel": 2}
    assert found["failed"] == {"b": "boom"}
    assert found["pass_without_update"] == ["b"]
    assert found["pythons"] == {"3.9": 2}
    assert found["noted"] == 1


def test_a_library_called_network_is_no_network_fault():
    message = "No solution found: because networkx==2.6 has no usable wheels, it cannot be used."
    assert isinstance(_resolution_error("networkx==2.6", message), UsageError)
    for fault in ("error sending request for url", "Connection refused", "network unreachable", "operation timed out"):
        assert isinstance(_resolution_error("networkx==2.6", fault), IndexUnavailableError)


class FakeRelease:
    first = datetime(2020, 1, 1, tzinfo=UTC)
    last = datetime(2021, 1, 1, tzinfo=UTC)
    version = "1.0"

    from packaging.version import Version

    parsed = Version(version)


class FakeWorkspace:
    """Stands for index and resolver: refuses what the test says, and records what it was asked."""

    def __init__(self, refuse, undated):
        self.refuse, self.undated, self.asked = refuse, undated, []
        self.environments = self

    def releases(self, _):
        return [FakeRelease]

    def build(self, request):
        self.asked.append(request)
        reason = self.refuse(request)
        if reason:
            raise UsageError(reason)
        from novelapi.execution.environments import python_environment

        more = {"distributions": {"pytest": "7"}, "undated": self.undated, "undated_before": FakeRelease.last}
        return python_environment().model_copy(update=more)


NEED = Need(library="shapes", release="1.0", python="3.10", extras=("pytest==7; python_version > '3.9'", "numpy==1; python_version < '3.9'"), runner="pytest")  # fmt: skip
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def supplied(monkeypatch, refuse, *, installed=("3.9.1", "3.10.2"), need=NEED, undated=()):
    from pathlib import Path

    pythons = [Interpreter(Path("/nowhere"), version) for version in installed]
    monkeypatch.setattr(supply, "installed_interpreters", lambda: iter(pythons))
    workspace = FakeWorkspace(refuse, undated)
    return Supply(workspace=workspace, now=NOW).environment(need), workspace.asked


def test_the_declared_python_comes_first(monkeypatch):
    found, asked = supplied(monkeypatch, lambda _: None)
    assert found.env is not None
    assert found.notes == ()
    assert [item.requires_python for item in asked] == ["==3.10.2"]
    assert asked[0].before == datetime(2020, 1, 2, tzinfo=UTC), "dependencies of the day after the release"
    assert asked[0].extras == ("pytest==7",)


def test_an_interpreter_that_is_not_installed_is_on_record(monkeypatch):
    found, asked = supplied(monkeypatch, lambda _: None, installed=())
    running = running_interpreter().version
    assert [item.requires_python for item in asked] == [f"=={running}"]
    assert found.notes == (f"Python {running}, as the declared 3.10 is not installed",)


def test_another_python_is_tried_last_and_on_record(monkeypatch):
    found, asked = supplied(monkeypatch, lambda request: "no" if request.requires_python == "==3.10.2" else None)
    assert [item.requires_python for item in asked] == ["==3.10.2"] * 3 + ["==3.9.1"]
    assert [item.before.year for item in asked] == [2020, 2021, 2026, 2020]
    assert found.notes == ("Python 3.9.1, as the declared 3.10 has no environment for it",)


def test_a_dependency_that_is_newer_than_declared_is_on_record(monkeypatch):
    found, _ = supplied(monkeypatch, lambda _: None, undated=("trees",))
    assert found.notes == ("trees as of 2021-01-01, without a wheel of the time",)


def test_a_row_without_an_environment_has_the_first_refusal_without_paths(monkeypatch):
    def refuse(request):
        place = "/home/somebody/x.whl" if request.requires_python == "==3.10.2" else "elsewhere"
        return f"Because shapes==1.0 has no usable wheels ({place}) hint: ask somebody"

    found, _ = supplied(monkeypatch, refuse)
    assert found.env is None
    assert found.reason == "Because shapes==1.0 has no usable wheels (...)"


def test_a_row_whose_runner_cannot_be_had_is_not_run(monkeypatch):
    from dataclasses import replace

    found, _ = supplied(monkeypatch, lambda _: None, need=replace(NEED, runner="nose"))
    assert found.env is None
    assert found.reason == "nose cannot be had beside it"
