"""The numbers of one run, against counts made by hand."""

import json

import pytest

from novelapi import jsonl
from novelapi.reporting import summarise
from tests.synthetic_runs import write_experiment


@pytest.fixture
def cell(tmp_path):
    """Eight tasks; greedy: 3 pass, 3 fail, 1 unscored, 1 missing; sampled texts of two tasks, unequal in number."""
    (cell,) = write_experiment(tmp_path, apis=4, tasks=8, conditions=("full",), unscored=0.0)
    template = jsonl.read(cell / "results.jsonl")
    ids = [row["task_id"] for row in template]

    def row(task, sample, outcome, label=None, integrity="strong"):
        reason = "memory of another process" if outcome == "unscored" else "because"
        return template[0] | {
            "task_id": ids[task], "sample": sample, "outcome": outcome, "label": label, "reason": reason,
            "integrity": integrity,
        }  # fmt: skip

    rows = [row(0, 0, "pass"), row(1, 0, "pass"), row(2, 0, "pass", integrity="weak")]
    rows += [row(3, 0, "fail", "WrongLogic"), row(4, 0, "fail", "WrongLogic"), row(5, 0, "fail", "WrongParam")]
    rows += [row(6, 0, "unscored")]
    rows += [row(0, sample, outcome) for sample, outcome in enumerate(["pass", "fail", "fail"], 1)]
    rows += [row(1, sample, outcome) for sample, outcome in enumerate(["fail", "unscored"], 1)]
    for item in rows:
        item["label"] = item["label"] or ("WrongLogic" if item["outcome"] == "fail" else None)
    jsonl.write(cell / "results.jsonl", rows)
    return cell


def test_summary_counts_every_task_once_and_says_what_it_divides_by(cell):
    summary = summarise(cell)
    assert (summary["asked"], summary["passed"], summary["failed"], summary["unscored"], summary["missing"]) == (
        8,
        3,
        3,
        1,
        1,
    )
    assert summary["pass_at_1"] == 3 / 6
    assert summary["pass_at_1_of_asked"] == 3 / 8
    assert summary["labels"] == {"WrongParam": 1, "WrongLogic": 2}
    assert summary["unscored_reasons"] == {"memory of another process": 1}
    assert summary["strong"] == 5
    assert summary["partial"]
    assert json.loads((cell / "summary.json").read_text()) == summary


def test_pass_at_k_leaves_out_the_greedy_sample_and_says_how_many_tasks_have_enough(cell):
    entries = {entry["k"]: (entry["value"], entry["tasks"]) for entry in summarise(cell)["pass_at_k"]}
    # Task 0: 1 of 3 pass; task 1: 0 of 1 scored (the unscored one does not count).
    assert entries[1] == (pytest.approx((1 / 3 + 0) / 2), 2)
    assert entries[2] == (pytest.approx(2 / 3), 1)
    assert entries[3] == (pytest.approx(1.0), 1)
    assert 5 not in entries


def test_the_file_of_a_former_summary_is_never_read(cell):
    (cell / "summary.json").write_text('{"passed": 999}')
    assert summarise(cell)["passed"] == 3
