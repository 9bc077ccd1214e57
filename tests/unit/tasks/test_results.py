"""A stored result counts only while its file is what the task wrote."""

from __future__ import annotations

import json

import pytest

from novelapi.errors import UsageError
from novelapi.fingerprint import file_digest
from novelapi.layout import Layout
from novelapi.records.request import FileResult
from tasks._results import drop_stale, finished_cells, forget_cells, forget_stages, read_finished

KEY = "cell/v1/numpy-copy/full/0123"


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path)


@pytest.fixture
def output(layout):
    path = layout.cell("numpy-copy", "oracle-full") / "results.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    return path


@pytest.fixture
def result(layout, output):
    result = FileResult(path=str(output.relative_to(layout.home)), sha256=file_digest(output), counts={"pass": 1})
    store(layout, result.to_row())
    return result


def store(layout, data) -> None:
    """Write a record as Prefect does."""
    record = layout.results / KEY
    record.parent.mkdir(parents=True, exist_ok=True)
    inner = {"__class__": "novelapi.records.request.FileResult", "data": data}
    record.write_text(json.dumps({"metadata": {"storage_key": str(record)}, "result": json.dumps(inner)}))


def test_an_intact_result_is_found_and_kept(layout, result):
    drop_stale(KEY, layout)
    assert read_finished(KEY, FileResult, layout) == result


def test_nothing_stored_is_no_result(layout):
    drop_stale(KEY, layout)
    assert read_finished(KEY, FileResult, layout) is None


def test_a_missing_file_makes_the_result_stale(layout, result, output):
    output.unlink()
    assert read_finished(KEY, FileResult, layout) is None
    drop_stale(KEY, layout)
    assert not (layout.results / KEY).exists()


def test_a_changed_file_makes_the_result_stale(layout, result, output):
    output.write_text('{"tampered": true}\n')
    assert read_finished(KEY, FileResult, layout) is None
    drop_stale(KEY, layout)
    assert not (layout.results / KEY).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"result": "1"}', '{"result": 3}', '{"result": "{\\"data\\": 1}"}'])
def test_a_broken_record_is_no_result_and_is_removed(layout, text):
    record = layout.results / KEY
    record.parent.mkdir(parents=True)
    record.write_text(text)
    assert read_finished(KEY, FileResult, layout) is None
    drop_stale(KEY, layout)
    assert not record.exists()


def test_a_result_of_another_shape_is_no_result(layout, output):
    store(layout, {"path": str(output.relative_to(layout.home)), "sha256": file_digest(output), "colour": "red"})
    assert read_finished(KEY, FileResult, layout) is None


def test_the_store_may_move(layout, result, tmp_path_factory):
    home = tmp_path_factory.mktemp("elsewhere") / "data"
    layout.home.rename(home)
    assert read_finished(KEY, FileResult, Layout(home)) == result


def test_finished_cells_are_found_by_their_files(layout, result):
    found = finished_cells("numpy-copy", layout)
    assert [(cell.path, cell.sha256) for cell in found] == [(result.path, result.sha256)]


def test_an_experiment_without_cells_is_a_usage_error(layout):
    with pytest.raises(UsageError, match="no finished cell"):
        finished_cells("nothing", layout)


def test_forgetting_cells_removes_rows_and_results(layout, result, output):
    forget_cells("numpy-copy", layout)
    assert not output.exists()
    assert read_finished(KEY, FileResult, layout) is None


def test_forgetting_stages_starts_at_the_first_one_named(layout):
    stages = ["stage1_discovery", "stage2_knowledge", "stage3_tasks", "stage4_filtered"]
    for stage in stages:
        for path in (layout.stage("numpy", stage, "copy"), layout.results / stage / "v1" / "numpy" / "copy" / "0123"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    forget_stages(3, "numpy", "copy", layout)
    kept = [stage for stage in stages if layout.stage("numpy", stage, "copy").exists()]
    assert kept == stages[:2]
    assert sorted(path.name for path in layout.results.iterdir() if list(path.rglob("0123"))) == stages[:2]
