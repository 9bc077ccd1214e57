"""Everything that a report says in numbers, computed once from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from novelapi.reporting.checks import check_grid, check_rows
from novelapi.reporting.costs import Cost, read_costs
from novelapi.reporting.differences import OVERLAP_THRESHOLD, Difference, estimate_differences
from novelapi.reporting.estimates import RunEstimate, estimate_runs
from novelapi.reporting.funnel import FunnelStage, read_funnel
from novelapi.reporting.graphs import Picture, read_pictures
from novelapi.reporting.notices import Notice
from novelapi.reporting.outcomes import Outcomes, greedy_outcomes
from novelapi.reporting.probed import Probed, read_probed
from novelapi.reporting.questions import NoveltyGain, OverModels, novelty_gains, over_models
from novelapi.reporting.retrieved import Retrieved, read_retrieved
from novelapi.reporting.rows import Rows, load_rows
from novelapi.reporting.runs import FoundRuns, find_runs
from novelapi.reporting.selected import Selected, read_selected
from novelapi.reporting.stats.resampling import SEED
from novelapi.reporting.summary import Summary, summarise_run


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """The numbers of a report."""

    rows: Rows
    """The rows behind them."""

    outcomes: Outcomes
    """Greedy outcomes, tasks by runs."""

    summaries: tuple[Summary, ...]
    """Counts and rates of each run."""

    estimates: tuple[RunEstimate, ...]
    """pass@1 and label shares of each run, with intervals."""

    differences: tuple[Difference, ...]
    """Planned comparisons."""

    novelty: tuple[NoveltyGain, ...]
    """What components gain on changed APIs beyond what they gain on new ones."""

    models: tuple[OverModels, ...]
    """Conditions against the baseline, over all models."""

    retrieved: tuple[Retrieved, ...]
    """What retrieval found, for runs with rankings."""

    selected: tuple[Selected, ...]
    """Which APIs the samples chose, where a surface is at hand."""

    costs: tuple[Cost, ...]
    """What each run cost."""

    probed: tuple[Probed, ...]
    """What the model knew of the APIs beforehand, where the instance holds probes."""

    graphs: tuple[Picture, ...]
    """Parameter graphs of the libraries, where they were built."""

    funnel: tuple[FunnelStage, ...]
    """What the stages kept and lost."""

    notices: tuple[Notice, ...]
    """What a reader must know first."""

    threshold: float
    """Overlap of reference and shown examples above which a task counts as given away."""

    seed: int
    """Seed of replicates and permutations."""


def analyse(
    paths: Sequence[Path],
    *,
    tasks: Path | None = None,
    threshold: float = OVERLAP_THRESHOLD,
    seed: int = SEED,
    repeats: bool = False,
) -> Analysis:
    """Read run folders and compute everything that a report says.

    Args:
        paths: runs, or folders of runs.
        tasks: a task file for all of them; default: each manifest names its own.
        threshold: overlap above which a task counts as given away by the shown examples.
        seed: seed of replicates and permutations.
        repeats: whether one cell may be there more than once.

    Raises:
        UsageError: a folder holds no run, or a cell is there twice.
        DataError: a file is broken, or runs disagree.
    """
    found = find_runs(paths, repeats=repeats)
    return analyse_rows(load_rows(found.runs, tasks), found, threshold=threshold, seed=seed)


def analyse_rows(rows: Rows, found: FoundRuns, *, threshold: float, seed: int) -> Analysis:
    """Compute everything that a report says from loaded rows."""
    outcomes = greedy_outcomes(rows)
    graphs, undrawn = read_pictures(rows)
    selected, unparsed = read_selected(rows)
    summaries = tuple(summarise_run(rows, index) for index in range(len(rows.runs)))
    return Analysis(
        rows=rows,
        outcomes=outcomes,
        summaries=summaries,
        estimates=tuple(estimate_runs(outcomes, seed=seed)),
        differences=tuple(estimate_differences(outcomes, rows.runs, threshold=threshold, seed=seed)),
        novelty=tuple(novelty_gains(rows, outcomes, seed)),
        models=tuple(over_models(rows, outcomes, seed)),
        retrieved=tuple(read_retrieved(rows, outcomes, seed)),
        selected=tuple(selected),
        costs=tuple(read_costs(rows)),
        probed=tuple(read_probed(rows, outcomes, seed)),
        graphs=tuple(graphs),
        funnel=tuple(read_funnel(rows)),
        notices=(*rows.notices, *undrawn, *unparsed, *check_grid(rows, found.empty), *check_rows(rows, summaries)),
        threshold=threshold,
        seed=seed,
    )


def without_rows(analysis: Analysis) -> Analysis:
    """Return the numbers with an empty table of rows: all that figures need, and little to copy."""
    return replace(analysis, rows=replace(analysis.rows, frame=analysis.rows.frame.clear()))
