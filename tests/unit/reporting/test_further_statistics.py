"""Power, equivalence, interaction, comparison over models and coverage curves, against statsmodels and planted truths."""

import numpy as np
import pytest

from benchmarks.statistics import simulate
from novelapi.reporting.stats.clusters import Clusters, sum_by_cluster
from novelapi.reporting.stats.curves import coverage_curve
from novelapi.reporting.stats.equivalence import show_equivalence
from novelapi.reporting.stats.families import holm
from novelapi.reporting.stats.interaction import compare_sets
from novelapi.reporting.stats.mixed import compare_over_models
from novelapi.reporting.stats.power import apis_needed, cluster_error, detectable_difference


def paired(differences, apis):
    """Gains and losses per API of differences in -1, 0, 1."""
    differences = np.asarray(differences)
    return (
        sum_by_cluster(apis, (differences > 0).astype(float)),
        sum_by_cluster(apis, (differences < 0).astype(float)),
    )


def draw(n_apis, rate_up, rate_down, seed, tasks=3):
    generator = np.random.default_rng(seed)
    apis = [f"a{i:03d}" for i in range(n_apis) for _ in range(tasks)]
    lean = np.repeat(generator.normal(size=n_apis), tasks) * 0.1
    chance = generator.random(len(apis))
    return np.where(chance < rate_up + lean, 1, np.where(chance > 1 - rate_down + lean, -1, 0)), apis


def net_of(gains, losses):
    return Clusters(names=gains.names, sums=gains.sums - losses.sums, counts=gains.counts)


def test_the_standard_error_is_that_of_a_cluster_robust_regression():
    linear = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed (dependency group dev)")
    differences, apis = draw(35, 0.3, 0.1, seed=1)
    groups = np.unique(apis, return_inverse=True)[1]
    fit = linear.OLS(differences.astype(float), np.ones(len(apis))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
    )
    assert cluster_error(net_of(*paired(differences, apis)))[0] == pytest.approx(fit.bse[0], rel=1e-10)


def test_holm_is_that_of_statsmodels():
    multiple = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    p_values = np.random.default_rng(3).random(11) ** 3
    assert holm(list(p_values)) == pytest.approx(list(multiple.multipletests(p_values, method="holm")[1]))


def test_detectable_differences_agree_with_statsmodels_where_tasks_are_independent():
    power = pytest.importorskip("statsmodels.stats.power", reason="statsmodels is not installed")
    differences, apis = draw(80, 0.3, 0.1, seed=5, tasks=1)
    table = net_of(*paired(differences, apis))
    theirs = power.TTestPower().solve_power(nobs=80, alpha=0.05, power=0.8) * differences.std(ddof=1)
    assert detectable_difference(table)[0] == pytest.approx(theirs, rel=0.01)
    needed = apis_needed(table, theirs)[0]
    assert needed == pytest.approx(80, abs=1)


def test_nothing_is_detectable_where_nothing_differs_or_there_is_one_api():
    gains, losses = paired([0, 0, 0, 0], ["a", "a", "b", "b"])
    assert detectable_difference(net_of(gains, losses)) == [None]
    gains, losses = paired([1, 0], ["a", "a"])
    assert detectable_difference(net_of(gains, losses)) == [None]
    assert apis_needed(net_of(gains, losses), 0.05) == [None]


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1, 0.15, 0.3])
def test_equivalence_decides_like_two_t_tests_where_tasks_are_independent(margin):
    weights = pytest.importorskip("statsmodels.stats.weightstats", reason="statsmodels is not installed")
    differences, apis = draw(600, 0.1, 0.08, seed=8, tasks=1)
    p = weights.DescrStatsW(differences).ttost_mean(-margin, margin)[0]
    assert p > 0.2 or p < 0.01  # away from the edge, where methods may differ
    assert show_equivalence(*paired(differences, apis), margin=margin)[0].equivalent == (p < 0.05)


def test_equivalence_is_never_shown_by_a_few_apis_that_happen_to_agree():
    gains, losses = paired([0] * 10, [f"a{i}" for i in range(10)])
    assert show_equivalence(gains, losses, margin=0.05)[0].equivalent is False
    gains, losses = paired([0, 0], ["a", "a"])
    assert show_equivalence(gains, losses, margin=0.05)[0].equivalent is None


def test_a_planted_interaction_is_found_and_agrees_with_a_regression():
    linear = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    one, apis = draw(60, 0.2, 0.1, seed=2)
    two, others = draw(45, 0.35, 0.05, seed=3)
    others = [f"b{name}" for name in others]
    found = compare_sets(paired(one, apis), paired(two, others))
    y = np.concatenate([one, two]).astype(float)
    x = linear.add_constant(np.repeat([0.0, 1.0], [len(one), len(two)]))
    groups = np.unique([*apis, *others], return_inverse=True)[1]
    fit = linear.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert found.value == pytest.approx(fit.params[1])
    assert found.p == pytest.approx(fit.pvalues[1], abs=0.02)
    low, high = fit.conf_int()[1]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)


def test_an_interaction_of_one_api_has_no_interval():
    one, apis = draw(20, 0.2, 0.1, seed=2)
    found = compare_sets(paired(one, apis), paired([1, 1], ["z", "z"]))
    assert (found.low, found.high, found.p) == (None, None, None)


def over_models(seed, shift):
    """Differences of three models on 50 APIs; the last model gains `shift` more."""
    generator = np.random.default_rng(seed)
    apis = [f"a{i:03d}" for i in range(50) for _ in range(2)]
    common = np.repeat(generator.normal(size=50), 2) * 0.15
    columns = [
        (generator.random(100) < 0.3 + extra + common).astype(float)
        - (generator.random(100) < 0.1 - common).astype(float)
        for extra in (0, 0, shift)
    ]
    return np.stack(columns, axis=1), apis


def test_a_comparison_over_models_agrees_with_generalised_estimating_equations():
    linear = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    values, apis = over_models(seed=6, shift=0)
    found = compare_over_models(sum_by_cluster(apis, values))
    groups = np.repeat(np.unique(apis, return_inverse=True)[1], 3)
    fit = linear.GEE(values.ravel(), np.ones(values.size), groups=groups).fit()
    assert found.interval.value == pytest.approx(fit.params[0])
    assert (found.interval.low, found.interval.high) == pytest.approx(fit.conf_int()[0], abs=0.02)
    assert found.p < 0.001


def test_models_that_differ_in_a_comparison_are_told_from_models_that_do_not():
    def p_models(seed, shift):
        values, apis = over_models(seed, shift)
        return compare_over_models(sum_by_cluster(apis, values), draws=20, permutations=20).p_models

    assert sum(p_models(seed, 0.0) <= 0.05 for seed in range(100)) <= 12  # 5 expected
    assert all(p_models(seed, 0.4) < 0.01 for seed in range(5))
    values, apis = over_models(1, 0)
    twice = np.repeat(values[:, :1], 2, axis=1)
    assert compare_over_models(sum_by_cluster(apis, twice)).p_models == 1.0


def test_a_planted_law_of_coverage_is_found():
    # Binomial tasks whose coverage follows the law on average: rates from a Beta, compared with exact expectations.
    generator = np.random.default_rng(7)
    rates = generator.beta(0.3, 3.0, 400)
    apis = [f"a{i % 150:03d}" for i in range(400)]
    ks = (1, 2, 4, 8, 16, 32, 64)
    curve = coverage_curve(apis, [100] * 400, generator.binomial(100, rates).tolist(), ks)
    for k, point in zip(ks, curve.points, strict=True):
        truth = float(np.mean(1 - (1 - rates) ** k))
        assert point.low < truth < point.high
    assert curve.law.error < 0.03
    assert curve.law.b_low < curve.law.b < curve.law.b_high < 0


def test_a_curve_leaves_tasks_without_enough_samples_out_at_every_k():
    curve = coverage_curve(["a", "b", "c"], [10, 10, 3], [5, 0, 3], (1, 5, 10))
    assert [point.units for point in curve.points] == [2, 2, 2]
    assert curve.points[0].value == pytest.approx(0.25)
    assert coverage_curve(["a"], [2], [1], (1, 5)).points == ()


@pytest.mark.parametrize("seed", range(3))
def test_no_result_depends_on_the_order_of_rows(seed):
    differences, apis = draw(40, 0.3, 0.1, seed=11)
    values, many = over_models(seed=4, shift=0.1)
    order = np.random.default_rng(seed).permutation(len(apis))
    shuffled, names = differences[order], [apis[i] for i in order]
    half = [name < "a020" for name in apis]

    def split(differences, apis):
        first = [name < "a020" for name in apis]
        parts = []
        for side in (True, False):
            keep = [i for i, inside in enumerate(first) if inside == side]
            parts.append(paired(differences[keep], [apis[i] for i in keep]))
        return compare_sets(*parts)

    assert any(half)
    assert show_equivalence(*paired(differences, apis)) == show_equivalence(*paired(shuffled, names))
    assert detectable_difference(net_of(*paired(differences, apis))) == detectable_difference(
        net_of(*paired(shuffled, names))
    )
    assert split(differences, apis) == split(shuffled, names)
    mixed = np.random.default_rng(seed).permutation(len(many))
    assert compare_over_models(sum_by_cluster(many, values)) == compare_over_models(
        sum_by_cluster([many[i] for i in mixed], values[mixed])
    )
    correct = np.random.default_rng(5).integers(0, 10, len(apis))
    curves = [
        coverage_curve([apis[i] for i in o], [10] * len(apis), correct[o].tolist(), (1, 2, 5, 10))
        for o in (np.arange(len(apis)), order)
    ]
    assert curves[0] == curves[1]


def test_false_positives_of_the_interaction_stay_below_the_level():
    hits = 0
    for column in range(200):
        pairs = simulate(60, 0.4, 0.4, simulations=1, seed=100 + column, icc=0.5)
        gains, losses = pairs.table(pairs.gains), pairs.table(pairs.losses)
        sides = [
            tuple(Clusters(names=t.names[part], sums=t.sums[part], counts=t.counts[part]) for t in (gains, losses))
            for part in (slice(0, 20), slice(20, 60))
        ]
        hits += compare_sets(*sides, draws=200, permutations=400).p <= 0.05
    assert hits <= 20  # 10 expected; more than 20 has a chance below 0.2 %
