"""What stands at the top of a report."""

import pytest

from novelapi import jsonl
from novelapi.reporting.analysis import analyse
from tests.synthetic_runs import write_experiment


def notices(folder):
    return {notice.kind: notice.text for notice in analyse([folder]).notices}


def test_a_complete_grid_without_faults_needs_no_notice(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0)
    assert notices(cells[0].parent) == {}


def test_missing_cells_are_named(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0, conditions=("baseline", "s", "full"))
    text = notices(cells[0].parent)["missing"]
    assert text.startswith("numpy-copy, oracle: 3 of 12 conditions have results; without: s_name, e, m_prose")


def test_other_deliveries_do_not_miss_the_shared_baseline(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0, deliveries=("oracle", "rag"))
    assert "missing" not in notices(cells[0].parent)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"limit": 20}, "partial", "12 runs were limited to 20 tasks"),
        ({"unscored": 0.3}, "unscored", "in no denominator of pass@1"),
        ({"apis": 5}, "few", "Only 5 APIs"),
        ({"apis": 1, "tasks": 3}, "few", "one API: no interval can be given"),
    ],
)
def test_doubtful_numbers_are_announced(tmp_path, options, kind, words):
    cells = write_experiment(tmp_path, **{"apis": 25, "tasks": 30, "unscored": 0.0} | options)
    assert words in notices(cells[0].parent)[kind]


def test_tasks_without_rows_are_missing_not_failed(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0)
    path = cells[-1] / "results.jsonl"
    jsonl.write(path, jsonl.read(path)[:10])
    analysis = analyse([cells[0].parent])
    assert any("20 of 360 greedy samples have no row" in notice.text for notice in analysis.notices)
    assert analysis.estimates[-1].pass_at_1.units == 10
    assert {d.pairs for d in analysis.differences if d.contrast.second == 11 and d.subset == "all"} == {10}


def test_a_run_in_which_all_fail_says_what_it_can_exclude(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0)
    path = cells[-1] / "results.jsonl"
    jsonl.write(path, (row | {"outcome": "fail", "label": "WrongLogic"} for row in jsonl.read(path)))
    assert "oracle-full: every scored task fails" in notices(cells[0].parent)["uniform"]


def test_mostly_unproved_verdicts_are_announced(tmp_path):
    cells = write_experiment(tmp_path, apis=25, tasks=30, unscored=0.0, conditions=("baseline",))
    path = cells[0] / "results.jsonl"
    jsonl.write(path, (row | {"integrity": "weak"} for row in jsonl.read(path)))
    assert "0.0 % of the verdicts are proved" in notices(cells[0].parent)["weak"]
