"""Whether a component helps one kind of API more than another: a difference of paired differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novelapi.records.base import Record
from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.intervals import LEVEL, Interval, difference_intervals
from novelapi.reporting.stats.permutation import SLACK
from novelapi.reporting.stats.resampling import DRAWS, SEED

CHUNK = 500
PERMUTATIONS = 2_000


class Interaction(Record):
    """The mean paired difference in one set of APIs minus that in another."""

    first: Interval
    """Mean paired difference in the first set."""

    second: Interval
    """Mean paired difference in the second set."""

    value: float
    """`second - first`."""

    low: float | None
    """Lower 95 % bound; null when a set has fewer than two APIs."""

    high: float | None
    """Upper 95 % bound."""

    p: float | None
    """Two-sided permutation test of no interaction; null when a set has fewer than two APIs."""


def compare_sets(
    first: tuple[Clusters, Clusters],
    second: tuple[Clusters, Clusters],
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Interaction:
    """Compare the mean paired differences of two disjoint sets of APIs.

    The interval joins the two sets' own intervals (MOVER, Zou and Donner 2008); the test permutes which set an API
    belongs to and studentises the statistic, so that sets of unequal spread do no harm (Janssen 1997).

    Args:
        first: gains and losses per API of the first set, one quantity.
        second: gains and losses per API of the second set.
        level: confidence level.
        draws: bootstrap replicates.
        permutations: random assignments of APIs to sets.
        seed: seed of both.

    Raises:
        ValueError: a set has no API.
    """
    if not len(first[0]) or not len(second[0]):
        message = "both sets need at least one API"
        raise ValueError(message)
    one = difference_intervals(*first, level=level, draws=draws, seed=seed)[0]
    other = difference_intervals(*second, level=level, draws=draws, seed=seed)[0]
    value = (other.value or 0.0) - (one.value or 0.0)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Interaction(first=one, second=other, value=value, low=None, high=None, p=None)
    low, high = join_intervals(one, other)
    p = permute_sets(*_net(first), *_net(second), permutations=permutations, seed=seed)
    return Interaction(first=one, second=other, value=value, low=low, high=high, p=p)


def join_intervals(first: Interval, second: Interval) -> tuple[float, float]:
    """Return bounds of `second - first` from the intervals of two independent estimates."""
    a, b = first.value or 0.0, second.value or 0.0
    low, high = first.low or 0.0, first.high or 0.0
    other_low, other_high = second.low or 0.0, second.high or 0.0
    return b - a - float(np.hypot(b - other_low, high - a)), b - a + float(np.hypot(other_high - b, a - low))


def permute_sets(
    sums: Floats, counts: Floats, other_sums: Floats, other_counts: Floats, *, permutations: int, seed: int
) -> float:
    """Return the two-sided p-value of equal means in two sets of APIs, by a studentised permutation test.

    Args:
        sums: values summed per API of the first set, shape (C, 1).
        counts: their number, shape (C, 1).
        other_sums: values summed per API of the second set.
        other_counts: their number.
        permutations: random assignments, beside the observed one (Phipson and Smyth 2010).
        seed: their seed.
    """
    s = np.concatenate([sums[:, 0], other_sums[:, 0]])
    n = np.concatenate([counts[:, 0], other_counts[:, 0]])
    size, total = len(sums), len(s)
    order = np.lexsort((n, s))  # not the order of names: renaming an API changes nothing
    inverse = np.empty(total, dtype=np.int64)
    inverse[order] = np.arange(total)
    moments = np.stack([s, n, s * s, s * n, n * n])[:, order]
    observed = np.zeros((1, total), dtype=np.float64)
    observed[0, inverse[:size]] = 1.0
    threshold = float(_studentised(observed, moments, size)[0]) - SLACK
    generator = np.random.default_rng([seed, total, size])
    extreme = 0
    for start in range(0, permutations, CHUNK):
        rows = min(CHUNK, permutations - start)
        extreme += int((_studentised(_assignments(generator, rows, total, size), moments, size) >= threshold).sum())
    return (extreme + 1) / (permutations + 1)


def _net(pair: tuple[Clusters, Clusters]) -> tuple[Floats, Floats]:
    gains, losses = pair
    return gains.sums - losses.sums, gains.counts


def _assignments(generator: np.random.Generator, rows: int, total: int, size: int) -> NDArray[np.float64]:
    chosen = np.argpartition(generator.random((rows, total), dtype=np.float32), size - 1, axis=1)[:, :size]
    members = np.zeros((rows, total))
    np.put_along_axis(members, chosen, 1.0, axis=1)
    return members


def _studentised(members: Floats, moments: Floats, size: int) -> Floats:
    """Absolute difference of the two sets' means over its standard error, shape (rows,)."""
    inside = members @ moments.T
    outside = moments.sum(axis=1) - inside
    means: list[Floats] = []
    variance = np.zeros(len(members))
    for part, clusters in ((inside, size), (outside, moments.shape[1] - size)):
        s, n, ss, sn, nn = part.T
        mean = s / n
        means.append(mean)
        variance += np.maximum(ss - 2 * mean * sn + mean**2 * nn, 0.0) * clusters / max(clusters - 1, 1) / n**2
    difference = np.abs(means[1] - means[0])
    varied = variance > 0
    without = np.where(difference > SLACK, np.inf, 0.0)
    return np.where(varied, difference / np.sqrt(np.where(varied, variance, 1.0)), without)
