"""What runs cost: one request an answer says nothing of turns, several say how many."""

from __future__ import annotations

import json

from novelapi.reporting.costs import read_costs
from novelapi.reporting.rows import load_rows
from novelapi.reporting.runs import find_runs
from tests.synthetic_runs import write_experiment


def test_requests_per_answer_come_from_the_manifest_of_the_cell(tmp_path):
    cells = write_experiment(tmp_path, apis=2, tasks=3, conditions=("baseline", "full"), unscored=0.0)
    path = cells[1] / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["spec"]["agent"] = {"most_turns": 8, "samples": 4, "turns": 10}
    path.write_text(json.dumps(manifest))
    assert [cost.turns for cost in read_costs(load_rows(find_runs(cells).runs, None))] == [None, 2.5]
