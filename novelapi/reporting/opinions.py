"""How far a second opinion agrees with the labels: Cohen's kappa of every run that asked for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novelapi.records.verdict import LABELS
from novelapi.reporting.columns import RUN_COLUMNS, run_cells
from novelapi.reporting.table import Column, Table, make_table

if TYPE_CHECKING:
    from novelapi.reporting.analysis import Analysis

NOTE = (
    "A strong model read task, code and evidence of every failure, not the label. Cohen's kappa corrects for what "
    "chance alone would agree: 1 is complete agreement, 0 what chance gives. A row of a label sets that label against "
    "all others; a dash where chance alone would always agree. The labels decide; the opinion is a column beside them."
)


def opinion_table(analysis: Analysis) -> Table:
    """Return the agreement of each run that has a second opinion, in all and per label."""
    rows = [
        {**run_cells(run), **cells}
        for run in analysis.rows.runs
        for cells in _agreement(run.spec.get("second_opinion"))
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="label", title="Label"),
        Column(key="pairs", title="Failures with both", kind="count"),
        Column(key="observed", title="Same label (%)", kind="share"),
        Column(key="kappa", title="Cohen's kappa", kind="ratio"),
    ]
    return make_table("second_opinion", "Agreement with a second opinion", columns, rows, NOTE)


def _agreement(recorded: Any) -> list[dict[str, Any]]:
    """One row in all and one per label, from what a manifest records."""
    if not isinstance(recorded, dict):
        return []
    per_label = recorded.get("per_label") or {}
    whole = {"label": "all", **{name: recorded.get(name) for name in ("pairs", "observed", "kappa")}}
    return [whole, *({"label": label, "kappa": per_label.get(label)} for label in LABELS if label in per_label)]
