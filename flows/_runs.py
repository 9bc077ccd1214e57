"""What all flows share: counting executed against cached task runs, progress lines, and results."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from prefect import runtime
from prefect.client.schemas.objects import State
from prefect.utilities.urls import url_for
from pydantic import Field

from flows._orphans import end_with_worker
from novelapi.errors import EndpointError
from novelapi.records.base import Record
from novelapi.records.request import FileResult, ModelAccess
from novelapi.records.stage import StageResult
from tasks._stage import was_cached
from tasks.inference import check_model

T = TypeVar("T")

end_with_worker()

progress = logging.getLogger("novelapi.flows")
"""Lines for people: on the console of a verb, and in the log of the run."""


class Work(Record):
    """How much work a run did, counted from the states of its task runs."""

    executed: int = 0
    """Task runs that executed their body."""

    cached: int = 0
    """Task runs, and cells skipped before they became one, whose result was already there."""

    failed: int = 0
    """Task runs that failed."""

    def __add__(self, other: Work) -> Work:
        """Return the sum of two runs' work."""
        return Work(
            executed=self.executed + other.executed,
            cached=self.cached + other.cached,
            failed=self.failed + other.failed,
        )


class LibraryBuild(Record):
    """What the flow `library` made."""

    library: str
    """Library."""

    model: str
    """Model."""

    old: str | None
    """Release that the model can know."""

    new: str | None
    """Release under test."""

    stages: list[StageResult]
    """Results of the stages that were asked for, in order."""

    work: Work
    """Stage tasks by state."""


class InstanceBuild(Record):
    """What the flow `instance` made."""

    group: str
    """Group, or library."""

    model: str
    """Model."""

    instance: FileResult
    """The pooled tasks."""

    libraries: list[LibraryBuild]
    """Its libraries."""

    work: Work
    """Stage tasks by state."""


class CellsDone(Record):
    """What the flow `cell` did."""

    cells: list[FileResult]
    """Results of the cells that succeeded, in the order in which they were asked for."""

    work: Work
    """Cells by state."""

    failures: dict[str, str] = Field(default_factory=dict)
    """One line of reason per failed cell."""

    partial: bool = False
    """Whether every failed cell only ended early: its budget, or a recording that is missing."""


class ReportDone(Record):
    """What the flow `report` wrote."""

    experiment: str
    """Name of the experiment."""

    page: FileResult
    """The page."""

    work: Work
    """Report tasks by state."""


class GridDone(Record):
    """What the flow `paper-grid` did."""

    experiment: str
    """Name of the experiment."""

    instance: InstanceBuild
    """What was asked."""

    cells: CellsDone
    """What was answered."""

    report: ReportDone
    """The page."""

    url: str
    """Where the Prefect UI shows the run."""


class AdaptationDone(Record):
    """What the flow `adaptation` did."""

    experiment: str
    """Name of the experiment."""

    tasks: FileResult
    """Instance of the base."""

    fits: list[FileResult]
    """Artifacts, in the order of the methods."""

    table: list[dict[str, Any]]
    """One row per method: efficacy, locality, pass@1 and the rest."""

    cells: CellsDone
    """Cells on held-out tasks."""

    report: ReportDone
    """The page."""

    work: Work
    """Task runs by state."""

    url: str
    """Where the Prefect UI shows the run."""


def find_mistakes(model: str, access: ModelAccess) -> None:
    """Ask a model once before hours of work that ends in asking it: a wrong name or key is no better later.

    An endpoint that does not answer now may answer then. A model that is served beside another run is pinned by its
    server's description and cannot be asked here.

    Raises:
        PrerequisiteError: the key was refused, or address, key or extra is missing.
        UnknownNameError: there is no such model; near matches are suggested.
    """
    if access.revision is not None:
        return
    try:
        check_model(model, access)
    except EndpointError as error:
        progress.warning("%s; what does not need it is done all the same", error)


def run_url() -> str:
    """Return where the UI shows the current flow run (`runtime.flow_run.ui_url` names a page that does not exist)."""
    return url_for("flow-run", obj_id=runtime.flow_run.id) or ""


class Tally:
    """Counts the task runs of one flow run by their states."""

    def __init__(self) -> None:
        """Start at zero."""
        self.work = Work()

    def take(self, state: State[T]) -> T:
        """Count a finished task run and return its result.

        Raises:
            Exception: what the task raised.
        """
        self.count(state)
        return state.result()

    def count(self, state: State[Any]) -> None:
        """Count a finished task run."""
        if not state.is_completed():
            self.work += Work(failed=1)
        elif was_cached(state):
            self.work += Work(cached=1)
        else:
            self.work += Work(executed=1)

    def skip(self, number: int) -> None:
        """Count results that were already there and never became a task run."""
        self.work += Work(cached=number)

    def fail(self) -> None:
        """Count one that could not be tried."""
        self.work += Work(failed=1)
