"""Permutation tests that keep the tasks of an API together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from novelapi.reporting.stats.clusters import Clusters, Floats, is_whole
from novelapi.reporting.stats.resampling import SEED

PERMUTATIONS = 10_000
EXACT_CLUSTERS = 13
"""Up to 2**13 = 8,192 sign patterns all of them are tried."""

TABLES = 100
"""Quantities whose sums are flipped by one matrix product; it bounds the memory."""

SLACK = 1e-9
"""Sums of fractions that are equal on paper may differ in the last bits."""


def sign_flip_p(differences: Clusters, *, permutations: int = PERMUTATIONS, seed: int = SEED) -> Floats:
    """Return two-sided p-values of "no difference", shape (quantities,).

    Under the null hypothesis the two conditions can be exchanged within each API as a whole; the statistic is the
    absolute sum of the differences. With few APIs that differ all patterns are tried, else `permutations` random ones,
    the observed one included (Phipson and Smyth 2010).

    Args:
        differences: paired differences summed per API.
        permutations: random sign patterns.
        seed: their seed.
    """
    sums = differences.sums
    few = (sums != 0).sum(axis=0) <= EXACT_CLUSTERS
    p = np.empty(sums.shape[1])
    for column in np.flatnonzero(few):
        p[column] = _all_patterns(sums[sums[:, column] != 0, column])
    if not few.all():
        p[~few] = _random_patterns(sums[:, ~few], permutations, seed)
    return p


def _all_patterns(moved: Floats) -> float:
    observed = abs(moved.sum()) - SLACK
    patterns = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
    return float((np.abs((1.0 - 2.0 * patterns) @ moved) >= observed).mean())


def _random_patterns(sums: Floats, permutations: int, seed: int) -> Floats:
    """Only the number of APIs that differ matters, so all tables share the first rows of one sign matrix."""
    most = int((sums != 0).sum(axis=0).max())
    signs = _signs(2 ** int(np.ceil(np.log2(most))), permutations, seed)[:most]
    moved = np.zeros((sums.shape[1], most))
    for column, values in enumerate(sums.T):
        differing = values[values != 0]
        moved[column, : len(differing)] = differing
    extreme = np.empty(len(moved))
    for start in range(0, len(moved), TABLES):
        part = moved[start : start + TABLES]
        # Whole numbers are exact in single precision.
        flipped = part.astype(np.float32 if is_whole(part) else np.float64) @ signs
        observed = np.abs(part.sum(axis=1, keepdims=True)) - SLACK
        extreme[start : start + TABLES] = (np.abs(flipped) >= observed).sum(axis=1)
    return (extreme + 1) / (permutations + 1)


@lru_cache(maxsize=8)
def _signs(clusters: int, permutations: int, seed: int) -> NDArray[np.float32]:
    """Return random signs, shape (clusters, permutations); a larger matrix begins with the rows of a smaller one."""
    generator = np.random.default_rng([seed, permutations])
    signs = np.empty((clusters, permutations), dtype=np.float32)
    for row in signs:
        row[:] = 1 - 2 * generator.integers(0, 2, size=permutations, dtype=np.int8)
    return signs
