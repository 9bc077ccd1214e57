"""The numbers of one run, recomputed from its rows; summary.json is written for readers and never read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from novelapi import jsonl
from novelapi.records.base import Record
from novelapi.records.verdict import LABELS
from novelapi.reporting.rows import Rows, load_rows
from novelapi.reporting.runs import SUMMARY, Run, find_runs
from novelapi.reporting.stats.passk import pass_at_k

KS = (1, 2, 3, 5, 10, 20, 50, 100)
UNLABELLED = "unlabelled"


class PassAtK(Record):
    """pass@k over the samples that were drawn at a temperature."""

    k: int
    """Number of tries."""

    value: float
    """Mean of the unbiased estimates."""

    tasks: int
    """Tasks with at least `k` scored samples: the denominator."""


class Summary(Record):
    """The numbers of one run. Rates say what they are divided by."""

    run: str
    """Name of the run."""

    asked: int
    """Tasks that were asked (the instance, or the run's limit)."""

    apis: int
    """APIs with at least one scored greedy sample."""

    passed: int
    """Tasks whose greedy sample (sample 0) passes."""

    failed: int
    """Tasks whose greedy sample fails."""

    unscored: int
    """Tasks whose greedy sample could not be scored."""

    missing: int
    """Tasks without a row for the greedy sample: `asked - passed - failed - unscored`."""

    pass_at_1: float | None
    """`passed / (passed + failed)`: of what could be scored; null when nothing was."""

    pass_at_1_of_asked: float | None
    """`passed / asked`: everything unscored or missing counts as failed."""

    pass_at_k: tuple[PassAtK, ...] = ()
    """pass@k from samples 1 and up; empty for a run of greedy samples."""

    labels: dict[str, int] = Field(default_factory=dict)
    """Failed greedy samples by label."""

    unscored_reasons: dict[str, int] = Field(default_factory=dict)
    """Unscored greedy samples by reason."""

    strong: int = 0
    """Scored greedy samples whose verdict is proved."""

    samples: int = 0
    """All rows of the run, sampled ones included."""

    higher_is_better: bool = True
    """Of both rates."""

    partial: bool = False
    """Whether a limit, a budget or a kill left tasks out, or tasks are missing or unscored."""


def summarise_run(rows: Rows, index: int) -> Summary:
    """Compute the numbers of one run of loaded rows."""
    run = rows.runs[index]
    frame = rows.of(index)
    greedy = frame.filter(pl.col("sample") == 0)
    outcomes = dict(greedy.group_by("outcome").len().iter_rows())
    passed, failed = int(outcomes.get("pass", 0)), int(outcomes.get("fail", 0))
    unscored = int(outcomes.get("unscored", 0))
    asked = rows.asked[index]
    missing = asked - passed - failed - unscored
    scored = greedy.filter(pl.col("outcome") != "unscored")
    return Summary(
        run=run.name,
        asked=asked,
        apis=scored["api"].n_unique(),
        passed=passed,
        failed=failed,
        unscored=unscored,
        missing=missing,
        pass_at_1=passed / (passed + failed) if passed + failed else None,
        pass_at_1_of_asked=passed / asked if asked else None,
        pass_at_k=_pass_at_k(frame),
        labels=_labels(scored),
        unscored_reasons=_counts(greedy.filter(pl.col("outcome") == "unscored"), "reason"),
        strong=len(scored.filter(pl.col("integrity") == "strong")),
        samples=len(frame),
        partial=run.partial or run.limit is not None or missing > 0 or unscored > 0,
    )


def summarise(folder: Path, tasks: Path | None = None) -> dict[str, Any]:
    """Recompute a run's numbers from its rows, write them to its summary.json and return them.

    Raises:
        UsageError: the folder holds no results.
        DataError: a file is broken.
    """
    found = find_runs([folder])
    rows = load_rows(found.runs[:1], tasks)
    summary = summarise_run(rows, 0).to_row()
    row = {"schema": 1, **_identity(rows.runs[0]), **summary}
    jsonl.write_text(folder / SUMMARY, json.dumps(row, indent=2, ensure_ascii=False) + "\n")
    return row


def _identity(run: Run) -> dict[str, str]:
    return {
        "experiment": run.experiment,
        "model": run.model,
        "delivery": run.delivery,
        "condition": run.condition,
    }


def _labels(scored: pl.DataFrame) -> dict[str, int]:
    counts = _counts(
        scored.filter(pl.col("outcome") == "fail").with_columns(pl.col("label").fill_null(UNLABELLED)), "label"
    )
    return {label: counts[label] for label in (*LABELS, UNLABELLED) if label in counts}


def _counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    counted = frame.group_by(column).len().sort(["len", column], descending=[True, False])
    return {str(value): int(count) for value, count in counted.iter_rows()}


def _pass_at_k(frame: pl.DataFrame) -> tuple[PassAtK, ...]:
    drawn = frame.filter((pl.col("sample") > 0) & (pl.col("outcome") != "unscored"))
    per_task = drawn.group_by("task_id").agg(n=pl.len(), c=(pl.col("outcome") == "pass").sum()).sort("task_id")
    counts = list(per_task.select("n", "c").iter_rows())
    most = max((n for n, _ in counts), default=0)
    result: list[PassAtK] = []
    for k in (k for k in KS if k <= most):
        values = [value for n, c in counts if (value := pass_at_k(n, c, k)) is not None]
        result.append(PassAtK(k=k, value=sum(values) / len(values), tasks=len(values)))
    return tuple(result)
