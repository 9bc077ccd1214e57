"""How often each cluster is drawn in each bootstrap replicate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.stats.clusters import Clusters, Floats, is_whole

DRAWS = 10_000
SEED = 20260912
CHUNK = 1_000
"""Replicates averaged at once: their weights fit the processor's cache."""

ROWS = 200
"""Replicates drawn at once."""


@lru_cache(maxsize=32)
def draw_counts(clusters: int, draws: int, seed: int) -> NDArray[np.uint8]:
    """Return how often each cluster is drawn in each replicate, shape (draws, clusters).

    The matrix depends on nothing but its arguments, so quantities over equally many clusters share their replicates.
    One byte each is enough: no cluster is drawn 256 times in a sample of fewer than a million.
    """
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
    drawn = draw_counts(len(table), draws, seed)
    # Single precision holds whole numbers up to 2**24 exactly, far more than there are tasks.
    sums = table.sums.astype(np.float32 if is_whole(table.sums) else np.float64)
    counts = table.counts.astype(np.float32)
    means = np.empty((draws, sums.shape[1]))
    for start in range(0, draws, CHUNK):
        chunk = slice(start, start + CHUNK)
        weights = drawn[chunk].astype(np.float32)
        means[chunk] = (weights.astype(sums.dtype, copy=False) @ sums).astype(np.float64) / (weights @ counts)
    return means
