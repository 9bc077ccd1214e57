"""The summary of a run, always recomputed from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from novelapi.records.verdict import LABELS, ResultRow


def summarise(rows: Iterable[ResultRow], partial: bool = False) -> dict[str, Any]:
    """Count outcomes and labels.

    `pass_at_1` is the share of passes among the *scored* first samples; `pass_at_1_all` counts unscored ones as not
    passed; both denominators are given. Labels are those of the first samples.
    """
    rows = list(rows)
    first = [row for row in rows if row.sample == 0]
    outcomes = Counter(row.outcome for row in first)
    scored = outcomes["pass"] + outcomes["fail"]
    labels = Counter(row.label for row in first if row.label is not None)
    return {
        "schema": 1,
        "tasks": len({row.task_id for row in rows}),
        "rows": len(rows),
        "pass": outcomes["pass"],
        "fail": outcomes["fail"],
        "unscored": outcomes["unscored"],
        "scored": scored,
        "pass_at_1": outcomes["pass"] / scored if scored else None,
        "pass_at_1_all": outcomes["pass"] / len(first) if first else None,
        "labels": {label: labels[label] for label in LABELS},
        "strong": sum(row.integrity == "strong" for row in first),
        "unscored_reasons": dict(sorted(Counter(row.reason for row in rows if row.outcome == "unscored").items())),
        "partial": partial,
    }
