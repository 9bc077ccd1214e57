"""Rows of any number of runs as one flat table, for spreadsheets and data frames."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from novelapi import jsonl
from novelapi.errors import UsageError
from novelapi.reporting.rows import load_rows
from novelapi.reporting.runs import find_runs

COLUMNS = (
    "task_id", "sample", "outcome", "label", "reason", "integrity", "overlap", "cpu_ms", "wall_ms", "peak_kb", "api",
    "library", "release", "change", "difficulty",
)  # fmt: skip


def write_rows(paths: Sequence[Path], file: Path, tasks: Path | None = None) -> int:
    """Write one line per (run, task, sample) as csv, jsonl or parquet, by the ending of the file; return their number.

    Raises:
        UsageError: the ending is none of these, or a folder holds no run.
        DataError: a file is broken, or runs disagree.
    """
    if file.suffix not in (".csv", ".jsonl", ".parquet"):
        raise UsageError(f"'{file.name}' ends in none of .csv, .jsonl, .parquet: the ending says what is written")
    rows = load_rows(find_runs(paths).runs, tasks)
    names = ("experiment", "model", "delivery", "condition", "name")
    runs = pl.DataFrame(
        {"run": list(range(len(rows.runs))), **{name: [getattr(run, name) for run in rows.runs] for name in names}},
        schema_overrides={"run": pl.UInt16},
    ).rename({"name": "run_name"})
    frame = rows.frame.join(runs, on="run", how="left", maintain_order="left")
    frame = frame.select("experiment", "model", "delivery", "condition", "run_name", *COLUMNS)
    buffer = io.BytesIO()
    if file.suffix == ".csv":
        frame.write_csv(buffer)
    elif file.suffix == ".jsonl":
        frame.write_ndjson(buffer)
    else:
        frame.write_parquet(buffer)
    jsonl.write_bytes(file, buffer.getvalue())
    return len(frame)
