"""The tables of a report; html, csv and Markdown are written from the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.adaptation import adaptation_table
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.columns import INTERVAL_COLUMNS, RUN_COLUMNS, interval_cells, run_cells
from novelapi.reporting.contrasts import FLOWING, QUESTIONS
from novelapi.reporting.differences import Difference, Subset
from novelapi.reporting.estimates import estimate_pass
from novelapi.reporting.flows import flow_counts
from novelapi.reporting.graphs import graph_table
from novelapi.reporting.opinions import opinion_table
from novelapi.reporting.outcomes import PASS
from novelapi.reporting.probed import probe_table
from novelapi.reporting.question_tables import (
    cost_table,
    coverage_table,
    model_table,
    novelty_table,
    retrieval_table,
    selection_table,
)
from novelapi.reporting.table import Column, Table, make_table

METHODS = (
    "Intervals resample APIs, not tasks: `bca` is the bias-corrected and accelerated bootstrap, `binomial` the "
    "mid-p interval at the effective sample size (used where fewer than 30 APIs are informative)."
)
SUBSETS: dict[Subset, str] = {
    "all": "scored in both",
    "low_overlap": "low overlap",
    "strong": "proved verdicts",
    "unscored_fail": "unscored counted as failed",
    "worst": "unscored counted against it",
    "best": "unscored counted for it",
}
STRATA = {"change": "novelty", "difficulty": "difficulty", "library": "library"}


def build_tables(analysis: Analysis) -> list[Table]:
    """Return every table of the report, in its order."""
    tables = [
        pass_table(analysis),
        pass_at_k_table(analysis),
        label_table(analysis),
        difference_table(analysis),
        flow_table(analysis),
        stratum_table(analysis),
        novelty_table(analysis),
        model_table(analysis),
        retrieval_table(analysis),
        selection_table(analysis),
        cost_table(analysis),
        coverage_table(analysis),
        funnel_table(analysis),
        api_table(analysis),
        adaptation_table(analysis),
        probe_table(analysis),
        opinion_table(analysis),
        graph_table(analysis),
    ]
    return [table for table in tables if table.rows or table.name == "pass_at_1"]


def pass_table(analysis: Analysis) -> Table:
    """Return pass@1 of every run with its denominators."""
    rows = [
        {
            **run_cells(analysis.rows.runs[estimate.run]),
            **summary.to_row(),
            "scored": summary.passed + summary.failed,
            **interval_cells(estimate.pass_at_1),
            "pass_at_1": estimate.pass_at_1.value,
        }
        for estimate, summary in zip(analysis.estimates, analysis.summaries, strict=True)
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="asked", title="Tasks", kind="count"),
        Column(key="apis", title="APIs", kind="count"),
        Column(key="scored", title="Scored", kind="count"),
        Column(key="passed", title="Passed", kind="count"),
        Column(key="unscored", title="Unscored", kind="count"),
        Column(key="missing", title="Missing", kind="count"),
        Column(key="strong", title="Proved", kind="count"),
        Column(key="pass_at_1", title="pass@1 (%)", kind="share"),
        *INTERVAL_COLUMNS,
        Column(key="pass_at_1_of_asked", title="of all tasks (%)", kind="share"),
    ]
    note = (
        "pass@1 is the share of scored tasks whose greedy sample passes; the last column divides by all tasks, so "
        f"everything unscored or missing counts as failed. {METHODS}"
    )
    return make_table("pass_at_1", "pass@1", columns, rows, note)


def pass_at_k_table(analysis: Analysis) -> Table:
    """Return pass@k of the runs that drew samples at a temperature."""
    rows = [
        {**run_cells(run), **entry.to_row()}
        for run, summary in zip(analysis.rows.runs, analysis.summaries, strict=True)
        for entry in summary.pass_at_k
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="k", title="k", kind="count"),
        Column(key="value", title="pass@k (%)", kind="share"),
        Column(key="tasks", title="Tasks with k samples", kind="count"),
    ]
    note = "Unbiased estimates from the samples drawn at a temperature; the greedy sample is not among them."
    return make_table("pass_at_k", "pass@k", columns, rows, note)


def label_table(analysis: Analysis) -> Table:
    """Return the share of each label in each run."""
    rows = [
        {
            **run_cells(analysis.rows.runs[estimate.run]),
            "label": label,
            "count": analysis.summaries[estimate.run].labels.get(label, 0),
            "scored": interval.units,
            "share": interval.value,
            **interval_cells(interval),
        }
        for estimate in analysis.estimates
        for label, interval in estimate.labels.items()
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="label", title="Label"),
        Column(key="count", title="Tasks", kind="count"),
        Column(key="scored", title="Scored", kind="count"),
        Column(key="share", title="Share (%)", kind="share"),
        *INTERVAL_COLUMNS,
    ]
    return make_table("labels", "Causes of failure", columns, rows, f"Shares of all scored tasks. {METHODS}")


def difference_table(analysis: Analysis) -> Table:
    """Return the planned comparisons."""
    rows: list[dict[str, Any]] = []
    for difference in analysis.differences:
        first = analysis.rows.runs[difference.contrast.first]
        rows.append(
            {
                **run_cells(analysis.rows.runs[difference.contrast.second]),
                "minus": f"{first.delivery}-{first.condition}",
                "question": QUESTIONS[difference.contrast.family],
                "subset": SUBSETS[difference.subset],
                "pairs": difference.pairs,
                "apis": difference.interval.clusters,
                "unpaired": difference.unpaired,
                "gains": difference.gains,
                "losses": difference.losses,
                "difference": difference.interval.value,
                "low": difference.interval.low,
                "high": difference.interval.high,
                "method": difference.interval.method,
                "p": difference.p,
                "p_holm": difference.p_holm,
                "family": difference.family_size,
                "verdict": verdict(difference),
                "detectable": difference.detectable,
            }
        )
    columns = [
        *RUN_COLUMNS,
        Column(key="minus", title="minus"),
        Column(key="question", title="Question"),
        Column(key="subset", title="On"),
        Column(key="pairs", title="Pairs", kind="count"),
        Column(key="apis", title="APIs", kind="count"),
        Column(key="unpaired", title="Unpaired", kind="count"),
        Column(key="gains", title="Only with", kind="count"),
        Column(key="losses", title="Only without", kind="count"),
        Column(key="difference", title="Difference (points)", kind="difference"),
        Column(key="low", title="95 % from", kind="difference"),
        Column(key="high", title="to", kind="difference"),
        Column(key="method", title="Interval"),
        Column(key="p", title="p", kind="p"),
        Column(key="p_holm", title="p (Holm)", kind="p"),
        Column(key="family", title="Tests in family", kind="count"),
        Column(key="verdict", title="Verdict"),
        Column(key="detectable", title="Detectable (points)", kind="share"),
    ]
    note = (
        "Paired differences of pass@1 on tasks scored in both runs; `unscored counted ...` takes all tasks that both "
        "were asked and gives each one without a verdict the outcome that is named. `low overlap` leaves out tasks "
        f"whose reference overlaps by more than {analysis.threshold:g} with an example that was shown. {METHODS} "
        "p-values come from a sign-flip test that keeps the tasks of an API together, adjusted by Holm within a "
        "question, a model and a delivery. `same`: the 90 % interval lies within 5 points of none (two one-sided "
        "tests, not adjusted). `Detectable` is the smallest true difference that these APIs would show with a power of "
        "80 %."
    )
    return make_table("differences", "Paired differences", columns, rows, note)


def verdict(difference: Difference) -> str:
    """Say in a word what a comparison shows: `different`, `same` within the margin, both, or `open`."""
    if difference.p_holm is None:
        return ""
    words = ["different"] if difference.p_holm <= 1 - difference.interval.level + 1e-12 else []
    if difference.equivalence is not None and difference.equivalence.equivalent:
        words.append("same")
    return ", but ".join(words) or "open"


def flow_table(analysis: Analysis) -> Table:
    """Return how outcomes change from the first run of each planned comparison to the second."""
    runs = analysis.rows.runs
    rows = [
        {
            **run_cells(runs[difference.contrast.second]),
            "from_run": f"{runs[difference.contrast.first].delivery}-{runs[difference.contrast.first].condition}",
            "from": before,
            "to": after,
            "tasks": tasks,
        }
        for difference in analysis.differences
        if difference.subset == "all" and difference.contrast.family in FLOWING
        for (before, after), tasks in flow_counts(
            analysis.outcomes, difference.contrast.first, difference.contrast.second
        ).items()
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="from_run", title="Compared with"),
        Column(key="from", title="There"),
        Column(key="to", title="Here"),
        Column(key="tasks", title="Tasks", kind="count"),
    ]
    return make_table("flows", "Where outcomes go", columns, rows, "Tasks that both runs were asked.")


def stratum_table(analysis: Analysis) -> Table:
    """Return pass@1 of every run by novelty, difficulty and library."""
    tasks = list(analysis.rows.tasks.values())
    parts: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for field, title in STRATA.items():
        values = sorted({getattr(task, field) for task in tasks})
        if len(values) > 1:
            parts |= {(title, value): np.array([getattr(task, field) == value for task in tasks]) for value in values}
    estimates = estimate_pass(analysis.outcomes, list(parts.values()), analysis.seed)
    rows: list[dict[str, Any]] = []
    for (title, value), intervals in zip(parts, estimates, strict=True):
        for run, interval in zip(analysis.rows.runs, intervals, strict=True):
            cells = {"by": title, "value": value, "scored": interval.units, "apis": interval.clusters}
            rows.append({**run_cells(run), **cells, "pass_at_1": interval.value, **interval_cells(interval)})
    columns = [
        *RUN_COLUMNS,
        Column(key="by", title="By"),
        Column(key="value", title="Value"),
        Column(key="scored", title="Scored", kind="count"),
        Column(key="apis", title="APIs", kind="count"),
        Column(key="pass_at_1", title="pass@1 (%)", kind="share"),
        *INTERVAL_COLUMNS,
    ]
    return make_table("strata", "pass@1 by kind of task", columns, rows, METHODS)


def funnel_table(analysis: Analysis) -> Table:
    """Return what each stage kept and lost, one row per reason."""
    rows: list[dict[str, Any]] = []
    for stage in analysis.funnel:
        cells = {"library": stage.library, "model": stage.model, "stage": stage.words.title}
        rows.append({**cells, "reason": "kept", "count": stage.kept})
        rows += [{**cells, "reason": reason, "count": lost} for reason, lost in stage.reasons.items()]
    columns = [
        Column(key="library", title="Library"),
        Column(key="model", title="Model"),
        Column(key="stage", title="Stage"),
        Column(key="reason", title="Kept, or reason of the loss"),
        Column(key="count", title="Units", kind="count"),
    ]
    return make_table("funnel", "From the library to the tasks", columns, rows)


def api_table(analysis: Analysis) -> Table:
    """Return passes per API and run."""
    counts = api_counts(analysis)
    info = {task.api: task for task in analysis.rows.tasks.values()}
    runs = [run_cells(run) for run in analysis.rows.runs]
    rows = [
        {
            "api": api,
            "library": info[api].library,
            "change": info[api].change,
            **cells,
            **{name: int(table[position, index]) for name, table in counts.items()},
        }
        for position, api in enumerate(sorted(info))
        for index, cells in enumerate(runs)
    ]
    columns = [
        Column(key="api", title="API"),
        Column(key="library", title="Library"),
        Column(key="change", title="Novelty"),
        *RUN_COLUMNS,
        Column(key="tasks", title="Tasks", kind="count"),
        Column(key="scored", title="Scored", kind="count"),
        Column(key="passed", title="Passed", kind="count"),
    ]
    return make_table("apis", "APIs", columns, rows)


def api_counts(analysis: Analysis) -> dict[str, NDArray[np.int64]]:
    """Return tasks, scored and passed greedy samples, shape (APIs, runs) each, APIs sorted."""
    outcomes = analysis.outcomes
    names, position = np.unique(np.array(outcomes.apis), return_inverse=True)
    masks = {"tasks": outcomes.asked, "scored": outcomes.scored, "passed": outcomes.codes == PASS}
    counts = {name: np.zeros((len(names), len(analysis.rows.runs)), dtype=np.int64) for name in masks}
    for name, mask in masks.items():
        np.add.at(counts[name], position, mask)
    return counts


def find_table(tables: Sequence[Table], name: str) -> Table | None:
    """Return a table by name, or null when the runs gave no reason for it."""
    return next((table for table in tables if table.name == name), None)
