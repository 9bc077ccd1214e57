"""A progress bar on stderr: counts of pass, fail and unscored; silent when stderr is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from novelapi.records.suite import SuiteRow
from novelapi.records.verdict import ResultRow

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """One bar."""

    def __init__(self, title: str, total: int) -> None:
        """Set title and number of units; drawn only on a terminal."""
        self.title = title
        self.total = total
        self.counts = {"pass": 0, "fail": 0, "unscored": 0}
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start drawing."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True))
            self._progress.start()
            self._task = self._progress.add_task(self.title, total=self.total, note="")
        return self

    def add_row(self, row: ResultRow | SuiteRow) -> None:
        """Count one scored sample."""
        self.counts[row.outcome] += 1
        self.add(" ".join(f"{count} {name}" for name, count in self.counts.items()))

    def say(self, note: str) -> None:
        """Show what is being done, without counting a unit."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, note=note)

    def add(self, note: str = "") -> None:
        """Count one unit."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=1, note=note)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Stop drawing."""
        if self._progress is not None:
            self._progress.stop()
