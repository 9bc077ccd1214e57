"""Binomial intervals of clustered shares: mid-p bounds at the effective sample size.

The Clopper-Pearson interval counts the outcome that was seen in full on both sides and so covers more than it says; the
mid-p interval (Lancaster 1961; Agresti and Gottard 2007) counts half of it, and covers 95 % on average. Clustering is
met as Korn and Graubard (1998) do: the sample counts as many tasks as independent ones would tell as much.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, stdtrit

from novelapi.reporting.stats.clusters import Clusters, Floats

HALVINGS = 50
"""Steps of the search for a bound: exact to 1e-15."""


def effective_bounds(table: Clusters, level: float, *, unseen: Floats | None = None) -> tuple[Floats, Floats]:
    """Return mid-p bounds at the effective sample size, shape (quantities,) each.

    Args:
        table: 0/1 values summed per API, at least two APIs.
        level: confidence level.
        unseen: effective size to use where all values are equal, so that none can be estimated; default: every API
            counts once, the most careful choice.
    """
    clusters = len(table)
    units = table.units
    size = effective_size(table)
    size = np.where(np.isnan(size), clusters if unseen is None else unseen, size)
    tail = (1 - level) / 2
    degrees = stdtrit(np.maximum(units - 1, 1), 1 - tail) / stdtrit(clusters - 1, 1 - tail)
    size = np.minimum(size * degrees**2, units)
    hits = table.means * size
    low = np.where(hits > 0, _solve(hits, size, tail), 0.0)
    high = np.where(hits < size, _solve(hits, size, 1 - tail), 1.0)
    return low, high


def effective_size(table: Clusters) -> Floats:
    """Return the number of independent tasks that would tell as much, NaN where all values are equal."""
    units = table.units
    share = table.means
    residuals = table.sums - share * table.counts
    variance = (residuals**2).sum(axis=0) * len(table) / (len(table) - 1) / units**2
    varied = variance > 0
    return np.where(varied, np.minimum(share * (1 - share) / np.where(varied, variance, 1.0), units), np.nan)


def _solve(hits: Floats, size: Floats, chance: float) -> Floats:
    """Return the rate at which more hits, and half of as many, have the given chance."""
    low, high = np.zeros_like(hits), np.ones_like(hits)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = _mid_p(hits, size, middle) < chance
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _mid_p(hits: Floats, size: Floats, rate: Floats) -> Floats:
    """Chance of more hits at a rate, plus half the chance of as many; hits and sizes need not be whole."""
    missed = size - hits
    as_many = np.where(hits > 0, betainc(np.maximum(hits, 1e-12), missed + 1, rate), 1.0)
    more = np.where(missed > 0, betainc(hits + 1, np.maximum(missed, 1e-12), rate), 0.0)
    return (as_many + more) / 2
