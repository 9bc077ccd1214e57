"""Permutation tests, Holm and pass@k against known values and the null hypothesis."""

import itertools

import numpy as np
import pytest
from scipy.stats import permutation_test

from benchmarks.statistics import mcnemar_p, simulate
from novelapi.reporting.stats.clusters import Clusters
from novelapi.reporting.stats.families import holm
from novelapi.reporting.stats.passk import pass_at_k
from novelapi.reporting.stats.permutation import sign_flip_p


def clusters(*sums):
    values = np.array(sums, float)[:, None]
    names = tuple(f"api{index:03d}" for index in range(len(values)))
    return Clusters(names=names, sums=values, counts=np.ones_like(values))


def test_false_positives_stay_below_the_level_where_mcnemar_fails():
    pairs = simulate(40, 0.5, 0.5, simulations=2000, seed=2, icc=0.7)
    ours = sign_flip_p(pairs.table(pairs.gains - pairs.losses), permutations=1000)
    naive = mcnemar_p(pairs.gains.sum(axis=0), pairs.losses.sum(axis=0))
    assert (ours <= 0.05).mean() <= 0.057
    assert (naive <= 0.05).mean() > 0.15


@pytest.mark.parametrize(
    ("sums", "p"),
    [
        ((0, 0, 0), 1.0),  # nothing differs
        ((1, 1, 1, 1), 2 / 16),  # all one way: only the two extreme patterns are as far
        ((2, -2), 1.0),  # cancels out
        ((3, 1), 2 / 4),
    ],
)
def test_few_apis_are_tested_exactly(sums, p):
    assert sign_flip_p(clusters(*sums))[0] == pytest.approx(p)


def test_random_patterns_agree_with_scipy():
    generator = np.random.default_rng(4)
    sums = generator.integers(-1, 3, 40)
    theirs = permutation_test(
        (sums, np.zeros_like(sums)),
        lambda x, y, axis: np.abs((x - y).sum(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=20_000,
        rng=np.random.default_rng(5),
    ).pvalue
    assert sign_flip_p(clusters(*sums))[0] == pytest.approx(theirs, abs=0.01)


def test_a_quantity_is_tested_the_same_alone_and_among_others():
    first, second = np.arange(-5, 35), np.arange(-20, 20)
    both = Clusters(
        names=clusters(*first).names,
        sums=np.stack([first, second], axis=1).astype(float),
        counts=np.ones((40, 1)),
    )
    assert sign_flip_p(both).tolist() == [sign_flip_p(clusters(*first))[0], sign_flip_p(clusters(*second))[0]]


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # the order given is kept; steps never fall
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.02, 0.02], [0.04, 0.04]),
    ],
)
def test_holm(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)


@pytest.mark.parametrize(("n", "c", "k"), [(5, 2, 1), (5, 2, 3), (6, 0, 2), (6, 6, 2), (4, 3, 2), (3, 1, 3)])
def test_pass_at_k_is_the_share_of_draws_with_a_pass(n, c, k):
    samples = [True] * c + [False] * (n - c)
    draws = list(itertools.combinations(samples, k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


def test_pass_at_k_of_too_few_samples_is_not_invented():
    assert pass_at_k(2, 2, 3) is None


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError, match="between 0 and"):
        pass_at_k(n, c, k)
