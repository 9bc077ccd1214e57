"""What a user can get wrong: one line with the remedy, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.package_index import NAME, tiny_index

TASK = {
    "schema": 1,
    "task_id": "python/fsum/1",
    "library": "python",
    "release": "3",
    "api": "math.fsum",
    "difficulty": "easy",
    "description": "Add the values without loss of precision.",
    "context_code": "import math\n",
    "entry_point": "solve",
    "signature": "def solve(values):",
    "reference_solution": "def solve(values):\n    return math.fsum(values)\n",
    "inputs": [{"args": ["[0.1] * 10"]}, {"args": ["[1e100, 1.0, -1e100]"]}],
    "calls": {"api": "math.fsum"},
}
GOOD = {"task_id": TASK["task_id"], "samples": [TASK["reference_solution"]]}


@pytest.fixture(scope="module")
def index():
    index = tiny_index()
    index.start()
    yield index
    index.stop()


class Shell:
    """Runs the command line in a folder of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "PREFECT_"))}
        self.names = kept | {"NOVELAPI_HOME": str(self.home), "UV_DEFAULT_INDEX": url}

    def __call__(self, *args: str, before: tuple[str, ...] = (), **names: str) -> subprocess.CompletedProcess:
        command = [*before, sys.executable, "-m", "novelapi", *args]
        return subprocess.run(
            command, env=self.names | names, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120
        )

    def write(self, name: str, *rows: object) -> str:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))
        return name


@pytest.fixture
def shell(tmp_path, index):
    return Shell(tmp_path, index.url)


def one_line(done: subprocess.CompletedProcess, code: int, *words: str) -> None:
    """Check that a command ended with a code and one line that holds all words."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("novelapi: ")
    for word in words:
        assert word in lines[0]


def test_the_fixture_is_no_mistake(shell):
    done = shell("versions", NAME, "--cutoff", "2024-03-01", "--json")
    assert json.loads(done.stdout) == {
        "library": NAME,
        "cutoff": "2024-03-01",
        "old": "1.0",
        "new": "2.0",
        "reason": "1.0 is the highest final release uploaded before 2024-03-01 (2024-01-10)",
    }


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["versions", "tinyshape", "--cutoff", "2024-03-01"], ["unknown library 'tinyshape'", "novelapi list"]),
        (["versions", "numpi", "--cutoff", "2024-03-01"], ["unknown library 'numpi'", "did you mean numpy"]),
        (["versions", NAME, "--cutoff", "2024-06-11"], ["after the newest release", "2.0, 2024-06-10", "earlier"]),
        (["versions", NAME, "--cutoff", "yesterday"], ["'yesterday' is not a date", "YYYY-MM-DD"]),
        (["discover", NAME, "--old", "7.1", "--new", "2.0"], ["no final release 7.1", "1.0, 2.0"]),
        (["discover", NAME, "--old", "one"], ["'one' is not a version", "2.0"]),
        (["discover", NAME, "--old", "2.0", "--new", "1.0"], ["not below", "exchange"]),
        (["discover", NAME], ["--cutoff DATE"]),
        (["discover", NAME, "--model", "qwen2.5-coder-7"], ["unknown model", "did you mean qwen2.5-coder-7b"]),
        (["build", NAME, "--model", "gpt"], ["unknown model 'gpt'", "copy"]),
        (["build", NAME], ["no cutoff", "--cutoff DATE"]),
        (["build", NAME, "--old", "2.0", "--new", "3.0"], ["no final release 3.0"]),
        (["build", NAME, "--cutoff", "2030-01-01"], ["after the newest release"]),
        (["build", "--group", "sew"], ["unknown group 'sew'", "did you mean swe"]),
        (["run", "--library", NAME, "--cutoff", "2024-03-01", "--conditions", "s_nam"], ["did you mean s_name"]),
        (["run", "--library", NAME, "--cutoff", "2024-03-01", "--delivery", "rags"], ["did you mean rag"]),
        (["list", "library"], ["did you mean libraries"]),
    ],
)
def test_an_unknown_name_or_date(shell, args, words):
    one_line(shell(*args), 2, *words)
    assert not (shell.home / "raw").exists()
    assert not (shell.home / "prefect").exists(), "no server is started for a request that is wrong"


def test_an_index_that_does_not_answer(shell, index):
    index.answering = False
    try:
        done = shell("discover", NAME, "--cutoff", "2024-03-01")
    finally:
        index.answering = True
    one_line(done, 1, "the package index did not answer", "HTTP 503", "check the network")
    assert not list(shell.home.rglob("*.json"))


def test_an_index_that_is_not_there(shell):
    done = shell("discover", NAME, "--cutoff", "2024-03-01", UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")
    one_line(done, 1, "the package index did not answer", "ConnectionError", "check the network")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([GOOD, GOOD], ["predictions.jsonl", "duplicate", "python/fsum/1"]),
        ([GOOD | {"task_id": "python/fsums/1"}], ["predictions.jsonl", "unknown", "python/fsums/1"]),
        ([GOOD, "{broken"], ["predictions.jsonl", "2"]),
        ([{"samples": ["x"]}], ["predictions.jsonl", "task_id"]),
    ],
)
def test_a_predictions_file_that_is_wrong(shell, rows, words):
    tasks = shell.write("tasks.jsonl", TASK)
    predictions = shell.write("predictions.jsonl", *rows)
    one_line(shell("evaluate", predictions, "--tasks", tasks, "--out", "out"), 2, *words)
    assert not (shell.folder / "out").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{key: value for key, value in TASK.items() if key != "entry_point"}], ["tasks.jsonl", "entry_point"]),
        ([TASK, TASK], ["tasks.jsonl", "duplicate"]),
        ([TASK | {"schema": 99}], ["tasks.jsonl", "schema"]),
        (["[1, 2]"], ["tasks.jsonl"]),
    ],
)
def test_a_task_file_that_is_wrong(shell, rows, words):
    tasks = shell.write("tasks.jsonl", *rows)
    predictions = shell.write("predictions.jsonl", GOOD)
    one_line(shell("evaluate", predictions, "--tasks", tasks, "--out", "out"), 2, *words)
    assert not (shell.folder / "out").exists()


def test_a_file_that_is_not_there(shell):
    tasks = shell.write("tasks.jsonl", TASK)
    one_line(shell("evaluate", "nothing.jsonl", "--tasks", tasks, "--out", "out"), 2, "nothing.jsonl")


def test_no_sandbox(shell, tmp_path):
    tasks, predictions = shell.write("tasks.jsonl", TASK), shell.write("predictions.jsonl", GOOD)
    empty = tmp_path / "bin"
    empty.mkdir()
    done = shell("evaluate", predictions, "--tasks", tasks, "--out", "out", PATH=str(empty))
    one_line(done, 3, "bubblewrap", "install")
    assert not (shell.folder / "out" / "summary.json").exists()


def test_a_full_disk(shell, tmp_path):
    """A file system of 64 kB, mounted for the one process."""
    small = tmp_path / "small"
    small.mkdir()
    mount = f"mount -t tmpfs -o size=64k none {small}"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False).returncode:
        pytest.skip("this user cannot mount a small file system to fill")
    tasks = shell.write("tasks.jsonl", TASK)
    predictions = shell.write("predictions.jsonl", {**GOOD, "samples": [f"# {'x' * 100_000}"]})
    before = ("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh")
    done = shell("evaluate", predictions, "--tasks", tasks, "--out", f"{small}/out", before=before)
    one_line(done, 1, "disk", "free space")
    done = shell("discover", NAME, "--cutoff", "2024-03-01", before=before, NOVELAPI_HOME=f"{small}/home")
    one_line(done, 1, "disk", "free space")
