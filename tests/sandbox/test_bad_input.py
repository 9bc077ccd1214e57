"""Completions of any bytes, broken tasks, deaths under way: a typed outcome, never a crash, never a wrong verdict."""

import json
import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from novelapi.evaluation.run import Evaluation, evaluate, read_results
from novelapi.execution.environments import python_environment
from novelapi.execution.pool import Pool, SlotOptions
from novelapi.execution.zygote import Zygote
from novelapi.records.prediction import Prediction
from tests.sandbox.tasks import FMEAN, PAIRWISE

pytestmark = pytest.mark.sandbox
GOLD = PAIRWISE.reference_solution
ODD = [
    "", " ", "\n" * 100, "\0", "def solve(xs):\n    return '\0'", "\ufeff" + GOLD, "\ud800", "\x1b[31m" + GOLD,
    "(" * 5000, "[" * 300 + "]" * 300, "-" * 20000 + "1", "a." * 20000 + "b", "x" * 10_000_000, "#" * 10_000_000,
    "```python\n" * 2000, "```" * 9999, "def solve(xs):\n\treturn 1\n        return 2", "\r\n".join(GOLD.splitlines()),
    "print 'hello'", "SELECT 1;", "<?php echo 1; ?>", "int main() { return 0; }", '{"a": 1}', "日本語", "é = 1",
    "from __future__ import braces", "import this", "1/0", "raise KeyboardInterrupt", "raise GeneratorExit", "yield 1",
    "def solve(xs): return solve", "class solve: pass", "solve = None", "del solve", "solve = property()", "lambda: 0",
    "async def solve(xs): return 1", "def solve(xs): yield 1", "def solve(*xs, **k): return k", "def solve(): pass; return 1",
    "# coding: utf-16\n" + GOLD, "# -*- coding: nonsense -*-\n" + GOLD, "<think>" * 500 + GOLD, "</think>" + GOLD,
]  # fmt: skip


def run(tmp_path, samples, tasks=(PAIRWISE,), **more):
    predictions = {
        task_id: Prediction(task_id=task_id, samples=tuple(texts)) for task_id, texts in samples.items()
    }  # fmt: skip
    request = Evaluation(
        tasks={task.task_id: task for task in tasks}, predictions=predictions, results=tmp_path / "results.jsonl",
        environment_of=more.pop("environment_of", lambda library, release: python_environment()), **more,
    )  # fmt: skip
    finished = evaluate(request)
    return finished, read_results(tmp_path / "results.jsonl")


def test_completions_of_any_bytes(tmp_path):
    finished, rows = run(tmp_path, {PAIRWISE.task_id: [*ODD, GOLD]})
    assert finished.rows == len(ODD) + 1
    outcomes = {row.sample: row.outcome for row in rows}
    assert outcomes[len(ODD)] == "pass"
    assert set(outcomes.values()) <= {"pass", "fail"}
    passed = {ODD[number] for number, found in outcomes.items() if found == "pass" and number < len(ODD)}
    assert all("pairwise" in text for text in passed)
    assert all(row.label for row in rows if row.outcome == "fail")


def test_an_exception_is_described_whatever_its_module_calls_itself(tmp_path):
    text = "__name__ = []\ndef __getattr__(name):\n    raise AttributeError()\ndef solve(xs):\n    return __getattr__('x')\n"
    _, rows = run(tmp_path, {PAIRWISE.task_id: [text]})
    assert rows[0].evidence["inputs"][0]["error"]["type"] == "builtins.AttributeError"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reference_solution": "def solve(xs):\n    return 1 / 0\n"}, "no plain answer"),
        ({"reference_solution": "def solve(xs:\n"}, "does not run"),
        ({"reference_solution": "def other(xs):\n    return 1\n"}, "does not run"),
        ({"reference_solution": "def solve(xs):\n    return len(xs)\n"}, "never calls"),
        (
            {"reference_solution": "def solve(xs):\n    list(itertools.pairwise(xs))\n    return len(xs)\n"},
            "does not depend",
        ),
        ({"context_code": "import no_such_module\n"}, "correct context_code"),
        ({"context_code": "1 / 0\n"}, "correct context_code"),
        ({"api": "itertools.nothing", "calls": ({"api": "itertools.nothing"},)}, "correct"),
        ({"expected": (1, 2, 3)}, "not the one given"),
        ({"inputs": ({"args": ("undefined",)},)}, "no plain answer"),
        ({"observe": "result.nothing"}, "no plain answer"),
        ({"calls": ({"api": "itertools.pairwise", "required": {"n": "3"}},)}, "never calls"),
    ],
)
def test_a_broken_task_is_unscored_with_the_reason(tmp_path, change, words):
    broken = type(PAIRWISE).model_validate({**PAIRWISE.model_dump(mode="json", by_alias=True), "calls": None, **change})
    _finished, rows = run(
        tmp_path, {PAIRWISE.task_id: [GOLD], FMEAN.task_id: [FMEAN.reference_solution]}, (broken, FMEAN)
    )
    found = {row.task_id: row for row in rows}
    assert found[PAIRWISE.task_id].outcome == "unscored"
    assert words in found[PAIRWISE.task_id].reason
    assert found[FMEAN.task_id].outcome == "pass"


def test_an_environment_that_is_gone_is_no_failure_of_the_model(tmp_path):
    base = python_environment()
    prefix = tmp_path / "env"
    shutil.copytree(Path(base.base_prefix) / "bin", prefix / "bin", symlinks=True, ignore=lambda _, names: names)
    gone = base.model_copy(update={"key": "gone-1", "prefix": str(prefix), "python": str(prefix / "bin" / "python3")})
    task = PAIRWISE.model_copy(update={"library": "gone", "release": "1"})
    _, rows = run(tmp_path, {task.task_id: [GOLD]}, (task,), environment_of=lambda *_: gone)
    assert rows[0].outcome == "unscored"
    assert rows[0].label is None


def test_a_parent_that_is_killed_loses_nothing(tmp_path):
    """Warm parents and workers die at random; every verdict is right all the same."""
    texts = [f"# {n}\n{GOLD}" if n % 3 else f"# {n}\ndef solve(xs):\n    return None\n" for n in range(60)]
    stop = threading.Event()
    killed = []

    def killer():
        rng = random.Random(7)
        while not stop.wait(0.4):
            mine = _descendants(os.getpid())
            if mine:
                pid = rng.choice(mine)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(pid)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        _, rows = run(tmp_path, {PAIRWISE.task_id: texts}, options=SlotOptions())
    finally:
        stop.set()
        thread.join()
    assert killed
    assert len(rows) == 60
    for row in rows:
        if row.outcome != "unscored":
            assert row.outcome == ("pass" if row.sample % 3 else "fail"), row
    _, rows = run(tmp_path, {PAIRWISE.task_id: texts})  # what was unscored is scored by the next run
    assert [row.outcome for row in sorted(rows, key=lambda row: row.sample)] == [
        "pass" if n % 3 else "fail" for n in range(60)
    ]


def dies_once(slot, path):
    """A job whose worker is killed the first time, with a warm parent and its control groups at hand."""
    slot.zygote(python_environment())
    if path.name == "first" and not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def test_groups_of_a_killed_worker_go_with_the_pool(tmp_path):
    with Pool(dies_once, slots=2) as pool:
        found = dict(pool.map([tmp_path / "first", tmp_path / "second"]))
        assert found == {0: "first", 1: "second"}
        killed = (tmp_path / "first").read_text()
    assert _groups(killed) == []


def test_nothing_is_left_behind(tmp_path):
    before = (_descendants(os.getpid()), _groups(), len(Path("/proc/self/mounts").read_text().splitlines()))
    files = _open_files()
    run(tmp_path, {PAIRWISE.task_id: [f"# {n}\n{GOLD}" for n in range(20)]})
    time.sleep(0.2)
    assert (_descendants(os.getpid()), _groups(), len(Path("/proc/self/mounts").read_text().splitlines())) == before
    left = _open_files()
    assert len(left) <= len(files), sorted(set(left.items()) - set(files.items()))


def test_memory_stays_flat():
    zygote = Zygote(python_environment(), ("itertools",))
    try:
        from novelapi.execution.harness import prepare
        from novelapi.execution.trial import observe

        harness = prepare(zygote, PAIRWISE)
        sizes = []
        for _ in range(3):
            for _ in range(40):
                observe(zygote, PAIRWISE, harness, GOLD, "fork")
            sizes.append((zygote._rss_kb, len(zygote.sessions)))
        assert sizes[-1][0] <= sizes[0][0] + 1000
        assert sizes[-1][1] == 0
    finally:
        zygote.close()


def test_equal_completions_are_judged_once(tmp_path):
    run(tmp_path, {PAIRWISE.task_id: [GOLD] * 5})
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert len({row["cpu_ms"] for row in rows}) == 1


def _descendants(pid):
    found = []
    try:
        tasks = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except FileNotFoundError:
        return found
    for task in tasks:
        try:
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            found += [child, *_descendants(child)]
    return sorted(set(found))


def _open_files():
    found = {}
    for path in Path("/proc/self/fd").iterdir():
        try:
            found[path.name] = str(path.readlink())
        except FileNotFoundError:  # the descriptor that read the folder
            continue
    return found


def _groups(pid=None):
    own = f"novelapi-{pid or os.getpid()}-"
    return sorted(str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{own}*"))
