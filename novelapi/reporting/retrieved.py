"""What retrieval found, beside what was solved: pass@1 where the target was among what the prompt showed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.reporting.estimates import estimate_pass
from novelapi.reporting.outcomes import Outcomes
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import Run
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.stats.resampling import SEED

RANKINGS = "rankings.jsonl"
SHOWN = 5
"""Passages in a prompt where the manifest does not say (published method)."""


class Retrieved(Record):
    """Retrieval and success of one run."""

    run: int
    """Position of the run."""

    oracle: int | None
    """Position of the run with the same knowledge given directly, or null."""

    shown: int
    """Passages in each prompt."""

    tasks: int
    """Tasks with a ranking."""

    hit: float
    """Share of them with a passage of the target in the prompt."""

    mrr: float
    """Mean reciprocal rank of the target's first passage; 0 where it is not in the ranking."""

    on_hits: Interval
    """pass@1 on tasks whose target was shown."""

    on_misses: Interval
    """pass@1 on the others."""

    oracle_on_hits: Interval | None
    """pass@1 of the oracle on the tasks of `on_hits`."""


def read_retrieved(rows: Rows, outcomes: Outcomes, seed: int = SEED) -> list[Retrieved]:
    """Read the rankings of the runs that have any.

    Raises:
        DataError: a ranking is broken.
    """
    where = {(run.experiment, run.delivery, run.condition): index for index, run in enumerate(rows.runs)}
    position = {task_id: index for index, task_id in enumerate(rows.tasks)}
    found: list[Retrieved] = []
    for index, run in enumerate(rows.runs):
        path = _rankings(run)
        if path is None:
            continue
        shown = run.spec.get("k")
        k = shown if isinstance(shown, int) and shown > 0 else SHOWN
        ranks = {task: rank for task, rank in _first_ranks(path, rows).items() if task in position}
        if not ranks:
            continue
        ranked, hits = (np.zeros(len(position), dtype=np.bool_) for _ in range(2))
        for task, rank in ranks.items():
            ranked[position[task]] = True
            hits[position[task]] = rank is not None and rank <= k
        on_hits, on_misses = estimate_pass(outcomes, [hits, ranked & ~hits], seed)
        oracle = where.get((run.experiment, "oracle", run.condition))
        found.append(
            Retrieved(
                run=index,
                oracle=oracle,
                shown=k,
                tasks=len(ranks),
                hit=float(hits.sum() / len(ranks)),
                mrr=sum(1 / rank for rank in ranks.values() if rank) / len(ranks),
                on_hits=on_hits[index],
                on_misses=on_misses[index],
                oracle_on_hits=None if oracle is None else on_hits[oracle],
            )
        )
    return found


def _rankings(run: Run) -> Path | None:
    """Return the file of a run's rankings: in its folder, or where its manifest says (below the home)."""
    named = run.spec.get("rankings")
    home = Layout.home_of(run.folder)
    places = [run.folder / RANKINGS]
    if isinstance(named, str) and named:
        places += [base / named for base in (run.folder, home) if base is not None]
    return next((path for path in places if path.is_file()), None)


def _first_ranks(path: Path, rows: Rows) -> dict[str, int | None]:
    """Return the rank of the target's first passage of every task, from 1, or null."""
    ranks: dict[str, int | None] = {}
    for row in jsonl.read(path):
        task_id, hits = row.get("task_id"), row.get("hits")
        if not isinstance(task_id, str) or not isinstance(hits, list):
            raise DataError(f"{path}: a row has no task_id or no hits; rank the tasks again")
        task = rows.tasks.get(task_id)
        if task is not None:
            apis = [hit.get("api") for hit in hits]
            ranks[task_id] = apis.index(task.api) + 1 if task.api in apis else None
    return ranks
