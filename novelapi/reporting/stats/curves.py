"""Coverage over the number of tries: pass@k for many k, and the law that it follows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from novelapi.records.base import Record
from novelapi.reporting.stats.clusters import Clusters, Floats, sum_by_cluster
from novelapi.reporting.stats.intervals import Interval, mean_intervals
from novelapi.reporting.stats.passk import pass_at_k
from novelapi.reporting.stats.resampling import DRAWS, SEED, replicate_means

FEWEST_POINTS = 3
"""Two points fit any two numbers."""


class Law(Record):
    """coverage(k) = exp(a * k ** b), the exponentiated power law of Brown et al. (2024)."""

    a: float
    """Logarithm of the coverage at k = 1, below 0."""

    b: float
    """Exponent, below 0 where more tries help."""

    b_low: float | None = None
    """Lower 95 % bound of the exponent, resampling APIs."""

    b_high: float | None = None
    """Upper 95 % bound of the exponent."""

    error: float
    """Largest distance between law and estimate, in shares."""

    def at(self, k: float) -> float:
        """Return the coverage that the law gives for k tries."""
        return float(np.exp(self.a * k**self.b))


class Curve(Record):
    """pass@k of one run over k."""

    ks: tuple[int, ...]
    """Numbers of tries: all that every task has samples for."""

    points: tuple[Interval, ...]
    """pass@k at each of them; the same tasks at each."""

    law: Law | None
    """The fitted law; null with fewer than three points strictly between 0 and 1."""


def coverage_curve(
    apis: Sequence[str],
    samples: Sequence[int],
    correct: Sequence[int],
    ks: Sequence[int],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Curve:
    """Estimate pass@k over k on the tasks that have enough samples for the largest k, and fit the law.

    A curve whose tasks change with k would mix two things, so tasks with fewer samples than the largest k are left out;
    the interval of each point says how many there are.

    Args:
        apis: target of each task.
        samples: scored samples of each task, drawn at a temperature.
        correct: passing ones among them.
        ks: numbers of tries, rising.
        draws: bootstrap replicates.
        seed: their seed.
    """
    kept = [i for i, n in enumerate(samples) if ks and n >= ks[-1]]
    if not kept:
        return Curve(ks=(), points=(), law=None)
    values = np.array([[pass_at_k(samples[i], correct[i], k) or 0.0 for k in ks] for i in kept])
    table = sum_by_cluster([apis[i] for i in kept], values)
    points = mean_intervals(table, draws=draws, seed=seed)
    return Curve(ks=tuple(ks), points=tuple(points), law=_fit(table, ks, draws, seed))


def _fit(table: Clusters, ks: Sequence[int], draws: int, seed: int) -> Law | None:
    """Least squares of log(-log coverage) on log k; the exponent's interval is that of its replicates."""
    means = table.means
    usable = (means > 0) & (means < 1)
    if usable.sum() < FEWEST_POINTS:
        return None
    x = np.log(np.array(ks, dtype=np.float64)[usable])
    slope, level = _line(x, means[None, usable])
    a, b = -float(np.exp(level[0])), float(slope[0])
    error = float(np.abs(np.exp(a * np.array(ks, dtype=np.float64) ** b) - means).max())
    low = high = None
    if len(table) > 1:
        replicates = replicate_means(table, draws, seed)[:, usable]
        inside = ((replicates > 0) & (replicates < 1)).all(axis=1)
        if inside.mean() > 0.95:
            low, high = (float(q) for q in np.quantile(_line(x, replicates[inside])[0], [0.025, 0.975]))
    return Law(a=a, b=b, b_low=low, b_high=high, error=error)


def _line(x: Floats, coverage: Floats) -> tuple[Floats, Floats]:
    """Slope and level of the line through log(-log coverage), one per row."""
    y = np.log(-np.log(coverage))
    centred = x - x.mean()
    slope = (y * centred).sum(axis=1) / (centred**2).sum()
    return slope, y.mean(axis=1) - slope * x.mean()
