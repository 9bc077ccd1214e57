"""How often each cluster is drawn in each bootstrap replicate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.stats.clusters import Clusters, Floats

DRAWS = 10_000
SEED = 20260912
CHUNK = 1_000
ROWS = 200
"""Replicates drawn at once: few enough for the processor's cache."""


def draw_counts(clusters: int, draws: int, seed: int) -> NDArray[np.float32]:
    """Return how often each cluster is drawn in each replicate, shape (draws, clusters).

    The matrix depends on nothing but its arguments, so quantities over equally many clusters share their replicates.
    Single precision holds whole numbers up to 2**24 exactly, far more than there are tasks, at half the memory.
    """
    return _drawn(clusters, draws, seed).astype(np.float32)


@lru_cache(maxsize=32)
def _drawn(clusters: int, draws: int, seed: int) -> NDArray[np.uint8]:
    """Counts in one byte each: no cluster is drawn 256 times in a sample of fewer than a million."""
    generator = np.random.default_rng([seed, clusters])
    counts = np.empty((draws, clusters), dtype=np.uint8)
    for start in range(0, draws, ROWS):
        rows = min(ROWS, draws - start)
        drawn = generator.integers(0, clusters, size=(rows, clusters), dtype=np.int32)
        drawn += clusters * np.arange(rows, dtype=np.int32)[:, None]
        counts[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
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
