"""Confidence intervals of means and of paired differences, with the API as the unit of resampling.

Three methods; each interval says which one it is:

- `bca`: bias-corrected and accelerated bootstrap over APIs (Efron 1987), acceleration from leaving one API out, levels
  widened from the normal to Student's t with one degree less than there are APIs (Hesterberg 2015, section 5.3).
- `binomial`: where fewer than `INFORMATIVE` APIs speak for the rarer side, resampling is blind to what it has not seen.
  Then the binomial mid-p interval is taken at the effective sample size (`binomial.py`); differences join the intervals
  of gains and losses (MOVER, Zou and Donner 2008).
- `percentile`: the plain bootstrap, only where the correction of `bca` is not defined.

`benchmarks/statistics.py` measures their coverage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import ndtr, ndtri, stdtrit

from novelapi.records.base import Record
from novelapi.reporting.stats.binomial import effective_bounds, effective_size
from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.resampling import DRAWS, SEED, replicate_means

LEVEL = 0.95
INFORMATIVE = 30
"""Below this number of APIs on the rarer side the bootstrap covers too little (measured)."""

Method = Literal["bca", "percentile", "binomial", "none"]


class Interval(Record):
    """A mean or a difference with its confidence interval."""

    value: float | None
    """The estimate; null when there is nothing to average."""

    low: float | None = None
    """Lower bound; null when no interval can be given."""

    high: float | None = None
    """Upper bound; null when no interval can be given."""

    level: float = LEVEL
    """Confidence level."""

    method: Method = "none"
    """How the interval was made; `none`: fewer than two APIs."""

    clusters: int = Field(default=0, ge=0)
    """Number of APIs behind it."""

    units: int = Field(default=0, ge=0)
    """Number of tasks behind it."""


def proportion_intervals(
    table: Clusters, *, level: float = LEVEL, draws: int = DRAWS, seed: int = SEED
) -> list[Interval]:
    """Return one interval per quantity of a table of 0/1 values (share of tasks that pass, of a label ...)."""
    if len(table) < 2:
        return _without_interval(table, level)
    informative = np.minimum((table.sums > 0).sum(axis=0), (table.sums < table.counts).sum(axis=0))
    bounds = {level: effective_bounds(table, level)}
    return _by_information(table, informative, bounds, draws=draws, seed=seed)[0]


def difference_intervals(
    gains: Clusters, losses: Clusters, *, level: float = LEVEL, draws: int = DRAWS, seed: int = SEED
) -> list[Interval]:
    """Return one interval per quantity of the mean of paired differences of 0/1 values.

    Args:
        gains: tasks that only the second condition solves, per API.
        losses: tasks that only the first condition solves; same APIs and counts.
        level: confidence level.
        draws: bootstrap replicates.
        seed: seed of the replicates.
    """
    return difference_intervals_at(gains, losses, (level,), draws=draws, seed=seed)[0]


def difference_intervals_at(
    gains: Clusters, losses: Clusters, levels: Sequence[float], *, draws: int = DRAWS, seed: int = SEED
) -> list[list[Interval]]:
    """Return `difference_intervals` at several levels from the same replicates, one list per level."""
    net = Clusters(names=gains.names, sums=gains.sums - losses.sums, counts=gains.counts)
    if len(net) < 2:
        return [_without_interval(net, level) for level in levels]
    informative = (net.sums != 0).sum(axis=0)
    bounds = {level: _mover(gains, losses, level) for level in levels}
    return _by_information(net, informative, bounds, draws=draws, seed=seed)


def mean_intervals(table: Clusters, *, level: float = LEVEL, draws: int = DRAWS, seed: int = SEED) -> list[Interval]:
    """Return one bootstrap interval per quantity of a table of any values (pass@k, tokens ...)."""
    return _without_interval(table, level) if len(table) < 2 else _bootstrap(table, [level], draws, seed)[0]


def _mover(gains: Clusters, losses: Clusters, level: float) -> tuple[Floats, Floats]:
    """Join the intervals of gains and losses into one of their difference, with their correlation between APIs."""
    up, down = gains.means, losses.means
    # Where one side never occurs, the design effect of the other is the best guess.
    unseen = np.fmax(effective_size(gains), effective_size(losses))
    unseen = np.where(np.isnan(unseen), len(gains), unseen)
    up_low, up_high = effective_bounds(gains, level, unseen=unseen)
    down_low, down_high = effective_bounds(losses, level, unseen=unseen)
    a = gains.sums - up * gains.counts
    b = losses.sums - down * losses.counts
    scale = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    correlation = np.where(scale > 0, (a * b).sum(axis=0) / np.where(scale > 0, scale, 1.0), 0.0)

    def spread(one: Floats, other: Floats) -> Floats:
        return np.sqrt(np.maximum(one**2 + other**2 - 2 * correlation * one * other, 0.0))

    low = up - down - spread(up - up_low, down_high - down)
    high = up - down + spread(up_high - up, down - down_low)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _bootstrap(table: Clusters, levels: Sequence[float], draws: int, seed: int) -> list[list[Interval]]:
    """BCa intervals of the means, one list per level; percentile intervals where the correction is not defined."""
    clusters = len(table)
    replicates = np.sort(replicate_means(table, draws, seed), axis=0)
    means = table.means
    below = ((replicates < means).mean(axis=0) + (replicates <= means).mean(axis=0)) / 2
    usable = (below > 0) & (below < 1)
    bias = ndtri(np.where(usable, below, 0.5))
    acceleration = _acceleration(table)
    methods: list[Method] = ["bca" if is_usable else "percentile" for is_usable in usable]
    found: list[list[Interval]] = []
    for level in levels:
        reach = np.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, (1 + level) / 2)
        bounds: list[Floats] = []
        for side in (-reach, reach):
            shifted = bias + side
            adjusted = ndtr(bias + shifted / (1 - acceleration * shifted))
            bounds.append(_quantiles(replicates, np.where(usable, adjusted, ndtr(side))))
        found.append(_intervals(table, bounds[0], bounds[1], level, methods))
    return found


def _acceleration(table: Clusters) -> Floats:
    """Skewness of the means that leave one cluster out, over six."""
    counts = np.broadcast_to(table.counts, table.sums.shape)
    left = counts.sum(axis=0) - counts
    without = (table.sums.sum(axis=0) - table.sums) / np.where(left > 0, left, 1.0)
    deviation = without.mean(axis=0) - without
    scale = (deviation**2).sum(axis=0) ** 1.5
    return np.where(scale > 0, (deviation**3).sum(axis=0) / (6 * np.where(scale > 0, scale, 1.0)), 0.0)


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """One quantile per column of a matrix sorted by columns, interpolated."""
    position = np.clip(levels, 0.0, 1.0) * (len(ordered) - 1)
    lower = np.floor(position).astype(np.int64)
    upper = np.minimum(lower + 1, len(ordered) - 1)
    columns = np.arange(ordered.shape[1])
    part = position - lower
    return ordered[lower, columns] * (1 - part) + ordered[upper, columns] * part


def _by_information(
    table: Clusters,
    informative: NDArray[np.int64],
    bounds: Mapping[float, tuple[Floats, Floats]],
    *,
    draws: int,
    seed: int,
) -> list[list[Interval]]:
    """Bootstrap the quantities for which enough APIs speak, and take the binomial bounds for the others.

    Args:
        table: the values.
        informative: APIs that speak for the rarer side of each quantity.
        bounds: binomial bounds by level.
        draws: bootstrap replicates.
        seed: their seed.

    Returns:
        One list per level of `exact`.
    """
    enough = informative >= INFORMATIVE
    columns = np.flatnonzero(enough)
    resampled = _bootstrap(table.select(enough), list(bounds), draws, seed) if len(columns) else [[] for _ in bounds]
    methods: list[Method] = ["binomial"] * len(enough)
    found: list[list[Interval]] = []
    for (level, (low, high)), better in zip(bounds.items(), resampled, strict=True):
        intervals = _intervals(table, low, high, level, methods)
        for column, interval in zip(columns, better, strict=True):
            intervals[column] = interval
        found.append(intervals)
    return found


def _intervals(table: Clusters, low: Floats, high: Floats, level: float, methods: Sequence[Method]) -> list[Interval]:
    """One interval per quantity from its bounds."""
    units = table.units
    return [
        Interval(
            value=float(mean),
            low=float(low[column]),
            high=float(high[column]),
            level=level,
            method=methods[column],
            clusters=len(table),
            units=int(units[column]),
        )
        for column, mean in enumerate(table.means)
    ]


def _without_interval(table: Clusters, level: float) -> list[Interval]:
    """With a single cluster there is no spread to measure; with none there is no mean."""
    values = table.means if len(table) else [None] * table.sums.shape[1]
    return [
        Interval(value=None if value is None else float(value), level=level, clusters=len(table), units=int(units))
        for value, units in zip(values, table.units, strict=True)
    ]
