"""Columns that many tables have: which run it is, and an interval."""

from __future__ import annotations

from typing import Any

from novelapi.reporting.runs import Run
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.table import Column

RUN_COLUMNS = [
    Column(key="experiment", title="Experiment"),
    Column(key="model", title="Model"),
    Column(key="delivery", title="Delivery"),
    Column(key="condition", title="Condition"),
]
INTERVAL_COLUMNS = [
    Column(key="low", title="95 % from", kind="share"),
    Column(key="high", title="to", kind="share"),
    Column(key="method", title="Interval"),
]


def run_cells(run: Run) -> dict[str, str]:
    """Return the columns that name a run; an evaluation is named by its folder."""
    cells = {"experiment": run.experiment, "model": run.model, "delivery": run.delivery}
    return {**cells, "condition": run.condition or run.name}


def interval_cells(interval: Interval) -> dict[str, Any]:
    """Return the columns of an interval."""
    return {"low": interval.low, "high": interval.high, "method": interval.method}
