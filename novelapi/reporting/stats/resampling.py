"""How often each cluster is drawn in each bootstrap replicate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.stats.clusters import Clusters, Floats

DRAWS = 10_000
SEED = 20260912
CHUNK = 2_000


@lru_cache(maxsize=8)
def draw_counts(clusters: int, draws: int, seed: int) -> NDArray[np.uint8]:
    """Return how often each cluster is drawn in each replicate, shape (draws, clusters).

    The matrix depends on nothing but its arguments, so quantities over equally many clusters share their replicates.
    """
    generator = np.random.default_rng([seed, clusters])
    counts = np.empty((draws, clusters), dtype=np.uint8)
    for start in range(0, draws, CHUNK):
        stop = min(start + CHUNK, draws)
        drawn = generator.integers(0, clusters, size=(stop - start, clusters))
        drawn += np.arange(stop - start)[:, None] * clusters
        flat = np.bincount(drawn.ravel(), minlength=(stop - start) * clusters)
        # One byte is enough: in as many draws as clusters, none is ever drawn 256 times.
        counts[start:stop] = flat.reshape(stop - start, clusters)
    return counts


def replicate_means(table: Clusters, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return the mean of every bootstrap replicate, shape (draws, quantities); clusters are drawn with replacement."""
    weights = draw_counts(len(table), draws, seed)
    means = np.empty((draws, table.sums.shape[1]))
    for start in range(0, draws, CHUNK):
        chunk = weights[start : start + CHUNK].astype(np.float64)
        means[start : start + CHUNK] = (chunk @ table.sums) / (chunk @ table.counts)
    return means
