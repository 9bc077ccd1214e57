"""All rows of any number of runs in one data frame, with what is known of their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import polars as pl

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.fingerprint import digest
from novelapi.records.task import Task
from novelapi.records.verdict import LABELS, Integrity, Outcome
from novelapi.reporting.instances import asked_side, has_changed, read_tasks, tasks_file
from novelapi.reporting.lines import line_spans
from novelapi.reporting.notices import Notice
from novelapi.reporting.runs import RESULTS, Run

COLUMNS: dict[str, type[pl.DataType]] = {
    "schema": pl.Int64,
    "task_id": pl.String,
    "sample": pl.Int64,
    "outcome": pl.String,
    "label": pl.String,
    "reason": pl.String,
    "integrity": pl.String,
    "overlap": pl.Float64,
    "cpu_ms": pl.Float64,
    "wall_ms": pl.Float64,
    "peak_kb": pl.Int64,
    "prompt": pl.String,
    "text": pl.String,
}
"""What is read of each line of results.jsonl; calls and evidence stay on disk until a page shows them."""

REQUIRED = ("schema", "task_id", "sample", "outcome", "reason", "integrity")
ALLOWED: dict[str, tuple[str, ...]] = {
    "outcome": get_args(Outcome),
    "label": LABELS,
    "integrity": get_args(Integrity),
}
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a report."""

    runs: tuple[Run, ...]
    """The runs, in the order of the report."""

    frame: pl.DataFrame
    """One row per (run, task, sample), sorted by them: `run` (position in `runs`), the columns of `COLUMNS` but
    `schema`, `start` and `end` (bytes of the line in its file), and `api, library, release, change, difficulty`."""

    tasks: Mapping[str, Task]
    """Every task that any of the runs was asked, by id, sorted."""

    files: tuple[Path, ...]
    """The task file of each run."""

    instances: tuple[Mapping[str, Task], ...]
    """The tasks of that file by id: `tasks` without the provenance that another run's file gives."""

    asked: tuple[int, ...]
    """Number of tasks that each run was asked: the instance or its side of the split, or the run's limit."""

    asked_ids: tuple[frozenset[str], ...]
    """Ids of those tasks; of a limited run those that have a row, since the others are not known."""

    notices: tuple[Notice, ...] = ()
    """What was found wrong but bearable while reading."""

    def of(self, run: int) -> pl.DataFrame:
        """Return the rows of one run."""
        return self.frame.filter(pl.col("run") == run)


def load_rows(runs: Sequence[Run], tasks: Path | None = None) -> Rows:
    """Read all rows of the runs and join what is known of their tasks.

    Args:
        runs: the runs, in the order of the report.
        tasks: a task file for all of them; default: each manifest names its own.

    Raises:
        DataError: a file is broken, rows occur twice, a task is unknown, or runs disagree about a task.
    """
    files = [tasks_file(run, tasks) for run in runs]
    by_file = {file: read_tasks(file) for file in dict.fromkeys(files)}
    known = _merge_tasks(by_file)
    sides: list[frozenset[str]] = []
    frames: list[pl.DataFrame] = []
    notices: list[Notice] = []
    for index, (run, file) in enumerate(zip(runs, files, strict=True)):
        frame, torn = read_results(run.folder / RESULTS)
        _require_known(run, frame, by_file[file], file)
        frames.append(frame.with_columns(run=pl.lit(index, pl.UInt16)))
        if torn:
            text = f"{run.name}: results.jsonl ends in the middle of a line; that row is not counted."
            notices.append(Notice(kind="torn", text=text))
        sides.append(asked_side(run, file, by_file[file]) | frozenset(frame["task_id"]))
        if has_changed(run, file):
            text = f"{run.name}: {file.name} is not the file that was asked; it has changed since the run."
            notices.append(Notice(kind="changed", text=text))
    known = {task_id: task for task_id, task in known.items() if any(task_id in side for side in sides)}
    asked_ids = [
        frozenset(frame["task_id"]) if run.limit else side for run, side, frame in zip(runs, sides, frames, strict=True)
    ]
    return Rows(
        runs=tuple(runs),
        frame=pl.concat(frames).join(_task_frame(known), on="task_id", how="left").sort("run", "task_id", "sample"),
        tasks=known,
        files=tuple(files),
        instances=tuple(by_file[file] for file in files),
        asked=tuple(min(len(side), run.limit or len(side)) for run, side in zip(runs, sides, strict=True)),
        asked_ids=tuple(asked_ids),
        notices=tuple(notices),
    )


def read_results(path: Path) -> tuple[pl.DataFrame, bool]:
    """Read the scalar columns of results.jsonl, and say whether its last line was cut off.

    Raises:
        DataError: a line is not a result row of this schema, or a (task, sample) occurs twice.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    end = data.rfind(b"\n") + 1
    torn = end < len(data)
    spans = line_spans(data)
    try:
        frame = pl.read_ndjson(data[:end], schema=COLUMNS) if spans else pl.DataFrame(schema=COLUMNS)
    except pl.exceptions.PolarsError as error:
        raise _broken_line(data[:end], path, error) from error
    frame = frame.with_columns(
        pl.Series("start", [start for start, _ in spans], pl.Int64),
        pl.Series("end", [stop for _, stop in spans], pl.Int64),
        line=pl.int_range(1, pl.len() + 1),
    )
    _check(frame, path)
    return frame.drop("schema", "line"), torn


def _broken_line(data: bytes, path: Path, error: Exception) -> DataError:
    """Name the line that the fast reader could not read."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            row = jsonl.parse_line(line, path, number)
            wrong = next((name for name in ("sample", "schema") if not isinstance(row.get(name), int)), None)
            if wrong:
                return DataError(f"{path}, line {number}: '{wrong}' is not a whole number; score the run again")
    return DataError(f"{path} is not a file of result rows ({error}); score the run again")


def _check(frame: pl.DataFrame, path: Path) -> None:
    schema = frame.filter(pl.col("schema").is_not_null() & (pl.col("schema") != SCHEMA))
    if len(schema):
        line, found = schema.select("line", "schema").row(0)
        raise DataError(
            f"{path}, row {line}: schema {found}, this release reads schema {SCHEMA}; "
            "score the run again with this release, or report it with the one that wrote it"
        )
    for name in REQUIRED:
        missing = frame.filter(pl.col(name).is_null())
        if len(missing):
            raise DataError(f"{path}, row {missing['line'][0]}: field '{name}' is missing; score the run again")
    for name, allowed in ALLOWED.items():
        other = frame.filter(pl.col(name).is_not_null() & ~pl.col(name).is_in(allowed))
        if len(other):
            line, found = other.select("line", name).row(0)
            raise DataError(f"{path}, row {line}: {name} '{found}' is unknown; known: {', '.join(allowed)}")
    twice = frame.filter(pl.struct("task_id", "sample").is_duplicated()).sort("task_id", "sample", "line")
    if len(twice):
        task, sample = twice.select("task_id", "sample").row(0)
        lines = " and ".join(str(line) for line in twice["line"][:2])
        raise DataError(f"{path}: task '{task}', sample {sample} occurs twice (rows {lines}); remove one of them")


def _merge_tasks(by_file: Mapping[Path, Mapping[str, Task]]) -> dict[str, Task]:
    """Join the tasks of several files; a task that two runs share must be the same task."""
    merged: dict[str, Task] = {}
    origin: dict[str, Path] = {}
    for path, tasks in by_file.items():
        for task_id, task in tasks.items():
            other = merged.setdefault(task_id, task)
            if other is not task and _identity(other) != _identity(task):
                what = (
                    f"releases {other.release} and {task.release}"
                    if other.release != task.release
                    else "different texts or harnesses"
                )
                raise DataError(
                    f"task '{task_id}' has {what} in {origin[task_id]} and {path}; report such runs separately"
                )
            origin.setdefault(task_id, path)
    return dict(sorted(merged.items()))


def _identity(task: Task) -> str:
    return digest(task.model_dump(mode="json", exclude={"provenance", "integrity"}))


def _require_known(run: Run, frame: pl.DataFrame, tasks: Mapping[str, Task], file: Path) -> None:
    unknown = frame.filter(~pl.col("task_id").is_in(list(tasks)))
    if len(unknown):
        raise DataError(
            f"{run.folder}: task '{unknown['task_id'][0]}' is not in {file}; give the file that was asked with --tasks"
        )


def _task_frame(tasks: Mapping[str, Task]) -> pl.DataFrame:
    names = ("api", "library", "release", "change", "difficulty")
    columns = {name: [getattr(task, name) for task in tasks.values()] for name in names}
    return pl.DataFrame({"task_id": list(tasks), **columns}, schema=dict.fromkeys(("task_id", *names), pl.String))
