"""Permutation tests that keep the tasks of an API together."""

from __future__ import annotations

import numpy as np

from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.resampling import CHUNK, SEED

PERMUTATIONS = 10_000
EXACT_CLUSTERS = 13
"""Up to 2**13 = 8,192 sign patterns all of them are tried."""

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
    return np.array(
        [_sign_flip(differences.sums[:, column], permutations, seed) for column in range(differences.sums.shape[1])]
    )


def _sign_flip(sums: Floats, permutations: int, seed: int) -> float:
    moved = sums[sums != 0]
    if len(moved) == 0:
        return 1.0
    observed = abs(moved.sum()) - SLACK
    if len(moved) <= EXACT_CLUSTERS:
        patterns = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((1.0 - 2.0 * patterns) @ moved) >= observed).mean())
    generator = np.random.default_rng([seed, len(moved)])
    extreme = 0
    for start in range(0, permutations, CHUNK):
        size = (min(CHUNK, permutations - start), len(moved))
        signs = 1.0 - 2.0 * generator.integers(0, 2, size=size, dtype=np.int8)
        extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (extreme + 1) / (permutations + 1)
