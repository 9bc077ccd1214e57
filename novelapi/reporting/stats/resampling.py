"""How often each cluster is drawn in each bootstrap replicate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.stats.clusters import Clusters, Floats

DRAWS = 10_000
SEED = 20260912
CHUNK = 1_000


@lru_cache(maxsize=4)
def draw_counts(clusters: int, draws: int, seed: int) -> NDArray[np.float32]:
    """Return how often each cluster is drawn in each replicate, shape (draws, clusters).

    The matrix depends on nothing but its arguments, so quantities over equally many clusters share their replicates.
    Single precision holds whole numbers up to 2**24 exactly, far more than there are tasks, at half the memory.
    """
    generator = np.random.default_rng([seed, clusters])
    counts = np.empty((draws, clusters), dtype=np.float32)
    for start in range(0, draws, CHUNK):
        drawn = generator.integers(0, clusters, size=(min(CHUNK, draws - start), clusters))
        for replicate, row in enumerate(drawn, start):
            counts[replicate] = np.bincount(row, minlength=clusters)
    return counts


def replicate_means(table: Clusters, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return the mean of every bootstrap replicate, shape (draws, quantities); clusters are drawn with replacement."""
    weights = draw_counts(len(table), draws, seed)
    shape = (draws, table.sums.shape[1])
    if _is_whole(table.sums):
        sums = (weights @ table.sums.astype(np.float32)).astype(np.float64)
    else:
        sums = np.empty(shape)
        for start in range(0, draws, CHUNK):
            sums[start : start + CHUNK] = weights[start : start + CHUNK].astype(np.float64) @ table.sums
    return sums / (weights @ table.counts.astype(np.float32))


def _is_whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())
