"""The flows on a real Prefect server, with the miniature core."""

from __future__ import annotations

import json
import threading
import time
from typing import get_args

import pytest
from miniature import executed

from novelapi.errors import NovelApiError
from novelapi.fingerprint import file_digest
from novelapi.records.cell import Cell, Condition, Sampling

pytestmark = pytest.mark.flows


def grid(**options):
    from flows.paper_grid import run_paper_grid

    return run_paper_grid(**{"group": "numpy", "conditions": ["baseline", "s", "full"], **options})


def cells(number, **changes):
    return [
        Cell(
            experiment="many",
            group="toy",
            model="copy",
            model_revision="copy-1",
            condition="full",
            delivery="oracle",
            instance_sha="a",
            bundles_sha="b",
            sampling=Sampling(seed=seed),
        ).model_copy(update=changes)
        for seed in range(number)
    ]


def test_a_grid_executes_everything_once_and_nothing_twice(home):
    first = grid()
    assert first.instance.work.executed == 5
    assert first.cells.work.executed == 3
    before = executed(home)
    second = grid()
    assert second.instance.work.model_dump() == {"executed": 0, "cached": 5, "failed": 0}
    assert second.cells.work.model_dump() == {"executed": 0, "cached": 3, "failed": 0}
    assert executed(home) == before
    assert second.cells.cells == first.cells.cells


def test_a_new_condition_runs_its_cell_alone(home):
    grid()
    done = grid(conditions=["baseline", "s", "full", "e"])
    assert done.cells.work.model_dump() == {"executed": 1, "cached": 3, "failed": 0}
    assert executed(home)[-1] == "cell numpy-copy oracle-e"


def test_a_removed_or_changed_file_is_made_again_and_nothing_else(home):
    first = grid()
    (home / first.instance.libraries[0].stages[2].path).unlink()
    (home / first.cells.cells[0].path).unlink()
    (home / first.cells.cells[1].path).write_text("tampered\n")
    done = grid()
    assert done.instance.work.model_dump() == {"executed": 1, "cached": 4, "failed": 0}
    assert done.cells.work.model_dump() == {"executed": 2, "cached": 1, "failed": 0}
    assert done.cells.cells == first.cells.cells


def test_a_failed_cell_does_not_stop_the_others_and_is_run_next_time(home, wish):
    wish(fail={"cell oracle-s": "the model refused: choose another model"})
    with pytest.raises(NovelApiError, match="1 of 3 cells failed, first oracle-s: the model refused: choose another"):
        grid()
    assert [line.split()[-1] for line in executed(home) if line.startswith("cell")] == [
        "oracle-baseline",
        "oracle-full",
    ]
    wish()
    assert grid().cells.work.model_dump() == {"executed": 1, "cached": 2, "failed": 0}


def test_when_the_model_is_gone_the_other_cells_are_left_for_the_next_run(home, wish):
    wish(unanswered=["cell oracle-s"], gone=True)
    with pytest.raises(NovelApiError, match="2 of 3 cells failed, first oracle-s: the model does not answer"):
        grid()
    assert [line for line in executed(home) if "cell" in line] == [
        "cell numpy-copy oracle-baseline",
        *["unanswered cell oracle-s"] * 4,
    ]
    wish()
    assert grid().cells.work.model_dump() == {"executed": 2, "cached": 1, "failed": 0}


@pytest.mark.parametrize(("group", "words"), [("numpy", "no model wrong"), ("numpy+scipy", "no model wrong")])
def test_a_wrong_model_is_refused_before_any_stage(home, wish, group, words):
    wish(unknown=["wrong"])
    with pytest.raises(NovelApiError, match=words):
        grid(group=group, model="wrong")
    assert executed(home) == []


def test_a_model_that_answers_again_is_asked_by_the_other_cells(home, wish):
    wish(unanswered=["cell oracle-s"])
    with pytest.raises(NovelApiError, match="1 of 3 cells failed, first oracle-s"):
        grid()
    assert executed(home)[-1] == "cell numpy-copy oracle-full"


def test_only_transient_errors_are_tried_again(home, wish):
    wish(transient=["cell oracle-s"], bug=["cell oracle-full"])
    with pytest.raises(NovelApiError, match="1 of 3 cells failed, first oracle-full: 'cell oracle-full'"):
        grid()
    assert executed(home).count("try cell oracle-s") == 2
    assert executed(home).count("cell numpy-copy oracle-s") == 1


def test_a_failed_library_stops_the_grid_with_its_own_message_after_the_others(home, wish):
    wish(fail={"stage3_tasks scipy": "no task survived: lower --limit"})
    with pytest.raises(NovelApiError, match=r"1 of 3 libraries failed \(scipy\)"):
        grid(group="numpy+scipy+pandas")
    assert "stage4_filtered pandas" in executed(home)


def test_a_single_failed_library_raises_its_own_error(home, wish):
    wish(fail={"stage3_tasks numpy": "no task survived: lower --limit"})
    with pytest.raises(NovelApiError, match="no task survived: lower --limit"):
        grid()


def test_fresh_does_everything_again(home):
    grid()
    done = grid(fresh=True)
    assert (done.instance.work.executed, done.cells.work.executed) == (4, 3)


def test_two_grids_at_the_same_moment_execute_each_cell_once(home, wish):
    from flows.cell import run_cells

    wish(delay_s=0.05)
    wanted = [Cell(**{**cells(1)[0].to_row(), "condition": condition}) for condition in ("baseline", "s", "e", "full")]
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(run_cells(experiment="many", cells=wanted))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(executed(home)) == sorted(f"cell many {cell.name}" for cell in wanted)
    assert results[0].cells == results[1].cells
    assert results[0].work.executed + results[1].work.executed == 4


def test_a_changed_field_of_some_cells_runs_exactly_those(home):
    from flows.cell import run_cells

    wanted = [cells(1)[0].model_copy(update={"condition": condition}) for condition in get_args(Condition)]
    run_cells(experiment="many", cells=wanted)
    before = executed(home)
    changed = wanted[:9] + [cell.model_copy(update={"prompt_version": 2}) for cell in wanted[9:]]
    assert run_cells(experiment="many", cells=changed).work.model_dump() == {"executed": 3, "cached": 9, "failed": 0}
    assert executed(home)[len(before) :] == [f"cell many {cell.name}" for cell in wanted[9:]]


def test_what_a_grid_leaves_behind(home):
    """Small readable records, a page of the finished cells, task runs with names and tags on the server."""
    from flows.report import write_report
    from tasks.discovery import discovery
    from tasks.evaluation import cell
    from tasks.reporting import report

    done = grid()
    store = home / "prefect" / "results"
    records = sorted(path.relative_to(store) for path in store.rglob("*") if path.is_file())
    assert {str(record.parent) for record in records} >= {
        f"stage1_discovery/v{discovery.version}/numpy/copy",
        f"cell/v{cell.version}/numpy-copy/oracle/full",
        f"report/v{report.version}/numpy-copy",
    }
    for record in records:
        text = (store / record).read_text()
        assert len(text) < 2000
        assert json.loads(json.loads(text)["result"])["data"]["sha256"]
    page = home / done.report.page.path
    assert file_digest(page) == done.report.page.sha256
    assert page.read_text().count("<tr>") == 3
    assert write_report(experiment="numpy-copy").page.counts == {"cells": 3}
    names_and_tags()


def names_and_tags():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        for _ in range(50):
            runs = {run.name: run for run in client.read_task_runs(limit=200)}
            if {"numpy / copy", "numpy-copy / oracle / full"} <= set(runs):
                break
            time.sleep(0.2)
        table = client.read_artifacts(limit=200)
    tags = set(runs["numpy-copy / oracle / full"].tags)
    assert {"stage:cell", "model:copy", "condition:full", "delivery:oracle"} <= tags
    scores = [json.loads(artifact.data) for artifact in table if artifact.key == "pass-1-numpy-copy"]
    assert {"oracle-baseline", "oracle-s", "oracle-full"} in [{row["cell"] for row in rows} for rows in scores]


def test_the_stages_that_were_asked_for_run_and_no_later_one(home):
    from flows.library import build_library

    built = build_library(library="attrs", stages=[1, 2])
    assert [stage.stage for stage in built.stages] == ["stage1_discovery", "stage2_knowledge"]
    assert build_library(library="attrs", from_stage=2, stages=[2]).work.model_dump() == {
        "executed": 1,
        "cached": 1,
        "failed": 0,
    }
