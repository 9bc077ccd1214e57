"""From rows to findings: statistics, tables, figures and pages. Reads files only; never calls a model, never runs code.

    summarise(folder)                    the numbers of one run, written to its summary.json
    write_report([folder, ...], out)     page, tables and figures of any number of runs
    compare_runs(first, second)          what changed between two runs, task by task

Names are imported when they are first used: the base installation can summarise, the rest needs `novelapi[report]`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from novelapi.errors import PrerequisiteError

if TYPE_CHECKING:
    from novelapi.reporting.comparison import compare_runs as compare_runs
    from novelapi.reporting.leaderboard import write_leaderboard as write_leaderboard
    from novelapi.reporting.report import ReportSummary as ReportSummary
    from novelapi.reporting.report import write_report as write_report
    from novelapi.reporting.summary import summarise as summarise

REPORT_VERSION = 2
"""Version of tables, figures and pages; part of the cache key of a report."""

LIGHT = {"summarise": "summary"}
HEAVY = {
    "write_report": "report",
    "ReportSummary": "report",
    "compare_runs": "comparison",
    "write_leaderboard": "leaderboard",
}
NEEDED = ("numpy", "scipy", "matplotlib", "threadpoolctl")


def require_report_extra() -> None:
    """Make sure that the libraries of the extra `report` are there.

    Raises:
        PrerequisiteError: one of them is not installed.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise PrerequisiteError(f"reports need {', '.join(missing)}: run pip install 'novelapi[report]'")


def __getattr__(name: str) -> Any:
    if name in HEAVY:
        require_report_extra()
    module = (LIGHT | HEAVY).get(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{module}"), name)
