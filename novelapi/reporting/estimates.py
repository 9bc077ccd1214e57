"""pass@1 and label shares of every run, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from novelapi.records.base import Record
from novelapi.reporting.outcomes import FAILURES, OUTCOMES, PASS, Mask, Outcomes
from novelapi.reporting.stats.clusters import Clusters
from novelapi.reporting.stats.intervals import Interval, proportion_intervals
from novelapi.reporting.stats.resampling import SEED

Result = TypeVar("Result")


class RunEstimate(Record):
    """pass@1 and label shares of one run, of its scored greedy samples."""

    run: int
    """Position of the run."""

    pass_at_1: Interval
    """Share of scored tasks that pass."""

    labels: dict[str, Interval]
    """Share of scored tasks that fail with each label that occurs anywhere in the report."""


def estimate_runs(outcomes: Outcomes, seed: int = SEED) -> list[RunEstimate]:
    """Return pass@1 and label shares of every run."""
    present = [name for code, name in enumerate(OUTCOMES) if name in FAILURES and (outcomes.codes == code).any()]
    wanted = [PASS, *(OUTCOMES.index(name) for name in present)]
    everything = np.ones(len(outcomes.task_ids), dtype=np.bool_)
    return [
        RunEstimate(run=index, pass_at_1=intervals[0], labels=dict(zip(present, intervals[1:], strict=True)))
        for index, intervals in enumerate(_shares(outcomes, wanted, everything, seed))
    ]


def estimate_pass(outcomes: Outcomes, parts: Sequence[Mask], seed: int = SEED) -> list[list[Interval]]:
    """Return pass@1 of every run on each part of the tasks, shape (T,) each; one list per part."""
    tables = [table for tasks in parts for table in _tables(outcomes, [PASS], tasks)]
    flat = iter(batched(lambda table: proportion_intervals(table, seed=seed), tables))
    return [[next(flat)[0] for _ in range(outcomes.codes.shape[1])] for _ in parts]


def _shares(outcomes: Outcomes, wanted: Sequence[int], tasks: Mask, seed: int) -> list[list[Interval]]:
    """Shares of the codes in `wanted` among the scored tasks of every run."""
    return batched(lambda table: proportion_intervals(table, seed=seed), _tables(outcomes, wanted, tasks))


def _tables(outcomes: Outcomes, wanted: Sequence[int], tasks: Mask) -> list[Clusters]:
    return [
        outcomes.clusters((codes[:, None] == np.array(wanted)).astype(np.float64), tasks & scored)
        for codes, scored in zip(outcomes.codes.T, outcomes.scored.T, strict=True)
    ]


def batched(estimate: Callable[..., Sequence[Result]], *tables: Sequence[Clusters]) -> list[list[Result]]:
    """Estimate many tables at once: those over equally many APIs are joined, so that replicates are drawn once.

    Replicates depend on the number of APIs alone, so what a table yields does not depend on its company.

    Args:
        estimate: takes one table per sequence and returns one result per quantity.
        tables: sequences of equal length; tables at the same position have the same APIs and quantities.
    """
    groups: dict[int, list[int]] = {}
    for index, table in enumerate(tables[0]):
        groups.setdefault(len(table), []).append(index)
    results: list[list[Result]] = [[] for _ in tables[0]]
    for _, members in sorted(groups.items()):
        flat = iter(estimate(*(_joined([sequence[index] for index in members]) for sequence in tables)))
        for index in members:
            results[index] = [next(flat) for _ in range(tables[0][index].sums.shape[1])]
    return results


def _joined(tables: Sequence[Clusters]) -> Clusters:
    return Clusters(
        names=tables[0].names,
        sums=np.concatenate([table.sums for table in tables], axis=1),
        counts=np.concatenate([np.broadcast_to(table.counts, table.sums.shape) for table in tables], axis=1),
    )
