"""Which APIs samples choose, over runs: what the rows say, and a part of the tasks where there are very many."""

import pytest

from novelapi import jsonl
from novelapi.layout import Layout
from novelapi.reporting.rows import load_rows
from novelapi.reporting.runs import find_runs
from novelapi.reporting.selected import read_selected
from tests.synthetic_evidence import add_surface
from tests.synthetic_runs import write_experiment


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two runs of 24 tasks, nothing unscored, with the surface of their library; read only."""
    home = tmp_path_factory.mktemp("selected")
    write_experiment(home, apis=8, tasks=24, conditions=("baseline", "full"), unscored=0)
    instance = Layout(home).instance("numpy", "copy") / "instance.jsonl"
    add_surface(home, sorted({row["api"] for row in jsonl.read(instance)}))
    return home


@pytest.fixture
def rows(home):
    return load_rows(find_runs([home / "results/numpy-copy"]).runs)


def test_every_task_counts_where_they_are_few(home, rows):
    found, notices = read_selected(rows)
    assert not notices
    full = next(entry for entry in found if entry.run == 1)
    results = list(jsonl.read(home / "results/numpy-copy/oracle-full/results.jsonl"))
    called = {"WrongParam", "WrongShapeDtype", "WrongLogic"}
    assert full.samples == len(results)
    assert full.recall == pytest.approx(
        sum(row["outcome"] == "pass" or row["label"] in called for row in results) / len(results)
    )
    assert {entry.program for entry in found if entry.run is None}


@pytest.mark.parametrize(("most", "tasks"), [(47, 23), (20, 10), (1, 1)])
def test_of_many_samples_those_of_some_tasks_count_and_it_is_said(rows, most, tasks):
    found, notices = read_selected(rows, most)
    assert {entry.samples for entry in found if entry.run is not None} == {tasks}  # the same tasks in both runs
    assert f"{tasks} of 24 tasks" in notices[0].text


def test_the_chosen_tasks_do_not_depend_on_the_order(rows):
    turned = rows.__class__(**{**vars(rows), "tasks": dict(reversed(rows.tasks.items()))})
    assert read_selected(turned, 20) == read_selected(rows, 20)


def test_without_a_surface_nothing_is_said(tmp_path):
    cells = write_experiment(tmp_path, apis=2, tasks=4, conditions=("baseline", "full"))
    assert read_selected(load_rows(find_runs([cells[0].parent]).runs)) == ([], [])
