"""Asking all tasks of a cell: files, resumption, and what is not asked again."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.errors import EndpointError
from novelapi.inference.batch import complete_tasks
from novelapi.inference.budget import Budget
from novelapi.inference.cache import CompletionCache
from novelapi.inference.prompts import Prompt, build_prompt
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion
from novelapi.records.prediction import Prediction
from tests.fakes.tasks import Scripted, numpy_task

TASKS = [numpy_task(number, description=f"Do {number}.") for number in (3, 1, 2)]
GREEDY = Sampling()
PROMPTS = [build_prompt(task, "docs") for task in TASKS]


@pytest.fixture
def cache(tmp_path):
    with CompletionCache(tmp_path / "completions.sqlite") as cache:
        yield cache


def run(tmp_path, cache, model, prompts=PROMPTS, sampling=GREEDY, **options):
    return complete_tasks(TASKS, prompts, model, sampling, cache, tmp_path / "cell", **options)


def rows(tmp_path):
    return [Prediction.model_validate(row) for row in jsonl.read(tmp_path / "cell" / "predictions.jsonl")]


def test_rows_are_sorted_and_point_to_their_prompts(tmp_path, cache):
    result = run(tmp_path, cache, Scripted(), sampling=Sampling(n=2))
    assert [row.task_id for row in rows(tmp_path)] == ["numpy/unstack/1", "numpy/unstack/2", "numpy/unstack/3"]
    texts = {row["prompt"]: row["text"] for row in jsonl.read(result.prompts)}
    for row in rows(tmp_path):
        assert row.samples[0] == f"r1|{texts[row.prompt_sha]}|greedy"
        assert len(row.samples) == 2
    assert (result.answered, result.resumed, result.partial) == (3, 0, False)


def test_two_runs_and_a_run_from_the_cache_write_identical_bytes(tmp_path, cache):
    files = []
    for name in ("a", "b"):
        complete_tasks(TASKS, PROMPTS, Scripted(), Sampling(n=3), cache, tmp_path / name)
        files.append([(tmp_path / name / file).read_bytes() for file in ("predictions.jsonl", "prompts.jsonl")])
    assert files[0] == files[1]


class Dying(Scripted):
    """Answers two requests, then the endpoint is gone."""

    def complete(self, prompts, sampling):
        if len(self.asked) == 2:
            raise EndpointError("gone; start it again")
        return super().complete(prompts, sampling)


def test_what_was_answered_before_a_death_is_kept_and_not_asked_again(tmp_path, cache):
    with pytest.raises(EndpointError):
        run(tmp_path, cache, Dying())
    assert len(list(jsonl.scan(tmp_path / "cell" / "predictions.jsonl"))) == 2
    model = Scripted()
    result = run(tmp_path, cache, model)
    assert (result.resumed, result.answered, len(model.asked)) == (2, 1, 1)


def test_a_torn_last_line_is_asked_again_from_the_cache(tmp_path, cache):
    run(tmp_path, cache, Scripted())
    path = tmp_path / "cell" / "predictions.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    model = Scripted()
    result = run(tmp_path, cache, model)
    assert (result.resumed, result.answered, model.asked) == (2, 1, [])
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "changed",
    [
        {"prompts": [prompt + "!" for prompt in PROMPTS]},
        {"sampling": Sampling(n=2)},
        {"model": Scripted("r2")},
    ],
    ids=["prompt", "sampling", "model"],
)
def test_rows_of_another_prompt_sampling_or_model_are_replaced(tmp_path, cache, changed):
    run(tmp_path, cache, Scripted())
    result = run(tmp_path, cache, **({"model": Scripted()} | changed))
    assert (result.resumed, result.answered) == (0, 3)
    assert len(rows(tmp_path)) == 3


def test_a_prompt_that_does_not_fit_is_marked_and_the_rest_is_answered(tmp_path, cache):
    prompts = [PROMPTS[0], Prompt(text=PROMPTS[1], refused="9,000 tokens do not fit into 4,096"), PROMPTS[2]]
    model = Scripted()
    result = run(tmp_path, cache, model, prompts=prompts)
    assert (result.answered, result.unscored, len(model.asked)) == (2, {"context": 1}, 2)
    refused = rows(tmp_path)[0]
    assert (refused.unscored, refused.samples) == ("context", ())
    # With a larger window it is asked.
    assert run(tmp_path, cache, model).answered == 1


def test_requests_that_may_succeed_later_leave_no_row(tmp_path, cache):
    class Flaky(Scripted):
        engine, adapter_sha = "flaky", None

        def stream(self, requests):
            for index, request in enumerate(requests):
                failed = "Do 1." in request.prompt
                yield index, Completion(failure="transient") if failed else Completion(texts=("x",))

    result = run(tmp_path, cache, Flaky())
    assert (result.answered, result.missing, result.partial) == (2, {"transient": 1}, True)
    assert [row.task_id for row in rows(tmp_path)] == ["numpy/unstack/2", "numpy/unstack/3"]


def test_a_budget_that_ends_mid_cell_is_resumed_without_paying_twice(tmp_path, cache):
    model = Scripted()
    first = run(tmp_path, cache, model, budget=Budget(calls=1))
    assert (first.answered, first.missing) == (1, {"budget": 2})
    second = run(tmp_path, cache, model)
    assert (second.resumed, second.answered, len(model.asked)) == (1, 2, 3)


def test_progress_is_reported_once_per_task(tmp_path, cache):
    seen: list[str] = []
    run(tmp_path, cache, Scripted(), sampling=Sampling(n=3), on_done=seen.append)
    assert sorted(seen) == sorted(task.task_id for task in TASKS)


def test_prompt_and_task_lists_must_agree(tmp_path, cache):
    with pytest.raises(ValueError, match="argument"):
        run(tmp_path, cache, Scripted(), prompts=PROMPTS[:2])


def test_files_of_other_harnesses_are_predictions_too():
    assert Prediction.model_validate({"task_id": "t", "completion": "x"}).samples == ("x",)
    assert json.loads(json.dumps(Prediction(task_id="t", samples=("x",)).to_row()))["unscored"] is None
