"""How far a grid is, from its folders."""

from __future__ import annotations

import json

import pytest

from novelapi.errors import UnknownNameError
from novelapi.grid.status import grid_status
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest


@pytest.fixture
def layout(tmp_path):
    layout = Layout(tmp_path)

    def write(cell, outcomes, finished):
        folder = layout.cell("numpy-copy", cell)
        folder.mkdir(parents=True)
        rows = [{"task_id": str(number), "outcome": outcome} for number, outcome in enumerate(outcomes)]
        (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "predictions.jsonl").write_text('{"task_id": "0"}\n')
        if finished:
            manifest = Manifest(kind="cell", name=cell, spec={}, outputs={"results.jsonl": "0"}, counts={}, started="x")
            (folder / "manifest.json").write_text(manifest.model_dump_json())

    write("oracle-full", ["pass", "pass", "fail", "unscored"], finished=True)
    write("oracle-baseline", ["fail"], finished=False)
    return layout


def test_finished_begun_and_missing_cells_are_told_apart(layout):
    found = grid_status(layout, "numpy-copy")
    assert {state: found.count(state) for state in ("finished", "begun", "missing")} == {
        "finished": 1,
        "begun": 1,
        "missing": 10,
    }
    first, second = found.cells[:2]
    assert (first.cell, first.state, first.failed) == ("oracle-baseline", "begun", 1)
    assert (second.cell, second.passed, second.failed, second.unscored) == ("oracle-full", 2, 1, 1)


def test_an_unknown_experiment_suggests_a_near_one(layout):
    with pytest.raises(UnknownNameError, match="did you mean numpy-copy"):
        grid_status(layout, "numpy-copi")


def test_no_experiment_at_all(tmp_path):
    with pytest.raises(UnknownNameError, match="novelapi run"):
        grid_status(Layout(tmp_path), "numpy-copy")
