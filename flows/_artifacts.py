"""What the Prefect UI shows beside the logs: a funnel per library, a progress bar per grid, a link to each report.

An artifact is one request to the server, so a progress bar moves at most every other second, never per sample.
"""

from __future__ import annotations

import re
import time
from pathlib import PurePosixPath
from types import TracebackType
from typing import Self
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from flows._runs import progress
from novelapi.records.cell import Cell
from novelapi.records.request import FileResult, LibraryRequest
from novelapi.records.stage import StageResult
from tasks._stage import run_layout

UPDATE_EVERY_S = 2.0


def artifact_key(*parts: str) -> str:
    """Return a key as Prefect wants it: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def publish_funnel(request: LibraryRequest, stages: list[StageResult]) -> None:
    """Show what each stage kept and why it dropped the rest."""
    table = [
        {"stage": stage.stage, "what": name, "number": number}
        for stage in stages
        for name, number in [*stage.counts.items(), *((f"dropped: {why}", n) for why, n in stage.reasons.items())]
    ]
    create_table_artifact(
        key=artifact_key("funnel", request.library, request.model),
        table=table,
        description=f"{request.library} {request.old} -> {request.new}, model {request.model}",
    )


def publish_report(experiment: str, page: FileResult) -> None:
    """Show where the report lies."""
    create_link_artifact(
        key=artifact_key("report", experiment),
        link=(run_layout().home / page.path).as_uri(),
        link_text=experiment,
        description=f"report of {experiment}, on the machine of the run",
    )


def publish_scores(experiment: str, cells: list[FileResult]) -> None:
    """Show pass@1 per cell; unscored samples stand beside it, never in its denominator."""
    table = []
    for cell in cells:
        passed, failed = cell.counts.get("pass", 0), cell.counts.get("fail", 0)
        row: dict[str, object] = {"cell": PurePosixPath(cell.path).parent.name}
        row["pass@1"] = f"{passed / (passed + failed):.3f}" if passed + failed else ""
        table.append(row | {"pass": passed, "fail": failed, "unscored": cell.counts.get("unscored", 0)})
    create_table_artifact(key=artifact_key("pass@1", experiment), table=table, description=f"pass@1 of {experiment}")


class GridProgress:
    """The progress of a grid, on the run's page and as lines of text."""

    def __init__(self, experiment: str, total: int, finished: int) -> None:
        """Remember what there is to do; the artifact is made on entry."""
        self._experiment = experiment
        self._total = total
        self._done = finished
        self._artifact: UUID | None = None
        self._updated = 0.0

    def __enter__(self) -> Self:
        """Create the artifact."""
        self._artifact = create_progress_artifact(
            progress=self._percent(), key=artifact_key("grid", self._experiment), description=f"grid {self._experiment}"
        )
        return self

    def advance(self, cell: Cell, result: FileResult | None, failure: str | None) -> None:
        """Count a cell that ended."""
        self._done += 1
        if failure is None:
            counts = " ".join(f"{name} {number}" for name, number in (result.counts if result else {}).items())
            progress.info("[%d/%d] %s  %s", self._done, self._total, cell.name, counts)
        else:
            progress.error("[%d/%d] %s  failed: %s", self._done, self._total, cell.name, failure)
        if time.monotonic() - self._updated >= UPDATE_EVERY_S:
            self._update()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Show the last state."""
        self._update()

    def _percent(self) -> float:
        return 100.0 * self._done / self._total if self._total else 100.0

    def _update(self) -> None:
        self._updated = time.monotonic()
        if self._artifact is not None:
            update_progress_artifact(self._artifact, progress=self._percent())
