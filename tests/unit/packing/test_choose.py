"""The choice is exact, fits the budget, knows nothing of the tasks it is reported on, and promises what cells showed."""

from __future__ import annotations

import random
from itertools import product

import pytest

from novelapi.errors import UsageError
from novelapi.packing.choose import Together, make_pack, measured_effect
from novelapi.packing.knapsack import Option, choose
from novelapi.packing.sections import first_sentence, section_text, tokens_of
from tests.fakes.bundles import numpy_bundle
from tests.unit.packing.conftest import OUTCOMES, evidence_of


def test_the_knapsack_is_exact():
    source = random.Random(4)
    for _ in range(40):
        options = {
            f"api{number}": [
                Option(name=f"c{place}", cost=source.randint(1, 30), value=source.randint(-2, 9)) for place in range(3)
            ]
            for number in range(5)
        }
        budget = source.randint(0, 70)
        best = max(
            sum(item.value for item in chosen if item)
            for chosen in product(*([None, *own] for own in options.values()))
            if sum(item.cost for item in chosen if item) <= budget
        )
        found = choose(options, budget)
        assert sum(item.value for item in found.values()) == best
        assert sum(item.cost for item in found.values()) <= budget
        assert all(item.value > 0 for item in found.values())


def test_the_cheapest_components_that_help_are_taken(evidence):
    pack = make_pack(evidence, 2000)
    assert {item.api: item.condition for item in pack.sections}["numpy.vecdot"] == "s"
    assert {item.api: item.condition for item in pack.sections}["numpy.unstack"] == "s_name"
    assert pack.tokens <= 2000
    assert pack.basis == "alone"
    # what the cells show when each half is read with the other half's choice
    assert pack.predicted.gain == pytest.approx(4 / 5)
    assert pack.predicted.low <= pack.predicted.gain <= pack.predicted.high


@pytest.mark.parametrize("budget", [150, 220, 300, 500])
def test_the_whole_text_fits_the_budget(evidence, budget):
    pack = make_pack(evidence, budget)
    assert 0 < pack.tokens <= budget
    assert all(sum(item.tokens for item in fold.sections) <= budget for fold in pack.folds)


def test_a_budget_too_small_for_one_section_is_refused(evidence):
    with pytest.raises(UsageError, match=r"the shortest section needs \d+\): raise --budget"):
        make_pack(evidence, 20)


def test_a_run_in_which_nothing_helped_gives_no_pack():
    with pytest.raises(UsageError, match="there is nothing to pack"):
        make_pack(evidence_of({name: set() for name in OUTCOMES}), 2000)


def test_no_task_decides_what_it_is_reported_on(evidence):
    """Whatever the outcome of a task is, the pack that it is shown stays the same."""
    for name in OUTCOMES:
        other = evidence_of({**OUTCOMES, name: {"s_name", "full"} if not OUTCOMES[name] else set()})
        assert make_pack(evidence, 300).shown_for(name) == make_pack(other, 300).shown_for(name)


def test_every_task_is_in_one_half_and_another_one_sees_the_whole_pack(evidence):
    pack = make_pack(evidence, 2000)
    assert sorted(name for fold in pack.folds for name in fold.tasks) == sorted(OUTCOMES)
    assert pack.shown_for("numpy/other/1") == pack.sections


def test_crowding_moves_the_choice_to_what_is_still_found(evidence):
    first = make_pack(evidence, 2000)
    passed = {name: name.startswith("numpy/vecdot") for name in OUTCOMES}
    seen = evidence_of(together=passed)
    again = make_pack(seen, 2000, together=Together(pack=first, passed=passed))
    kept = {item.condition: item for item in again.crowding}
    assert kept["s"].kept > kept["s_name"].kept
    assert kept["s"].tasks + kept["s_name"].tasks == 4
    assert {item.api: item.condition for item in again.sections}["numpy.unstack"] == "s"
    assert again.basis == "together"
    assert again.predicted.gain < first.predicted.gain


def test_the_measured_effect_is_against_the_baseline():
    passed = {name: name.startswith("numpy/vecdot") for name in OUTCOMES}
    effect = measured_effect(evidence_of(together=passed))
    assert (effect.gain, effect.tasks) == (pytest.approx(2 / 5), 5)
    assert effect.low <= effect.gain <= effect.high
    with pytest.raises(UsageError, match="has not been run"):
        measured_effect(evidence_of())


def test_apis_without_a_bundle_or_without_help_are_counted():
    bundles = evidence_of().bundles
    found = make_pack(evidence_of(bundles={"numpy.unstack": bundles["numpy.unstack"]}), 2000)
    assert found.left_out["no bundle"] == 2


def test_a_section_holds_the_name_its_purpose_and_the_components_once():
    text = section_text(numpy_bundle(), "s", "Split an array.")
    assert text.startswith("## API\n\n`numpy.unstack`\n\nSplit an array.\n\n## Parameters")
    assert section_text(numpy_bundle(), "e", "Split an array.").startswith("## API\n\n`numpy.unstack`")
    assert text.count("numpy.unstack") == 1
    assert tokens_of(text) > tokens_of(section_text(numpy_bundle(), "s_name", "Split an array."))
    assert first_sentence("Split it.  Then\nmore.\n\nRest.") == "Split it."
    assert first_sentence("f(x, /, out=None)\n\nCompute it. Twice.") == "Compute it."
    assert first_sentence(None) == ""
