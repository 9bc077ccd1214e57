"""The report as a task."""

from __future__ import annotations

from novelapi.records.request import FileResult
from novelapi.reporting import REPORT_VERSION, write_report
from tasks._stage import run_layout, stage_task


@stage_task("report", version=REPORT_VERSION, subject="{experiment}")
def report(experiment: str, cells: list[FileResult]) -> FileResult:
    """Write tables, figures and the page of an experiment."""
    layout = run_layout()
    written = write_report([(layout.home / cell.path).parent for cell in cells], layout.analysis(experiment))
    path = written.page.relative_to(layout.home).as_posix()
    return FileResult(path=path, sha256=written.sha256, counts=written.counts)
