"""Measures the statistics on grids with planted effects: coverage of intervals, false positives of tests.

    python -m benchmarks.statistics [--simulations 2000] [--null 10000]

Tasks of an API share its difficulty (a beta distribution over APIs with intra-class correlation `ICC`), and the two
conditions of a pair share part of it. Naive methods, which take tasks for independent, are printed beside ours.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, gammaln, ndtr, ndtri

from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.intervals import Interval, difference_intervals, proportion_intervals
from novelapi.reporting.stats.permutation import sign_flip_p

ICC = 0.3
SHARED = 0.5
MOST_TASKS = 5


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Simulated outcomes of two conditions, one column per simulation, shape (APIs, simulations) each."""

    first: Floats
    second: Floats
    gains: Floats
    losses: Floats
    counts: Floats

    def table(self, sums: Floats) -> Clusters:
        names = tuple(f"api{index:05d}" for index in range(len(sums)))
        return Clusters(names=names, sums=sums, counts=self.counts)


def simulate(apis: int, first: float, second: float, simulations: int, seed: int, icc: float = ICC) -> Pairs:
    """Draw 1 to 5 tasks an API and both conditions' outcomes with the given true rates."""
    generator = np.random.default_rng([seed, apis, simulations])
    shape = (apis, simulations)
    counts = generator.integers(1, MOST_TASKS + 1, shape)
    common = np.sqrt(SHARED) * generator.normal(size=shape)
    rates: list[Floats] = []
    for rate in (first, second):
        latent = common + np.sqrt(1 - SHARED) * generator.normal(size=shape)
        spread = (1 - icc) / icc
        rates.append(betaincinv(rate * spread, (1 - rate) * spread, np.clip(ndtr(latent), 1e-9, 1 - 1e-9)))
    sums = {name: np.zeros(shape) for name in ("first", "second", "gains", "losses")}
    for task in range(MOST_TASKS):
        exists = task < counts
        one = exists & (generator.random(shape) < rates[0])
        two = exists & (generator.random(shape) < rates[1])
        for name, value in (("first", one), ("second", two), ("gains", two & ~one), ("losses", one & ~two)):
            sums[name] += value
    return Pairs(**sums, counts=counts.astype(np.float64))


def coverage(intervals: list[Interval], truth: float) -> float:
    """Share of the intervals that hold the true value."""
    return float(np.mean([i.low is not None and i.low <= truth <= i.high for i in intervals]))


def width(intervals: list[Interval]) -> float:
    """Mean width of the intervals."""
    return float(np.mean([i.high - i.low for i in intervals]))


def naive_coverage(pairs: Pairs, truth: float) -> float:
    """Coverage of the Wald interval that takes tasks for independent."""
    share = pairs.second.sum(axis=0) / pairs.counts.sum(axis=0)
    half = ndtri(0.975) * np.sqrt(share * (1 - share) / pairs.counts.sum(axis=0))
    return float(((share - half <= truth) & (truth <= share + half)).mean())


def mcnemar_p(gains: Floats, losses: Floats) -> Floats:
    """Exact McNemar test on tasks, as if they were independent: two-sided, shape (simulations,)."""
    discordant = gains + losses
    fewer = np.minimum(gains, losses)
    p = np.zeros_like(discordant)
    for k in range(int(fewer.max()) + 1):
        log = gammaln(discordant + 1) - gammaln(k + 1) - gammaln(np.maximum(discordant - k, 0) + 1)
        p += np.where(k <= fewer, np.exp(log - discordant * np.log(2.0)), 0.0)
    return np.minimum(2 * p, 1.0)


def report_coverage(simulations: int) -> None:
    print("Coverage of 95 % intervals in %; `means` of the second rate, `differences` of second - first")
    print(f"{'APIs':>5} {'rates':>11} {'means':>7} {'width':>6} {'naive':>6} {'differences':>12} {'width':>6}  methods")
    for apis in (10, 20, 40, 60, 100, 300):
        for first, second in (
            (0.02, 0.05),
            (0.05, 0.15),
            (0.05, 0.5),
            (0.3, 0.35),
            (0.5, 0.5),
            (0.7, 0.9),
            (0.9, 0.95),
        ):
            pairs = simulate(apis, first, second, simulations, seed=1)
            means = proportion_intervals(pairs.table(pairs.second), draws=4000)
            differences = difference_intervals(pairs.table(pairs.gains), pairs.table(pairs.losses), draws=4000)
            methods = {m: sum(i.method == m for i in differences) for m in ("bca", "binomial", "percentile")}
            print(
                f"{apis:5d} {first:5.2f} {second:5.2f} {100 * coverage(means, second):7.1f} {width(means):6.3f} "
                f"{100 * naive_coverage(pairs, second):6.1f} {100 * coverage(differences, second - first):12.1f} "
                f"{width(differences):6.3f}  {', '.join(f'{k} {v}' for k, v in methods.items() if v)}"
            )


def report_false_positives(simulations: int) -> None:
    print("\nFalse positives at level 5 % in %, no true difference")
    print(f"{'APIs':>5} {'rate':>6} {'icc':>5} {'sign flip':>10} {'McNemar':>8}")
    for apis, rate, icc in ((10, 0.5, 0.3), (40, 0.1, 0.3), (40, 0.5, 0.3), (40, 0.5, 0.7), (100, 0.3, 0.5)):
        pairs = simulate(apis, rate, rate, simulations, seed=2, icc=icc)
        ours = sign_flip_p(pairs.table(pairs.gains - pairs.losses), permutations=2000)
        naive = mcnemar_p(pairs.gains.sum(axis=0), pairs.losses.sum(axis=0))
        print(
            f"{apis:5d} {rate:6.2f} {icc:5.1f} {100 * (ours <= 0.05).mean():10.2f} {100 * (naive <= 0.05).mean():8.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--null", type=int, default=10_000)
    arguments = parser.parse_args()
    report_coverage(arguments.simulations)
    report_false_positives(arguments.null)


if __name__ == "__main__":
    main()
