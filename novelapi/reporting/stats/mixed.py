"""One comparison over several models that answered the same tasks: models are fixed, APIs are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from novelapi.records.base import Record
from novelapi.reporting.stats.clusters import Clusters, Floats, is_whole
from novelapi.reporting.stats.intervals import LEVEL, Interval, mean_intervals
from novelapi.reporting.stats.permutation import PERMUTATIONS, SLACK, sign_flip_p
from novelapi.reporting.stats.power import cluster_error
from novelapi.reporting.stats.resampling import DRAWS, SEED

FEW_CLUSTERS = 150
PERMUTED = 2_000
CHUNK = 250
"""Permutations that one matrix product takes."""


class Mixed(Record):
    """A paired difference, averaged over models."""

    interval: Interval
    """Mean over models and shared tasks, resampling APIs."""

    p: float
    """Two-sided sign-flip test of no difference in any model, APIs kept together."""

    p_models: float
    """Test of equal differences in all models: permutations of the models within APIs, or Hotelling's T-squared."""

    models: int
    """Number of models."""


def compare_over_models(
    net: Clusters, *, level: float = LEVEL, draws: int = DRAWS, permutations: int = PERMUTATIONS, seed: int = SEED
) -> Mixed | None:
    """Compare two conditions over models on the tasks that all of them have scored under both; null with one API.

    All models answer the same tasks, so an API brings all its models' differences along when it is drawn.

    Args:
        net: paired differences summed per API, one column per model, the same tasks in all columns.
        level: confidence level.
        draws: bootstrap replicates.
        permutations: random permutations.
        seed: seed of both.
    """
    return compare_tables_over_models([net], level=level, draws=draws, permutations=permutations, seed=seed)[0]


def compare_tables_over_models(
    nets: Sequence[Clusters],
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> list[Mixed | None]:
    """Return `compare_over_models` of several tables of equally many APIs and models; they share random numbers.

    Args:
        nets: as there, one per comparison.
        level: confidence level.
        draws: bootstrap replicates.
        permutations: random permutations.
        seed: seed of both.
    """
    models = nets[0].sums.shape[1]
    if len(nets[0]) < 2:
        return [None] * len(nets)
    sums = np.stack([net.sums for net in nets])
    counts = np.stack([np.broadcast_to(net.counts, net.sums.shape) for net in nets])
    means = Clusters(names=nets[0].names, sums=sums.sum(axis=2).T, counts=counts.sum(axis=2).T)
    units = counts[:, :, 0].sum(axis=1)
    p_models = _equal_models(sums, counts[:, :, 0], seed)
    p_values = sign_flip_p(means, permutations=permutations, seed=seed)
    found: list[Mixed | None] = []
    for column, resampled in enumerate(mean_intervals(means, level=level, draws=draws, seed=seed)):
        interval = resampled.model_copy(update={"units": int(units[column])})
        if interval.method == "percentile":
            # All replicates on one side: the bootstrap sees no spread; Student's t at least has the number of APIs.
            interval = _student(means.select(np.arange(len(nets)) == column), interval, level)
        p = float(p_values[column])
        found.append(Mixed(interval=interval, p=p, p_models=float(p_models[column]), models=models))
    return found


def _student(mean: Clusters, interval: Interval, level: float) -> Interval:
    reach = float(stdtrit(len(mean) - 1, (1 + level) / 2) * cluster_error(mean)[0])
    value = interval.value or 0.0
    return interval.model_copy(update={"low": value - reach, "high": value + reach})


def _equal_models(sums: Floats, counts: Floats, seed: int) -> Floats:
    """Return p-values of equal means of all models, shape (tables,).

    Hotelling's T-squared of the models' contrasts over APIs. With few APIs its level is a little too high (6 % instead
    of 5 % with 40 APIs, measured), so there the models are permuted within each API instead.

    Args:
        sums: shape (tables, APIs, models).
        counts: shape (tables, APIs).
        seed: seed of the permutations.
    """
    _, clusters, models = sums.shape
    if models >= 2 and clusters <= FEW_CLUSTERS:
        return _permute_models(sums, seed)
    return np.array([_hotelling(one, number[:, None]) for one, number in zip(sums, counts, strict=True)])


def _hotelling(sums: Floats, counts: Floats) -> float:
    clusters, models = sums.shape
    contrasts = sums[:, 1:] - sums[:, :1]
    means = contrasts.sum(axis=0) / counts.sum()
    # Leaving one API out at a time: the plain variance is too small with few APIs (measured).
    without = (contrasts.sum(axis=0) - contrasts) / (counts.sum() - counts)
    deviations = without - without.mean(axis=0)
    free = clusters - models + 1
    if models < 2 or free < 1 or np.linalg.matrix_rank(deviations) < models - 1:
        return 1.0  # models that never differ, or more models than APIs: nothing speaks against equality
    covariance = deviations.T @ deviations * (clusters - 1) / clusters
    statistic = float(means @ np.linalg.solve(covariance, means))
    return float(fdtrc(models - 1, free, statistic * free / ((clusters - 1) * (models - 1))))


def _permute_models(sums: Floats, seed: int) -> Floats:
    """Return p-values of equal totals of all models when the values of each API can be exchanged, shape (tables,)."""
    tables, clusters, models = sums.shape
    # Neither the order of models nor that of APIs matters.
    rows = np.sort(sums, axis=2)
    rows = np.stack([one[np.lexsort(one.T)] for one in rows])
    observed = _spread(sums.sum(axis=1).T) - SLACK
    flat = rows.reshape(tables, clusters * models).T
    flat = flat.astype(np.float32 if is_whole(flat) else np.float64)  # whole numbers are exact in single precision
    order = _orders(clusters, models, seed)
    extreme = np.zeros(tables, dtype=np.int64)
    for start in range(0, PERMUTED, CHUNK):
        part = order[start : start + CHUNK]
        # One row per permutation and place, which picks the value that each API puts there.
        picks = np.zeros((len(part), models, clusters, models), dtype=flat.dtype)
        np.put_along_axis(picks, part.transpose(0, 2, 1)[..., None], 1, axis=3)
        totals = (picks.reshape(len(part) * models, -1) @ flat).astype(np.float64)
        totals = totals.reshape(len(part), models, tables).transpose(1, 0, 2)
        extreme += (_spread(totals) >= observed).sum(axis=0)
    return (extreme + 1) / (PERMUTED + 1)


@lru_cache(maxsize=4)
def _orders(clusters: int, models: int, seed: int) -> NDArray[np.intp]:
    """Return random orders of the models within each API, shape (permutations, APIs, models)."""
    generator = np.random.default_rng([seed, clusters, models])
    return np.argsort(generator.random((PERMUTED, clusters, models), dtype=np.float32), axis=2)


def _spread(totals: Floats) -> Floats:
    """Sum of squares of the models' totals, the first axis, around their mean."""
    return ((totals - totals.mean(axis=0)) ** 2).sum(axis=0)
