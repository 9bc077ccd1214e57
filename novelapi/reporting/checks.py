"""Looks for what makes a number doubtful, and says so: missing cells, partial runs, unscored tasks, few APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from novelapi.reporting.contrasts import baseline_of
from novelapi.reporting.notices import Notice
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import CONDITIONS, Run
from novelapi.reporting.summary import Summary
from novelapi.reporting.text import count, join_words, percent, plural

FEW_APIS = 20
"""Below this number intervals are wide and cover less exactly (benchmarks/statistics.py)."""

MAIN_GRID = ("oracle", "rag", "sft", "rag_sft")
ENDS = ("baseline", "full")
"""Conditions of the parametric grid."""


def check_grid(rows: Rows, empty: Sequence[Path]) -> list[Notice]:
    """Name the cells that are missing, unfinished or limited."""
    notices: list[Notice] = []
    if empty:
        names = join_words([folder.name for folder in empty])
        notices.append(Notice(kind="missing", text=f"Started, but without results yet: {names}."))
    for experiment, delivery in dict.fromkeys((run.experiment, run.delivery) for run in rows.runs if run.is_cell):
        notices += _missing_conditions(rows.runs, experiment, delivery)
    unfinished = [run.name for run in rows.runs if run.manifest is None]
    if unfinished:
        text = f"Without a manifest, so not finished: {join_words(unfinished)}."
        notices.append(Notice(kind="partial", text=text))
    limited = Counter(run.limit for run in rows.runs if run.limit)
    notices += [
        Notice(kind="partial", text=f"{plural(runs, 'run was', 'runs were')} limited to {plural(limit, 'task')}.")
        for limit, runs in sorted(limited.items())
    ]
    ended = [run.name for run in rows.runs if run.manifest is not None and run.manifest.partial and not run.limit]
    if ended:
        text = f"Marked as partial by a budget or a failure: {join_words(ended)}."
        notices.append(Notice(kind="partial", text=text))
    return notices


def check_rows(rows: Rows, summaries: Sequence[Summary]) -> list[Notice]:
    """Name unscored and missing tasks, too few APIs, and runs in which all tasks end alike."""
    notices: list[Notice] = []
    asked = sum(summary.asked for summary in summaries)
    unscored = sum(summary.unscored for summary in summaries)
    missing = sum(summary.missing for summary in summaries)
    if unscored:
        reasons: Counter[str] = Counter()
        for summary in summaries:
            reasons.update(summary.unscored_reasons)
        most, times = min(reasons.items(), key=lambda item: (-item[1], item[0]))
        text = (
            f"{count(unscored)} of {count(asked)} greedy samples could not be scored (most often: {most}, "
            f"{count(times)}). They are in no denominator of pass@1; the tables also show pass@1 with each of them "
            "counted as a failure."
        )
        notices.append(Notice(kind="unscored", text=text))
    if missing:
        rowless = [run.name for run, s in zip(rows.runs, summaries, strict=True) if s.asked and s.missing == s.asked]
        which = f" They are all tasks of {join_words(rowless)}." if rowless else ""
        text = (
            f"{count(missing)} of {count(asked)} greedy samples have no row at all; they are in no denominator of "
            f"pass@1.{which}"
        )
        notices.append(Notice(kind="missing", text=text))
    notices += _doubtful(rows, summaries)
    return notices


def _doubtful(rows: Rows, summaries: Sequence[Summary]) -> list[Notice]:
    notices: list[Notice] = []
    if not len(rows.frame):
        notices.append(Notice(kind="missing", text="The runs hold no rows at all: there is nothing to report."))
    notices += check_apis(rows)
    apis = {task.api for task in rows.tasks.values()}
    for run, summary in zip(rows.runs, summaries, strict=True):
        scored = summary.passed + summary.failed
        if scored > 1 and 0 in (summary.passed, summary.failed) and len(apis) > 1 and run.condition != "baseline":
            word = "passes" if summary.passed else "fails"
            text = f"{run.name}: every scored task {word}; its interval only says what {summary.apis} APIs can exclude."
            notices.append(Notice(kind="uniform", text=text))
    scored = sum(summary.passed + summary.failed for summary in summaries)
    strong = sum(summary.strong for summary in summaries)
    if scored and strong < scored / 2:
        text = (
            f"Only {percent(strong / scored)} % of the verdicts are proved (integrity strong); differences are also "
            "given on proved verdicts alone."
        )
        notices.append(Notice(kind="weak", text=text))
    return notices


def check_apis(rows: Rows) -> list[Notice]:
    """Say so where there are too few APIs for an interval, or for a good one."""
    apis = {task.api for task in rows.tasks.values()}
    if len(apis) == 1:
        text = "All tasks are about one API: no interval can be given, since other APIs may behave differently."
        return [Notice(kind="few", text=text)]
    if len(apis) < FEW_APIS:
        text = (
            f"Only {len(apis)} APIs: intervals are wide, and their coverage is less exact than with {FEW_APIS} or more."
        )
        return [Notice(kind="few", text=text)]
    return []


def _missing_conditions(runs: Sequence[Run], experiment: str, delivery: str) -> list[Notice]:
    mine = [run for run in runs if run.experiment == experiment and run.delivery == delivery]
    present = {run.condition for run in mine}
    is_main = delivery in MAIN_GRID and not present <= set(ENDS)
    # The main grid has one baseline for all deliveries; in the parametric grid each method has its own.
    shared = is_main and "baseline" not in present and baseline_of(runs, mine[0]) is not None
    expected = [name for name in (CONDITIONS if is_main else ENDS) if name != "baseline" or not shared]
    absent = [name for name in expected if name not in present]
    if not absent:
        return []
    found = len(expected) - len(absent)
    text = (
        f"{experiment}, {delivery}: {found} of {len(expected)} conditions have results; without: {join_words(absent)}."
    )
    return [Notice(kind="missing", text=text)]
