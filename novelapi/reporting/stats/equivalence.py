"""Claims of "no difference": two one-sided tests against a margin that was fixed before."""

from __future__ import annotations

from novelapi.records.base import Record
from novelapi.reporting.stats.clusters import Clusters
from novelapi.reporting.stats.intervals import Interval, difference_intervals
from novelapi.reporting.stats.resampling import DRAWS, SEED

MARGIN = 0.05
"""Differences of pass@1 below five percentage points count as none."""

ALPHA = 0.05


class Equivalence(Record):
    """Whether two conditions do the same, as far as can be told."""

    margin: float
    """Largest difference that counts as none."""

    low: float | None
    """Lower bound of the interval at level 1 - 2 * 5 %; null with fewer than two APIs."""

    high: float | None
    """Upper bound of it."""

    equivalent: bool | None
    """Whether the interval lies within the margin; false says that it was not shown, not that they differ."""


def show_equivalence(
    gains: Clusters,
    losses: Clusters,
    *,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    draws: int = DRAWS,
    seed: int = SEED,
) -> list[Equivalence]:
    """Test whether paired differences of 0/1 values lie within a margin, one result per quantity.

    Both one-sided tests reject at level `alpha` exactly when the interval at level 1 - 2 `alpha` lies within the margin
    (Schuirmann 1987).

    Args:
        gains: tasks that only the second condition solves, per API.
        losses: tasks that only the first condition solves; same APIs and counts.
        margin: largest difference that counts as none.
        alpha: level of each one-sided test.
        draws: bootstrap replicates.
        seed: their seed.
    """
    intervals = difference_intervals(gains, losses, level=1 - 2 * alpha, draws=draws, seed=seed)
    return [judge_equivalence(interval, margin) for interval in intervals]


def judge_equivalence(interval: Interval, margin: float = MARGIN) -> Equivalence:
    """Say whether an interval at level 1 - 2 * 5 % lies within a margin."""
    low, high = interval.low, interval.high
    within = None if low is None or high is None else -margin < low and high < margin
    return Equivalence(margin=margin, low=low, high=high, equivalent=within)
