"""What changed between two runs: a new one against a baseline, task by task."""

from __future__ import annotations

from pathlib import Path

from novelapi.errors import DataError
from novelapi.records.base import Record
from novelapi.reporting.analysis import Analysis, analyse
from novelapi.reporting.differences import Difference, compare_pairs
from novelapi.reporting.flows import flow_counts
from novelapi.reporting.outcomes import OUTCOMES, PASS
from novelapi.reporting.stats.resampling import SEED
from novelapi.reporting.summary import Summary
from novelapi.reporting.table import Column, Table, make_table


class Flip(Record):
    """A task that ended differently in the two runs."""

    task_id: str
    """The task."""

    api: str
    """Its target."""

    before: str
    """Outcome or label in the first run."""

    after: str
    """Outcome or label in the second run."""

    reason: str
    """Reason of the verdict in the second run."""


class Comparison(Record):
    """Two runs beside each other."""

    first: Summary
    """Numbers of the first run."""

    second: Summary
    """Numbers of the second run."""

    shared: int
    """Tasks that both runs were asked."""

    only_first: int
    """Tasks that only the first run was asked; they are not compared."""

    only_second: int
    """Tasks that only the second run was asked; they are not compared."""

    flips: tuple[Flip, ...]
    """Tasks that changed between solved and not solved, or whose label changed, sorted by id."""

    verdict_flips: int
    """Scored tasks that are solved in exactly one of the runs."""

    flip_rate: float | None
    """`verdict_flips` divided by the tasks scored in both; null when there are none."""

    difference: Difference
    """pass@1 of the second minus the first, on tasks scored in both."""

    flows: dict[str, int]
    """Tasks by `before -> after`, unchanged ones included."""

    notices: tuple[str, ...]
    """What a reader must know first."""


def compare_runs(first: Path, second: Path, *, tasks: Path | None = None, seed: int = SEED) -> Comparison:
    """Compare two runs on the tasks that both were asked.

    Args:
        first: folder of the baseline.
        second: folder of the new run.
        tasks: a task file for both; default: each manifest names its own.
        seed: seed of replicates and permutations.

    Raises:
        UsageError: a folder holds no run.
        DataError: the runs share no task, or disagree about one, or a folder holds several runs.
    """
    analysis = analyse([first, second], tasks=tasks, seed=seed, repeats=True)
    if len(analysis.rows.runs) != 2:
        raise DataError(f"{first} and {second} hold {len(analysis.rows.runs)} runs; give two folders of one run each")
    a, b = _positions(analysis, first)
    asked = analysis.outcomes.asked
    both = asked[:, a] & asked[:, b]
    if not both.any():
        raise DataError("the runs share no task, so they cannot be compared; give runs of one instance")
    difference = compare_pairs(analysis.outcomes, [(a, b)], seed)[0]
    verdict_flips = difference.gains + difference.losses
    return Comparison(
        first=analysis.summaries[a],
        second=analysis.summaries[b],
        shared=int(both.sum()),
        only_first=int((asked[:, a] & ~asked[:, b]).sum()),
        only_second=int((asked[:, b] & ~asked[:, a]).sum()),
        flips=_flips(analysis, a, b),
        verdict_flips=verdict_flips,
        flip_rate=verdict_flips / difference.pairs if difference.pairs else None,
        difference=difference,
        flows={f"{old} -> {new}": count for (old, new), count in flow_counts(analysis.outcomes, a, b).items()},
        notices=tuple(
            notice.text for notice in analysis.notices if notice.kind in ("torn", "changed", "few", "partial")
        ),
    )


def flip_table(comparison: Comparison) -> Table:
    """Return the tasks that changed as a table."""
    columns = [
        Column(key="task_id", title="Task"),
        Column(key="api", title="API"),
        Column(key="before", title="Before"),
        Column(key="after", title="After"),
        Column(key="reason", title="Reason now"),
    ]
    title = f"{comparison.first.run} → {comparison.second.run}"
    return make_table("flips", title, columns, [flip.to_row() for flip in comparison.flips])


def _positions(analysis: Analysis, first: Path) -> tuple[int, int]:
    """Runs are sorted in the analysis; the caller's order says which is the baseline."""
    return (0, 1) if analysis.rows.runs[0].folder == first.resolve() else (1, 0)


def _flips(analysis: Analysis, a: int, b: int) -> tuple[Flip, ...]:
    outcomes = analysis.outcomes
    greedy = analysis.rows.of(b).filter(analysis.rows.of(b)["sample"] == 0)
    reasons = dict(greedy.select("task_id", "reason").iter_rows())
    flips: list[Flip] = []
    for index, task_id in enumerate(outcomes.task_ids):
        before, after = outcomes.codes[index, a], outcomes.codes[index, b]
        if before != after and outcomes.asked[index, a] and outcomes.asked[index, b]:
            names = (OUTCOMES[before], OUTCOMES[after])
            reason = reasons.get(task_id, "")
            flips.append(
                Flip(task_id=task_id, api=outcomes.apis[index], before=names[0], after=names[1], reason=reason)
            )
    return tuple(
        sorted(flips, key=lambda flip: (flip.before != OUTCOMES[PASS], flip.after != OUTCOMES[PASS], flip.task_id))
    )
