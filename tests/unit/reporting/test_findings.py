"""The findings in words: of one experiment, of a grid, and what they must not claim."""

import re
import shutil

import numpy as np
import pytest

from novelapi.reporting.analysis import analyse
from novelapi.reporting.findings import findings, headline
from novelapi.reporting.outcomes import PASS
from novelapi.reporting.prose import method_notes
from novelapi.reporting.report import write_report
from tests.synthetic_runs import write_experiment

CONDITIONS = ("baseline", "s_name", "e", "m_prose", "m_code", "s", "full")


def experiment(home, model, **options):
    fixed = {"group": "numpy", "apis": 30, "tasks": 60, "conditions": CONDITIONS, "seed": 0}
    return write_experiment(home, model=model, **(fixed | options))[0].parent


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Two models and the control, each with two deliveries, on the same tasks."""
    home = tmp_path_factory.mktemp("grid")
    folders = [experiment(home, model, deliveries=("oracle", "rag")) for model in ("alpha", "beta", "copy")]
    return analyse(folders), folders


def value_of(analysis, model, condition, delivery="oracle"):
    [index] = [
        i for i, run in enumerate(analysis.rows.runs)
        if (run.model, run.condition, run.delivery) == (model, condition, delivery)
    ]  # fmt: skip
    return analysis.estimates[index].pass_at_1.value


def test_a_grid_is_headed_by_the_planned_cells_of_all_models_and_not_by_the_luckiest(grid):
    analysis, _ = grid
    first = headline(analysis)
    shares = sorted(100 * value_of(analysis, model, "full") for model in ("alpha", "beta"))
    numbers = [float(text) for text in re.findall(r"\d+\.\d", first.lead)]
    assert numbers == pytest.approx(sorted({round(share, 1) for share in shares}), abs=0.051)
    assert "in 2 experiments" in first.text
    assert "alpha" in first.evidence
    assert "beta" in first.evidence
    assert "copy" not in first.text + first.evidence  # the control stands beside the models, not among them


def test_components_are_compared_inside_an_experiment(grid):
    analysis, _ = grid
    best = findings(analysis)[0]
    assert "of 2 experiments" in best.text
    assert best.text.count("alone") == 1  # not "examples alone, examples alone and examples alone"


def test_findings_of_a_grid_say_whose_numbers_they_are(grid):
    analysis, _ = grid
    over_name = next(f for f in findings(analysis) if "over the name alone" in f.text)
    assert re.search(r"alpha [+−]\d+\.\d \(.*p .*; beta [+−]", over_name.evidence)
    remains = next(f for f in findings(analysis) if "most frequent cause" in f.text)
    failed = sum(
        summary.failed
        for summary, run in zip(analysis.summaries, analysis.rows.runs, strict=True)
        if (run.condition, run.delivery) == ("full", "oracle") and run.model != "copy"
    )
    assert remains.lead.endswith(f"of {failed}")


def test_the_mean_over_models_is_said_and_leaves_the_control_out(grid):
    analysis, _ = grid
    assert {entry.models for entry in analysis.models} == {("alpha", "beta")}
    said = next(f for f in findings(analysis) if "on average over 2 models" in f.text)
    assert "95 % interval" in said.evidence


def test_groups_of_one_model_are_joined_before_models_are_compared(tmp_path):
    for model in ("alpha", "beta"):
        for group in ("first", "second"):
            experiment(tmp_path, model, group=group, conditions=("baseline", "full"), apis=8, tasks=12)
    for file in tmp_path.rglob("*.json*"):
        if "second" in str(file.relative_to(tmp_path)):  # a group asks tasks of its own
            file.write_text(file.read_text("utf-8").replace("numpy/", "other/"), encoding="utf-8")
    analysis = analyse(sorted((tmp_path / "results").iterdir()))
    [entry] = [m for m in analysis.models if (m.delivery, m.condition) == ("oracle", "full")]
    outcomes, runs = analysis.outcomes, analysis.rows.runs
    gains, scored = {}, np.ones(len(outcomes.task_ids), dtype=bool)
    for model in ("alpha", "beta"):
        column = {
            c: np.max(
                [outcomes.codes[:, i] for i, r in enumerate(runs) if (r.model, r.condition) == (model, c)], axis=0
            )
            for c in ("baseline", "full")
        }  # the other group's cells hold 0, missing
        scored &= (column["baseline"] >= PASS) & (column["full"] >= PASS)
        gains[model] = (column["full"] == PASS).astype(int) - (column["baseline"] == PASS)
    assert entry.tasks == scored.sum() > 20  # both groups, 12 tasks each
    mean = np.mean([gain[scored].mean() for gain in gains.values()])
    assert entry.mixed.interval.value == pytest.approx(mean)


def test_it_is_said_that_tasks_were_chosen_by_failure(tmp_path):
    folder = experiment(tmp_path, "alpha", apis=6, tasks=9)
    assert "low by choice" not in headline(analyse([folder])).evidence
    [instance] = tmp_path.rglob("instance.jsonl")
    text = instance.read_text(encoding="utf-8")
    kept = text.replace('"the model fails without knowledge"', '"the model fails without knowledge","passes":0')
    assert kept != text
    instance.write_text(kept, encoding="utf-8")
    analysis = analyse([folder])
    assert "low by choice" in headline(analysis).evidence
    assert "regression to the mean" in dict(method_notes(analysis))["Choice of tasks"]


def test_what_could_have_been_found_is_said_in_words(grid):
    analysis, _ = grid
    detectable = [d.detectable for d in analysis.differences if d.detectable is not None]
    text = dict(method_notes(analysis))["Power"]
    assert f"from {100 * min(detectable):.1f} to {100 * max(detectable):.1f} points" in text


def test_one_experiment_compares_changed_with_new_apis(tmp_path):
    analysis = analyse([experiment(tmp_path, "alpha")])
    said = next(f for f in findings(analysis) if "changed APIs" in f.text)
    assert re.search(r"\d+ changed and \d+ new APIs", said.evidence)


def test_without_the_planned_condition_the_highest_run_is_called_the_highest(tmp_path):
    folder = experiment(tmp_path, "alpha", apis=6, tasks=9)
    (folder / "oracle-full" / "results.jsonl").write_text("", encoding="utf-8")
    analysis = analyse([folder])
    assert "the highest of 5 runs; with no knowledge" in headline(analysis).text
    assert any("They are all tasks of oracle-full." in notice.text for notice in analysis.notices)
    shutil.rmtree(folder / "oracle-full")
    shutil.rmtree(folder / "oracle-baseline")
    assert "the highest of 5 runs." in headline(analyse([folder])).text


def test_a_component_more_names_both_conditions(tmp_path):
    folder = experiment(tmp_path, "alpha", apis=6, tasks=9)
    page = write_report([folder], tmp_path / "report", figures=False).page.read_text(encoding="utf-8")
    assert "s − s_name" in page
    assert "Tasks of changed APIs" in page
