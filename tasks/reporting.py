"""The report as a task."""

from __future__ import annotations

from novelapi.records.request import FileResult
from novelapi.reporting import REPORT_VERSION, write_report
from tasks._stage import run_layout, stage_task


@stage_task("report", version=REPORT_VERSION, subject="{experiment}")
def report(experiment: str, cells: list[FileResult]) -> FileResult:
    """Write tables, figures and the page of an experiment."""
    layout = run_layout()
    return write_report([layout.home / cell.path for cell in cells], layout.analysis(experiment))
