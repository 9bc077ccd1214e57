"""What each run cost: tokens, seconds and money, beside what it solved."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from novelapi.errors import DataError
from novelapi.records.base import Record
from novelapi.reporting.lines import line_spans
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import PREDICTIONS, Run

TOKENS = {"prompt_tokens": pl.Int64, "completion_tokens": pl.Int64}


class Cost(Record):
    """The cost of one run."""

    run: int
    """Position of the run."""

    tasks: int
    """Tasks with an answer in predictions.jsonl."""

    prompt_tokens: float | None
    """Mean tokens of a prompt; null when they were not counted."""

    completion_tokens: float | None
    """Mean tokens of all samples of a task, thinking included; null when they were not counted."""

    turns: float | None
    """Mean requests behind one sample; null where each took one."""

    seconds: float | None
    """Elapsed seconds of the run; null without a manifest."""

    usd: float | None
    """US dollars that the manifest records (`counts.usd`); null when there is no price."""


def read_costs(rows: Rows) -> list[Cost]:
    """Read what the runs cost.

    Raises:
        DataError: a file of predictions is broken.
    """
    return [_cost(index, run) for index, run in enumerate(rows.runs)]


def _cost(index: int, run: Run) -> Cost:
    frame = _tokens(run.folder / PREDICTIONS)
    usd = run.manifest.counts.get("usd") if run.manifest else None
    return Cost(
        run=index,
        tasks=len(frame),
        prompt_tokens=_mean(frame["prompt_tokens"]),
        completion_tokens=_mean(frame["completion_tokens"]),
        turns=_turns(run),
        seconds=run.manifest.wall_s if run.manifest else None,
        usd=float(usd) if isinstance(usd, int | float) else None,
    )


def _turns(run: Run) -> float | None:
    agent = run.spec.get("agent") or {}
    return agent["turns"] / agent["samples"] if agent.get("samples") else None


def _mean(column: pl.Series) -> float | None:
    """Mean of what was counted; 0 says that nothing was."""
    counted = column.drop_nulls()
    counted = counted.filter(counted > 0)
    return float(counted.sum()) / len(counted) if len(counted) else None


def _tokens(path: Path) -> pl.DataFrame:
    if not path.is_file():
        return pl.DataFrame(schema=TOKENS)
    data = path.read_bytes()
    spans = line_spans(data)
    if not spans:
        return pl.DataFrame(schema=TOKENS)
    try:
        return pl.read_ndjson(data[: spans[-1][1] + 1], schema=TOKENS)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} is not a file of predictions ({error}); ask the model again") from error
