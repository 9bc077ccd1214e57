"""Reading runs: every kind of bad input is a clear statement, never a wrong number."""

import json

import pytest

from novelapi import jsonl
from novelapi.errors import DataError, UsageError
from novelapi.layout import Layout
from novelapi.reporting.rows import load_rows
from novelapi.reporting.runs import find_runs
from tests.synthetic_runs import make_tasks, write_cell, write_evaluation, write_experiment


@pytest.fixture
def cells(tmp_path):
    return write_experiment(tmp_path, apis=6, tasks=8, conditions=("baseline", "full"), unscored=0.0)


def load(*folders, tasks=None):
    return load_rows(find_runs(folders).runs, tasks)


def edit(cell, change):
    path = cell / "results.jsonl"
    rows = jsonl.read(path)
    change(rows)
    jsonl.write(path, rows)


def test_runs_come_in_the_order_of_the_grid_with_their_tasks(cells):
    rows = load(cells[1], cells[0])
    assert [run.name for run in rows.runs] == ["oracle-baseline", "oracle-full"]
    assert rows.asked == (8, 8)
    assert set(rows.frame["library"]) == {"numpy"}
    assert rows.frame.select("run", "task_id", "sample").rows() == sorted(
        rows.frame.select("run", "task_id", "sample").rows()
    )


def test_an_experiment_folder_stands_for_its_cells(cells):
    assert [run.name for run in find_runs([cells[0].parent]).runs] == ["oracle-baseline", "oracle-full"]


def test_a_file_cut_in_the_middle_is_read_up_to_there_and_said(cells):
    path = cells[1] / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    rows = load(*cells)
    assert len(rows.of(1)) == 7
    assert [notice.kind for notice in rows.notices] == ["torn"]


def test_tasks_that_changed_since_the_run_are_said(cells):
    path = Layout(cells[0].parents[2]).instance("numpy", "copy") / "instance.jsonl"
    path.write_text(path.read_text() + "\n")
    assert {notice.kind for notice in load(*cells).notices} == {"changed"}


def test_training_tasks_are_not_missing_where_held_out_ones_were_asked(cells):
    instance = Layout(cells[0].parents[2]).instance("numpy", "copy") / "instance.jsonl"
    tasks = jsonl.read(instance)
    for side, chosen in (("test", tasks[:3]), ("train", tasks[3:])):
        jsonl.write(instance.with_name(f"{side}.jsonl"), chosen)
    held_out = {task["task_id"] for task in tasks[:3]}
    for cell in cells:
        manifest = json.loads((cell / "manifest.json").read_text())
        manifest["spec"]["split"] = "test"
        (cell / "manifest.json").write_text(json.dumps(manifest))
        edit(cell, lambda rows: rows.__setitem__(slice(None), [row for row in rows if row["task_id"] in held_out]))
    rows = load(*cells)
    assert rows.asked == (3, 3)
    assert set(rows.tasks) == held_out == rows.asked_ids[0]
    assert not rows.notices
    edit(cells[1], lambda rows: rows.pop())
    assert load(*cells).asked == (3, 3)  # what was asked and has no row is missing all the same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.append(rows[0]), "occurs twice (rows 1 and 9)"),
        (lambda rows: rows[2].update(schema=2), "row 3: schema 2, this release reads schema 1"),
        (lambda rows: rows[2].pop("outcome"), "row 3: field 'outcome' is missing"),
        (lambda rows: rows[4].update(outcome="maybe"), "row 5: outcome 'maybe' is unknown"),
        (lambda rows: rows[0].update(label="WrongMood"), "row 1: label 'WrongMood' is unknown"),
        (lambda rows: rows[0].update(task_id="numpy/other/1"), "task 'numpy/other/1' is not in"),
        (lambda rows: rows[1].update(sample="first"), "line 2: 'sample' is not a whole number"),
    ],
)
def test_broken_rows_are_refused_by_name(cells, change, message):
    edit(cells[1], change)
    with pytest.raises(DataError) as caught:
        load(*cells)
    assert message in str(caught.value)


def test_a_line_that_is_not_json_is_named(cells):
    path = cells[1] / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "{broken\n", *lines[1:]]))
    with pytest.raises(DataError, match="line 2: not valid JSON"):
        load(*cells)


def test_mixed_releases_in_one_report_are_refused(tmp_path, cells):
    other = make_tasks(6, 8, 0, release="2.5.0")
    layout = Layout(tmp_path / "other")
    instance = layout.instance("numpy", "new") / "instance.jsonl"
    jsonl.write(instance, (task.to_row() for task in other))
    cell = write_cell(layout, "numpy-new", "new", "oracle", "full", other, instance)
    with pytest.raises(DataError, match=r"releases 2\.4\.4 and 2\.5\.0"):
        load(cells[0], cell)


def test_one_cell_given_twice_is_refused(tmp_path, cells):
    copy = tmp_path / "results" / "copied"
    copy.mkdir()
    for name in ("manifest.json", "results.jsonl"):
        (copy / name).write_bytes((cells[1] / name).read_bytes())
    with pytest.raises(UsageError, match="given twice"):
        find_runs([cells[1], copy])


def test_a_manifest_of_another_schema_is_refused_by_name(cells):
    path = cells[0] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 7}))
    with pytest.raises(DataError, match="schema 7, this release reads schema 1"):
        load(*cells)


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_a_folder_without_runs_is_a_usage_error(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"; give a"):
        find_runs([tmp_path / name])


def test_a_run_without_manifest_is_read_by_the_names_of_its_folders(cells):
    (cells[1] / "manifest.json").unlink()
    runs = find_runs([cells[0].parent]).runs
    assert (runs[1].delivery, runs[1].condition, runs[1].model) == ("oracle", "full", "copy")
    assert runs[1].partial
    assert len(load_rows(runs).of(1)) == 8


def test_a_cell_that_has_no_results_yet_is_listed_as_such(cells):
    (cells[1] / "results.jsonl").unlink()
    found = find_runs([cells[0].parent])
    assert [folder.name for folder in found.empty] == ["oracle-full"]


def test_an_experiment_without_any_results_is_a_usage_error(cells):
    for cell in cells:
        (cell / "results.jsonl").unlink()
    with pytest.raises(UsageError, match="no results yet"):
        find_runs([cells[0].parent])


def test_tasks_that_cannot_be_found_ask_for_a_file(cells):
    for cell in cells:
        path = cell / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["spec"].pop("instance")
        path.write_text(json.dumps(manifest))
    # The layout of the experiment still leads to its instance.
    assert len(load(*cells).tasks) == 8
    instance = Layout(cells[0].parents[2]).instance("numpy", "copy") / "instance.jsonl"
    moved = instance.rename(instance.with_name("moved.jsonl"))
    with pytest.raises(DataError, match="--tasks FILE"):
        load(*cells)
    assert len(load(*cells, tasks=moved).tasks) == 8


def test_a_task_file_with_a_task_twice_is_refused(cells):
    instance = Layout(cells[0].parents[2]).instance("numpy", "copy") / "instance.jsonl"
    instance.write_text(instance.read_text() * 2)
    with pytest.raises(DataError, match="occurs twice"):
        load(*cells)


def test_an_evaluation_brings_its_own_tasks(tmp_path):
    rows = load(write_evaluation(tmp_path / "out", apis=5, tasks=7))
    assert (rows.runs[0].name, rows.runs[0].is_cell, rows.asked) == ("out", False, (7,))


def test_an_empty_results_file_has_no_rows(cells):
    (cells[0] / "results.jsonl").write_text("")
    assert len(load(*cells).of(0)) == 0
