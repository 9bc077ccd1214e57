"""Flow `report`: tables, figures and page of an experiment."""

from __future__ import annotations

from prefect import flow, tags

from flows._artifacts import publish_report
from flows._runs import ReportDone, Tally
from novelapi.records.request import FileResult
from tasks._results import finished_cells
from tasks._stage import run_layout
from tasks.reporting import report


@flow(name="report", flow_run_name="{experiment}")
def write_report(experiment: str, cells: list[FileResult] | None = None) -> ReportDone:
    """Write the report of an experiment from its finished cells.

    Args:
        experiment: name of the experiment, such as `swe-copy`.
        cells: its finished cells; default: all that lie in its folder.

    Raises:
        UsageError: the experiment has no finished cell.
    """
    # Extract: pointers to the rows.
    cells = cells if cells is not None else finished_cells(experiment, run_layout())

    # Transform: everything is recomputed from the rows.
    done = report_cells(experiment, cells)

    # Load: a link for whoever looks at the run.
    publish_report(experiment, done.page)
    return done


def report_cells(experiment: str, cells: list[FileResult]) -> ReportDone:
    """Write the report of some finished cells."""
    tally = Tally()
    with tags(f"experiment:{experiment}"):
        page = tally.take(report(experiment, cells, return_state=True))
    return ReportDone(experiment=experiment, page=page, work=tally.work)
