"""What a number of APIs can show: standard errors, detectable differences, and how many APIs a difference needs."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.intervals import LEVEL

POWER = 0.8


def cluster_error(table: Clusters) -> Floats:
    """Return the standard error of each mean with the API as the independent unit, shape (quantities,).

    Taylor linearisation of a ratio, with C / (C - 1) for C APIs: what survey packages and the cluster-robust variance
    of a regression on a constant give. NaN with fewer than two APIs.
    """
    clusters = len(table)
    if clusters < 2:
        return np.full(table.sums.shape[1], np.nan)
    residuals = table.sums - table.means * table.counts
    return np.sqrt((residuals**2).sum(axis=0) * clusters / (clusters - 1)) / table.units


def detectable_difference(table: Clusters, *, power: float = POWER, level: float = LEVEL) -> list[float | None]:
    """Return the smallest true difference that a two-sided test would find with the given power.

    The spread is that of the observed differences. Null where it cannot be told: fewer than two APIs, or no task
    differs at all.

    Args:
        table: paired differences summed per API.
        power: probability of finding it.
        level: confidence level of the test.
    """
    reach = _reach(len(table), power, level)
    return [reach * float(error) if error > 0 else None for error in cluster_error(table)]


def apis_needed(table: Clusters, difference: float, *, power: float = POWER, level: float = LEVEL) -> list[int | None]:
    """Return how many APIs of the same kind would be needed to find a difference with the given power.

    Args:
        table: paired differences summed per API.
        difference: the difference to find, above 0.
        power: probability of finding it.
        level: confidence level of the test.
    """
    needed: list[int | None] = []
    for error in cluster_error(table):
        if not error > 0:
            needed.append(None)
            continue
        spread = float(error) * math.sqrt(len(table))
        count = 2
        # The quantiles of Student's t depend on the number of APIs: a few rounds settle it.
        for _ in range(20):
            before, count = count, max(2, math.ceil((_reach(max(count, 3), power, level) * spread / difference) ** 2))
            if count == before:
                break
        needed.append(count)
    return needed


def _reach(clusters: int, power: float, level: float) -> float:
    """Return the distance in standard errors: the test's critical value plus the quantile of the power."""
    degrees = clusters - 1
    return float(stdtrit(degrees, (1 + level) / 2) + stdtrit(degrees, power))
