"""Measures the statistics on grids with planted effects: coverage of intervals, false positives of tests.

    python -m benchmarks.statistics [--simulations 2000] [--null 10000] [--parts coverage models ...]

Tasks of an API share its difficulty (a beta distribution over APIs with intra-class correlation `ICC`), and the two
conditions of a pair share part of it. Naive methods, which take tasks for independent, are printed beside ours.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, gammaincc, gammaln, ndtr, ndtri

from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.equivalence import show_equivalence
from novelapi.reporting.stats.interaction import join_intervals, permute_sets
from novelapi.reporting.stats.intervals import Interval, difference_intervals, proportion_intervals
from novelapi.reporting.stats.mixed import Mixed, compare_tables_over_models
from novelapi.reporting.stats.permutation import sign_flip_p
from novelapi.reporting.stats.power import detectable_difference

ICC = 0.3
SHARED = 0.5
MOST_TASKS = 5
BATCH = 2000
"""Simulations that are held in memory at once."""

ENOUGH = 40
"""APIs from which on coverage is promised."""

REPEATED = 10
RATES = ((0.02, 0.05), (0.05, 0.15), (0.05, 0.5), (0.3, 0.35), (0.5, 0.5), (0.7, 0.9), (0.9, 0.95))
FIELDS = ("first", "second", "gains", "losses", "counts")


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Simulated outcomes of two conditions, one column per simulation, shape (APIs, simulations) each."""

    first: Floats
    second: Floats
    gains: Floats
    losses: Floats
    counts: Floats

    @property
    def discordant(self) -> Floats:
        """Tasks that exactly one condition solves."""
        return self.gains + self.losses

    def part(self, apis: slice) -> Pairs:
        """Return some of the APIs."""
        return Pairs(**{name: getattr(self, name)[apis] for name in FIELDS})

    def first_columns(self, simulations: int) -> Pairs:
        """Return the first simulations."""
        return Pairs(**{name: getattr(self, name)[:, :simulations] for name in FIELDS})

    def table(self, sums: Floats) -> Clusters:
        names = tuple(f"api{index:05d}" for index in range(len(sums)))
        return Clusters(names=names, sums=sums, counts=self.counts)


def simulate(
    apis: int, first: float, second: float, simulations: int, seed: int, icc: float = ICC, stream: int | None = None
) -> Pairs:
    """Draw 1 to 5 tasks an API and both conditions' outcomes with the given true rates.

    Streams of one seed share their tasks and the difficulty of their APIs, as models do.
    """
    generator = np.random.default_rng([seed, apis, simulations])
    shape = (apis, simulations)
    counts = generator.integers(1, MOST_TASKS + 1, shape)
    common = np.sqrt(SHARED) * generator.normal(size=shape)
    if stream is not None:
        generator = np.random.default_rng([seed, apis, simulations, stream])
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
    outside: list[tuple[int, float, float]] = []
    for apis in (10, 20, 40, 60, 100, 300):
        for first, second in RATES:
            covered = cover(apis, first, second, simulations, seed=1)
            if apis >= ENOUGH and not all(93 <= value <= 97 for value in covered):
                outside.append((apis, first, second))
    if outside:
        print(f"Outside 93 to 97 % from {ENOUGH} APIs on: again, {REPEATED * simulations:,} simulations of other seeds")
    for apis, first, second in outside:
        cover(apis, first, second, REPEATED * simulations, seed=11)


def cover(apis: int, first: float, second: float, simulations: int, seed: int) -> tuple[float, float]:
    """Simulate and print one row; return the coverage of means and of differences in percent."""
    covered: list[list[float]] = []
    methods: Counter[str] = Counter()
    for start in range(0, simulations, BATCH):
        size = min(BATCH, simulations - start)
        pairs = simulate(apis, first, second, size, seed=seed + start)
        means = proportion_intervals(pairs.table(pairs.second), draws=4000)
        differences = difference_intervals(pairs.table(pairs.gains), pairs.table(pairs.losses), draws=4000)
        methods.update(interval.method for interval in differences)
        row = [
            100 * coverage(means, second),
            width(means),
            100 * naive_coverage(pairs, second),
            100 * coverage(differences, second - first),
            width(differences),
        ]
        covered.append([value * size / simulations for value in row])
    row = [sum(column) for column in zip(*covered, strict=True)]
    named = ", ".join(f"{method} {number}" for method, number in sorted(methods.items()))
    print(
        f"{apis:5d} {first:5.2f} {second:5.2f} {row[0]:7.1f} {row[1]:6.3f} {row[2]:6.1f} {row[3]:12.1f} {row[4]:6.3f}  "
        f"{named}",
        flush=True,
    )
    return row[0], row[3]


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


def report_interactions(simulations: int, null: int) -> None:
    print("\nInteractions (a third of the APIs against the rest): coverage of 95 % intervals, false positives, in %")
    print(f"{'APIs':>5} {'shift':>6} {'coverage':>9} {'ours':>6} {'pooled t':>9}")
    for apis, first, second in ((40, 0.4, 0.4), (60, 0.3, 0.5), (150, 0.3, 0.5)):
        size = apis // 3
        pairs = simulate(apis, first, second, max(simulations, null), seed=4, icc=0.5)
        one, other = pairs.part(slice(0, size)), pairs.part(slice(size, apis))
        intervals = [
            difference_intervals(p.table(p.gains), p.table(p.losses), draws=2000)
            for p in (one.first_columns(simulations), other.first_columns(simulations))
        ]
        bounds = [join_intervals(a, b) for a, b in zip(*intervals, strict=True)]
        covered = np.mean([low <= 0 <= high for low, high in bounds])
        ours = naive = 0
        for column in range(null):
            net = [(p.gains - p.losses)[:, column : column + 1] for p in (one, other)]
            counts = [p.counts[:, column : column + 1] for p in (one, other)]
            ours += permute_sets(net[0], counts[0], net[1], counts[1], permutations=499, seed=column) <= 0.05
            naive += pooled_t(net, counts, [p.discordant[:, column] for p in (one, other)]) <= 0.05
        print(
            f"{apis:5d} {second - first:6.2f} {100 * covered:9.1f} {100 * ours / null:6.2f} {100 * naive / null:9.2f}"
        )


def pooled_t(net: list[Floats], counts: list[Floats], discordant: list[Floats]) -> float:
    """Two-sided Welch test on tasks, as if they were independent."""
    means, variances = [], []
    for sums, number, moved in zip(net, counts, discordant, strict=True):
        mean = sums.sum() / number.sum()
        means.append(mean)
        variances.append((moved.sum() / number.sum() - mean**2) / number.sum())
    return float(2 * ndtr(-abs(means[1] - means[0]) / np.sqrt(sum(variances) or 1.0)))


def report_models(simulations: int) -> None:
    print("\nComparison over four models on the same tasks: coverage, false positives of both tests, in %")
    print("(naive: McNemar on all tasks of all models; chi-squared of the models' means over tasks)")
    head = f"{'coverage':>9} {'no difference':>14} {'naive':>6} {'equal models':>13} {'naive':>6}"
    print(f"{'APIs':>5} {'first':>6} {'second':>7} {head}")
    for apis, first, second in ((40, 0.4, 0.4), (60, 0.2, 0.5), (150, 0.4, 0.4), (200, 0.4, 0.4)):
        models = [simulate(apis, first, second, simulations, seed=5, icc=0.5, stream=number) for number in range(4)]
        sums = np.stack([m.gains - m.losses for m in models], axis=2)
        names = tuple(f"api{index:05d}" for index in range(apis))
        tables = [
            Clusters(names=names, sums=sums[:, column], counts=models[0].counts[:, column, None])
            for column in range(simulations)
        ]
        found: list[Mixed] = []
        for start in range(0, simulations, BATCH):
            batch = compare_tables_over_models(tables[start : start + BATCH], draws=2000, permutations=500)
            found += [one for one in batch if one is not None]
        pooled = [sum(getattr(m, name) for m in models).sum(axis=0) for name in ("gains", "losses")]
        shown = [
            100 * coverage([one.interval for one in found], second - first),
            100 * np.mean([one.p <= 0.05 for one in found]) if first == second else np.nan,
            100 * np.mean(mcnemar_p(*pooled) <= 0.05) if first == second else np.nan,
            100 * np.mean([one.p_models <= 0.05 for one in found]),
            100 * np.mean(chi_squared_p(models) <= 0.05),
        ]
        row = " ".join(f"{value:{size}.2f}" for value, size in zip(shown, (9, 14, 6, 13, 6), strict=True))
        print(f"{apis:5d} {first:6.2f} {second:7.2f} {row}", flush=True)


def chi_squared_p(models: list[Pairs]) -> Floats:
    """Test of equal mean differences of all models, as if all tasks of all models were independent: (simulations,)."""
    number = models[0].counts.sum(axis=0)
    means = np.stack([(m.gains - m.losses).sum(axis=0) / number for m in models])
    variances = np.stack([m.discordant.sum(axis=0) / number for m in models]) - means**2
    weights = number / np.maximum(variances, 1e-12)
    centre = (weights * means).sum(axis=0) / weights.sum(axis=0)
    return gammaincc((len(models) - 1) / 2, (weights * (means - centre) ** 2).sum(axis=0) / 2)


def report_equivalence(simulations: int) -> None:
    print("\nEquivalence within 5 points, in %: claimed although the true difference is 5 points; claimed at none")
    for apis in (40, 150, 600):
        edge = simulate(apis, 0.5, 0.55, simulations, seed=6)
        none = simulate(apis, 0.5, 0.5, simulations, seed=7)
        claimed = [
            np.mean([e.equivalent for e in show_equivalence(p.table(p.gains), p.table(p.losses), draws=2000)])
            for p in (edge, none)
        ]
        print(f"{apis:5d} APIs {100 * claimed[0]:6.2f} {100 * claimed[1]:6.1f}")


def report_power(simulations: int) -> None:
    print("\nPower: true difference, mean detectable difference, share of simulations that find it, in points and %")
    for apis, second in ((40, 0.607), (100, 0.529), (300, 0.473)):
        pairs = simulate(apis, 0.4, second, simulations, seed=8)
        net = pairs.table(pairs.gains - pairs.losses)
        stated = np.mean([value for value in detectable_difference(net) if value is not None])
        found = (sign_flip_p(net, permutations=1000) <= 0.05).mean()
        print(f"{apis:5d} APIs {100 * (second - 0.4):6.1f} {100 * stated:6.1f} {100 * found:6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--null", type=int, default=10_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    for part in arguments.parts:
        PARTS[part](arguments.simulations, arguments.null)


PARTS: dict[str, Callable[[int, int], None]] = {
    "coverage": lambda simulations, _: report_coverage(simulations),
    "differences": lambda _, null: report_false_positives(null),
    "interactions": report_interactions,
    "models": lambda _, null: report_models(null),
    "equivalence": lambda _, null: report_equivalence(null),
    "power": lambda simulations, _: report_power(simulations),
}


if __name__ == "__main__":
    main()
