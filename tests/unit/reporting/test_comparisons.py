"""Which runs are compared, on which tasks, and what is said of them."""

import numpy as np
import pytest

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.reporting import compare_runs
from novelapi.reporting.analysis import analyse
from novelapi.reporting.contrasts import planned_contrasts
from novelapi.reporting.runs import find_runs
from tests.synthetic_runs import write_evaluation, write_experiment


def names(home, *folders):
    runs = find_runs(folders or [home / "results" / "numpy-copy"]).runs
    return [(c.family, runs[c.second].name, runs[c.first].name) for c in planned_contrasts(runs)]


def test_every_condition_is_compared_with_the_baseline_and_full_with_the_name(home):
    contrasts = names(home)
    assert [family for family, _, _ in contrasts] == ["over_baseline"] * 11 + ["full_over_s_name"] + ["added"] * 7
    assert contrasts[0] == ("over_baseline", "oracle-s_name", "oracle-baseline")
    assert contrasts[11] == ("full_over_s_name", "oracle-full", "oracle-s_name")
    assert ("added", "oracle-full", "oracle-s_e") in contrasts


def test_deliveries_methods_and_the_copy_baseline_have_families_of_their_own(tmp_path):
    ends = ("baseline", "full")
    write_experiment(tmp_path, model="m", apis=4, tasks=4, deliveries=("oracle", "rag", "memit"), conditions=ends)
    write_experiment(tmp_path, model="copy", apis=4, tasks=4, conditions=ends)
    contrasts = names(tmp_path, *(tmp_path / "results" / name for name in ("numpy-m", "numpy-copy")))
    assert ("delivery", "numpy-m/rag-full", "numpy-m/oracle-full") in contrasts
    assert ("method", "numpy-m/memit-full", "numpy-m/oracle-full") in contrasts
    assert ("over_copy", "numpy-m/oracle-full", "numpy-copy/oracle-full") in contrasts
    assert not [c for c in contrasts if c[0] == "over_copy" and c[1].startswith("numpy-copy")]


def test_deliveries_share_the_baseline_of_the_untouched_model(tmp_path):
    write_experiment(tmp_path, apis=4, tasks=4, deliveries=("oracle", "sft"), conditions=("baseline", "s_name", "full"))
    contrasts = names(tmp_path)
    assert ("over_baseline", "sft-full", "oracle-baseline") in contrasts
    assert ("full_over_s_name", "sft-full", "sft-s_name") in contrasts


def test_without_a_baseline_nothing_is_compared_with_it(tmp_path):
    write_experiment(tmp_path, apis=4, tasks=4, conditions=("s_name", "full"))
    assert [family for family, _, _ in names(tmp_path)] == ["full_over_s_name"]


@pytest.fixture(scope="module")
def analysis(home):
    return analyse([home / "results" / "numpy-copy"], threshold=0.6)


def test_differences_are_paired_and_unscored_tasks_are_in_no_denominator(analysis):
    for difference in analysis.differences:
        first = analysis.outcomes.codes[:, difference.contrast.first]
        second = analysis.outcomes.codes[:, difference.contrast.second]
        if difference.subset == "all":
            both = (first >= 2) & (second >= 2)
            assert difference.pairs == both.sum()
            assert difference.unpaired == (~both).sum()
            assert difference.interval.value == pytest.approx(((second == 2)[both].mean()) - (first == 2)[both].mean())
        assert difference.interval.low <= difference.interval.value <= difference.interval.high


def test_low_overlap_leaves_out_exactly_the_rows_above_the_threshold(analysis):
    low = [d for d in analysis.differences if d.subset == "low_overlap"]
    assert {analysis.rows.runs[d.contrast.second].condition for d in low} == {"e", "s_e", "s_e_m_code", "full"}
    for difference in low:
        pair = [difference.contrast.first, difference.contrast.second]
        above = np.nan_to_num(analysis.outcomes.overlap[:, pair]).max(axis=1) > 0.6
        scored = (analysis.outcomes.codes[:, pair] >= 2).all(axis=1)
        assert difference.pairs == (scored & ~above).sum()


def test_p_values_are_adjusted_within_their_family_only(analysis):
    over = [d for d in analysis.differences if d.contrast.family == "over_baseline" and d.subset == "all"]
    assert {d.family_size for d in over} == {11}
    assert all(d.p_holm >= d.p for d in over)
    (alone,) = [d for d in analysis.differences if d.contrast.family == "full_over_s_name" and d.subset == "all"]
    assert (alone.family_size, alone.p_holm) == (1, alone.p)


def test_shuffled_rows_give_the_same_numbers(tmp_path):
    cells = write_experiment(tmp_path, apis=8, tasks=20, conditions=("baseline", "s_name", "full"), samples=2)
    before = analyse([cells[0].parent])
    for cell in cells:
        rows = jsonl.read(cell / "results.jsonl")
        order = np.random.default_rng(1).permutation(len(rows))
        jsonl.write(cell / "results.jsonl", [rows[i] for i in order])
    after = analyse(list(reversed(cells)))
    assert (after.estimates, after.differences, after.summaries) == (
        before.estimates,
        before.differences,
        before.summaries,
    )


def test_compare_lists_flips_and_changed_labels(tmp_path):
    first, second = write_experiment(tmp_path, apis=8, tasks=20, conditions=("baseline", "full"), unscored=0.05)
    comparison = compare_runs(first, second)
    before = {row["task_id"]: row["label"] or row["outcome"] for row in jsonl.read(first / "results.jsonl")}
    after = {row["task_id"]: row["label"] or row["outcome"] for row in jsonl.read(second / "results.jsonl")}
    changed = {task: (before[task], after[task]) for task in before if before[task] != after[task]}
    assert {flip.task_id: (flip.before, flip.after) for flip in comparison.flips} == changed
    assert comparison.difference.gains == sum(
        new == "pass" and old not in ("pass", "unscored") for old, new in changed.values()
    )
    assert comparison.flip_rate == comparison.verdict_flips / comparison.difference.pairs
    assert sum(comparison.flows.values()) == comparison.shared == 20


def test_compare_keeps_the_order_of_its_arguments(tmp_path):
    first, second = write_experiment(tmp_path, apis=8, tasks=20, conditions=("baseline", "full"))
    forth, back = compare_runs(first, second), compare_runs(second, first)
    assert forth.difference.interval.value == pytest.approx(-back.difference.interval.value)


def test_two_attempts_at_one_cell_can_be_compared(tmp_path):
    (first,) = write_experiment(tmp_path / "a", apis=5, tasks=9, conditions=("full",))
    (second,) = write_experiment(tmp_path / "b", apis=5, tasks=9, conditions=("full",))
    comparison = compare_runs(first, second)
    assert (comparison.flips, comparison.flip_rate) == ((), 0.0)
    assert comparison.first.run != comparison.second.run


def test_runs_without_a_common_task_cannot_be_compared(tmp_path):
    (first,) = write_experiment(tmp_path / "a", apis=5, tasks=9, conditions=("full",))
    other = write_evaluation(tmp_path / "b" / "out", apis=3, tasks=3)
    rows = jsonl.read(other / "tasks.jsonl")
    renamed = {row["task_id"]: f"other/{number}" for number, row in enumerate(rows)}
    for name in ("tasks.jsonl", "results.jsonl"):
        changed = [row | {"task_id": renamed[row["task_id"]]} for row in jsonl.read(other / name)]
        jsonl.write(other / name, changed)
    with pytest.raises(DataError, match="share no task"):
        compare_runs(first, other)
