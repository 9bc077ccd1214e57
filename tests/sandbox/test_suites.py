"""Outside suites: the reference passes with what its task needs, and not without; rows are streamed and resumed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from novelapi import jsonl
from novelapi.evaluation.suites import codeupdatearena, gitchameleon
from novelapi.evaluation.suites import run as suites
from novelapi.evaluation.suites.supply import Supplied
from novelapi.execution.environments import installed_distributions, python_environment

pytestmark = pytest.mark.sandbox
ROW = {
    "update": {
        "update_id": "sin", "package": "math", "function_path": "math.sin",
        "imports": ["import math", "old_sin = math.sin", "setattr(math, 'old_sin', old_sin)"],
        "implementation": "def sin(x, unit='radians'):\n    return old_sin(x if unit == 'radians' else math.radians(x))\n",
    },
    "prog_syn_examples": [
        {
            "imports": ["import math", "old_sin = math.sin"],
            "solution_signature": "def f(x):",
            "ref_solution": "def f(x):\n    return round(math.sin(x, unit='degrees'), 6)",
            "unit_tests": ["def test_f():\n    assert f(90) == 1.0"],
        },
        {
            "imports": ["import math"],
            "solution_signature": "def f(x):",
            "ref_solution": "def f(x):\n    return 2.0",
            "unit_tests": ["def test_f():\n    assert f(90) == 1.0"],
        },
        {
            "imports": ["import math"],
            "solution_signature": "def f(x):",
            "ref_solution": "def f(x):\n    return 1.0",
            "unit_tests": ["def test_f():\n    assert f(90) == 1.0"],
        },
    ],
}  # fmt: skip
GOLD = "import json\ndef load(text):\n    return json.loads(text)\n"
TEST = """
import os, sys, unittest
import pytest
sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..")))
from sample_1 import load

@pytest.mark.parametrize("value", ["1", "2"])
def test_number(value):
    assert load(value) == int(value)

class TestLists(unittest.TestCase):
    def test_list(self):
        self.assertEqual(load("[1]"), [1])

    def test_refusal(self):
        with self.assertRaises(ValueError):
            load("[")
"""


@pytest.fixture
def env_with_pytest():
    """The environment that these tests run in."""
    prefix = Path(sys.prefix)
    return python_environment().model_copy(
        update={
            "key": "tests", "prefix": str(prefix), "python": str(prefix / "bin" / "python"),
            "distributions": installed_distributions(prefix),
        }
    )  # fmt: skip


@pytest.fixture
def problems(tmp_path):
    need = {"library": "json", "version": "1", "python_version": "3.11", "additional_dependencies": ""}
    start = {"starting_code": "import json\ndef load(text):\n"}
    rows = [{"example_id": str(number), **need, **start} for number in (1, 2)]
    (tmp_path / "dataset.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = [{"example_id": "1", "answer": GOLD}, {"example_id": "2", "answer": "def load(text):\n    return 1\n"}]
    (tmp_path / "ground_truth_solutions.jsonl").write_text("\n".join(map(json.dumps, answers)))
    (tmp_path / "hidden_tests").mkdir()
    for number in (1, 2):
        text = TEST.replace("sample_1", f"sample_{number}")
        (tmp_path / "hidden_tests" / f"test_sample_{number}.py").write_text(text)
    return gitchameleon.read(tmp_path)


def run(suite, cases, path, env, *, answers=None):
    """Run a suite in one environment; return how many rows were made and the rows by task and sample."""
    request = suites.SuiteRun(
        suite=suite, cases=cases, answers=answers, results=path, environment_of=lambda _: Supplied(env=env)
    )
    made = suites.run(request)
    return made, {(row.task_id, row.sample): row for row in suites.read_results(path)}


def test_a_reference_needs_its_update(tmp_path):
    (tmp_path / "arena.jsonl").write_text(json.dumps(ROW) + "\n")
    cases = codeupdatearena.read(tmp_path)
    _, rows = run(codeupdatearena.SUITE, cases, tmp_path / "results.jsonl", python_environment())
    good, bad, idle = (rows[f"sin/{number}", 0] for number in range(3))
    assert good.outcome == "pass"
    assert good.plain is not None
    assert "unit" in good.plain or "TypeError" in good.plain
    assert bad.outcome == "fail"
    assert "AssertionError" in (bad.reason or "")
    assert (idle.outcome, idle.reason) == ("fail", "passes without the update too")


def test_pytest_files_pass_and_fail(tmp_path, problems, env_with_pytest):
    _, rows = run(gitchameleon.SUITE, problems, tmp_path / "results.jsonl", env_with_pytest)
    good, bad = rows["1", 0], rows["2", 0]
    assert (good.outcome, good.reason, good.passed, good.failed) == ("pass", None, 4, 0)
    assert (bad.outcome, bad.passed, bad.failed) == ("fail", 1, 3)
    assert bad.reason is not None
    assert bad.reason.startswith("test_number[2]: ")
    assert (good.env, good.python, good.integrity) == ("tests", python_environment().python_version, "weak")


ODD = {
    "early exit": "import os\nos._exit(0)",
    "polite exit": "raise SystemExit(0)",
    "late exit": GOLD + "import atexit, os\ndef load(text):\n    os._exit(0)",
    "null": "def load(text): return '\0'",
    "surrogate": "\ud800",
    "broken": "def load(",
    "empty": "",
    "loop": "while True: pass",
    "killed": "import os\nos.kill(os.getppid(), 9)",
    "no network": "import socket\nsocket.create_connection(('192.0.2.1', 80), 5)\n" + GOLD,
}


def test_answers_of_any_kind_fail_and_nothing_else(tmp_path, problems, env_with_pytest):
    from dataclasses import replace

    from novelapi.execution.isolated import Limits

    suite = replace(gitchameleon.SUITE, limits=Limits(wall_s=30, cpu_s=10))
    texts = [f"```python\n{text}\n```" if name == "empty" else text for name, text in ODD.items()]
    answers = {"1": [*texts, GOLD]}
    one = {"1": problems["1"]}
    _, rows = run(suite, one, tmp_path / "results.jsonl", env_with_pytest, answers=answers)
    outcomes = {name: rows["1", number] for number, name in enumerate(ODD)}
    assert {name: row.outcome for name, row in outcomes.items() if row.outcome != "fail"} == {}
    assert all(row.reason for row in outcomes.values())
    assert rows["1", len(ODD)].outcome == "pass"


def test_a_run_is_resumed_and_what_changed_is_run_again(tmp_path, problems, env_with_pytest):
    path = tmp_path / "results.jsonl"
    made, rows = run(gitchameleon.SUITE, problems, path, env_with_pytest)
    first = path.read_bytes()
    assert made == 2
    assert run(gitchameleon.SUITE, problems, path, env_with_pytest)[0] == 0
    assert path.read_bytes() == first
    lines = first.splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:40])  # killed while it wrote
    assert run(gitchameleon.SUITE, problems, path, env_with_pytest)[0] == 1
    only = {"1": problems["1"]}
    assert run(gitchameleon.SUITE, only, path, env_with_pytest)[0] == 0
    assert len(suites.read_results(path)) == 2, "rows of tasks that take no part are kept"
    changed = {"1": [GOLD + "# other"]}
    made, rows = run(gitchameleon.SUITE, only, path, env_with_pytest, answers=changed)
    assert made == 1
    assert rows["1", 0].outcome == "pass"


def test_a_row_without_an_environment_is_tried_again(tmp_path, problems, env_with_pytest):
    path = tmp_path / "results.jsonl"
    request = suites.SuiteRun(
        suite=gitchameleon.SUITE, cases=problems, answers=None, results=path,
        environment_of=lambda _: Supplied(env=None, reason="no wheel"),
    )  # fmt: skip
    assert suites.run(request) == 2
    assert {(row.outcome, row.cause, row.reason) for row in suites.read_results(path)} == {
        ("unscored", "environment", "no wheel")
    }
    assert run(gitchameleon.SUITE, problems, path, env_with_pytest)[0] == 2


def test_a_task_without_an_answer_is_unscored(tmp_path, problems, env_with_pytest):
    _, rows = run(gitchameleon.SUITE, problems, tmp_path / "results.jsonl", env_with_pytest, answers={"1": [GOLD]})
    assert rows["1", 0].outcome == "pass"
    assert (rows["2", 0].outcome, rows["2", 0].cause) == ("unscored", "prediction")


class Verb:
    """Runs `novelapi evaluate` on a suite's own miniature data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "codeupdatearena").mkdir()
        (folder / "codeupdatearena" / "arena.jsonl").write_text(json.dumps(ROW) + "\n")

    def __call__(self, *arguments: str, **names: str):
        kept = {name: value for name, value in os.environ.items() if name != "NOVELAPI_SUITE_DATA"}
        return subprocess.run(
            [sys.executable, "-m", "novelapi", "evaluate", *arguments], cwd=self.folder, check=False, text=True,
            capture_output=True, env=kept | {"NOVELAPI_HOME": str(self.folder / "home")} | names, timeout=120,
        )  # fmt: skip


@pytest.fixture
def verb(tmp_path):
    return Verb(tmp_path)


def test_the_verb_runs_gold_answers_and_resumes(verb):
    arguments = ("--suite", "codeupdatearena", "--gold", "--json")
    done = verb(*arguments, NOVELAPI_SUITE_DATA=str(verb.folder))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["ran"], found["pass"], found["made"]) == (3, 1, 3)
    assert found["pass_without_update"] == ["sin/2"]
    assert (verb.folder / "home/results/suites/codeupdatearena-gold/results.jsonl").exists()
    again = verb(*arguments, "--data", str(verb.folder))
    assert json.loads(again.stdout)["made"] == 0
    limited = verb(*arguments, "--data", str(verb.folder), "--limit", "1")
    assert limited.returncode == 4
    assert json.loads(limited.stdout)["tasks"] == 1


def test_the_verb_scores_predictions(verb):
    rows = [
        {"task_id": "sin/0", "completion": ROW["prog_syn_examples"][0]["ref_solution"]},
        {
            "task_id": "sin/1",
            "samples": ["def f(x):\n    return 0", "def f(x):\n    return math.sin(x, unit='degrees')"],
        },
    ]
    (verb.folder / "predictions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = verb("predictions.jsonl", "--suite", "codeupdatearena", "--data", ".", "--out", "out")
    assert done.returncode == 4, done.stderr
    assert "pass@1 0.500   (1 of 2 that ran, 1 not run)" in done.stdout
    assert "no prediction for it" in done.stdout
    found = {(row["task_id"], row["sample"]): row["outcome"] for row in jsonl.read(verb.folder / "out/results.jsonl")}
    assert found == {
        ("sin/0", 0): "pass", ("sin/1", 0): "fail", ("sin/1", 1): "pass", ("sin/2", 0): "unscored",
    }  # fmt: skip
    other = verb("--gold", "--suite", "codeupdatearena", "--data", ".", "--out", "out")
    assert other.returncode == 2
    assert "--fresh" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--suite", "codeupdatarena", "--gold"], 2, "did you mean codeupdatearena"),
        (["--suite", "codeupdatearena", "--gold"], 3, "give its folder with --data or NOVELAPI_SUITE_DATA"),
        (["--suite", "gitchameleon", "--gold", "--data", "."], 2, "holds no dataset.jsonl"),
        (["--suite", "codeupdatearena", "--data", "."], 2, "give either PREDICTIONS or --gold"),
        (["unknown.jsonl", "--suite", "codeupdatearena", "--data", "."], 2, "row 1: unknown task_id 'sin/9'"),
        (["twice.jsonl", "--suite", "codeupdatearena", "--data", "."], 2, "row 2: duplicate task_id 'sin/0'"),
        (["broken.jsonl", "--suite", "codeupdatearena", "--data", "."], 2, "line 1: not valid JSON"),
        (["absent.jsonl", "--suite", "codeupdatearena", "--data", "."], 2, "cannot read absent.jsonl"),
        (["--suite", "codeupdatearena", "--gold", "--data", ".", "--unsafe"], 2, "sandbox only"),
        (["--suite", "codeupdatearena", "--gold", "--data", ".", "--jobs", "2"], 2, "one row at a time"),
        (["--suite", "codeupdatearena", "--gold", "--data", ".", "--backend", "docker"], 2, "bubblewrap only"),
        (["--suite", "codeupdatearena", "--gold", "--tasks", "x"], 2, "either --tasks or --suite"),
        (["twice.jsonl", "--gold"], 2, "--suite"),
        (["twice.jsonl"], 2, "give PREDICTIONS, --tasks and --out"),
    ],
)
def test_what_a_user_can_get_wrong(verb, arguments, code, words):
    answer = {"task_id": "sin/0", "completion": ""}
    (verb.folder / "unknown.jsonl").write_text(json.dumps({**answer, "task_id": "sin/9"}))
    (verb.folder / "twice.jsonl").write_text(f"{json.dumps(answer)}\n{json.dumps(answer)}\n")
    (verb.folder / "broken.jsonl").write_text("{\n")
    done = verb(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert words in done.stderr


DATA = os.environ.get("NOVELAPI_SUITE_DATA")
NEEDS_DATA = pytest.mark.skipif(not DATA, reason="NOVELAPI_SUITE_DATA is not set: see docs/suites.md")


def full(tmp_path, suite):
    """Run a whole suite; environments that are there are taken again where NOVELAPI_HOME is set."""
    done = subprocess.run(
        [shutil.which("novelapi", path=str(Path(sys.executable).parent)) or "novelapi", "evaluate", "--suite", suite,
         "--gold", "--json", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 4), done.stderr
    return json.loads(done.stdout), suites.read_results(tmp_path / "out" / "results.jsonl")


@NEEDS_DATA
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(3600)
def test_gitchameleon_gold_answers(tmp_path):
    found, rows = full(tmp_path, "gitchameleon")
    assert found["ran"] >= 60
    assert found["pass"] >= 0.95 * found["ran"]
    assert all(row.reason for row in rows if row.outcome != "pass")
    assert all("://" not in (row.reason or "") for row in rows)


@NEEDS_DATA
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(3600)
def test_codeupdatearena_references(tmp_path):
    found, rows = full(tmp_path, "codeupdatearena")
    assert found["unscored"] == 0
    assert found["pass"] >= 0.9 * found["ran"]
    assert all(row.plain for row in rows)
