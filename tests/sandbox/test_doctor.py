"""`novelapi doctor`, and what `evaluate` does where there is no sandbox."""

import json
import os
import subprocess
import sys

import pytest

from tests.sandbox.tasks import PAIRWISE

pytestmark = pytest.mark.sandbox
MAIN = [sys.executable, "-c", "from novelapi.cli import main; main()"]


def novelapi(*arguments, path=None):
    variables = dict(os.environ) if path is None else {**os.environ, "PATH": str(path)}
    return subprocess.run([*MAIN, *map(str, arguments)], env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def report():
    done = novelapi("doctor", "--json")
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "tasks.jsonl").write_text(PAIRWISE.model_dump_json(by_alias=True) + "\n")
    samples = [PAIRWISE.reference_solution, "import os\nos._exit(0)\n"]
    row = {"task_id": PAIRWISE.task_id, "samples": samples}
    (tmp_path / "predictions.jsonl").write_text(json.dumps(row) + "\n")
    return [tmp_path / "predictions.jsonl", "--tasks", tmp_path / "tasks.jsonl", "--out", tmp_path / "out"]


def test_the_sandbox_holds_here(report):
    code, found = report
    assert (code, found["ok"]) == (0, True)
    kinds = [trial["kind"] for trial in found["trials"]]
    assert (kinds.count("attack"), kinds.count("control")) == (5, 2)
    assert [trial for trial in found["trials"] if not trial["holds"]] == []
    assert found["isolation"]["sandbox"] == "bubblewrap"


def test_what_is_optional_does_not_count(report):
    needed = {item["name"] for item in report[1]["prerequisites"] if item["needed"]}
    assert needed == {"bubblewrap", "libseccomp", "namespaces", "uv"}
    assert all(item["remedy"] for item in report[1]["prerequisites"] if not item["found"])


def test_without_a_sandbox_doctor_names_the_remedy(tmp_path):
    done = novelapi("doctor", "--json", path=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["trials"]) == (3, False, [])
    assert "apt install bubblewrap" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_sandbox_nothing_is_scored(tmp_path, files):
    done = novelapi("evaluate", *files, path=tmp_path)
    assert done.returncode == 3
    assert "apt install bubblewrap" in done.stderr
    assert "Traceback" not in done.stderr


def test_unsafe_scores_without_a_sandbox_and_says_so(tmp_path, files):
    done = novelapi("evaluate", *files, "--unsafe", "--json", path=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pass"] == 1
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["pass", "fail"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "unsafe" in manifest["isolation"]["sandbox"]


@pytest.mark.parametrize("hole", ["exit", "equality", "secret", "network", "leftover"])
def test_the_attacks_bite_where_nothing_holds(hole):
    """Each attack reaches its goal in a plain interpreter: the trials can fail."""
    from tests.sandbox import holes

    assert holes.reached(hole)
